"""The hand-written digits that come with Cellwire (``assets/data/ATTRIBUTION.md``)."""

from __future__ import annotations

from importlib.resources import files
from typing import Literal

import numpy as np

from .sources import NumpySlicesDataset
from .split import split_rows

HELD_OUT = 0.2
"""Share of the digits that is held out."""


def load_digits() -> dict[str, np.ndarray]:
    """Return all digits.

    Returns
    -------
    dict of str to ndarray
        ``images`` N×1×8×8 uint8 in 0..16, ``labels`` N int32 in 0..9.
    """
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
        arrays = load_digits()
        count = len(arrays["labels"])
        train, test = split_rows(count, HELD_OUT)
        chosen = {"train": train, "test": test, "all": np.arange(count)}[usage]
        columns = {"image": arrays["images"], "label": arrays["labels"]}
        super().__init__({name: a[chosen] for name, a in columns.items()}, shuffle=shuffle)
