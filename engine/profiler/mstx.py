"""Marks of one's own in a profile: ranges and single moments."""

from __future__ import annotations

import itertools
from typing import Any

from .observer import now
from .session import active_observer

_numbers = itertools.count(1)
_open: dict[int, tuple[str, int]] = {}


def mark(message: str, stream: Any = None, domain: str = "default") -> None:
    """Note a moment, where a profiler is on.

    Parameters
    ----------
    message : str
        What the moment is called.
    stream : optional
        Taken for MindSpore's scripts.
    domain : str
        What it belongs to.
    """
    observer = active_observer()
    if observer is not None:
        observer.mark("range", message, now(), domain)


def range_start(message: str, stream: Any = None, domain: str = "default") -> int:
    """Begin a stretch of time, and return its number.

    Parameters
    ----------
    message : str
        What the stretch is called.
    stream : optional
        Taken for MindSpore's scripts.
    domain : str
        What it belongs to.

    Returns
    -------
    int
        What ``range_end`` takes; 0 where no profiler is on.
    """
    if active_observer() is None:
        return 0
    number = next(_numbers)
    _open[number] = (message, now())
    return number


def range_end(range_id: int, domain: str = "default") -> None:
    """End a stretch of time.

    Parameters
    ----------
    range_id : int
        What ``range_start`` gave.
    domain : str
        What it belongs to.
    """
    found = _open.pop(range_id, None)
    observer = active_observer()
    if found is not None and observer is not None:
        observer.mark("range", found[0], found[1], domain)
