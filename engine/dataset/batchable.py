"""The operations that join rows into batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .columns import listed
from .rows import Rows

if TYPE_CHECKING:
    from .pipeline import Dataset


class Batchable(Rows):
    """Rows that can be joined into batches."""

    def batch(
        self,
        batch_size: int | Callable[..., int],
        drop_remainder: bool = False,
        num_parallel_workers: int | None = None,
        *,
        per_batch_map: Callable[..., Any] | None = None,
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
            Columns to pad before rows are joined, as in `padded_batch`; ``{}`` for all.
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

        return Batch(self, batch_size, drop_remainder, None, {} if pad_info is None else pad_info)

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
