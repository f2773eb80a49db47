"""How the canvas is looked at: zoom, moving the sheet, what is drawn at which size."""

from __future__ import annotations

import pytest
from canvas_hand import LEFT, NONE, Hand
from cellwire.app.canvas.view import CanvasView
from cellwire.nodes import changes as c
from cellwire.nodes.items import Group
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication


def wheel(view: CanvasView, at: QPoint, steps: int) -> None:
    place = QPointF(at)
    event = QWheelEvent(
        place,
        QPointF(view.viewport().mapToGlobal(at)),
        QPoint(),
        QPoint(0, 120 * steps),
        Qt.MouseButton.NoButton,
        NONE,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(view.viewport(), event)


def test_the_wheel_zooms_at_the_pointer(hand: Hand) -> None:
    at = QPoint(300, 200)
    under, zoom = hand.view.mapToScene(at), hand.view.zoom
    wheel(hand.view, at, 2)
    assert hand.view.zoom == pytest.approx(zoom * 1.44)
    moved = hand.view.mapToScene(at) - under
    assert abs(moved.x()) < 2.0
    assert abs(moved.y()) < 2.0


def test_the_zoom_has_limits(hand: Hand) -> None:
    wheel(hand.view, QPoint(300, 200), 50)
    assert hand.view.zoom == pytest.approx(3.0)
    wheel(hand.view, QPoint(300, 200), -90)
    assert hand.view.zoom == pytest.approx(0.04)


@pytest.mark.parametrize("how", ["middle", "space"])
def test_the_sheet_is_dragged(hand: Hand, how: str) -> None:
    viewport, start = hand.view.viewport(), QPoint(400, 300)
    button = Qt.MouseButton.MiddleButton if how == "middle" else LEFT
    before = hand.view.mapToScene(start)
    if how == "space":
        QTest.keyPress(hand.view, Qt.Key.Key_Space)
    QTest.mousePress(viewport, button, NONE, start)
    QTest.mouseMove(viewport, start + QPoint(70, -30))
    QTest.mouseRelease(viewport, button, NONE, start + QPoint(70, -30))
    QTest.keyRelease(hand.view, Qt.Key.Key_Space)
    assert hand.view.mapToScene(start + QPoint(70, -30)) == before
    assert hand.nodes == set()


def test_fit_shows_everything(hand: Hand) -> None:
    hand.state.perform(c.MoveNodes({"loss": (6000.0, 4000.0)}))
    hand.view.fit()
    assert hand.view.visible_rect().contains(hand.view.canvas.drawing_rect())


@pytest.mark.parametrize("zoom", [3.0, 1.0, 0.55, 0.4, 0.2, 0.05])
def test_it_can_be_drawn_at_every_zoom(hand: Hand, zoom: float) -> None:
    hand.state.perform(c.AddGroup(Group(id="g", name="g", nodes=("scale", "flatten"))))
    hand.view.editor.toggle_breakpoint(("scale", "input"))
    hand.view.zoom_to(zoom)
    hand.view.center_on(hand.view.canvas.drawing_rect().center())
    picture = hand.view.grab().toImage()
    colors = {picture.pixel(x, y) for x in range(0, 1200, 3) for y in range(0, 700, 3)}
    assert len(colors) > 3
