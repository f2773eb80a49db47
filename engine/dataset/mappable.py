"""Sources whose rows have numbers: a sampler says which of them a pass gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .columns import Row
from .pipeline import Dataset
from .randomness import Drawing, new_key
from .samplers import RandomSampler, Sampler, SequentialSampler, select_sampler


class MappableDataset(Dataset):
    """Rows by number; a subclass says how many there are, and each.

    Parameters
    ----------
    columns : list of str
        The names of a row's values.
    count : int
        How many rows there are.
    sampler : Sampler
        Which rows a pass gives, in which order.
    """

    def __init__(self, columns: Sequence[str], count: int, sampler: Sampler) -> None:
        super().__init__(columns)
        self.count, self.sampler, self.key = count, sampler, new_key()

    def row(self, number: int) -> Row:
        """The row of that number, in memory of its own."""
        raise NotImplementedError

    def stack(self, numbers: np.ndarray) -> Row:
        """The rows of these numbers, stacked; only where ``stacked`` is true."""
        raise NotImplementedError

    # rows by number: one dataset can be the source of another

    def __len__(self) -> int:
        return self.get_dataset_size()

    def __getitem__(self, number: int) -> Row:
        """The row of that number; where a sampler chose rows, as the first pass counts them."""
        count = len(self)
        if not -count <= number < count:
            raise IndexError(f"{type(self).__name__} has {count} rows, no row {number}.")
        number %= count
        return self.row(number if _takes_all(self.sampler) else int(self.order(0)[number]))

    # what a sampler asks

    def source_size(self) -> int:
        """How many rows there are, before the sampler chooses."""
        return self.count

    def column(self, name: str) -> np.ndarray:
        """One column of all rows.

        Raises
        ------
        ValueError
            If there is no such column.
        """
        if name not in self.column_names:
            raise ValueError(f"no column {name!r}; there are {', '.join(self.column_names)}.")
        at = self.column_names.index(name)
        return np.asarray([self.row(number)[at] for number in range(self.count)])

    # passes

    def order(self, epoch: int) -> np.ndarray:
        """The numbers of a pass's rows, in order."""
        with Drawing(self.key, epoch, 0):
            return self.sampler.choose(self)

    def rows(self, epoch: int) -> Iterator[Row]:
        """Yield the rows of a pass."""
        yield from self.rows_of(self.order(epoch).tolist(), epoch)

    def rows_of(self, numbers: Sequence[int], epoch: int) -> Iterator[Row]:
        """Yield the rows of these numbers, as a pass gives them."""
        return map(self.row, numbers)

    def blocks(self, epoch: int, size: int) -> Iterator[Row]:
        """Yield the rows of a pass stacked by so many."""
        if not self.stacked:
            yield from super().blocks(epoch, size)
            return
        order = self.order(epoch)
        for start in range(0, len(order), size):
            yield self.stack(order[start : start + size])

    def get_dataset_size(self) -> int:
        """How many rows a pass has."""
        if _takes_all(self.sampler):
            return self.count
        with Drawing(self.key, 0, 0):
            return self.sampler.size(self)

    def use_sampler(self, new_sampler: Any) -> None:
        """Choose rows by another sampler from the next pass on.

        Raises
        ------
        TypeError
            If it is no sampler.
        """
        self.sampler = select_sampler("use_sampler", None, new_sampler, None, None, None)

    def add_sampler(self, new_sampler: Sampler) -> None:
        """Let another sampler choose from the rows that the present one gives."""
        new_sampler.add_child(self.sampler)
        self.sampler = new_sampler

    def part(self, numbers: np.ndarray) -> Dataset:
        """The rows of these numbers, shuffled anew each pass if this dataset is.

        Where a sampler chose rows, they are counted as the first pass gives them.
        """
        if not _takes_all(self.sampler):
            return super().part(numbers)
        return Subset(self, numbers)


class Subset(MappableDataset):
    """Some rows of a source, with its kind of order."""

    def __init__(self, source: MappableDataset, numbers: np.ndarray) -> None:
        shuffled = isinstance(source.sampler, RandomSampler)
        sampler = RandomSampler() if shuffled else SequentialSampler()
        super().__init__(source.column_names, len(numbers), sampler)
        self.sources = (source,)
        self.source, self.numbers = source, numbers

    @property
    def stacked(self) -> bool:
        """As the source."""
        return self.source.stacked

    def row(self, number: int) -> Row:
        """The row of that number in the part."""
        return self.source.row(int(self.numbers[number]))

    def rows_of(self, numbers: Sequence[int], epoch: int) -> Iterator[Row]:
        """Yield those rows of the part, made as the source makes them: by its workers, if any."""
        return self.source.rows_of(self.numbers[list(numbers)].tolist(), epoch)

    def stack(self, numbers: np.ndarray) -> Row:
        """Those rows of the part, stacked."""
        return self.source.stack(self.numbers[numbers])


def _takes_all(sampler: Sampler) -> bool:
    """Whether a pass has every row once, whatever their order."""
    if sampler.child_sampler is not None or sampler.num_samples is not None:
        return False
    if type(sampler) is SequentialSampler:
        return sampler.start_index == 0
    return type(sampler) is RandomSampler and not sampler.replacement


def rows_of_arrays(arrays: Sequence[np.ndarray], numbers: Any) -> Row:
    """Those rows of each array, as copies."""
    return tuple(np.array(array[numbers]) for array in arrays)


class ArraysDataset(MappableDataset):
    """Rows that are slices of arrays of equal length; what files in memory become."""

    def __init__(
        self, columns: Sequence[str], arrays: Sequence[np.ndarray], sampler: Sampler
    ) -> None:
        self.arrays = list(arrays)
        super().__init__(columns, len(self.arrays[0]), sampler)

    @property
    def stacked(self) -> bool:
        """Always: a block is one indexing of each array."""
        return True

    def row(self, number: int) -> Row:
        """The row of that number."""
        return rows_of_arrays(self.arrays, number)

    def stack(self, numbers: np.ndarray) -> Row:
        """Those rows, stacked."""
        return tuple(array[numbers] for array in self.arrays)

    def column(self, name: str) -> np.ndarray:
        """One column of all rows."""
        if name not in self.column_names:
            return super().column(name)
        return self.arrays[self.column_names.index(name)]
