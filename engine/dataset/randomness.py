"""Random numbers of pipelines: each step's stream depends on its key, the pass and the row alone.

A dataset that draws takes a key when it is made. While it works on a row it opens a `Drawing`, and
random transforms draw from that, whatever thread or process they run in. So a seed fixes every
row, however many workers there are.
"""

from __future__ import annotations

import random as python_random
import threading
from types import TracebackType

import numpy as np

from .. import random
from .config import own_stream


class _Local(threading.local):
    def __init__(self) -> None:
        self.drawings: list[Drawing] = []


_local = _Local()


class Drawing:
    """The stream of one row of one pass, for the body of a ``with`` statement."""

    __slots__ = ("_generator", "_keys", "epoch", "key", "row")

    def __init__(self, key: np.ndarray, epoch: int, row: int) -> None:
        self.key, self.epoch, self.row = key, epoch, row
        self._generator: np.random.Generator | None = None
        self._keys = 0

    @property
    def generator(self) -> np.random.Generator:
        """NumPy's generator of this row, the same throughout the body."""
        if self._generator is None:
            self._generator = row_generator(self.key, self.epoch, self.row)
        return self._generator

    def derived_key(self) -> np.ndarray:
        """A key for a dataset that is made in the body."""
        self._keys += 1
        words = [*_unsigned(self.key), self.epoch, self.row, self._keys]
        return np.random.SeedSequence(words).generate_state(2, np.uint64).view(np.int64)

    def __enter__(self) -> Drawing:
        _local.drawings.append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _local.drawings.pop()


def new_key() -> np.ndarray:
    """A key, two int64, for a dataset that is being made."""
    if _local.drawings:
        return _local.drawings[-1].derived_key()
    return (own_stream() or random.state()).next_key().data.copy()


def stream() -> np.random.Generator:
    """The generator that a random transform draws from now."""
    if _local.drawings:
        return _local.drawings[-1].generator
    return random.generator(new_key())


def row_generator(key: np.ndarray, epoch: int, row: int) -> np.random.Generator:
    """The generator of a row; key, pass and row each have their own words of the counter."""
    words = np.array(_unsigned(key), np.uint64)
    return np.random.Generator(np.random.Philox(key=words, counter=[0, 0, row, epoch + 1]))


def pass_generator(key: np.ndarray, epoch: int) -> np.random.Generator:
    """The generator of a whole pass, as for its order."""
    return random.generator(key + np.array([0, epoch << 32]))


def seed_python(key: np.ndarray, epoch: int, row: int) -> None:
    """Seed ``random`` and ``numpy.random`` of a worker process for a row that user code makes."""
    entropy = [*_unsigned(key), epoch, row]
    word = int(np.random.SeedSequence(entropy).generate_state(1)[0])
    python_random.seed(word)
    np.random.seed(word)


def _unsigned(key: np.ndarray) -> list[int]:
    """The words of a key, of which a derived one may be negative, as seeds are written."""
    return [word & (2**64 - 1) for word in key.tolist()]
