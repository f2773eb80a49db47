"""Where rows come from: arrays in memory, or Python objects that give them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import random
from .pipeline import Dataset, Row, as_columns


class _MapStyle(Dataset):
    """Rows by number, in order or shuffled anew each pass."""

    def __init__(self, columns: Sequence[str], count: int, shuffled: bool) -> None:
        super().__init__(columns)
        self.count, self.shuffled = count, shuffled
        self.key = random.next_key().data.copy() if shuffled else np.zeros(2, np.int64)

    def row(self, number: int) -> Row:
        """The row of that number."""
        raise NotImplementedError

    def rows(self, epoch: int) -> Iterator[Row]:
        order = np.arange(self.count)
        if self.shuffled:
            stream = random.generator(self.key + np.array([0, epoch << 32]))
            order = stream.permutation(self.count)
        for number in order.tolist():
            yield self.row(number)

    def get_dataset_size(self) -> int:
        return self.count

    def part(self, numbers: np.ndarray) -> Dataset:
        """The rows of these numbers, shuffled anew each pass if this dataset is."""
        return _Subset(self, numbers)


class _Subset(_MapStyle):
    def __init__(self, source: _MapStyle, numbers: np.ndarray) -> None:
        super().__init__(source.column_names, len(numbers), source.shuffled)
        self.source, self.numbers = source, numbers

    def row(self, number: int) -> Row:
        return self.source.row(int(self.numbers[number]))


class NumpySlicesDataset(_MapStyle):
    """Rows that are slices of arrays along their first axis.

    Parameters
    ----------
    data : ndarray, list, tuple of arrays, or dict of str to array
        One column, or several of equal length.
    column_names : str or list of str, optional
        Their names; by default the dictionary's keys, else ``column_0`` and so on.
    shuffle : bool, optional
        Whether rows come in random order, anew each pass; by default they do.

    Raises
    ------
    ValueError
        If columns differ in length, or in number from the names.
    """

    def __init__(
        self,
        data: Any,
        column_names: str | Sequence[str] | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int = 1,
        shuffle: bool | None = None,
    ) -> None:
        if isinstance(data, Mapping):
            arrays = [np.asarray(value) for value in data.values()]
            default = list(data)
        else:
            arrays = (
                [np.asarray(v) for v in data] if isinstance(data, tuple) else [np.asarray(data)]
            )
            default = [f"column_{number}" for number in range(len(arrays))]
        names = [column_names] if isinstance(column_names, str) else list(column_names or default)
        if len(names) != len(arrays):
            raise ValueError(
                f"NumpySlicesDataset: {len(names)} column names for {len(arrays)} columns."
            )
        lengths = {len(array) for array in arrays}
        if len(lengths) != 1:
            raise ValueError(f"NumpySlicesDataset: columns differ in length: {sorted(lengths)}.")
        count = lengths.pop()
        self.arrays = arrays
        super().__init__(names, min(count, num_samples or count), shuffle is not False)

    def row(self, number: int) -> Row:
        """The row of that number."""
        return tuple(np.asarray(array[number]) for array in self.arrays)


class GeneratorDataset(Dataset):
    """Rows from Python: an object with ``__getitem__`` and ``__len__``, an iterable, or a function.

    Parameters
    ----------
    source : object
        Map-style, iterable, or a callable that returns an iterator. A row is one value or a tuple.
    column_names : str or list of str
        The names of a row's values.
    num_parallel_workers : int
        Taken for MindSpore's scripts; rows are read by the thread that iterates.
    shuffle : bool, optional
        Whether rows come in random order, anew each pass. Map-style sources do by default; others
        cannot.

    Raises
    ------
    TypeError
        If the source gives no rows.
    ValueError
        If `shuffle` is asked of a source that is not map-style; while iterating, if a row does not
        have a value a column.
    """

    def __init__(
        self,
        source: Any,
        column_names: str | Sequence[str] | None = None,
        num_parallel_workers: int = 1,
        shuffle: bool | None = None,
        python_multiprocessing: bool = True,
    ) -> None:
        names = [column_names] if isinstance(column_names, str) else list(column_names or ["data"])
        super().__init__(names)
        self.source = source
        mapped = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        if not mapped and not callable(source) and not hasattr(source, "__iter__"):
            raise TypeError(
                "GeneratorDataset: the source needs __getitem__ and __len__, or __iter__, or to be"
                f" callable; it is {type(source).__name__}."
            )
        if shuffle and not mapped:
            raise ValueError(
                "GeneratorDataset: shuffle needs a source with __getitem__ and __len__."
            )
        self._mapped = _Indexed(source, names, shuffle is not False) if mapped else None

    def part(self, numbers: np.ndarray) -> Dataset:
        """The rows of these numbers."""
        return super().part(numbers) if self._mapped is None else self._mapped.part(numbers)

    def rows(self, epoch: int) -> Iterator[Row]:
        """Yield the rows of a pass."""
        if self._mapped is not None:
            yield from self._mapped.rows(epoch)
            return
        rows: Any = self.source() if callable(self.source) else self.source
        for row in rows:
            yield as_columns(row, self.column_names)

    def get_dataset_size(self) -> int:
        """How many rows a pass has; a source without a length is counted by reading it."""
        if self._mapped is not None:
            return self._mapped.get_dataset_size()
        if hasattr(self.source, "__len__"):
            return len(self.source)
        return sum(1 for _ in self.rows(0))


class _Indexed(_MapStyle):
    def __init__(self, source: Any, columns: Sequence[str], shuffled: bool) -> None:
        super().__init__(columns, len(source), shuffled)
        self.source = source

    def row(self, number: int) -> Row:
        return as_columns(self.source[number], self.column_names)
