"""Clipping by numbers, tensors and norms, and numbers in the place of NaN and infinities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtype import bool_, int64
from ..tensor import Tensor
from . import arithmetic, logic, math, reduce
from .cast import TensorLike, as_float, as_number, as_tensor, cast_to
from .declarations import composite
from .registry import Call, GradContext, Grads, Pointwise, op
from .rules import same


def _nan_to_num_kernel(input: np.ndarray, nan: float, posinf: float, neginf: float) -> np.ndarray:
    return np.nan_to_num(input, nan=nan, posinf=posinf, neginf=neginf)


def _nan_to_num_expr(b: Any, x: Any, nan: float, posinf: float, neginf: float) -> Any:
    if x.dtype.kind != "f":
        return x
    bounded = b.select(b.call("eq", x, np.inf), b.const(posinf, x), x)
    bounded = b.select(b.call("eq", x, -np.inf), b.const(neginf, x), bounded)
    return b.select(b.call("isnan", x), b.const(nan, x), bounded)


def _nan_to_num_grad(ctx: GradContext) -> Grads:
    return (logic.select(logic.isfinite(ctx.inputs[0]), ctx.dout, 0.0),)


@op(
    infer=same,
    kernel=_nan_to_num_kernel,
    grad=_nan_to_num_grad,
    lowering=Pointwise(_nan_to_num_expr),
    category="math",
    method=True,
)
def nan_to_num(
    input: TensorLike,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Call:
    """Put numbers in the place of NaN and infinities.

    Parameters
    ----------
    input : Tensor
        Any shape.
    nan : float, optional
        What stands for NaN; None means 0.
    posinf, neginf : float, optional
        What stands for Inf and -Inf; None means the type's largest and smallest number.

    Returns
    -------
    Tensor
        Finite numbers; the gradient is zero where one was replaced.
    """
    tensor = as_number(input)
    top = float(tensor.dtype.limits.max) if tensor.dtype.is_float else 0.0
    attrs = {
        "nan": 0.0 if nan is None else float(nan),
        "posinf": top if posinf is None else float(posinf),
        "neginf": -top if neginf is None else float(neginf),
    }
    return (tensor,), attrs


def _expand_clip(x: Tensor, *bounds: Tensor, sides: tuple[bool, bool]) -> Tensor:
    low = bounds[0] if sides[0] else None
    high = bounds[-1] if sides[1] else None
    found = x if low is None else arithmetic.maximum(x, low)
    return found if high is None else arithmetic.minimum(found, high)


@composite(
    _expand_clip,
    category="math",
    inputs=("x", "clip_value_min", "clip_value_max"),
    primitive="Clip",
)
def clip_by_value(
    x: TensorLike,
    clip_value_min: TensorLike | None = None,
    clip_value_max: TensorLike | None = None,
) -> Call:
    """Limit the elements to a range whose bounds may be tensors.

    Parameters
    ----------
    x : Tensor
        Any shape.
    clip_value_min, clip_value_max : Tensor or number, optional
        Bounds that broadcast; None leaves that side open.

    Returns
    -------
    Tensor
        Elements in the range; where the bounds cross, the upper one.

    Raises
    ------
    ValueError
        If both bounds are None.
    """
    given = [bound for bound in (clip_value_min, clip_value_max) if bound is not None]
    if not given:
        raise ValueError("clip_by_value: give clip_value_min, clip_value_max or both.")
    tensor = as_number(x)
    bounds = [cast_to(as_tensor(bound), tensor.dtype) for bound in given]
    sides = (clip_value_min is not None, clip_value_max is not None)
    return (tensor, *bounds), {"sides": sides}


def _norm_of(tensors: Sequence[Tensor], norm_type: float) -> Tensor:
    sizes = [math.abs(tensor) for tensor in tensors]
    if norm_type == float("inf"):
        found = reduce.amax(sizes[0])
        for size in sizes[1:]:
            found = arithmetic.maximum(found, reduce.amax(size))
        return found
    total = reduce.sum(arithmetic.pow(sizes[0], norm_type))
    for size in sizes[1:]:
        total = arithmetic.add(total, reduce.sum(arithmetic.pow(size, norm_type)))
    return arithmetic.pow(total, 1.0 / norm_type)


def clip_by_norm(
    x: Tensor | Sequence[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Any:
    """Scale tensors down together until their common norm is at most ``max_norm``.

    Parameters
    ----------
    x : Tensor or sequence of Tensor
        Gradients, say; floats of any shapes.
    max_norm : float
        The largest norm allowed.
    norm_type : float
        Order of the norm; Inf is the largest absolute value.
    error_if_nonfinite : bool
        Whether a norm of NaN or Inf is an error.

    Returns
    -------
    Tensor or list of Tensor
        The scaled tensors, structured as ``x``.

    Raises
    ------
    RuntimeError
        If the norm is not finite and ``error_if_nonfinite`` is set.

    References
    ----------
    Pascanu, Mikolov and Bengio, On the difficulty of training recurrent neural networks, 2013.
    """
    tensors = [x] if isinstance(x, Tensor) else list(x)
    norm = _norm_of(tensors, float(norm_type))
    if error_if_nonfinite and not bool(logic.isfinite(norm)):
        raise RuntimeError(
            f"clip_by_norm: the norm is {float(norm)}; look for NaN or Inf in the tensors, or set"
            " error_if_nonfinite=False."
        )
    scale = clamp(arithmetic.div(max_norm, arithmetic.add(norm, 1e-6)), max=1.0)
    scaled = [arithmetic.mul(tensor, cast_to(scale, tensor.dtype)) for tensor in tensors]
    return scaled[0] if isinstance(x, Tensor) else scaled


def clip_by_global_norm(
    x: Sequence[Tensor], clip_norm: float = 1.0, use_norm: Tensor | None = None
) -> tuple[Tensor, ...]:
    """Scale tensors by ``clip_norm / max(global norm, clip_norm)``.

    Parameters
    ----------
    x : sequence of Tensor
        Gradients, say; floats of any shapes.
    clip_norm : float
        The largest norm allowed, above zero.
    use_norm : Tensor, optional
        The global norm where it is known; by default it is computed.

    Returns
    -------
    tuple of Tensor
        The scaled tensors.

    Raises
    ------
    ValueError
        If ``clip_norm`` is not positive, or ``x`` is empty.

    References
    ----------
    Pascanu, Mikolov and Bengio, On the difficulty of training recurrent neural networks, 2013.
    """
    if clip_norm <= 0:
        raise ValueError(f"clip_by_global_norm: clip_norm must be above zero, it is {clip_norm}.")
    tensors = list(x)
    if not tensors:
        raise ValueError("clip_by_global_norm: x holds no tensors; give the gradients.")
    norm = _norm_of(tensors, 2.0) if use_norm is None else use_norm
    scale = arithmetic.div(clip_norm, arithmetic.maximum(norm, clip_norm))
    return tuple(arithmetic.mul(tensor, cast_to(scale, tensor.dtype)) for tensor in tensors)


def _clamp_kernel(input: np.ndarray, min: float | None, max: float | None) -> np.ndarray:
    return np.clip(input, min, max)


def _clamp_expr(b: Any, x: Any, min: float | None, max: float | None) -> Any:
    low = x if min is None else b.call("maximum", x, min)
    return low if max is None else b.call("minimum", low, max)


def _clamp_grad(ctx: GradContext) -> Grads:
    x = ctx.inputs[0]
    dout = ctx.dout
    for bound, inside in (
        (ctx.attrs["min"], logic.greater_equal),
        (ctx.attrs["max"], logic.less_equal),
    ):
        if bound is not None:
            dout = arithmetic.mul(dout, cast_to(inside(x, bound), dout.dtype))
    return (dout,)


def _bound(bound: float | None, tensor: Tensor) -> float | None:
    """Return a bound that the tensor's integers can hold: one beyond limits nothing."""
    if bound is None or not tensor.dtype.is_int:
        return bound
    limits = np.iinfo(tensor.dtype.numpy)
    return int(np.clip(bound, limits.min, limits.max))


@op(
    infer=same,
    kernel=_clamp_kernel,
    grad=_clamp_grad,
    lowering=Pointwise(_clamp_expr),
    category="math",
    primitive="ClipByValue",
    method=True,
)
def clamp(input: TensorLike, min: float | None = None, max: float | None = None) -> Call:
    """Limit the elements to a range.

    Parameters
    ----------
    input : Tensor
        Any shape.
    min, max : number, optional
        Bounds; None leaves that side open.

    Returns
    -------
    Tensor
        Elements in ``min..max``; NaN stays NaN. The gradient is zero outside the range.

    Raises
    ------
    ValueError
        If both bounds are None.
    """
    if min is None and max is None:
        raise ValueError("clamp: give min, max or both.")
    tensor = as_tensor(input)
    if not tensor.dtype.is_float and (isinstance(min, float) or isinstance(max, float)):
        tensor = as_float(tensor)
    if tensor.dtype is bool_:
        tensor = cast_to(tensor, int64)
    return (tensor,), {"min": _bound(min, tensor), "max": _bound(max, tensor)}


"""Other names of ``round`` and ``trunc``."""
