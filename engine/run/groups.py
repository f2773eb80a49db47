"""Compiled groups: nodes of a graph that run as fused machine code, in one piece or in several."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np

from ..autograd.record import is_recording, no_grad
from ..compiler.plan import Plan
from ..dtype import dtype_of
from ..origin import Origin
from ..tensor import Tensor, from_numpy
from .compiled import Compiled, Plans, compile_call, write
from .graph import Edge, Graph, Group, Source
from .units import CellState, Clock, call_node, node_id, set_mode

State = Literal["eager", "compiled", "stale", "failed"]
WARMING_RUNS = 3  # eager composite ops compile at their second call
FEWEST_RUNS = 5
MOST_RUNS = 25
TIMED_SECONDS = 0.1


class KernelLine(msgspec.Struct, frozen=True):
    """One kernel: its name and kind, the ops it does, and the nodes they belong to."""

    name: str
    kind: str
    ops: tuple[str, ...]
    nodes: tuple[str, ...]


class HostLine(msgspec.Struct, frozen=True):
    """An op that runs in NumPy between kernels, and why."""

    op: str
    node: str
    reason: str


class GroupReport(msgspec.Struct, frozen=True):
    """What a group became. Times are medians of a call; parity is against eager, on real inputs.

    `parity_relative` is the largest deviation over the largest magnitude of its output.
    """

    group: str
    name: str
    nodes: tuple[str, ...]
    kernels: tuple[KernelLine, ...]
    host_steps: tuple[HostLine, ...]
    compile_seconds: float
    eager_seconds: float
    compiled_seconds: float
    parity_absolute: float
    parity_relative: float
    arena_bytes: int
    code: str


@dataclass(frozen=True)
class Parity:
    """The largest deviation from eager, absolute and over the output's largest magnitude."""

    absolute: float
    relative: float
    allowed: float

    @property
    def good(self) -> bool:
        """Within what another order of rounding explains."""
        return self.relative <= self.allowed


class CompiledGroup:
    """The compiled form of a group: its plans, its state and its report.

    A plan is made for each new shape of the inputs, compared with eager on them, and then used;
    where it cannot be made or differs, the group runs eagerly and `reason` says why.
    """

    def __init__(self, graph: Graph, group: Group) -> None:
        self.graph = graph
        self.group = group
        self.state: State = "eager"
        self.reason = ""
        self.report: GroupReport | None = None
        self._plans = Plans()

    @property
    def usable(self) -> bool:
        """Whether it runs compiled, or will once it is compiled again."""
        return self.state in ("compiled", "stale")

    def compile(
        self, inputs: Sequence[Tensor], training: bool = False, clock: Clock | None = None
    ) -> GroupReport:
        """Compile for these values on `whole().edges`, compare with eager, and take the times.

        Raises
        ------
        GroupError
            It cannot be compiled, or differs from eager; the group then runs eagerly.
        """
        self.mark_stale(self.graph, "")
        if not self.usable:
            raise GroupError(self.group, self.reason)
        piece = self.whole()
        piece.training = training
        clock = clock or Clock()
        compiled, parity = self._make(piece, inputs, clock)
        with _Restored(piece):
            eager = _median(lambda: piece.call(inputs, clock))
        fused = _median(lambda: compiled.run(inputs, clock))
        self.report = _report(self.group, piece, compiled.plan, parity, eager, fused)
        return self.report

    def mark_stale(self, graph: Graph, reason: str) -> None:
        """Take the graph after an edit; the group compiles again when it next runs."""
        self.graph = graph
        self._plans.clear()
        self.state, self.reason = "stale", reason
        for node in (graph.nodes[id_] for id_ in graph.sorted(self.group.nodes)):
            if node.kind == "data":
                self._fail(f"{node.name} gives data; take it out of the group")

    def whole(self) -> Piece:
        """The group as one step."""
        return self.pieces()[0]

    def pieces(self, cuts: Iterable[str] = (), kept: Iterable[Source] = ()) -> list[Piece]:
        """The group as steps, a new one beginning at each node of `cuts`.

        Ports in `kept` are given out as well, besides those that are read outside.
        """
        begins = set(cuts)
        runs: list[list[str]] = [[]]
        for id_ in self.graph.sorted(self.group.nodes):
            if id_ in begins and runs[-1]:
                runs.append([])
            runs[-1].append(id_)
        wanted = frozenset(kept)
        return [Piece(self, tuple(run), wanted) for run in runs]

    def compiled_for(self, piece: Piece, inputs: Sequence[Tensor], clock: Clock) -> Compiled | None:
        """The plan for these inputs, made now if need be; None where the group runs eagerly."""
        if not self.usable:
            return None
        found = self._plans.get(piece.key(inputs))
        if found is not None:
            return found
        try:
            return self._make(piece, inputs, clock)[0]
        except GroupError:
            return None

    def _make(
        self, piece: Piece, inputs: Sequence[Tensor], clock: Clock
    ) -> tuple[Compiled, Parity]:
        try:
            with _Restored(piece), no_grad():
                compiled = compile_call(
                    lambda *tensors: piece.call(tensors, clock), inputs, self.group.name
                )
                expected = [tensor.data for tensor in piece.call(inputs, clock)]
                found = compiled.run(inputs, clock)[: compiled.call.results]
        except Exception as error:
            self._fail(f"{type(error).__name__}: {error}")
            raise GroupError(self.group, self.reason) from error
        parity = parity_of(expected, found)
        if not parity.good:
            self._fail(
                f"it differs from eager by {parity.relative:.1e} of its largest value, "
                f"more than {parity.allowed:.0e}"
            )
            raise GroupError(self.group, self.reason)
        self.state, self.reason = "compiled", ""
        self._plans.put(piece.key(inputs), compiled)
        return compiled, parity

    def _fail(self, reason: str) -> None:
        self.state, self.reason = "failed", reason
        self._plans.clear()


class GroupError(ValueError):
    """A group that runs eagerly, and why."""

    def __init__(self, group: Group, reason: str) -> None:
        super().__init__(f"{group.name} runs eagerly: {reason}")
        self.group = group
        self.reason = reason


class Piece:
    """Some nodes of a compiled group that run as one step of an execution."""

    def __init__(self, owner: CompiledGroup, nodes: tuple[str, ...], kept: frozenset[Source]):
        graph = owner.graph
        inside = set(nodes)
        self.owner = owner
        self.nodes = nodes
        self.training = False
        wires = [edge for id_ in nodes for edge in graph.nodes[id_].edges]
        self.edges: tuple[Edge, ...] = tuple(
            edge for edge in wires if graph.source(edge).node not in inside
        )
        self.outputs: tuple[Source, ...] = tuple(
            source
            for id_ in nodes
            for source in (Source(id_, port) for port in graph.nodes[id_].outputs)
            if source in kept
            or source in graph.outputs
            or any(edge.node not in inside for edge in graph.readers[source])
        )

    @property
    def id(self) -> str:
        """The group's id."""
        return self.owner.group.id

    @property
    def name(self) -> str:
        """The group's name."""
        return self.owner.group.name

    def key(self, inputs: Sequence[Tensor]) -> tuple[object, ...]:
        """What a plan is good for."""
        avals = tuple(tensor.aval for tensor in inputs)
        return (self.nodes, self.outputs, self.training, avals)

    def run(self, inputs: Sequence[Tensor], clock: Clock) -> tuple[Tensor, ...]:
        """Run the plan, and write what it changes; eagerly where there is none.

        Under a record the piece is one entry, with a forward and a backward plan.
        """
        compiled = self.owner.compiled_for(self, inputs, clock)
        if compiled is None:
            return self.call(inputs, clock)
        if is_recording():
            tensors = compiled.run_recorded(inputs, clock)
        else:
            tensors = [from_numpy(array) for array in compiled.run(inputs, clock)]
        results = compiled.call.results
        for tensor, value in zip(compiled.call.writes, tensors[results:], strict=True):
            write(tensor, value.data)
        return tuple(tensors[:results])

    def call(self, inputs: Sequence[Tensor], clock: Clock) -> tuple[Tensor, ...]:
        """Run the nodes one by one, or trace them."""
        graph = self.owner.graph
        values = {graph.source(e): t for e, t in zip(self.edges, inputs, strict=True)}
        entered = dict(zip(self.edges, inputs, strict=True))
        for id_ in self.nodes:
            node = graph.nodes[id_]
            set_mode(node, self.training)
            given = [entered[e] if e in entered else values[graph.source(e)] for e in node.edges]
            for port, tensor in zip(node.outputs, call_node(node, given, clock), strict=True):
                values[Source(id_, port)] = tensor
        return tuple(values[source] for source in self.outputs)


class _Restored:
    """Puts the running statistics of a piece's Cells back afterwards."""

    def __init__(self, piece: Piece) -> None:
        self._nodes = [piece.owner.graph.nodes[id_] for id_ in piece.nodes]
        for node in self._nodes:
            set_mode(node, piece.training)

    def __enter__(self) -> None:
        self._states = [CellState(node) for node in self._nodes]

    def __exit__(self, *exception: object) -> None:
        for state in self._states:
            state.restore()


def parity_of(expected: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> Parity:
    """Compare outputs; NaN and Inf must be at the same places."""
    absolute = relative = 0.0
    allowed = 1e-3
    for want, have in zip(expected, found, strict=True):
        if want.shape != have.shape or want.dtype != have.dtype:
            return Parity(np.inf, np.inf, allowed)
        if dtype_of(want.dtype).is_float and want.dtype.itemsize == 2:
            allowed = 2e-2
        a, b = want.astype(np.float64), have.astype(np.float64)
        finite = np.isfinite(a)
        if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
            return Parity(np.inf, np.inf, allowed)
        worst = float(np.abs(a[finite] - b[finite]).max(initial=0.0))
        size = float(np.abs(a[finite]).max(initial=0.0))
        absolute = max(absolute, worst)
        relative = max(relative, worst / size if size > 0 else worst)
    return Parity(absolute, relative, allowed)


def _median(run: Callable[[], object]) -> float:
    for _ in range(WARMING_RUNS):
        run()
    seconds: list[float] = []
    while len(seconds) < FEWEST_RUNS or (len(seconds) < MOST_RUNS and sum(seconds) < TIMED_SECONDS):
        started = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def _report(
    group: Group, piece: Piece, plan: Plan, parity: Parity, eager: float, fused: float
) -> GroupReport:
    def ids(origins: Iterable[Origin]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(node_id(origin) for origin in origins))

    made = plan.report
    return GroupReport(
        group.id,
        group.name,
        piece.nodes,
        tuple(KernelLine(k.name, k.kind, k.ops, ids(k.origins)) for k in made.kernels),
        tuple(
            HostLine(h.op, node_id(h.origin) if h.origin else "", h.reason) for h in made.host_steps
        ),
        made.compile_seconds,
        eager,
        fused,
        parity.absolute,
        parity.relative,
        made.arena_bytes,
        made.code,
    )
