"""Fixtures of all tests: Qt without a screen, settings of their own, and nothing left behind."""

from __future__ import annotations

import functools
import gc
import multiprocessing
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from canvas_hand import Hand
    from cellwire.app.window import MainWindow
    from pytestqt.qtbot import QtBot
    from session_talk import Talk

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests counted (``record_property("count", text)``), from all processes."""
    for report in terminalreporter.getreports("passed"):
        for name, text in report.user_properties:
            if name == "count":
                terminalreporter.write_line(str(text))


@pytest.fixture(autouse=True, scope="session")
def kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep compiled kernels in a temporary folder, for this process and those it starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CELLWIRE_CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
        patch.setenv("CELLWIRE_KEPT_PLANS", "0")  # each test of a pass runs the pass
        yield


_FIRST: dict[str, Any] = {}
"""The state that each file's own generator of numbers begins in."""


@pytest.fixture(autouse=True)
def same_numbers_in_any_order(request: pytest.FixtureRequest) -> None:
    """Let each test draw what it draws when it runs first, from its file's ``RNG``."""
    generator = getattr(request.module, "RNG", None)
    if isinstance(generator, np.random.Generator):
        bits = generator.bit_generator
        bits.state = _FIRST.setdefault(request.module.__name__, bits.state)


@pytest.fixture
def settings_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the program's settings and recovery files of one test in its temporary folder."""
    from PySide6.QtCore import QCoreApplication, QSettings

    folder = tmp_path / "settings"
    QSettings.setDefaultFormat(QSettings.Format.IniFormat)
    QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, str(folder))
    QCoreApplication.setOrganizationName("Cellwire")
    QCoreApplication.setApplicationName("Cellwire")
    monkeypatch.setenv("CELLWIRE_STATE_DIR", str(tmp_path / "state"))
    return folder


@pytest.fixture
def desktop(qapp: object, settings_here: Path) -> Iterator[object]:
    """The application in the dark theme, for tests of widgets and windows."""
    from cellwire.app import theme

    theme.apply(qapp, "dark")  # type: ignore[arg-type]
    yield qapp
    theme.apply(qapp, "dark")  # type: ignore[arg-type]


@pytest.fixture
def hand(desktop: object, qtbot: QtBot) -> Iterator[Hand]:
    """A hand over the canvas of a small drawing."""
    from canvas_hand import Hand, small_document
    from cellwire.app.canvas.view import CanvasView
    from cellwire.app.search import SearchPopup
    from cellwire.app.state import EditorState
    from PySide6.QtWidgets import QToolTip

    state = EditorState(small_document())
    view = CanvasView(state)
    qtbot.addWidget(view)
    view.resize(1200, 700)
    view.show()
    qtbot.waitExposed(view)
    view.setFocus()
    yield Hand(view)
    QToolTip.hideText()
    for popup in view.findChildren(SearchPopup):
        popup.close()
    view.close_scene()
    state.close()


@pytest.fixture
def window(desktop: object, qtbot: QtBot) -> Iterator[MainWindow]:
    """The window on an empty drawing, without a session."""
    from cellwire.app.window import MainWindow

    made = MainWindow(start_session=False)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.discard_and_close()


@pytest.fixture
def talk() -> Talk:
    """A session that has a small net."""
    from session_talk import Talk, small_net

    return Talk(small_net())


@pytest.fixture(autouse=True)
def nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a thread, a child process, a running timer or a window."""
    uses_qt = bool({"qtbot", "qapp", "desktop"} & set(request.fixturenames))
    threads, children = set(threading.enumerate()), _children()
    if uses_qt:
        request.getfixturevalue("qapp")
        _set_modules_aside()
    windows = _windows() if uses_qt else set()
    timers = _running_timers() if uses_qt else set()
    yield
    if uses_qt:
        _finish_deletions()
    left = [f"thread {t.name}" for t in set(threading.enumerate()) - threads if _is_ours(t)]
    left += [f"child process {pid}" for pid in _children() - children]
    if uses_qt:
        left += [f"window {name}" for _, name in _windows() - windows]
        left += [f"timer of {name}" for _, name in _running_timers() - timers]
    if left:
        pytest.fail("left behind: " + ", ".join(sorted(left)), pytrace=False)


@functools.cache
def _set_modules_aside() -> None:
    """Take all that importing made out of the collector's sight: looking for timers gets fast."""
    import cellwire.app.main

    assert cellwire.app.main
    gc.collect()
    gc.freeze()


def _is_ours(thread: threading.Thread) -> bool:
    if thread.name.startswith("cellwire-worker"):  # they wait for the next plan, for good
        return False
    if thread.is_alive():
        thread.join(2.0)
    return thread.is_alive()


def _children() -> set[int]:
    """Ids of running child processes, but for the interpreter's own resource tracker."""
    multiprocessing.active_children()
    try:  # most tests have none, and looking through the processes of the system takes long
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return set()
    found: set[int] = set()
    for listing in Path("/proc/self/task").glob("*/children"):
        try:
            found |= {int(word) for word in listing.read_text().split()}
        except OSError:  # the thread ended while we looked
            continue
    return {pid for pid in found if not _is_tracker(pid)}


def _is_tracker(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        zombie = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:  # it ended while we looked
        return True
    return zombie or b"resource_tracker" in words


def _windows() -> set[tuple[int, str]]:
    from PySide6.QtWidgets import QApplication

    return {
        (id(w), f"{type(w).__name__} {w.objectName()}".strip())
        for w in QApplication.topLevelWidgets()
        if w.parent() is None
    }


def _running_timers() -> set[tuple[int, str]]:
    import shiboken6
    from PySide6.QtCore import QTimer

    return {
        (id(timer), type(timer.parent()).__name__)
        for timer in gc.get_objects()
        if issubclass(type(timer), QTimer) and shiboken6.isValid(timer) and timer.isActive()
    }


def _finish_deletions() -> None:
    from PySide6.QtCore import QCoreApplication, QEvent

    gc.collect()
    for _ in range(2):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QCoreApplication.processEvents()
