"""Datasets: rows of named columns, and the operations that make one dataset of another."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .batchable import Batchable
from .columns import listed, positive
from .randomness import new_key, pass_generator

Operation = Callable[..., Any]


class Dataset(Batchable):
    """Rows of named columns; each method returns a new dataset on top of this one.

    Iterating gives a list of Tensors a row. The order of shuffled rows and what random transforms
    draw depend on the seed set by ``set_seed`` when the dataset was made, and on how often it was
    iterated: the same program gives the same rows, with any number of workers.

    Parameters
    ----------
    columns : list of str
        The names of a row's values.
    sources : tuple of Dataset
        The datasets that this one is made of.
    """

    def shuffle(self, buffer_size: int) -> Dataset:
        """Give rows in random order, drawn from a buffer, anew each pass.

        Parameters
        ----------
        buffer_size : int
            How many rows the buffer holds; with as many as there are every order is as likely.

        Raises
        ------
        ValueError
            If the buffer holds fewer than two rows.
        """
        from .operations import Shuffled

        if positive("shuffle", "buffer_size", buffer_size) < 2:
            raise ValueError(f"shuffle: buffer_size must be at least 2, it is {buffer_size}.")
        return Shuffled(self, buffer_size)

    def map(
        self,
        operations: Operation | Sequence[Operation],
        input_columns: str | Sequence[str] | None = None,
        output_columns: str | Sequence[str] | None = None,
        num_parallel_workers: int | None = None,
        *,
        column_order: Sequence[str] | None = None,
        python_multiprocessing: bool = False,
        max_rowsize: Any = None,
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
            How many threads or processes work on rows; with 1 the thread that iterates does.
            By default what ``config.set_num_parallel_workers`` says, 1 at first. Functions that
            workers run must keep to NumPy: ops on Tensors belong to the thread that iterates.
        column_order : list of str, optional
            The columns kept and their order; by default results stand where the first input was.
        python_multiprocessing : bool
            Whether the workers are processes instead of threads.
        max_rowsize : optional
            Taken for MindSpore's scripts; rows of any size pass.

        Raises
        ------
        ValueError
            If a column does not exist, or there are more or fewer results than names.
        RowError
            While iterating, if an operation fails: it names the row and the operation.
        """
        from .mapping import Mapped

        steps = list(operations) if isinstance(operations, Sequence) else [operations]
        inputs = listed(input_columns) or self.column_names[:1]
        outputs = listed(output_columns) or inputs
        mapped = Mapped(self, steps, inputs, outputs, num_parallel_workers, python_multiprocessing)
        return mapped if column_order is None else mapped.project(column_order)

    def filter(
        self,
        predicate: Callable[..., Any],
        input_columns: str | Sequence[str] | None = None,
        num_parallel_workers: int | None = None,
    ) -> Dataset:
        """Keep the rows for which a function of the columns (by default all) is true.

        Parameters
        ----------
        predicate : callable
            Takes the columns as NumPy arrays.
        input_columns : str or list of str, optional
            The columns it takes.
        num_parallel_workers : int, optional
            Taken for MindSpore's scripts; the thread that iterates filters.
        """
        from .operations import Filtered

        return Filtered(self, predicate, listed(input_columns) or self.column_names)

    def flat_map(self, func: Callable[..., Dataset]) -> Dataset:
        """Give the rows of the datasets that a function makes, one of each row.

        Parameters
        ----------
        func : callable
            Takes a row's values as NumPy arrays and gives a dataset.

        Raises
        ------
        TypeError
            If, while iterating, it gives no dataset.
        """
        from .operations import FlatMapped

        return FlatMapped(self, func)

    def apply(self, apply_func: Callable[[Dataset], Dataset]) -> Dataset:
        """Give what a function makes of this dataset.

        Parameters
        ----------
        apply_func : callable
            Takes a dataset and gives one.

        Raises
        ------
        TypeError
            If it gives no dataset.
        """
        made = apply_func(self)
        if not isinstance(made, Dataset):
            raise TypeError(f"apply: the function must return a dataset, it gave {made!r}.")
        return made

    def repeat(self, count: int | None = None) -> Dataset:
        """Give all rows several times in one pass.

        Parameters
        ----------
        count : int, optional
            How often; without end for None or -1.

        Raises
        ------
        ValueError
            If the count is neither positive nor -1.
        """
        from .operations import Repeated

        endless = count is None or count == -1
        return Repeated(self, None if endless else positive("repeat", "count", count))

    def take(self, count: int = -1) -> Dataset:
        """Give the first rows only.

        Parameters
        ----------
        count : int
            How many; all of them for -1.

        Raises
        ------
        ValueError
            If the count is neither positive nor -1.
        """
        from .operations import Cut

        return Cut(self, 0, None if count == -1 else positive("take", "count", count))

    def skip(self, count: int) -> Dataset:
        """Leave the first rows out.

        Parameters
        ----------
        count : int
            How many.

        Raises
        ------
        ValueError
            If the count is negative.
        """
        from .operations import Cut

        if count < 0:
            raise ValueError(f"skip: count must not be negative, it is {count}.")
        return Cut(self, count, None)

    def zip(self, datasets: Dataset | Sequence[Dataset]) -> Dataset:
        """Put the columns of other datasets beside these, up to the shortest.

        Parameters
        ----------
        datasets : Dataset or tuple of Dataset
            The others, their columns named differently.

        Raises
        ------
        ValueError
            If two columns have one name.
        """
        from .operations import Zipped

        return Zipped([self, *([datasets] if isinstance(datasets, Dataset) else datasets)])

    def concat(self, datasets: Dataset | Sequence[Dataset]) -> Dataset:
        """Give the rows of other datasets after these; also ``a + b``.

        Parameters
        ----------
        datasets : Dataset or list of Dataset
            The others, with the same columns.

        Raises
        ------
        ValueError
            If columns differ.
        TypeError
            While iterating, if element types or numbers of axes differ.
        """
        from .operations import Concatenated

        return Concatenated([self, *([datasets] if isinstance(datasets, Dataset) else datasets)])

    def __add__(self, other: Dataset) -> Dataset:
        return self.concat(other) if isinstance(other, Dataset) else NotImplemented

    def project(self, columns: str | Sequence[str]) -> Dataset:
        """Keep some columns.

        Parameters
        ----------
        columns : str or list of str
            Which, in their new order.

        Raises
        ------
        ValueError
            If there is no such column.
        """
        from .operations import Projected

        return Projected(self, listed(columns))

    def rename(
        self, input_columns: str | Sequence[str], output_columns: str | Sequence[str]
    ) -> Dataset:
        """Give columns other names.

        Parameters
        ----------
        input_columns, output_columns : str or list of str
            The old names and the new ones.

        Raises
        ------
        ValueError
            If there is no such column, or two would have one name.
        """
        from .operations import Renamed

        return Renamed(self, listed(input_columns), listed(output_columns))

    def split(self, sizes: Sequence[int | float], randomize: bool = True) -> list[Dataset]:
        """Split the rows into parts that share no row.

        Parameters
        ----------
        sizes : list of int or list of float
            How many rows each part has, or its share of 1.
        randomize : bool
            Whether rows are dealt out at random; else the parts follow each other.

        Returns
        -------
        list of Dataset
            The parts; those of a shuffled source with numbered rows are shuffled, too.

        Raises
        ------
        ValueError
            If the parts do not make up the whole.
        """
        total = self.get_dataset_size()
        counts = _counts(sizes, total)
        order = np.arange(total)
        if randomize:
            order = pass_generator(new_key(), 0).permutation(total)
        ends = np.cumsum([0, *counts])
        return [self.part(np.sort(order[a:b])) for a, b in itertools.pairwise(ends)]

    def part(self, numbers: np.ndarray) -> Dataset:
        """The rows of these numbers, counted as the first pass gives them."""
        from .operations import Part

        return Part(self, numbers)

    def save(
        self, file_name: str | Path, num_files: int = 1, file_type: str = "mindrecord"
    ) -> None:
        """Write the rows of one pass to files that `MindDataset` reads.

        Parameters
        ----------
        file_name : str or Path
            The file; with several a number is added to the name.
        num_files : int
            How many files the rows are spread over.
        file_type : str
            Only ``mindrecord``.

        Raises
        ------
        ValueError
            If the type is another, or rows of a column differ in element type.
        """
        from ..mindrecord.saving import save_dataset

        save_dataset(self, file_name, num_files, file_type)


def _counts(sizes: Sequence[int | float], total: int) -> list[int]:
    if not sizes:
        raise ValueError("split: give the parts' sizes, or their shares of 1.")
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
