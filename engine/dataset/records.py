"""Rows from files of records, as ``mindrecord.FileWriter`` and ``Dataset.save`` write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import config, workers
from .columns import Row, as_columns, require_columns
from .mappable import MappableDataset
from .samplers import select_sampler


class MindDataset(MappableDataset):
    """Rows of files that ``mindrecord.FileWriter`` or ``save`` wrote.

    The format is Cellwire's own. A field of type bytes comes as uint8 with one axis, text as a
    string, a number as an array without axes (MindSpore gives it one axis of size 1).

    Parameters
    ----------
    dataset_files : str, Path or list of these
        One name stands for the whole set that it belongs to; a list for exactly these files.
    columns_list : list of str, optional
        Which fields, in this order; by default all.
    num_parallel_workers : int, optional
        How many threads read rows; by default what ``config`` says, 1 at first.
    shuffle : bool, optional
        Whether rows come in random order, anew each pass; by default they do.
    num_shards, shard_id : int, optional
        How many shares the rows are dealt out to, and which this is.
    sampler : Sampler or iterable of int, optional
        Which rows a pass gives.
    padded_sample : dict, optional
        A row that is added behind all others, as to make shares equal.
    num_padded : int, optional
        How often it is added.
    num_samples : int, optional
        At most so many rows a pass.

    Raises
    ------
    DataError
        If a file is missing or damaged: file, row and byte are named.
    """

    def __init__(
        self,
        dataset_files: str | Path | Sequence[str | Path],
        columns_list: Sequence[str] | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        sampler: Any = None,
        padded_sample: Mapping[str, Any] | None = None,
        num_padded: int | None = None,
        num_samples: int | None = None,
    ) -> None:
        from ..mindrecord.reader import RecordSet

        where = "MindDataset"
        if (padded_sample is None) != (num_padded is None):
            raise ValueError(f"{where}: give padded_sample and num_padded together.")
        self.records = RecordSet(dataset_files)
        names = list(columns_list or self.records.schema)
        require_columns(where, names, list(self.records.schema))
        self.workers = num_parallel_workers
        self.padding = None if padded_sample is None else as_columns(padded_sample, names)
        chosen = select_sampler(where, num_samples, sampler, shuffle, num_shards, shard_id)
        super().__init__(names, len(self.records) + (num_padded or 0), chosen)

    def row(self, number: int) -> Row:
        """The row of that number."""
        if self.padding is not None and number >= len(self.records):
            return tuple(np.array(value) for value in self.padding)
        row = self.records.row(number)
        return tuple(row[name] for name in self.column_names)

    def rows_of(self, numbers: Sequence[int], epoch: int) -> Iterator[Row]:
        """Yield the rows of these numbers, read by this thread or by several."""
        count = config.workers_for(self.workers)
        if count == 1:
            return super().rows_of(numbers, epoch)
        return workers.in_threads(self.row, numbers, count)
