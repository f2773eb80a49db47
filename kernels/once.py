"""What is made once in a process, whichever of its threads asks first.

``functools.cache`` lets two threads make it at the same time and forgets one of both: addresses of
machine code that was taken from the forgotten one lead nowhere.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import TypeVar

Made = TypeVar("Made")


def once(make: Callable[[], Made]) -> Callable[[], Made]:
    """Return a function that calls ``make`` at its first call, and gives what that gave for ever.

    Other threads wait meanwhile. An error is raised, and the next call tries again.
    """
    made: list[Made] = []
    lock = threading.RLock()

    @functools.wraps(make)
    def found() -> Made:
        if not made:
            with lock:
                if not made:
                    made.append(make())
        return made[0]

    def renew() -> None:
        nonlocal lock
        lock = threading.RLock()  # another thread may have held it when the process was forked

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=renew)
    return found
