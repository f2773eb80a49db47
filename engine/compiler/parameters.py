"""Sizes as kernels have them: numbers, or integer parameters where calls differ in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...kernels.loops import Extent
from ..shape import Dim, SymDim


def alike(left: Dim | str, right: Dim | str) -> bool:
    """Return whether sizes are equal in every call; nobody is asked what they are in this one."""
    if isinstance(left, SymDim) and isinstance(right, SymDim):
        return left.terms == right.terms
    return isinstance(left, int) and isinstance(right, int) and left == right


@dataclass(slots=True)
class Parameters:
    """What open sizes are called in one kernel, in the order in which it was asked for them."""

    known: dict[str, Dim] = field(default_factory=dict)

    def of(self, size: Any) -> Extent:
        """Return a number, or the name of a parameter."""
        if isinstance(size, int):
            return size
        found = next((name for name, held in self.known.items() if alike(held, size)), None)
        if found is None:
            found = f"size{len(self.known)}"
            self.known[found] = size
        return found

    def all(self, sizes: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return numbers and names."""
        return tuple(map(self.of, sizes))

    def sizes(self, names: tuple[str, ...]) -> tuple[Any, ...]:
        """Return what parameters stand for."""
        return tuple(self.known[name] for name in names)
