"""What the compiler must know of an op that has kernels of its own, neither fused nor products.

A family (`windowed.py`, `pooling.py` and their like) has a `NativeOp` for each op. The fuser asks
it whether it takes a node, the planner for the kernel calls, the cutter what they cost;
`native_families.py` lists the families.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...kernels.native import Kernel
from ...kernels.runtime import Rows
from ..shape import Aval
from .access import Access, natural_strides
from .graph import Node, Value


@dataclass(frozen=True, slots=True)
class Check:
    """What a kernel found out about its inputs, looked at when it has run.

    It writes two whole numbers to ``status``: the first is negative unless something is wrong, the
    second is what the error's ``text`` names in its braces.
    """

    status: Value
    error: str
    text: str


@dataclass(frozen=True, slots=True)
class KernelStep:
    """One kernel call: the kernel, its buffers in order, its sizes and what it writes.

    An int among the buffers is an address. ``rows`` says how the call is cut for several threads.
    """

    kernel: Kernel
    buffers: tuple[Value | int, ...]
    ints: tuple[int, ...]
    writes: tuple[Value, ...]
    rows: Rows | None = None
    check: Check | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """What a lowering may ask of the plan that it is made for."""

    base: Callable[[Value], Value]
    """The value whose memory an input is read from (inputs lie there whole and in order)."""
    access: Callable[[Value], Access]
    """How an input lies there, for ops that read it otherwise."""
    temporary: Callable[[Aval], Value]
    """A value that lives in the arena for the op's steps."""
    constant: Callable[[np.ndarray], Value]
    """A value that is an array known now."""
    needs: Callable[[Value], bool]
    """Whether anything reads an output."""
    threads: int
    shared: dict[object, Value]
    """What steps of the plan have computed already that others need too, by what it is."""
    nodes: Sequence[Node] = ()
    """The op's node and those that its kernel ends with."""


@dataclass(frozen=True, slots=True)
class NativeOp:
    """How the compiler runs one op by kernels of its own."""

    accepts: Callable[[Node], bool]
    """Whether shapes, dtypes and attributes of a node have a kernel; else it is lowered as ever."""
    lower: Callable[[Node, Setting], list[KernelStep]]
    products: Callable[[Node], float]
    """Roughly how many multiplications a node takes."""
    reads: Callable[[Node, Value, Access], bool] | None = None
    """Whether a node reads an input that lies like that; by default only whole and in order."""
    ends: Callable[[Sequence[Node], Callable[[Value], Access]], bool] | None = None
    """Whether the op's kernel can do what the nodes after the first do, which follow it."""


def is_whole(access: Access, value: Value) -> bool:
    """Return whether a value lies in memory without gaps and in order, from the start."""
    return access.offset == 0 and access.strides == natural_strides(value.sizes)
