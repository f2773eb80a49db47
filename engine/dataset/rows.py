"""What every dataset is: rows of named columns, what is known of them, and iterators over them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from .columns import Row, join_rows, listed
from .iterators import RowIterator


class Rows:
    """Rows of named columns, and the datasets that they are made of.

    Parameters
    ----------
    columns : list of str
        The names of a row's values.
    sources : sequence of Rows
        The datasets that this one is made of.
    """

    def __init__(self, columns: Sequence[str], sources: Sequence[Rows] = ()) -> None:
        self.column_names = list(columns)
        self.sources = tuple(sources)
        self.passes = 0

    # what a subclass says

    def rows(self, epoch: int) -> Iterator[Row]:
        """Yield the rows of a pass, the first being 0."""
        raise NotImplementedError

    def get_dataset_size(self) -> int:
        """How many rows (or batches) a pass has."""
        raise NotImplementedError

    @property
    def origin(self) -> str:
        """The name of the class that rows come from first, for messages."""
        return self.sources[0].origin if self.sources else type(self).__name__

    @property
    def endless(self) -> bool:
        """Whether a pass has no end."""
        return any(source.endless for source in self.sources)

    @property
    def stacked(self) -> bool:
        """Whether ``blocks`` is cheaper than joining rows: all have one shape, in memory."""
        return False

    def blocks(self, epoch: int, size: int) -> Iterator[Row]:
        """Yield the rows of a pass stacked by so many, the last block with what is left."""
        rows, first = self.rows(epoch), 0
        while held := list(itertools.islice(rows, size)):
            yield join_rows(held, self.column_names, first, "batch")
            first += len(held)

    # what is known of the rows

    def get_col_names(self) -> list[str]:
        """The names of the columns."""
        return list(self.column_names)

    def output_shapes(self, estimate: bool = False) -> list[list[int | None]]:
        """The shape of each column in the first row.

        Parameters
        ----------
        estimate : bool
            Whether all rows are read, and None stands where their sizes differ.

        Returns
        -------
        list of list of int
            A shape each column.

        Raises
        ------
        ValueError
            If there are no rows, or, with `estimate`, rows differ in number of axes.
        """
        shapes = [list[int | None](array.shape) for array in self._first()]
        if not estimate:
            return shapes
        for row in self.rows(0):
            for shape, array in zip(shapes, row, strict=True):
                if len(shape) != array.ndim:
                    raise ValueError("output_shapes: rows of a column differ in number of axes.")
                for axis, size in enumerate(array.shape):
                    shape[axis] = size if shape[axis] == size else None
        return shapes

    def output_types(self) -> list[Any]:
        """The element type of each column in the first row, as NumPy's types."""
        return [array.dtype.type for array in self._first()]

    def _first(self) -> Row:
        first = next(self.rows(0), None)
        if first is None:
            raise ValueError("output_shapes, output_types: the dataset has no rows.")
        return first

    def get_batch_size(self) -> int:
        """How many rows a batch has, 1 where there are no batches."""
        return self.sources[0].get_batch_size() if self.sources else 1

    def get_repeat_count(self) -> int:
        """How often a pass repeats the rows of its source."""
        return self.sources[0].get_repeat_count() if self.sources else 1

    def num_classes(self) -> int | None:
        """How many classes the labels have, None where the source does not know."""
        return self.sources[0].num_classes() if self.sources else None

    def get_class_indexing(self) -> dict[str, Any]:
        """The number of each class by name, empty where the source has none."""
        return self.sources[0].get_class_indexing() if self.sources else {}

    # iteration

    def create_tuple_iterator(
        self,
        columns: Sequence[str] | None = None,
        num_epochs: int = -1,
        output_numpy: bool = False,
        do_copy: bool = False,
    ) -> RowIterator:
        """Iterate over rows as lists; each ``for`` loop over the iterator is one pass.

        Parameters
        ----------
        columns : list of str, optional
            Which columns, in this order; by default all.
        num_epochs : int
            After so many passes the iterator is empty; -1 for never.
        output_numpy : bool
            Whether values are NumPy arrays instead of Tensors; text always comes as arrays.
        do_copy : bool
            Changes nothing: values are the caller's own memory either way.

        Returns
        -------
        RowIterator
            The iterator.
        """
        return RowIterator(
            self, listed(columns) or None, num_epochs, named=False, output_numpy=output_numpy
        )

    def create_dict_iterator(
        self, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = False
    ) -> RowIterator:
        """Iterate over rows as dictionaries by column.

        Parameters
        ----------
        num_epochs : int
            After so many passes the iterator is empty; -1 for never.
        output_numpy : bool
            Whether values are NumPy arrays instead of Tensors; text always comes as arrays.
        do_copy : bool
            Changes nothing: values are the caller's own memory either way.

        Returns
        -------
        RowIterator
            The iterator.
        """
        return RowIterator(self, None, num_epochs, named=True, output_numpy=output_numpy)

    def reset(self) -> None:
        """Count passes from the start again: the next gives what the first gave."""
        self.passes = 0

    def __iter__(self) -> Iterator[Any]:
        return iter(self.create_tuple_iterator(num_epochs=1))

    def __len__(self) -> int:
        return self.get_dataset_size()
