"""The palette: every kind of node by category and family, to be dragged or added by Enter.

A click on a heading folds what is below it; families begin folded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import (
    QByteArray,
    QEvent,
    QMimeData,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QDrag, QKeyEvent, QPainter, QPixmap
from PySide6.QtWidgets import (
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from ..nodes.families import FAVOURITES, in_order
from . import theme
from .search import Entry, node_entries, rank
from .state import EditorState

MIME = "application/x-cellwire-node-type"
ROW_HEIGHT, HEADING_HEIGHT, INDENT = 24, 30, 12
CATEGORIES = ("Data", "Cells", "Ops", "Control", "Loss")
COMMON = "Common"
_ROLE = Qt.ItemDataRole.UserRole
_TAG_ROLE, _INDENT_ROLE = _ROLE + 1, _ROLE + 2


@dataclass(frozen=True)
class Heading:
    """A category, or (with `family`) one of its families, and how many kinds are below it."""

    category: str
    family: str = ""
    count: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """What is folded under this name."""
        return self.category, self.family


class Palette(QWidget):
    """A search field over the list of node kinds."""

    chosen = Signal(str)
    """Type of a node to be added: double-clicked, or Enter was pressed on it."""

    def __init__(self, state: EditorState) -> None:
        super().__init__()
        self.setMinimumWidth(150)
        self._entries = node_entries(state)
        self._folded = {(entry.category, entry.family) for entry in self._entries if entry.family}
        cells = {entry.title.lower() for entry in self._entries if entry.category == "Cells"}
        self._twins = {
            entry.type
            for entry in self._entries
            if entry.category == "Ops" and entry.title.lower() in cells
        }
        self.field = QLineEdit()
        self.field.setPlaceholderText("Find a node")
        self.field.setClearButtonEnabled(True)
        self.field.setFixedHeight(30)
        self.list = _NodeList()
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 4, 0, 0)
        column.setSpacing(6)
        row = QVBoxLayout()
        row.setContentsMargins(0, 0, 14, 0)
        row.addWidget(self.field)
        column.addLayout(row)
        column.addWidget(self.list)
        self.field.textChanged.connect(self._fill)
        self.field.installEventFilter(self)
        self.list.itemActivated.connect(self._activated)
        self.list.itemClicked.connect(self._clicked)
        self._fill("")

    def _fill(self, query: str) -> None:
        self.list.clear()
        if query.strip():
            for entry in rank(self._entries, query):
                self._add(entry)
            self.list.setCurrentRow(0)
            return
        by_type = {entry.type: entry for entry in self._entries}
        self._add_category(COMMON, [by_type[type] for type in FAVOURITES if type in by_type])
        for category in CATEGORIES:
            members = [entry for entry in self._entries if entry.category == category]
            if members:
                self._add_category(category, members)
        self._fold()

    def _add_category(self, category: str, members: Sequence[Entry]) -> None:
        self._add_heading(Heading(category))
        families = in_order(category, (entry.family for entry in members))
        for entry in members:
            if not families or not entry.family:
                self._add(entry)
        for family in families:
            below = [entry for entry in members if entry.family == family]
            self._add_heading(Heading(category, family, len(below)))
            for entry in below:
                self._add(entry, INDENT)

    def _add_heading(self, heading: Heading) -> None:
        item = QListWidgetItem(heading.family or heading.category, self.list)
        item.setFlags(Qt.ItemFlag.ItemIsEnabled)
        item.setData(_ROLE, heading)

    def _add(self, entry: Entry, indent: int = 0) -> None:
        item = QListWidgetItem(entry.title, self.list)
        item.setData(_INDENT_ROLE, indent)
        item.setData(_ROLE, entry)
        item.setData(_TAG_ROLE, "op" if entry.type in self._twins else "")
        item.setToolTip(entry.hint)

    def _fold(self) -> None:
        """Hide the rows below folded headings."""
        category = family = False
        for item in map(self.list.item, range(self.list.count())):
            heading = item.data(_ROLE)
            if not isinstance(heading, Heading):
                item.setHidden(category or family)
                continue
            folded = heading.key in self._folded
            if heading.family:
                family = folded
                item.setHidden(category)
            else:
                category, family = folded, False
            item.setData(_TAG_ROLE, "▸" if folded else "▾")
            item.setToolTip("Show these nodes" if folded else "Fold these nodes away")

    def _activated(self, item: QListWidgetItem) -> None:
        entry = item.data(_ROLE)
        if isinstance(entry, Entry):
            self.chosen.emit(entry.type)
        else:
            self._clicked(item)

    def _clicked(self, item: QListWidgetItem) -> None:
        heading = item.data(_ROLE)
        if isinstance(heading, Heading):
            self._folded ^= {heading.key}
            self._fold()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Enter in the field adds the best hit; the arrow down goes to the list."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                item = self.list.currentItem()
                if item is not None and self.field.text().strip():
                    self._activated(item)
                return True
            if event.key() == Qt.Key.Key_Down:
                self.list.setFocus()
                return True
        return super().eventFilter(watched, event)


class _NodeList(QListWidget):
    """The rows; a drag carries a node's type."""

    def __init__(self) -> None:
        super().__init__()
        self.setItemDelegate(_Row(self))
        self.setDragEnabled(True)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Nodes")

    def startDrag(self, actions: Qt.DropAction) -> None:
        """Drag the current row's type, with its name at the pointer."""
        item = self.currentItem()
        entry = item.data(_ROLE) if item is not None else None
        if not isinstance(entry, Entry):
            return
        drag = QDrag(self)
        drag.setMimeData(mime_data(entry.type))
        drag.setPixmap(_picture(entry))
        drag.setHotSpot(QPoint(12, 16))
        drag.exec(Qt.DropAction.CopyAction)


class _Row(QStyledItemDelegate):
    """Headings in semibold, nodes with the bar of their category."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        """Headings of categories are higher: the gap belongs to them."""
        heading = index.data(_ROLE)
        if not isinstance(heading, Heading):
            return QSize(100, ROW_HEIGHT)
        return QSize(100, ROW_HEIGHT if heading.family else HEADING_HEIGHT)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Draw one row."""
        rect: QRect = option.rect  # type: ignore[attr-defined]
        state = option.state  # type: ignore[attr-defined]
        entry: Entry | Heading = index.data(_ROLE)
        colors = theme.current()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        tag = index.data(_TAG_ROLE)
        if isinstance(entry, Heading):
            lit = state & (QStyle.StateFlag.State_HasFocus | QStyle.StateFlag.State_MouseOver)
            _draw_heading(painter, rect, entry, tag, bool(lit))
        else:
            hot = state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver)
            _draw_node(painter, rect.adjusted(index.data(_INDENT_ROLE), 0, 0, 0), entry, bool(hot))
            painter.setFont(theme.font(theme.SMALL))
            painter.setPen(colors.color("muted"))
            right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
            painter.drawText(rect.adjusted(0, 0, -16, 0), right, tag)
        painter.restore()


def _draw_heading(painter: QPainter, rect: QRect, heading: Heading, mark: str, lit: bool) -> None:
    """A category in small semibold letters, a family as a row with the bar of its category."""
    colors = theme.current()
    right = Qt.AlignmentFlag.AlignRight
    if not heading.family:
        painter.setFont(theme.font(theme.SMALL, 600))
        painter.setPen(colors.color("text" if lit else "muted"))
        place = rect.adjusted(0, 0, -16, -5)
        painter.drawText(place, Qt.AlignmentFlag.AlignBottom, heading.category)
        painter.drawText(place, Qt.AlignmentFlag.AlignBottom | right, mark)
        return
    middle = Qt.AlignmentFlag.AlignVCenter
    painter.setFont(theme.font(theme.SMALL))
    painter.setPen(colors.color("muted"))
    painter.drawText(rect.adjusted(0, 0, -16, 0), middle, mark)
    painter.drawText(rect.adjusted(0, 0, -16, 0), middle | right, str(heading.count))
    painter.setFont(theme.font(theme.BODY))
    painter.setPen(colors.color("text"))
    painter.drawText(rect.adjusted(14, 0, -40, 0), middle, heading.family)


def _draw_node(painter: QPainter, rect: QRect, entry: Entry, hot: bool) -> None:
    colors = theme.current()
    painter.setPen(Qt.PenStyle.NoPen)
    if hot:
        painter.setBrush(colors.color("field"))
        painter.drawRoundedRect(rect.adjusted(-4, 0, -10, 0), 6, 6)
    painter.setBrush(colors.category(entry.category))
    painter.drawRoundedRect(rect.left() + 1, rect.center().y() - 6, 4, 13, 2, 2)
    painter.setPen(colors.color("text"))
    painter.setFont(theme.font(theme.BODY))
    painter.drawText(rect.adjusted(14, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, entry.title)


def _picture(entry: Entry) -> QPixmap:
    picture = QPixmap(140, 32)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(theme.current().color("outline"))
    painter.setBrush(theme.current().color("node"))
    painter.drawRoundedRect(QRect(0, 0, 139, 31), 9, 9)
    _draw_node(painter, QRect(9, 0, 130, 32), entry, False)
    painter.end()
    return picture


def mime_data(type: str) -> QMimeData:
    """What a drag from the palette carries."""
    data = QMimeData()
    data.setData(MIME, QByteArray(type.encode()))
    return data
