"""Fourier transforms and the windows of signals."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....engine import ops
from .....engine.tensor import Tensor, wrap
from ..arrays import dtype_named
from ..call import Call
from ..registry import operator

_SHARES = {
    "HannWindow": (0.5, -0.5),
    "HammingWindow": (25.0 / 46.0, -21.0 / 46.0),
    "BlackmanWindow": (0.42, -0.5, 0.08),
}
"""Shares of the cosines of 0, 1, 2 ... turns over the window."""


@operator(*_SHARES, reads=(0,))
def window(call: Call, *_: Any) -> Tensor:
    """Return a sum of cosines over the window's length."""
    size = call.number(0)
    turn = 2 * np.pi * np.arange(size) / (size if call.attr("periodic", 1) else max(size - 1, 1))
    total = sum(share * np.cos(i * turn) for i, share in enumerate(_SHARES[call.op_type]))
    return wrap(np.asarray(total).astype(dtype_named(call.attr("output_datatype", 1)).numpy))


@operator("MelWeightMatrix", reads=(0, 1, 2, 3, 4))
def mel_weight_matrix(call: Call, *_: Any) -> Tensor:
    """Return triangles that gather a spectrum's bins into mel bands."""
    bands, length, rate = (int(call.number(i)) for i in range(3))
    low, high = (2595 * np.log10(1 + float(call.number(i)) / 700) for i in (3, 4))
    bins = length // 2 + 1
    edges = np.arange(bands + 2) * ((high - low) / (bands + 2)) + low
    places = np.floor((length + 1) * 700 * (10 ** (edges / 2595) - 1) / rate).astype(np.int64)
    found = np.zeros((bins, bands))
    for band in range(bands):
        start, middle, end = places[band : band + 3]
        if middle == start:
            found[middle, band] = 1
        else:
            rising = np.arange(start, middle + 1)
            found[rising, band] = (rising - start) / (middle - start)
        falling = np.arange(middle, end)
        found[falling, band] = (end - falling) / max(end - middle, 1)
    return wrap(found.astype(dtype_named(call.attr("output_datatype", 1)).numpy))


@operator("DFT", reads=(1, 2))
def dft(call: Call, x: Tensor, *_: Any) -> Tensor:
    """Return the discrete Fourier transform along an axis; the last axis has real, imaginary."""
    late = call.version >= 20
    axis = call.number(2, -2) if late else call.attr("axis", 1)
    axis = axis % x.ndim
    inverse, one_sided = bool(call.attr("inverse", 0)), bool(call.attr("onesided", 0))
    size = int(call.number(1, _points(x, axis, inverse and one_sided)))
    if inverse and one_sided:
        return _inverse_of_half(x, axis, size)
    real, imaginary = _parts(x)
    kept = size // 2 + 1 if one_sided else size
    found = _transformed(real, imaginary, axis, size, kept, 1.0 if inverse else -1.0)
    return found / float(size) if inverse else found


def _points(x: Tensor, axis: int, halved: bool) -> int:
    return 2 * (x.shape[axis] - 1) if halved else x.shape[axis]


def _parts(x: Tensor) -> tuple[Tensor, Tensor]:
    if x.shape[-1] == 2:
        return x[..., 0], x[..., 1]
    return x[..., 0], ops.zeros_like(x[..., 0])


def _resized(x: Tensor, axis: int, size: int) -> Tensor:
    """Cut an axis to a length, or lengthen it by zeros."""
    have = x.shape[axis]
    if size <= have:
        return x[(*[slice(None)] * axis, slice(0, size))]
    zeros = ops.zeros((*x.shape[:axis], size - have, *x.shape[axis + 1 :]), x.dtype)
    return ops.concat((x, zeros), axis)


def _transformed(
    real: Tensor, imaginary: Tensor, axis: int, size: int, kept: int, sign: float
) -> Tensor:
    angles = sign * 2 * np.pi * np.outer(np.arange(size), np.arange(kept)) / size
    cosine = wrap(np.cos(angles).astype(real.dtype.numpy))
    sine = wrap(np.sin(angles).astype(real.dtype.numpy))
    re, im = (ops.movedim(_resized(p, axis, size), axis, -1) for p in (real, imaginary))
    found = (
        ops.matmul(re, cosine) - ops.matmul(im, sine),
        ops.matmul(re, sine) + ops.matmul(im, cosine),
    )
    return ops.stack([ops.movedim(part, -1, axis) for part in found], -1)


def _inverse_of_half(x: Tensor, axis: int, size: int) -> Tensor:
    """Return the real signal of the first half of its spectrum, whose other half mirrors it."""
    half = size // 2 + 1
    real, imaginary = (_resized(part, axis, half) for part in _parts(x))
    mirrored = np.arange(size - half, 0, -1)
    full = []
    for part, sign in ((real, 1.0), (imaginary, -1.0)):
        rest = ops.gather(part, wrap(mirrored), axis) * sign
        full.append(ops.concat((part, rest), axis))
    found = _transformed(full[0], full[1], axis, size, size, 1.0) / float(size)
    return found[..., 0:1]


@operator("STFT", reads=(1, 3))
def stft(call: Call, signal: Tensor, *_: Any) -> Tensor:
    """Return the Fourier transforms of windows that move along a signal."""
    hop = int(call.number(1))
    window = call.inputs[2] if call.given(2) else None
    length = int(call.number(3, window.shape[0] if window is not None else signal.shape[1]))
    frames = (signal.shape[1] - length) // hop + 1
    places = np.arange(frames)[:, None] * hop + np.arange(length)
    taken = ops.gather(signal, wrap(places.reshape(-1)), 1)
    rows = ops.reshape(taken, (signal.shape[0], frames, length, signal.shape[2]))
    if window is not None:
        rows = rows * ops.reshape(window, (1, 1, -1, 1))
    real, imaginary = _parts(rows)
    kept = length // 2 + 1 if call.attr("onesided", 1) else length
    return _transformed(real, imaginary, 2, length, kept, -1.0)
