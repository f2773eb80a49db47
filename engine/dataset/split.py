"""The split into rows to train on and rows held out."""

from __future__ import annotations

import math

import numpy as np


def held_out_count(rows: int, share: float) -> int:
    """How many of the rows are held out: their share, rounded up."""
    return math.ceil(rows * share)


def split_rows(rows: int, share: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw the rows that are held out; the same seed always draws the same.

    Parameters
    ----------
    rows : int
        How many rows there are.
    share : float
        The share held out, in 0..1, rounded up to whole rows.
    seed : int
        Seed of the draw.

    Returns
    -------
    tuple of ndarray
        The numbers of the rows to train on and of those held out, int64, rising.
    """
    held = held_out_count(rows, share)
    order = np.random.Generator(np.random.Philox(seed)).permutation(rows)
    return np.sort(order[held:]), np.sort(order[:held])
