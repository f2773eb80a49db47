"""What nodes and wires show: document, inference, selection, run and reports put together."""

from __future__ import annotations

from ...engine.shape import Aval
from ...nodes.infer import Problem
from ...nodes.items import Edge
from ...nodes.items import NodeItem as NodeData
from ..state import EditorState, key_of
from . import geometry
from .edge_item import Wire
from .node_item import Look


class Looks:
    """Tells how a node or a wire looks now; `wired` has the inputs of each node that have wires."""

    def __init__(self, state: EditorState) -> None:
        self.state = state
        self.wired: dict[str, list[str]] = {}
        self._problems: dict[str, list[Problem]] = {}
        self.collect_problems()

    def collect_problems(self) -> None:
        """Take the problems of a new inference, by node."""
        self._problems = {}
        for problem in self.state.inference.problems:
            if problem.node is not None:
                self._problems.setdefault(problem.node, []).append(problem)

    def look(self, node: NodeData) -> Look:
        """How a node looks."""
        state, id = self.state, node.id
        spec = state.library.get(node.type)
        wired = self.wired.get(id, [])
        if spec is not None:
            inputs = tuple(port.name for port in spec.input_ports(wired))
            outputs = tuple(port.name for port in spec.outputs)
            summary = state.inference.summaries.get(id) or spec.summary(node.params)
            if summary == node.name:
                summary = spec.title
            category = spec.category
        else:
            inputs, summary, category = tuple(sorted(wired)), f"unknown: {node.type}", "unknown"
            outputs = tuple(sorted({e.output for e in state.document.edges_from(id)}))
        waiting = state.run.waits_for == id
        return Look(
            category,
            summary,
            geometry.lay_out(node.name, summary, inputs, outputs),
            error=self._error(id),
            note="next" if waiting else self._time(id),
            selected=id in state.selection.nodes,
            next=waiting,
        )

    def _error(self, id: str) -> str:
        failed = self.state.run.failed
        if failed is not None and failed.node == id:
            return failed.message
        halted = self.state.halted
        if halted is not None and halted.node == id:
            return halted.message
        errors = [p.message for p in self._problems.get(id, ()) if p.severity == "error"]
        return errors[0] if errors else ""

    def _time(self, id: str) -> str:
        for group in self._groups_of(id):
            report = self.state.reports.get(group)
            news = self.state.group_states.get(group)
            if report is not None and (news is None or news.state == "compiled"):
                shared = any(id in k.nodes and len(k.nodes) > 1 for k in report.kernels)
                return "fused" if shared else ""
        spent = self.state.run.milliseconds.get(id)
        if spent is None:
            return ""
        return f"{spent:.2f} ms" if spent < 10 else f"{spent:.0f} ms"

    def _groups_of(self, id: str) -> list[str]:
        return [g.id for g in self.state.document.groups.values() if id in g.nodes]

    def wire(self, edge: Edge) -> Wire:
        """How a wire looks."""
        state, key, document = self.state, edge.key, self.state.document
        forward = document.breakpoints.get((*key, "forward"))
        gradient = document.breakpoints.get((*key, "gradient"))
        paused = state.run.paused
        wrong = any(p.port == edge.input for p in self._problems.get(edge.target, ()))
        label, short = self._label(edge)
        return Wire(
            label=label,
            short=short,
            ran=key in state.run.ran,
            paused=paused is not None and paused.edge is not None and key_of(paused.edge) == key,
            failed=wrong,
            selected=key in state.selection.edges,
            breakpoint=_on_off(forward),
            conditional=forward is not None and bool(forward.condition),
            gradient=_on_off(gradient),
            watch=(*key, "forward") in document.watches or (*key, "gradient") in document.watches,
        )

    def _label(self, edge: Edge) -> tuple[str, str]:
        """The shape on a wire, with the dtype where the source node changes it, and alone."""
        avals = self.state.inference.avals
        aval = avals.get((edge.source, edge.output))
        if aval is None:
            return "", ""
        entering = [
            self.state.inference.edges.get((edge.source, port))
            for port in self.wired.get(edge.source, ())
        ]
        same = any(other is not None and other.dtype == aval.dtype for other in entering)
        shape = shape_text(aval)
        return (shape if same else f"{shape} {aval.dtype.short}"), shape


def shape_text(aval: Aval) -> str:
    """A shape as it stands on wires: `N×64×8×8`, or `scalar`."""
    return "×".join(map(str, aval.shape)) or "scalar"


def _on_off(mark: object) -> str:
    if mark is None:
        return ""
    return "on" if getattr(mark, "enabled", True) else "off"
