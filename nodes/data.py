"""What data nodes hold: rows of arrays by port, split into training and held-out rows."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..engine.dataset.digits import load_digits
from ..engine.dataset.files import DataError
from ..engine.dataset.split import split_rows
from ..engine.tensor import Tensor, from_numpy

PREVIEW_ROWS = 32
"""Rows that a data node gives when nobody feeds it."""


@dataclass(frozen=True, eq=False)
class DataSource:
    """Rows of arrays by output port, and which of them are for training and which held out.

    The split is drawn once from `seed`; `held_out` is the share of the rows, rounded up.
    """

    arrays: Mapping[str, np.ndarray]
    held_out_share: float = 0.0
    seed: int = 0
    name: str = "data"
    _split: tuple[np.ndarray, np.ndarray] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        counts = {len(array) for array in self.arrays.values()}
        if len(counts) != 1:
            each = ", ".join(f"{port} {len(array)}" for port, array in self.arrays.items())
            raise DataError(f"{self.name} has arrays of different lengths: {each} rows.")
        split = split_rows(self.rows, self.held_out_share, self.seed)
        object.__setattr__(self, "_split", split)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.arrays.values())))

    @property
    def train(self) -> np.ndarray:
        """The numbers of the rows to train on, rising."""
        return self._split[0]

    @property
    def held_out(self) -> np.ndarray:
        """The numbers of the rows held out, rising."""
        return self._split[1]

    def take(self, rows: np.ndarray | slice) -> dict[str, np.ndarray]:
        """Those rows of each array, by port."""
        return {port: array[rows] for port, array in self.arrays.items()}

    def __call__(self) -> tuple[Tensor, ...]:
        """The first training rows, one tensor a port: what an unfed data node gives."""
        return tuple(from_numpy(part) for part in self.take(self.train[:PREVIEW_ROWS]).values())


@functools.cache
def digits() -> dict[str, np.ndarray]:
    """The hand-written digits: images N×1×8×8 uint8 in 0..16, labels N int32 in 0..9."""
    return load_digits()
