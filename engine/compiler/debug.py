"""``CELLWIRE_DEBUG=n`` shows what each stage of the compiler makes."""

from __future__ import annotations

import os
import sys

LEVELS = {"plan": 1, "graph": 2, "simplified": 2, "groups": 2, "loops": 3}


def show(stage: str, what: object) -> None:
    """Print one stage's result to the error stream if the debug level asks for it."""
    if showing() >= LEVELS[stage]:
        print(f"--- {stage}\n{what}", file=sys.stderr)


def showing() -> int:
    """Return the debug level, 0 where nothing is to be shown."""
    level = os.environ.get("CELLWIRE_DEBUG", "0")
    return int(level) if level.isdigit() else 0
