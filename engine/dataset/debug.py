"""Looking into `map`: hooks for ``config.set_debug_mode(True, [...])``.

In the debug mode rows are made by the thread that iterates, one at a time, so that a breakpoint in
a function stops there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from .columns import to_array


class DebugHook(ABC):
    """Base of hooks: `compute` gets the values before and after each operation of a `map`."""

    @abstractmethod
    def compute(self, *args: Any) -> None:
        """Look at the values of a row."""

    def __call__(self, *args: Any) -> None:
        self.compute(*args)


class PrintDataHook(DebugHook):
    """Prints the values."""

    def compute(self, *args: Any) -> None:
        """Print each value."""
        for value in args:
            print(value)


class PrintMetaDataHook(DebugHook):
    """Prints the shape and the element type of the values."""

    def compute(self, *args: Any) -> None:
        """Print a line a value."""
        for value in args:
            array = value if isinstance(value, np.ndarray) else to_array(value)
            print(f"shape {array.shape}, type {array.dtype}")
