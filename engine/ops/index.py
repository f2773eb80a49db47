"""Picking elements by integer positions, and Python's square brackets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import origin as origins
from ..dtype import bool_, dtype_of, float32, int64
from ..shape import Aval, Dim, Shape, ShapeError, SymDim, broadcast_shapes, shape_text
from ..tensor import Tensor, wrap
from . import array, slicing
from .cast import TensorLike, as_tensor, cast_to
from .registry import OPS, Call, Entry, GradContext, Host, op, records, traces
from .rules import normalize_axis, require_int
from .unbroadcast import sum_to

Grads = tuple[Tensor | None, ...]
Layout = tuple[int, ...]
"""For each axis the number of the index tensor that picks from it, or -1 to keep it."""


# ---- gather ----------------------------------------------------------------------------------


def _gather_rule(params: Aval, indices: Aval, axis: int) -> Aval:
    require_int("gather", "input_indices", indices)
    at = normalize_axis("gather", axis, params.ndim)
    return Aval((*params.shape[:at], *indices.shape, *params.shape[at + 1 :]), params.dtype)


def _gather_kernel(params: np.ndarray, indices: np.ndarray, axis: int) -> np.ndarray:
    return np.take(params, indices, axis)


def _gather_grad(ctx: GradContext) -> Grads:
    params, indices = ctx.inputs
    axis = ctx.attrs["axis"]
    if not ctx.needs[0]:
        return None, None
    return scatter_sum(ctx.dout, indices, axis, params.shape[axis]), None


@op(
    infer=_gather_rule,
    kernel=_gather_kernel,
    grad=_gather_grad,
    lowering=Host("reads rows by positions known only when it runs"),
    category="array",
    inputs=("input_params", "input_indices"),
    primitive="Gather",
)
def gather(input_params: TensorLike, input_indices: TensorLike, axis: int = 0) -> Call:
    """Pick slices along an axis by position; with axis 0 it looks up rows of a table.

    Parameters
    ----------
    input_params : Tensor
        At least one axis.
    input_indices : Tensor
        Integers of any shape; negative ones count from the end.
    axis : int
        The axis to pick from.

    Returns
    -------
    Tensor
        ``input_params`` with the axis replaced by the shape of ``input_indices``.

    Raises
    ------
    IndexError
        If a position does not exist.
    TypeError
        If the indices are not integers.
    """
    params, indices = as_tensor(input_params), as_tensor(input_indices)
    require_int("gather", "input_indices", indices.aval)
    return (params, indices), {"axis": normalize_axis("gather", int(axis), len(params.shape))}


def _scatter_rule(dout: Aval, indices: Aval, axis: int, size: Dim) -> Aval:
    return Aval((*dout.shape[:axis], size, *dout.shape[axis + indices.ndim :]), dout.dtype)


def _scatter_kernel(dout: np.ndarray, indices: np.ndarray, axis: int, size: int) -> np.ndarray:
    lead, tail = dout.shape[:axis], dout.shape[axis + indices.ndim :]
    out = np.zeros((size, *lead, *tail), dout.dtype)
    rows = np.moveaxis(dout.reshape(*lead, indices.size, *tail), axis, 0)
    np.add.at(out, indices.reshape(-1), rows)
    return np.moveaxis(out, 0, axis)


def _scatter_grad(ctx: GradContext) -> Grads:
    return gather(ctx.dout, ctx.inputs[1], ctx.attrs["axis"]), None


@op(
    infer=_scatter_rule,
    kernel=_scatter_kernel,
    grad=_scatter_grad,
    lowering=Host("adds rows up at positions known only when it runs"),
    category="gradient",
    inputs=("dout", "indices"),
    primitive="UnsortedSegmentSum",
)
def scatter_sum(dout: TensorLike, indices: TensorLike, axis: int, size: Dim) -> Call:
    """Add slices up at their positions along an axis: the gradient of ``gather``.

    Parameters
    ----------
    dout : Tensor
        The slices.
    indices : Tensor
        Their positions.
    axis : int
        The axis.
    size : int
        Number of positions.

    Returns
    -------
    Tensor
        The sums.
    """
    return (as_tensor(dout), as_tensor(indices)), {"axis": axis, "size": size}


# ---- several index tensors -------------------------------------------------------------------


def _index_rule(input: Aval, *indices: Aval, layout: Layout) -> Aval:
    for number, aval in enumerate(indices):
        require_int("index", f"indices[{number}]", aval)
    picked = [axis for axis, number in enumerate(layout) if number >= 0]
    kept = [size for axis, size in enumerate(input.shape) if layout[axis] < 0]
    shape = broadcast_shapes(*(aval.shape for aval in indices))
    together = picked == list(range(picked[0], picked[-1] + 1))
    at = picked[0] if together else 0
    return Aval((*kept[:at], *shape, *kept[at:]), input.dtype)


def _key(indices: Sequence[np.ndarray], layout: Layout) -> tuple[Any, ...]:
    return tuple(slice(None) if number < 0 else indices[number] for number in layout)


def _index_kernel(input: np.ndarray, *indices: np.ndarray, layout: Layout) -> np.ndarray:
    return input[_key(indices, layout)]


def _index_grad(ctx: GradContext) -> Grads:
    x, *indices = ctx.inputs
    grad = None
    if ctx.needs[0]:
        grad = index_sum(ctx.dout, indices, tuple(x.shape), ctx.attrs["layout"])
    return grad, *([None] * len(indices))


@op(
    infer=_index_rule,
    kernel=_index_kernel,
    grad=_index_grad,
    lowering=Host("reads elements by positions known only when it runs"),
    category="gradient",
    inputs=("input", "indices"),
)
def index(input: TensorLike, indices: Sequence[TensorLike], layout: Layout) -> Call:
    """Pick elements by one tensor of positions for each of several axes, as NumPy does.

    Parameters
    ----------
    input : Tensor
        Any shape.
    indices : sequence of Tensor
        Integers of shapes that broadcast.
    layout : tuple of int
        For each axis the number of its index tensor, or -1 to keep the axis.

    Returns
    -------
    Tensor
        The picked elements.

    Raises
    ------
    IndexError
        If a position does not exist.
    """
    return (as_tensor(input), *(as_tensor(item) for item in indices)), {"layout": layout}


def _index_sum_kernel(
    dout: np.ndarray, *indices: np.ndarray, shape: Shape, layout: Layout
) -> np.ndarray:
    whole = np.zeros(shape, dout.dtype)  # pyright: ignore[reportArgumentType, reportCallIssue]
    np.add.at(whole, _key(indices, layout), dout)
    return whole


def _index_sum_grad(ctx: GradContext) -> Grads:
    _, *indices = ctx.inputs
    return index(ctx.dout, indices, ctx.attrs["layout"]), *([None] * len(indices))


@op(
    infer=lambda dout, *indices, shape, layout: Aval(shape, dout.dtype),
    kernel=_index_sum_kernel,
    grad=_index_sum_grad,
    lowering=Host("adds elements up at positions known only when it runs"),
    category="gradient",
    inputs=("dout", "indices"),
)
def index_sum(
    dout: TensorLike, indices: Sequence[TensorLike], shape: Shape, layout: Layout
) -> Call:
    """Add elements up at their positions in zeros of ``shape``: the gradient of ``index``.

    Parameters
    ----------
    dout : Tensor
        The elements.
    indices : sequence of Tensor
        Their positions.
    shape : tuple of int
        Shape of the result.
    layout : tuple of int
        As of ``index``.

    Returns
    -------
    Tensor
        The sums.
    """
    inputs = (as_tensor(dout), *(as_tensor(item) for item in indices))
    return inputs, {"shape": shape, "layout": layout}


# ---- one_hot ---------------------------------------------------------------------------------


def _one_hot_rule(
    indices: Aval, depth: int, on_value: float, off_value: float, axis: int, dtype: Any
) -> Aval:
    require_int("one_hot", "indices", indices)
    at = normalize_axis("one_hot", axis, indices.ndim + 1)
    return Aval((*indices.shape[:at], depth, *indices.shape[at:]), dtype)


def _one_hot_kernel(
    indices: np.ndarray, depth: int, on_value: float, off_value: float, axis: int, dtype: Any
) -> np.ndarray:
    kind = dtype.numpy.type
    hot = np.expand_dims(indices, axis) == _counted(depth, axis, indices.ndim + 1)
    return np.where(hot, kind(on_value), kind(off_value))


def _counted(depth: int, axis: int, ndim: int) -> np.ndarray:
    at = normalize_axis("one_hot", axis, ndim)
    return np.arange(depth).reshape((1,) * at + (depth,) + (1,) * (ndim - at - 1))


@op(
    infer=_one_hot_rule,
    kernel=_one_hot_kernel,
    lowering=Host("compares with counted positions in NumPy"),
    category="array",
    inputs=("indices",),
)
def one_hot(
    indices: TensorLike,
    depth: int,
    on_value: float = 1,
    off_value: float = 0,
    axis: int = -1,
    dtype: Any = float32,
) -> Call:
    """Write each integer as a row with one number set.

    Parameters
    ----------
    indices : Tensor
        Integers of any shape; those outside ``0..depth-1`` set nothing.
    depth : int
        Length of the rows.
    on_value, off_value : number
        Value at the position, and elsewhere.
    axis : int
        Where the new axis stands.
    dtype : DType
        Element type of the result.

    Returns
    -------
    Tensor
        One axis more than ``indices``.

    Raises
    ------
    TypeError
        If the indices are not integers.
    """
    tensor = as_tensor(indices)
    require_int("one_hot", "indices", tensor.aval)
    return (tensor,), {
        "depth": int(depth), "on_value": on_value, "off_value": off_value,
        "axis": normalize_axis("one_hot", axis, len(tensor.shape) + 1), "dtype": dtype_of(dtype),
    }  # fmt: skip


# ---- square brackets -------------------------------------------------------------------------


def _items(key: Any, ndim: int) -> list[Any]:
    """Return the key's items, one for each axis or new axis, with masks as positions."""
    given = list(key) if isinstance(key, tuple) else [key]
    items: list[Any] = []
    for item in given:
        if isinstance(item, list | np.ndarray):
            item = as_tensor(np.asarray(item) if isinstance(item, list) else item)
        if isinstance(item, Tensor) and item.dtype is bool_:
            items.extend(as_tensor(found.astype(np.int64)) for found in np.nonzero(item.data))
        else:
            items.append(item)
    used = sum(1 for item in items if item is not None and item is not Ellipsis)
    if used > ndim:
        raise IndexError(f"too many indices: {used} for a tensor of {ndim} axes.")
    rest: list[Any] = [slice(None)] * (ndim - used)
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index may hold one '...' only.")
    at = dots[0] if dots else len(items)
    return items[:at] + rest + items[at + 1 :]


def _checked(position: int, size: Dim, axis: int) -> int:
    if isinstance(size, int) and not -size <= position < size:
        raise IndexError(f"index {position} is out of range for axis {axis} of size {size}.")
    return position


def getitem(self: Tensor, key: Any) -> Tensor:
    """Return the part of a tensor that a Python index names.

    Integers, slices, ``None`` and ``...`` give views; integer and Bool tensors pick copies.

    Raises
    ------
    IndexError
        If a position does not exist or there are too many.
    """
    if not (traces or records) and _is_basic(key):
        try:
            return wrap(np.asarray(self.data[key]))
        except IndexError:
            pass  # the general path explains
    items = _items(key, len(self.shape))
    picks = any(isinstance(item, Tensor) for item in items)
    begin: list[Any] = []
    end: list[Any] = []
    strides: list[int] = []
    parts: list[Any] = []
    for item in items:
        if item is None:
            parts.append(None)
            continue
        axis = len(begin)
        if isinstance(item, slice):
            _add_range(item, begin, end, strides)
            parts.append(item)
            continue
        if not isinstance(item, Tensor):
            position = _checked(_as_position(item), self.shape[axis], axis)
            if not picks:
                begin.append(position)
                end.append(position + 1 if position != -1 else None)
                strides.append(1)
                parts.append(0)
                continue
            item = as_tensor(position)
        begin.append(None)
        end.append(None)
        strides.append(1)
        parts.append(item)
    return _arranged(self, (tuple(begin), tuple(end), tuple(strides)), parts)


def _is_basic(key: Any) -> bool:
    """Return whether the key is made of Python ints and slices alone."""
    kind = key.__class__
    if kind is tuple:
        return all(item.__class__ is int or item.__class__ is slice for item in key)
    return kind is int or kind is slice


def _as_position(item: Any) -> int:
    try:
        return item.__index__()
    except (AttributeError, TypeError) as error:
        raise IndexError(
            f"a tensor is indexed by ints, slices, None, ... and integer or Bool tensors, not"
            f" {type(item).__name__}."
        ) from error


def _add_range(item: slice, begin: list[Any], end: list[Any], strides: list[int]) -> None:
    def plain(value: Any) -> Any:
        return value if value is None or isinstance(value, SymDim) else _as_position(value)

    begin.append(plain(item.start))
    end.append(plain(item.stop))
    strides.append(1 if item.step is None else _as_position(item.step))
    if strides[-1] == 0:
        raise ValueError("slice step must not be zero.")


def _arranged(x: Tensor, cut: tuple[Any, Any, Any], parts: list[Any]) -> Tensor:
    """Cut the ranges, then drop, add and pick axes as ``parts`` says."""
    if any(b is not None or e is not None for b, e in zip(*cut[:2], strict=True)) or any(
        step != 1 for step in cut[2]
    ):
        x = slicing.strided_slice(x, *cut)
    of_axes = [part for part in parts if part is not None]
    dropped = tuple(axis for axis, part in enumerate(of_axes) if part.__class__ is int)
    if dropped:
        x = array.squeeze(x, dropped)
    left = [part for part in parts if part.__class__ is not int]
    for axis, part in enumerate(left):
        if part is None:
            x = array.expand_dims(x, axis)
    indices = [part for part in left if isinstance(part, Tensor)]
    if not indices:
        return x
    if len(indices) == 1:
        axis = next(axis for axis, part in enumerate(left) if isinstance(part, Tensor))
        return gather(x, indices[0], axis)
    numbers = iter(range(len(indices)))
    layout = tuple(next(numbers) if isinstance(part, Tensor) else -1 for part in left)
    return index(x, indices, layout)


# ---- writing through square brackets ---------------------------------------------------------


def _put_kernel(input: np.ndarray, value: np.ndarray, *indices: np.ndarray, key: Any) -> np.ndarray:
    out = input.copy()
    out[_decode(key, indices)] = value
    return out


def _decode(key: tuple[Any, ...], indices: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        slice(*item[1:])
        if item[0] == "range"
        else indices[item[1]]
        if item[0] == "tensor"
        else item[1]
        for item in key
    )


def _encode(key: Any, ndim: int) -> tuple[tuple[Any, ...], list[Tensor]]:
    encoded: list[Any] = []
    tensors: list[Tensor] = []
    for item in _items(key, ndim):
        if isinstance(item, slice):
            encoded.append(("range", item.start, item.stop, item.step))
        elif isinstance(item, Tensor):
            encoded.append(("tensor", len(tensors)))
            tensors.append(cast_to(item, int64))
        else:
            encoded.append(("item", item if item is None else _as_position(item)))
    return tuple(encoded), tensors


def _put_grad(ctx: GradContext) -> Grads:
    _, value, *indices = ctx.inputs
    key = ctx.attrs["key"]
    rest = index_put(ctx.dout, array.zeros((), ctx.dout.dtype), indices, key)
    taken = None
    if ctx.needs[1]:
        taken = sum_to(getitem(ctx.dout, _decode(key, indices)), value.shape)
    return rest if ctx.needs[0] else None, taken, *([None] * len(indices))


def _put_rule(input: Aval, value: Aval, *indices: Aval, key: Any) -> Aval:
    if value.dtype is not input.dtype:
        raise TypeError(f"index_put: value is {value.dtype}, input is {input.dtype}.")
    if value.ndim > input.ndim + len(indices):
        raise ShapeError(
            f"index_put: value {shape_text(value.shape)} does not fit input"
            f" {shape_text(input.shape)}."
        )
    return input


@op(
    infer=_put_rule,
    kernel=_put_kernel,
    grad=_put_grad,
    lowering=Host("writes a part of an array"),
    category="gradient",
    inputs=("input", "value", "indices"),
)
def index_put(
    input: TensorLike, value: TensorLike, indices: Sequence[TensorLike], key: tuple[Any, ...]
) -> Call:
    """Return a copy with the part that ``key`` names set to ``value``.

    Parameters
    ----------
    input : Tensor
        Any shape.
    value : Tensor
        Broadcasts to the part.
    indices : sequence of Tensor
        The integer tensors of the key.
    key : tuple
        The index, its tensors by number.

    Returns
    -------
    Tensor
        The changed copy.
    """
    return (as_tensor(input), as_tensor(value), *indices), {"key": key}


def setitem(self: Tensor, key: Any, value: Any) -> None:
    """Write ``value`` into the part of this tensor's memory that ``key`` names.

    Under a record the gradient of what was overwritten is zero.

    Raises
    ------
    IndexError
        If a position does not exist.
    ValueError
        If the value does not broadcast to the part.
    """
    encoded, tensors = _encode(key, len(self.shape))
    dtype = self.dtype
    item = cast_to(as_tensor(value, dtype), dtype)
    if traces:
        _write_traced(self, index_put(self, item, tensors, encoded))
        return
    if records:
        before = self.data.copy()
        for record in records:
            record.note_write(self, before)
    if not self.data.flags.writeable:
        self.data = self.data.copy()
    self.data[_decode(encoded, [tensor.data for tensor in tensors])] = item.data
    if records:
        attrs = {"key": encoded}
        inputs = (self, item, *tensors)
        entry = Entry(OPS["index_put"], inputs, (self,), attrs, origins.current())
        for record in records:
            record.entries.append(entry)


def _write_traced(tensor: Tensor, changed: Tensor) -> None:
    """Let the trace write a tensor from outside; one of its own may have views, so it ends."""
    from ..compiler.trace import TraceBreak, Traced

    if isinstance(tensor, Traced):
        raise TraceBreak(
            "an element of a traced tensor was assigned",
            "choose between values with ops.select, or assign outside the compiled function",
        )
    traces[-1].write(tensor, changed)


setattr(Tensor, "__getitem__", getitem)  # noqa: B010 - a type checker knows the declared one
setattr(Tensor, "__setitem__", setitem)  # noqa: B010
