"""Pipelines: what happens to rows between their source and the network."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import random
from ..tensor import Tensor, wrap

Row = tuple[np.ndarray, ...]
Operation = Callable[..., Any]


class Dataset:
    """Rows of named columns; each method returns a new dataset on top of this one.

    Iterating gives a list of Tensors a row. The order of shuffled rows depends on the seed set by
    ``set_seed`` when the dataset was made, and on how often it was iterated: the same program gives
    the same rows.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self.column_names = list(columns)
        self.passes = 0

    # what a subclass says

    def rows(self, epoch: int) -> Iterator[Row]:
        """Yield the rows of a pass, the first being 0."""
        raise NotImplementedError

    def get_dataset_size(self) -> int:
        """How many rows (or batches) a pass has."""
        raise NotImplementedError

    # pipelines

    def batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        num_parallel_workers: int | None = None,
    ) -> Dataset:
        """Join rows of equal shapes into batches; the last may be smaller unless it is dropped.

        Raises
        ------
        ValueError
            If the size is not positive, or, while iterating, rows differ in shape.
        """
        return _Batch(self, _positive("batch", "batch_size", batch_size), drop_remainder)

    def shuffle(self, buffer_size: int) -> Dataset:
        """Give rows in random order, drawn from a buffer of this many rows.

        Raises
        ------
        ValueError
            If the buffer holds fewer than two rows.
        """
        if buffer_size < 2:
            raise ValueError(f"shuffle: buffer_size must be at least 2, it is {buffer_size}.")
        return _Shuffle(self, buffer_size)

    def map(
        self,
        operations: Operation | Sequence[Operation],
        input_columns: str | Sequence[str] | None = None,
        output_columns: str | Sequence[str] | None = None,
        num_parallel_workers: int | None = None,
    ) -> Dataset:
        """Apply functions to columns (NumPy arrays), one after the other.

        Parameters
        ----------
        operations : callable or list of callable
            Each takes as many arrays as the one before gives.
        input_columns : str or list of str, optional
            The columns they take; by default the first.
        output_columns : str or list of str, optional
            What the results are named; by default as the inputs.
        num_parallel_workers : int, optional
            Taken for MindSpore's scripts; rows are mapped by the thread that iterates.

        Raises
        ------
        ValueError
            If a column does not exist, or there are more or fewer results than names.
        """
        steps = list(operations) if isinstance(operations, Sequence) else [operations]
        inputs = _names(input_columns) or self.column_names[:1]
        outputs = _names(output_columns) or inputs
        unknown = [name for name in inputs if name not in self.column_names]
        if unknown:
            raise ValueError(
                f"map: no column {', '.join(unknown)}; there are {', '.join(self.column_names)}."
            )
        return _Map(self, steps, inputs, outputs)

    def repeat(self, count: int | None = None) -> Dataset:
        """Give all rows this many times in one pass; without end for None or -1."""
        if count is None or count == -1:
            return _Repeat(self, None)
        return _Repeat(self, _positive("repeat", "count", count))

    def take(self, count: int = -1) -> Dataset:
        """Give the first rows only, all of them for -1."""
        return _Cut(self, 0, None if count == -1 else _positive("take", "count", count))

    def skip(self, count: int) -> Dataset:
        """Leave the first rows out."""
        if count < 0:
            raise ValueError(f"skip: count must not be negative, it is {count}.")
        return _Cut(self, count, None)

    def split(self, sizes: Sequence[int | float], randomize: bool = True) -> list[Dataset]:
        """Split the rows into parts of these sizes, or shares of 1, that share no row.

        Raises
        ------
        ValueError
            If the parts do not make up the whole.
        """
        total = self.get_dataset_size()
        counts = _counts(sizes, total)
        order = np.arange(total)
        if randomize:
            order = random.permutation(total)
        ends = np.cumsum([0, *counts])
        return [self.part(np.sort(order[a:b])) for a, b in itertools.pairwise(ends)]

    def part(self, numbers: np.ndarray) -> Dataset:
        """The rows of these numbers, counted as the first pass gives them."""
        return _Part(self, numbers)

    # iteration

    def create_tuple_iterator(
        self,
        columns: Sequence[str] | None = None,
        num_epochs: int = -1,
        output_numpy: bool = False,
    ) -> RowIterator:
        """Iterate over rows as lists of Tensors, or of arrays if `output_numpy`.

        Each ``for`` loop over the iterator is one pass; after `num_epochs` passes it is empty.
        """
        return RowIterator(self, columns, num_epochs, named=False, output_numpy=output_numpy)

    def create_dict_iterator(self, num_epochs: int = -1, output_numpy: bool = False) -> RowIterator:
        """Iterate over rows as dictionaries by column, as `create_tuple_iterator` otherwise."""
        return RowIterator(self, None, num_epochs, named=True, output_numpy=output_numpy)

    def get_col_names(self) -> list[str]:
        """The names of the columns."""
        return list(self.column_names)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.create_tuple_iterator(num_epochs=1))

    def __len__(self) -> int:
        return self.get_dataset_size()


class RowIterator:
    """Gives rows, pass after pass; ``position`` and ``restore`` make a run resume where it was.

    Passes are counted by the dataset, over all its iterators: shuffled rows come in another order
    each time.
    """

    def __init__(
        self,
        dataset: Dataset,
        columns: Sequence[str] | None,
        num_epochs: int,
        *,
        named: bool,
        output_numpy: bool,
    ) -> None:
        names = dataset.column_names
        unknown = [name for name in columns or () if name not in names]
        if unknown:
            raise ValueError(f"no column {', '.join(unknown)}; there are {', '.join(names)}.")
        self._dataset, self._named, self._numpy = dataset, named, output_numpy
        self._columns = [names.index(name) for name in columns or names]
        self._left = num_epochs
        self._epoch, self._row = dataset.passes, 0
        self._source: Iterator[Row] | None = None

    @property
    def position(self) -> tuple[int, int]:
        """The pass, and how many of its rows were given."""
        return self._epoch if self._source else self._dataset.passes, self._row

    def restore(self, position: tuple[int, int]) -> None:
        """Go on from a position, in this program or another that made the dataset alike."""
        self._epoch, self._row = position
        self._dataset.passes = self._epoch
        self._begin()
        for _ in range(self._row):
            next(self._rows())

    def _begin(self) -> None:
        self._epoch = self._dataset.passes
        self._dataset.passes += 1
        self._source = self._dataset.rows(self._epoch)

    def _rows(self) -> Iterator[Row]:
        if self._source is None:
            self._begin()
        assert self._source is not None
        return self._source

    def __iter__(self) -> RowIterator:
        return self

    def __next__(self) -> Any:
        if self._left == 0:
            raise StopIteration
        try:
            row = next(self._rows())
        except StopIteration:
            self._row, self._source = 0, None
            self._left -= 1
            raise
        self._row += 1
        kept = [row[at] for at in self._columns]
        values = kept if self._numpy else [_tensor(array) for array in kept]
        if not self._named:
            return values
        return dict(zip(self._dataset.column_names, values, strict=True))


def _tensor(array: np.ndarray) -> Tensor:
    return wrap(np.ascontiguousarray(array))


class _Batch(Dataset):
    def __init__(self, source: Dataset, size: int, drop: bool) -> None:
        super().__init__(source.column_names)
        self.source, self.size, self.drop = source, size, bool(drop)

    def rows(self, epoch: int) -> Iterator[Row]:
        held: list[Row] = []
        for row in self.source.rows(epoch):
            held.append(row)
            if len(held) == self.size:
                yield self._join(held)
                held = []
        if held and not self.drop:
            yield self._join(held)

    def _join(self, rows: list[Row]) -> Row:
        joined: list[np.ndarray] = []
        for name, arrays in zip(self.column_names, zip(*rows, strict=True), strict=True):
            shapes = {array.shape for array in arrays}
            if len(shapes) > 1:
                raise ValueError(
                    f"batch: rows of column {name!r} differ in shape:"
                    f" {', '.join(map(str, sorted(shapes)))}; bring them to one shape by map."
                )
            joined.append(np.stack(arrays))
        return tuple(joined)

    def get_dataset_size(self) -> int:
        rows = self.source.get_dataset_size()
        return rows // self.size if self.drop else -(-rows // self.size)


class _Shuffle(Dataset):
    def __init__(self, source: Dataset, buffer: int) -> None:
        super().__init__(source.column_names)
        self.source, self.buffer = source, buffer
        self.key = random.next_key().data.copy()

    def rows(self, epoch: int) -> Iterator[Row]:
        stream = random.generator(self.key + np.array([0, epoch << 32]))
        held: list[Row] = []
        for row in self.source.rows(epoch):
            if len(held) < self.buffer:
                held.append(row)
                continue
            at = int(stream.integers(self.buffer))
            yield held[at]
            held[at] = row
        for at in stream.permutation(len(held)):
            yield held[at]

    def get_dataset_size(self) -> int:
        return self.source.get_dataset_size()


class _Map(Dataset):
    def __init__(
        self,
        source: Dataset,
        operations: list[Operation],
        inputs: list[str],
        outputs: list[str],
    ) -> None:
        first = source.column_names.index(inputs[0])
        kept = [name for name in source.column_names if name not in inputs]
        at = len([name for name in source.column_names[:first] if name in kept])
        super().__init__([*kept[:at], *outputs, *kept[at:]])
        self.source, self.operations = source, operations
        self.inputs, self.outputs = inputs, outputs

    def rows(self, epoch: int) -> Iterator[Row]:
        for row in self.source.rows(epoch):
            values = dict(zip(self.source.column_names, row, strict=True))
            results: tuple[Any, ...] = tuple(values.pop(name) for name in self.inputs)
            for operation in self.operations:
                found = operation(*results)
                results = found if isinstance(found, tuple) else (found,)
            if len(results) != len(self.outputs):
                raise ValueError(
                    f"map: the operations give {len(results)} results for"
                    f" {len(self.outputs)} columns ({', '.join(self.outputs)})."
                )
            values |= dict(zip(self.outputs, map(_array, results), strict=True))
            yield tuple(values[name] for name in self.column_names)

    def get_dataset_size(self) -> int:
        return self.source.get_dataset_size()


class _Repeat(Dataset):
    def __init__(self, source: Dataset, count: int | None) -> None:
        super().__init__(source.column_names)
        self.source, self.count = source, count

    def rows(self, epoch: int) -> Iterator[Row]:
        if self.count is None:
            for number in itertools.count(epoch):
                yield from self.source.rows(number)
        else:
            for number in range(self.count):
                yield from self.source.rows(epoch * self.count + number)

    def get_dataset_size(self) -> int:
        if self.count is None:
            raise ValueError("a dataset that repeats without end has no size; give repeat a count.")
        return self.source.get_dataset_size() * self.count


class _Cut(Dataset):
    def __init__(self, source: Dataset, start: int, count: int | None) -> None:
        super().__init__(source.column_names)
        self.source, self.start, self.count = source, start, count

    def rows(self, epoch: int) -> Iterator[Row]:
        for number, row in enumerate(self.source.rows(epoch)):
            if self.count is not None and number >= self.start + self.count:
                return
            if number >= self.start:
                yield row

    def get_dataset_size(self) -> int:
        rest = max(0, self.source.get_dataset_size() - self.start)
        return rest if self.count is None else min(rest, self.count)


class _Part(Dataset):
    def __init__(self, source: Dataset, numbers: np.ndarray) -> None:
        super().__init__(source.column_names)
        self.source, self.numbers = source, frozenset(numbers.tolist())

    def rows(self, epoch: int) -> Iterator[Row]:
        """Rows are numbered as the first pass of the source gives them."""
        for number, row in enumerate(self.source.rows(0)):
            if number in self.numbers:
                yield row

    def get_dataset_size(self) -> int:
        return len(self.numbers)


def _array(value: Any) -> np.ndarray:
    return value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)


def _names(columns: str | Sequence[str] | None) -> list[str]:
    if columns is None:
        return []
    return [columns] if isinstance(columns, str) else list(columns)


def _positive(method: str, name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{method}: {name} must be an int, it is {value!r}.")
    if value < 1:
        raise ValueError(f"{method}: {name} must be positive, it is {value}.")
    return value


def _counts(sizes: Sequence[int | float], total: int) -> list[int]:
    if all(isinstance(size, float) for size in sizes):
        counts = [round(size * total) for size in sizes]
        if abs(sum(sizes) - 1.0) > 1e-9:
            raise ValueError(f"split: the shares {list(sizes)} do not add up to 1.")
        counts[-1] = total - sum(counts[:-1])
    else:
        counts = [int(size) for size in sizes]
    if sum(counts) != total or min(counts) < 1:
        raise ValueError(f"split: parts of {counts} rows do not make up {total} rows.")
    return counts


def as_columns(row: Any, names: Sequence[str]) -> Row:
    """A row as a tuple of arrays, one a column.

    Raises
    ------
    ValueError
        If it has more or fewer values than columns.
    """
    if isinstance(row, Mapping):
        row = tuple(row[name] for name in names)
    values = row if isinstance(row, tuple) else (row,)
    if len(values) != len(names):
        raise ValueError(
            f"a row has {len(values)} values for {len(names)} columns ({', '.join(names)})."
        )
    return tuple(_array(value) for value in values)
