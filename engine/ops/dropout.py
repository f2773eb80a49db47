"""Dropout: elements, channels or both set to zero at random while training."""

from __future__ import annotations

import numpy as np

from ..shape import ShapeError, shape_text
from ..tensor import Tensor
from . import arithmetic, logic
from .array import identity, reshape
from .cast import TensorLike, as_float
from .creation import ones_like
from .random import Seed, draw, key_of, masked_dropout, random_kept
from .registry import Call, Composite, GradContext, Grads, op

ALPHA = -1.7580993408473766
"""Where SELU goes for large negative numbers: minus its scale times its alpha."""


def _checked(name: str, input: Tensor, p: float, ndims: tuple[int, ...] = ()) -> Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: p must be in 0..1, it is {p}.")
    tensor = as_float(input)
    if ndims and len(tensor.shape) not in ndims:
        raise ShapeError(
            f"{name}: input {shape_text(tensor.shape)} must have"
            f" {' or '.join(str(n) for n in ndims)} axes."
        )
    return tensor


def dropout(input: Tensor, p: float = 0.5, training: bool = True, seed: Seed = None) -> Tensor:
    """Set elements to zero with probability ``p`` while training, and scale the others.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    p : float
        Probability of zero, in 0..1.
    training : bool
        Outside training the input comes back as it is.
    seed : int or Generator, optional
        A stream of its own for this call; by default the current one is used.

    Returns
    -------
    Tensor
        The kept elements divided by ``1 - p``.

    Raises
    ------
    ValueError
        If ``p`` is not in 0..1.

    References
    ----------
    Srivastava et al., Dropout, 2014.
    """
    tensor = _checked("dropout", input, p)
    if not training or p == 0:
        return identity(tensor)
    return masked_dropout(tensor, key_of(seed), p)


def _channel_kernel(input: np.ndarray, key: np.ndarray, p: float, lead: int) -> np.ndarray:
    kept = draw(key).random(input.shape[:lead], np.float32) >= p
    scale = 1.0 / (1.0 - p) if p < 1 else 0.0
    factor = np.where(kept, scale, 0.0).astype(input.dtype)
    factor = factor.reshape(*factor.shape, *(1,) * (input.ndim - lead))
    return np.where(factor == 0, input.dtype.type(0), input * factor)


def _expand_channel(input: Tensor, key: Tensor, p: float, lead: int) -> Tensor:
    shape = tuple(input.shape)
    kept = random_kept(key, shape[:lead], p)
    kept = reshape(kept, (*shape[:lead], *(1,) * (len(shape) - lead)))
    scaled = arithmetic.mul(input, 1.0 / (1.0 - p) if p < 1 else 0.0)
    return logic.select(kept, scaled, 0.0)


def _channel_grad(ctx: GradContext) -> Grads:
    # Linear, like dropout of elements: the gradient has the same mask and scale.
    return channel_dropout(ctx.dout, ctx.inputs[1], **ctx.attrs), None


@op(
    infer=lambda input, key, p, lead: input,
    kernel=_channel_kernel,
    grad=_channel_grad,
    lowering=Composite(_expand_channel),
    category="random",
    inputs=("input", "key"),
)
def channel_dropout(input: TensorLike, key: Tensor, p: float, lead: int) -> Call:
    """Set whole channels to zero with probability ``p``, by a key, and scale the others.

    Parameters
    ----------
    input : Tensor
        A float dtype.
    key : Tensor
        Int64 ``[2]``; the same key gives the same zeros.
    p : float
        Probability of zero.
    lead : int
        How many axes, the channels' the last of them, are decided one by one.

    Returns
    -------
    Tensor
        The kept channels divided by ``1 - p``.
    """
    return (as_float(input), key), {"p": float(p), "lead": lead}


def _channels(name: str, input: Tensor, p: float, training: bool, ndims: tuple[int, int]) -> Tensor:
    tensor = _checked(name, input, p, ndims)
    if not training or p == 0:
        return identity(tensor)
    return channel_dropout(tensor, key_of(None), p, len(tensor.shape) - ndims[0] + 1)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Set whole channels of ``[n, c, l]`` or ``[c, l]`` to zero while training.

    Parameters
    ----------
    input : Tensor
        ``[n, c, l]`` or ``[c, l]``.
    p : float
        Probability of zero, in 0..1.
    training : bool
        Outside training the input comes back as it is.

    Returns
    -------
    Tensor
        The kept channels divided by ``1 - p``.

    Raises
    ------
    ValueError
        If ``p`` is not in 0..1 or the axes are others.

    References
    ----------
    Tompson et al., Efficient Object Localization Using Convolutional Networks, 2015.
    """
    return _channels("dropout1d", input, p, training, (2, 3))


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Set whole channels of ``[n, c, h, w]`` or ``[c, h, w]`` to zero while training.

    Parameters
    ----------
    input : Tensor
        ``[n, c, h, w]`` or ``[c, h, w]``.
    p : float
        Probability of zero, in 0..1.
    training : bool
        Outside training the input comes back as it is.

    Returns
    -------
    Tensor
        The kept channels divided by ``1 - p``.

    Raises
    ------
    ValueError
        If ``p`` is not in 0..1 or the axes are others.

    References
    ----------
    Tompson et al., Efficient Object Localization Using Convolutional Networks, 2015.
    """
    return _channels("dropout2d", input, p, training, (3, 4))


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Set whole channels of ``[n, c, d, h, w]`` or ``[c, d, h, w]`` to zero while training.

    Parameters
    ----------
    input : Tensor
        ``[n, c, d, h, w]`` or ``[c, d, h, w]``.
    p : float
        Probability of zero, in 0..1.
    training : bool
        Outside training the input comes back as it is.

    Returns
    -------
    Tensor
        The kept channels divided by ``1 - p``.

    Raises
    ------
    ValueError
        If ``p`` is not in 0..1 or the axes are others.

    References
    ----------
    Tompson et al., Efficient Object Localization Using Convolutional Networks, 2015.
    """
    return _channels("dropout3d", input, p, training, (4, 5))


def _alpha_factors(p: float) -> tuple[float, float]:
    """Return scale and shift that keep mean 0 and variance 1 of what SELU gives."""
    if p == 1:
        return 0.0, 0.0
    scale = ((1 - p) * (1 + p * ALPHA * ALPHA)) ** -0.5
    return scale, -scale * ALPHA * p


def _self_normalising(input: Tensor, p: float, lead: int) -> Tensor:
    """Put SELU's lower limit in the place of dropped elements, then scale and shift all."""
    scale, shift = _alpha_factors(p)
    kept = channel_dropout(ones_like(input), key_of(None), p, lead) * (1.0 - p)
    return (input * kept + (1.0 - kept) * ALPHA) * scale + shift


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False) -> Tensor:
    """Set elements to SELU's lower limit at random while training; mean and variance stay.

    Parameters
    ----------
    input : Tensor
        Any shape with at least one axis.
    p : float
        Probability of being dropped, in 0..1.
    training : bool
        Outside training the input comes back as it is.

    Returns
    -------
    Tensor
        The shape of the input; for numbers of mean 0 and variance 1 they stay so.

    Raises
    ------
    ValueError
        If ``p`` is not in 0..1.

    References
    ----------
    Klambauer et al., Self-Normalizing Neural Networks, 2017.
    """
    tensor = _checked("alpha_dropout", input, p)
    if not training or p == 0:
        return identity(tensor)
    return _self_normalising(tensor, p, len(tensor.shape))


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False) -> Tensor:
    """Set whole channels to SELU's lower limit at random while training.

    Parameters
    ----------
    input : Tensor
        ``[n, c, ...]``.
    p : float
        Probability of being dropped, in 0..1.
    training : bool
        Outside training the input comes back as it is.

    Returns
    -------
    Tensor
        The shape of the input; for numbers of mean 0 and variance 1 they stay so.

    Raises
    ------
    ValueError
        If ``p`` is not in 0..1 or there are no channels.

    References
    ----------
    Klambauer et al., Self-Normalizing Neural Networks, 2017.
    """
    tensor = _checked("feature_alpha_dropout", input, p)
    if len(tensor.shape) < 2:
        raise ShapeError(
            f"feature_alpha_dropout: input {shape_text(tensor.shape)} has no channels; give"
            " [n, c, ...]."
        )
    if not training or p == 0:
        return identity(tensor)
    return _self_normalising(tensor, p, 2)
