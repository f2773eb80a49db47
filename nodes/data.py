"""What data nodes hold: rows of arrays by port, split into training and held-out rows."""

import csv
import functools
import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..engine.dataset.digits import digits as read_digits
from ..engine.tensor import Tensor, from_numpy

PREVIEW_ROWS = 32
"""Rows that a data node gives when nobody feeds it."""
NPZ_ERRORS = (OSError, ValueError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)
Header = tuple[tuple[int, ...], np.dtype[Any]]
"""Shape of one row and element type."""


class DataError(ValueError):
    """Data that cannot be read, with what to do about it."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


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
        held = held_out_rows(self.rows, self.held_out_share)
        order = np.random.Generator(np.random.Philox(self.seed)).permutation(self.rows)
        split = (np.sort(order[held:]), np.sort(order[:held]))
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


def held_out_rows(rows: int, share: float) -> int:
    """How many of the rows are held out."""
    return math.ceil(rows * share)


@functools.cache
def digits() -> dict[str, np.ndarray]:
    """The hand-written digits: images N×1×8×8 uint8 in 0..16, labels N int32 in 0..9."""
    return read_digits()


def npz_headers(path: Path) -> dict[str, tuple[int, Header]]:
    """Rows, row shape and element type of each array of a `.npz` file, reading headers only."""
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
    return found


def load_npz(path: Path, names: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Arrays of a `.npz` file by port; `names` has port → name in the file."""
    headers = npz_headers(path)
    for name in names.values():
        if name not in headers:
            known = ", ".join(headers) or "none"
            raise DataError(
                f"{path.name} has no array of numbers {name!r}; it has {known}.",
                "Set the node's array names to those in the file.",
            )
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
            "Set the node's label to one of them, or leave it empty for the last.",
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


def load_csv(path: Path, label: str, target: str) -> dict[str, np.ndarray]:
    """Inputs N×F float32 and labels N of a CSV file (`target` "class": int32, "value": float32).

    Labels that are text, or no whole numbers, are numbered in sorted order.
    """
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
                "Choose another column as the label, or set the node's target to value.",
            )
        return np.asarray([int(label) for label in labels], np.int32)
    return np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.int32)


def _values(labels: Sequence[str], name: str) -> np.ndarray:
    bad = next((label for label in labels if not _is_number(label)), None)
    if bad is not None:
        raise DataError(
            f"{name} has the label {bad!r}, not a number.", "Set the node's target to class."
        )
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
        f"There is no file {path}.", "Set the node's path; it is taken from the document's folder."
    )
