"""Reductions, their positions and running totals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .....engine import ops
from .....engine.dtype import DType, bool_
from .....engine.tensor import Tensor
from ..call import Call
from ..registry import operator

Reducer = Callable[[Tensor, Any, bool], Tensor]


def _log_sum_exp(x: Tensor, axes: Any, keep: bool) -> Tensor:
    if not x.size:
        return ops.log(ops.sum(x, axes, keep))
    dtype = x.dtype if x.dtype.is_float else "float32"
    return ops.logsumexp(ops.cast(x, dtype), axes, keep)


def _extremum(function: Reducer, largest: bool) -> Reducer:
    def run(x: Tensor, axes: Any, keep: bool) -> Tensor:
        if x.dtype is bool_:
            return ops.cast(run(ops.cast(x, "uint8"), axes, keep), bool_)
        if not x.size:  # of nothing: the type's own bound
            return ops.sum(x, axes, keep) + ops.full((), _bound(x.dtype, largest), dtype=x.dtype)
        return function(x, axes, keep)

    return run


def _bound(dtype: DType, lowest: bool) -> float:
    if dtype.is_float:
        return -np.inf if lowest else np.inf
    info = np.iinfo(dtype.numpy)
    return int(info.min) if lowest else int(info.max)


REDUCERS: dict[str, Reducer] = {
    "ReduceSum": ops.sum,
    "ReduceMean": ops.mean,
    "ReduceProd": ops.prod,
    "ReduceMax": _extremum(ops.amax, True),
    "ReduceMin": _extremum(ops.amin, False),
    "ReduceL1": lambda x, axes, keep: ops.sum(ops.abs(x), axes, keep),
    "ReduceL2": lambda x, axes, keep: ops.sqrt(ops.sum(x * x, axes, keep)),
    "ReduceSumSquare": lambda x, axes, keep: ops.sum(x * x, axes, keep),
    "ReduceLogSum": lambda x, axes, keep: ops.log(ops.sum(x, axes, keep)),
    "ReduceLogSumExp": _log_sum_exp,
}


@operator(*REDUCERS, reads=(1,))
def reduce(call: Call, x: Tensor, *_: Any) -> Tensor:
    """Reduce over axes, given as an attribute or as an input; none means all, or nothing."""
    axes = call.ints(1, call.attr("axes"))
    if not axes:
        if call.attr("noop_with_empty_axes", 0):
            return REDUCERS[call.op_type](ops.expand_dims(x, 0), (0,), False)
        axes = None
    chosen = None if axes is None else tuple(axes)
    return REDUCERS[call.op_type](x, chosen, bool(call.attr("keepdims", 1)))


@operator("ArgMax", "ArgMin")
def arg_extremum(call: Call, x: Tensor) -> Tensor:
    """Return where the largest or smallest element of each row is, the first or the last one."""
    axis, keep = call.attr("axis", 0), bool(call.attr("keepdims", 1))
    last = bool(call.attr("select_last_index", 0))
    function = ops.argmax if call.op_type == "ArgMax" else ops.argmin
    found = function(ops.flip(x, (axis,)) if last else x, axis, keep)
    found = ops.cast(found, "int64")
    return x.shape[axis] - 1 - found if last else found


@operator("CumSum", "CumProd", reads=(1,))
def cumulative(call: Call, x: Tensor, *_: Any) -> Tensor:
    """Return running sums or products, from either end, with or without the element itself."""
    axis = call.number(1) % x.ndim
    if call.attr("reverse", 0):
        x = ops.flip(x, (axis,))
    total = call.op_type == "CumSum"
    if call.attr("exclusive", 0):
        first = ops.zeros if total else ops.ones
        shape = tuple(1 if i == axis else size for i, size in enumerate(x.shape))
        rest = x[tuple(slice(0, -1) if i == axis else slice(None) for i in range(x.ndim))]
        x = ops.concat((first(shape, x.dtype), rest), axis)
    found = ops.cumsum(x, axis) if total else ops.cumprod(x, axis)
    found = ops.cast(found, x.dtype)
    return ops.flip(found, (axis,)) if call.attr("reverse", 0) else found
