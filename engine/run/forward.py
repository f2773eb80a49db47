"""The forward pass as a walk: units in topological order, values kept on wires."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..tensor import Tensor
from .breakpoints import Breakpoints, Direction
from .events import Event, Stop
from .graph import Edge, Graph, Source, schedule
from .groups import CompiledGroup, Piece
from .units import CellState, Clock, Feeds, NodeUnit, Unit, call_node, fed, set_mode
from .walk import Walk
from .wires import Wires


class Forward(Walk):
    """The walk over a graph's units in topological order, keeping values on wires.

    A compiled group is one unit, or several where a wire inside it has a breakpoint.
    """

    direction: Direction = "forward"

    def __init__(
        self,
        graph: Graph,
        feeds: Feeds,
        breakpoints: Breakpoints,
        wires: Wires,
        groups: Iterable[CompiledGroup],
        clock: Clock,
    ) -> None:
        self.graph = graph
        self.feeds = feeds
        self.wires = wires
        self.training = False
        self.clock = clock
        self.watches: frozenset[Edge] = frozenset()
        self.states: dict[str, CellState] = {}
        self._groups = {compiled.group: compiled for compiled in groups if compiled.usable}
        self._plan = schedule(graph, self._groups)
        super().__init__(self._units(set(), breakpoints.watched(), None), breakpoints)
        self._arranged: tuple[object, ...] = (breakpoints.revision, self.watches, None)

    def advance(self, stop: Stop, until: str | None = None) -> Event:
        """Move on to the next stop, with groups split where it needs to stop inside them."""
        wanted = (self.breakpoints.revision, self.watches, until)
        if self._groups and wanted != self._arranged:
            passed = {id_ for unit in self.units[: self.at] for id_ in unit.nodes}
            self.arrange(self._units(passed, self.breakpoints.watched(), until))
            self._arranged = wanted
        return super().advance(stop, until)

    def _units(self, passed: set[str], stops: set[Edge], until: str | None) -> list[Unit]:
        """Groups begin a new piece at what is next, at breakpoints, and at where to run to."""
        units: list[Unit] = []
        for part in self._plan:
            if isinstance(part, str):
                units.append(NodeUnit(self.graph.nodes[part]))
                continue
            inside = part.nodes
            cuts = {edge.node for edge in stops if edge.node in inside} | {until or ""}
            cuts |= set(self.graph.sorted(inside - passed)[:1])
            kept = [self.graph.source(e) for e in self.watches]
            units.extend(self._groups[part].pieces(cuts, kept))
        return units

    def arriving(self, unit: Unit) -> Sequence[Edge]:
        """The wires that enter the unit from outside."""
        return unit.edges

    def tensor(self, edge: Edge) -> Tensor:
        """What its source gave."""
        return self.wires.get(self.graph.source(edge))

    def is_done(self, unit: Unit) -> bool:
        """Whether the unit ran as it is cut now, and its values are kept."""
        return super().is_done(unit) and all(source in self.wires for source in unit.outputs)

    def compute(self, unit: Unit) -> None:
        """Run the unit on the values on its wires; a data node gives what was fed."""
        self.forget(set(unit.nodes))
        if isinstance(unit, Piece):
            unit.training = self.training
        for id_ in unit.nodes:
            node = self.graph.nodes[id_]
            set_mode(node, self.training)
            self.states[id_] = CellState(node)
        inputs = [self.tensor(edge) for edge in unit.edges]
        for source, tensor in zip(unit.outputs, self._call(unit, inputs), strict=True):
            self.wires.put(source, tensor)

    def _call(self, unit: Unit, inputs: list[Tensor]) -> tuple[Tensor, ...]:
        if isinstance(unit, NodeUnit) and unit.node.kind == "data":
            return fed(unit.node, self.feeds) or call_node(unit.node, inputs, self.clock)
        return unit.run(inputs, self.clock)

    def results(self, unit: Unit) -> Mapping[str, str]:
        """Port → shape and dtype, for the ports whose values are kept."""
        sources = [source for source in unit.outputs if source in self.wires]
        return {source.port: str(self.wires.get(source).aval) for source in sources}

    def materialise(self, ids: Iterable[str]) -> None:
        """Compute what these nodes gave inside compiled groups, which did not keep it."""
        for id_ in self.graph.sorted(ids):
            node = self.graph.nodes[id_]
            sources = [Source(id_, port) for port in node.outputs]
            if all(source in self.wires for source in sources):
                continue
            state = CellState(node)
            inputs = [self.tensor(edge) for edge in node.edges]
            results = call_node(node, inputs, self.clock)
            state.restore()
            for source, tensor in zip(sources, results, strict=True):
                self.wires.put(source, tensor)

    def take_over(self, other: Forward, ids: Iterable[str]) -> None:
        """Begin with what these nodes gave in another walk."""
        chosen = set(ids) & other.done
        for id_ in chosen:
            self.states[id_] = other.states[id_]
            for source in (Source(id_, port) for port in self.graph.nodes[id_].outputs):
                if source in other.wires:
                    self.wires.put(source, other.wires.get(source))
        self.adopt(other, chosen)

    def forget(self, stale: set[str]) -> None:
        """Drop what these nodes gave, and put back the Cell statistics that they had found."""
        for id_ in self.graph.sorted(stale & self.done):
            self.states.pop(id_).restore()
        self.done -= stale
        self.wires.drop(Source(i, p) for i in stale for p in self.graph.nodes[i].outputs)
