"""The hand-written digits that come with Cellwire (``assets/data/ATTRIBUTION.md``)."""

from __future__ import annotations

import math
from importlib.resources import files
from typing import Literal

import numpy as np

from .sources import NumpySlicesDataset

HELD_OUT = 0.2
"""Share of the digits that is held out."""


def digits() -> dict[str, np.ndarray]:
    """Return all digits: images N×1×8×8 uint8 in 0..16, labels N int32 in 0..9."""
    with (files("cellwire.assets") / "data" / "digits.npz").open("rb") as stream:
        data = np.load(stream, allow_pickle=False)
        return {
            "images": data["images"].reshape(-1, 1, 8, 8).astype(np.uint8),
            "labels": data["labels"].astype(np.int32),
        }


class DigitsDataset(NumpySlicesDataset):
    """1,797 hand-written digits, columns ``image`` 1×8×8 uint8 in 0..16 and ``label`` int32.

    Parameters
    ----------
    usage : {"train", "test", "all"}
        The 1,437 digits to train on, the 360 held out, or all; the split is always the same.
    shuffle : bool, optional
        Whether rows come in random order, anew each pass; by default they do.

    Raises
    ------
    ValueError
        If `usage` is something else.
    """

    def __init__(
        self, usage: Literal["train", "test", "all"] = "all", shuffle: bool | None = None
    ) -> None:
        if usage not in ("train", "test", "all"):
            raise ValueError(f"DigitsDataset: usage must be train, test or all, it is {usage!r}.")
        arrays = digits()
        count = len(arrays["labels"])
        held = math.ceil(count * HELD_OUT)
        order = np.random.Generator(np.random.Philox(0)).permutation(count)
        rows = {"train": order[held:], "test": order[:held], "all": order}[usage]
        columns = {"image": arrays["images"], "label": arrays["labels"]}
        chosen = np.sort(rows)
        super().__init__({name: a[chosen] for name, a in columns.items()}, shuffle=shuffle)
