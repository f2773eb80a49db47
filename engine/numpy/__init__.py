"""NumPy's functions on tensors: what `import numpy as np` offers, with gradients and in graphs."""

# An index: every name imported here without an underscore is public. The modules come in
# alphabetical order, their names packed into lines.
# ruff: noqa: F401
# fmt: off
# isort: off
import math as _math
from types import ModuleType as _ModuleType

from ..dtype import (
    bfloat16, bool_, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32,
    uint64,
)
from . import linalg, random
from .applying import apply_along_axis, apply_over_axes, isscalar, ndim, shape, size
from .arrangement import (
    atleast_1d, atleast_2d, atleast_3d, broadcast_arrays, broadcast_to, expand_dims, moveaxis,
    ravel, reshape, rollaxis, squeeze, swapaxes, transpose,
)
from .counting import (
    arange, bartlett, blackman, eye, geomspace, hamming, hanning, identity, indices, linspace,
    logspace, tri, vander,
)
from .creation import (
    array, asarray, asfarray, copy, empty, empty_like, full, full_like, ones, ones_like,
    promote_types, result_type, zeros, zeros_like,
)
from .diagonals import diag, diagflat, diagonal, trace, tril, triu
from .elementwise import (
    abs, absolute, add, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, around,
    bitwise_and, bitwise_not, bitwise_or, bitwise_xor, cbrt, ceil, clip, copysign, cos, cosh,
    deg2rad, degrees, divide, equal, exp, exp2, expm1, fix, float_power, floor, floor_divide, fmod,
    gcd, greater, greater_equal, heaviside, hypot, invert, isclose, isfinite, isinf, isnan,
    isneginf, isposinf, lcm, less, less_equal, log, log1p, log2, log10, logaddexp, logaddexp2,
    logical_and, logical_not, logical_or, logical_xor, maximum, minimum, mod, multiply, nan_to_num,
    negative, not_equal, positive, power, rad2deg, radians, reciprocal, remainder, rint, sign,
    signbit, sin, sinh, sqrt, square, subtract, tan, tanh, true_divide, trunc,
)
from .joining import (
    append, array_split, column_stack, concatenate, dsplit, dstack, hsplit, hstack, meshgrid, split,
    stack, vsplit, vstack,
)
from .polynomials import interp, polyadd, polyder, polyint, polymul, polysub, polyval, unwrap
from .products import (
    convolve, correlate, cross, dot, inner, kron, matmul, multi_dot, outer, tensordot, vdot,
)
from .random import rand, randint, randn
from .reductions import (
    all, amax, amin, any, argmax, argmin, average, corrcoef, count_nonzero, cov, cumprod, cumsum,
    diff, ediff1d, max, mean, median, min, nancumsum, nanmax, nanmean, nanmin, nanstd, nansum,
    nanvar, prod, ptp, quantile, sometrue, std, sum, trapz, var,
)
from .repeating import flip, fliplr, flipud, repeat, resize, roll, rot90, tile
from .selection import (
    argsort, array_equal, bincount, choose, digitize, histogram, in1d, isin, nonzero, piecewise,
    searchsorted, select, sort, take, take_along_axis, unique, unravel_index, where,
)
# fmt: on

pi, e, inf, nan, newaxis = _math.pi, _math.e, _math.inf, _math.nan, None

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    name
    for name, value in globals().items()
    if not name.startswith("_")
    and (value.__class__ is not _ModuleType or name in ("linalg", "random"))
]
