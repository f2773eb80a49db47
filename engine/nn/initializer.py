"""Initial values of parameters, drawn from the current random stream when they are first read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import random
from ..dtype import DType, dtype_of, float32
from ..tensor import LazyTensor, Tensor

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


def fans(shape: Shape) -> tuple[int, int]:
    """How many inputs an output sums, and outputs an input reaches, of a weight `[out, in, ...]`.

    Raises
    ------
    ValueError
        If the shape has fewer than two axes.
    """
    if len(shape) < 2:
        raise ValueError(f"this initializer needs a weight of two axes or more, not {list(shape)}.")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


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
    """One value everywhere, or an array that fits the shape."""

    is_random = False

    def __init__(self, value: Any) -> None:
        self.value = value.data if isinstance(value, Tensor) else np.asarray(value)

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return the value in this shape."""
        return np.array(np.broadcast_to(self.value, shape))


class Normal(Initializer):
    """A normal distribution of standard deviation `sigma` around `mean`."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0) -> None:
        self.sigma, self.mean = sigma, mean

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return drawn values."""
        return stream.normal(self.mean, self.sigma, shape)


class Uniform(Initializer):
    """A uniform distribution from `-scale` to `scale`."""

    def __init__(self, scale: float = 0.07) -> None:
        self.scale = scale

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return drawn values."""
        return stream.uniform(-self.scale, self.scale, shape)


class TruncatedNormal(Initializer):
    """A normal distribution cut at `a` and `b` standard deviations (drawn again outside)."""

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


class XavierUniform(Initializer):
    """Uniform within ``gain * sqrt(6 / (fan_in + fan_out))``.

    References
    ----------
    Glorot and Bengio, Understanding the difficulty of training deep feedforward networks, 2010.
    """

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return drawn values."""
        bound = self.gain * math.sqrt(6.0 / sum(fans(shape)))
        return stream.uniform(-bound, bound, shape)


class HeUniform(Initializer):
    """Uniform within ``gain * sqrt(3 / fan)``, the gain being that of a leaky ReLU.

    Parameters
    ----------
    negative_slope : float
        The slope of the leaky ReLU that follows; 0 is ReLU, ``sqrt(5)`` the usual for layers.
    mode : {"fan_in", "fan_out"}
        Which side's size keeps its variance.
    nonlinearity : {"leaky_relu", "relu"}
        What follows.

    References
    ----------
    He et al., Delving Deep into Rectifiers, 2015.
    """

    def __init__(
        self,
        negative_slope: float = 0.0,
        mode: str = "fan_in",
        nonlinearity: str = "leaky_relu",
    ) -> None:
        if mode not in ("fan_in", "fan_out"):
            raise ValueError(f"HeUniform: mode must be 'fan_in' or 'fan_out', it is {mode!r}.")
        self.slope = negative_slope if nonlinearity == "leaky_relu" else 0.0
        self.mode = mode

    @property
    def gain(self) -> float:
        """What the nonlinearity takes from the variance, as a factor."""
        return math.sqrt(2.0 / (1.0 + self.slope**2))

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return drawn values."""
        fan = fans(shape)[self.mode == "fan_out"]
        bound = self.gain * math.sqrt(3.0 / fan)
        return stream.uniform(-bound, bound, shape)


class HeNormal(HeUniform):
    """Normal of standard deviation ``gain / sqrt(fan)``; see `HeUniform`."""

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return drawn values."""
        fan = fans(shape)[self.mode == "fan_out"]
        return stream.normal(0.0, self.gain / math.sqrt(fan), shape)


NAMED: dict[str, Callable[[], Initializer]] = {
    "zeros": Zero,
    "zero": Zero,
    "ones": One,
    "one": One,
    "normal": Normal,
    "uniform": Uniform,
    "truncatednormal": TruncatedNormal,
    "xavieruniform": XavierUniform,
    "xavier_uniform": XavierUniform,
    "heuniform": HeUniform,
    "he_uniform": HeUniform,
    "henormal": HeNormal,
    "he_normal": HeNormal,
}
"""What the names of initializers mean; upper and lower case are the same."""


def initializer(
    init: Tensor | str | Initializer | float,
    shape: Sequence[int] | int | None = None,
    dtype: Any = float32,
) -> Tensor:
    """Return a tensor whose values are made when it is first read.

    Parameters
    ----------
    init : Tensor, str, Initializer or number
        The name of an initializer (``"normal"``, ``"HeUniform"``, ``"zeros"``, …), one itself, a
        number for all elements, or a tensor of the values.
    shape : sequence of int, optional
        The shape; a tensor's own if left out.
    dtype : DType
        Element type.

    Raises
    ------
    ValueError
        If no initializer has that name, or a tensor has another shape.
    """
    kind = dtype_of(dtype)
    if isinstance(init, Tensor):
        sizes = init.shape if shape is None else _sizes(shape)
        if init.shape != sizes:
            raise ValueError(
                f"initializer: the tensor has shape {list(init.shape)}, wanted is {list(sizes)}."
            )
        return LazyTensor(sizes, kind, Constant(init).bind())
    if shape is None:
        raise ValueError("initializer: give a shape.")
    if isinstance(init, str):
        if init.lower() not in NAMED:
            raise ValueError(f"initializer: no {init!r}; use one of {', '.join(sorted(NAMED))}.")
        init = NAMED[init.lower()]()
    elif not isinstance(init, Initializer):
        init = Constant(init)
    return LazyTensor(_sizes(shape), kind, init.bind())


def _sizes(shape: Sequence[int] | int) -> Shape:
    sizes = (shape,) if isinstance(shape, int) else tuple(int(size) for size in shape)
    if any(size < 1 for size in sizes):
        raise ValueError(f"initializer: all sizes must be positive, the shape is {list(sizes)}.")
    return sizes
