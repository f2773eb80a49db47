"""The op behind all scattering: values meet elements at positions given by index tensors.

It is the counterpart of ``index``, which reads the same positions; their gradients use each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtype import int64
from ..shape import Aval, ShapeError, shape_text
from ..tensor import Tensor
from . import arithmetic, array, creation, logic
from .cast import TensorLike, as_tensor, cast_to
from .creation import full, ones_like, zeros, zeros_like
from .index import Layout, checked_key, index, index_key, index_rule
from .registry import Call, Composite, GradContext, Grads, Host, op
from .rules import require_int, require_same_dtype
from .splitting import unbind

REDUCTIONS: dict[str, Any] = {
    "none": None, "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "max": np.maximum, "min": np.minimum,
}  # fmt: skip
"""How a value meets the element at its position; ``none`` puts it in the element's place."""


def _put_rule(input: Aval, updates: Aval, *indices: Aval, layout: Layout, reduction: str) -> Aval:
    require_same_dtype("scatter", input=input, updates=updates)
    part = index_rule(input, *indices, layout=layout)
    if part.shape != updates.shape:
        raise ShapeError(
            f"scatter: updates {shape_text(updates.shape)} must have the shape of the positions,"
            f" {shape_text(part.shape)}."
        )
    return input


def _put_kernel(
    input: np.ndarray, updates: np.ndarray, *indices: np.ndarray, layout: Layout, reduction: str
) -> np.ndarray:
    out = input.copy()
    key = checked_key("scatter", input.shape, indices, layout)
    meet = REDUCTIONS[reduction]
    if meet is None:
        out[key] = updates
    elif reduction == "div" and input.dtype.kind != "f":
        np.floor_divide.at(out, key, updates)
    else:
        meet.at(out, key, updates)
    return out


class _Rules:
    """Gradients of one use: what each reduction gives to the input and to the updates."""

    def __init__(self, ctx: GradContext) -> None:
        self.x, self.updates, *self.indices = ctx.inputs
        self.out, self.dout = ctx.outputs[0], ctx.dout
        self.layout: Layout = ctx.attrs["layout"]

    def at(self, tensor: Tensor) -> Tensor:
        """Return the elements at the positions."""
        return index(tensor, self.indices, self.layout)

    def put(self, input: Tensor, updates: Tensor, reduction: str) -> Tensor:
        """Scatter at the same positions."""
        return put(input, updates, self.indices, self.layout, reduction)

    def none(self) -> tuple[Tensor, Tensor]:
        """Replaced elements lose their gradient to what replaced them, the last one put."""
        kept = self.put(self.dout, zeros_like(self.updates), "none")
        return kept, last_at(self.dout, self.indices, self.layout)

    def add(self) -> tuple[Tensor, Tensor]:
        """Sums."""
        return self.dout, self.at(self.dout)

    def sub(self) -> tuple[Tensor, Tensor]:
        """Differences."""
        return self.dout, arithmetic.mul(self.at(self.dout), -1)

    def mul(self) -> tuple[Tensor, Tensor]:
        """Products: each factor's slope is the product of the others, also where it is zero."""
        is_zero = logic.equal(self.updates, 0)
        filled = logic.select(is_zero, ones_like(self.updates), self.updates)
        flags = cast_to(is_zero, self.updates.dtype)
        zero_count = self.at(self.put(zeros_like(self.x), flags, "add"))
        others = self.at(arithmetic.mul(self.dout, self.put(self.x, filled, "mul")))
        alone = logic.select(is_zero, logic.equal(zero_count, 1), logic.equal(zero_count, 0))
        slope = logic.select(alone, arithmetic.div(others, filled), zeros_like(others))
        return self.put(self.dout, self.updates, "mul"), slope

    def div(self) -> tuple[Tensor, Tensor]:
        """Quotients."""
        slope = arithmetic.div(self.at(arithmetic.mul(self.dout, self.out)), self.updates)
        return self.put(self.dout, self.updates, "div"), arithmetic.mul(slope, -1)

    def extremum(self) -> tuple[Tensor, Tensor]:
        """The elements that are the largest or smallest share the gradient evenly."""
        kept = cast_to(logic.equal(self.x, self.out), self.dout.dtype)
        won = cast_to(logic.equal(self.updates, self.at(self.out)), self.dout.dtype)
        share = arithmetic.div(self.dout, self.put(kept, won, "add"))
        return arithmetic.mul(share, kept), arithmetic.mul(self.at(share), won)

    max = min = extremum


def _put_grad(ctx: GradContext) -> Grads:
    grads = getattr(_Rules(ctx), ctx.attrs["reduction"])()
    return *grads, *([None] * (len(ctx.inputs) - 2))


@op(
    infer=_put_rule,
    kernel=_put_kernel,
    grad=_put_grad,
    lowering=Host("writes elements at positions known only when it runs"),
    category="gradient",
    inputs=("input", "updates", "indices"),
)
def put(
    input: TensorLike,
    updates: TensorLike,
    indices: Sequence[TensorLike],
    layout: Layout,
    reduction: str,
) -> Call:
    """Let values meet elements at positions, one tensor of positions for each of several axes.

    Parameters
    ----------
    input : Tensor
        Any shape; it stays as it is.
    updates : Tensor
        The values, in the shape that ``index`` would read and the input's dtype.
    indices : sequence of Tensor
        Integers of shapes that broadcast; negative ones count from the end.
    layout : tuple of int
        For each axis the number of its index tensor, or -1 to keep the axis.
    reduction : str
        A key of ``REDUCTIONS``.

    Returns
    -------
    Tensor
        The changed copy.

    Raises
    ------
    IndexError
        If a position does not exist.
    """
    inputs = (as_tensor(input), as_tensor(updates), *(as_tensor(item) for item in indices))
    return inputs, {"layout": layout, "reduction": reduction}


def _last_kernel(dout: np.ndarray, *indices: np.ndarray, layout: Layout) -> np.ndarray:
    key = index_key(indices, layout)
    part = dout[key]
    numbers = np.arange(part.size).reshape(part.shape)
    places = np.zeros(dout.shape, np.int64)
    places[key] = numbers
    return np.where(places[key] == numbers, part, np.zeros((), dout.dtype))


def _last_grad(ctx: GradContext) -> Grads:
    dout, *indices = ctx.inputs
    grad = put(zeros_like(dout), ctx.dout, indices, ctx.attrs["layout"], "none")
    return grad, *([None] * len(indices))


@op(
    infer=index_rule,
    kernel=_last_kernel,
    grad=_last_grad,
    lowering=Host("reads elements by positions known only when it runs"),
    category="gradient",
    inputs=("dout", "indices"),
)
def last_at(dout: TensorLike, indices: Sequence[TensorLike], layout: Layout) -> Call:
    """Read elements by their positions, with zeros where ``put`` would overwrite a value.

    Parameters
    ----------
    dout : Tensor
        The gradient of what ``put`` gave without a reduction.
    indices : sequence of Tensor
        The positions.
    layout : tuple of int
        As of ``put``.

    Returns
    -------
    Tensor
        The gradient of the values; of several for one position the last one's stays.
    """
    inputs = (as_tensor(dout), *(as_tensor(item) for item in indices))
    return inputs, {"layout": layout}


# ---- positions -------------------------------------------------------------------------------


def _count_kernel(input: np.ndarray, axis: int) -> np.ndarray:
    shape = [1] * input.ndim
    shape[axis] = input.shape[axis]
    return np.arange(input.shape[axis], dtype=np.int64).reshape(shape)


def _expand_count(input: Tensor, axis: int) -> Tensor:
    size: Any = input.shape[axis]
    sizes = _count_rule(input.aval, axis).shape
    return array.reshape(creation.arange(0, size, 1, int64), sizes)


def _count_rule(input: Aval, axis: int) -> Aval:
    sizes = tuple(size if at == axis else 1 for at, size in enumerate(input.shape))
    return Aval(sizes, int64)


@op(
    infer=_count_rule,
    kernel=_count_kernel,
    lowering=Composite(_expand_count),
    category="gradient",
    inputs=("input",),
)
def count_along(input: TensorLike, axis: int) -> Call:
    """Return the positions along one axis, ready to broadcast beside the input.

    Parameters
    ----------
    input : Tensor
        Any shape; its values do not matter.
    axis : int
        The axis.

    Returns
    -------
    Tensor
        Int64 with size 1 on the other axes.
    """
    return (as_tensor(input),), {"axis": axis}


def along(index: Tensor, axis: int) -> tuple[list[Tensor], Layout]:
    """Return the positions of elements that differ from ``index``'s own along one axis alone."""
    ndim = len(index.shape)
    tensors = [index if at == axis else count_along(index, at) for at in range(ndim)]
    return tensors, tuple(range(ndim))


def nd_layout(name: str, indices: Tensor, ndim: int) -> tuple[list[Tensor], Layout]:
    """Return the positions that the last axis of ``indices`` names, one number an axis."""
    require_int(name, "indices", indices.aval)
    depth = indices.shape[-1] if indices.shape else None
    if not isinstance(depth, int) or not 1 <= depth <= ndim:
        raise ShapeError(
            f"{name}: the last axis of indices {shape_text(indices.shape)} must hold one position"
            f" for each of up to {ndim} axes."
        )
    parts = list(unbind(indices, -1))
    return parts, tuple(i if i < depth else -1 for i in range(ndim))


def started(shape: Any, like: Tensor, reduction: str) -> Tensor:
    """Return the tensor from which a reduction over nothing starts."""
    if reduction in ("add", "none"):
        return zeros(shape, like.dtype)
    if reduction == "mul":
        return full(shape, 1, like.dtype)
    if like.dtype.is_float:
        return full(shape, -np.inf if reduction == "max" else np.inf, like.dtype)
    limits = np.iinfo(like.dtype.numpy)
    return full(shape, limits.min if reduction == "max" else limits.max, like.dtype)
