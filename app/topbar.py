"""The bar at the top: whose drawing this is, run controls, compile, train, export, search."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QAction, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from . import theme
from .actions import Actions
from .state import EditorState

HEIGHT = 46
SEARCH_WIDTH = 250


class TopBar(QWidget):
    """46 pixels of what one does next; the button that makes sense now is filled."""

    search_asked = Signal()

    def __init__(
        self, state: EditorState, actions: Actions, menu: QMenu, export_menu: QMenu
    ) -> None:
        super().__init__()
        self.setFixedHeight(HEIGHT)
        self._state, self._actions = state, actions
        self.menu_button = QPushButton("Cellwire ▾")
        self.menu_button.setProperty("role", "flat")
        self.menu_button.setFont(theme.font(theme.HEAD, 700))
        self.menu_button.setMenu(menu)
        self.menu_button.setToolTip("Menus (Alt)")
        self.menu_button.setAccessibleName("Menus")
        self.file_label = QLabel()
        self.file_label.setProperty("role", "small")
        self.dot = _Dot()
        self.buttons: dict[str, QPushButton] = {}
        self.export_button = QPushButton("Export ▾")
        self.export_button.setMenu(export_menu)
        self.search = _SearchField()
        self.search.asked.connect(self.search_asked)
        self._lay_out()
        state.title_changed.connect(self._show_title)
        state.document_changed.connect(self._show_title)
        self._show_title()

    def _lay_out(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 0, 14, 0)
        row.setSpacing(8)
        row.addWidget(self.menu_button)
        row.addWidget(self.file_label)
        row.addWidget(self.dot)
        row.addSpacing(8)
        for id in ("run", "step", "back", "continue", "pause", "stop"):
            row.addWidget(self._button(id, "stop" if id == "stop" else ""))
        row.addSpacing(20)
        row.addWidget(self._button("compile", "ok"))
        row.addWidget(self._button("train"))
        row.addWidget(self.export_button)
        row.addStretch(1)
        row.addWidget(self.search, 3)

    def _button(self, id: str, role: str = "") -> QPushButton:
        action = self._actions[id]
        button = _ActionButton(action)
        button.setProperty("role", role)
        button.setProperty("own_role", role)
        self.buttons[id] = button
        return button

    def fill(self, primary: str) -> None:
        """Show the button of this action filled, and no other."""
        for id, button in self.buttons.items():
            role = "primary" if id == primary else button.property("own_role")
            if button.property("role") != role:
                button.setProperty("role", role)
                button.style().unpolish(button)
                button.style().polish(button)

    def _show_title(self, _: object = None) -> None:
        name = self._state.name
        metrics = self.file_label.fontMetrics()
        self.file_label.setText(metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, 180))
        self.file_label.setToolTip(str(self._state.path or "This drawing has no file yet."))
        self.dot.setVisible(self._state.dirty)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The panel's colour, with a line below."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.current().color("panel"))
        painter.fillRect(0, HEIGHT - 1, self.width(), 1, theme.current().color("line"))
        painter.end()


class _ActionButton(QPushButton):
    """A button that shows an action's words and state, and triggers it."""

    def __init__(self, action: QAction) -> None:
        super().__init__()
        self._action = action
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setObjectName(f"button_{action.objectName()}")
        action.changed.connect(self._follow)
        self.clicked.connect(action.trigger)
        self._follow()

    def _follow(self) -> None:
        self.setText(self._action.text())
        self.setToolTip(self._action.toolTip())
        self.setEnabled(self._action.isEnabled())
        self.setVisible(self._action.isVisible())


class _Dot(QWidget):
    """A dot: there are unsaved changes."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedSize(QSize(10, 10))
        self.setToolTip("There are unsaved changes (Ctrl+S)")
        self.setAccessibleName("Unsaved changes")
        policy = self.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.setSizePolicy(policy)

    def paintEvent(self, event: QPaintEvent) -> None:
        """A muted dot of 8 pixels."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.current().color("muted"))
        painter.drawEllipse(1, 1, 8, 8)
        painter.end()


class _SearchField(QLineEdit):
    """Looks like the search box and opens the search when it is clicked or typed into."""

    asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setPlaceholderText("Search nodes and actions")
        self.setMinimumWidth(120)
        self.setMaximumWidth(SEARCH_WIDTH)
        self.setFixedHeight(30)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._keys = QLabel("Ctrl K", self)
        self._keys.setFont(theme.font(theme.SMALL, mono=True))
        self._keys.setProperty("role", "small")
        self._keys.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setTextMargins(0, 0, self._keys.sizeHint().width() + 8, 0)
        self.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep the key's name at the right end."""
        if event.type() == QEvent.Type.Resize:
            size = self._keys.sizeHint()
            top = (self.height() - size.height()) // 2
            self._keys.setGeometry(
                self.width() - size.width() - 10, top, size.width(), size.height()
            )
        return super().eventFilter(watched, event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Open the search."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.asked.emit()
