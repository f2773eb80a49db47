"""Random numbers from counters: the same seed and step give the same numbers everywhere.

A key is two integers, the seed and how many keys were drawn before it. Random ops compute their
numbers from their key alone (Philox), so a run resumed from its saved state goes on bit for bit.
"""

from __future__ import annotations

import secrets
import threading
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

    Parameters
    ----------
    seed : int
        Where it starts, not negative.

    Raises
    ------
    TypeError
        If the seed is not an int.
    ValueError
        If it is negative.
    """
    _require_seed("set_seed", seed)
    global _seedings
    _seedings += 1
    state().restore((int(seed), 0))


def seedings() -> int:
    """Return how often ``set_seed`` was called; a seed of datasets alone holds until the next."""
    return _seedings


def get_seed() -> int:
    """Return the current stream's seed.

    Returns
    -------
    int
        The seed from which it started.
    """
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


class Generator:
    """A random stream of its own, for ops that take ``seed=generator``.

    Parameters
    ----------
    seed : int
        Where the stream starts.
    """

    def __init__(self, seed: int = 0) -> None:
        self._state = RandomState()
        self._first = 0
        self.manual_seed(seed)

    def manual_seed(self, seed: int) -> Generator:
        """Start again from ``seed`` and return this generator."""
        _require_seed("manual_seed", seed)
        self._first = int(seed)
        self._state.restore((self._first, 0))
        return self

    def seed(self) -> int:
        """Start again from a seed that nobody can foresee, and return it."""
        chosen = secrets.randbits(62)
        self.manual_seed(chosen)
        return chosen

    def initial_seed(self) -> int:
        """Return the seed from which the stream started."""
        return self._first

    def get_state(self) -> Tensor:
        """Return where the stream stands, an Int64 tensor ``[2]`` for ``set_state``."""
        return wrap(np.array(self._state.save(), np.int64))

    def set_state(self, state: Tensor) -> None:
        """Go back to where ``get_state`` was called.

        Raises
        ------
        ValueError
            If the tensor is none of ``get_state``'s.
        """
        self._state.restore(_as_state(state))
        self._first = self._state.seed

    def next_key(self) -> Tensor:
        """Return the next key of this stream.

        Raises
        ------
        TraceBreak
            In a trace: a compiled function draws from the current stream alone.
        """
        if traces and traces[-1].thread == threading.get_ident():
            from .compiler.traced import TraceBreak  # the compiler imports the random streams

            raise TraceBreak(
                "a Generator was drawn from",
                "let the op draw from the current stream (set_seed), or call it outside",
            )
        return self._state.next_key()

    def __repr__(self) -> str:
        return f"Generator(seed={self._state.seed}, step={self._state.step})"


def _as_state(state: Tensor) -> tuple[int, int]:
    array = np.asarray(state)
    if array.shape != (2,) or array.dtype.kind != "i" or (array < 0).any():
        raise ValueError(
            "a random state is an Int64 tensor [2] as get_state or get_rng_state returns it, not"
            f" {state!r}."
        )
    return int(array[0]), int(array[1])


def _require_seed(name: str, seed: int) -> None:
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool):
        raise TypeError(f"{name}: seed must be an int, it is {seed!r}.")
    if seed < 0:
        raise ValueError(f"{name}: seed must not be negative, it is {seed}.")


def manual_seed(seed: int) -> None:
    """Start the current stream again from ``seed``: ``set_seed`` by its other name.

    Parameters
    ----------
    seed : int
        Where it starts, not negative.
    """
    set_seed(seed)


def seed() -> int:
    """Start the current stream again from a seed that nobody can foresee.

    Returns
    -------
    int
        The seed.
    """
    chosen = secrets.randbits(62)
    set_seed(chosen)
    return chosen


def initial_seed() -> int:
    """Return the seed from which the current stream started.

    Returns
    -------
    int
        The seed.
    """
    return state().seed


def get_rng_state() -> Tensor:
    """Return where the current stream stands.

    Returns
    -------
    Tensor
        Int64 ``[2]`` for ``set_rng_state``.
    """
    return wrap(np.array(state().save(), np.int64))


def set_rng_state(state: Tensor) -> None:
    """Let the current stream go on from where ``get_rng_state`` was called.

    Parameters
    ----------
    state : Tensor
        What ``get_rng_state`` returned.

    Raises
    ------
    ValueError
        If the tensor is none of ``get_rng_state``'s.
    """
    _states[-1].restore(_as_state(state))
