"""Window functions of signal processing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import DType, dtype_of, float32
from ..shape import Aval
from .creation import ONCE
from .registry import Call, op


def _points(window_length: int, periodic: bool) -> np.ndarray:
    """Return the places of the samples between 0 and 1."""
    intervals = window_length if periodic else window_length - 1
    return np.arange(window_length) / max(intervals, 1)


def _bartlett(window_length: int, periodic: bool, dtype: DType) -> np.ndarray:
    if window_length == 1:
        return np.ones(1, dtype.numpy)
    return (1 - np.abs(2 * _points(window_length, periodic) - 1)).astype(dtype.numpy)


def _cosines(window_length: int, periodic: bool, dtype: DType, *weights: float) -> np.ndarray:
    if window_length == 1:
        return np.ones(1, dtype.numpy)
    angle = 2 * np.pi * _points(window_length, periodic)
    parts = [weight * np.cos(number * angle) for number, weight in enumerate(weights)]
    return np.sum(parts, 0).astype(dtype.numpy)


def _hamming(
    window_length: int, periodic: bool, alpha: float, beta: float, dtype: DType
) -> np.ndarray:
    return _cosines(window_length, periodic, dtype, alpha, -beta)


def _kaiser(window_length: int, periodic: bool, beta: float, dtype: DType) -> np.ndarray:
    length = window_length + 1 if periodic and window_length > 1 else window_length
    return np.kaiser(length, beta)[:window_length].astype(dtype.numpy)


def _rule(window_length: int, dtype: DType, **_: Any) -> Aval:
    return Aval((window_length,), dtype)


def _call(name: str, window_length: int, periodic: bool, dtype: Any, **more: float) -> Call:
    if window_length < 0:
        raise ValueError(f"{name}: window_length must not be negative, it is {window_length}.")
    kind = dtype_of(dtype or float32)
    if not kind.is_float:
        raise TypeError(f"{name}: dtype must be a float type, it is {kind}.")
    return (), {
        "window_length": int(window_length),
        "periodic": bool(periodic),
        "dtype": kind,
    } | more


@op(infer=_rule, kernel=_bartlett, lowering=ONCE, category="array", inputs=())
def bartlett_window(window_length: int, periodic: bool = True, *, dtype: Any = None) -> Call:
    """Return the Bartlett window: a triangle that rises from zero to one and falls again.

    Parameters
    ----------
    window_length : int
        Number of samples.
    periodic : bool
        Whether the window is cut from one that is longer by one, for spectra; else symmetric.
    dtype : DType, optional
        A float type; by default ``Float32``.

    Returns
    -------
    Tensor
        ``[window_length]``.

    References
    ----------
    Oppenheim and Schafer, Discrete-Time Signal Processing, section 7.5.
    """
    return _call("bartlett_window", window_length, periodic, dtype)


@op(
    infer=_rule,
    kernel=lambda window_length, periodic, dtype: _cosines(
        window_length, periodic, dtype, 0.42, -0.5, 0.08
    ),
    lowering=ONCE,
    category="array",
    inputs=(),
)
def blackman_window(window_length: int, periodic: bool = True, *, dtype: Any = None) -> Call:
    """Return the Blackman window, ``0.42 - 0.5 cos(2 pi x) + 0.08 cos(4 pi x)``.

    Parameters
    ----------
    window_length : int
        Number of samples.
    periodic : bool
        Whether the window is cut from one that is longer by one, for spectra; else symmetric.
    dtype : DType, optional
        A float type; by default ``Float32``.

    Returns
    -------
    Tensor
        ``[window_length]``.

    References
    ----------
    Oppenheim and Schafer, Discrete-Time Signal Processing, section 7.5.
    """
    return _call("blackman_window", window_length, periodic, dtype)


@op(infer=_rule, kernel=_hamming, lowering=ONCE, category="array", inputs=())
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
) -> Call:
    """Return the Hamming window, ``alpha - beta cos(2 pi x)``.

    Parameters
    ----------
    window_length : int
        Number of samples.
    periodic : bool
        Whether the window is cut from one that is longer by one, for spectra; else symmetric.
    alpha, beta : float
        The two weights.
    dtype : DType, optional
        A float type; by default ``Float32``.

    Returns
    -------
    Tensor
        ``[window_length]``.

    References
    ----------
    Oppenheim and Schafer, Discrete-Time Signal Processing, section 7.5.
    """
    weights = {"alpha": float(alpha), "beta": float(beta)}
    return _call("hamming_window", window_length, periodic, dtype, **weights)


@op(
    infer=_rule,
    kernel=lambda window_length, periodic, dtype: _cosines(
        window_length, periodic, dtype, 0.5, -0.5
    ),
    lowering=ONCE,
    category="array",
    inputs=(),
)
def hann_window(window_length: int, periodic: bool = True, *, dtype: Any = None) -> Call:
    """Return the Hann window, ``sin(pi x) ** 2``.

    Parameters
    ----------
    window_length : int
        Number of samples.
    periodic : bool
        Whether the window is cut from one that is longer by one, for spectra; else symmetric.
    dtype : DType, optional
        A float type; by default ``Float32``.

    Returns
    -------
    Tensor
        ``[window_length]``.

    References
    ----------
    Oppenheim and Schafer, Discrete-Time Signal Processing, section 7.5.
    """
    return _call("hann_window", window_length, periodic, dtype)


@op(infer=_rule, kernel=_kaiser, lowering=ONCE, category="array", inputs=())
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None
) -> Call:
    """Return the Kaiser window, whose main lobe ``beta`` widens and whose side lobes it lowers.

    Parameters
    ----------
    window_length : int
        Number of samples.
    periodic : bool
        Whether the window is cut from one that is longer by one, for spectra; else symmetric.
    beta : float
        The shape.
    dtype : DType, optional
        A float type; by default ``Float32``.

    Returns
    -------
    Tensor
        ``[window_length]``.

    References
    ----------
    Oppenheim and Schafer, Discrete-Time Signal Processing, section 7.5.
    """
    return _call("kaiser_window", window_length, periodic, dtype, beta=float(beta))
