"""Primitive classes that are called otherwise than an op's function: MindSpore's own forms."""

from __future__ import annotations

from typing import Any

from ..dtype import float32, int32
from ..random import Generator
from ..shape import Dim, ShapeError
from ..tensor import Tensor
from . import creation, distributions, logic, masking, random_numbers, shapes, splitting
from .dropout import dropout, dropout2d, dropout3d
from .padding import pad


class _Plain:
    """A primitive without attributes."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Shape(_Plain):
    """Gives the sizes of a tensor's axes."""

    def __call__(self, input_x: Tensor) -> tuple[Dim, ...]:
        """Return the sizes."""
        return shapes.shape(input_x)


class Rank(_Plain):
    """Gives the number of a tensor's axes."""

    def __call__(self, input_x: Tensor) -> Tensor:
        """Return the number of axes."""
        return shapes.rank(input_x)


class Size(_Plain):
    """Gives the number of a tensor's elements."""

    def __call__(self, input_x: Tensor) -> Dim:
        """Return the number of elements."""
        return shapes.size(input_x)


class DType(_Plain):
    """Gives a tensor's element type."""

    def __call__(self, input_x: Tensor) -> Any:
        """Return the element type."""
        return shapes.dtype(input_x)


class Fill(_Plain):
    """Fills a new tensor with one number."""

    def __call__(self, type: Any, shape: Any, value: float) -> Tensor:
        """Return the filled tensor."""
        return creation.fill(type, shape, value)


class Zeros(_Plain):
    """Makes zeros."""

    def __call__(self, shape: Any, type: Any = float32) -> Tensor:
        """Return zeros of a shape and dtype."""
        return creation.zeros(shape, type)


class Ones(_Plain):
    """Makes ones."""

    def __call__(self, shape: Any, type: Any = float32) -> Tensor:
        """Return ones of a shape and dtype."""
        return creation.ones(shape, type)


class NonZero(_Plain):
    """Finds the elements that are not zero."""

    def __call__(self, x: Tensor) -> Tensor:
        """Return their positions, ``[count, axes]``."""
        return masking.argwhere(x)


class Range:
    """Counts numbers up.

    Parameters
    ----------
    maxlen : int
        The most numbers allowed.
    """

    def __init__(self, maxlen: int = 1000000) -> None:
        self.maxlen = maxlen

    def __call__(self, start: Any, limit: Any, delta: Any) -> Tensor:
        """Return the numbers from ``start`` up to, not including, ``limit``."""
        return creation.range(start, limit, delta, self.maxlen)


class MirrorPad:
    """Mirrors elements at the ends of the axes.

    Parameters
    ----------
    mode : str
        ``"REFLECT"`` at the outer elements, ``"SYMMETRIC"`` beyond them.
    """

    def __init__(self, mode: str = "REFLECT") -> None:
        if mode not in ("REFLECT", "SYMMETRIC"):
            raise ValueError(f"MirrorPad: mode must be 'REFLECT' or 'SYMMETRIC', it is {mode!r}.")
        self.mode = mode

    def __call__(self, input_x: Tensor, paddings: Any) -> Tensor:
        """Return the larger tensor; ``paddings`` has two numbers an axis."""
        pairs = paddings.tolist() if isinstance(paddings, Tensor) else paddings
        return pad(input_x, pairs, self.mode)


class Split:
    """Cuts a tensor along an axis into pieces of one size.

    Parameters
    ----------
    axis : int
        The axis to cut.
    output_num : int
        The number of pieces, which divides the axis.
    """

    def __init__(self, axis: int = 0, output_num: int = 1) -> None:
        self.axis, self.output_num = axis, output_num

    def __call__(self, input_x: Tensor) -> tuple[Tensor, ...]:
        """Return the pieces."""
        size = input_x.shape[self.axis]
        if size % self.output_num:
            raise ShapeError(
                f"Split: axis {self.axis} has size {size}, which output_num {self.output_num} does"
                " not divide."
            )
        return splitting.split(input_x, size // self.output_num, self.axis)


class _Dropping:
    """Dropout as a primitive: it always drops, and gives the mask as well.

    Parameters
    ----------
    keep_prob : float
        Probability of being kept.
    """

    def __init__(self, keep_prob: float = 0.5) -> None:
        if not 0 <= keep_prob <= 1:
            raise ValueError(
                f"{type(self).__name__}: keep_prob must be in 0..1, it is {keep_prob}."
            )
        self.keep_prob = keep_prob

    def _dropped(self, function: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        marks = function(creation.ones_like(x), 1.0 - self.keep_prob)
        return x * marks, logic.not_equal(marks, 0)


class Dropout(_Dropping):
    """Sets elements to zero; gives the result and the mask of what was kept."""

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the result and the mask."""
        return self._dropped(dropout, x)


class Dropout2D(_Dropping):
    """Sets channels of ``[n, c, h, w]`` to zero; gives the result and the mask of what was kept."""

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the result and the mask."""
        return self._dropped(dropout2d, x)


class Dropout3D(_Dropping):
    """Sets channels of ``[n, c, d, h, w]`` to zero; gives the result and the mask."""

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the result and the mask."""
        return self._dropped(dropout3d, x)


class _Drawing:
    """A random primitive: with seeds it is a stream of its own, which goes on from call to call.

    Parameters
    ----------
    seed, seed2 : int
        Where its stream starts; both zero draw from the current stream.
    """

    def __init__(self, seed: int = 0, seed2: int = 0) -> None:
        self.stream = Generator(seed + (seed2 << 31)) if seed or seed2 else None


class StandardNormal(_Drawing):
    """Draws from the standard normal distribution."""

    def __call__(self, shape: Any) -> Tensor:
        """Return ``Float32`` numbers of a shape."""
        return random_numbers.standard_normal(shape, self.stream)


class StandardLaplace(_Drawing):
    """Draws from the Laplace distribution of mean 0 and scale 1."""

    def __call__(self, shape: Any) -> Tensor:
        """Return ``Float32`` numbers of a shape."""
        return distributions.standard_laplace(shape, self.stream)


class UniformReal(_Drawing):
    """Draws evenly from 0 to 1."""

    def __call__(self, shape: Any) -> Tensor:
        """Return ``Float32`` numbers of a shape."""
        return random_numbers.rand(shape, seed=self.stream)


class UniformInt(_Drawing):
    """Draws whole numbers, each as likely."""

    def __call__(self, shape: Any, minval: Any, maxval: Any) -> Tensor:
        """Return Int32 numbers from ``minval`` to below ``maxval``."""
        return random_numbers.randint(int(minval), int(maxval), shape, self.stream, dtype=int32)


class Gamma(_Drawing):
    """Draws from gamma distributions."""

    def __call__(self, shape: Any, alpha: Any, beta: Any) -> Tensor:
        """Return numbers by shape parameter and rate."""
        return distributions.gamma(shape, alpha, beta, self.stream)


class Poisson(_Drawing):
    """Draws counts from Poisson distributions."""

    def __call__(self, shape: Any, mean: Any) -> Tensor:
        """Return Int32 counts."""
        return distributions.random_poisson(shape, mean, self.stream, int32)


class Multinomial(_Drawing):
    """Chooses positions with the probabilities that weights give, each anew."""

    def __call__(self, x: Tensor, num_samples: int) -> Tensor:
        """Return Int32 positions."""
        return distributions.multinomial(x, num_samples, True, self.stream)


CLASSES: dict[str, type] = {
    item.__name__: item
    for item in (
        Shape, Rank, Size, DType, Fill, Zeros, Ones, NonZero, Range, MirrorPad, Split, Dropout,
        Dropout2D, Dropout3D, StandardNormal, StandardLaplace, UniformReal, UniformInt, Gamma,
        Poisson, Multinomial,
    )
}  # fmt: skip
"""The classes by their names."""
