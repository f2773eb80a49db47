"""Rows as tuples of arrays, one a column, and what Python values become in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dtype import dtype_of
from ..tensor import Tensor, wrap

Row = tuple[np.ndarray, ...]


class TextArray(np.ndarray):
    """An array of text as an iterator gives it: element types of Tensors are numbers."""

    def asnumpy(self) -> np.ndarray:
        """The text as a plain NumPy array."""
        return np.asarray(self)


class FileBytes(np.ndarray):
    """The bytes of a file, which knows its name, so that errors can tell it."""

    file: str = ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Worker processes are told the name too."""
        return file_contents, (self.tobytes(), self.file)


def file_contents(data: bytes, file: str) -> FileBytes:
    """Bytes as an array of uint8 that can be written to."""
    contents = np.frombuffer(data, np.uint8).copy().view(FileBytes)
    contents.file = file
    return contents


def to_array(value: Any) -> np.ndarray:
    """A value of a row as an array; bytes become uint8, since NumPy's own cut zeros off.

    Raises
    ------
    TypeError
        If it is no number, text, bytes or nesting of those with one shape.
    """
    if isinstance(value, np.ndarray):
        array = value
    elif isinstance(value, Tensor):
        return value.asnumpy()
    elif isinstance(value, bytes | bytearray | memoryview):
        return np.frombuffer(value, np.uint8).copy()
    elif type(value).__module__.startswith("PIL."):
        return np.array(value)
    else:
        try:
            array = np.asarray(value)
        except ValueError as error:
            raise TypeError(f"a nested list whose parts differ in length: {error}.") from error
    if array.dtype.kind not in "biufUSV" or array.dtype.names:
        raise TypeError(
            f"a value of type {type(value).__name__} with elements of {array.dtype}; give numbers,"
            " text, bytes or arrays of them."
        )
    return array


def as_columns(row: Any, names: Sequence[str]) -> Row:
    """A row as a tuple of arrays, one a column.

    Raises
    ------
    ValueError
        If it has more or fewer values than columns.
    TypeError
        If a value is nothing that an array can hold.
    """
    if isinstance(row, Mapping):
        missing = [name for name in names if name not in row]
        if missing:
            raise ValueError(f"a row has no {', '.join(missing)}; it has {', '.join(row)}.")
        row = tuple(row[name] for name in names)
    values = row if isinstance(row, tuple) else (row,)
    if len(values) != len(names):
        raise ValueError(
            f"a row has {len(values)} values for {len(names)} columns ({', '.join(names)})."
        )
    return tuple(named_array(value, name) for value, name in zip(values, names, strict=True))


def named_array(value: Any, name: str) -> np.ndarray:
    """`to_array`, its errors with the column's name."""
    try:
        return to_array(value)
    except TypeError as error:
        raise TypeError(f"column {name!r} got {error}") from error


def to_tensor(array: np.ndarray, name: str) -> Any:
    """A column's value as an iterator gives it: a Tensor, or a `TextArray` of text."""
    if array.dtype.kind in "US":
        return array.view(TextArray)
    try:
        dtype_of(array.dtype)
    except TypeError as error:
        raise TypeError(
            f"column {name!r} holds {array.dtype}, which no Tensor holds; iterate with"
            " output_numpy=True, or change the type by map(transforms.TypeCast(…))."
        ) from error
    return wrap(np.asarray(array, order="C"))


def listed(columns: str | Sequence[str] | None) -> list[str]:
    """Column names as a list, of one name, several or none."""
    if columns is None:
        return []
    return [columns] if isinstance(columns, str) else list(columns)


def require_columns(method: str, names: Sequence[str], known: Sequence[str]) -> None:
    """ValueError where a name is no column, or is given twice."""
    unknown = [str(name) for name in names if name not in known]
    if unknown:
        raise ValueError(f"{method}: no column {', '.join(unknown)}; there are {', '.join(known)}.")
    require_distinct(method, names)


def require_distinct(method: str, names: Sequence[str]) -> None:
    """ValueError where two columns would have one name."""
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise ValueError(f"{method}: two columns are named {', '.join(twice)}; rename one of them.")


def positive(method: str, name: str, value: Any) -> int:
    """An int above zero; TypeError or ValueError where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{method}: {name} must be an int, it is {value!r}.")
    if value < 1:
        raise ValueError(f"{method}: {name} must be positive, it is {value}.")
    return int(value)


def filled(shape: tuple[int, ...], value: Any, dtype: np.dtype[Any], where: str) -> np.ndarray:
    """An array full of one value (None: zero or empty text), of the type, or of wider text.

    Raises
    ------
    TypeError
        If text is asked of an array of numbers, or a number of one of text.
    ValueError
        If the type cannot hold the value.
    """
    text = dtype.kind in "US"
    if value is None:
        value = "" if text else 0
    if text:
        if not isinstance(value, str | bytes):
            raise TypeError(f"{where}: {value!r} does not go into text.")
        found = np.asarray(value)
        wide = np.char.encode(found) if dtype.kind == "S" and found.dtype.kind == "U" else found
        return np.full(shape, value, max(dtype, wide.dtype, key=lambda kind: kind.itemsize))
    number = np.asarray(value)
    if number.dtype.kind not in "biuf":
        raise TypeError(f"{where}: {value!r} does not go into an array of {dtype}.")
    cast = number.astype(dtype)
    if dtype.kind in "iub" and cast != number:
        raise ValueError(f"{where}: {value!r} does not fit into {dtype}.")
    return np.full(shape, cast)


def join_rows(rows: Sequence[Row], names: Sequence[str], first: int, method: str) -> Row:
    """Rows stacked column by column; `first` is the first one's number, for the error.

    Raises
    ------
    ValueError
        If the rows of a column differ in shape.
    """
    joined: list[np.ndarray] = []
    for name, arrays in zip(names, zip(*rows, strict=True), strict=True):
        shape = arrays[0].shape
        for number, array in enumerate(arrays):
            if array.shape != shape:
                raise ValueError(
                    f"{method}: rows of column {name!r} differ in shape: row {first} is {shape},"
                    f" row {first + number} is {array.shape}. Bring them to one shape by map (an"
                    " image by vision.Resize, text by transforms.PadEnd), or use padded_batch."
                )
        joined.append(np.stack(arrays))
    return tuple(joined)
