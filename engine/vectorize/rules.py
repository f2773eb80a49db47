"""Batching rules: one op on all examples, whose axis is the first of every whole tensor.

Most ops need none of their own, their lowering says enough: what is pointwise broadcasts, a
reduction has its axes moved by one, a composite is made of other ops. What is left, ops with a
NumPy kernel only, has a rule by name or runs example by example, which ``VmapWarning`` tells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ops import array, linalg, registry
from ..ops.getitem import getitem
from ..ops.index import gather
from ..ops.joining import stack
from ..ops.registry import Composite, Gemm, Op, Pointwise, Reduce, View
from ..shape import Aval, Shape
from ..tensor import Tensor, wrap
from .windows import WINDOW_RULES

if TYPE_CHECKING:
    from .batched import BatchTrace

Attrs = dict[str, Any]
Rule = Callable[["BatchTrace", Op, tuple[Tensor, ...], Attrs], Any]


def batch_rule(op: Op) -> Rule | None:
    """Return the rule of an op; None says that its expansion is to be run."""
    named = _NAMED.get(op.name) if registry.OPS.get(op.name) is op else None
    if named is not None:
        return named
    lowering = op.lowering
    if isinstance(lowering, Composite):
        return None
    if isinstance(lowering, Pointwise):
        return _pointwise
    if isinstance(lowering, Reduce):
        return _reduction
    if isinstance(lowering, Gemm):
        return _contraction
    return _view if isinstance(lowering, View) else _along_axes


def _is_whole(trace: BatchTrace, tensor: Tensor) -> bool:
    return trace.is_batched(tensor)


def _aligned(trace: BatchTrace, tensor: Tensor, ndim: int) -> Tensor:
    """Return a tensor that broadcasts with others of ``ndim`` axes an example."""
    if not _is_whole(trace, tensor):
        return tensor
    whole = trace.whole(tensor)
    missing = ndim - len(tensor.shape)
    if missing <= 0:
        return whole
    return array.reshape(whole, (trace.size, *(1,) * missing, *tensor.shape))


def _output_shape(op: Op, inputs: Sequence[Tensor], attrs: Attrs) -> Shape:
    """Return the shape of one example's (only) output."""
    return op.infer(*[tensor.aval for tensor in inputs], **attrs).shape


def _pointwise(trace: BatchTrace, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    ndim = max(len(tensor.shape) for tensor in inputs)
    aligned = tuple(_aligned(trace, tensor, ndim) for tensor in inputs)
    return registry.apply(op, aligned, attrs)


def _reduction(trace: BatchTrace, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    (tensor,) = inputs
    ndim, axis = len(tensor.shape), attrs["axis"]
    whole = trace.whole(tensor)
    if not ndim:
        whole = array.reshape(whole, (trace.size, 1))
        return registry.apply(op, (whole,), {**attrs, "axis": (1,), "keepdims": False})
    every = tuple(range(ndim)) if axis is None or axis == () else axis
    axes = (every,) if isinstance(every, int) else every
    return registry.apply(op, (whole,), {**attrs, "axis": tuple(a % ndim + 1 for a in axes)})


def _contraction(trace: BatchTrace, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    input, other, *bias = inputs
    if op.name == "dense":
        if not any(_is_whole(trace, tensor) for tensor in (other, *bias)):
            return registry.apply(op, (trace.whole(input), *inputs[1:]), attrs)
        return _dense(trace, input, other, bias)
    if op.name not in ("matmul", "bmm") or bias or attrs:
        return _example_by_example(trace, op, inputs, attrs)
    return _product(trace, input, other)


def _dense(trace: BatchTrace, input: Tensor, weight: Tensor, bias: list[Tensor]) -> Tensor:
    with trace.inside():
        result = linalg.matmul(input, linalg.transposed(weight))
        result = result + bias[0] if bias else result
    return trace.whole(result)


def _product(trace: BatchTrace, input: Tensor, other: Tensor) -> Tensor:
    """Multiply matrices, the examples being one more batch axis."""
    row, column = len(input.shape) == 1, len(other.shape) == 1
    ndim = max(len(input.shape), len(other.shape), 2)
    left, right = trace_or_given(trace, input), trace_or_given(trace, other)
    left = array.expand_dims(left, -2) if row else left
    right = array.expand_dims(right, -1) if column else right
    left = _with_ndim(left, ndim, _is_whole(trace, input), trace.size)
    right = _with_ndim(right, ndim, _is_whole(trace, other), trace.size)
    result = linalg.matmul(left, right)
    shape = list(result.shape)
    if column:
        del shape[-1]
    if row:
        del shape[-1 if column else -2]
    return result if len(shape) == len(result.shape) else array.reshape(result, tuple(shape))


def trace_or_given(trace: BatchTrace, tensor: Tensor) -> Tensor:
    """Return all examples of a batched tensor, another tensor as it is."""
    return trace.whole(tensor) if _is_whole(trace, tensor) else tensor


def _with_ndim(tensor: Tensor, ndim: int, whole: bool, size: int) -> Tensor:
    if not whole or len(tensor.shape) > ndim:
        return tensor
    own = tensor.shape[1:]
    return array.reshape(tensor, (size, *(1,) * (ndim - len(own)), *own))


# -- ops by name -------------------------------------------------------------------------------


def _reshaping(trace: BatchTrace, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    """Views that keep the order of elements: reshape, expand_dims, squeeze."""
    shape = _output_shape(op, inputs, attrs)
    return array.reshape(trace.whole(inputs[0]), (trace.size, *shape))


def _flatten(trace: BatchTrace, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    in_order = attrs.get("order", "C") == "C"
    return (_reshaping if in_order else _example_by_example)(trace, op, inputs, attrs)


def _view(trace: BatchTrace, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    """Views without a rule of their own: elements are taken from where the kernel finds them."""
    (tensor,) = inputs
    if not all(isinstance(size, int) for size in tensor.shape):
        return _example_by_example(trace, op, inputs, attrs)
    count = math.prod(tensor.shape)
    places = op.kernel(np.arange(count).reshape(tensor.shape), **attrs)  # pyright: ignore[reportArgumentType, reportCallIssue]
    outer = registry.active_trace()
    flat = np.ascontiguousarray(places).reshape(-1)
    indices = wrap(flat) if outer is None else outer.literal(flat)
    rows = array.reshape(trace.whole(tensor), (trace.size, count))
    return array.reshape(gather(rows, indices, 1), (trace.size, *places.shape))


def _transpose(trace: BatchTrace, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    ndim = len(inputs[0].shape)
    axes = (0, *(axis % ndim + 1 for axis in attrs["axes"]))
    return array.transpose(trace.whole(inputs[0]), axes)


def _broadcast_to(trace: BatchTrace, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    shape = _output_shape(op, inputs, attrs)
    aligned = _aligned(trace, inputs[0], len(shape))
    return array.broadcast_to(aligned, (trace.size, *shape))


def _slice(trace: BatchTrace, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    moved: Attrs = {
        "begin": (None, *attrs["begin"]), "end": (None, *attrs["end"]),
        "strides": (1, *attrs["strides"]),
    }  # fmt: skip
    if "shape" in attrs:
        moved["shape"] = (trace.size, *attrs["shape"])
    return registry.apply(op, (trace.whole(inputs[0]),), moved)


def _gather(trace: BatchTrace, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    params, indices = inputs
    axis = attrs["axis"] % len(params.shape)
    if not _is_whole(trace, indices):
        return registry.apply(op, (trace.whole(params), indices), {**attrs, "axis": axis + 1})
    if _is_whole(trace, params):
        return _example_by_example(trace, op, inputs, attrs)
    result = registry.apply(op, (params, trace.whole(indices)), {**attrs, "axis": axis})
    order = (axis, *(i for i in range(len(result.shape)) if i != axis))
    return result if axis == 0 else array.transpose(result, order)


def _scatter_sum(trace: BatchTrace, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    dout, indices = inputs
    if _is_whole(trace, indices):
        return _example_by_example(trace, op, inputs, attrs)
    axis = attrs["axis"] % len(dout.shape)
    return registry.apply(op, (trace.whole(dout), indices), {**attrs, "axis": axis + 1})


def _tile(trace: BatchTrace, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    dims = attrs["dims"]
    aligned = _aligned(trace, inputs[0], len(dims))
    missing = len(aligned.shape) - 1 - len(dims)
    return registry.apply(op, (aligned,), {"dims": (1,) * (1 + missing) + tuple(dims)})


def _position(trace: BatchTrace, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    if attrs["axis"] is not None:
        return _along_axes(trace, op, inputs, attrs)
    shape = _output_shape(op, inputs, attrs)
    rows = array.reshape(trace.whole(inputs[0]), (trace.size, -1))
    found = registry.apply(op, (rows,), {**attrs, "axis": 1, "keepdims": False})
    return array.reshape(found, (trace.size, *shape))


def _as_it_is(trace: BatchTrace, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    """Ops that count their axes from the last: one more in front changes nothing."""
    return _if_fitting(trace, op, tuple(map(trace.whole, inputs)), attrs, inputs, attrs)


_NAMED: dict[str, Rule] = {
    "reshape": _reshaping, "expand_dims": _reshaping, "squeeze": _reshaping,
    "flatten": _flatten, "transpose": _transpose, "broadcast_to": _broadcast_to,
    "strided_slice": _slice, "argmax": _position, "argmin": _position,
    "unslice": _slice, "gather": _gather, "scatter_sum": _scatter_sum, "tile": _tile,
    "pad_constant": _as_it_is, **WINDOW_RULES,
}  # fmt: skip


# -- ops with a NumPy kernel -------------------------------------------------------------------


def _along_axes(trace: BatchTrace, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    """Ops that name the axes along which they work, and are alike along the others."""
    names = [name for name in attrs if name in _AXES]
    wholes = tuple(map(trace.whole, inputs))
    if not names and op.category in _ELEMENTWISE:
        ndim = max(len(tensor.shape) for tensor in inputs)
        aligned = tuple(_aligned(trace, tensor, ndim) for tensor in inputs)
        return _if_fitting(trace, op, aligned, attrs, inputs, attrs)
    shifts = names and all(_is_axes(attrs[name]) for name in names)
    if not shifts or len(op.inputs) != 1 or not all(len(tensor.shape) for tensor in inputs):
        return _example_by_example(trace, op, inputs, attrs)
    moved = {**attrs, **{name: _moved(attrs[name]) for name in names}}
    return _if_fitting(trace, op, wholes, moved, inputs, attrs)


_AXES = {"axis", "axes", "dim", "dims", "axis0", "axis1", "axis2", "dim0", "dim1", "dim2"}
_ELEMENTWISE = {"math", "logic", "activation"}


def _is_axes(value: Any) -> bool:
    items = value if isinstance(value, tuple) else (value,)
    return all(isinstance(item, int) and not isinstance(item, bool) for item in items)


def _moved(axes: Any) -> Any:
    """Return axes as they count with one more in front; what counts from the last stays."""
    if isinstance(axes, tuple):
        return tuple(_moved(axis) for axis in axes)
    return axes + 1 if axes >= 0 else axes


def _if_fitting(
    trace: BatchTrace,
    op: Op,
    wholes: tuple[Tensor, ...],
    moved: Attrs,
    inputs: tuple[Tensor, ...],
    attrs: Attrs,
) -> Any:
    """Run the op once on whole tensors if its shape rule then adds the axis to every output."""
    expected = [
        Aval((trace.size, *aval.shape), aval.dtype)
        for aval in _avals(op, [t.aval for t in inputs], attrs)
    ]
    try:
        found = _avals(op, [t.aval for t in wholes], moved)
    except (ValueError, TypeError, IndexError):  # the rule takes no more axes
        found = []
    if found != expected:
        return _example_by_example(trace, op, inputs, attrs)
    return registry.apply(op, wholes, moved)


def _avals(op: Op, avals: list[Aval], attrs: Attrs) -> list[Aval]:
    found = op.infer(*avals, **attrs)
    return list(found) if isinstance(found, tuple) else [found]


def _example_by_example(trace: BatchTrace, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    """Run the op on each example and join the results."""
    trace.tell_loop(op)
    wholes = [trace_or_given(trace, tensor) for tensor in inputs]
    flags = [_is_whole(trace, tensor) for tensor in inputs]
    results = [
        registry.apply(
            op,
            tuple(
                getitem(whole, number) if flag else whole
                for whole, flag in zip(wholes, flags, strict=True)
            ),
            attrs,
        )
        for number in range(trace.size)
    ]
    if isinstance(results[0], tuple):
        return tuple(stack(list(parts), 0) for parts in zip(*results, strict=True))
    return stack(results, 0)
