"""Tables in Parquet and CSV files, read by pyarrow (the extra ``tables``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .columns import Row, require_columns
from .files import DataError
from .mappable import MappableDataset
from .samplers import Shuffle
from .text_files import expanded, file_sampler


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            "TableDataset reads tables by pyarrow, which is not installed; install it with"
            ' pip install "cellwire[tables]".'
        ) from error
    return pyarrow


class TableDataset(MappableDataset):
    """Rows of Parquet (``.parquet``) or CSV files, a column of the table each.

    Numbers, truth values, text and lists of numbers can be read. Element types are the table's;
    those of CSV files are guessed from the cells.

    Parameters
    ----------
    dataset_files : str or list of str
        Files or patterns, all with the same columns.
    columns_list : list of str, optional
        Which columns, in this order; by default all.
    num_samples : int, optional
        At most so many rows a pass.
    num_parallel_workers : int, optional
        Taken for MindSpore's scripts; rows in memory take no worker.
    shuffle : bool or Shuffle, optional
        All rows in random order (the default), only the files, or nothing (False).
    num_shards, shard_id : int, optional
        How many shares the rows are dealt out to, and which this is.

    Raises
    ------
    ImportError
        If pyarrow is not installed.
    DataError
        If a file is missing or damaged, a column is of another kind, or a cell is empty.
    """

    def __init__(
        self,
        dataset_files: str | Path | Sequence[str | Path],
        columns_list: Sequence[str] | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | Shuffle | None = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        where = "TableDataset"
        paths = expanded(where, dataset_files)
        tables = [_read_table(path) for path in paths]
        names = list(columns_list or tables[0].column_names)
        for path, table in zip(paths, tables, strict=True):
            require_columns(f"{where}, {path.name}", names, table.column_names)
        self.values = [
            [value for path, table in zip(paths, tables, strict=True)
             for value in _column(table, name, path)]
            for name in names
        ]  # fmt: skip
        counts = [table.num_rows for table in tables]
        if not sum(counts):
            raise DataError(f"{where}: the files have no rows.", "Set dataset_files.")
        sampler = file_sampler(where, counts, num_samples, shuffle, num_shards, shard_id)
        super().__init__(names, sum(counts), sampler)

    def row(self, number: int) -> Row:
        """The row of that number."""
        return tuple(np.array(column[number]) for column in self.values)


def _read_table(path: Path) -> Any:
    arrow = _pyarrow()
    try:
        if path.suffix.lower() == ".csv":
            from pyarrow import csv

            return csv.read_csv(path)
        from pyarrow import parquet

        return parquet.read_table(path)
    except (arrow.ArrowException, OSError) as error:
        raise DataError(
            f"{path} is no readable {path.suffix.lstrip('.') or 'Parquet'} table: {error}.",
            "Give a .parquet or .csv file, and get a damaged one anew.",
        ) from error


def _column(table: Any, name: str, path: Path) -> np.ndarray | list[Any]:
    """The column's values by row: an array, or a list of arrays or strings."""
    types = _pyarrow().types
    column = table.column(name)
    if column.null_count:
        row = column.is_null().to_pylist().index(True)
        raise DataError(
            f"{path.name}, row {row}: column {name!r} is empty.", "Fill the cell, or drop the row."
        )
    kind = column.type
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return column.to_numpy()
    if types.is_string(kind) or types.is_large_string(kind):
        return column.to_pylist()
    if types.is_binary(kind) or types.is_large_binary(kind):
        return [np.frombuffer(value, np.uint8) for value in column.to_pylist()]
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        inner = kind.value_type
        if types.is_boolean(inner) or types.is_integer(inner) or types.is_floating(inner):
            dtype = inner.to_pandas_dtype()
            return [np.asarray(_full(value, name, row, path), dtype)
                    for row, value in enumerate(column.to_pylist())]  # fmt: skip
    raise DataError(
        f"{path.name}: column {name!r} holds {kind}, which cannot be read as numbers or text.",
        "Leave it out by columns_list, or change its type.",
    )


def _full(value: list[Any], name: str, row: int, path: Path) -> list[Any]:
    if None in value:
        raise DataError(f"{path.name}, row {row}: a list in column {name!r} has an empty place.")
    return value
