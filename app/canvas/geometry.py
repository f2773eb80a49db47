"""Where things are: the size of a node's card, its ports, and the way of a wire around cards."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QFontMetricsF, QPainterPath

from .. import theme

GRID = 20
SNAP = 10
FIRST_PORT, PORT_GAP, BELOW_PORTS = 58.0, 22.0, 16.0
PLAIN_HEIGHT = 54.0
LEAST_WIDTH, MOST_WIDTH = 120.0, 260.0
MOST_SUMMARY = 150.0
"""A longer summary is cut, so that an edit does not grow the card over its neighbours."""
TEXT_LEFT, TEXT_RIGHT, TIME_ROOM = 20.0, 14.0, 66.0
PORT_RADIUS = 5.0
LANE = 26.0
"""How far a wire that goes around cards stays away from them."""
BEND = 90.0
AROUND = 24.0
"""A target less than this far to the right of its source is reached around."""


@dataclass(frozen=True)
class Card:
    """The size of a node's card, and its ports by name, relative to its top left corner."""

    width: float
    height: float
    inputs: dict[str, QPointF] = field(default_factory=dict)
    outputs: dict[str, QPointF] = field(default_factory=dict)
    name_inputs: bool = False
    name_outputs: bool = False

    @property
    def rect(self) -> QRectF:
        """The card's rectangle."""
        return QRectF(0.0, 0.0, self.width, self.height)


@lru_cache(maxsize=16384)
def text_width(text: str, size: float, weight: int = 400, mono: bool = False) -> float:
    """The width of a line of text, in scene units."""
    return _metrics(size, weight, mono).horizontalAdvance(text)


@lru_cache(maxsize=16)
def _metrics(size: float, weight: int, mono: bool) -> QFontMetricsF:
    return QFontMetricsF(theme.font(size, weight, mono=mono))


def elide(text: str, room: float, size: float, weight: int = 400, *, mono: bool = False) -> str:
    """The text, or as much of it as fits followed by an ellipsis."""
    if text_width(text, size, weight, mono) <= room:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if text_width(text[:middle].rstrip() + "…", size, weight, mono) <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + "…"


def lay_out(title: str, summary: str, inputs: Sequence[str], outputs: Sequence[str]) -> Card:
    """The card of a node: as wide as its words ask for, on a grid of 10 units."""
    name_inputs, name_outputs = len(inputs) > 1, len(outputs) > 1
    widths = [
        LEAST_WIDTH,
        TEXT_LEFT + text_width(title, theme.TITLE, 600) + TIME_ROOM,
        TEXT_LEFT + min(MOST_SUMMARY, text_width(summary, theme.SMALL)) + TEXT_RIGHT,
    ]
    ports = [
        max((text_width(name, theme.SMALL) for name in names), default=0.0) if named else 0.0
        for names, named in ((inputs, name_inputs), (outputs, name_outputs))
    ]
    widths.append(sum(ports) + 44.0)
    width = min(MOST_WIDTH, math.ceil(max(widths) / 10.0) * 10.0)
    rows = max(len(inputs), len(outputs))
    height = FIRST_PORT + PORT_GAP * (rows - 1) + BELOW_PORTS if rows else PLAIN_HEIGHT
    return Card(
        width,
        height,
        {name: QPointF(0.0, FIRST_PORT + PORT_GAP * i) for i, name in enumerate(inputs)},
        {name: QPointF(width, FIRST_PORT + PORT_GAP * i) for i, name in enumerate(outputs)},
        name_inputs,
        name_outputs,
    )


@dataclass(frozen=True)
class Route:
    """The way of a wire: its path, the place for its label, and the room for it there."""

    path: QPainterPath
    middle: QPointF
    room: float


def straight(start: QPointF, end: QPointF) -> Route:
    """A wire to a target on its right: one cubic."""
    reach = end.x() - start.x()
    bend = min(max(28.0, reach * 0.5, abs(end.y() - start.y()) * 0.25), max(reach, 120.0))
    path = QPainterPath(start)
    path.cubicTo(start.x() + bend, start.y(), end.x() - bend, end.y(), end.x(), end.y())
    steep = 10.0 if abs(end.y() - start.y()) > 30.0 else 0.0
    room = reach - 2 * PORT_RADIUS - 4.0 + steep
    return Route(path, (start + end) / 2, room)


def lane(start: QPointF, end: QPointF, height: float) -> Route:
    """A wire that leaves its row for a level stretch at `height`, and comes back at its end."""
    reach = end.x() - start.x()
    if reach > AROUND:
        bend = min(BEND, reach / 3)
        left, right = start.x() + bend, end.x() - bend
        path = QPainterPath(start)
        path.cubicTo(start.x() + bend / 2, start.y(), left - bend / 2, height, left, height)
        path.lineTo(right, height)
        path.cubicTo(right + bend / 2, height, end.x() - bend / 2, end.y(), end.x(), end.y())
    else:
        left, right = end.x(), start.x()
        out, back = _bulge(height - start.y()), _bulge(height - end.y())
        path = QPainterPath(start)
        path.cubicTo(start.x() + out, start.y(), start.x() + out, height, start.x(), height)
        path.lineTo(end.x(), height)
        path.cubicTo(end.x() - back, height, end.x() - back, end.y(), end.x(), end.y())
    return Route(path, QPointF((left + right) / 2, height), abs(right - left))


def _bulge(rise: float) -> float:
    return min(64.0, max(26.0, abs(rise) * 0.65))


def route(
    start: QPointF, end: QPointF, source: QRectF, target: QRectF, others: Iterable[QRectF] = ()
) -> Route:
    """The way from an output to an input, around the two cards and the `others` if need be."""
    if end.x() - start.x() >= AROUND:
        direct = straight(start, end)
        between = _in_the_way(direct.path, others)
        if not between:
            return direct
        return lane(start, end, _free_height(start, end, between))
    upper, lower = (source, target) if source.top() <= target.top() else (target, source)
    if lower.top() - upper.bottom() >= 12.0:
        return lane(start, end, (upper.bottom() + lower.top()) / 2)
    below = max(source.bottom(), target.bottom()) + LANE
    above = min(source.top(), target.top()) - LANE
    rises = abs(below - start.y()) + abs(below - end.y())
    return lane(start, end, below if rises <= 2 * abs(above - start.y()) + 40 else above)


def _in_the_way(path: QPainterPath, others: Iterable[QRectF]) -> list[QRectF]:
    """The cards that a direct path would cross, and those that lie in the columns between."""
    cards = list(others)
    if not cards:
        return []
    points = [path.pointAtPercent(step / 16) for step in range(1, 16)]
    if not any(card.contains(point) for card in cards for point in points):
        return []
    left, right = points[0].x(), points[-1].x()
    return [card for card in cards if card.right() > left and card.left() < right]


def _free_height(start: QPointF, end: QPointF, cards: Sequence[QRectF]) -> float:
    """The level nearest to both ends at which no card of these lies."""
    edges = sorted((card.top() - LANE / 2, card.bottom() + LANE / 2) for card in cards)
    heights = [edges[0][0] - LANE / 2]
    reached = edges[0][1]
    for top, bottom in edges[1:]:
        if top - reached >= 8.0:
            heights.append((top + reached) / 2)
        reached = max(reached, bottom)
    heights.append(reached + LANE / 2)
    return min(heights, key=lambda y: abs(y - start.y()) + abs(y - end.y()) + abs(end.y() - y))


def distance_to_path(path: QPainterPath, point: QPointF) -> float:
    """How far a point is from a wire."""
    best = math.inf
    for polygon in path.toSubpathPolygons():
        for a, b in itertools.pairwise(polygon.toList()):
            best = min(best, _distance_to_line(a, b, point))
    return best


def _distance_to_line(a: QPointF, b: QPointF, point: QPointF) -> float:
    along = b - a
    length = QPointF.dotProduct(along, along)
    share = QPointF.dotProduct(point - a, along) / length if length else 0.0
    nearest = a + along * min(1.0, max(0.0, share))
    return math.hypot(point.x() - nearest.x(), point.y() - nearest.y())


def snapped(point: QPointF) -> QPointF:
    """The point on the snapping grid nearest to this one."""
    return QPointF(round(point.x() / SNAP) * SNAP, round(point.y() / SNAP) * SNAP)
