"""When operations answer: at once, so an error is raised where the operation was called."""

from __future__ import annotations


def launch_blocking() -> None:
    """Let each operation answer before the next one starts.

    Cellwire's operations always do: their errors are raised at the call, with its line in the
    traceback. The call is there for scripts that ask for it.
    """


def synchronize() -> None:
    """Wait until all operations are done, which they are when their call returns."""
