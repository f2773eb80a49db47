"""Bessel functions of orders zero and one, from SciPy."""

from __future__ import annotations

from scipy import special

from ..tensor import Tensor
from . import arithmetic, logic, math
from .cast import TensorLike, as_float
from .declarations import scalar
from .registry import Call, GradContext

# Slopes: Abramowitz and Stegun, Handbook of Mathematical Functions, 9.1.27 and 9.6.26.


def _over(ctx: GradContext, at_zero: float) -> Tensor:
    """Return ``output / input``, and its limit ``at_zero`` where the input is zero."""
    x = ctx.inputs[0]
    zero = logic.equal(x, 0)
    ratio = arithmetic.div(ctx.outputs[0], logic.select(zero, 1.0, x))
    return logic.select(zero, at_zero, ratio)


def _j0_slope(ctx: GradContext) -> Tensor:
    return math.neg(bessel_j1(ctx.inputs[0]))


def _y0_slope(ctx: GradContext) -> Tensor:
    return math.neg(bessel_y1(ctx.inputs[0]))


def _i0_slope(ctx: GradContext) -> Tensor:
    return bessel_i1(ctx.inputs[0])


def _k0_slope(ctx: GradContext) -> Tensor:
    return math.neg(bessel_k1(ctx.inputs[0]))


def _i0e_slope(ctx: GradContext) -> Tensor:
    x = ctx.inputs[0]
    return arithmetic.sub(bessel_i1e(x), arithmetic.mul(math.sign(x), ctx.outputs[0]))


def _i1e_slope(ctx: GradContext) -> Tensor:
    x = ctx.inputs[0]
    rise = arithmetic.sub(bessel_i0e(x), _over(ctx, 0.5))
    return arithmetic.sub(rise, arithmetic.mul(math.sign(x), ctx.outputs[0]))


def _k1e_slope(ctx: GradContext) -> Tensor:
    fall = arithmetic.add(bessel_k0e(ctx.inputs[0]), _over(ctx, 0.0))
    return arithmetic.sub(ctx.outputs[0], fall)


@scalar(
    special.j0,
    _j0_slope,
    primitive="BesselJ0",
    method=False,
)
def bessel_j0(x: TensorLike) -> Call:
    """Return the Bessel function of the first kind, order 0.

    Parameters
    ----------
    x : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The values, in the input's shape.
    """
    return (as_float(x),), {}


@scalar(
    special.j1,
    lambda ctx: arithmetic.sub(bessel_j0(ctx.inputs[0]), _over(ctx, 0.5)),
    primitive="BesselJ1",
    method=False,
)
def bessel_j1(x: TensorLike) -> Call:
    """Return the Bessel function of the first kind, order 1.

    Parameters
    ----------
    x : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The values, in the input's shape.
    """
    return (as_float(x),), {}


@scalar(
    special.y0,
    _y0_slope,
    primitive="BesselY0",
    method=False,
)
def bessel_y0(x: TensorLike) -> Call:
    """Return the Bessel function of the second kind, order 0.

    Parameters
    ----------
    x : Tensor
        Positive numbers of any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The values, in the input's shape.
    """
    return (as_float(x),), {}


@scalar(
    special.y1,
    lambda ctx: arithmetic.sub(bessel_y0(ctx.inputs[0]), _over(ctx, 0.0)),
    primitive="BesselY1",
    method=False,
)
def bessel_y1(x: TensorLike) -> Call:
    """Return the Bessel function of the second kind, order 1.

    Parameters
    ----------
    x : Tensor
        Positive numbers of any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The values, in the input's shape.
    """
    return (as_float(x),), {}


@scalar(special.i0, _i0_slope, primitive="BesselI0", method=False)
def bessel_i0(x: TensorLike) -> Call:
    """Return the modified Bessel function of the first kind, order 0.

    Parameters
    ----------
    x : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The values, in the input's shape.
    """
    return (as_float(x),), {}


@scalar(
    special.i1,
    lambda ctx: arithmetic.sub(bessel_i0(ctx.inputs[0]), _over(ctx, 0.5)),
    primitive="BesselI1",
    method=False,
)
def bessel_i1(x: TensorLike) -> Call:
    """Return the modified Bessel function of the first kind, order 1.

    Parameters
    ----------
    x : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The values, in the input's shape.
    """
    return (as_float(x),), {}


@scalar(special.i0e, _i0e_slope, primitive="BesselI0e", method=False)
def bessel_i0e(x: TensorLike) -> Call:
    """Return the modified Bessel function of the first kind, order 0, times ``exp(-|x|)``.

    Parameters
    ----------
    x : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The values, in the input's shape.
    """
    return (as_float(x),), {}


@scalar(special.i1e, _i1e_slope, primitive="BesselI1e", method=False)
def bessel_i1e(x: TensorLike) -> Call:
    """Return the modified Bessel function of the first kind, order 1, times ``exp(-|x|)``.

    Parameters
    ----------
    x : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The values, in the input's shape.
    """
    return (as_float(x),), {}


@scalar(
    special.k0,
    _k0_slope,
    primitive="BesselK0",
    method=False,
)
def bessel_k0(x: TensorLike) -> Call:
    """Return the modified Bessel function of the second kind, order 0.

    Parameters
    ----------
    x : Tensor
        Positive numbers of any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The values, in the input's shape.
    """
    return (as_float(x),), {}


@scalar(
    special.k1,
    lambda ctx: math.neg(arithmetic.add(bessel_k0(ctx.inputs[0]), _over(ctx, 0.0))),
    primitive="BesselK1",
    method=False,
)
def bessel_k1(x: TensorLike) -> Call:
    """Return the modified Bessel function of the second kind, order 1.

    Parameters
    ----------
    x : Tensor
        Positive numbers of any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The values, in the input's shape.
    """
    return (as_float(x),), {}


@scalar(
    special.k0e,
    lambda ctx: arithmetic.sub(ctx.outputs[0], bessel_k1e(ctx.inputs[0])),
    primitive="BesselK0e",
    method=False,
)
def bessel_k0e(x: TensorLike) -> Call:
    """Return the modified Bessel function of the second kind, order 0, times ``exp(x)``.

    Parameters
    ----------
    x : Tensor
        Positive numbers of any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The values, in the input's shape.
    """
    return (as_float(x),), {}


@scalar(special.k1e, _k1e_slope, primitive="BesselK1e", method=False)
def bessel_k1e(x: TensorLike) -> Call:
    """Return the modified Bessel function of the second kind, order 1, times ``exp(x)``.

    Parameters
    ----------
    x : Tensor
        Positive numbers of any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The values, in the input's shape.
    """
    return (as_float(x),), {}


i0, i0e, i1, i1e = bessel_i0, bessel_i0e, bessel_i1, bessel_i1e
