"""Garbage collections, put off while code is traced and compiled."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collections() -> Iterator[None]:
    """Put off garbage collections in the body.

    Callbacks of `gc` would seem to be called by code that is traced; and a graph has so many
    objects, all of which stay, that looking through them takes a seventh of all compile time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
