"""Functions of each element, and of two tensors' elements side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from ..dtype import bool_, dtype_of
from ..ops.cast import TensorLike, as_tensor, cast_to
from ..tensor import Tensor

One = Callable[..., Tensor]


def typed(tensor: Tensor, dtype: Any) -> Tensor:
    """Return the tensor in the dtype that was asked for, if one was."""
    return tensor if dtype is None else cast_to(tensor, dtype_of(dtype))


def _unary(name: str, function: Callable[..., Any], summary: str, result: str) -> One:
    """Return a function of each element, named as NumPy does."""

    def call(x: TensorLike, dtype: Any = None) -> Tensor:
        return typed(function(as_tensor(x)), dtype)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"""{summary}

    Parameters
    ----------
    x : array_like
        Any shape; integers are taken as floats where the result is one.
    dtype : DType, optional
        Element type of the result.

    Returns
    -------
    Tensor
        {result}
    """
    return call


def _binary(name: str, function: Callable[..., Any], summary: str, result: str) -> One:
    """Return a function of two operands, named as NumPy does."""

    def call(x1: TensorLike, x2: TensorLike, dtype: Any = None) -> Tensor:
        return typed(function(x1, x2), dtype)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"""{summary}

    Parameters
    ----------
    x1, x2 : array_like
        Operands whose shapes broadcast; their dtypes promote.
    dtype : DType, optional
        Element type of the result.

    Returns
    -------
    Tensor
        {result}
    """
    return call


def _bits(function: Any, on_truth: Any) -> Callable[..., Tensor]:
    """Return a function on bits, or on truth values where it is given those."""

    def call(*tensors: Tensor) -> Tensor:
        truth = all(as_tensor(tensor).dtype is bool_ for tensor in tensors)
        return (on_truth if truth else function)(*tensors)

    return call


# ---- one operand -----------------------------------------------------------------------------

absolute = _unary("absolute", ops.abs, "Return the absolute values.", "``|x|``.")
negative = _unary("negative", ops.neg, "Return the numbers with the other sign.", "``-x``.")
positive = _unary("positive", ops.positive, "Return the numbers as they are.", "``x``.")
sign = _unary("sign", ops.sign, "Return the signs.", "-1, 0 or 1.")
square = _unary("square", ops.square, "Return the squares.", "``x * x``.")
sqrt = _unary("sqrt", ops.sqrt, "Return the square roots.", "NaN for negative numbers.")
cbrt = _unary("cbrt", ops.cbrt, "Return the cube roots.", "The roots, of either sign.")
reciprocal = _unary("reciprocal", ops.reciprocal, "Return the reciprocals.", "``1 / x``.")
exp = _unary("exp", ops.exp, "Return e to the power of each number.", "``e ** x``.")
exp2 = _unary("exp2", ops.exp2, "Return two to the power of each number.", "``2 ** x``.")
expm1 = _unary("expm1", ops.expm1, "Return ``exp(x) - 1``, exact near zero.", "``e ** x - 1``.")
log = _unary("log", ops.log, "Return the natural logarithms.", "NaN for negative numbers.")
log2 = _unary("log2", ops.log2, "Return the logarithms to base 2.", "NaN for negative numbers.")
log10 = _unary("log10", ops.log10, "Return the logarithms to base 10.", "NaN for negative numbers.")
log1p = _unary("log1p", ops.log1p, "Return ``log(1 + x)``, exact near zero.", "NaN below -1.")
sin = _unary("sin", ops.sin, "Return the sines of angles in radians.", "Within -1..1.")
cos = _unary("cos", ops.cos, "Return the cosines of angles in radians.", "Within -1..1.")
tan = _unary("tan", ops.tan, "Return the tangents of angles in radians.", "``sin(x) / cos(x)``.")
arcsin = _unary(
    "arcsin", ops.asin, "Return the angles of these sines.", "Radians, NaN outside -1..1."
)
arccos = _unary("arccos", ops.acos, "Return the angles of these cosines.", "Radians in 0..pi.")
arctan = _unary("arctan", ops.atan, "Return the angles of these tangents.", "Radians.")
sinh = _unary("sinh", ops.sinh, "Return the hyperbolic sines.", "``(e**x - e**-x) / 2``.")
cosh = _unary("cosh", ops.cosh, "Return the hyperbolic cosines.", "``(e**x + e**-x) / 2``.")
tanh = _unary("tanh", ops.tanh, "Return the hyperbolic tangents.", "Within -1..1.")
arcsinh = _unary("arcsinh", ops.asinh, "Return the inverse hyperbolic sines.", "Any number.")
arccosh = _unary("arccosh", ops.acosh, "Return the inverse hyperbolic cosines.", "NaN below 1.")
arctanh = _unary(
    "arctanh", ops.atanh, "Return the inverse hyperbolic tangents.", "NaN outside -1..1."
)
deg2rad = _unary("deg2rad", ops.deg2rad, "Convert degrees to radians.", "``x * pi / 180``.")
rad2deg = _unary("rad2deg", ops.rad2deg, "Convert radians to degrees.", "``x * 180 / pi``.")
radians = _unary("radians", ops.deg2rad, "Convert degrees to radians.", "``x * pi / 180``.")
degrees = _unary("degrees", ops.rad2deg, "Convert radians to degrees.", "``x * 180 / pi``.")
floor = _unary("floor", ops.floor, "Round down to whole numbers.", "Whole numbers.")
ceil = _unary("ceil", ops.ceil, "Round up to whole numbers.", "Whole numbers.")
trunc = _unary("trunc", ops.trunc, "Round to whole numbers toward zero.", "Whole numbers.")
fix = _unary("fix", ops.trunc, "Round to whole numbers toward zero.", "Whole numbers.")
rint = _unary("rint", ops.round, "Round to whole numbers, halves to even.", "Whole numbers.")
isnan = _unary("isnan", ops.isnan, "Tell which numbers are NaN.", "Bool.")
isinf = _unary("isinf", ops.isinf, "Tell which numbers are infinite.", "Bool.")
isfinite = _unary("isfinite", ops.isfinite, "Tell which are neither infinite nor NaN.", "Bool.")
isposinf = _unary("isposinf", ops.isposinf, "Tell which numbers are plus infinity.", "Bool.")
isneginf = _unary("isneginf", ops.isneginf, "Tell which numbers are minus infinity.", "Bool.")
signbit = _unary("signbit", ops.signbit, "Tell which numbers have a minus sign.", "Bool.")
logical_not = _unary("logical_not", ops.logical_not, "Return the other truth values.", "Bool.")
invert = _unary(
    "invert", _bits(ops.bitwise_not, ops.logical_not), "Turn every bit, or truth value.", "``~x``."
)

# ---- two operands ----------------------------------------------------------------------------

add = _binary("add", ops.add, "Add.", "``x1 + x2``.")
subtract = _binary("subtract", ops.sub, "Subtract.", "``x1 - x2``.")
multiply = _binary("multiply", ops.mul, "Multiply.", "``x1 * x2``.")
divide = _binary("divide", ops.div, "Divide; integers give floats.", "``x1 / x2``.")
true_divide = _binary("true_divide", ops.div, "Divide; integers give floats.", "``x1 / x2``.")
floor_divide = _binary("floor_divide", ops.floor_div, "Divide and round down.", "``x1 // x2``.")
remainder = _binary("remainder", ops.mod, "Return what floor division leaves.", "``x1 % x2``.")
mod = _binary("mod", ops.mod, "Return what floor division leaves.", "``x1 % x2``.")
fmod = _binary("fmod", ops.fmod, "Return what division toward zero leaves.", "Of the sign of x1.")
power = _binary("power", ops.pow, "Raise to a power.", "``x1 ** x2``.")
float_power = _binary(
    "float_power", ops.float_power, "Raise to a power in floats.", "``x1 ** x2``."
)
maximum = _binary("maximum", ops.maximum, "Return the larger numbers.", "NaN where one is.")
minimum = _binary("minimum", ops.minimum, "Return the smaller numbers.", "NaN where one is.")
hypot = _binary("hypot", ops.hypot, "Return the hypotenuses of right triangles.", "Not negative.")
arctan2 = _binary("arctan2", ops.atan2, "Return the angles of points (x2, x1).", "In -pi..pi.")
logaddexp = _binary(
    "logaddexp", ops.logaddexp, "Add in the domain of logarithms.", "``log(exp(x1) + exp(x2))``."
)
logaddexp2 = _binary(
    "logaddexp2", ops.logaddexp2, "Add in the domain of logarithms to base 2.",
    "``log2(2**x1 + 2**x2)``.",
)  # fmt: skip
copysign = _binary(
    "copysign", ops.copysign, "Give numbers the signs of others.", "``|x1|``, signed."
)
heaviside = _binary(
    "heaviside", ops.heaviside, "Return the step function, x2 at zero.", "0, x2 or 1."
)
gcd = _binary("gcd", ops.gcd, "Return the greatest common divisors.", "Integers.")
lcm = _binary("lcm", ops.lcm, "Return the least common multiples.", "Integers.")
equal = _binary("equal", ops.equal, "Tell which are equal.", "Bool.")
not_equal = _binary("not_equal", ops.not_equal, "Tell which differ.", "Bool.")
less = _binary("less", ops.less, "Tell where x1 is the smaller.", "Bool.")
less_equal = _binary("less_equal", ops.less_equal, "Tell where x1 is not the larger.", "Bool.")
greater = _binary("greater", ops.greater, "Tell where x1 is the larger.", "Bool.")
greater_equal = _binary(
    "greater_equal", ops.greater_equal, "Tell where x1 is not the smaller.", "Bool."
)
logical_and = _binary("logical_and", ops.logical_and, "Tell where both are true.", "Bool.")
logical_or = _binary("logical_or", ops.logical_or, "Tell where one is true.", "Bool.")
logical_xor = _binary("logical_xor", ops.logical_xor, "Tell where one alone is true.", "Bool.")
bitwise_and = _binary("bitwise_and", ops.bitwise_and, "Return the bits set in both.", "Integers.")
bitwise_or = _binary("bitwise_or", ops.bitwise_or, "Return the bits set in one.", "Integers.")
bitwise_xor = _binary(
    "bitwise_xor", ops.bitwise_xor, "Return the bits set in one alone.", "Integers."
)
abs = absolute
bitwise_not = invert


# ---- more ------------------------------------------------------------------------------------


def clip(x: TensorLike, xmin: TensorLike | None, xmax: TensorLike | None) -> Tensor:
    """Bring the numbers into a range.

    Parameters
    ----------
    x : array_like
        Any shape.
    xmin, xmax : array_like or None
        Ends of the range, which broadcast; None leaves that side open.

    Returns
    -------
    Tensor
        Numbers in ``xmin..xmax``.

    Raises
    ------
    ValueError
        If both ends are None.
    """
    return as_tensor(x).clip(xmin, xmax)


def nan_to_num(
    x: TensorLike, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Put numbers in the places of NaN and infinities.

    Parameters
    ----------
    x : array_like
        Any shape.
    nan : float
        What stands for NaN.
    posinf, neginf : float, optional
        What stands for the infinities; by default the largest and least numbers there are.

    Returns
    -------
    Tensor
        Finite numbers.
    """
    return ops.nan_to_num(as_tensor(x), nan, posinf, neginf)


def around(a: TensorLike, decimals: int = 0) -> Tensor:
    """Round to a number of decimals, halves to even.

    Parameters
    ----------
    a : array_like
        Any shape.
    decimals : int
        Digits after the point.

    Returns
    -------
    Tensor
        The rounded numbers.
    """
    return round(as_tensor(a), decimals)


def isclose(
    a: TensorLike, b: TensorLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Tell which numbers are equal within a tolerance.

    Parameters
    ----------
    a, b : array_like
        Numbers whose shapes broadcast.
    rtol, atol : float
        ``|a - b| <= atol + rtol * |b|`` is close.
    equal_nan : bool
        Whether NaN is close to NaN.

    Returns
    -------
    Tensor
        Bool.
    """
    return ops.isclose(as_tensor(a), as_tensor(b), rtol, atol, equal_nan)
