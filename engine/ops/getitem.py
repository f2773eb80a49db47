"""Python's square brackets on tensors: reading parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..shape import Aval, Shape
from ..tensor import Tensor, wrap
from . import array, slicing
from .cast import TensorLike, as_tensor
from .index import gather, index
from .registry import OPS, Call, Composite, GradContext, Grads, Host, log, op, records, traces
from .subscripts import (
    Flag,
    Key,
    decode,
    encode,
    explain,
    is_pick,
    items_of,
    numpy_key,
    part_shape,
    range_of,
)

_new = object.__new__
_ndarray = np.ndarray


# ---- parts that are views --------------------------------------------------------------------


def _views(input: Tensor, key: Key) -> Tensor:
    """Read a part by the views that static graphs know."""
    items = [slice(*item) if item.__class__ is tuple else item for item in key]
    return _read(input, items_of(tuple(items), tuple(input.shape)))


def _subscript_grad(ctx: GradContext) -> Grads:
    return (put_back(ctx.dout, tuple(ctx.inputs[0].shape), ctx.attrs["key"]),)


@op(
    infer=lambda input, key: Aval(
        part_shape(input.shape, _whole(key, input.ndim), ()), input.dtype
    ),
    kernel=lambda input, key: input[(*decode(key), Ellipsis)],
    grad=_subscript_grad,
    lowering=Composite(_views),
    category="gradient",
    inputs=("input",),
)
def subscript(input: TensorLike, key: Key) -> Call:
    """Read the part that ints, ranges and new axes name.

    Parameters
    ----------
    input : Tensor
        Any shape.
    key : tuple
        The items, as ``keys.encode`` writes them.

    Returns
    -------
    Tensor
        A view of the part.
    """
    return (as_tensor(input),), {"key": key}


def _whole(key: Key, ndim: int) -> Key:
    """Return the key with the axes written out that it leaves open at its end."""
    used = sum(item is not None for item in key)
    return (*key, *(((None, None, 1),) * (ndim - used)))


def _put_back_kernel(dout: np.ndarray, shape: Shape, key: Key) -> np.ndarray:
    whole = np.zeros(shape, dout.dtype)  # pyright: ignore[reportArgumentType, reportCallIssue]
    whole[decode(key)] = dout
    return whole


def _put_back_grad(ctx: GradContext) -> Grads:
    return (subscript(ctx.dout, ctx.attrs["key"]),)


@op(
    infer=lambda dout, shape, key: Aval(shape, dout.dtype),
    kernel=_put_back_kernel,
    grad=_put_back_grad,
    lowering=Host("writes a part into zeros"),
    category="gradient",
    inputs=("dout",),
)
def put_back(dout: TensorLike, shape: Shape, key: Key) -> Call:
    """Put a part back into zeros of ``shape``: the gradient of ``subscript``.

    Parameters
    ----------
    dout : Tensor
        The part.
    shape : tuple of int
        Shape of the whole.
    key : tuple
        As given to ``subscript``.

    Returns
    -------
    Tensor
        Zeros with the part in its place.
    """
    return (as_tensor(dout),), {"shape": shape, "key": key}


SUBSCRIPT = OPS["subscript"]


# ---- the brackets ----------------------------------------------------------------------------


def getitem(self: Tensor, key: Any) -> Tensor:
    """Return the part of a tensor that a Python index names.

    Integers, slices, ``None`` and ``...`` give views; integer and Bool tensors, arrays and lists
    pick copies, by NumPy's rules.

    Raises
    ------
    IndexError
        If a position does not exist or there are too many.
    """
    if not traces:
        kind = key.__class__
        if kind is int:
            written: Any = (key,)
        elif kind is slice:
            written = _ranges((key,)) if records else ()
        elif kind is tuple:
            written = _ranges(key)
        else:
            written = None
        if written is not None:
            try:
                found = self.data[key]
                if found.__class__ is not _ndarray:
                    found = self.data[(*key, Ellipsis) if kind is tuple else (key, Ellipsis)]
            except (IndexError, TypeError):  # the general path explains
                return _general(self, key)
            result = _new(Tensor)
            result.data = found
            if records:
                log(SUBSCRIPT, (self,), (result,), {"key": written})
            return result
    return _general(self, key)


def _ranges(key: tuple[Any, ...]) -> Key | None:
    """Return a key of Python ints and slices of them as a graph keeps it; None for others."""
    written: list[Any] = []
    for item in key:
        kind = item.__class__
        if kind is slice:
            start, stop, step = item.start, item.stop, item.step
            for part in (start, stop, step):
                if part is not None and part.__class__ is not int:
                    return None
            item = (start, stop, 1 if step is None else step)
        elif kind is not int:
            return None
        written.append(item)
    return tuple(written)


def _general(self: Tensor, key: Any) -> Tensor:
    if not traces and not records:
        try:
            return wrap(np.asarray(self.data[numpy_key(key)]))
        except IndexError as error:
            explain(key, self.shape)
            raise IndexError(f"the index does not fit: {error}.") from error
    items = items_of(key, tuple(self.shape))
    if traces or any(is_pick(item) for item in items):
        return _read(self, items)
    return subscript(self, encode(items)[0])


def _read(x: Tensor, items: list[Any]) -> Tensor:
    """Cut the ranges, then drop, add and pick axes, op by op."""
    picks = any(is_pick(item) for item in items)
    begin: list[Any] = []
    end: list[Any] = []
    strides: list[int] = []
    parts: list[Any] = []
    for item in items:
        start = stop = None
        step = 1
        if isinstance(item, slice):
            start, stop, step = range_of(item)
        elif item.__class__ is int and picks:
            item = as_tensor(item)
        elif item.__class__ is int:
            start, stop = item, item + 1 if item != -1 else None
        parts.append(item)
        if not (item is None or isinstance(item, Flag)):
            begin.append(start)
            end.append(stop)
            strides.append(step)
    if any(b is not None or e is not None for b, e in zip(begin, end, strict=True)) or any(
        step != 1 for step in strides
    ):
        x = slicing.strided_slice(x, tuple(begin), tuple(end), tuple(strides))
    return _arranged(x, parts)


def _arranged(x: Tensor, parts: list[Any]) -> Tensor:
    """Drop, add and pick axes of a tensor whose ranges are cut."""
    of_axes = [part for part in parts if not (part is None or isinstance(part, Flag))]
    dropped = tuple(axis for axis, part in enumerate(of_axes) if part.__class__ is int)
    if dropped:
        x = array.squeeze(x, dropped)
    left = [part for part in parts if part.__class__ is not int]
    for axis, part in enumerate(left):
        if part is None or isinstance(part, Flag):
            x = array.expand_dims(x, axis)
    picks = [as_tensor(p.positions()) if isinstance(p, Flag) else p for p in left if is_pick(p)]
    if not picks:
        return x
    if len(picks) == 1:
        axis = next(axis for axis, part in enumerate(left) if is_pick(part))
        return gather(x, picks[0], axis)
    numbers = iter(range(len(picks)))
    layout = tuple(next(numbers) if is_pick(part) else -1 for part in left)
    return index(x, picks, layout)


setattr(Tensor, "__getitem__", getitem)  # noqa: B010 - a type checker knows the declared one
