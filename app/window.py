"""The main window: canvas in the middle, docks around it, top bar and status line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSettings, Qt, QTimer
from PySide6.QtGui import QActionGroup, QCloseEvent, QDragEnterEvent, QDropEvent, QKeySequence
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QMainWindow,
    QMenu,
    QMessageBox,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from . import theme
from .actions import ACTIONS, MENUS, Actions
from .banner import Banner
from .canvas.view import CanvasView
from .docks import AREAS, SIZES, Area, Dock
from .filing import EXAMPLES, FileControl, recent
from .link import SessionLink
from .palette import Palette
from .running import RunControl, allowed_actions, primary_action
from .search import SearchPopup, action_entries, node_entries
from .state import EditorState
from .statusline import StatusLine
from .topbar import TopBar

LAYOUT_VERSION = 1


class MainWindow(QMainWindow):
    """One drawing with its session; closing it ends everything that it started."""

    def __init__(self, *, start_session: bool = True) -> None:
        super().__init__()
        self.setObjectName("main_window")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAcceptDrops(True)
        self.resize(1600, 1000)
        self.state = EditorState(parent=self)
        self.link = SessionLink(self.state, self)
        self.files = FileControl(self.state, self)
        self.control = RunControl(self.state, self.link, self)
        self.canvas = CanvasView(self.state)
        self._discarding = False
        self.docks: dict[str, Dock] = {}
        self._last_in_area: dict[Area, Dock] = {}
        self.actions_by_id = Actions(self, self.canvas, self._handlers())
        self.menus = self._make_menus()
        self._lay_out()
        self._connect()
        self._initial_layout = self.saveState(LAYOUT_VERSION)
        self._refresh()
        if start_session:
            QTimer.singleShot(0, self, self.link.start)

    # panels

    def add_panel(self, area: Area, title: str, widget: QWidget) -> QDockWidget:
        """Put a panel in a dock: `left`, `right` (stacked) or `bottom` (tabbed).

        Returns
        -------
        QDockWidget
            `setWindowTitle` changes its heading or tab, `raise_` brings its tab to the front.
        """
        dock = Dock(title, widget, area, self)
        self.addDockWidget(AREAS[area], dock)
        before = self._last_in_area.get(area)
        if before is not None and area == "bottom":
            self.tabifyDockWidget(before, dock)
            self.docks[next(t for t in self.docks if self.docks[t] in self._at("bottom"))].raise_()
        self._last_in_area[area] = dock
        self.docks[title] = dock
        self.panels_menu.addAction(dock.toggleViewAction())
        self.set_sizes()
        self._initial_layout = self.saveState(LAYOUT_VERSION)
        return dock

    def _at(self, area: Area) -> list[Dock]:
        return [d for d in self.docks.values() if self.dockWidgetArea(d) == AREAS[area]]

    def set_sizes(self) -> None:
        """Give every dock area the size that it is drawn with."""
        for area in AREAS:
            docks = self._at(area)
            across = area != "bottom"
            direction = Qt.Orientation.Horizontal if across else Qt.Orientation.Vertical
            if docks:
                self.resizeDocks(docks[:1], [SIZES[area]], direction)

    def restore_layout(self) -> None:
        """Put window and panels where they were last time; call it when all panels are added."""
        settings = QSettings()
        if geometry := settings.value("geometry"):
            self.restoreGeometry(geometry)
        elif self.screen().availableSize().boundedTo(self.size()) != self.size():
            self.setWindowState(Qt.WindowState.WindowMaximized)
        if layout := settings.value("layout"):
            self.restoreState(layout, LAYOUT_VERSION)

    def reset_layout(self) -> None:
        """Put the panels where they are at first."""
        self.restoreState(self._initial_layout, LAYOUT_VERSION)
        self.set_sizes()

    # building

    def _handlers(self) -> dict[str, Callable[..., object]]:
        files, control, canvas = self.files, self.control, self.canvas
        undo = self.state.undo_stack
        return {
            "new": files.new,
            "open": files.open,
            "save": files.save,
            "save_as": files.save_as,
            "export": control.export_python,
            "save_weights": control.save_weights,
            "load_weights": control.load_weights,
            "quit": self.close,
            "undo": undo.undo,
            "redo": undo.redo,
            "cut": canvas.editor.cut,
            "copy": canvas.editor.copy,
            "paste": canvas.editor.paste,
            "duplicate": canvas.editor.duplicate,
            "delete": canvas.editor.delete_selection,
            "select_all": canvas.editor.select_all,
            "rename": canvas.asking.rename_selected,
            "add_node": canvas.asking.search_here,
            "add_frame": canvas.editor.add_frame,
            "add_note": canvas.editor.add_note,
            "find": self.open_search,
            "zoom_in": canvas.zoom_in,
            "zoom_out": canvas.zoom_out,
            "zoom_reset": canvas.zoom_reset,
            "fit": canvas.fit,
            "reset_layout": self.reset_layout,
            "run": control.run,
            "step": control.step,
            "back": control.back,
            "continue": control.go_on,
            "pause": control.pause,
            "stop": control.stop,
            "run_to": control.run_to_selected,
            "rerun_from": control.rerun_from_selected,
            "backward": control.backward,
            "breakpoint": canvas.editor.toggle_breakpoint_selected,
            "training_mode": control.set_training_mode,
            "pin_batch": control.pin_batch,
            "compile": control.compile_selection,
            "uncompile": control.dissolve_group,
            "train": control.train,
            "resume_training": control.resume_training,
            "overfit": control.overfit,
            "restart": self.link.restart,
            "shortcuts": self.show_shortcuts,
            "about": self.show_about,
        }

    def _make_menus(self) -> dict[str, QMenu]:
        menus = {title: self.actions_by_id.menu(title, self) for title in MENUS}
        examples = QMenu("Open an example", menus["File"])
        for path in sorted(EXAMPLES.glob("*.cellwire")):
            title = path.stem.replace("_", " ")
            examples.addAction(title, partial(self.files.open_example, path))
        self.recent_menu = QMenu("Open recent", menus["File"])
        self.recent_menu.aboutToShow.connect(self._fill_recent)
        menus["File"].insertMenu(self.actions_by_id["save"], examples)
        menus["File"].insertMenu(self.actions_by_id["save"], self.recent_menu)
        menus["View"].addMenu(self._theme_menu(menus["View"]))
        self.panels_menu = QMenu("Panels", menus["View"])
        menus["View"].addMenu(self.panels_menu)
        return menus

    def _theme_menu(self, parent: QWidget) -> QMenu:
        menu = QMenu("Theme", parent)
        group = QActionGroup(menu)
        for name in theme.THEMES:
            action = menu.addAction(name.replace("-", " ").capitalize())
            action.setCheckable(True)
            action.setChecked(theme.current().name == name)
            action.triggered.connect(partial(self.set_theme, name))
            group.addAction(action)
        return menu

    def _lay_out(self) -> None:
        main_menu = QMenu(self)
        for menu in self.menus.values():
            main_menu.addMenu(menu)
        export_menu = QMenu(self)
        for id in ("export", "save_weights", "load_weights"):
            export_menu.addAction(self.actions_by_id[id])
        self.topbar = TopBar(self.state, self.actions_by_id, main_menu, export_menu)
        self.setMenuWidget(self.topbar)
        self.banner = Banner(self.link)
        centre = QWidget()
        column = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.banner)
        column.addWidget(self.canvas)
        self.setCentralWidget(centre)
        self.statusline = StatusLine(self.state)
        self.setStatusBar(self.statusline)
        self.setDockNestingEnabled(True)
        corners = Qt.Corner
        self.setCorner(corners.BottomLeftCorner, AREAS["left"])
        self.setCorner(corners.BottomRightCorner, AREAS["right"])
        self.setTabPosition(AREAS["bottom"], QTabWidget.TabPosition.North)
        self.palette_panel = Palette(self.state)
        self.add_panel("left", "Nodes", self.palette_panel)

    def _connect(self) -> None:
        state = self.state
        self.topbar.search_asked.connect(self.open_search)
        self.statusline.zoom.clicked.connect(self.canvas.zoom_reset)
        self.canvas.zoom_changed.connect(self.statusline.show_zoom)
        self.canvas.run_to_asked.connect(self.control.run_to)
        self.canvas.rerun_asked.connect(self.control.rerun_from)
        self.canvas.compile_asked.connect(self.control.compile_selection)
        self.canvas.dissolve_asked.connect(self.control.dissolve_group)
        self.palette_panel.chosen.connect(self.canvas.editor.add_node_in_view)
        for id in ("train", "resume_training", "overfit"):
            self.actions_by_id[id].triggered.connect(self._show_training)
        for signal in (state.run_changed, state.session_changed, state.selection_changed):
            signal.connect(self._refresh)
        state.undo_stack.indexChanged.connect(self._refresh)
        state.title_changed.connect(self._show_title)

    # what changes while one works

    def _refresh(self, _: object = None) -> None:
        """Enable what may be used now, and fill the button that makes sense now."""
        actions, undo = self.actions_by_id, self.state.undo_stack
        for id, allowed in allowed_actions(self.state).items():
            actions[id].setEnabled(allowed)
        primary = primary_action(self.state)
        actions["pause"].setVisible(primary == "pause")
        actions["continue"].setVisible(primary != "pause")
        actions["undo"].setEnabled(undo.canUndo())
        actions["redo"].setEnabled(undo.canRedo())
        actions["undo"].setText(f"Undo {undo.undoText()[:1].lower()}{undo.undoText()[1:]}".strip())
        actions["redo"].setText(f"Redo {undo.redoText()[:1].lower()}{undo.redoText()[1:]}".strip())
        self.topbar.fill(primary)
        self._show_title()

    def _show_training(self) -> None:
        """Bring the Training tab to the front, whoever asks for a training."""
        if "Training" in self.docks:
            self.docks["Training"].raise_()

    def _show_title(self) -> None:
        self.setWindowTitle(f"{self.state.name}[*] — Cellwire")
        self.setWindowModified(self.state.dirty)

    def _fill_recent(self) -> None:
        self.recent_menu.clear()
        for path in recent():
            self.recent_menu.addAction(
                Path(path).name, partial(self.files.open_path, Path(path))
            ).setToolTip(path)
        if self.recent_menu.isEmpty():
            self.recent_menu.addAction("No files yet").setEnabled(False)

    def set_theme(self, name: str) -> None:
        """Switch to a theme and remember it."""
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        theme.apply(app, name)
        QSettings().setValue("theme", name)

    def open_search(self) -> None:
        """Search nodes and actions under the search box."""
        entries = [*node_entries(self.state), *action_entries(self.actions_by_id)]
        popup = SearchPopup(self, entries)
        popup.chosen.connect(lambda entry: entry.run(self.canvas))
        popup.open_under(self.topbar.search)

    def show_shortcuts(self) -> None:
        """List the keys."""
        rows = "".join(
            f"<tr><td style='padding-right:28px'>{spec.text}</td><td>{_native(spec.keys)}</td></tr>"
            for spec in ACTIONS
            if spec.keys
        )
        box = QMessageBox(self)
        box.setWindowTitle("Keyboard")
        box.setText(f"<table>{rows}</table>")
        box.exec()
        box.deleteLater()

    def show_about(self) -> None:
        """Say what this is."""
        box = QMessageBox(self)
        box.setWindowTitle("About Cellwire")
        box.setText("Cellwire")
        box.setInformativeText(
            "Build, debug and compile neural networks by wiring Cells and ops.\n\n"
            "Apache License 2.0. Type: Inter and JetBrains Mono, SIL Open Font License. "
            "Icons: Phosphor, MIT License."
        )
        box.exec()
        box.deleteLater()

    # closing

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take a dropped drawing."""
        if _dropped_file(event) is not None:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open a dropped drawing."""
        if (path := _dropped_file(event)) is not None:
            event.acceptProposedAction()
            self.files.open_path(path)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask about unsaved changes; then end the session and everything else."""
        if not (self._discarding or self.files.may_discard()):
            event.ignore()
            return
        settings = QSettings()
        settings.setValue("geometry", self.saveGeometry())
        settings.setValue("layout", self.saveState(LAYOUT_VERSION))
        self.shut_down()
        event.accept()

    def discard_and_close(self) -> None:
        """Close without a question; changes that are not saved are given up."""
        self._discarding = True
        self.close()

    def shut_down(self) -> None:
        """End the session, the timers and the scene, whatever becomes of the drawing."""
        self.files.recovery.forget()
        self.link.close()
        self.canvas.close_scene()
        self.state.close()


def _dropped_file(event: QDropEvent) -> Path | None:
    for url in event.mimeData().urls():
        path = Path(url.toLocalFile())
        if path.suffix == ".cellwire":
            return path
    return None


def _native(keys: str) -> str:
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
