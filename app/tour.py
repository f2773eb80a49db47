"""The tour: draws, debugs, compiles, trains and exports by itself; leaves pictures and a report.

It drives the same window and the same engine session as a person would; it is what `bin/run` shows
where there is no display.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import (
    QEventLoop,
    QMessageLogContext,
    QTimer,
    QtMsgType,
    qInstallMessageHandler,
)
from PySide6.QtWidgets import QApplication

from ..nodes import changes as c
from ..nodes.files import save
from ..nodes.items import Breakpoint
from . import theme
from .filing import EXAMPLES
from .panels import add_panels
from .session import messages as m
from .state import EditorState, Selection
from .window import MainWindow

EXAMPLE = "digits_mlp.cellwire"
TIMEOUT_S = 120.0
WIDTH, HEIGHT = 1600, 1000


class TourError(RuntimeError):
    """A stop of the tour that did not come to its end."""


@dataclass
class Tour:
    """The window on tour, the folder of its pictures, and what it has to tell."""

    window: MainWindow
    out: Path
    lines: list[str] = field(default_factory=list)

    @property
    def state(self) -> EditorState:
        """What the window shows."""
        return self.window.state

    def tell(self, line: str) -> None:
        """Note a line for the report, and print it."""
        self.lines.append(line)
        print(line, flush=True)

    def picture(self, name: str) -> None:
        """Save the window as it looks now."""
        pump(0.25)
        path = self.out / f"{name}.png"
        if not self.window.grab().save(str(path)):
            raise TourError(f"The picture {path} could not be written.")
        self.lines.append(f"\n![{name}]({path.name})\n")

    def wait(self, what: str, until: Callable[[], bool]) -> None:
        """Let the window live until something is true; TourError after two minutes."""
        end = time.monotonic() + TIMEOUT_S
        while not until():
            failed = self.state.run.failed
            if failed is not None:
                raise TourError(f"Waiting for {what}: {failed.message}")
            if self.state.session.state == "lost":
                raise TourError(f"Waiting for {what}: {self.state.session.message}")
            if time.monotonic() > end:
                raise TourError(f"Waited {TIMEOUT_S:.0f} s for {what}; it did not come.")
            pump(0.02)

    def node(self, name: str) -> str:
        """The id of the node of that name."""
        found = self.state.document.node_named(name)
        if found is None:
            raise TourError(f"The example has no node {name!r}.")
        return found.id


def pump(seconds: float) -> None:
    """Let Qt work for a while."""
    loop = QEventLoop()
    QTimer.singleShot(int(seconds * 1000), loop.quit)
    loop.exec()


def draw(tour: Tour) -> None:
    """The drawing, with its shapes inferred."""
    state = tour.state
    tour.wait("the engine session", lambda: state.session.state == "ready")
    cost = state.inference.cost
    tour.tell(
        f"Opened {state.name}: {len(state.document.nodes)} nodes, {len(state.document.edges)} "
        f"wires, {cost.parameters:,} parameters, {len(state.problems)} problems."
    )
    tour.picture("1-drawing")


def debug(tour: Tour) -> None:
    """A breakpoint on a wire, hit before its value enters its node."""
    state = tour.state
    relu = next(n for n in state.document.nodes.values() if n.type in ("ops.relu", "nn.ReLU"))
    edge = state.document.edges_into(relu.id)[0]
    mark = Breakpoint(target=edge.target, input=edge.input, condition="absmax > 0.01")
    state.perform(c.SetBreakpoint(mark), "Set breakpoint")
    tour.window.control.run()
    tour.wait("the breakpoint", lambda: state.run.paused is not None)
    paused = state.run.paused
    assert paused is not None
    assert paused.stats is not None
    tour.tell(
        f"Paused before {relu.name}: {paused.condition}, hit {paused.hit}, "
        f"absmax {paused.stats.absmax:.4g} of {paused.stats.size:,} values."
    )
    pump(0.5)
    tour.picture("2-paused-on-a-wire")
    tour.window.control.go_on()
    tour.wait("the end of the run", lambda: state.run.finished is not None)
    state.perform(c.RemoveBreakpoint(edge.target, edge.input), "Remove breakpoint")


def compile_nodes(tour: Tour) -> None:
    """Select the Cells and ops between data and loss, and compile them."""
    state = tour.state
    grouped = {node for group in state.document.groups.values() for node in group.nodes}
    kinds = {key: spec.kind for key in state.document.nodes if (spec := state.spec(key))}
    chosen = {key for key, kind in kinds.items() if kind in ("cell", "op")} - grouped
    state.select(Selection(nodes=frozenset(chosen)))
    tour.window.control.compile_selection()
    tour.wait("the compiled group", lambda: bool(state.reports))
    report = next(iter(state.reports.values()))
    speed = report.eager_microseconds / report.compiled_microseconds
    tour.tell(
        f"Compiled {len(report.nodes)} nodes into {len(report.kernels)} kernels in "
        f"{report.compile_milliseconds:.0f} ms: {speed:.1f}× as fast as eager, "
        f"parity {report.parity:.1g}."
    )
    tour.window.control.run()
    tour.wait("a compiled run", lambda: state.run.finished is not None)
    tour.picture("3-compiled")


def train(tour: Tour) -> None:
    """Train on the digits, and look at the held-out part."""
    state = tour.state
    tour.window.control.train()
    tour.wait("the training", lambda: state.training.finished is not None)
    finished = state.training.finished
    assert finished is not None
    accuracy = finished.held_out_accuracy
    if accuracy is None:
        raise TourError("The training ended without a held-out accuracy.")
    tour.tell(
        f"Trained {finished.epoch} epochs in {finished.seconds:.1f} s: "
        f"{accuracy:.1%} of the held-out digits are right."
    )
    tour.picture("4-trained")


def export(tour: Tour) -> None:
    """Export the trained model, and run the exported file."""
    folder = tour.out / "export"
    folder.mkdir(exist_ok=True)
    path = folder / "digits_mlp.py"
    answers: list[m.Event] = []
    tour.window.link.send(m.Export(path=str(path)), answers.append)
    tour.wait("the export", lambda: bool(answers))
    if isinstance(answers[0], m.CommandFailed):
        raise TourError(answers[0].message)
    command = [sys.executable, path.name]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise TourError(f"The exported file failed: {ran.stderr.strip().splitlines()[-1]}")
    said = ", ".join(ran.stdout.split("\n")).strip(", ")
    tour.tell(f"Exported {path.name}; run on its own it says: {said}.")


def light(tour: Tour) -> None:
    """The same window in the light theme."""
    theme.apply(_application(), "light")
    tour.picture("5-light")
    theme.apply(_application(), "dark")


STOPS = (draw, debug, compile_nodes, train, export, light)


def run_tour(out: Path) -> int:
    """Take the tour; pictures and `report.md` go to `out`. Returns an exit code."""
    out.mkdir(parents=True, exist_ok=True)
    document = out / EXAMPLE
    shutil.copy(EXAMPLES / EXAMPLE, document)
    theme.apply(_application(), "dark")
    window = MainWindow()
    tour = Tour(window, out)
    try:
        add_panels(window)
        window.resize(WIDTH, HEIGHT)
        window.show()
        window.files.open_path(document, ask=False)
        for stop in STOPS:
            stop(tour)
        save(window.state.document, document)
        window.state.saved(document)
    except TourError as error:
        tour.tell(f"The tour ended early. {error}")
        return 1
    finally:
        report = "\n".join(("# A tour of Cellwire", "", *tour.lines, ""))
        (out / "report.md").write_text(report, encoding="utf-8")
        window.state.undo_stack.setClean()
        window.close()
        pump(0.1)
    print(f"Pictures and report: {out}")
    return 0


def _application() -> QApplication:
    running = QApplication.instance()
    return running if isinstance(running, QApplication) else QApplication(sys.argv[:1])


def _report_qt(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
    """Print what Qt says, but for what the offscreen platform cannot do and nobody needs."""
    if "propagateSizeHints" not in message:
        print(message, file=sys.stderr)


def main() -> int:
    """`python -m cellwire.app.tour FOLDER`: take the tour without touching the user's settings."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/tour")
    qInstallMessageHandler(_report_qt)
    application = _application()
    application.setOrganizationName("Cellwire")
    application.setApplicationName("Cellwire Tour")
    return run_tour(folder.resolve())


if __name__ == "__main__":
    raise SystemExit(main())
