"""Rows from files: arrays of a `.npz` file, columns of a CSV file."""

from __future__ import annotations

import csv
import math
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

NPZ_ERRORS = (OSError, ValueError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)
Header = tuple[tuple[int, ...], np.dtype[Any]]
"""Shape of one row and element type."""


class DataError(ValueError):
    """Data that cannot be read, with what to do about it.

    Parameters
    ----------
    message : str
        What is wrong, and where.
    fix : str
        What to do about it.
    """

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


def npz_headers(path: Path, names: Collection[str] = ()) -> dict[str, tuple[int, Header]]:
    """Rows, row shape and element type of each array of a `.npz` file, reading headers only.

    DataError where the file is not readable, or has no array of numbers for one of the `names`.
    """
    found: dict[str, tuple[int, Header]] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                with archive.open(member) as stream:
                    shape, dtype = _npy_header(stream)
                if not shape or dtype.kind not in "biuf":
                    continue
                found[member.removesuffix(".npy")] = (shape[0], (shape[1:], _kept(dtype)))
    except FileNotFoundError:
        raise _missing(path) from None
    except NPZ_ERRORS as error:
        raise _no_npz(path, error) from error
    for name in names:
        if name not in found:
            known = ", ".join(found) or "none"
            raise DataError(
                f"{path.name} has no array of numbers {name!r}; it has {known}.",
                "Take the name of an array in the file.",
            )
    return found


def load_npz(path: str | Path, names: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Read arrays of numbers from a `.npz` file.

    Parameters
    ----------
    path : str or Path
        The file, as ``numpy.savez`` writes it.
    names : dict of str to str
        What is read: the name that an array gets, and its name in the file.

    Returns
    -------
    dict of str to ndarray
        The arrays; float64 becomes float32, and int64 and unsigned integers above 8 bits int32.

    Raises
    ------
    DataError
        If the file is missing or damaged, has no such array, or holds a value that does not fit.
    """
    path = Path(path)
    headers = npz_headers(path, names.values())
    try:
        with np.load(path, allow_pickle=False) as data:
            read = {port: data[name] for port, name in names.items()}
    except NPZ_ERRORS as error:
        raise _no_npz(path, error) from error
    return {
        port: _fitted(array, headers[names[port]][1][1], f"{path.name}, {names[port]}")
        for port, array in read.items()
    }


def _fitted(array: np.ndarray, dtype: np.dtype[Any], where: str) -> np.ndarray:
    """`array` with another element type; DataError where a value does not fit into it."""
    with np.errstate(over="ignore"):  # told below, with the place
        fitted = array.astype(dtype)
    lost = np.isinf(fitted) & ~np.isinf(array) if dtype.kind == "f" else fitted != array
    if array.dtype != dtype and lost.any():
        raise DataError(
            f"{where} holds {array[lost].flat[0]}, which {dtype.name} cannot hold.",
            "Bring the values into a smaller range before they are written to the file.",
        )
    return fitted


def _no_npz(path: Path, error: Exception) -> DataError:
    return DataError(
        f"{path.name} is no readable .npz file: {error}.",
        "Write it with numpy.savez(path, inputs=…, labels=…).",
    )


@dataclass(frozen=True)
class CsvLayout:
    """Which columns of a CSV file are what: names of the inputs' columns, and the labels' place."""

    columns: tuple[str, ...]
    label: int
    titled: bool

    @property
    def inputs(self) -> tuple[int, ...]:
        """The numbers of the input columns."""
        return tuple(index for index in range(len(self.columns)) if index != self.label)


def csv_layout(path: Path, label: str) -> CsvLayout:
    """The layout of a CSV file from its first line; `label` names its column ("" is the last)."""
    _, first = next(_lines(path), (0, []))
    if len(first) < 2:
        raise DataError(
            f"{path.name} has {len(first)} columns.",
            "Give a comma-separated file with input columns and one label column.",
        )
    titled = not all(_is_number(cell) for cell in first[:-1])
    columns = tuple(cell.strip() for cell in first) if titled else _numbered(len(first))
    if label and label not in columns:
        raise DataError(
            f"{path.name} has no column {label!r}; it has {', '.join(columns)}.",
            "Set the label to one of them, or leave it empty for the last.",
        )
    return CsvLayout(columns, columns.index(label) if label else len(columns) - 1, titled)


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines of a CSV file that are not empty, each with its number and its cells."""
    number = 0
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.reader(stream, strict=True)
            for cells in reader:
                number = reader.line_num
                if any(cell.strip() for cell in cells):
                    yield number, cells
    except FileNotFoundError:
        raise _missing(path) from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(
            f"{path.name} is no readable CSV text after line {number}: {error}.",
            "Save it as comma-separated UTF-8 text.",
        ) from error


def load_csv(
    path: str | Path, label: str = "", target: Literal["class", "value"] = "class"
) -> dict[str, np.ndarray]:
    """Read inputs and labels from a comma-separated file.

    Parameters
    ----------
    path : str or Path
        The file, UTF-8 text; its first line may hold titles, empty lines are passed over.
    label : str
        Title of the labels' column; by default the last column.
    target : {"class", "value"}
        Whether labels are classes or numbers to predict. Classes that are text, or no whole
        numbers, are numbered in sorted order.

    Returns
    -------
    dict of str to ndarray
        ``inputs`` N×F float32, and ``labels`` N, int32 for classes and float32 for values.

    Raises
    ------
    DataError
        If the file is missing or unreadable, or a cell is not what its column asks for.
    """
    path = Path(path)
    layout = csv_layout(path, label)
    inputs: list[list[float]] = []
    labels: list[str] = []
    lines = _lines(path)
    if layout.titled:
        next(lines)
    for number, cells in lines:
        inputs.append(_numbers(cells, layout, f"{path.name}, line {number}"))
        labels.append(cells[layout.label].strip())
    if not inputs:
        raise DataError(f"{path.name} has no rows.", "Give a file with a row for each example.")
    return {
        "inputs": _fitted(np.asarray(inputs), np.dtype(np.float32), path.name),
        "labels": _classes(labels, path.name) if target == "class" else _values(labels, path.name),
    }


def _numbers(cells: Sequence[str], layout: CsvLayout, where: str) -> list[float]:
    if len(cells) != len(layout.columns):
        raise DataError(
            f"{where}: {len(cells)} columns where the first line has {len(layout.columns)}."
        )
    for index in layout.inputs:
        if not _is_number(cells[index]):
            raise DataError(
                f"{where}: {layout.columns[index]} is {cells[index]!r}, not a number.",
                "Encode text columns as numbers, or choose that column as the label.",
            )
    return [float(cells[index]) for index in layout.inputs]


def _classes(labels: Sequence[str], name: str) -> np.ndarray:
    if all(label.isascii() and label.isdigit() for label in labels):
        longest = max(labels, key=lambda label: int(label) if len(label) < 20 else math.inf)
        if len(longest) >= 20 or int(longest) > np.iinfo(np.int32).max:
            raise DataError(
                f"{name} has the label {longest[:20]}, which is no number of a class.",
                "Choose another column as the label, or set the target to value.",
            )
        return np.asarray([int(label) for label in labels], np.int32)
    return np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.int32)


def _values(labels: Sequence[str], name: str) -> np.ndarray:
    bad = next((label for label in labels if not _is_number(label)), None)
    if bad is not None:
        raise DataError(f"{name} has the label {bad!r}, not a number.", "Set the target to class.")
    return np.asarray([float(label) for label in labels], np.float32)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"column {index + 1}" for index in range(count))


def _npy_header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read(stream)
    return shape, dtype


def _kept(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The element type that an array of a file gets: float64 and int64 are halved."""
    halved = {"float64": "float32", "int64": "int32", "uint64": "int32", "uint32": "int32"}
    halved["uint16"] = "int32"
    wide = dtype.kind == "f" and dtype.itemsize > 8
    return np.dtype(halved.get(dtype.name, "float32" if wide else dtype.newbyteorder("=").name))


def _missing(path: Path) -> DataError:
    return DataError(
        f"There is no file {path}.", "Set the path; a drawing's paths start from its own folder."
    )
