"""The parameters of the selected node, what it costs, and what is wrong with it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLineEdit, QWidget

from ...nodes import changes as c
from ...nodes.document import DocumentError
from ...nodes.spec import NodeSpec, ParamSpec
from ..link import SessionLink
from ..session import messages as m
from ..state import EditorState, sentences
from .editors import Editor, editor
from .rows import Facts, column, count, figure, label, large, row, set_role

COSTS = ("parameters", "FLOPs / sample", "time", "update / weight")


class InspectorPanel(QWidget):
    """Edits one node; says what is selected when that is not one node."""

    def __init__(
        self, state: EditorState, link: SessionLink, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("inspector")
        self._state, self._link = state, link
        self._node: str | None = None
        self._editors: dict[str, Editor] = {}
        self._build()
        state.selection_changed.connect(self._select)
        state.document_replaced.connect(self._select)
        state.document_changed.connect(self._changed)
        state.inference_changed.connect(self._refresh)
        state.problems_changed.connect(self._refresh)
        state.node_ran.connect(self._ran)
        state.training_changed.connect(self._show_costs)
        state.group_changed.connect(self._refresh)
        self._select()

    def _build(self) -> None:
        self.name = QLineEdit()
        self.name.setObjectName("node-name")
        self.name.setToolTip("The node's name, unique in the drawing")
        self.name.editingFinished.connect(self._rename)
        self.type = label("", "small")
        self.problem = label("", "stop", wrap=True)
        self.message = label("", "small", wrap=True)
        self.grid = QGridLayout()
        self.grid.setHorizontalSpacing(8)
        self.grid.setVerticalSpacing(6)
        self.grid.setColumnStretch(0, 1)
        self.grid.setColumnMinimumWidth(1, 112)
        self.costs = Facts(*COSTS)
        self.report = GroupFacts()
        layout = column(
            row(self.name, self.type),
            self.problem,
            self.grid,
            self.costs,
            self.report,
            self.message,
        )
        layout.setStretch(0, 0)
        layout.addStretch(1)
        self.setLayout(layout)

    # what is shown

    def _select(self, _: object = None) -> None:
        nodes = self._state.selection.nodes
        node = next(iter(nodes)) if len(nodes) == 1 else None
        if node not in self._state.document.nodes:
            node = None
        if node != self._node or node is None:
            self._node = node
            self._make_editors()
        self._refresh()

    def _make_editors(self) -> None:
        while (item := self.grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self._editors.clear()
        spec = self._spec()
        for at, param in enumerate(spec.params if spec else ()):
            self._add_editor(at, param)

    def _add_editor(self, at: int, param: ParamSpec) -> None:
        name = label(param.name, "muted")
        name.setToolTip(param.doc)
        made = editor(param)
        made.setMaximumWidth(150)
        made.edited.connect(lambda value, key=param.name: self._set(key, value))
        made.refused.connect(self._refused)
        self.grid.addWidget(name, at, 0, Qt.AlignmentFlag.AlignVCenter)
        self.grid.addWidget(made, at, 1)
        self._editors[param.name] = made

    def _spec(self) -> NodeSpec | None:
        return self._state.spec(self._node) if self._node else None

    def _changed(self, change: object) -> None:
        if self._node is not None and self._node not in self._state.document.nodes:
            self._select()
        else:
            self._refresh()

    def _refresh(self, _: object = None) -> None:
        node = self._state.document.nodes.get(self._node) if self._node else None
        for part in (self.name, self.type, self.costs):
            part.setVisible(node is not None)
        if node is None:
            self.problem.hide()
            self._show_selection()
            return
        self.report.hide()
        self.message.hide()
        if not self.name.isModified():
            self.name.setText(node.name)
        spec = self._spec()
        self.type.setText(spec.title if spec else f"{node.type} (unknown)")
        if spec is not None:
            resolved = self._state.inference.params.get(node.id, {})
            for param in spec.params:
                value = node.params.get(param.name, param.default)
                self._editors[param.name].show_value(value, resolved.get(param.name))
        self._show_problem(node.id)
        self._show_costs()

    def _show_problem(self, node: str) -> None:
        found = next((p for p in self._state.problems if p.node == node), None)
        self.problem.setVisible(found is not None)
        if found is not None:
            self.problem.setText(sentences(found.message, found.fix))

    def _ran(self, node: str) -> None:
        if node == self._node:
            self._show_costs()

    def _show_costs(self, _: object = None) -> None:
        if self._node is None:
            return
        cost = self._state.inference.costs.get(self._node)
        self.costs.set_row_visible("parameters", cost is not None and cost.parameters > 0)
        self.costs.set_row_visible("FLOPs / sample", cost is not None and cost.flops > 0)
        if cost is not None:
            self.costs.show_fact("parameters", count(cost.parameters))
            self.costs.show_fact("FLOPs / sample", large(cost.flops))
        time = self._state.run.milliseconds.get(self._node)
        self.costs.set_row_visible("time", time is not None)
        self.costs.show_fact("time", "" if time is None else f"{time:.2f} ms")
        ratio = self._state.training.ratios.get(self._node)
        self.costs.set_row_visible("update / weight", ratio is not None)
        self.costs.show_fact("update / weight", "" if ratio is None else figure(ratio, 2))

    def _show_selection(self) -> None:
        selection, document = self._state.selection, self._state.document
        group = next((box for box in selection.boxes if box in document.groups), None)
        self.report.setVisible(group is not None)
        if group is not None:
            self.report.show_group(
                document.groups[group].name,
                self._state.group_states.get(group),
                self._state.reports.get(group),
            )
        self.message.setVisible(group is None)
        many = len(selection.nodes)
        if many > 1:
            self.message.setText(f"{many} nodes selected. Compile them, move or copy them.")
        else:
            self.message.setText("Select a node to see and change its parameters.")

    # edits

    def _set(self, name: str, value: object) -> None:
        spec = self._spec()
        if self._node is None or spec is None:
            return
        param = spec.param(name)
        if param is not None and value == param.default:
            change: c.Change = c.SetParameters(self._node, {}, (name,))
        else:
            change = c.SetParameters(self._node, {name: value})
        self._perform(change, f"Set {name}")

    def _rename(self) -> None:
        self.name.setModified(False)
        node = self._state.document.nodes.get(self._node) if self._node else None
        text = self.name.text().strip()
        if node is None or text == node.name:
            return
        self._perform(c.RenameNode(node.id, text), "Rename node")

    def _perform(self, change: c.Change, text: str) -> None:
        try:
            self._state.perform(change, text)
        except DocumentError as error:
            self._refused(str(error))
            self._state.infer_now()

    def _refused(self, text: str) -> None:
        self.message.setText(text)
        self.message.show()


class GroupFacts(QWidget):
    """What a compile group became."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = label("", "heading")
        self.state = label("")
        self.reason = label("", "small", wrap=True)
        self.facts = Facts("nodes → kernels", "eager", "compiled", "speed-up", "parity", "compile")
        self.setLayout(column(row(self.title, None, self.state), self.reason, self.facts, margin=0))

    def show_group(
        self, name: str, state: m.GroupChanged | None, report: m.GroupReport | None
    ) -> None:
        """Show the state and, where there is one, the report."""
        self.title.setText(f"⚡ {name}")
        word = state.state if state else "not compiled"
        self.state.setText(word)
        set_role(
            self.state, {"compiled": "ok", "stale": "warn", "eager": "stop"}.get(word, "muted")
        )
        self.reason.setText(state.reason if state else "Press Compile to fuse these nodes.")
        self.reason.setVisible(bool(self.reason.text()))
        self.facts.setVisible(report is not None)
        if report is None:
            return
        kernels = len(report.kernels) + len(report.host_steps)
        speed = report.eager_microseconds / max(report.compiled_microseconds, 1e-9)
        for fact, text in {
            "nodes → kernels": f"{len(report.nodes)} → {kernels}",
            "eager": f"{report.eager_microseconds:,.0f} µs",
            "compiled": f"{report.compiled_microseconds:,.0f} µs",
            "speed-up": f"{speed:.1f}×",
            "parity": figure(report.parity, 2),
            "compile": f"{report.compile_milliseconds:,.0f} ms",
        }.items():
            self.facts.show_fact(fact, text)
