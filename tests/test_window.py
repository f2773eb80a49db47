"""The window: palette, docks, top bar, session, and nothing left over."""

from __future__ import annotations

import os
import signal
import sys
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest
from cellwire.app import filing, main, news
from cellwire.app.actions import ACTIONS
from cellwire.app.search import SearchPopup
from cellwire.app.session import messages as m
from cellwire.app.state import EditorState, Selection
from cellwire.app.window import MainWindow
from cellwire.engine.run.graph import Edge as EdgeName
from cellwire.engine.run.inspect import Statistics
from cellwire.nodes import changes as c
from cellwire.nodes.files import load, save
from cellwire.nodes.items import Edge, Group, NodeItem
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QDrag, QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit
from pytestqt.qtbot import QtBot

LEFT = Qt.MouseButton.LeftButton
CONTROL = Qt.KeyboardModifier.ControlModifier
STATS = Statistics((32, 64), "float32", 2048, 0.3, 4.8, -88.1, 214.7, 214.7, 0.4, 0, 0)


def add(window: MainWindow, id: str = "relu", type: str = "nn.ReLU") -> None:
    window.state.perform(c.AddNode(NodeItem(id=id, type=type, name=id)))


# palette and search


def test_a_node_is_dragged_from_the_palette(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, canvas = window.palette_panel.list, window.canvas.viewport()
    item = rows.findItems("Dense", Qt.MatchFlag.MatchExactly)[0]
    rows.scrollToItem(item)

    def carry(drag: QDrag, actions: Qt.DropAction) -> Qt.DropAction:
        """Offscreen platforms have no drags of their own: bring the data to the canvas."""
        place, data = QPoint(500, 300), drag.mimeData()
        none = Qt.KeyboardModifier.NoModifier
        for kind in (QDragEnterEvent, QDragMoveEvent):
            event = kind(place, actions, data, LEFT, none)
            QApplication.sendEvent(canvas, event)
            assert event.isAccepted()
        QApplication.sendEvent(canvas, QDropEvent(QPointF(place), actions, data, LEFT, none))
        return actions

    monkeypatch.setattr(QDrag, "exec", carry)
    start = rows.visualItemRect(item).center()
    QTest.mousePress(rows.viewport(), LEFT, Qt.KeyboardModifier.NoModifier, start)
    QTest.mouseMove(rows.viewport(), start + QPoint(15, 0))
    QTest.mouseMove(rows.viewport(), start + QPoint(30, 0))
    QTest.mouseRelease(rows.viewport(), LEFT, Qt.KeyboardModifier.NoModifier, start)
    (node,) = window.state.document.nodes.values()
    assert node.type == "nn.Dense"
    place = window.canvas.mapFromScene(QPointF(*node.position))
    assert (place - QPoint(488, 284)).manhattanLength() <= 10


def test_enter_in_the_palette_adds_the_best_hit(window: MainWindow, qtbot: QtBot) -> None:
    qtbot.keyClicks(window.palette_panel.field, "softm")
    qtbot.keyClick(window.palette_panel.field, Qt.Key.Key_Return)
    (node,) = window.state.document.nodes.values()
    assert node.type == "nn.Softmax"


def test_a_double_click_in_the_palette_adds_nodes_side_by_side(window: MainWindow) -> None:
    rows = window.palette_panel.list
    item = rows.findItems("ReLU", Qt.MatchFlag.MatchExactly)[0]
    rows.scrollToItem(item)
    for _ in range(2):
        place = rows.visualItemRect(item).center()
        QTest.mouseClick(rows.viewport(), LEFT, Qt.KeyboardModifier.NoModifier, place)
        QTest.mouseDClick(rows.viewport(), LEFT, Qt.KeyboardModifier.NoModifier, place)
    first, second = (item.frame for item in window.canvas.canvas.nodes.values())
    assert not first.intersects(second)


def test_a_category_of_the_palette_is_folded_by_a_click_on_its_name(window: MainWindow) -> None:
    rows = window.palette_panel.list
    (heading,) = rows.findItems("Cells", Qt.MatchFlag.MatchExactly)
    (family,) = rows.findItems("Linear", Qt.MatchFlag.MatchExactly)
    _, dense, *_ = rows.findItems("Dense", Qt.MatchFlag.MatchExactly)  # the first one is common
    assert dense.isHidden()
    for clicked, shown in ((family, True), (heading, False), (heading, True), (family, False)):
        rows.scrollToItem(clicked)
        place = rows.visualItemRect(clicked).center()
        QTest.mouseClick(rows.viewport(), LEFT, Qt.KeyboardModifier.NoModifier, place)
        assert dense.isHidden() != shown
        assert family.isHidden() == (clicked is heading and not shown)
    assert not window.state.document.nodes


def test_control_k_finds_actions_and_runs_them(window: MainWindow, qtbot: QtBot) -> None:
    add(window)
    QTest.keyClick(window, Qt.Key.Key_K, CONTROL)
    popup = window.findChild(SearchPopup)
    qtbot.keyClicks(popup.field, "select all")
    qtbot.keyClick(popup.field, Qt.Key.Key_Return)
    assert window.state.selection.nodes == {"relu"}


def test_keys_of_the_canvas_leave_text_fields_alone(window: MainWindow, qtbot: QtBot) -> None:
    add(window)
    window.state.select(Selection(nodes=frozenset({"relu"})))
    field = window.palette_panel.field
    field.setFocus()
    field.setText("ab")
    QTest.keyClick(field, Qt.Key.Key_Backspace)
    QTest.keyClick(field, Qt.Key.Key_F)
    QTest.keyClick(field, Qt.Key.Key_Tab)
    assert field.text() == "af"
    assert "relu" in window.state.document.nodes
    assert window.findChild(SearchPopup) is None


def test_keys_on_the_canvas(window: MainWindow) -> None:
    add(window)
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Qt.Key.Key_A, CONTROL)
    QTest.keyClick(window.canvas, Qt.Key.Key_Delete)
    assert not window.state.document.nodes
    QTest.keyClick(window.canvas, Qt.Key.Key_Z, CONTROL)
    assert "relu" in window.state.document.nodes
    QTest.keyClick(window.canvas, Qt.Key.Key_Y, CONTROL)
    assert not window.state.document.nodes


def test_no_two_actions_share_a_key() -> None:
    keys = [spec.keys for spec in ACTIONS if spec.keys]
    assert len(keys) == len(set(keys))


# docks and bars


def test_panels_are_docked_stacked_and_tabbed(window: MainWindow, qtbot: QtBot) -> None:
    first = window.add_panel("bottom", "One", QLabel("1"))
    second = window.add_panel("bottom", "Two", QLabel("2"))
    right = window.add_panel("right", "Side", QLabel("3"))
    qtbot.waitUntil(lambda: window.tabifiedDockWidgets(first) == [second])
    assert window.dockWidgetArea(right) == Qt.DockWidgetArea.RightDockWidgetArea
    names = {action.text() for action in window.panels_menu.actions()}
    assert {"Nodes", "One", "Two", "Side"} <= names


def test_the_layout_is_remembered(desktop: object, qtbot: QtBot) -> None:
    for hidden in (False, True):
        window = MainWindow(start_session=False)
        dock = window.add_panel("right", "Side", QLabel("side"))
        window.restore_layout()
        window.show()
        assert dock.isHidden() is hidden
        dock.hide()
        window.close()


def test_the_theme_is_remembered(window: MainWindow) -> None:
    from cellwire.app import theme

    window.set_theme("light")
    assert theme.preferred() == "light"


STATES: list[tuple[m.State, str]] = [
    ("ready", "run"),
    ("running", "pause"),
    ("paused", "continue"),
    ("training", "pause"),
    ("training paused", "continue"),
    ("finished", "run"),
]


@pytest.mark.parametrize(("words", "primary"), STATES)
def test_the_button_that_makes_sense_now_is_filled(
    window: MainWindow, words: m.State, primary: str
) -> None:
    news.take(window.state, m.Ready(1, "CPU", 2))
    news.take(window.state, m.StateChanged(words))
    filled = [i for i, b in window.topbar.buttons.items() if b.property("role") == "primary"]
    assert filled == [primary]
    assert window.topbar.buttons[primary].isEnabled()


def test_the_bars_tell_what_is_going_on(window: MainWindow) -> None:
    add(window, "a", "data.digits")
    add(window, "b", "ops.scale")
    window.state.perform(c.Connect(Edge("a", "images", "b", "input")))
    edge = EdgeName("b", "input")
    for event in (
        m.Ready(1, "CPU", 2),
        m.DocumentLoaded(1, window.state.document.revision, 2, 29066),
        m.StateChanged("paused", "b", 1),
        m.Paused("b", "breakpoint", edge, "absmax > 100", 3, STATS),
        m.Memory(1000, 512 * 2**20),
    ):
        news.take(window.state, event)
    labels = {name: label.text() for name, label in window.statusline.labels.items()}
    assert labels["session"] == "● session ready"
    assert labels["device"] == "CPU · 2 threads"
    assert labels["graph"] == "2 nodes · 29,066 parameters"
    assert labels["activity"] == "paused at a → b"
    assert window.statusline.memory.text() == "512 MB"
    card = window.canvas.canvas._paused_card
    assert card is not None
    assert (card.title, card.why) == ("Paused before b · hit 3", "absmax 214.7 > 100")


def test_what_is_done_is_told_at_the_bottom(window: MainWindow) -> None:
    activity = window.statusline.labels["activity"]
    news.take(window.state, m.TrainingFinished(450, 10, 0.33, 0.41, 0.922, 1.4))
    assert activity.text() == "Training ended after 450 steps, held-out accuracy 92.2%."
    assert activity.property("role") == "ok"


def test_train_brings_its_tab_to_the_front(window: MainWindow, qtbot: QtBot) -> None:
    training = window.add_panel("bottom", "Training", QLabel("1"))
    other = window.add_panel("bottom", "Two", QLabel("2"))
    qtbot.waitUntil(lambda: window.tabifiedDockWidgets(training) == [other])
    other.raise_()
    qtbot.waitUntil(lambda: not other.visibleRegion().isEmpty())
    window.actions_by_id["train"].setEnabled(True)
    window.actions_by_id["train"].trigger()
    qtbot.waitUntil(lambda: not training.visibleRegion().isEmpty())


def test_a_run_is_shown_on_nodes_and_wires(window: MainWindow) -> None:
    add(window, "a", "data.digits")
    add(window, "b", "ops.scale")
    window.state.perform(c.Connect(Edge("a", "images", "b", "input")))
    news.take(window.state, m.StateChanged("running"))
    news.take(window.state, m.NodeFinished("a", 0.5, {}))
    news.take(window.state, m.NodeFinished("b", 12.0, {}))
    scene = window.canvas.canvas
    assert scene.nodes["a"].look.note == "0.50 ms"
    assert scene.nodes["b"].look.note == "12 ms"
    assert scene.edges["b", "input"].wire.ran
    news.take(window.state, m.NodeFailed("b", None, "It broke.", "Mend it."))
    assert scene.nodes["b"].look.error == "It broke."


def test_wires_behind_a_pause_inside_a_group_have_not_run(window: MainWindow) -> None:
    state = window.state
    for id in ("a", "b", "d"):
        add(window, id)
    state.perform(c.Connect(Edge("a", "out", "b", "x")))
    state.perform(c.Connect(Edge("b", "out", "d", "x")))
    state.perform(c.AddGroup(Group(id="g", name="g", nodes=("a", "b", "d"))))
    news.take(state, m.StateChanged("running"))
    news.take(state, m.NodeFinished("g", 0.5, {}))
    assert state.run.ran == {("b", "x"), ("d", "x")}
    news.take(state, m.Paused("b", "breakpoint", EdgeName("b", "x")))
    assert state.run.ran == {("b", "x")}


def test_undo_names_what_it_undoes(window: MainWindow) -> None:
    add(window)
    assert window.actions_by_id["undo"].text() == "Undo add node"


# the session


def until(qtbot: QtBot, true: Callable[[], bool]) -> None:
    qtbot.waitUntil(true, timeout=20_000)


def test_a_killed_session_says_so_and_can_be_restarted(window: MainWindow, qtbot: QtBot) -> None:
    state = window.state
    window.link.start()
    until(qtbot, lambda: state.session.state == "ready")
    add(window, "a", "data.digits")
    until(qtbot, lambda: state.run.state == "ready")
    os.kill(state.session.pid, signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
    until(qtbot, lambda: state.session.state == "lost")
    assert window.banner.isVisible()
    assert "a" in state.document.nodes
    QTest.mouseClick(window.banner.restart, LEFT)
    until(qtbot, lambda: state.session.state == "ready")
    assert not window.banner.isVisible()
    QTest.mouseClick(window.topbar.buttons["run"], LEFT)
    until(qtbot, lambda: state.run.finished is not None)
    assert state.run.milliseconds["a"] > 0
    window.link.restart()
    assert state.session.state == "starting"
    assert state.run.milliseconds == {}
    until(qtbot, lambda: state.run.state == "ready")


def test_a_session_that_cannot_start_says_why(desktop: object, qtbot: QtBot) -> None:
    from cellwire.app.link import SessionLink

    state = EditorState()
    link = SessionLink(state, command=("/nowhere/python",))
    link.start()
    until(qtbot, lambda: state.session.state == "lost")
    assert "could not be started" in state.session.message
    link.close()
    state.close()


# nothing left over


def test_closed_windows_are_gone(desktop: object, qtbot: QtBot) -> None:
    from PySide6.QtCore import QCoreApplication, QEvent

    gone: list[weakref.ref[object]] = []
    for _ in range(3):
        window = MainWindow(start_session=False)
        add(window)
        window.show()
        gone += [weakref.ref(window), weakref.ref(window.canvas.canvas), weakref.ref(window.state)]
        window.discard_and_close()
        del window
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    import gc

    gc.collect()
    assert [ref() for ref in gone if ref() is not None] == []


def test_qt_calls_do_not_lose_references_to_none(desktop: object, qtbot: QtBot) -> None:
    label = QLabel()
    qtbot.addWidget(label)
    field = QLineEdit(label)
    before = sys.getrefcount(None)
    for i in range(50_000):
        label.move(i & 7, 0)
        field.update()
    assert abs(sys.getrefcount(None) - before) < 200


def test_without_a_display_the_program_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert main.main([]) == 1
    assert "bin/run" in capsys.readouterr().err


def test_the_program_takes_a_screenshot_and_quits(
    desktop: object, tmp_path: Path, settings_here: Path
) -> None:
    path = tmp_path / "window.png"
    document = tmp_path / "drawing.cellwire"
    save(load(filing.EXAMPLES / "digits_mlp.cellwire"), document)
    code = main.main([str(document), "--theme", "light", "--screenshot", str(path)])
    assert code == 0
    assert path.stat().st_size > 10_000
