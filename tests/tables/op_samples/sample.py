"""What a sample of an op is, and arrays to make samples of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

N = 5
"""Size of the batch axis; tests on symbolic shapes put a symbol in its place."""


@dataclass(frozen=True)
class Sample:
    """A call of one op on arrays; ``reference`` computes the same on float64 arrays."""

    op: str
    call: Callable[..., Any]
    arrays: tuple[np.ndarray, ...]
    reference: Callable[..., Any] | None = None
    symbolic: bool = True
    differentiable: bool = True


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Return numbers away from zero, so that kinks are not met by finite differences."""
    values = rng(seed).standard_normal(shape)
    return values + np.sign(values) * 0.1


def positive(*shape: int, seed: int = 0) -> np.ndarray:
    return np.abs(normal(*shape, seed=seed)) + 0.3


def integers(*shape: int, low: int = 0, high: int = 3, seed: int = 0) -> np.ndarray:
    return rng(seed).integers(low, high, shape).astype(np.int32)


def bools(*shape: int, seed: int = 0) -> np.ndarray:
    return rng(seed).random(shape) < 0.5


def distinct(*shape: int, seed: int = 0) -> np.ndarray:
    size = int(np.prod(shape))
    return rng(seed).permutation(size).reshape(shape) / size - 0.4
