"""Random numbers from counters: the same seed and step give the same numbers everywhere.

A key is two integers, the seed and how many keys were drawn before it. Random ops compute their
numbers from their key alone (Philox), so a run resumed from its saved state goes on bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from .ops.registry import traces
from .tensor import Tensor, wrap


@dataclass(slots=True)
class RandomState:
    """Where a stream of keys stands: its seed and the number of keys drawn so far."""

    seed: int = 0
    step: int = 0

    def next_key(self) -> Tensor:
        """Return the next key, an Int64 tensor ``[seed, step]``, and count it."""
        key = wrap(np.array([self.seed, self.step], np.int64))
        self.step += 1
        return key

    def save(self) -> tuple[int, int]:
        """Return the whole state as two ints."""
        return self.seed, self.step

    def restore(self, saved: tuple[int, int]) -> None:
        """Go back to a saved state."""
        self.seed, self.step = int(saved[0]), int(saved[1])


_states: list[RandomState] = [RandomState()]
_seedings = 0


def state() -> RandomState:
    """Return the stream that random ops draw from now."""
    return _states[-1]


def set_seed(seed: int) -> None:
    """Start the current stream again from ``seed``.

    Raises
    ------
    TypeError
        If the seed is not an int.
    ValueError
        If it is negative.
    """
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool):
        raise TypeError(f"set_seed: seed must be an int, it is {seed!r}.")
    if seed < 0:
        raise ValueError(f"set_seed: seed must not be negative, it is {seed}.")
    global _seedings
    _seedings += 1
    state().restore((int(seed), 0))


def seedings() -> int:
    """Return how often ``set_seed`` was called; a seed of datasets alone holds until the next."""
    return _seedings


def get_seed() -> int:
    """Return the current stream's seed."""
    return state().seed


@contextmanager
def using(chosen: RandomState) -> Iterator[RandomState]:
    """Let the body's random ops draw from ``chosen``."""
    _states.append(chosen)
    try:
        yield chosen
    finally:
        _states.pop()


def next_key() -> Tensor:
    """Return a key for one random op; in a trace it is an input that each call fills anew."""
    if traces:
        return traces[-1].random_key()
    return state().next_key()


def generator(key: np.ndarray) -> np.random.Generator:
    """Return NumPy's generator for a key."""
    words = np.asarray(key, np.int64).astype(np.uint64)
    return np.random.Generator(np.random.Philox(key=words))


def permutation(count: int, key: Tensor | None = None) -> np.ndarray:
    """Return the numbers below ``count`` in an order that the key alone decides."""
    return generator((next_key() if key is None else key).data).permutation(count)
