"""Power means of windows: roots of sums of powers."""

from __future__ import annotations

import math as numbers
from collections.abc import Callable
from typing import Any

from ..shape import Aval
from ..tensor import Tensor
from . import arithmetic, logic
from .avg_pool import avg_pool1d, avg_pool2d
from .cast import TensorLike, as_float
from .expansion import expanded
from .pool import pool_rule, unbatched, window_of
from .registry import Call, Composite, checked, op
from .rules import require_float, require_ndim
from .sliding import Sizes


def _rule(op_name: str, axes: int) -> Callable[..., Aval]:
    windows = pool_rule(op_name, axes)

    def infer(x: Aval, kernel: Sizes, stride: Sizes, spill: Sizes, **_: Any) -> Aval:
        require_float(op_name, "x", x)
        padding = tuple(side for more in spill for side in (0, more))
        return windows(x, kernel, stride, padding, (1,) * axes)

    return infer


def _expansion(average: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def expand(x: Tensor, norm_type: float, kernel: Sizes, stride: Sizes, spill: Sizes) -> Tensor:
        powers = arithmetic.pow(x, norm_type)
        count = 1
        for size in kernel:
            count *= size
        means = average(powers, kernel, stride, 0, any(spill))
        # The root has no slope at zero: windows of nothing but zeros get the gradient zero.
        empty = logic.equal(means, 0)
        sums = arithmetic.mul(logic.select(empty, 1.0, means), float(count))
        roots = arithmetic.pow(sums, 1.0 / norm_type)
        return logic.select(empty, 0.0 if norm_type > 0 else numbers.inf, roots)

    return expand


def _prepare(
    op_name: str,
    axes: int,
    x: TensorLike,
    norm_type: float,
    windows: tuple[Any, Any],
    ceil_mode: bool,
) -> Call:
    tensor = as_float(x)
    require_ndim(op_name, "x", tensor.aval, axes + 2)
    if not norm_type:
        raise ValueError(f"{op_name}: norm_type must not be 0; it is the power of the norm.")
    found, spill = window_of(op_name, tuple(tensor.shape[2:]), *windows, 0, ceil_mode=ceil_mode)
    attrs = {
        "norm_type": float(norm_type), "kernel": found["kernel"], "stride": found["stride"],
        "spill": spill,
    }  # fmt: skip
    return checked(_rule(op_name, axes), (tensor,), attrs)


@op(
    infer=_rule("lp_pool1d", 1),
    kernel=expanded(_expansion(avg_pool1d)),
    lowering=Composite(_expansion(avg_pool1d)),
    category="nn",
    inputs=("x",),
    primitive="LpPool1D",
    fast=unbatched(1),
)
def lp_pool1d(
    x: TensorLike,
    norm_type: float,
    kernel_size: int | tuple[int],
    stride: int | tuple[int] | None = None,
    ceil_mode: bool = False,
) -> Call:
    """Apply power-average pooling to sequences: the root of each window's sum of powers.

    Parameters
    ----------
    x : Tensor
        ``[n, c, length]`` or ``[c, length]``; integers are cast to float32.
    norm_type : float
        The power, and which root; 1 is the sum, infinity would be the maximum.
    kernel_size, stride : int or tuple of int
        Size and step of the window; the step is by default the size.
    ceil_mode : bool
        Whether a last window that begins in the sequence counts though it does not end there.

    Returns
    -------
    Tensor
        ``sum(x ** p) ** (1 / p)``, ``[n, c, length']``; powers are taken without absolute values.

    Raises
    ------
    ValueError
        If the window does not fit or the power is 0.
    """
    return _prepare("lp_pool1d", 1, x, norm_type, (kernel_size, stride), ceil_mode)


@op(
    infer=_rule("lp_pool2d", 2),
    kernel=expanded(_expansion(avg_pool2d)),
    lowering=Composite(_expansion(avg_pool2d)),
    category="nn",
    inputs=("x",),
    primitive="LpPool2D",
    fast=unbatched(2),
)
def lp_pool2d(
    x: TensorLike,
    norm_type: float,
    kernel_size: int | tuple[int, int],
    stride: int | tuple[int, int] | None = None,
    ceil_mode: bool = False,
) -> Call:
    """Apply power-average pooling to images: the root of each window's sum of powers.

    Parameters
    ----------
    x : Tensor
        ``[n, c, h, w]`` or ``[c, h, w]``; integers are cast to float32.
    norm_type : float
        The power, and which root; 1 is the sum, infinity would be the maximum.
    kernel_size, stride : int or tuple of int
        Size and step of the window; the step is by default the size.
    ceil_mode : bool
        Whether a last window that begins in the image counts though it does not end there.

    Returns
    -------
    Tensor
        ``sum(x ** p) ** (1 / p)``, ``[n, c, h', w']``; powers are taken without absolute values.

    Raises
    ------
    ValueError
        If the window does not fit or the power is 0.
    """
    return _prepare("lp_pool2d", 2, x, norm_type, (kernel_size, stride), ceil_mode)
