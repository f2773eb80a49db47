"""Panels: they show the state, ask the session, and change the drawing only by undoable changes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from cellwire.app import news
from cellwire.app.panels.breakpoints import CONDITION, BreakpointsPanel
from cellwire.app.panels.code import CodePanel, Highlighter
from cellwire.app.panels.editors import ParameterError, parse, show
from cellwire.app.panels.inspector import InspectorPanel
from cellwire.app.panels.pictures import Picture, heat_image
from cellwire.app.panels.problems import ProblemsPanel
from cellwire.app.panels.profile import report_text
from cellwire.app.panels.tensor import TensorPanel
from cellwire.app.panels.training import TrainingPanel
from cellwire.app.session import messages as m
from cellwire.app.state import EditorState, Selection
from cellwire.engine.run.graph import Edge as EdgeName
from cellwire.engine.run.inspect import heat_map, histogram, image_grid, statistics, table
from cellwire.nodes import changes as c
from cellwire.nodes.document import Document
from cellwire.nodes.items import Breakpoint, Edge, NodeItem
from cellwire.nodes.spec import ParamSpec
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QComboBox, QLineEdit


class Link(QObject):
    """Stands for the line to a session: keeps what was sent, answers when the test says so."""

    event = Signal(object)
    alive = True

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[tuple[m.AnyCommand, Callable[[m.Event], None] | None]] = []

    def send(self, command: m.AnyCommand, then: Callable[[m.Event], None] | None = None) -> None:
        self.sent.append((command, then))

    def commands(self, kind: type) -> list[m.AnyCommand]:
        return [command for command, _ in self.sent if isinstance(command, kind)]


@pytest.fixture
def state(desktop: object) -> EditorState:
    document = Document("Test")
    document.apply(c.AddNode(NodeItem(id="a", type="data.digits", name="digits")))
    document.apply(c.AddNode(NodeItem(id="b", type="nn.Dense", name="head",
                                      params={"out_channels": 10})))  # fmt: skip
    document.apply(c.AddNode(NodeItem(id="f", type="nn.Flatten", name="flatten")))
    document.apply(c.Connect(Edge("a", "images", "f", "x")))
    document.apply(c.Connect(Edge("f", "out", "b", "x")))
    made = EditorState(document)
    yield made
    made.close()


@pytest.fixture
def link() -> Link:
    return Link()


INT = ParamSpec("n", "int", 1, minimum=1)
AUTO = ParamSpec("n", "int", None, auto=True)
FLOAT = ParamSpec("x", "float", 0.5, minimum=0, maximum=1)
SHAPE = ParamSpec("s", "shape", 2)


@pytest.mark.parametrize(
    ("spec", "text", "value"),
    [(INT, " 12 ", 12), (AUTO, "", None), (FLOAT, "1/16", 0.0625), (FLOAT, "1e-3", 1e-3),
     (SHAPE, "3", 3), (SHAPE, "3 × 4", [3, 4]), (SHAPE, "(2, 2)", [2, 2])],
)  # fmt: skip
def test_text_of_a_parameter_is_read_and_written(spec: ParamSpec, text: str, value: object) -> None:
    assert parse(spec, text) == value
    assert parse(spec, show(spec, value)) == value


@pytest.mark.parametrize(
    ("spec", "text"), [(INT, "0"), (INT, "two"), (INT, ""), (FLOAT, "2"), (FLOAT, "1/0"),
                       (SHAPE, "3,x")]
)  # fmt: skip
def test_text_that_is_no_value_says_what_is_allowed(spec: ParamSpec, text: str) -> None:
    with pytest.raises(ParameterError, match=r"number|at least|from 0 to 1"):
        parse(spec, text)


def test_inspector_sets_a_parameter_as_one_undo_step(
    qtbot: object, state: EditorState, link: Link
) -> None:
    panel = InspectorPanel(state, link)
    qtbot.addWidget(panel)
    panel.show()
    state.select(Selection(nodes=frozenset({"b"})))
    edit = panel.findChild(QLineEdit, "param-out_channels")
    assert edit.text() == "10"
    edit.setFocus()
    edit.selectAll()
    qtbot.keyClicks(edit, "12")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert state.document.nodes["b"].params["out_channels"] == 12
    assert state.undo_stack.count() == 1
    state.undo_stack.undo()
    assert state.document.nodes["b"].params["out_channels"] == 10
    assert edit.text() == "10"


def test_inspector_shows_what_an_automatic_parameter_became(
    qtbot: object, state: EditorState, link: Link
) -> None:
    panel = InspectorPanel(state, link)
    qtbot.addWidget(panel)
    state.select(Selection(nodes=frozenset({"b"})))
    assert "64" in panel.findChild(QLineEdit, "param-in_channels").placeholderText()
    assert panel.costs.fact("parameters") == "650"


def test_inspector_refuses_a_bad_value_and_keeps_the_old_one(
    qtbot: object, state: EditorState, link: Link
) -> None:
    panel = InspectorPanel(state, link)
    qtbot.addWidget(panel)
    panel.show()
    state.select(Selection(nodes=frozenset({"b"})))
    edit = panel.findChild(QLineEdit, "param-out_channels")
    edit.setFocus()
    edit.selectAll()
    qtbot.keyClicks(edit, "-3")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert state.document.nodes["b"].params["out_channels"] == 10
    assert edit.property("invalid")
    assert "out_channels" in panel.message.text()


def test_inspector_renames_a_node(qtbot: object, state: EditorState, link: Link) -> None:
    panel = InspectorPanel(state, link)
    qtbot.addWidget(panel)
    panel.show()
    state.select(Selection(nodes=frozenset({"b"})))
    panel.name.setFocus()
    panel.name.selectAll()
    qtbot.keyClicks(panel.name, "classes")
    qtbot.keyClick(panel.name, Qt.Key.Key_Return)
    assert state.document.nodes["b"].name == "classes"


def test_tensor_asks_for_the_wire_in_focus_and_shows_the_answer(
    qtbot: object, state: EditorState, link: Link
) -> None:
    panel = TensorPanel(state, link)
    qtbot.addWidget(panel)
    panel.show()
    state.set_focus(("b", "x"))
    qtbot.waitUntil(lambda: len(link.sent) >= 2)
    value = np.arange(12, dtype=np.float32).reshape(3, 4)
    value[0, 0] = np.nan
    for command, answer in link.sent:
        assert command.edge == EdgeName("b", "x")
        answer(
            m.InspectionResult(
                request=1, edge=command.edge, what=command.what, stats=statistics(value),
                histogram=histogram(value), heat_map=heat_map(value),
            )
        )  # fmt: skip
    assert panel.title.text() == "flatten → head"
    assert panel.facts.fact("tensor") == "3×4 float32"
    assert panel.facts.fact("zeros · NaN · Inf").endswith("1 · 0")
    assert panel.picture.image.width() == 4


def test_tensor_says_what_a_wire_will_carry_before_a_run(
    qtbot: object, state: EditorState, link: Link
) -> None:
    link.alive = False
    panel = TensorPanel(state, link)
    qtbot.addWidget(panel)
    panel.show()
    state.set_focus(("b", "x"))
    qtbot.waitUntil(lambda: "N×64" in panel.note.text())


def test_a_value_that_is_not_finite_is_red_in_the_heat_map() -> None:
    image = heat_image(heat_map(np.array([[0.0, np.nan, 1.0]], np.float32)))
    assert image.pixelColor(1, 0).red() == 255
    assert image.pixelColor(0, 0) != image.pixelColor(2, 0)


def test_images_are_shown_as_a_grid(qtbot: object, desktop: object) -> None:
    picture = Picture()
    qtbot.addWidget(picture)
    picture.show_grid(image_grid(np.zeros((4, 1, 8, 8), np.uint8)))
    assert (picture.image.width(), picture.image.height()) == (17, 17)


def test_breakpoint_conditions_are_edited_and_bad_ones_refused(
    qtbot: object, state: EditorState, link: Link
) -> None:
    panel = BreakpointsPanel(state, link)
    qtbot.addWidget(panel)
    state.perform(c.SetBreakpoint(Breakpoint(target="b", input="x")), "Set breakpoint")
    edit = panel.table.cellWidget(0, CONDITION)
    edit.setText("absmax > ")
    edit.editingFinished.emit()
    assert "found the end at column 9" in panel.message.text()
    assert state.document.breakpoints["b", "x", "forward"].condition == ""
    edit.setText("absmax > 100")
    edit.editingFinished.emit()
    assert state.document.breakpoints["b", "x", "forward"].condition == "absmax > 100"


def test_a_condition_typed_for_a_breakpoint_that_went_is_dropped(
    qtbot: object, state: EditorState, link: Link
) -> None:
    panel = BreakpointsPanel(state, link)
    qtbot.addWidget(panel)
    state.perform(c.SetBreakpoint(Breakpoint(target="b", input="x")), "Set breakpoint")
    edit = panel.table.cellWidget(0, CONDITION)
    edit.setText("nan")
    state.perform(c.RemoveBreakpoint("b", "x"))
    edit.editingFinished.emit()
    assert not state.document.breakpoints


def test_a_breakpoint_is_switched_off_by_its_box(
    qtbot: object, state: EditorState, link: Link
) -> None:
    panel = BreakpointsPanel(state, link)
    qtbot.addWidget(panel)
    state.perform(c.SetBreakpoint(Breakpoint(target="b", input="x")), "Set breakpoint")
    panel.table.item(0, 0).setCheckState(Qt.CheckState.Unchecked)
    assert not state.document.breakpoints["b", "x", "forward"].enabled


def test_problems_are_counted_and_lead_to_their_node(
    qtbot: object, state: EditorState, link: Link
) -> None:
    panel = ProblemsPanel(state, link)
    qtbot.addWidget(panel)
    with qtbot.waitSignal(panel.counted):
        state.perform(c.Disconnect("b", "x"), "Disconnect")
        state.infer_now()
    assert panel.list.count() == 1
    assert panel.list.item(0).text().startswith("head: ")
    panel.list.itemActivated.emit(panel.list.item(0))
    assert state.selection.nodes == {"b"}


def test_a_training_that_stopped_at_nan_is_a_problem_while_it_waits(
    qtbot: object, state: EditorState, link: Link
) -> None:
    panel = ProblemsPanel(state, link)
    qtbot.addWidget(panel)
    news.take(state, m.StateChanged("training paused"))
    news.take(state, m.TrainingPaused("nan", 3, "b", "out of head has 1 NaN", "lower the rate"))
    assert panel.list.item(0).text() == "head: out of head has 1 NaN. Lower the rate."
    news.take(state, m.StateChanged("ready"))
    assert panel.list.count() == 0


def test_training_shows_curves_figures_and_sends_commands(
    qtbot: object, state: EditorState, link: Link
) -> None:
    panel = TrainingPanel(state, link)
    qtbot.addWidget(panel)
    state.set_session(type(state.session)("ready"))
    qtbot.mouseClick(panel.train, Qt.MouseButton.LeftButton)
    assert link.commands(m.Train)
    state.training.steps, state.training.losses = [1, 2], [2.0, 1.0]
    state.training.progress = m.TrainingProgress(2, 4, 1, 2, 1.0, 0.5, 1.5, 3.0)
    state.training.epochs = [m.EpochFinished(1, 2, 2, 1.5, 0.5, 1.2, 0.75, 0.1)]
    state.run.state = "training"
    state.training_changed.emit(state.training)
    assert list(panel.curves.train.getData()[1]) == [2.0, 1.0]
    assert panel.figures.accuracy.text() == "75.0 %"
    assert panel.figures.bar.value() == 2
    qtbot.mouseClick(panel.pause, Qt.MouseButton.LeftButton)
    assert link.commands(m.PauseTraining)
    assert not panel.train.isEnabled()


def test_the_training_panel_fits_the_docks_height(
    qtbot: object, state: EditorState, link: Link
) -> None:
    panel = TrainingPanel(state, link)
    qtbot.addWidget(panel)
    panel.show()
    assert panel.heightForWidth(1100) <= 200


def test_training_settings_are_changes_of_the_document(
    qtbot: object, state: EditorState, link: Link
) -> None:
    panel = TrainingPanel(state, link)
    qtbot.addWidget(panel)
    panel.show()
    edit = panel.settings.findChild(QLineEdit, "param-learning_rate")
    edit.setFocus()
    edit.selectAll()
    qtbot.keyClicks(edit, "0.01")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert state.document.training.learning_rate == 0.01
    choice = panel.settings.findChild(QComboBox, "param-optimizer")
    choice.setCurrentText("Momentum")
    choice.activated.emit(choice.currentIndex())
    assert state.document.training.optimizer == "Momentum"
    state.undo_stack.undo()
    state.undo_stack.undo()
    assert state.document.training == Document().training


def test_a_compile_report_names_kernels_nodes_and_reasons() -> None:
    report = m.GroupReport(
        1, "g", "features", ("a", "b"), (m.KernelLine("k0", ("a",)),),
        (m.HostStep("conv2d", ("b",), "no generated kernel yet"),), 14.0, 340.0, 100.0, 2e-7, 64,
        "define void @k0()",
    )  # fmt: skip
    text = report_text(report, {"a": "relu1", "b": "conv1"})
    assert "kernel k0: relu1" in text
    assert "2 nodes → 1 kernels and 1 host steps" in text
    assert "host conv2d (conv1): no generated kernel yet" in text
    assert "3.40×" in text
    assert text.endswith("define void @k0()")


def test_the_table_is_a_page_of_text(qtbot: object, state: EditorState, link: Link) -> None:
    panel = TensorPanel(state, link)
    qtbot.addWidget(panel)
    page = table(np.arange(6, dtype=np.int32).reshape(2, 3))
    panel._show_table(page)
    assert panel.table.item(1, 2).text() == "5"


def test_code_waits_for_the_inference_of_a_changed_drawing(
    qtbot: object, state: EditorState, link: Link
) -> None:
    panel = CodePanel(state, link)
    qtbot.addWidget(panel)
    panel.show()
    state.perform(c.RemoveNode("b"))
    panel.refresh()
    state.infer_now()
    panel.refresh()
    assert "Dense" not in panel.text.toPlainText()


def test_code_is_coloured_as_a_whole(qtbot: object, desktop: object) -> None:
    document = QTextDocument()
    document.setPlainText('"""Words\nwith more.\n"""\nimport this  # or that')
    highlighter = Highlighter(document, "python")
    highlighter.read(document.toPlainText())
    highlighter.rehighlight()
    lines = [document.findBlockByNumber(at).layout().formats() for at in range(4)]
    assert [[(form.start, form.length) for form in line] for line in lines] == [
        [(0, 8)], [(0, 10)], [(0, 3)], [(0, 6), (13, 9)],
    ]  # fmt: skip
