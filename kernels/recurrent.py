"""Recurrent layers on arrays, for eager use: one native call a layer and direction.

Half precision is computed in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from .expressions import FLOAT32, FLOAT64, INT64, DType
from .loops import Function
from .recurrent_cells import KINDS
from .recurrent_native import INTS, RecurrentKernel, transposing
from .runtime import Bound, Entry, Program, Rows, Slot, Step, build_entry
from .workers import thread_count

WORTH_SHARING: Final = 600_000
"""Multiplications of a call from which other threads are asked to help: some 15 microseconds."""


def run_forward(
    kind: str,
    gates: np.ndarray,
    states: Sequence[np.ndarray],
    weight: np.ndarray,
    bias: np.ndarray | None,
    lengths: np.ndarray | None,
    *,
    keep: bool,
    reverse: bool,
) -> tuple[np.ndarray, ...]:
    """Return the outputs `[steps, n, h]`, the last states and, with `keep`, slopes and states.

    Slopes are what the way back multiplies gradients by; the states are those before each step.
    """
    dtype, (steps, batch, _), size = _native(gates.dtype), gates.shape, weight.shape[1]
    kernel = _kernel(kind, size, dtype, lengths is not None, keep, False)
    made = {
        "output": (steps, batch, size), "state": (batch, size), "cell": (batch, size),
        "slopes": (steps, batch, kernel.cell.slopes * size), "before": (steps, batch, size),
        "across": weight.shape[::-1], "sums": (batch, weight.shape[0]),
    }  # fmt: skip
    arrays = {name: np.empty(shape, dtype) for name, shape in made.items()}
    arrays |= _given(dtype, gates=gates, weight=weight, bias=bias)
    arrays |= _given(dtype, **dict(zip(("start", "start_cell"), states, strict=False)))
    if lengths is not None:
        arrays["lengths"] = np.ascontiguousarray(lengths, INT64)
    _run(kernel, arrays, (batch, batch, steps, int(reverse)))
    names = [n for n in kernel.buffers if n in ("output", "state", "cell", "slopes", "before")]
    return tuple(arrays[name].astype(gates.dtype, copy=False) for name in names)


def run_backward(
    kind: str,
    douts: Sequence[np.ndarray],
    weight: np.ndarray,
    slopes: np.ndarray,
    lengths: np.ndarray | None,
    *,
    reverse: bool,
) -> tuple[np.ndarray, ...]:
    """Return the gradients of the gates, of GRU's state's share, and of the states at the start.

    `douts` are those of the outputs and of the last states.
    """
    given, size = douts[0].dtype, weight.shape[1]
    dtype, (steps, batch, _) = _native(given), slopes.shape
    kernel = _kernel(kind, size, dtype, lengths is not None, False, True)
    wide = (steps, batch, weight.shape[0])
    made = {"dgates": wide, "dhidden": wide, "dstate": (batch, size), "dcell": (batch, size)}
    names = [name for name in kernel.buffers if name in made]
    arrays = {name: np.empty(made[name], dtype) for name in names}
    arrays |= _given(dtype, weight=weight, slopes=slopes)
    arrays |= _given(dtype, **dict(zip(("dout", "dlast", "dlast_cell"), douts, strict=False)))
    if lengths is not None:
        arrays["lengths"] = np.ascontiguousarray(lengths, INT64)
    _run(kernel, arrays, (batch, batch, steps, int(reverse)))
    return tuple(arrays[name].astype(given, copy=False) for name in names)


def _native(dtype: DType) -> DType:
    return dtype if dtype in (FLOAT32, FLOAT64) else FLOAT32


def _given(dtype: DType, **arrays: np.ndarray | None) -> dict[str, np.ndarray]:
    return {n: np.ascontiguousarray(a, dtype) for n, a in arrays.items() if a is not None}


@lru_cache(256)
def _kernel(
    kind: str, size: int, dtype: DType, ragged: bool, keep: bool, backward: bool
) -> RecurrentKernel:
    return RecurrentKernel("recurrent", kind, size, dtype, ragged, keep, backward)


def _run(
    kernel: RecurrentKernel, arrays: dict[str, np.ndarray], sizes: tuple[int, int, int, int]
) -> None:
    parts = thread_count()
    bound = _bound(kernel, parts, sizes)
    first = () if kernel.backward else ("weight",)
    bound(*[arrays[name] for name in (*first, *kernel.buffers)])


@lru_cache(256)
def _bound(kernel: RecurrentKernel, parts: int, sizes: tuple[int, int, int, int]) -> Bound:
    batch, steps = sizes[1:3]
    work = batch * steps * KINDS[kernel.kind].gates * kernel.size**2
    shared = batch >= 2 * parts and work >= WORTH_SHARING
    return _entry(kernel, parts).bind((), dict(zip(INTS, sizes, strict=True)), shared)


@lru_cache(256)
def _entry(kernel: RecurrentKernel, parts: int) -> Entry:
    """Compile a layer with, on the way forward, the transposition of its weight."""
    places = range(len(kernel.buffers))
    if kernel.backward:
        slots = tuple(Slot("array", place) for place in places)
        steps = [Step(kernel.name, slots, INTS, Rows(0, kernel.advance))]
        return _built(len(places), steps, [kernel], parts)
    turn = transposing("transposed", KINDS[kernel.kind].gates, kernel.size, kernel.dtype)
    wide = KINDS[kernel.kind].gates * kernel.size * kernel.dtype.itemsize
    across = Slot("array", 1 + kernel.buffers.index("across"))
    rows = Rows(0, (kernel.dtype.itemsize, wide))
    slots = tuple(Slot("array", 1 + place) for place in places)
    steps = [
        Step(turn.name, (Slot("array", 0), across), (kernel.size,), rows),
        Step(kernel.name, slots, INTS, Rows(0, kernel.advance)),
    ]
    return _built(1 + len(places), steps, [turn, kernel], parts)


def _built(
    arrays: int, steps: list[Step], kernels: list[RecurrentKernel | Function], parts: int
) -> Entry:
    regions = (1,) * len(steps) if parts > 1 else ()
    program = Program("recurrent.call", arrays, 0, INTS, tuple(steps), parts, regions)
    return build_entry(program, kernels)
