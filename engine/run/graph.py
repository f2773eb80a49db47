"""The graph that runs: nodes that hold a callable, wires between ports, groups of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import networkx as nx

Kind = Literal["data", "cell", "op", "loss", "group"]


class GraphError(ValueError):
    """A graph that cannot run: a cycle, an unknown node or port, a selection that is not convex."""

    def __init__(self, message: str, nodes: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.nodes = tuple(nodes)


class Source(msgspec.Struct, frozen=True, array_like=True):
    """An output port: the node's id and the port's name."""

    node: str
    port: str


class Edge(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A wire, known by where it ends: the consumer's id and its input port (it takes one wire)."""

    node: str
    port: str


@dataclass(frozen=True, eq=False)
class Node:
    """One node: `call(*inputs in port order)` returns a Tensor, or a tuple, one for each output.

    `id` is unique in the graph (`scope/id` inside a composite), `path` holds the ids of the
    composites around it, `name` is what the user reads. An input that is not wired is `None` and
    is passed as `None`. A `data` node is fed, or called with no inputs. `packs`, where it is not
    empty, names the argument of each input: neighbours of one name are passed as one tuple.
    """

    id: str
    name: str
    call: Callable[..., Any]
    inputs: Mapping[str, Source | None] = field(default_factory=dict)
    outputs: tuple[str, ...] = ("out",)
    kind: Kind = "op"
    path: tuple[str, ...] = ()
    packs: tuple[str, ...] = ()

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The wired inputs, in port order."""
        return tuple(Edge(self.id, port) for port, source in self.inputs.items() if source)


@dataclass(frozen=True)
class Group:
    """Nodes that the user chose to compile together."""

    id: str
    name: str
    nodes: frozenset[str]


class Graph:
    """Nodes in topological order, with who feeds and who reads each port.

    Parameters
    ----------
    nodes : iterable of Node
    outputs : iterable of Source
        The ports that are the graph's results; empty means every port that nobody reads.
    groups : iterable of Group
        Convex, disjoint selections of nodes.

    Raises
    ------
    GraphError
        Two nodes with one id, a wire from a node or port that does not exist, a cycle, a group
        that is not convex or shares a node with another.
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        outputs: Iterable[Source] = (),
        groups: Iterable[Group] = (),
    ) -> None:
        listed = list(nodes)
        self.nodes: dict[str, Node] = {node.id: node for node in listed}
        if len(self.nodes) != len(listed):
            ids = [node.id for node in listed]
            twice = sorted({i for i in ids if ids.count(i) > 1})
            raise GraphError(f"two nodes have the id {', '.join(twice)}; give each its own", twice)
        self.readers: dict[Source, list[Edge]] = {
            Source(node.id, port): [] for node in listed for port in node.outputs
        }
        for node in listed:
            for port, source in node.inputs.items():
                if source is not None:
                    self._check_source(node, port, source)
                    self.readers[source].append(Edge(node.id, port))
        self.order: tuple[str, ...] = self._sort()
        self.position: dict[str, int] = {id_: at for at, id_ in enumerate(self.order)}
        self.outputs: tuple[Source, ...] = tuple(outputs) or tuple(
            source for source, edges in self.readers.items() if not edges
        )
        for source in self.outputs:
            if source not in self.readers:
                raise GraphError(
                    f"the output {source.node}.{source.port} names no port of the graph"
                )
        self._ancestors = self._bitsets()
        self.groups: dict[str, Group] = {}
        for group in groups:
            self._add_group(group)

    def _check_source(self, node: Node, port: str, source: Source) -> None:
        feeder = self.nodes.get(source.node)
        if feeder is None:
            raise GraphError(
                f"input {port} of {node.name} is wired to a node {source.node}, which is missing",
                [node.id],
            )
        if source.port not in feeder.outputs:
            raise GraphError(
                f"input {port} of {node.name} is wired to {feeder.name}.{source.port}, but "
                f"{feeder.name} has only {', '.join(feeder.outputs) or 'no outputs'}",
                [node.id, feeder.id],
            )

    def _sort(self) -> tuple[str, ...]:
        place = {id_: at for at, id_ in enumerate(self.nodes)}
        drawn = nx.DiGraph()
        drawn.add_nodes_from(self.nodes)
        drawn.add_edges_from((s.node, e.node) for s, edges in self.readers.items() for e in edges)
        try:
            return tuple(nx.lexicographical_topological_sort(drawn, key=place.__getitem__))
        except nx.NetworkXUnfeasible:
            ids = [step[0] for step in nx.find_cycle(drawn)]
            names = [self.nodes[id_].name for id_ in ids]
            raise GraphError(
                f"these nodes feed each other in a cycle: {' → '.join([*names, names[0]])}; "
                "remove one of the wires between them",
                ids,
            ) from None

    def _bitsets(self) -> dict[str, int]:
        """For each node the set of its ancestors, as bits at their positions in the order."""
        bits: dict[str, int] = {}
        for id_ in self.order:
            mask = 0
            for source in self.nodes[id_].inputs.values():
                if source is not None:
                    mask |= bits[source.node] | (1 << self.position[source.node])
            bits[id_] = mask
        return bits

    def _add_group(self, group: Group) -> None:
        for other in self.groups.values():
            shared = sorted(group.nodes & other.nodes)
            if shared:
                names = ", ".join(self.nodes[id_].name for id_ in shared)
                raise GraphError(f"{names} would be in both {other.name} and {group.name}", shared)
        missing = convex_closure(self, group.nodes) - group.nodes
        if missing:
            names = ", ".join(self.nodes[id_].name for id_ in self.sorted(missing))
            raise GraphError(
                f"{group.name} cannot be compiled as it is: a path leaves it and comes back "
                f"through {names}; add them to the group",
                self.sorted(missing),
            )
        self.groups[group.id] = group

    def node(self, name_or_id: str) -> Node:
        """The node with this id, else the one node with this name."""
        if name_or_id in self.nodes:
            return self.nodes[name_or_id]
        named = [node for node in self.nodes.values() if node.name == name_or_id]
        if len(named) == 1:
            return named[0]
        known = ", ".join(sorted(node.name for node in self.nodes.values()))
        problem = "more than one node is" if named else "no node is"
        raise GraphError(f"{problem} called {name_or_id!r}; the graph has {known}")

    def source(self, edge: Edge) -> Source:
        """The output port that feeds this wire."""
        node = self.nodes.get(edge.node)
        source = node.inputs.get(edge.port) if node else None
        if source is None:
            raise GraphError(f"no wire enters {edge.node}.{edge.port}")
        return source

    def edges(self) -> tuple[Edge, ...]:
        """Every wire, in the order in which values enter their consumers."""
        return tuple(edge for id_ in self.order for edge in self.nodes[id_].edges)

    def edge(self, text: str) -> Edge:
        """The wire that `source.port->target.port` or `source->target` names.

        Raises
        ------
        GraphError
            The text is of another form, names no wire, or names more than one.
        """
        left, arrow, right = (part.strip() for part in text.partition("->"))
        if not arrow or not left or not right:
            raise GraphError(
                f"{text!r} does not name a wire; write source->target or source.port->target.port"
            )
        found = [e for e in self.edges() if self._names(e, left, right)]
        if len(found) == 1:
            return found[0]
        if found:
            listed = ", ".join(self.edge_text(e) for e in found)
            raise GraphError(f"{text!r} could be any of {listed}; name the ports")
        listed = ", ".join(self.edge_text(e) for e in self.edges()) or "none"
        raise GraphError(f"no wire goes {text}; the graph's wires: {listed}")

    def _names(self, edge: Edge, left: str, right: str) -> bool:
        source = self.source(edge)
        return self._is_port(left, source.node, source.port) and self._is_port(
            right, edge.node, edge.port
        )

    def _is_port(self, text: str, id_: str, port: str) -> bool:
        name = self.nodes[id_].name
        return text in (name, id_, f"{name}.{port}", f"{id_}.{port}")

    def edge_text(self, edge: Edge) -> str:
        """How the command line writes this wire: `source.port->target.port`, by names."""
        source = self.source(edge)
        return (
            f"{self.nodes[source.node].name}.{source.port}->{self.nodes[edge.node].name}."
            f"{edge.port}"
        )

    def sorted(self, ids: Iterable[str]) -> list[str]:
        """These nodes in topological order."""
        return sorted(ids, key=self.position.__getitem__)

    def ancestors(self, ids: Iterable[str]) -> set[str]:
        """The nodes from which a path leads to one of these."""
        mask = 0
        for id_ in ids:
            mask |= self._ancestors[id_]
        return {id_ for id_ in self.order if mask >> self.position[id_] & 1}

    def descendants(self, ids: Iterable[str]) -> set[str]:
        """The nodes to which a path leads from one of these."""
        mask = 0
        for id_ in ids:
            mask |= 1 << self.position[id_]
        return {id_ for id_ in self.order if self._ancestors[id_] & mask}

    def losses(self) -> tuple[Node, ...]:
        """The nodes of kind `loss`, in topological order."""
        return tuple(self.nodes[i] for i in self.order if self.nodes[i].kind == "loss")


def convex_closure(graph: Graph, ids: Iterable[str]) -> set[str]:
    """The smallest convex selection around these nodes: they and all that lies on paths between.

    A selection is convex when no path leaves it and comes back; then it can run as one step.
    """
    chosen = set(ids)
    unknown = sorted(chosen - graph.nodes.keys())
    if unknown:
        raise GraphError(f"the graph has no node {', '.join(unknown)}", unknown)
    return chosen | (graph.ancestors(chosen) & graph.descendants(chosen))


def schedule(graph: Graph, groups: Iterable[Group]) -> tuple[str | Group, ...]:
    """The order in which nodes and whole groups run, so that each comes after what feeds it.

    Raises
    ------
    GraphError
        Two groups feed each other, so that neither can run first.
    """
    whole = list(groups)
    owner = {id_: group for group in whole for id_ in group.nodes}
    drawn = nx.DiGraph()
    place: dict[str | Group, int] = {}
    for at, id_ in enumerate(graph.order):
        unit = owner.get(id_, id_)
        place.setdefault(unit, at)
        drawn.add_node(unit)
        for source in graph.nodes[id_].inputs.values():
            feeder = owner.get(source.node, source.node) if source else unit
            if feeder != unit:
                drawn.add_edge(feeder, unit)
    try:
        return tuple(nx.lexicographical_topological_sort(drawn, key=place.__getitem__))
    except nx.NetworkXUnfeasible:
        cycle = [unit for unit, _ in nx.find_cycle(drawn)]
        names = [unit.name for unit in cycle if isinstance(unit, Group)]
        raise GraphError(
            f"the groups {' and '.join(names)} feed each other, so neither can run as one step; "
            "merge them or take a node out of one"
        ) from None
