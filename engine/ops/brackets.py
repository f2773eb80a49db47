"""Python's square brackets on tensors: reading and writing parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtype import bool_, int64
from ..shape import Aval, Dim, ShapeError, SymDim, shape_text
from ..tensor import Tensor, wrap
from . import array, creation, slicing, unbroadcast
from .cast import TensorLike, as_tensor, cast_to
from .index import gather, index
from .registry import OPS, Call, GradContext, Grads, Host, log, note_write, op, records, traces


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
    rest = index_put(ctx.dout, creation.zeros((), ctx.dout.dtype), indices, key)
    taken = None
    if ctx.needs[1]:
        taken = unbroadcast.sum_to(getitem(ctx.dout, _decode(key, indices)), value.shape)
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
        note_write(self, self.data.copy())
    if not self.data.flags.writeable:
        self.data = self.data.copy()
    self.data[_decode(encoded, [tensor.data for tensor in tensors])] = item.data
    if records:
        log(OPS["index_put"], (self, item, *tensors), (self,), {"key": encoded})


def _write_traced(tensor: Tensor, changed: Tensor) -> None:
    """Let the trace write a tensor from outside; one of its own may have views, so it ends."""
    from ..compiler.traced import TraceBreak, Traced

    if isinstance(tensor, Traced):
        raise TraceBreak(
            "an element of a traced tensor was assigned",
            "choose between values with ops.select, or assign outside the compiled function",
        )
    traces[-1].write(tensor, changed)


setattr(Tensor, "__getitem__", getitem)  # noqa: B010 - a type checker knows the declared one
setattr(Tensor, "__setitem__", setitem)  # noqa: B010
