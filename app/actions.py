"""Every action of the program as data, and the QActions and menus made from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QIcon, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from . import theme


@dataclass(frozen=True)
class ActionSpec:
    """An action: its id, its words, the menu it is in, its key and its icon."""

    id: str
    text: str
    menu: str
    keys: str = ""
    icon: str = ""
    tip: str = ""
    checkable: bool = False
    gap: bool = False
    """Whether a separator stands before it."""
    on_canvas: bool = False
    """Whether its keys mean something else where one types."""


_A = ActionSpec
ACTIONS: tuple[ActionSpec, ...] = (
    _A("new", "New", "File", "Ctrl+N", "file-plus"),
    _A("open", "Open…", "File", "Ctrl+O", "folder-open"),
    _A("save", "Save", "File", "Ctrl+S", "floppy-disk", gap=True),
    _A("save_as", "Save as…", "File", "Ctrl+Shift+S"),
    _A("export", "Export as Python…", "File", "Ctrl+E", "code", gap=True),
    _A("save_weights", "Save weights…", "File"),
    _A("load_weights", "Load weights…", "File"),
    _A("quit", "Quit", "File", "Ctrl+Q", gap=True),
    _A("undo", "Undo", "Edit", "Ctrl+Z", "arrow-counter-clockwise"),
    _A("redo", "Redo", "Edit", "Ctrl+Shift+Z", "arrow-clockwise"),
    _A("cut", "Cut", "Edit", "Ctrl+X", "scissors", gap=True, on_canvas=True),
    _A("copy", "Copy", "Edit", "Ctrl+C", "copy", on_canvas=True),
    _A("paste", "Paste", "Edit", "Ctrl+V", "clipboard", on_canvas=True),
    _A("duplicate", "Duplicate", "Edit", "Ctrl+D", on_canvas=True),
    _A("delete", "Delete", "Edit", "Del", "trash", on_canvas=True),
    _A("select_all", "Select all", "Edit", "Ctrl+A", gap=True, on_canvas=True),
    _A("rename", "Rename", "Edit", "F2", on_canvas=True),
    _A("add_node", "Add a node…", "Edit", "Tab", "plus", gap=True, on_canvas=True),
    _A("add_frame", "Frame the selection", "Edit", "Ctrl+Shift+G"),
    _A("add_note", "Add a note", "Edit", "Ctrl+Shift+N"),
    _A("find", "Search nodes and actions", "Edit", "Ctrl+K", "magnifying-glass"),
    _A("zoom_in", "Zoom in", "View", "Ctrl++", "magnifying-glass-plus"),
    _A("zoom_out", "Zoom out", "View", "Ctrl+-", "magnifying-glass-minus"),
    _A("zoom_reset", "100 %", "View", "Ctrl+0"),
    _A("fit", "Fit the drawing", "View", "F", "frame-corners", on_canvas=True),
    _A("reset_layout", "Reset the panels", "View", gap=True),
    _A("run", "Run", "Run", "F5", "play", "Run from the start to the next breakpoint"),
    _A("step", "Step", "Run", "F10", "", "Run one node, then pause"),
    _A("back", "Back", "Run", "Shift+F10", "", "Go back to before the last node that ran"),
    _A("continue", "Continue", "Run", "F8", "", "Go on to the next breakpoint or the end"),
    _A("pause", "Pause", "Run", "F6", "", "Pause before the next node"),
    _A("stop", "Stop", "Run", "Shift+F5", "", "End the run or the training"),
    _A(
        "run_to",
        "Run to here",
        "Run",
        "Ctrl+F10",
        "",
        "Run until the selected node is next",
        gap=True,
    ),
    _A("rerun_from", "Run again from here", "Run", "Ctrl+Shift+F10"),
    _A("backward", "Run the gradients", "Run", "Ctrl+F5"),
    _A("breakpoint", "Toggle a breakpoint", "Run", "F9", "", "On the selected wire"),
    _A("training_mode", "Training mode", "Run", checkable=True, gap=True),
    _A("pin_batch", "Pin the batch", "Run", tip="Use the same batch in every run", checkable=True),
    _A("compile", "⚡ Compile selection", "Run", "Ctrl+B", "", "Fuse the selected nodes", gap=True),
    _A("uncompile", "Dissolve the group", "Run", "Ctrl+Shift+B"),
    _A("train", "Train", "Run", "Ctrl+T", "", "Train from fresh parameters", gap=True),
    _A("resume_training", "Resume the training", "Run"),
    _A("overfit", "Overfit one batch", "Run", tip="A sound model learns one batch by heart"),
    _A("restart", "Restart the session", "Run", gap=True),
    _A("shortcuts", "Keyboard", "Help", "F1", "keyboard"),
    _A("about", "About Cellwire", "Help", "", "info"),
)
MENUS = ("File", "Edit", "View", "Run", "Help")


class Actions(QObject):
    """The QActions by id, with their handlers; they live as long as the window."""

    def __init__(
        self,
        parent: QWidget,
        canvas: QWidget,
        handlers: Mapping[str, Callable[..., object]],
    ) -> None:
        super().__init__(parent)
        unknown = handlers.keys() ^ {spec.id for spec in ACTIONS}
        if unknown:
            raise ValueError(f"actions without a handler, or the other way round: {unknown}")
        self._specs = {spec.id: spec for spec in ACTIONS}
        self._actions = {
            spec.id: self._make(spec, handlers[spec.id], parent, canvas) for spec in ACTIONS
        }
        self.color_icons()
        theme.switch.changed.connect(self.color_icons)

    def __getitem__(self, id: str) -> QAction:
        return self._actions[id]

    def items(self) -> Iterable[tuple[ActionSpec, QAction]]:
        """Every action with its spec, in the order of the menus."""
        return ((spec, self._actions[spec.id]) for spec in ACTIONS)

    def menu(self, title: str, parent: QWidget) -> QMenu:
        """A menu of that title, with its actions."""
        menu = QMenu(title, parent)
        for spec in ACTIONS:
            if spec.menu == title:
                if spec.gap:
                    menu.addSeparator()
                menu.addAction(self._actions[spec.id])
        return menu

    def color_icons(self) -> None:
        """Draw the icons in the colours of the theme in use."""
        for id, spec in self._specs.items():
            self._actions[id].setIcon(theme.icon(spec.icon) if spec.icon else QIcon())

    def _make(
        self,
        spec: ActionSpec,
        handler: Callable[..., object],
        parent: QWidget,
        canvas: QWidget,
    ) -> QAction:
        action = QAction(spec.text, self)
        action.setObjectName(spec.id)
        action.setCheckable(spec.checkable)
        if spec.keys:
            action.setShortcuts([QKeySequence(keys) for keys in _keys(spec)])
        keys = f" ({spec.keys})" if spec.keys else ""
        action.setToolTip(f"{spec.tip or spec.text}{keys}")
        if spec.checkable:
            action.toggled.connect(handler)
        else:
            action.triggered.connect(lambda _checked: handler())
        if spec.on_canvas:
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            canvas.addAction(action)
        else:
            parent.addAction(action)
        return action


def _keys(spec: ActionSpec) -> tuple[str, ...]:
    """The keys of an action, with the second ones that people's hands know."""
    more = {"redo": ("Ctrl+Y",), "zoom_in": ("Ctrl+=",), "delete": ("Backspace",)}
    return (spec.keys, *more.get(spec.id, ()))
