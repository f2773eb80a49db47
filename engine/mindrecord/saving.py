"""A dataset's rows written to files of records."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .format import NUMBERS
from .writer import FileWriter

if TYPE_CHECKING:
    from ..dataset.rows import Rows

AT_ONCE = 256
"""Rows that are held before they are written."""


def save_dataset(dataset: Rows, file_name: str | Path, num_files: int, file_type: str) -> None:
    """Write one pass of a dataset, the first.

    Raises
    ------
    ValueError
        If the file type is no ``mindrecord``, there are no rows, or they differ in kind.
    """
    if file_type != "mindrecord":
        raise ValueError(f"save: file_type must be 'mindrecord', it is {file_type!r}.")
    rows = dataset.rows(0)
    first = next(rows, None)
    if first is None:
        raise ValueError("save: the dataset has no rows.")
    names = dataset.column_names
    with FileWriter(file_name, num_files, overwrite=True) as writer:
        writer.add_schema({n: _field(a, n) for n, a in zip(names, first, strict=True)})
        whole = itertools.chain([first], rows)
        while held := list(itertools.islice(whole, AT_ONCE)):
            writer.write_raw_data([dict(zip(names, row, strict=True)) for row in held])


def _field(array: np.ndarray, name: str) -> dict[str, Any]:
    if array.dtype.kind == "U" and array.ndim == 0:
        return {"type": "string"}
    if array.dtype.name not in NUMBERS:
        raise TypeError(f"save: column {name!r} holds {array.dtype} of shape {array.shape}.")
    kind: dict[str, Any] = {"type": array.dtype.name}
    return kind | ({"shape": [-1] * array.ndim} if array.ndim else {})
