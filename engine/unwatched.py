"""Running the engine's own code during a trace, unseen by what watches the traced function.

`compiler/watch.py` marks what it puts into ``sys.setprofile`` by ``watches_code``; profilers of the
user's go on seeing everything.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def unwatched() -> Iterator[None]:
    """Run the body unseen: its code is no part of the traced function."""
    watcher = sys.getprofile()
    if not getattr(watcher, "watches_code", False):
        yield
        return
    sys.setprofile(None)
    try:
        yield
    finally:
        sys.setprofile(watcher)


def call_unwatched(call: Callable[..., Any], *args: Any) -> Any:
    """Call what runs no code of the user's; half the time of a trace went into watching it."""
    watcher = sys.getprofile()
    if not getattr(watcher, "watches_code", False):
        return call(*args)
    sys.setprofile(None)
    try:
        return call(*args)
    finally:
        sys.setprofile(watcher)
