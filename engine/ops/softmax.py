"""Softmax along an axis, its logarithm and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..shape import Aval
from ..tensor import Tensor
from . import arithmetic, fast, math, reduce
from .cast import TensorLike, as_float
from .registry import Call, Composite, GradContext, Grads, op
from .rules import normalize_axis, require_float


def _softmax_rule(name: str) -> Any:
    def infer(input: Aval, axis: int) -> Aval:
        require_float(name, "input", input)
        reduce.extremum_rule(name)(input, axis, True)  # an empty axis has no largest element
        return input

    return infer


def _softmax_kernel(input: np.ndarray, axis: int) -> np.ndarray:
    shifted = np.exp(input - np.max(input, axis, keepdims=True))
    shifted /= np.add.reduce(shifted, axis, keepdims=True)
    return shifted


def _expand_softmax(input: Tensor, axis: int) -> Tensor:
    powers = math.exp(arithmetic.sub(input, reduce.amax(input, axis, keepdims=True)))
    return arithmetic.div(powers, reduce.sum(powers, axis, keepdims=True))


def _softmax_grad(ctx: GradContext) -> Grads:
    return (softmax_grad(ctx.dout, ctx.outputs[0], ctx.attrs["axis"]),)


@op(
    infer=_softmax_rule("softmax"),
    kernel=_softmax_kernel,
    grad=_softmax_grad,
    lowering=Composite(_expand_softmax),
    category="activation",
    primitive="Softmax",
    fast=fast.composite(-1),
    inputs=("input",),
    method=True,
)
def softmax(input: TensorLike, axis: int = -1) -> Call:
    """Return exponentials along an axis, scaled to sum to one.

    Parameters
    ----------
    input : Tensor
        Any shape with at least one axis; integers are cast to float32.
    axis : int
        The axis that sums to one.

    Returns
    -------
    Tensor
        The shape of the input.

    Raises
    ------
    ValueError
        If the axis is empty.
    """
    tensor = as_float(input)
    return (tensor,), {"axis": normalize_axis("softmax", axis, len(tensor.shape))}


def _expand_softmax_grad(dout: Tensor, output: Tensor, axis: int) -> Tensor:
    weighted = arithmetic.mul(dout, output)
    mean = reduce.sum(weighted, axis, keepdims=True)
    return arithmetic.sub(weighted, arithmetic.mul(output, mean))


def _softmax_grad_kernel(dout: np.ndarray, output: np.ndarray, axis: int) -> np.ndarray:
    weighted = dout * output
    return weighted - output * np.add.reduce(weighted, axis, keepdims=True)


def _softmax_grad_grad(ctx: GradContext) -> Grads:
    dout, out = ctx.inputs
    axis, second = ctx.attrs["axis"], ctx.dout
    first = softmax_grad(second, out, axis)
    dot = reduce.sum(arithmetic.mul(dout, out), axis, keepdims=True)
    pull = reduce.sum(arithmetic.mul(second, out), axis, keepdims=True)
    rest = arithmetic.sub(
        arithmetic.mul(second, arithmetic.sub(dout, dot)), arithmetic.mul(dout, pull)
    )
    return first, rest


@op(
    infer=lambda dout, output, axis: output,
    kernel=_softmax_grad_kernel,
    grad=_softmax_grad_grad,
    lowering=Composite(_expand_softmax_grad),
    category="gradient",
    inputs=("dout", "output"),
)
def softmax_grad(dout: TensorLike, output: TensorLike, axis: int) -> Call:
    """Return softmax's gradient to its input.

    Parameters
    ----------
    dout : Tensor
        Gradient of the output.
    output : Tensor
        Softmax's output.
    axis : int
        The axis that sums to one.

    Returns
    -------
    Tensor
        The shape of the output.
    """
    return (dout, output), {"axis": axis}


def _log_softmax_kernel(input: np.ndarray, axis: int) -> np.ndarray:
    shifted = input - np.max(input, axis, keepdims=True)
    return shifted - np.log(np.add.reduce(np.exp(shifted), axis, keepdims=True))


def _expand_log_softmax(input: Tensor, axis: int) -> Tensor:
    shifted = arithmetic.sub(input, reduce.amax(input, axis, keepdims=True))
    total = reduce.sum(math.exp(shifted), axis, keepdims=True)
    return arithmetic.sub(shifted, math.log(total))


def _log_softmax_grad(ctx: GradContext) -> Grads:
    axis = ctx.attrs["axis"]
    total = reduce.sum(ctx.dout, axis, keepdims=True)
    return (arithmetic.sub(ctx.dout, arithmetic.mul(math.exp(ctx.outputs[0]), total)),)


@op(
    infer=_softmax_rule("log_softmax"),
    kernel=_log_softmax_kernel,
    grad=_log_softmax_grad,
    lowering=Composite(_expand_log_softmax),
    category="activation",
    primitive="LogSoftmax",
    inputs=("logits",),
)
def log_softmax(logits: TensorLike, axis: int = -1) -> Call:
    """Return the logarithm of softmax, exact also where softmax vanishes.

    Parameters
    ----------
    logits : Tensor
        Any shape with at least one axis; integers are cast to float32.
    axis : int
        The axis that sums to one.

    Returns
    -------
    Tensor
        The shape of the input.
    """
    tensor = as_float(logits)
    return (tensor,), {"axis": normalize_axis("log_softmax", axis, len(tensor.shape))}
