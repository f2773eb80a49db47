"""The palette: every kind of node by category, to be dragged onto the canvas or added by Enter.

A click on a category's name folds it away.
"""

from __future__ import annotations

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

from . import theme
from .search import Entry, node_entries, rank
from .state import EditorState

MIME = "application/x-cellwire-node-type"
ROW_HEIGHT, HEADING_HEIGHT = 24, 30
CATEGORIES = ("Data", "Cells", "Ops", "Control", "Loss")
_ROLE, _TAG_ROLE = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1


class Palette(QWidget):
    """A search field over the list of node kinds."""

    chosen = Signal(str)
    """Type of a node to be added: double-clicked, or Enter was pressed on it."""

    def __init__(self, state: EditorState) -> None:
        super().__init__()
        self.setMinimumWidth(150)
        self._entries = node_entries(state)
        self._folded: set[str] = set()
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
        for category in CATEGORIES:
            members = [entry for entry in self._entries if entry.category == category]
            if members:
                heading = QListWidgetItem(category, self.list)
                heading.setFlags(Qt.ItemFlag.ItemIsEnabled)
                for entry in members:
                    self._add(entry)
        self._fold()

    def _add(self, entry: Entry) -> None:
        item = QListWidgetItem(entry.title, self.list)
        item.setData(_ROLE, entry)
        item.setData(_TAG_ROLE, "op" if entry.type in self._twins else "")
        item.setToolTip(entry.hint)

    def _fold(self) -> None:
        """Hide the rows below folded headings."""
        folded = False
        for item in map(self.list.item, range(self.list.count())):
            if item.data(_ROLE) is None:
                folded = item.text() in self._folded
                item.setData(_TAG_ROLE, "▸" if folded else "▾")
                item.setToolTip("Show these nodes" if folded else "Fold these nodes away")
            else:
                item.setHidden(folded)

    def _activated(self, item: QListWidgetItem) -> None:
        entry = item.data(_ROLE)
        if entry is not None:
            self.chosen.emit(entry.type)
        else:
            self._clicked(item)

    def _clicked(self, item: QListWidgetItem) -> None:
        if item.data(_ROLE) is None:
            self._folded ^= {item.text()}
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
        if entry is None:
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
        """Headings are higher: the gap belongs to them."""
        heading = index.data(_ROLE) is None
        return QSize(100, HEADING_HEIGHT if heading else ROW_HEIGHT)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Draw one row."""
        rect: QRect = option.rect  # type: ignore[attr-defined]
        state = option.state  # type: ignore[attr-defined]
        entry: Entry | None = index.data(_ROLE)
        colors = theme.current()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        tag = index.data(_TAG_ROLE)
        if entry is None:
            lit = state & (QStyle.StateFlag.State_HasFocus | QStyle.StateFlag.State_MouseOver)
            painter.setFont(theme.font(theme.SMALL, 600))
            painter.setPen(colors.color("text" if lit else "muted"))
            place = rect.adjusted(0, 0, -16, -5)
            painter.drawText(place, Qt.AlignmentFlag.AlignBottom, index.data())
            right = Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignRight
            painter.drawText(place, right, tag)
        else:
            hot = state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver)
            _draw_node(painter, rect, entry, bool(hot))
            painter.setFont(theme.font(theme.SMALL))
            painter.setPen(colors.color("muted"))
            right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
            painter.drawText(rect.adjusted(0, 0, -16, 0), right, tag)
        painter.restore()


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
