"""How tensors are printed: MindSpore's form, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .dtype import dtype_of

THRESHOLD = 6
"""Axes of matrices longer than this show their first and last three elements only."""


def tensor_text(array: np.ndarray, dtype_name: str) -> str:
    """Return a tensor's ``repr``: shape, dtype and values."""
    values = f"\n{_nested(array)}" if array.ndim > 1 else f" {_flat(array)}"
    return f"Tensor(shape={list(array.shape)}, dtype={dtype_name}, value={values})"


def _scalar(value: Any) -> str:
    return f"{float(value):g}" if dtype_of(value.dtype).is_float else str(value)


def _writer(array: np.ndarray) -> Callable[[Any], str]:
    """Return what writes one element: numbers of one array are equally wide."""
    if dtype_of(array.dtype).is_float:
        digits, width = (4, 11) if array.dtype.itemsize == 2 else (8, 15)
        return lambda value: f"{float(value):{width}.{digits}e}"
    if array.dtype.kind == "b":
        return lambda value: f"{value!s:>5}"
    ends = (array.min(), array.max()) if array.size else (0,)
    width = max(len(str(end)) for end in ends)
    return lambda value: f"{value!s:>{width}}"


def _flat(array: np.ndarray) -> str:
    if array.ndim == 0:
        return _scalar(array[()])
    write = _writer(array)
    a_line = 4 * THRESHOLD if array.dtype.kind in "iu" else 2 * THRESHOLD
    parts = []
    for number, value in enumerate(array, 1):
        last = number == len(array)
        parts.append(write(value) + ("" if last else ", "))
        if number % a_line == 0 and not last:
            parts.append("\n ")
    return f"[{''.join(parts)}]"


def _nested(array: np.ndarray, depth: int = 0, write: Callable[[Any], str] | None = None) -> str:
    write = write or _writer(array)
    half, long = THRESHOLD // 2, len(array) > THRESHOLD
    if array.ndim == 1:
        shown = [", ".join(map(write, part)) for part in _ends(array, half, long)]
        return f"[{' ... '.join(shown)}]"
    rows = [[_nested(row, depth + 1, write) for row in part] for part in _ends(array, half, long)]
    indent = ",\n" + " " * (depth + 1)
    if not long:
        return f"[{indent.join(rows[0])}]"
    return f"[{indent.join(rows[0])}{indent}...\n{' ' * (depth + 1)}{indent.join(rows[1])}]"


def _ends(array: np.ndarray, half: int, long: bool) -> list[np.ndarray]:
    return [array[:half], array[-half:]] if long else [array]
