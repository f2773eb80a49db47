"""Contractions: matmul and its relatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...kernels.blas_threads import matmul as multiply
from ..dtype import promote
from ..shape import Aval, Dim, ShapeError, broadcast_shapes, element_count, shape_text
from ..tensor import Tensor
from . import arithmetic, array, fast, reduce, unbroadcast
from .cast import TensorLike, as_tensor, cast_to
from .registry import Call, Composite, Gemm, GradContext, Grads, Op, apply, checked, op
from .rules import require_same_dtype


def _matmul_rule(input: Aval, other: Aval) -> Aval:
    dtype = require_same_dtype("matmul", input=input, other=other)
    if not input.ndim or not other.ndim:
        raise ShapeError(
            "matmul: input and other need at least one axis each; use mul for numbers."
        )
    left = input.shape if input.ndim > 1 else (1, *input.shape)
    right = other.shape if other.ndim > 1 else (*other.shape, 1)
    if left[-1] != right[-2]:
        raise ShapeError(
            f"matmul: input {shape_text(input.shape)} and other {shape_text(other.shape)} do not"
            f" fit: the last axis of input has {left[-1]}, the matching axis of other {right[-2]}."
        )
    shape: list[Dim] = list(broadcast_shapes(left[:-2], right[:-2]))
    if input.ndim > 1:
        shape.append(left[-2])
    if other.ndim > 1:
        shape.append(right[-1])
    return Aval(tuple(shape), dtype)


def transposed(tensor: Tensor) -> Tensor:
    """Return the tensor with its last two axes exchanged."""
    return array.swapaxes(tensor, -1, -2)


def _matmul_grad(ctx: GradContext) -> Grads:
    a, b, dout = *ctx.inputs, ctx.dout
    if len(a.shape) == 1:
        a = array.expand_dims(a, 0)
        dout = array.expand_dims(dout, len(dout.shape) - (len(b.shape) > 1))
    if len(b.shape) == 1:
        b = array.expand_dims(b, 1)
        dout = array.expand_dims(dout, -1)
    first = second = None
    if ctx.needs[0]:
        first = _back(matmul(dout, transposed(b)), a, ctx.inputs[0])
    if ctx.needs[1]:
        if len(b.shape) == 2 and len(a.shape) > 2:
            # One contraction over all leading axes instead of a batch of them.
            second = matmul(transposed(_rows(a)), _rows(dout))
        else:
            second = matmul(transposed(a), dout)
        second = _back(second, b, ctx.inputs[1])
    return first, second


def _rows(tensor: Tensor) -> Tensor:
    """Return a tensor of at least two axes as a matrix; its last axis stays."""
    *leading, last = tensor.shape
    return array.reshape(tensor, (element_count(leading), last))


def _back(grad: Tensor, matrix: Tensor, operand: Tensor) -> Tensor:
    grad = unbroadcast.sum_to(grad, matrix.shape)
    return grad if len(matrix.shape) == len(operand.shape) else array.reshape(grad, operand.shape)


@op(
    infer=_matmul_rule,
    kernel=multiply,
    grad=_matmul_grad,
    lowering=Gemm(),
    category="linalg",
    primitive="MatMul",
    method=True,
    fast=fast.binary(multiply, floats_only=True),
)
def matmul(input: TensorLike, other: TensorLike) -> Call:
    """Multiply matrices; axes before the last two are a batch and broadcast.

    Parameters
    ----------
    input : Tensor
        ``[..., n, k]`` or ``[k]``.
    other : Tensor
        ``[..., k, m]`` or ``[k]``; the dtypes promote.

    Returns
    -------
    Tensor
        ``[..., n, m]``.

    Raises
    ------
    ValueError
        If the inner sizes differ.
    """
    a, b = as_tensor(input), as_tensor(other)
    dtype = promote(a.dtype, b.dtype)
    return (cast_to(a, dtype), cast_to(b, dtype)), {}


def _bmm_rule(input_x: Aval, mat2: Aval) -> Aval:
    if input_x.ndim < 3 or mat2.ndim < 3 or input_x.shape[:-2] != mat2.shape[:-2]:
        raise ShapeError(
            f"bmm: input_x {shape_text(input_x.shape)} and mat2 {shape_text(mat2.shape)} must have"
            " at least three axes each, all before the last two of equal sizes."
        )
    return _matmul_rule(input_x, mat2)


@op(
    infer=_bmm_rule,
    kernel=multiply,
    grad=_matmul_grad,
    lowering=Gemm(),
    category="linalg",
    primitive="BatchMatMul",
    method=True,
)
def bmm(input_x: TensorLike, mat2: TensorLike) -> Call:
    """Multiply a batch of matrices.

    Parameters
    ----------
    input_x : Tensor
        ``[..., n, k]``, at least one axis before the matrices.
    mat2 : Tensor
        ``[..., k, m]``, as many matrices; the dtypes promote.

    Returns
    -------
    Tensor
        ``[..., n, m]``.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    a, b = as_tensor(input_x), as_tensor(mat2)
    dtype = promote(a.dtype, b.dtype)
    inputs = (cast_to(a, dtype), cast_to(b, dtype))
    _bmm_rule(inputs[0].aval, inputs[1].aval)
    return inputs, {}


def _dense_rule(input: Aval, weight: Aval, bias: Aval | None = None) -> Aval:
    dtype = require_same_dtype("dense", input=input, weight=weight)
    if weight.ndim != 2:
        raise ShapeError(f"dense: weight {shape_text(weight.shape)} must have two axes [out, in].")
    if not input.ndim or input.shape[-1] != weight.shape[1]:
        raise ShapeError(
            f"dense: input {shape_text(input.shape)} and weight {shape_text(weight.shape)} do not"
            f" fit: the last axis of input must have {weight.shape[1]} elements."
        )
    if bias is not None:
        require_same_dtype("dense", input=input, bias=bias)
        if bias.shape != (weight.shape[0],):
            raise ShapeError(
                f"dense: bias {shape_text(bias.shape)} must have the shape [{weight.shape[0]}]."
            )
    return Aval((*input.shape[:-1], weight.shape[0]), dtype)


def _dense_kernel(
    input: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
) -> np.ndarray:
    if input.shape[-1] != weight.shape[1]:
        raise ValueError("inner sizes differ")
    rows = input.reshape(math.prod(input.shape[:-1]), input.shape[-1])
    out = multiply(rows, weight.T)
    if bias is not None:
        out += bias
    return out if input.ndim == 2 else out.reshape(*input.shape[:-1], weight.shape[0])


def _dense_grad(ctx: GradContext) -> Grads:
    x, weight = ctx.inputs[:2]
    dout = ctx.dout
    grads: list[Tensor | None] = [matmul(dout, weight) if ctx.needs[0] else None]
    rows = dout if len(x.shape) == 2 else _rows(dout)
    if ctx.needs[1]:
        columns = x if len(x.shape) == 2 else _rows(x)
        grads.append(matmul(transposed(rows), columns))
    else:
        grads.append(None)
    if len(ctx.inputs) == 3:
        grads.append(reduce.sum(rows, (0,)) if ctx.needs[2] else None)
    return tuple(grads)


def _fast_dense(entry: Op, prepare: Callable[..., Call]) -> Callable[..., Any]:
    common = fast.Affine(entry)

    def call(input: Any, weight: Any, bias: Any = None) -> Any:
        result = common(input, weight, bias, None)
        if result is None:
            inputs, attrs = prepare(input, weight, bias)
            result = apply(entry, inputs, attrs)
            common.learn(inputs, attrs, None)
        return result

    return call


@op(
    infer=_dense_rule,
    kernel=_dense_kernel,
    grad=_dense_grad,
    lowering=Gemm(),
    category="nn",
    inputs=("input", "weight", "bias"),
    primitive="Dense",
    fast=_fast_dense,
)
def dense(input: TensorLike, weight: TensorLike, bias: TensorLike | None = None) -> Call:
    """Apply a fully connected layer: ``input @ weight.T + bias``.

    Parameters
    ----------
    input : Tensor
        ``[..., in]``.
    weight : Tensor
        ``[out, in]``.
    bias : Tensor, optional
        ``[out]``.

    Returns
    -------
    Tensor
        ``[..., out]``; the dtypes promote.

    Raises
    ------
    ValueError
        If the sizes do not fit.
    """
    items = [as_tensor(item) for item in (input, weight, bias) if item is not None]
    dtype = items[0].dtype
    for item in items[1:]:
        dtype = promote(dtype, item.dtype)
    return checked(_dense_rule, tuple(cast_to(item, dtype) for item in items), {})


def _bias_shape(input: Any, bias: Any) -> tuple[Dim, ...]:
    return (1, -1) + (1,) * (len(input.shape) - 2)


def _bias_rule(input: Aval, bias: Aval) -> Aval:
    require_same_dtype("bias_add", input=input, bias=bias)
    if input.ndim < 2 or bias.shape != (input.shape[1],):
        raise ShapeError(
            f"bias_add: input {shape_text(input.shape)} needs two axes or more, and bias"
            f" {shape_text(bias.shape)} as many elements as axis 1 of input."
        )
    return input


def _bias_grad(ctx: GradContext) -> Grads:
    axes = tuple(a for a in range(len(ctx.dout.shape)) if a != 1)
    return ctx.dout, reduce.sum(ctx.dout, axes) if ctx.needs[1] else None


@op(
    infer=_bias_rule,
    kernel=lambda input, bias: input + bias.reshape(_bias_shape(input, bias)),
    grad=_bias_grad,
    lowering=Composite(
        lambda input, bias: arithmetic.add(input, array.reshape(bias, _bias_shape(input, bias)))
    ),
    category="nn",
    primitive="BiasAdd",
)
def bias_add(input_x: TensorLike, bias: TensorLike) -> Call:
    """Add a bias to each channel (axis 1).

    Parameters
    ----------
    input_x : Tensor
        ``[n, c, ...]``.
    bias : Tensor
        ``[c]``.

    Returns
    -------
    Tensor
        The shape of ``input_x``.

    Raises
    ------
    ValueError
        If the bias does not have one element a channel.
    """
    inputs = as_tensor(input_x), as_tensor(bias)
    _bias_rule(inputs[0].aval, inputs[1].aval)
    return inputs, {}
