"""Live inference: the aval on every wire and everything wrong with a drawing, before it runs.

Pure and fast: a node is evaluated again only when its parameters or what feeds it change.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import networkx as nx

from ..engine.dataset.files import DataError
from ..engine.run.conditions import ConditionError, parse_condition
from ..engine.shape import Aval
from .cost import Cost
from .document import Document
from .evaluate import Finding, Inputs, Outcome, check_params, evaluate
from .items import Edge, EdgeKey, NodeItem
from .library import spec_of
from .spec import NodeSpec, Params, Port, variadic_index

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Problem:
    """Something wrong: on a port, a node (`port` None) or the whole drawing (`node` None)."""

    node: str | None
    port: str | None
    severity: Severity
    message: str
    fix: str = ""


@dataclass(frozen=True)
class Inference:
    """What is known of a drawing without running it.

    `avals` has each output port's aval, `edges` that of each wire; `params` each node's
    parameters with defaults filled in and the auto ones found; `summaries` each node's second
    line. `order` is topological, ties by name. `loss` is the loss to train on, if there is one.
    """

    avals: Mapping[tuple[str, str], Aval] = field(default_factory=dict)
    edges: Mapping[EdgeKey, Aval] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    params: Mapping[str, Params] = field(default_factory=dict)
    costs: Mapping[str, Cost] = field(default_factory=dict)
    summaries: Mapping[str, str] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    loss: str | None = None

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that keep the drawing from being built."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def cost(self) -> Cost:
        """The parameters and operations of all nodes together."""
        costs = self.costs.values()
        return Cost(sum(c.parameters for c in costs), sum(c.flops for c in costs))

    def problems_of(self, node: str) -> tuple[Problem, ...]:
        """The problems of one node and its ports."""
        return tuple(problem for problem in self.problems if problem.node == node)


def infer(document: Document, base: Path | None = None) -> Inference:
    """Infer shapes, parameters, costs and problems; `base` is the folder data paths start from."""
    return _Walk(document, base).run()


def input_ports(document: Document, node: NodeItem, spec: NodeSpec) -> tuple[Port, ...]:
    """The input ports of a node as it is wired now, numbered ones with one that is free."""
    return spec.input_ports([edge.input for edge in document.edges_into(node.id)])


class _Walk:
    """One pass over a document in topological order."""

    def __init__(self, document: Document, base: Path | None) -> None:
        self.document = document
        self.base = base
        self.avals: dict[tuple[str, str], Aval] = {}
        self.edges: dict[EdgeKey, Aval] = {}
        self.problems: list[Problem] = []
        self.params: dict[str, Params] = {}
        self.costs: dict[str, Cost] = {}
        self.summaries: dict[str, str] = {}
        self.into: dict[str, dict[str, Edge]] = {id: {} for id in document.nodes}
        for edge in document.edges.values():
            self.into[edge.target][edge.input] = edge

    def run(self) -> Inference:
        order, cyclic = self._order()
        self._check_document()
        for id in order:
            self._visit(self.document.nodes[id])
        for id in cyclic:
            self._describe(self.document.nodes[id])
        loss = self._loss(order)
        self._check_groups(order)
        return Inference(
            self.avals,
            self.edges,
            tuple(self.problems),
            self.params,
            self.costs,
            self.summaries,
            order,
            loss,
        )

    def _add(self, node: str | None, found: Finding) -> None:
        severity: Severity = "error" if found.severity == "error" else "warning"
        self.problems.append(Problem(node, found.port, severity, found.message, found.fix))

    def _order(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The nodes in topological order, and those in or behind a cycle, each cycle reported."""
        nodes = self.document.nodes
        by_name = sorted(nodes, key=lambda id: (nodes[id].name, id))
        drawn = nx.DiGraph()
        drawn.add_nodes_from(by_name)
        edges = sorted(self.document.edges.values(), key=lambda edge: edge.key)
        drawn.add_edges_from((edge.source, edge.target) for edge in edges)
        place = {id: index for index, id in enumerate(by_name)}
        if nx.is_directed_acyclic_graph(drawn):
            return tuple(_sorted(drawn, place)), ()
        stuck: set[str] = set()
        for members in nx.strongly_connected_components(drawn):
            if len(members) > 1 or any(drawn.has_edge(id, id) for id in members):
                self._report_cycle(drawn.subgraph(members))
                for id in members:
                    stuck |= {id} | nx.descendants(drawn, id)
        free = drawn.subgraph([id for id in drawn if id not in stuck])
        return tuple(_sorted(free, place)), tuple(sorted(stuck, key=place.__getitem__))

    def _report_cycle(self, members: nx.DiGraph) -> None:
        nodes = self.document.nodes
        steps = [step[0] for step in nx.find_cycle(members)]
        first = min(range(len(steps)), key=lambda index: nodes[steps[index]].name)
        steps = [*steps[first:], *steps[:first], steps[first]]
        names = " → ".join(nodes[id].name for id in steps)
        found = Finding(f"These nodes feed each other: {names}.", "Remove one of these wires.")
        for id in sorted(members.nodes, key=lambda id: nodes[id].name):
            self._add(id, found)

    def _check_document(self) -> None:
        for item in self.document.state.loose:
            what = "compile group" if not hasattr(item, "target") else "wire or mark"
            message = f"A {what} of the file belongs to nodes that are missing; it is kept aside."
            self._add(None, Finding(message, severity="warning"))
        for key, mark in sorted(self.document.breakpoints.items()):
            if reason := unreadable(mark.condition):
                message = f"A breakpoint's condition cannot be read, so it never stops: {reason}."
                fix = "Change the condition, or remove the breakpoint."
                self._add(key[0], Finding(message, fix, key[1], severity="warning"))
        names: dict[str, str] = {}
        for id, node in sorted(self.document.nodes.items()):
            if node.name in names:
                message = f"Two nodes are named {node.name!r}."
                self._add(id, Finding(message, "Give this one another name."))
            names.setdefault(node.name, id)

    def _describe(self, node: NodeItem) -> None:
        """Parameters and summary of a node that cannot be evaluated."""
        spec = spec_of(node.type)
        if spec is not None:
            self.params[node.id] = spec.filled(node.params)
            self.summaries[node.id] = _summary(spec, node.params)

    def _visit(self, node: NodeItem) -> None:
        spec = spec_of(node.type)
        if spec is None:
            message = f"This version has no node of type {node.type}; it is kept as it is."
            self._add(node.id, Finding(message, "Update Cellwire, or delete the node."))
            return
        self._describe(node)
        findings = [*check_params(spec, node.params), *self._check_wires(node, spec)]
        for found in findings:
            self._add(node.id, found)
        if any(found.severity == "error" for found in findings):
            return
        outcome = self._outcome(node, spec)
        if outcome is None:
            return
        for found in outcome.findings:
            self._add(node.id, found)
        for port, aval in outcome.outputs.items():
            self.avals[node.id, port] = aval
        if outcome.params:
            self.params[node.id] = outcome.params
            self.summaries[node.id] = _summary(spec, outcome.params)
        self.costs[node.id] = outcome.cost

    def _check_wires(self, node: NodeItem, spec: NodeSpec) -> list[Finding]:
        wired = self.into[node.id]
        found: list[Finding] = []
        for name, edge in sorted(wired.items()):
            if not spec.takes(name):
                ports = ", ".join(port.name for port in spec.inputs) or "none"
                message = f"A wire goes into {name}, but the inputs of {spec.title} are: {ports}."
                found.append(Finding(message, "Remove that wire.", name))
            source = self.document.nodes[edge.source]
            giver = spec_of(source.type)
            if giver and edge.output not in {port.name for port in giver.outputs}:
                message = f"The wire into {name} leaves {source.name}.{edge.output}, no output."
                found.append(Finding(message, "Draw the wire again.", name))
        for port in spec.input_ports(wired):
            if port.required and port.name not in wired:
                message = f"{port.name} of {node.name} is not connected."
                found.append(Finding(message, f"Draw a wire to {port.name}.", port.name))
        return found + _halves(node, spec, wired)

    def _outcome(self, node: NodeItem, spec: NodeSpec) -> Outcome | None:
        """What the node gives, or None where what feeds it is not known."""
        if spec.data is not None:
            try:
                avals = spec.data.avals(spec.filled(node.params), self.base)
                return Outcome(avals)
            except DataError as error:
                return Outcome(findings=(Finding(str(error), error.fix),))
        inputs = inputs_of(spec, self.into[node.id], self.avals)
        for port, aval in inputs:
            if aval is not None:
                self.edges[node.id, port] = aval
        if any(aval is None for port, aval in inputs if port in self.into[node.id]):
            return None
        return evaluate(spec, node.params, inputs)

    def _loss(self, order: Sequence[str]) -> str | None:
        """The loss to train on: the chosen one, else the only one."""
        nodes = self.document.nodes
        chosen = self.document.training.loss
        losses = [id for id in order if (s := spec_of(nodes[id].type)) and s.kind == "loss"]
        for id in losses:
            aval = self.avals.get((id, "out"))
            if aval is not None and aval.ndim:
                message = f"{nodes[id].name} gives {aval}, not one number to train on."
                self._add(id, Finding(message, "Set reduction to mean.", severity="warning"))
        if chosen in losses:
            return chosen
        if chosen is not None:
            message = "The loss that the training settings name is no longer in the drawing."
            self._add(None, Finding(message, "Choose the loss again.", severity="warning"))
        if len(losses) > 1:
            names = ", ".join(nodes[id].name for id in losses)
            found = Finding(f"There is more than one loss: {names}.", "Choose one in Training.")
            for id in losses:
                self._add(id, found)
        return losses[0] if len(losses) == 1 else None

    def _check_groups(self, order: Sequence[str]) -> None:
        for group in self.document.groups.values():
            if missing := between(self.document, group.nodes):
                names = ", ".join(self.document.nodes[id].name for id in order if id in missing)
                message = f"A path leaves {group.name} and comes back through {names}."
                fix = f"Add {names} to the group; until then it runs eagerly."
                self._add(group.nodes[0], Finding(message, fix, severity="warning"))


def _halves(node: NodeItem, spec: NodeSpec, wired: Collection[str]) -> list[Finding]:
    return [
        Finding(
            f"{port} of {node.name} is not connected, but {other} is.",
            f"Draw a wire to {port} as well, or to neither.",
            port,
        )
        for port, other in spec.half_wired(wired).items()
    ]


def _sorted(drawn: nx.DiGraph, place: Mapping[str, int]) -> list[str]:
    """The nodes in topological order, those that could go first by their place."""
    return list(nx.lexicographical_topological_sort(drawn, key=lambda id: place[str(id)]))


def inputs_of(
    spec: NodeSpec, wired: Mapping[str, Edge], avals: Mapping[tuple[str, str], Aval]
) -> Inputs:
    """The avals that enter a node by port in its order, numbered ports last number last."""
    ports: list[str] = []
    for port in spec.inputs:
        if not port.variadic:
            ports.append(port.name)
            continue
        numbered = {name: variadic_index(port, name) for name in wired}
        taken = [(index, name) for name, index in numbered.items() if index is not None]
        ports += [name for _, name in sorted(taken)]
    return tuple(
        (name, avals.get((wired[name].source, wired[name].output)) if name in wired else None)
        for name in ports
    )


def unreadable(condition: str) -> str:
    """Why a breakpoint's condition cannot be read; empty where it can."""
    try:
        parse_condition(condition)
    except ConditionError as error:
        return str(error)
    return ""


def between(document: Document, ids: Sequence[str]) -> set[str]:
    """The nodes outside a selection through which a path leaves it and comes back."""
    after = reaches(document, ids)
    before = reaches(document, ids, forward=False)
    return (after & before) - set(ids)


def reaches(document: Document, ids: Sequence[str], *, forward: bool = True) -> set[str]:
    """The nodes that wires lead to from `ids`, or (not `forward`) that lead to them."""
    links: dict[str, list[str]] = {}
    for edge in document.edges.values():
        first, second = (edge.source, edge.target) if forward else (edge.target, edge.source)
        links.setdefault(first, []).append(second)
    found: set[str] = set()
    waiting = list(ids)
    while waiting:
        for id in links.get(waiting.pop(), []):
            if id not in found:
                found.add(id)
                waiting.append(id)
    return found


def _summary(spec: NodeSpec, params: Params) -> str:
    try:
        return spec.summary(params)
    except (DataError, TypeError, ValueError):
        return spec.title
