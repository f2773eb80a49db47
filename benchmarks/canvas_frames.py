"""Frame times of the canvas with 5,000 nodes and 8,000 wires at every zoom.

Usage: python benchmarks/canvas_frames.py [NODES] [WIRES]
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import time

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from cellwire.app import theme
from cellwire.app.canvas.view import CanvasView
from cellwire.app.main import make_application
from cellwire.app.state import EditorState
from cellwire.nodes import changes as c
from cellwire.nodes.document import Document
from cellwire.nodes.items import Edge, NodeItem
from PySide6.QtCore import QPointF
from PySide6.QtGui import QPaintEvent

ZOOMS = (2.0, 1.0, 0.7, 0.5, 0.45, 0.35, 0.25, 0.15, 0.06)
FRAMES = 25
GOAL_MS = 8.0
TYPES = ("nn.Dense", "nn.ReLU", "nn.Flatten", "ops.add")


def make_document(nodes: int, wires: int) -> Document:
    """Rows of nodes, mostly wired to neighbours, each input at most once."""
    rng = random.Random(1)
    columns = max(1, int(nodes**0.5))
    document = Document("Benchmark")
    for i in range(nodes):
        place = (i % columns * 240.0, i // columns * 140.0)
        type = TYPES[i % len(TYPES)]
        document.apply(c.AddNode(NodeItem(id=f"n{i}", type=type, name=f"n{i}", position=place)))
    taken: set[tuple[str, str]] = set()
    while len(taken) < wires:
        a = rng.randrange(nodes - 1)
        b = min(nodes - 1, a + rng.choice((1, 1, 2, columns)))
        key = (f"n{b}", "x")
        if key in taken:
            key = (f"n{b}", f"x{rng.randrange(1000)}")
        taken.add(key)
        document.apply(c.Connect(Edge(f"n{a}", "out", *key)))
    return document


class TimedView(CanvasView):
    """A canvas that notes how long every paint event takes."""

    times: list[float]
    work: list[float]

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint, and note the milliseconds on the clock and of the processor."""
        start, worked = time.perf_counter(), time.thread_time()
        super().paintEvent(event)
        self.work.append((time.thread_time() - worked) * 1e3)
        self.times.append((time.perf_counter() - start) * 1e3)


def main() -> None:
    """Print a table of zoom, median and worst milliseconds."""
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    wires = int(sys.argv[2]) if len(sys.argv) > 2 else 8000
    app = make_application()
    theme.apply(app, "dark")
    start = time.perf_counter()
    document = make_document(nodes, wires)
    print(f"document  {time.perf_counter() - start:6.2f} s")
    start = time.perf_counter()
    state = EditorState(document)
    print(f"inference {time.perf_counter() - start:6.2f} s")
    start = time.perf_counter()
    view = TimedView(state)
    view.times, view.work = [], []
    view.resize(1600, 1000)
    view.show()
    app.processEvents()
    print(f"items     {time.perf_counter() - start:6.2f} s")
    middle = view.canvas.drawing_rect().center()
    print("  zoom   median ms   worst ms   median processor ms")
    for zoom in ZOOMS:
        view.zoom_to(zoom)
        view.center_on(middle)
        app.processEvents()
        view.times.clear()
        view.work.clear()
        for frame in range(FRAMES):
            view.center_on(middle + QPointF(frame * 7.0 / zoom, 0.0))
            view.viewport().update()
            app.processEvents()
        median = statistics.median(view.times)
        work = statistics.median(view.work)
        mark = "" if work <= GOAL_MS else "  over the goal"
        print(f"{zoom:6.2f} {median:11.1f} {max(view.times):10.1f} {work:12.1f}{mark}")
    view.close_scene()
    state.close()


if __name__ == "__main__":
    main()
