"""What a parity pair is: one function or Cell of ours, PyTorch's, and arrays to compare them on.

A pair draws its sizes, so that Hypothesis looks for shapes on which the two differ. Numbers come
from a seeded generator: they are continuous, so kinks and ties are not met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

Arrays = tuple[np.ndarray, ...]


class Draw:
    """What a pair draws its case from: sizes and choices by Hypothesis, numbers by a seed."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self._draw = draw
        self.rng = np.random.default_rng(draw(st.integers(0, 2**16)))

    def size(self, low: int = 1, high: int = 5) -> int:
        return self._draw(st.integers(low, high))

    def choice(self, options: Sequence[Any]) -> Any:
        return self._draw(st.sampled_from(options))

    def shape(self, low: int = 0, high: int = 3, side: int = 4) -> tuple[int, ...]:
        """Return a shape of ``low`` to ``high`` axes of sizes 1 to ``side``."""
        return tuple(self._draw(st.lists(st.integers(1, side), min_size=low, max_size=high)))

    def two_shapes(self, low: int = 0, high: int = 3) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return two shapes that broadcast."""
        shape = self.shape(low, high)
        other = tuple(self.choice((size, 1)) for size in shape)
        return shape, other[self._draw(st.integers(0, len(other))) :]

    def axis(self, shape: Sequence[int]) -> int:
        return self._draw(st.integers(-len(shape), len(shape) - 1))

    def normal(self, *shape: int) -> np.ndarray:
        return self.rng.standard_normal(shape)

    def uniform(self, low: float, high: float, shape: Sequence[int]) -> np.ndarray:
        return self.rng.uniform(low, high, tuple(shape))

    def positive(self, *shape: int) -> np.ndarray:
        return np.abs(self.rng.standard_normal(shape)) + 0.2

    def integers(
        self, low: int, high: int, shape: Sequence[int], dtype: type = np.int64
    ) -> np.ndarray:
        return self.rng.integers(low, high, tuple(shape)).astype(dtype)

    def bools(self, *shape: int) -> np.ndarray:
        return self.rng.random(shape) < 0.5


@dataclass(frozen=True)
class Case:
    """One comparison: ``ours`` takes Tensors, ``theirs`` torch tensors, both these arrays.

    Float arrays are cast to the dtype under test and derived by. A Cell's weights are named in
    ``weights``: the parameter's name in ``ours`` and its dotted path in ``theirs``.
    """

    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    arrays: Arrays
    weights: dict[str, str] | None = None


@dataclass(frozen=True)
class Pair:
    """A named comparison; the name begins with what it covers: ``ops.exp``, ``nn.Dense``."""

    name: str
    build: Callable[[Draw], Case]
    tolerance: float = 1.0
    """What the usual tolerance is multiplied by."""
    grad: bool = True
    """Whether gradients exist and are compared."""
    eager_only: str = ""
    """Why no static graph of it exists (the output's shape depends on values); else empty."""

    @property
    def covers(self) -> str:
        return self.name.split(" ", maxsplit=1)[0]


def unary(
    name: str,
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    low: float = -2.0,
    high: float = 2.0,
    **more: Any,
) -> Pair:
    """Return the pair of a function of one array, element by element, on ``[low, high]``."""

    def build(draw: Draw) -> Case:
        return Case(ours, theirs, (draw.uniform(low, high, draw.shape()),))

    return Pair(name, build, **more)


def binary(
    name: str,
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    low: float = -2.0,
    high: float = 2.0,
    **more: Any,
) -> Pair:
    """Return the pair of a function of two arrays that broadcast, on ``[low, high]``."""

    def build(draw: Draw) -> Case:
        return Case(ours, theirs, tuple(draw.uniform(low, high, s) for s in draw.two_shapes()))

    return Pair(name, build, **more)
