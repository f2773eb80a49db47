"""Datasets: rows of named columns, and the operations that make one dataset of another."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .columns import listed, positive
from .randomness import new_key, pass_generator
from .rows import Rows

Operation = Callable[..., Any]


class Dataset(Rows):
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

    def batch(
        self,
        batch_size: int | Callable[..., int],
        drop_remainder: bool = False,
        num_parallel_workers: int | None = None,
        *,
        per_batch_map: Operation | None = None,
        input_columns: str | Sequence[str] | None = None,
        output_columns: str | Sequence[str] | None = None,
        python_multiprocessing: bool = False,
        pad_info: Mapping[str, Any] | None = None,
        max_rowsize: Any = None,
    ) -> Dataset:
        """Join rows of equal shapes into batches; the last may be smaller unless it is dropped.

        Parameters
        ----------
        batch_size : int or callable
            Rows a batch; a function gets a `BatchInfo` and gives the size of the batch to come.
        drop_remainder : bool
            Whether a last batch with fewer rows is left out.
        num_parallel_workers : int, optional
            How many workers run `per_batch_map`.
        per_batch_map : callable, optional
            Takes, before rows are joined, a list of arrays for each input column and a
            `BatchInfo`; gives a list or array for each output column.
        input_columns, output_columns : str or list of str, optional
            What `per_batch_map` takes (by default all columns) and what it gives (as it takes).
        python_multiprocessing : bool
            Whether the workers are processes instead of threads.
        pad_info : dict of str to (shape, value), optional
            Columns to pad before rows are joined, as in `padded_batch`.
        max_rowsize : optional
            Taken for MindSpore's scripts; rows of any size pass.

        Returns
        -------
        Dataset
            The batches, each column with one axis more in front.

        Raises
        ------
        ValueError
            If the size is not positive, or, while iterating, rows differ in shape.
        TypeError
            If the size is neither an int nor callable.
        """
        from .batching import Batch, BatchMap

        mapping = None
        if per_batch_map is not None:
            inputs = listed(input_columns) or self.column_names
            mapping = BatchMap(
                per_batch_map, inputs, listed(output_columns) or inputs, num_parallel_workers,
                python_multiprocessing,
            )  # fmt: skip
        elif input_columns is not None or output_columns is not None:
            raise ValueError("batch: input_columns and output_columns belong to a per_batch_map.")
        return Batch(self, batch_size, drop_remainder, mapping, pad_info)

    def padded_batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        num_parallel_workers: int | None = None,
        pad_info: Mapping[str, Any] | None = None,
    ) -> Dataset:
        """Pad rows to one shape and join them into batches.

        Parameters
        ----------
        batch_size : int
            Rows a batch.
        drop_remainder : bool
            Whether a last batch with fewer rows is left out.
        num_parallel_workers : int, optional
            Taken for MindSpore's scripts; padding takes no worker.
        pad_info : dict of str to (shape, value), optional
            By column, the shape to pad to (None for an axis, or for all: the longest of the batch)
            and the number to pad with. By default all columns, with zeros.

        Raises
        ------
        ValueError
            If, while iterating, a row is larger than the shape to pad to.
        """
        from .batching import Batch

        every = dict.fromkeys(self.column_names, (None, 0))
        return Batch(
            self, batch_size, drop_remainder, None, every if pad_info is None else pad_info
        )

    def bucket_batch_by_length(
        self,
        column_names: str | Sequence[str],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        element_length_function: Callable[..., int] | None = None,
        pad_info: Mapping[str, Any] | None = None,
        pad_to_bucket_boundary: bool = False,
        drop_remainder: bool = False,
    ) -> Dataset:
        """Gather rows of similar length and join each bucket's rows into batches.

        Parameters
        ----------
        column_names : str or list of str
            The columns that tell a row's length.
        bucket_boundaries : list of int
            Rising lengths: a bucket takes rows from one up to below the next.
        bucket_batch_sizes : list of int
            Rows a batch of each bucket, one more than there are boundaries.
        element_length_function : callable, optional
            Takes the columns and gives the length; by default the first axis of the one column.
        pad_info : dict of str to (shape, value), optional
            As in `padded_batch`; by default rows are not padded.
        pad_to_bucket_boundary : bool
            Whether axes left None in `pad_info` are padded to the bucket's boundary less one,
            instead of the batch's longest row.
        drop_remainder : bool
            Whether buckets that are not full at the end are left out.

        Raises
        ------
        ValueError
            If boundaries do not rise, or the sizes do not go with them.
        """
        from .batching import BucketBatch

        return BucketBatch(
            self, listed(column_names), bucket_boundaries, bucket_batch_sizes,
            element_length_function, pad_info, pad_to_bucket_boundary, drop_remainder,
        )  # fmt: skip

    def shuffle(self, buffer_size: int) -> Dataset:
        """Give rows in random order, drawn from a buffer of this many rows.

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
            By default what ``config.set_num_parallel_workers`` says, 1 at first.
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
        """Give the rows of the datasets that a function makes of each row's values."""
        from .operations import FlatMapped

        return FlatMapped(self, func)

    def apply(self, apply_func: Callable[[Dataset], Dataset]) -> Dataset:
        """Give what a function makes of this dataset.

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
        """Give all rows this many times in one pass; without end for None or -1."""
        from .operations import Repeated

        endless = count is None or count == -1
        return Repeated(self, None if endless else positive("repeat", "count", count))

    def take(self, count: int = -1) -> Dataset:
        """Give the first rows only, all of them for -1."""
        from .operations import Cut

        return Cut(self, 0, None if count == -1 else positive("take", "count", count))

    def skip(self, count: int) -> Dataset:
        """Leave the first rows out."""
        from .operations import Cut

        if count < 0:
            raise ValueError(f"skip: count must not be negative, it is {count}.")
        return Cut(self, count, None)

    def zip(self, datasets: Dataset | Sequence[Dataset]) -> Dataset:
        """Put the columns of other datasets beside these, up to the shortest."""
        from .operations import Zipped

        return Zipped([self, *([datasets] if isinstance(datasets, Dataset) else datasets)])

    def concat(self, datasets: Dataset | Sequence[Dataset]) -> Dataset:
        """Give the rows of other datasets with the same columns after these; also ``a + b``."""
        from .operations import Concatenated

        return Concatenated([self, *([datasets] if isinstance(datasets, Dataset) else datasets)])

    def __add__(self, other: Dataset) -> Dataset:
        return self.concat(other) if isinstance(other, Dataset) else NotImplemented

    def project(self, columns: str | Sequence[str]) -> Dataset:
        """Keep these columns, in this order."""
        from .operations import Projected

        return Projected(self, listed(columns))

    def rename(
        self, input_columns: str | Sequence[str], output_columns: str | Sequence[str]
    ) -> Dataset:
        """Give columns other names."""
        from .operations import Renamed

        return Renamed(self, listed(input_columns), listed(output_columns))

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
