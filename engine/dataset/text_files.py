"""Rows from text: lines, and comma-separated cells."""

from __future__ import annotations

import csv
import glob
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .columns import require_distinct
from .files import DataError
from .mappable import ArraysDataset
from .randomness import stream
from .samplers import Countable, Sampler, Shuffle, select_sampler


class FileOrderSampler(Sampler):
    """All rows, in random order of the files or within each of them.

    Parameters
    ----------
    counts : list of int
        How many rows each file has.
    shuffle : Shuffle
        ``FILES`` (rows as they stand in their file) or ``INFILE`` (files as they are given).
    num_samples : int, optional
        At most so many rows.
    """

    def __init__(
        self, counts: Sequence[int], shuffle: Shuffle, num_samples: int | None = None
    ) -> None:
        super().__init__(num_samples)
        self.counts, self.shuffle = np.asarray(counts, np.int64), shuffle

    def draw(self, source: Countable) -> Any:
        """The numbers of the rows, file by file."""
        ends = np.cumsum(self.counts)
        files = [np.arange(end - count, end) for count, end in zip(self.counts, ends, strict=True)]
        if self.shuffle is Shuffle.INFILE:
            return np.concatenate([stream().permutation(rows) for rows in files])
        return np.concatenate([files[at] for at in stream().permutation(len(files))])


def expanded(where: str, dataset_files: str | Path | Sequence[str | Path]) -> list[Path]:
    """The files that names or patterns stand for, by name; DataError where one stands for none."""
    given = [dataset_files] if isinstance(dataset_files, str | Path) else list(dataset_files)
    found: list[Path] = []
    for name in given:
        paths = [Path(name)] if Path(name).is_file() else map(Path, sorted(glob.glob(str(name))))
        files = [path for path in paths if path.is_file()]
        if not files:
            raise DataError(f"{where}: there is no file {name}.", "Set dataset_files.")
        found += files
    if not found:
        raise ValueError(f"{where}: name at least one file.")
    return found


def file_sampler(
    where: str,
    counts: Sequence[int],
    num_samples: int | None,
    shuffle: bool | Shuffle | None,
    num_shards: int | None,
    shard_id: int | None,
) -> Sampler:
    """The sampler of rows in files; by default all rows are shuffled."""
    if isinstance(shuffle, str):
        shuffle = Shuffle(shuffle)
    if isinstance(shuffle, Shuffle) and shuffle is not Shuffle.GLOBAL:
        if num_shards is not None:
            raise ValueError(f"{where}: shards take shuffle True, False or Shuffle.GLOBAL.")
        return FileOrderSampler(counts, shuffle, num_samples)
    shuffled = None if shuffle is None else bool(shuffle)
    return select_sampler(where, num_samples, None, shuffled, num_shards, shard_id)


class TextFileDataset(ArraysDataset):
    """Lines of text files: column ``text``; empty lines are passed over.

    Parameters
    ----------
    dataset_files : str or list of str
        Files or patterns (``*.txt``), UTF-8.
    num_samples : int, optional
        At most so many rows a pass.
    num_parallel_workers : int, optional
        Taken for MindSpore's scripts; rows in memory take no worker.
    shuffle : bool or Shuffle
        All lines in random order, only the files (``Shuffle.FILES``), only the lines of each file
        (``Shuffle.INFILE``), or nothing (False).
    num_shards, shard_id : int, optional
        How many shares the rows are dealt out to, and which this is.

    Raises
    ------
    DataError
        If a file is missing or no UTF-8: it names the byte.
    """

    def __init__(
        self,
        dataset_files: str | Path | Sequence[str | Path],
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | Shuffle | None = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        where = "TextFileDataset"
        read = [_text_lines(path) for path in expanded(where, dataset_files)]
        counts = [len(lines) for lines in read]
        lines = [line for file in read for line in file]
        # an object array, since the longest line would set the width of all
        texts = np.empty(len(lines), object)
        texts[:] = lines
        sampler = file_sampler(where, counts, num_samples, shuffle, num_shards, shard_id)
        super().__init__(["text"], [texts], sampler)

    @property
    def stacked(self) -> bool:
        """Lines differ in length."""
        return False

    def row(self, number: int) -> tuple[np.ndarray, ...]:
        """The line of that number."""
        return (np.asarray(self.arrays[0][number], np.str_),)


def _text_lines(path: Path) -> list[str]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}, byte {error.start}: {error.object[error.start]:#04x} is no UTF-8 text.",
            "Save the file as UTF-8.",
        ) from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", "Set the path.") from error
    return [line for line in text.replace("\r\n", "\n").split("\n") if line]


class CSVDataset(ArraysDataset):
    """Cells of comma-separated files, a column each.

    Parameters
    ----------
    dataset_files : str or list of str
        Files or patterns (``*.csv``), UTF-8.
    field_delim : str
        What stands between cells.
    column_defaults : list, optional
        For each column what an empty cell holds; its type is the column's: int (int32), float
        (float32) or str. By default all are text.
    column_names : list of str, optional
        The names of the columns; by default the first line of each file has them.
    num_samples : int, optional
        At most so many rows a pass.
    num_parallel_workers : int, optional
        Taken for MindSpore's scripts; rows in memory take no worker.
    shuffle : bool or Shuffle
        All rows in random order, only the files (``Shuffle.FILES``), only the rows of each file
        (``Shuffle.INFILE``), or nothing (False).
    num_shards, shard_id : int, optional
        How many shares the rows are dealt out to, and which this is.

    Raises
    ------
    DataError
        If a file is missing or a cell is not what its column asks for: it names the line.
    """

    def __init__(
        self,
        dataset_files: str | Path | Sequence[str | Path],
        field_delim: str = ",",
        column_defaults: Sequence[Any] | None = None,
        column_names: Sequence[str] | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | Shuffle | None = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        where = "CSVDataset"
        names = None if column_names is None else list(column_names)
        rows: list[tuple[Any, ...]] = []
        counts: list[int] = []
        for path in expanded(where, dataset_files):
            table = _CsvTable(path, field_delim, column_names, column_defaults)
            if names is not None and table.names != names:
                raise DataError(
                    f"{path.name} has the columns {', '.join(table.names)}, files before it"
                    f" {', '.join(names)}."
                )
            names = table.names
            rows += table.rows
            counts.append(len(table.rows))
        if names is None or not rows:
            raise DataError(f"{where}: the files have no rows.", "Set dataset_files.")
        require_distinct(where, names)
        kinds = [_numpy_kind(default) for default in column_defaults or [""] * len(names)]
        columns = [
            np.asarray(column, kind)
            for column, kind in zip(zip(*rows, strict=True), kinds, strict=True)
        ]
        sampler = file_sampler(where, counts, num_samples, shuffle, num_shards, shard_id)
        super().__init__(names, columns, sampler)


class _CsvTable:
    """The rows of one file, cells as their column's type."""

    def __init__(
        self,
        path: Path,
        delimiter: str,
        names: Sequence[str] | None,
        defaults: Sequence[Any] | None,
    ) -> None:
        self.path = path
        lines = self._lines(delimiter)
        if names is None and not lines:
            raise DataError(f"{path.name} has no line with names.", "Give column_names.")
        self.names = [cell.strip() for cell in lines[0][1]] if names is None else list(names)
        given = list(defaults) if defaults is not None else [""] * len(self.names)
        if len(given) != len(self.names):
            raise ValueError(
                f"CSVDataset: {len(given)} column_defaults for {len(self.names)} columns"
                f" ({', '.join(self.names)}) of {path.name}."
            )
        self.rows = [self._row(cells, line, given) for line, cells in lines[names is None :]]

    def _lines(self, delimiter: str) -> list[tuple[int, list[str]]]:
        line = 0
        found: list[tuple[int, list[str]]] = []
        try:
            with self.path.open(newline="", encoding="utf-8-sig") as stream_:
                reader = csv.reader(stream_, delimiter=delimiter, strict=True)
                for cells in reader:
                    line = reader.line_num
                    if cells:
                        found.append((line, cells))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise DataError(
                f"{self.path.name} is no readable CSV text after line {line}: {error}.",
                "Save it as UTF-8 text with one delimiter.",
            ) from error
        return found

    def _row(self, cells: list[str], line: int, defaults: Sequence[Any]) -> tuple[Any, ...]:
        if len(cells) != len(self.names):
            raise DataError(
                f"{self.path.name}, line {line}: {len(cells)} cells for {len(self.names)} columns"
                f" ({', '.join(self.names)}).",
                "Mend the line, or set field_delim.",
            )
        return tuple(
            self._cell(cell, default, name, line)
            for cell, default, name in zip(cells, defaults, self.names, strict=True)
        )

    def _cell(self, cell: str, default: Any, name: str, line: int) -> Any:
        kind = type(default)
        if kind is str:
            return cell or default
        try:
            value = kind(cell) if cell.strip() else default
        except ValueError as error:
            raise DataError(
                f"{self.path.name}, line {line}: {name} is {cell!r}, no {kind.__name__}.",
                "Mend the cell, or give the column another default.",
            ) from error
        if kind is int and not -(2**31) <= value < 2**31:
            raise DataError(f"{self.path.name}, line {line}: {name} is {cell}, beyond int32.")
        return value


def _numpy_kind(default: Any) -> type:
    if type(default) not in (int, float, str):
        raise TypeError(f"CSVDataset: a default must be an int, float or str, not {default!r}.")
    return {int: np.int32, float: np.float32, str: np.str_}[type(default)]
