"""How tensors are printed: MindSpore's form, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

THRESHOLD = 6
"""Axes of matrices longer than this show their first and last three elements only."""
LINE_THRESHOLD = 1000
"""The same of tensors of one axis."""
HALF = THRESHOLD // 2
_PADDED = {"f2": (11, 4), "f4": (15, 8), "f8": (15, 8)}
"""Width and digits of floats; other numbers are as wide as the widest that is shown."""


def tensor_text(array: np.ndarray, dtype_name: str) -> str:
    """Return a tensor's ``repr``: shape, dtype and values."""
    if array.size == 0:
        values = " "
    elif array.ndim == 0:
        values = f" {_text(array[()])}"
    else:
        width = max(5 if array.dtype.kind == "b" else 0, *map(len, _shown(array)))
        values = f" {_row(array, width)}" if array.ndim == 1 else f"\n{_matrix(array, width)}"
    return f"Tensor(shape={list(array.shape)}, dtype={dtype_name}, value={values})"


def _text(value: Any) -> str:
    """Return one number as C++ streams write it by default: floats with six digits."""
    return str(value) if value.dtype.kind in "iub" else f"{float(value):g}"


def _element(value: Any) -> str:
    padded = _PADDED.get(value.dtype.str[1:])
    return f"{float(value):{padded[0]}.{padded[1]}e}" if padded else _text(value)


def _parts(array: np.ndarray, long: int) -> list[np.ndarray]:
    return [array[:HALF], array[-HALF:]] if len(array) > long else [array]


def _shown(array: np.ndarray) -> Iterator[str]:
    """Yield every element that is printed."""
    if array.ndim == 1:
        parts = _parts(array, LINE_THRESHOLD)
        yield from (_element(value) for part in parts for value in part)
        return
    ends = [np.r_[0:HALF, n - HALF : n] if n > THRESHOLD else np.arange(n) for n in array.shape]
    yield from map(_element, array[np.ix_(*ends)].reshape(-1))


def _row(array: np.ndarray, width: int) -> str:
    """Return a tensor of one axis, broken into lines of 12 floats or truth values, 24 others."""
    a_line = 2 * THRESHOLD if array.dtype.str[1:] in (*_PADDED, "b1") else 4 * THRESHOLD
    texts = []
    for part in _parts(array, LINE_THRESHOLD):
        broken = len(part) > HALF
        text = ""
        for number, value in enumerate(part, 1):
            text += f"{_element(value):>{width}}" + (", " if number < len(part) else "")
            if broken and number % a_line == 0:
                text += "\n "
        texts.append(text)
    return f"[{' ... '.join(texts)}]"


def _matrix(array: np.ndarray, width: int, depth: int = 0) -> str:
    parts = _parts(array, THRESHOLD)
    if array.ndim == 1:
        rows = [", ".join(f"{_element(value):>{width}}" for value in part) for part in parts]
        return f"[{' ... '.join(rows)}]"
    indent = "\n" + " " * (depth + 1)
    texts = [f",{indent}".join(_matrix(row, width, depth + 1) for row in part) for part in parts]
    return f"[{f',{indent}...{indent}'.join(texts)}]"
