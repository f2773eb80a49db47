"""The native side of a plan: one call runs a whole sequence of kernels.

A `Program` lists its steps. Compiled with its kernels it is an `Entry`; bound to fixed buffers
(arena, parameters, constants) and sizes it is a `Bound`, called with the arrays that change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .native import Kernel, Library


@dataclass(frozen=True)
class Slot:
    """A buffer of a step: the i-th array of the call, or the i-th fixed buffer plus bytes."""

    kind: str  # "array" | "fixed"
    index: int
    offset: int = 0


@dataclass(frozen=True)
class Step:
    """One kernel call; ints are numbers or names of the program's ints."""

    kernel: str
    buffers: tuple[Slot, ...]
    ints: tuple[int | str, ...] = ()


@dataclass(frozen=True)
class Program:
    """Steps in order, over `arrays` arrays a call, `fixed` bound buffers and named sizes."""

    name: str
    arrays: int
    fixed: int
    ints: tuple[str, ...]
    steps: tuple[Step, ...]


class Entry:
    """A compiled program."""

    library: Library

    def bind(self, fixed: Sequence[np.ndarray | int], ints: Mapping[str, int]) -> Bound:
        """Fix buffers (arrays, kept alive, or addresses) and sizes."""
        raise NotImplementedError


class Bound:
    """A program ready to run: `bound(*arrays)` runs every step; the arrays are C-contiguous."""

    def __call__(self, *arrays: np.ndarray) -> None:
        raise NotImplementedError


def build_entry(program: Program, kernels: Sequence[Kernel]) -> Entry:
    """Compile a program with the kernels its steps name, as one module."""
    raise NotImplementedError
