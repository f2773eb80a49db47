"""The search: one box for nodes and actions, at the cursor (Tab), on a wire's end, or on Ctrl K."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)
from rapidfuzz import fuzz, process, utils

from ..nodes.families import COMMON
from ..nodes.spec import NodeSpec
from . import theme
from .actions import Actions
from .state import EditorState

WIDTH, ROW_HEIGHT, ROWS = 340, 28, 9
GOOD_ENOUGH = 55.0
"""The least score, of 100, with which an entry is listed."""
LISTED = 60
"""How many hits are listed at most."""


@dataclass(frozen=True)
class Entry:
    """Something that can be searched for: what it is called, and what choosing it does."""

    title: str
    hint: str
    category: str
    words: str
    run: Callable[[Any], object] = field(compare=False)
    enabled: bool = True
    type: str = ""
    names: tuple[str, ...] = ()
    common: bool = False
    family: str = ""

    @cached_property
    def plain_words(self) -> str:
        """All its words as they are searched through."""
        return utils.default_process(self.words)

    @cached_property
    def plain_names(self) -> tuple[str, ...]:
        """Title and other names, each as one word in small letters."""
        return tuple(_joined(name) for name in (self.title, *self.names))


def _joined(text: str) -> str:
    return utils.default_process(text).replace(" ", "").replace("_", "")


def node_entries(state: EditorState, specs: Sequence[NodeSpec] | None = None) -> list[Entry]:
    """An entry for every kind of node (or those given); choosing one adds it to the canvas."""
    return [
        Entry(
            spec.title,
            spec.doc.split(". ")[0].rstrip(".").replace("`", ""),
            spec.category,
            " ".join((spec.title, spec.type.partition(".")[2], *spec.keywords, spec.family)),
            lambda canvas, type=spec.type: canvas.editor.add_node_in_view(type),
            type=spec.type,
            names=spec.keywords,
            common=spec.type in COMMON,
            family=spec.family,
        )
        for spec in (state.library.values() if specs is None else specs)
    ]


def action_entries(actions: Actions) -> list[Entry]:
    """An entry for every action, with its keys."""
    return [
        Entry(
            action.text().rstrip("…"),
            spec.keys,
            "Action",
            f"{spec.text} {spec.menu} {spec.tip}",
            lambda _, action=action: action.trigger(),
            enabled=action.isEnabled(),
        )
        for spec, action in actions.items()
        if action.isVisible()
    ]


def rank(entries: Sequence[Entry], query: str) -> list[Entry]:
    """The entries that fit a query, best first: names, beginnings of names, then likenesses.

    Of those that fit equally well the common ones come first; without a query as well.
    """
    needle = utils.default_process(query)
    if not needle:
        return sorted(entries, key=lambda entry: not entry.common)
    found = process.extract(
        needle,
        [entry.plain_words for entry in entries],
        scorer=fuzz.WRatio,
        score_cutoff=GOOD_ENOUGH,
        limit=None,
    )
    joined = _joined(query)

    def order(hit: tuple[str, float, int]) -> tuple[int, bool, int, float, int]:
        entry = entries[hit[2]]
        level = _level(entry, needle, joined)
        return level, not entry.common, len(entry.title) if level < 3 else 0, -hit[1], hit[2]

    return [entries[hit[2]] for hit in sorted(found, key=order)[:LISTED]]


def _level(entry: Entry, needle: str, joined: str) -> int:
    """How well an entry fits: by its title, another name, their beginnings, a word, a likeness."""
    title, *names = entry.plain_names
    if title == joined:
        return 0
    if joined in names:
        return 1
    if title.startswith(joined):
        return 2
    if any(name.startswith(joined) for name in names):
        return 3
    return 4 if needle in entry.plain_words else 5


class SearchPopup(QFrame):
    """A box that lists what fits while one types; Enter chooses, Escape closes."""

    chosen = Signal(object)
    closed = Signal()

    def __init__(self, parent: QWidget, entries: Sequence[Entry], hint: str = "") -> None:
        super().__init__(parent, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self.setObjectName("search_popup")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)
        self._entries = [entry for entry in entries if entry.enabled]
        self.field = QLineEdit()
        self.field.setPlaceholderText(hint or "Search nodes and actions")
        self.field.setFixedHeight(32)
        self.list = QListWidget()
        self.list.setItemDelegate(_Row(self.list))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.viewport().setAutoFillBackground(False)
        self.list.setStyleSheet("background: transparent;")
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(6)
        column.addWidget(self.field)
        column.addWidget(self.list)
        self.setFixedWidth(WIDTH)
        self.field.textChanged.connect(self._show_hits)
        self.field.installEventFilter(self)
        self.list.itemClicked.connect(self._choose)
        self._show_hits("")

    def open_at(self, place: QPoint) -> None:
        """Open with the top left corner at a place on the screen, moved to be wholly visible."""
        screen = self.screen().availableGeometry()
        x = max(screen.left(), min(place.x(), screen.right() - self.width()))
        y = max(screen.top(), min(place.y(), screen.bottom() - self.sizeHint().height()))
        self.move(x, y)
        self.show()
        self.field.setFocus()

    def open_under(self, widget: QWidget) -> None:
        """Open below a widget, right edges aligned."""
        corner = widget.mapToGlobal(widget.rect().bottomRight())
        self.open_at(QPoint(corner.x() - WIDTH + 1, corner.y() + 4))

    def entries(self) -> list[Entry]:
        """What is listed now, best first."""
        return [self.list.item(i).data(Qt.ItemDataRole.UserRole) for i in range(self.list.count())]

    def _show_hits(self, query: str) -> None:
        self.list.clear()
        for entry in rank(self._entries, query):
            item = QListWidgetItem(entry.title, self.list)
            item.setData(Qt.ItemDataRole.UserRole, entry)
            item.setToolTip(entry.hint)
        self.list.setCurrentRow(0)
        rows = max(1, min(ROWS, self.list.count()))
        self.list.setFixedHeight(rows * ROW_HEIGHT + 4)
        self.adjustSize()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Arrows and Enter work on the list while the field has the focus."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            row, last = self.list.currentRow(), self.list.count() - 1
            moves = {
                Qt.Key.Key_Down: row + 1 if row < last else 0,
                Qt.Key.Key_Up: row - 1 if row > 0 else last,
                Qt.Key.Key_PageDown: min(last, row + ROWS),
                Qt.Key.Key_PageUp: max(0, row - ROWS),
            }
            key = Qt.Key(event.key())
            if key in moves:
                self.list.setCurrentRow(moves[key])
                return True
            if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab):
                self._choose(self.list.currentItem())
                return True
        return super().eventFilter(watched, event)

    def _choose(self, item: QListWidgetItem | None) -> None:
        if item is None:
            return
        entry = item.data(Qt.ItemDataRole.UserRole)
        self.close()
        self.chosen.emit(entry)

    def hideEvent(self, event: Any) -> None:
        """Tell that the search is over."""
        self.closed.emit()
        super().hideEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """A card with round corners."""
        colors = theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colors.color("outline"), 1))
        painter.setBrush(colors.color("node"))
        painter.drawRoundedRect(self.rect().toRectF().adjusted(0.5, 0.5, -0.5, -0.5), 9, 9)
        painter.end()


class _Row(QStyledItemDelegate):
    """A row: the category's bar, the name, and at the right what it is, or its keys."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        """All rows are equally high."""
        return QSize(WIDTH - 40, ROW_HEIGHT)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Draw one row."""
        entry: Entry = index.data(Qt.ItemDataRole.UserRole)
        rect: QRect = option.rect  # type: ignore[attr-defined]
        state = option.state  # type: ignore[attr-defined]
        draw_row(painter, rect, entry, bool(state & QStyle.StateFlag.State_Selected))


def draw_row(painter: QPainter, rect: QRect, entry: Entry, selected: bool) -> None:
    """Draw an entry of the search into a rectangle."""
    colors = theme.current()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    if selected:
        painter.setBrush(colors.color("button"))
        painter.drawRoundedRect(rect.adjusted(0, 1, 0, -1), 6, 6)
    text = QColor(colors.button_text if selected else colors.text)
    bar = QColor(colors.button_text) if selected else colors.category(entry.category)
    if entry.category == "Action":
        bar = text if selected else colors.color("muted")
    painter.setBrush(bar)
    painter.drawRoundedRect(rect.left() + 8, rect.center().y() - 6, 4, 13, 2, 2)
    painter.setPen(text)
    painter.setFont(theme.font(theme.BODY))
    left = rect.left() + 20
    flags = Qt.AlignmentFlag.AlignVCenter
    painter.drawText(rect.adjusted(20, 0, -8, 0), flags, entry.title)
    used = painter.fontMetrics().horizontalAdvance(entry.title)
    mono = entry.category == "Action"
    painter.setFont(theme.font(theme.SMALL, mono=mono))
    painter.setPen(text if selected else colors.color("muted"))
    room = rect.right() - 8 - left - used - 16
    hint = painter.fontMetrics().elidedText(entry.hint, Qt.TextElideMode.ElideRight, max(0, room))
    if room > 40 or mono:
        painter.drawText(rect.adjusted(20, 0, -8, 0), flags | Qt.AlignmentFlag.AlignRight, hint)
    painter.restore()
