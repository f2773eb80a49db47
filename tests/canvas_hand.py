"""The canvas used by mouse and keys, as a person would, in tests."""

from __future__ import annotations

from cellwire.app.canvas.view import CanvasView
from cellwire.nodes import changes as c
from cellwire.nodes.document import Document
from cellwire.nodes.items import Edge, EdgeKey, NodeItem
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
SHIFT, CONTROL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


def small_document() -> Document:
    """Digits into scale into dense, a relu that nothing touches, and a loss."""
    document = Document("Small")
    places = {
        "digits": ("data.digits", 0.0, 0.0),
        "scale": ("ops.scale", 260.0, 0.0),
        "flatten": ("nn.Flatten", 520.0, 0.0),
        "relu": ("nn.ReLU", 0.0, 240.0),
        "loss": ("nn.CrossEntropyLoss", 780.0, 240.0),
    }
    for id, (type, x, y) in places.items():
        document.apply(c.AddNode(NodeItem(id=id, type=type, name=id, position=(x, y))))
    document.apply(c.Connect(Edge("digits", "images", "scale", "input")))
    return document


class Hand:
    """Does with mouse and keys what a person would, in the scene's coordinates."""

    def __init__(self, view: CanvasView) -> None:
        self.view, self.state = view, view.state

    def place(self, at: QPointF) -> QPoint:
        """Where a point of the scene is in the viewport."""
        return self.view.mapFromScene(at)

    def move(self, at: QPointF) -> None:
        QTest.mouseMove(self.view.viewport(), self.place(at))

    def click(self, at: QPointF, modifiers: Qt.KeyboardModifier = NONE) -> None:
        QTest.mouseClick(self.view.viewport(), LEFT, modifiers, self.place(at))

    def drag(
        self,
        start: QPointF,
        end: QPointF,
        modifiers: Qt.KeyboardModifier = NONE,
        *,
        drop: bool = True,
    ) -> None:
        """Press, move in three steps, and release."""
        viewport = self.view.viewport()
        QTest.mousePress(viewport, LEFT, modifiers, self.place(start))
        for share in (0.3, 0.7, 1.0):
            QTest.mouseMove(viewport, self.place(start + (end - start) * share))
        if drop:
            QTest.mouseRelease(viewport, LEFT, modifiers, self.place(end))

    def key(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = NONE) -> None:
        QTest.keyClick(self.view, key, modifiers)

    def card(self, id: str) -> QPointF:
        """A point on a node's card that is no port."""
        return self.view.canvas.nodes[id].frame.center() - QPointF(0.0, 20.0)

    def output(self, id: str, port: str = "out") -> QPointF:
        return self.view.canvas.nodes[id].output_at(port)

    def input(self, id: str, port: str) -> QPointF:
        return self.view.canvas.nodes[id].input_at(port)

    def wire(self, key: EdgeKey) -> QPointF:
        """A point on a wire beside its label and marks."""
        path = self.view.canvas.edges[key].route.path
        return path.pointAtPercent(path.percentAtLength(14.0))

    @property
    def nodes(self) -> set[str]:
        return set(self.state.selection.nodes)
