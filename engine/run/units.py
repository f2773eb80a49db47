"""What an execution runs in one go: a node, or a piece of a compiled group."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, Protocol

import numpy as np

from ..nn.cell import Cell
from ..origin import Origin, at
from ..random import RandomState, using
from ..tensor import Tensor, from_numpy
from .graph import Edge, Graph, GraphError, Node, Source

Array = np.ndarray | Tensor
Feeds = Mapping[str, Mapping[str, Array]]
"""Data node's id → port → array: the batch, used again until another one is fed."""


@dataclass(frozen=True)
class Clock:
    """What random numbers depend on, besides the node: a seed and the training step."""

    seed: int = 0
    step: int = 0

    def stream(self, node: str) -> RandomState:
        """The node's own stream of random keys in this step, the same whenever it runs."""
        text = f"{self.seed}/{self.step}/{node}".encode()
        digest = hashlib.blake2b(text, digest_size=8).digest()
        return RandomState(int.from_bytes(digest, "little") >> 1)


class Unit(Protocol):
    """One step of an execution."""

    @property
    def id(self) -> str:
        """The node's id, or the group's."""
        ...

    @property
    def name(self) -> str:
        """What the user reads."""
        ...

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes that have run when this unit has."""
        ...

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The wires that enter, in order."""
        ...

    @property
    def outputs(self) -> tuple[Source, ...]:
        """The ports whose values it gives, in order."""
        ...

    def run(self, inputs: Sequence[Tensor], clock: Clock) -> tuple[Tensor, ...]:
        """Compute the outputs from the values on the wires that enter."""
        ...


@dataclass(frozen=True)
class NodeUnit:
    """One node, run eagerly."""

    node: Node

    @property
    def id(self) -> str:
        """The node's id."""
        return self.node.id

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.name

    @property
    def nodes(self) -> tuple[str, ...]:
        """The node alone."""
        return (self.node.id,)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The node's wired inputs."""
        return self.node.edges

    @property
    def outputs(self) -> tuple[Source, ...]:
        """The node's output ports."""
        return tuple(Source(self.node.id, port) for port in self.node.outputs)

    def run(self, inputs: Sequence[Tensor], clock: Clock) -> tuple[Tensor, ...]:
        """Call the node."""
        return call_node(self.node, inputs, clock)


def origin_of(node: Node) -> Origin:
    """The origin of all that this node computes."""
    return Origin(node.path, node.id.rsplit("/", 1)[-1], "")


def node_id(origin: Origin) -> str:
    """The id of the node an origin speaks of."""
    return "/".join((*origin.scope, origin.node))


def cell_of(node: Node) -> Cell | None:
    """The Cell that the node calls, if it calls one."""
    return node.call if isinstance(node.call, Cell) else None


def set_mode(node: Node, training: bool) -> None:
    """Switch the node's Cell between training and evaluation."""
    cell = cell_of(node)
    if cell is not None and cell.training != training:
        cell.set_train(training)


class CellState:
    """Copies of a node's parameters that running changes without training (running statistics)."""

    def __init__(self, node: Node) -> None:
        cell = cell_of(node)
        parameters = cell.get_parameters() if cell is not None and cell.training else ()
        self._saved = [(p, p.data.copy()) for p in parameters if not p.requires_grad]

    def restore(self) -> None:
        """Write the copies back."""
        for parameter, data in self._saved:
            parameter.set_data(from_numpy(data))


def call_node(node: Node, inputs: Sequence[Tensor], clock: Clock) -> tuple[Tensor, ...]:
    """Call a node on its wired inputs, under its origin and with its random numbers.

    Raises
    ------
    GraphError
        The call gave something else than one tensor for each port.
    """
    given = iter(inputs)
    arguments = [None if source is None else next(given) for source in node.inputs.values()]
    with at(origin_of(node)), using(clock.stream(node.id)):
        result = node.call(*packed(arguments, node.packs))
    results = tuple(_flat(result))
    _check_results(node, results)
    return results


def packed(values: Sequence[Any], packs: Sequence[str]) -> list[Any]:
    """Values as arguments: neighbours of one name as one tuple, or None where all are None."""
    if not packs:
        return list(values)
    arguments: list[Any] = []
    for name, group in groupby(zip(packs, values, strict=False), key=itemgetter(0)):
        members = tuple(value for _, value in group)
        if packs.count(name) == 1:
            arguments.append(members[0])
        else:
            arguments.append(None if all(value is None for value in members) else members)
    return arguments


def _flat(result: Any) -> Iterator[Any]:
    """The members of nested tuples and lists, in their order."""
    if isinstance(result, tuple | list):
        for item in result:
            yield from _flat(item)
    else:
        yield result


def _check_results(node: Node, results: tuple[Any, ...]) -> None:
    if len(results) != len(node.outputs):
        raise GraphError(
            f"{node.name} gave {len(results)} results for its {len(node.outputs)} outputs "
            f"({', '.join(node.outputs)}); return one tensor for each",
            [node.id],
        )
    for port, value in zip(node.outputs, results, strict=True):
        if not isinstance(value, Tensor):
            raise GraphError(
                f"output {port} of {node.name} is {type(value).__name__}, not a Tensor; "
                "return tensors",
                [node.id],
            )


def fed(node: Node, feeds: Feeds) -> tuple[Tensor, ...] | None:
    """The values fed to a data node, in port order; None when it is not fed.

    Raises
    ------
    GraphError
        The feed lacks a port that the node has.
    """
    given = feeds.get(node.id)
    if given is None:
        return None
    missing = [port for port in node.outputs if port not in given]
    if missing:
        raise GraphError(
            f"the batch for {node.name} has {', '.join(given) or 'nothing'}, but not "
            f"{', '.join(missing)}",
            [node.id],
        )
    return tuple(as_tensor(given[port]) for port in node.outputs)


def as_tensor(value: Array) -> Tensor:
    """The value as a Tensor, sharing memory."""
    return value if isinstance(value, Tensor) else from_numpy(np.asarray(value))


def run_units(
    graph: Graph, units: Iterable[Unit], feeds: Feeds, clock: Clock
) -> dict[Source, Tensor]:
    """Run units without stops and keep what they give; for tracing and training steps."""
    values: dict[Source, Tensor] = {}
    for unit in units:
        node = unit.node if isinstance(unit, NodeUnit) else None
        results = fed(node, feeds) if node is not None and node.kind == "data" else None
        if results is None:
            results = unit.run([values[graph.source(edge)] for edge in unit.edges], clock)
        values.update(zip(unit.outputs, results, strict=True))
    return values


def run_graph(graph: Graph, feeds: Feeds, clock: Clock) -> dict[Source, Tensor]:
    """Run the whole graph node by node and keep every value."""
    units = [NodeUnit(graph.nodes[id_]) for id_ in graph.order]
    return run_units(graph, units, feeds, clock)
