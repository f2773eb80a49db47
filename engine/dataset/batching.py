"""Batches: rows joined, padded to one shape, or gathered by length."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import config, workers
from .columns import (
    Row,
    filled,
    join_rows,
    named_array,
    positive,
    require_columns,
    require_distinct,
)
from .operations import Over
from .randomness import Drawing, new_key, seed_python
from .rows import Rows
from .workers import RowError

PadInfo = Mapping[str, Any]
"""By column: the shape to pad to (or None), and the number to pad with."""


@dataclass(frozen=True)
class BatchInfo:
    """Which batch of which pass a function is asked for.

    Parameters
    ----------
    epoch : int
        The pass, from 0.
    batch : int
        The batch in the pass, from 0.
    """

    epoch: int
    batch: int

    def get_epoch_num(self) -> int:
        """The pass, from 0."""
        return self.epoch

    def get_batch_num(self) -> int:
        """The batch in the pass, from 0."""
        return self.batch


@dataclass
class BatchMap:
    """A function of a batch's rows before they are joined, and who runs it."""

    function: Callable[..., Any]
    inputs: list[str]
    outputs: list[str]
    workers: int | None
    processes: bool


class Batch(Over):
    """Rows joined by a fixed size, or by sizes that a function gives."""

    def __init__(
        self,
        source: Rows,
        size: int | Callable[..., int],
        drop: bool,
        mapping: BatchMap | None,
        pad_info: PadInfo | None,
    ) -> None:
        self.size = size if callable(size) else positive("batch", "batch_size", size)
        self.drop, self.mapping = bool(drop), mapping
        columns = source.column_names
        if mapping is not None:
            require_columns("batch", mapping.inputs, columns)
            columns = _replaced(columns, mapping.inputs, mapping.outputs)
        super().__init__(source, columns)
        self.padding = None if pad_info is None else _checked(pad_info, columns)
        self.key = new_key()

    def rows(self, epoch: int) -> Iterator[Row]:
        """Yield the batches."""
        if self.mapping is None and self.padding is None and not callable(self.size):
            for block in _blocks(self.source, epoch, self.size):
                if len(block[0]) == self.size or not self.drop:
                    yield block
            return
        if self.mapping is None:
            for info, rows in self._groups(epoch):
                yield self._joined(info, rows)
            return
        yield from self._mapped(self.mapping, epoch)

    def _groups(self, epoch: int) -> Iterator[tuple[BatchInfo, list[Row]]]:
        rows = self.source.rows(epoch)
        for number in itertools.count():
            info = BatchInfo(epoch, number)
            size = self._size_of(info)
            held = list(itertools.islice(rows, size))
            if not held or (self.drop and len(held) < size):
                return
            yield info, held

    def _size_of(self, info: BatchInfo) -> int:
        if not callable(self.size):
            return self.size
        return positive("batch", f"the size of batch {info.batch}", self.size(info))

    def _joined(self, info: BatchInfo, rows: list[Row]) -> Row:
        if self.padding is not None:
            rows = padded(rows, self.column_names, self.padding, "batch")
        first = info.batch * self.size if isinstance(self.size, int) else 0
        return join_rows(rows, self.column_names, first, f"batch {info.batch}")

    def _mapped(self, mapping: BatchMap, epoch: int) -> Iterator[Row]:
        count = config.workers_for(mapping.workers)
        processes = mapping.processes and count > 1
        function = BatchFunction(
            mapping, self.source.column_names, self.column_names, self.key, processes
        )
        tasks = self._groups(epoch)
        if count == 1:
            results: Iterator[list[Row]] = map(function, tasks)
        elif processes:
            results = workers.in_processes(function, tasks, count, "batch with per_batch_map")
        else:
            results = workers.in_threads(function, tasks, count)
        for number, rows in enumerate(results):
            yield self._joined(BatchInfo(epoch, number), rows)

    def get_dataset_size(self) -> int:
        """How many batches a pass has; with sizes from a function, those of the first pass."""
        rows = self.source.get_dataset_size()
        if isinstance(self.size, int):
            return rows // self.size if self.drop else -(-rows // self.size)
        for number in itertools.count():
            if rows <= 0:
                return number
            rows -= self._size_of(BatchInfo(0, number))
            if rows < 0 and self.drop:
                return number
        raise AssertionError("unreachable")

    def get_batch_size(self) -> int:
        """How many rows a full batch has, -1 where a function decides."""
        return self.size if isinstance(self.size, int) else -1


def _blocks(source: Rows, epoch: int, size: int) -> Iterator[Row]:
    return source.blocks(epoch, size) if source.stacked else Rows.blocks(source, epoch, size)


@dataclass
class BatchFunction:
    """Runs a `per_batch_map` on the rows of a batch; a worker process gets it as a whole."""

    mapping: BatchMap
    given: list[str]
    columns: list[str]
    key: np.ndarray
    seeds_python: bool

    def __call__(self, task: tuple[BatchInfo, list[Row]]) -> list[Row]:
        info, rows = task
        if self.seeds_python:
            seed_python(self.key, info.epoch, info.batch)
        values = dict(zip(self.given, map(list, zip(*rows, strict=True)), strict=True))
        lists = [values.pop(name) for name in self.mapping.inputs]
        with Drawing(self.key, info.epoch, info.batch):
            try:
                found = self.mapping.function(*lists, info)
            except Exception as error:
                name = getattr(self.mapping.function, "__name__", "the function")
                raise RowError(
                    f"batch, per_batch_map {name}, batch {info.batch}:"
                    f" {type(error).__name__}: {error}"
                ) from error
        values |= self._results(found, info)
        columns = [values[name] for name in self.columns]
        return list(zip(*columns, strict=True))

    def _results(self, found: Any, info: BatchInfo) -> dict[str, list[np.ndarray]]:
        results = found if isinstance(found, tuple) else (found,)
        outputs = self.mapping.outputs
        if len(results) != len(outputs):
            raise ValueError(
                f"batch: per_batch_map gave {len(results)} results for {len(outputs)} columns"
                f" ({', '.join(outputs)}) in batch {info.batch}."
            )
        arrays = {
            name: [named_array(value, name) for value in column]
            for name, column in zip(outputs, results, strict=True)
        }
        counts = {len(column) for column in arrays.values()}
        if len(counts) > 1 or counts == {0}:
            raise ValueError(
                f"batch: per_batch_map gave columns of {sorted(counts)} rows in batch {info.batch};"
                " each must have one entry a row."
            )
        return arrays


class BucketBatch(Over):
    """Batches of rows whose lengths fall into the same bucket."""

    def __init__(
        self,
        source: Rows,
        length_columns: list[str],
        boundaries: Sequence[int],
        sizes: Sequence[int],
        length: Callable[..., int] | None,
        pad_info: PadInfo | None,
        to_boundary: bool,
        drop: bool,
    ) -> None:
        super().__init__(source)
        where = "bucket_batch_by_length"
        require_columns(where, length_columns, source.column_names)
        self.boundaries = [positive(where, "a boundary", edge) for edge in boundaries]
        self.sizes = [positive(where, "a batch size", size) for size in sizes]
        if not self.boundaries or self.boundaries != sorted(set(self.boundaries)):
            raise ValueError(f"{where}: boundaries must rise, they are {list(boundaries)}.")
        if len(self.sizes) != len(self.boundaries) + 1:
            raise ValueError(
                f"{where}: {len(self.boundaries)} boundaries make {len(self.boundaries) + 1}"
                f" buckets, but there are {len(self.sizes)} batch sizes."
            )
        if length is None and len(length_columns) != 1:
            raise ValueError(f"{where}: several columns need an element_length_function.")
        self.places = [source.column_names.index(name) for name in length_columns]
        self.length = length if length is not None else len
        self.padding = None if pad_info is None else _checked(pad_info, source.column_names)
        self.to_boundary, self.drop = to_boundary, drop

    def rows(self, epoch: int) -> Iterator[Row]:
        """Yield a batch whenever a bucket is full, and at the end what is left in each."""
        buckets: list[list[Row]] = [[] for _ in self.sizes]
        for row in self.source.rows(epoch):
            number = bisect.bisect_right(
                self.boundaries, int(self.length(*(row[at] for at in self.places)))
            )
            buckets[number].append(row)
            if len(buckets[number]) == self.sizes[number]:
                yield self._join(number, buckets[number])
                buckets[number] = []
        for number, rows in enumerate(buckets):
            if rows and not self.drop:
                yield self._join(number, rows)

    def _join(self, number: int, rows: list[Row]) -> Row:
        where = "bucket_batch_by_length"
        if self.padding is not None:
            limit = None
            if self.to_boundary and number < len(self.boundaries):
                limit = self.boundaries[number] - 1
            elif self.to_boundary:
                raise ValueError(
                    f"{where}: a row is longer than the last boundary {self.boundaries[-1]}, so"
                    " there is no boundary to pad to. Add a boundary above the longest row."
                )
            rows = padded(rows, self.column_names, self.padding, where, limit)
        return join_rows(rows, self.column_names, 0, where)

    def get_dataset_size(self) -> int:
        """How many batches the first pass has, found by making it."""
        return sum(1 for _ in self.rows(0))

    def get_batch_size(self) -> int:
        """-1: it depends on the bucket."""
        return -1


def padded(
    rows: list[Row], names: Sequence[str], info: PadInfo, method: str, limit: int | None = None
) -> list[Row]:
    """The rows with some columns padded at their ends; axes left open to `limit` or the longest.

    Raises
    ------
    ValueError
        If a row is larger than the shape, or differs in number of axes.
    """
    columns = [list(column) for column in zip(*rows, strict=True)]
    for at, name in enumerate(names):
        if name in info:
            shape, value = info[name]
            target = _target(columns[at], shape, name, method, limit)
            where = f"{method}, column {name!r}"
            columns[at] = [_pad(array, target, value, where) for array in columns[at]]
    return list(zip(*columns, strict=True))


def _target(
    arrays: list[np.ndarray],
    shape: Sequence[int | None] | None,
    name: str,
    method: str,
    limit: int | None,
) -> tuple[int, ...]:
    axes = arrays[0].ndim
    asked = [None] * axes if shape is None else list(shape)
    if len(asked) != axes or any(array.ndim != axes for array in arrays):
        found = sorted({array.ndim for array in arrays})
        raise ValueError(
            f"{method}: column {name!r} is to be padded to {len(asked)} axes, its rows have"
            f" {', '.join(map(str, found))}."
        )
    target: list[int] = []
    for axis, size in enumerate(asked):
        longest = max(array.shape[axis] for array in arrays)
        goal = (longest if limit is None else limit) if size is None else size
        if longest > goal:
            raise ValueError(
                f"{method}: a row of column {name!r} has {longest} entries on axis {axis}, more"
                f" than the {goal} to pad to. Shorten rows first (transforms.Slice, text.Truncate)."
            )
        target.append(goal)
    return tuple(target)


def _pad(array: np.ndarray, shape: tuple[int, ...], value: Any, where: str) -> np.ndarray:
    if array.shape == shape:
        return array
    result = filled(shape, value, array.dtype, where)
    result[tuple(slice(size) for size in array.shape)] = array
    return result


def _checked(info: PadInfo, names: Sequence[str]) -> PadInfo:
    require_columns("pad_info", list(info), names)
    for name, entry in info.items():
        if not isinstance(entry, tuple) or len(entry) != 2:
            raise ValueError(f"pad_info: {name!r} needs a pair (shape, value), it is {entry!r}.")
    return dict(info) or dict.fromkeys(names, (None, None))


def _replaced(columns: Sequence[str], inputs: Sequence[str], outputs: Sequence[str]) -> list[str]:
    """The columns with the outputs where the first input was."""
    if list(inputs) == list(outputs):
        return list(columns)
    at = min(list(columns).index(name) for name in inputs)
    front = [name for name in columns[:at] if name not in inputs]
    result = [*front, *outputs, *(name for name in columns[at:] if name not in inputs)]
    require_distinct("batch", result)
    return result
