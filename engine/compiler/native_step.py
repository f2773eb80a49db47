"""Native steps: the kernel calls that a plan consists of, before they have addresses.

Lowering makes them, cutting shares them out, the arena gives them memory, binding their addresses.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...kernels.native import Kernel
from ...kernels.runtime import Rows
from .fuse import Group
from .graph import Value
from .native_ops import Check, KernelStep


@dataclass(slots=True)
class NativeStep:
    """One kernel call of a plan: the kernel, its buffers in order, its runtime sizes.

    An int among the buffers is an address.
    """

    kernel: Kernel
    buffers: tuple[Value | int, ...]
    ints: tuple[int, ...]
    writes: tuple[Value, ...]
    group: Group
    rows: Rows | None = None
    check: Check | None = None

    @classmethod
    def of(cls, made: KernelStep, group: Group) -> NativeStep:
        """Return the call that the lowering of a group made."""
        return cls(made.kernel, made.buffers, made.ints, made.writes, group, made.rows, made.check)
