"""Running the engine's own code during a trace, unseen by what watches the traced function."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any


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


def call_unwatched(call: Callable[..., Any], *args: Any) -> Any:
    """Call what runs no code of the user's; half the time of a trace went into watching it."""
    told = sys.getprofile()
    if not getattr(told, "watches_code", False):
        return call(*args)
    sys.setprofile(None)
    try:
        return call(*args)
    finally:
        sys.setprofile(told)
