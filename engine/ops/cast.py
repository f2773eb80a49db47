"""The cast op, and how operands become tensors of one dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import DType, bool_, dtype_of, float32, int64, promote, promote_scalar
from ..shape import Aval, SymDim
from ..tensor import Tensor, to_array, wrap
from .registry import OPS, Call, GradContext, Grads, Pointwise, op, traces

TensorLike = Any
"""A tensor, a Python number, a NumPy array or a nested sequence of numbers."""


def literal(value: float, dtype: DType) -> Tensor:
    """Return a Python number as a tensor without axes."""
    if traces and hasattr(type(value), "as_input"):  # it differs between calls of what is traced
        return value.as_input(dtype)  # pyright: ignore[reportAttributeAccessIssue]
    if dtype.is_int and not -(2**63) <= value < 2**63:
        raise ValueError(f"the number {value} does not fit into 64 bits.")
    with np.errstate(all="ignore"):
        array = np.asarray(value).astype(dtype.numpy)
    if dtype.is_int and array != value:
        raise ValueError(
            f"the number {value} does not fit {dtype}; cast the tensor to a wider type first."
        )
    return traces[-1].literal(array) if traces else wrap(array)


def as_tensor(value: TensorLike, dtype: DType | None = None) -> Tensor:
    """Return ``value`` as a tensor; ``dtype`` is used for what is not one already."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, bool | int | float):
        kind = dtype or dtype_of(type(value))
        return literal(value, kind)
    if isinstance(value, SymDim):
        return _number_of(value, dtype or int64)
    return wrap(to_array(value, dtype))


def _number_of(size: SymDim, dtype: DType) -> Tensor:
    """Return a size that is not known yet as a tensor without axes: it is filled in when known."""
    return OPS["full"].function((), size, dtype)


def as_float(value: TensorLike) -> Tensor:
    """Return ``value`` as a tensor of a float dtype; integers become float32."""
    tensor = as_tensor(value)
    return tensor if tensor.dtype.is_float else cast(tensor, float32)


def as_float_of(value: TensorLike, dtype: Any = None) -> Tensor:
    """Return ``value`` as a tensor of ``dtype``, or where that is None of a float dtype."""
    tensor = as_float(value)
    return tensor if dtype is None else cast_to(tensor, dtype_of(dtype))


def as_number(value: TensorLike) -> Tensor:
    """Return ``value`` as a tensor of numbers; truth values become int64."""
    tensor = as_tensor(value)
    return cast(tensor, int64) if tensor.dtype is bool_ else tensor


def as_pair(input: TensorLike, other: TensorLike) -> tuple[Tensor, Tensor]:
    """Return two operands as tensors of the dtype in which they meet."""
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        input = as_tensor(input)
    if isinstance(input, Tensor):
        return _meet(input, other)
    other, input = _meet(other, input)
    return input, other


def as_float_pair(input: TensorLike, other: TensorLike) -> tuple[Tensor, Tensor]:
    """Return two operands as tensors of one float dtype; integers meet in float32."""
    left, right = as_pair(input, other)
    return as_float(left), as_float(right)


def _meet(tensor: Tensor, other: TensorLike) -> tuple[Tensor, Tensor]:
    if isinstance(other, bool | int | float):
        dtype = promote_scalar(tensor.dtype, other)
        return cast_to(tensor, dtype), literal(other, dtype)
    if isinstance(other, SymDim):
        dtype = promote_scalar(tensor.dtype, 1)
        return cast_to(tensor, dtype), _number_of(other, dtype)
    second = as_tensor(other)
    dtype = promote(tensor.dtype, second.dtype)
    return cast_to(tensor, dtype), cast_to(second, dtype)


def cast_to(tensor: Tensor, dtype: DType) -> Tensor:
    """Return the tensor itself if it is of ``dtype``, else cast."""
    return tensor if tensor.dtype is dtype else cast(tensor, dtype)


def _cast_grad(ctx: GradContext) -> Grads:
    return (cast_to(ctx.dout, ctx.inputs[0].dtype),)


def _cast_kernel(input: np.ndarray, dtype: DType) -> np.ndarray:
    return input.astype(dtype.numpy)


def _cast_expr(b: Any, input: Any, dtype: DType) -> Any:
    if input.dtype.kind == "f" and dtype.is_int and dtype.itemsize < 4:
        raise NotImplementedError("floats become integers of 8 and 16 bits in NumPy, which wraps")
    return b.cast(input, dtype.numpy)


@op(
    infer=lambda input, dtype: Aval(input.shape, dtype),
    kernel=_cast_kernel,
    grad=_cast_grad,
    lowering=Pointwise(_cast_expr),
    category="array",
    inputs=("input",),
)
def cast(input: TensorLike, dtype: Any) -> Call:
    """Convert the elements to another type.

    Parameters
    ----------
    input : Tensor
        Any shape and dtype.
    dtype : DType or str
        The new element type, as ``cw.float32``.

    Returns
    -------
    Tensor
        The same shape; floats become integers by cutting off the fraction.
    """
    return (as_tensor(input),), {"dtype": dtype_of(dtype)}
