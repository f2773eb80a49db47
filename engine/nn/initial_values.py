"""Initial values that know nothing of a layer: constants and plain distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import random
from ..dtype import DType
from ..tensor import Tensor

Shape = tuple[int, ...]


class Initializer:
    """Makes an array of a shape; subclasses say how in `draw`."""

    is_random = True
    """Whether the values are drawn, by a key of the random stream."""

    def __call__(self, shape: Shape, dtype: DType) -> np.ndarray:
        """Return an array of `shape` and `dtype`, drawn now."""
        return self.bind()(shape, dtype)

    def bind(self) -> Callable[[Shape, DType], np.ndarray]:
        """Take a key from the random stream now, for values that are made later.

        So a parameter's values do not depend on when, or in which order, parameters are read.
        """
        key = random.state().next_key().data if self.is_random else np.zeros(2, np.int64)

        def make(shape: Shape, dtype: DType) -> np.ndarray:
            return np.asarray(self.draw(shape, random.generator(key))).astype(dtype.numpy)

        return make

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return the values in float64."""
        raise NotImplementedError


class Zero(Initializer):
    """Zeros."""

    is_random = False

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return zeros."""
        return np.zeros(shape)


class One(Initializer):
    """Ones."""

    is_random = False

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return ones."""
        return np.ones(shape)


class Constant(Initializer):
    """One value everywhere, or an array that fits the shape.

    Parameters
    ----------
    value : number, array or Tensor
        What is broadcast to the shape.
    """

    is_random = False

    def __init__(self, value: Any) -> None:
        self.value = value.data if isinstance(value, Tensor) else np.asarray(value)

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return the value in this shape."""
        return np.array(np.broadcast_to(self.value, shape))


class Normal(Initializer):
    """A normal distribution.

    Parameters
    ----------
    sigma : float
        The standard deviation.
    mean : float
        The mean.
    """

    def __init__(self, sigma: float = 0.01, mean: float = 0.0) -> None:
        self.sigma, self.mean = sigma, mean

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return drawn values."""
        return stream.normal(self.mean, self.sigma, shape)


class Uniform(Initializer):
    """A uniform distribution from `-scale` to `scale`.

    Parameters
    ----------
    scale : float
        The bound.
    """

    def __init__(self, scale: float = 0.07) -> None:
        self.scale = scale

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return drawn values."""
        return stream.uniform(-self.scale, self.scale, shape)


class TruncatedNormal(Initializer):
    """A normal distribution cut on both sides: what lies outside is drawn again.

    Parameters
    ----------
    sigma : float
        The standard deviation before it is cut.
    mean : float
        The mean before it is cut.
    a, b : float
        Where it is cut, in standard deviations from the mean.
    """

    def __init__(
        self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0
    ) -> None:
        self.sigma, self.mean, self.a, self.b = sigma, mean, a, b

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return drawn values."""
        values = stream.standard_normal(shape)
        while (outside := (values < self.a) | (values > self.b)).any():
            values[outside] = stream.standard_normal(int(outside.sum()))
        return values * self.sigma + self.mean
