"""Native code: kernels become machine code once; after that they load from a disk cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class Kernel(Protocol):
    """What can be compiled: a loop `Function`, a `Gemm`, a plan's `Program`."""

    @property
    def name(self) -> str:
        """The symbol's name, unique in its module."""
        ...

    @property
    def text(self) -> str:
        """A canonical description; equal text means equal code."""
        ...


@dataclass(frozen=True)
class Library:
    """Loaded machine code; it stays in memory while this object is referenced."""

    addresses: dict[str, int]
    compiled: bool
    seconds: float

    def __getitem__(self, name: str) -> int:
        return self.addresses[name]


def compile_module(kernels: Sequence[Kernel]) -> Library:
    """Return the kernels' machine code, compiled together or loaded from the disk cache."""
    raise NotImplementedError
