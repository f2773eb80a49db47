"""One story by mouse and keys: draw, debug, compile, train, export; and both examples trained.

With CELLWIRE_SCREENSHOTS set to a folder, the pictures of the story are kept there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from cellwire.app import theme
from cellwire.app.panels import add_panels
from cellwire.app.session import messages as m
from cellwire.app.window import MainWindow
from cellwire.nodes.files import load
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton

EXAMPLES = Path(__file__).resolve().parent.parent / "assets" / "examples"
LEFT = Qt.MouseButton.LeftButton
WAIT_MS = 60_000

NODES = {
    "digits1": ("digits", (20, 40)),
    "scale1": ("scale", (240, 0)),
    "flatten1": ("flatten", (440, 0)),
    "dense1": ("dense", (640, 0)),
    "relu1": ("relu", (240, 150)),
    "dense2": ("dense", (440, 150)),
    "loss1": ("crossentropyloss", (660, 200)),
}
"""Name → what is typed to find it, and where it goes."""

WIRES = (
    ("digits1", "images", "scale1"),
    ("scale1", "out", "flatten1"),
    ("flatten1", "out", "dense1"),
    ("dense1", "out", "relu1"),
    ("relu1", "out", "dense2"),
    ("dense2", "out", "loss1"),
)


class Hand:
    """A person's hand on the canvas: everything goes through mouse and key events."""

    def __init__(self, window: MainWindow, qtbot: object) -> None:
        self.window, self.qtbot, self.state = window, qtbot, window.state
        self.view = window.canvas
        self.sheet = self.view.viewport()

    def place(self, scene: QPointF) -> QPoint:
        return self.view.mapFromScene(scene)

    def event(self, kind: QMouseEvent.Type, at: QPoint, button: Qt.MouseButton) -> None:
        held = Qt.MouseButton.NoButton if kind == QMouseEvent.Type.MouseButtonRelease else button
        where = QPointF(at)
        event = QMouseEvent(kind, where, QPointF(self.sheet.mapToGlobal(at)), button, held,
                            Qt.KeyboardModifier.NoModifier)  # fmt: skip
        QApplication.sendEvent(self.sheet, event)

    def drag(self, start: QPoint, end: QPoint) -> None:
        self.event(QMouseEvent.Type.MouseButtonPress, start, LEFT)
        for step in range(1, 9):
            at = start + (end - start) * step / 8
            self.event(QMouseEvent.Type.MouseMove, at, LEFT)
        self.event(QMouseEvent.Type.MouseButtonRelease, end, LEFT)
        QApplication.processEvents()

    def click(self, scene: QPointF) -> None:
        self.qtbot.mouseClick(self.sheet, LEFT, pos=self.place(scene))

    def id(self, name: str) -> str:
        node = self.state.document.node_named(name)
        assert node is not None, name
        return node.id

    def item(self, name: str) -> object:
        return self.view.canvas.nodes[self.id(name)]

    def add(self, words: str, at: tuple[int, int]) -> None:
        """Search for a node with Tab and put it here."""
        before = len(self.state.document.nodes)
        place = self.place(QPointF(*at))
        self.qtbot.mouseClick(self.sheet, LEFT, pos=place)
        QTest.keyClick(self.view, Qt.Key.Key_Tab)
        field = QApplication.activePopupWidget().field
        self.qtbot.keyClicks(field, words)
        QTest.keyClick(field, Qt.Key.Key_Return)
        self.qtbot.waitUntil(lambda: len(self.state.document.nodes) == before + 1)

    def move(self, name: str, to: tuple[int, int]) -> None:
        item = self.item(name)
        grip = QPointF(40, 12)
        self.drag(self.place(item.pos() + grip), self.place(QPointF(*to) + grip))

    def wire(self, source: str, output: str, target: str, port: str | None = None) -> None:
        card = self.item(target).look.card
        name = port or next(iter(card.inputs))
        start = self.item(source).output_at(output)
        self.drag(self.place(start), self.place(self.item(target).input_at(name)))

    def middle_of(self, target: str, port: str) -> QPointF:
        wire = self.view.canvas.edges[self.id(target), port]
        return wire.route.path.pointAtPercent(0.25)

    def press(self, button: QPushButton) -> None:
        assert button.isEnabled(), button.text()
        self.qtbot.mouseClick(button, LEFT)

    def type_into(self, edit: QLineEdit, text: str) -> None:
        edit.setFocus()
        edit.selectAll()
        self.qtbot.keyClicks(edit, text)
        self.qtbot.keyClick(edit, Qt.Key.Key_Return)

    def wait(self, until: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(until, timeout=WAIT_MS)

    def picture(self, name: str) -> None:
        folder = os.environ.get("CELLWIRE_SCREENSHOTS")
        if folder:
            QTest.qWait(300)
            Path(folder).mkdir(parents=True, exist_ok=True)
            assert self.window.grab().save(str(Path(folder) / f"{name}.png"))


@pytest.fixture
def hand(desktop: object, qtbot: object, tmp_path: Path) -> Iterator[Hand]:
    window = MainWindow()
    window.panels = add_panels(window)
    window.resize(1600, 1000)
    window.show()
    hand = Hand(window, qtbot)
    hand.wait(lambda: window.state.session.state == "ready")
    yield hand
    window.state.undo_stack.setClean()
    window.close()


def draw(hand: Hand) -> None:
    """Point 2: nodes by search, wires by mouse, a wire refused, parameters, undo."""
    state = hand.state
    hand.view.center_on(QPointF(420, 160))
    for words, at in NODES.values():
        hand.add(words, at)
    for name in list(NODES):
        hand.move(name, NODES[name][1])
    for source, output, target in WIRES:
        hand.wire(source, output, target)
    hand.wire("digits1", "labels", "loss1", "labels")
    assert len(state.document.edges) == len(WIRES) + 1

    hand.wire("relu1", "out", "scale1")
    assert state.document.edges_into(hand.id("scale1"))[0].source == hand.id("digits1")
    assert any("cycle" in line.message for line in state.log)

    inspector = hand.window.panels["Inspector"]
    for name, size in (("dense1", "64"), ("dense2", "10")):
        hand.click(hand.item(name).pos() + QPointF(40, 12))
        hand.type_into(inspector.findChild(QLineEdit, "param-out_channels"), size)
    state.infer_now()
    hand.wait(lambda: not state.problems)  # the session's own findings come a little later
    assert str(state.inference.edges[hand.id("relu1"), "x"]) == "N×64 f32"

    steps = state.undo_stack.count()
    hand.window.actions_by_id["undo"].trigger()
    assert state.document.nodes[hand.id("dense2")].params.get("out_channels") != 10
    hand.window.actions_by_id["redo"].trigger()
    assert state.undo_stack.count() == steps
    assert state.document.nodes[hand.id("dense2")].params["out_channels"] == 10
    hand.picture("1-drawn")


def debug(hand: Hand) -> None:
    """Point 3: a breakpoint by a click on the wire, a condition, the tensor, the gradient."""
    state, panels = hand.state, hand.window.panels
    hand.click(hand.middle_of("relu1", "x"))
    edge = (hand.id("relu1"), "x")
    assert (*edge, "forward") in state.document.breakpoints
    condition = panels["Breakpoints"].table.cellWidget(0, 2)
    hand.type_into(condition, "absmax > 0.001")
    hand.press(hand.window.topbar.buttons["run"])
    hand.wait(lambda: state.run.paused is not None)
    assert state.run.paused.node == hand.id("relu1")
    tensor = panels["Tensor"]
    hand.wait(lambda: tensor.picture.image is not None)
    assert tensor.facts.fact("tensor") == "32×64 float32"
    assert tensor.badge.isVisible()
    hand.picture("2-paused")
    hand.press(hand.window.topbar.buttons["continue"])
    backward = hand.window.actions_by_id["backward"]
    hand.wait(backward.isEnabled)
    backward.trigger()
    hand.wait(lambda: edge in state.run.ran_backward)
    hand.press(tensor.which)
    hand.wait(lambda: tensor.facts.fact("tensor") == "32×64 float32")
    hand.press(tensor.which)


def compile_selection(hand: Hand) -> None:
    """Point 4: a rubber band, Compile, and a breakpoint inside that still stops."""
    state = hand.state
    band = (QPointF(225, -15), QPointF(640, 235))
    hand.view.state.select(type(state.selection)())
    hand.drag(hand.place(band[0]), hand.place(band[1]))
    chosen = {hand.id(name) for name in ("scale1", "flatten1", "relu1", "dense2")}
    assert chosen <= state.selection.nodes
    QTest.keyClick(hand.view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    keep = {hand.id(n) for n in ("scale1", "flatten1", "dense1", "relu1", "dense2")}
    state.select(type(state.selection)(nodes=frozenset(keep)))
    hand.press(hand.window.topbar.buttons["compile"])
    hand.wait(lambda: bool(state.reports))
    (report,) = state.reports.values()
    assert set(report.nodes) == keep
    assert len(report.kernels) < len(keep)
    assert report.parity < 1e-4
    hand.press(hand.window.topbar.buttons["run"])
    hand.wait(lambda: state.run.paused is not None)
    assert state.run.paused.node == hand.id("relu1")
    hand.picture("3-paused-in-a-compiled-group")
    hand.press(hand.window.topbar.buttons["stop"])
    hand.wait(lambda: state.run.state == "ready")
    hand.click(hand.middle_of("relu1", "x"))
    assert not state.document.breakpoints


def train(hand: Hand) -> None:
    """Point 5: settings, the live curve, pause and resume."""
    state, panel = hand.state, hand.window.panels["Training"]
    hand.type_into(panel.settings.findChild(QLineEdit, "param-epochs"), "6")
    hand.type_into(panel.settings.findChild(QLineEdit, "param-learning_rate"), "0.005")
    hand.press(panel.train)
    hand.wait(lambda: state.training.finished is not None)
    assert len(state.training.epochs) == 6
    assert state.training.losses[-1] < state.training.losses[0] / 2
    assert state.training.finished.held_out_accuracy > 0.9
    assert panel.figures.accuracy.text().endswith("%")
    hand.picture("4-trained")


def save_and_export(hand: Hand, folder: Path) -> None:
    """Points 2 and 6: the file opens as it was; the exported file gives the graph's outputs."""
    state = hand.state
    path = folder / "story.cellwire"
    assert hand.window.files.save_to(path)
    assert load(path).nodes == state.document.nodes
    answers: list[m.Event] = []
    source = folder / "exported" / "story.py"
    source.parent.mkdir()
    hand.window.link.send(m.Export(path=str(source)), answers.append)
    hand.wait(lambda: bool(answers))
    assert isinstance(answers[0], m.Exported)
    ran = subprocess.run([sys.executable, str(source)], cwd=folder, capture_output=True,
                         text=True, check=False)  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    accuracy = state.training.finished.held_out_accuracy
    assert f"{100 * accuracy:.1f}" in ran.stdout or f"{100 * accuracy:.2f}" in ran.stdout


def test_from_an_empty_canvas_to_an_exported_model(hand: Hand, tmp_path: Path) -> None:
    draw(hand)
    debug(hand)
    compile_selection(hand)
    train(hand)
    save_and_export(hand, tmp_path)
    theme.apply(QApplication.instance(), "light")
    hand.picture("5-light")


@pytest.mark.parametrize(("example", "least"), [("digits_mlp", 0.955), ("digits_cnn", 0.965)])
def test_an_example_trains_from_the_window(
    hand: Hand, tmp_path: Path, example: str, least: float
) -> None:
    """One seed here; the median of five seeds is `python -m benchmarks.digits`."""
    state = hand.state
    path = tmp_path / f"{example}.cellwire"
    path.write_bytes((EXAMPLES / path.name).read_bytes())
    assert hand.window.files.open_path(path, ask=False)
    hand.wait(lambda: state.session.state == "ready" and not state.problems)
    hand.press(hand.window.panels["Training"].train)
    hand.wait(lambda: state.training.finished is not None)
    assert not np.isnan(state.training.finished.loss)
    assert state.training.finished.held_out_accuracy >= least
