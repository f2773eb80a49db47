"""Running the engine's own code during a trace, unseen by what watches the traced function."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType


@contextmanager
def unwatched() -> Iterator[None]:
    """Run kernels unseen by what watches the traced function: their code is no part of it."""
    watcher = sys.getprofile()
    if not isinstance(watcher, FunctionType):
        yield
        return
    sys.setprofile(None)
    try:
        yield
    finally:
        sys.setprofile(watcher)
