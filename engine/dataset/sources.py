"""Where rows come from: arrays in memory, or Python objects that give them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..dtype import dtype_of
from . import config, workers
from .columns import Row, as_columns, listed, named_array, positive, require_distinct
from .mappable import ArraysDataset, MappableDataset
from .pipeline import Dataset
from .randomness import Drawing, seed_python
from .samplers import select_sampler
from .schema import Schema
from .workers import RowError


class NumpySlicesDataset(ArraysDataset):
    """Rows that are slices of arrays along their first axis.

    Parameters
    ----------
    data : ndarray, list, tuple of arrays, or dict of str to array
        One column, or several of equal length.
    column_names : str or list of str, optional
        Their names; by default the dictionary's keys, else ``column_0`` and so on.
    num_samples : int, optional
        At most so many rows a pass.
    num_parallel_workers : int
        Taken for MindSpore's scripts; slices take no worker.
    shuffle : bool, optional
        Whether rows come in random order, anew each pass; by default they do.
    sampler : Sampler or iterable of int, optional
        Which rows a pass gives; excludes `shuffle`, `num_samples` and shards.
    num_shards, shard_id : int, optional
        How many shares the rows are dealt out to, and which of them this is.

    Raises
    ------
    ValueError
        If columns differ in length, or in number from the names.
    TypeError
        If a column holds something else than numbers or text.
    """

    def __init__(
        self,
        data: Any,
        column_names: str | Sequence[str] | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        where = "NumpySlicesDataset"
        if isinstance(data, Mapping):
            values, default = list(data.values()), [str(name) for name in data]
        else:
            values = list(data) if isinstance(data, tuple) else [data]
            default = [f"column_{number}" for number in range(len(values))]
        names = listed(column_names) or default
        if len(names) != len(values):
            raise ValueError(f"{where}: {len(names)} column names for {len(values)} columns.")
        arrays = [named_array(value, name) for value, name in zip(values, names, strict=True)]
        require_distinct(where, names)
        if not arrays or any(array.ndim == 0 for array in arrays):
            raise ValueError(f"{where}: each column needs a first axis to slice along.")
        lengths = {name: len(array) for name, array in zip(names, arrays, strict=True)}
        if len(set(lengths.values())) != 1:
            raise ValueError(f"{where}: columns differ in length: {lengths}.")
        chosen = select_sampler(where, num_samples, sampler, shuffle, num_shards, shard_id)
        super().__init__(names, arrays, chosen)


@dataclass
class _Fetch:
    """Gives the row of a number; a worker process gets it as a whole."""

    source: Any
    columns: list[str]
    types: list[Any] | None
    key: np.ndarray = field(default_factory=lambda: np.zeros(2, np.int64))
    seeds_python: bool = False

    def __call__(self, task: tuple[int, int]) -> Row:
        epoch, number = task
        if self.seeds_python:
            seed_python(self.key, epoch, number)
        with Drawing(self.key, epoch, number + 1):
            try:
                row = self.source[number]
            except Exception as error:
                raise _row_error(self.source, number, error) from error
        return self.checked(row, number)

    def checked(self, row: Any, number: int) -> Row:
        """The row as arrays of its own; ValueError or TypeError where it is not as it should be."""
        where = f"GeneratorDataset of {type(self.source).__name__}, row {number}"
        try:
            arrays = as_columns(row, self.columns)
        except (ValueError, TypeError) as error:
            raise type(error)(f"{where}: {error}") from error
        for name, array, dtype in zip(self.columns, arrays, self.types or (), strict=False):
            both_text = dtype is not None and array.dtype.kind == dtype.kind == "U"
            if dtype is not None and array.dtype != dtype and not both_text:
                raise TypeError(
                    f"{where}: column {name!r} is to hold {dtype}, but got {array.dtype}."
                )
        return tuple(np.array(array) for array in arrays)


class GeneratorDataset(MappableDataset):
    """Rows from Python: an object with ``__getitem__`` and ``__len__``, an iterable, or a function.

    Parameters
    ----------
    source : object
        Map-style, iterable, or a callable that returns an iterator. A row is one value, a tuple, or
        a dictionary by column.
    column_names : str or list of str
        The names of a row's values.
    column_types : list of DType, optional
        What each column must hold (None: anything); another element type is an error.
    schema : Schema, optional
        Names and types of the columns, instead of the two.
    num_samples : int, optional
        At most so many rows a pass.
    num_parallel_workers : int
        How many workers read rows of a map-style source; with 1 the thread that iterates does.
    shuffle : bool, optional
        Whether rows come in random order, anew each pass. Map-style sources do by default; others
        cannot.
    sampler : Sampler or iterable of int, optional
        Which rows of a map-style source a pass gives.
    num_shards, shard_id : int, optional
        How many shares the rows of a map-style source are dealt out to, and which this is.
    python_multiprocessing : bool
        Whether workers are processes instead of threads.
    max_rowsize : optional
        Taken for MindSpore's scripts; rows of any size pass.

    Raises
    ------
    TypeError
        If the source gives no rows; while iterating, if a column has another element type.
    ValueError
        If `shuffle` is asked of a source that is not map-style; while iterating, if a row does not
        have a value a column.
    RowError
        While iterating, if the source fails: it names the row.
    """

    def __init__(
        self,
        source: Any,
        column_names: str | Sequence[str] | None = None,
        column_types: Sequence[Any] | None = None,
        schema: Schema | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        python_multiprocessing: bool = True,
        max_rowsize: Any = None,
    ) -> None:
        where = "GeneratorDataset"
        mapped = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        mapped = mapped and getattr(source, "mapped", True)  # a GeneratorDataset of an iterable
        length = getattr(source, "__len__", None)
        if not mapped and not callable(source) and not hasattr(source, "__iter__"):
            raise TypeError(
                f"{where}: the source needs __getitem__ and __len__, or __iter__, or to be"
                f" callable; it is {type(source).__name__}."
            )
        if not mapped and (shuffle or sampler is not None or num_shards is not None):
            raise ValueError(
                f"{where}: shuffle, sampler and shards need a source with __getitem__ and __len__."
            )
        names = listed(column_names) or (schema.names if schema is not None else ["data"])
        require_distinct(where, names)
        types = column_types if schema is None else schema.types(names)
        if types is not None and len(types) != len(names):
            raise ValueError(f"{where}: {len(types)} column_types for {len(names)} columns.")
        self.workers = positive(where, "num_parallel_workers", num_parallel_workers)
        chosen = select_sampler(where, num_samples, sampler, shuffle, num_shards, shard_id)
        super().__init__(names, length() if mapped and length is not None else 0, chosen)
        self.source: Any = source
        self.mapped, self.num_samples, self._used = mapped, num_samples, False
        self.processes = python_multiprocessing
        numpy = None if types is None else [None if t is None else _numpy_type(t) for t in types]
        self.fetch = _Fetch(source, names, numpy, self.key)

    def part(self, numbers: np.ndarray) -> Dataset:
        """The rows of these numbers."""
        return super().part(numbers) if self.mapped else Dataset.part(self, numbers)

    def row(self, number: int) -> Row:
        """The row of that number."""
        return self.fetch((0, number))

    def rows(self, epoch: int) -> Iterator[Row]:
        """Yield the rows of a pass."""
        if self.mapped:
            yield from super().rows(epoch)
        else:
            yield from itertools.islice(self._iterated(), self.num_samples)

    def rows_of(self, numbers: Sequence[int], epoch: int) -> Iterator[Row]:
        """Yield the rows of these numbers, read by this thread or by workers."""
        tasks = ((epoch, number) for number in numbers)
        count = min(config.workers_for(self.workers), max(self.count, 1))
        self.fetch.seeds_python = self.processes and count > 1
        if count == 1:
            return map(self.fetch, tasks)
        if self.processes:
            where = f"GeneratorDataset of {type(self.source).__name__}"
            return workers.in_processes(self.fetch, tasks, count, where)
        return workers.in_threads(self.fetch, tasks, count)

    def _iterated(self) -> Iterator[Row]:
        if _once(self.source):
            if self._used:
                raise ValueError(
                    "GeneratorDataset: the source is an iterator, which was used up by the first"
                    " pass. Give the function that makes it, or something with __iter__."
                )
            self._used = True
        source: Any = self.source() if callable(self.source) else self.source
        rows = iter(source)
        for number in itertools.count():
            try:
                row = next(rows)
            except StopIteration:
                return
            except Exception as error:
                raise _row_error(self.source, number, error) from error
            yield self.fetch.checked(row, number)

    def get_dataset_size(self) -> int:
        """How many rows a pass has; a source without a length is counted by reading it."""
        if self.mapped:
            return super().get_dataset_size()
        if hasattr(self.source, "__len__"):
            return min(len(self.source), self.num_samples or len(self.source))
        if _once(self.source):
            raise ValueError(
                "GeneratorDataset: an iterator cannot be counted without using it up. Give the"
                " function that makes it, or something with __len__."
            )
        return sum(1 for _ in self.rows(0))


def _once(source: Any) -> bool:
    """Whether the source is an iterator of Python's own, which cannot be started again."""
    own = type(source).__module__ in ("builtins", "itertools")
    return own and isinstance(source, Iterator)


def _row_error(source: Any, number: int, error: Exception) -> RowError:
    return RowError(
        f"GeneratorDataset of {getattr(source, '__name__', type(source).__name__)}, row {number}:"
        f" {type(error).__name__}: {error}"
    )


def _numpy_type(dtype: Any) -> np.dtype[Any]:
    """NumPy's type; text where MindSpore's scripts say ``string``."""
    return np.dtype(np.str_) if dtype in ("string", str) else dtype_of(dtype).numpy
