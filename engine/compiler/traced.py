"""What stands for tensors in a trace, and what ends a trace or guards it.

What ops and user code see of a trace; `trace.py` is its other side.
"""

from __future__ import annotations

import functools
import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import origin as origins
from .. import random as streams
from ..dtype import DType, int64
from ..ops import registry
from ..shape import Aval, Dim, element_count
from ..tensor import Tensor
from .graph import Value

if TYPE_CHECKING:
    from .trace import Trace

ROOT = Path(__file__).resolve().parents[2]
LAYERS = tuple(f"{ROOT / name}{os.sep}" for name in ("kernels", "engine", "nodes", "app"))
PACKAGE_NAME = __name__.partition(".")[0]


@functools.cache
def in_package(path: str, part: str = "") -> bool:
    """Return whether code of this file is Cellwire's own, or that of one part (``"engine/nn"``).

    Only the layers' folders are: a checkout may hold tests, benchmarks and the user's scripts too.
    """
    if path.startswith("<"):
        return False
    own = (f"{ROOT.joinpath(*part.split('/'))}{os.sep}",) if part else LAYERS
    # Links are followed where the path itself does not tell, since that asks the disk.
    found = path if path.startswith(LAYERS) else os.path.realpath(path)
    return found.startswith(own)


class TraceBreak(Exception):  # noqa: N818 - it ends a trace, which need not be an error
    """A reason not to compile: what was met, where, and what to write instead."""

    def __init__(self, reason: str, advice: str = "", where: str | None = None) -> None:
        self.reason = reason
        self.advice = advice
        self.where = where or user_location()
        super().__init__(f"{self.where}: {reason}" + (f"; {advice}" if advice else ""))
        for trace in registry.traces:
            trace.note_break(self)


def user_location() -> str:
    """Return ``file:line`` of the innermost frame outside this package."""
    frame: FrameType | None = sys._getframe(1)
    innermost = frame
    while frame is not None:
        path = frame.f_code.co_filename
        if not in_package(path):
            return f"{path}:{frame.f_lineno}"
        frame = frame.f_back
    return f"{innermost.f_code.co_filename}:{innermost.f_lineno}" if innermost else "<unknown>"


class Traced(Tensor):
    """A tensor inside a trace: a shape, a dtype and an SSA value, and no data of its own."""

    __slots__ = ("ssa", "tracer")

    tracer: Trace
    ssa: Value

    def __new__(cls, trace: Trace, value: Value) -> Self:
        """Make the handle; ``Tensor``'s own arguments are of no use here."""
        return object.__new__(cls)

    def __init__(self, trace: Trace, value: Value) -> None:
        self.tracer = trace
        self.ssa = value

    @property
    def aval(self) -> Aval:
        """Shape and dtype."""
        return self.ssa.aval

    @property
    def shape(self) -> tuple[Dim, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Sizes, some of which may be symbols."""
        return self.ssa.aval.shape

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.ssa.aval.dtype

    @property
    def data(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        """A traced tensor has no data: asking for it ends the trace."""
        raise TraceBreak(
            "the data of a traced tensor was used as a NumPy array",
            "use Cellwire ops on the tensor, or return it and convert it outside",
        )

    def asnumpy(self) -> np.ndarray:
        """End the trace: NumPy would bake in the values of this one call."""
        return self.data

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.data

    numpy = asnumpy
    tolist = asnumpy

    def contiguous(self) -> Tensor:
        """Return this tensor: what a graph computes lies in row-major order."""
        return self

    @property
    def size(self) -> Dim:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Number of elements, which may be symbolic."""
        return element_count(self.shape)

    def item(self, index: int | tuple[int, ...] | None = None) -> Any:
        """Evaluate the trace up to here and specialise it on the outcome."""
        array = self.tracer.concrete(self.ssa)
        if index is None and array.size != 1:
            raise ValueError(f"item() needs a tensor of one element, this one is {self.aval}")
        outcome = array.item() if index is None else array.item(index)
        journal = self.tracer.journal
        if (
            journal is not None
            and type(outcome) in (int, float)
            and self.ssa not in self.tracer.constants
        ):
            return journal.item(self, outcome, index)
        self.tracer.guard_outcome(self.ssa, outcome, index)
        return outcome

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a tensor without axes.")
        if not isinstance(self.shape[0], int):
            raise TraceBreak(
                f"len() of a tensor of {self.aval}, whose length is not known yet",
                "use an op over the whole tensor instead of a loop over its first axis",
            )
        return self.shape[0]

    def __str__(self) -> str:
        return str(self.data)

    def __repr__(self) -> str:
        return f"Traced({self.ssa!r}: {self.aval})"

    def __format__(self, spec: str) -> str:
        journal = self.tracer.journal
        text = None if journal is None else journal.text_of(self, spec)
        return super().__format__(spec) if text is None else text

    def __hash__(self) -> int:
        return id(self)


class RandomKey(Tensor):
    """An input that each call of a plan fills anew from the current random stream.

    ``data`` is the key of the call to come; ``take`` hands it out, and the next one follows.
    ``origin`` says which drawn node asked for it, so that an executor can give each its own.
    """

    __slots__ = ("_drawn", "origin")

    def __init__(self) -> None:
        self._drawn: Tensor | None = None
        self.origin = origins.current()

    @property
    def aval(self) -> Aval:
        """Two integers."""
        return Aval((2,), int64)

    @property
    def shape(self) -> tuple[int, ...]:
        """Two integers."""
        return (2,)

    @property
    def dtype(self) -> DType:
        """Two integers."""
        return int64

    def _key(self) -> Tensor:
        if self._drawn is None:
            self._drawn = streams.state().next_key()
        return self._drawn

    @property
    def data(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The key of the call to come."""
        return self._key().data

    def take(self) -> Tensor:
        """Return the key of this call; afterwards there is a new one."""
        key = self._key()
        self._drawn = None
        return key


@dataclass(frozen=True, slots=True)
class OutcomeGuard:
    """A Python branch on a value: the trace holds only while the value gives this outcome."""

    value: Value
    outcome: bool | int | float
    index: int | tuple[int, ...] | None
    where: str

    def holds(self, array: np.ndarray) -> bool:
        """Return whether ``array``, the value of another call, gives the same outcome."""
        actual = array.item() if self.index is None else array.item(self.index)
        return actual == self.outcome or (_is_nan(actual) and _is_nan(self.outcome))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
