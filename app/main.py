"""The desktop program: `python -m cellwire.app.main [FILE] [--theme NAME] [--screenshot PATH]`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QSettings, QTimer
from PySide6.QtWidgets import QApplication

from . import theme
from .filing import FIRST_EXAMPLE
from .panels import add_panels
from .window import MainWindow


def main(arguments: Sequence[str] | None = None) -> int:
    """Open the window on a file, or on the first example; the exit code of the program."""
    options = _parser().parse_args(arguments)
    if not _has_display():
        print("cellwire: no display was found; `bin/run` takes the tour instead", file=sys.stderr)
        return 1
    app = make_application()
    theme.apply(app, options.theme or theme.preferred())
    window = MainWindow()
    add_panels(window)
    if options.screenshot is None:
        window.restore_layout()
    window.show()
    recovered = options.file is None and window.files.offer_recovery()
    if options.file is not None:
        window.files.open_path(options.file, ask=False)
    elif not recovered and FIRST_EXAMPLE.exists():
        window.files.open_example(FIRST_EXAMPLE)
    if options.screenshot is not None:
        QTimer.singleShot(800, window, lambda: _take_screenshot(window, options.screenshot))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return app.exec()


def make_application() -> QApplication:
    """The application with its names, which settings are kept under."""
    QCoreApplication.setOrganizationName("Cellwire")
    QCoreApplication.setApplicationName("Cellwire")
    QSettings.setDefaultFormat(QSettings.Format.IniFormat)
    existing = QApplication.instance()
    app = existing if isinstance(existing, QApplication) else QApplication(sys.argv[:1])
    app.setApplicationDisplayName("Cellwire")
    return app


def _has_display() -> bool:
    """Whether there is a screen to draw on, or Qt was told what to draw on instead."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    return sys.platform != "linux" or any(os.environ.get(name) for name in names)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cellwire-desktop", description="Open Cellwire's window.")
    parser.add_argument("file", nargs="?", type=Path, help="a .cellwire file to open")
    parser.add_argument("--theme", choices=sorted(theme.THEMES), help="colours to use")
    parser.add_argument(
        "--screenshot", type=Path, metavar="PATH", help="write a picture of the window and quit"
    )
    return parser


def _take_screenshot(window: MainWindow, path: Path) -> None:
    if not window.grab().save(str(path)):
        print(f"cellwire: {path} could not be written", file=sys.stderr)
    window.discard_and_close()


if __name__ == "__main__":
    sys.exit(main())
