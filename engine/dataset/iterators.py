"""Iterators over a dataset: what they give, passes, and going on where a run stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import config, workers
from .columns import Row, require_columns, to_tensor

if TYPE_CHECKING:
    from .rows import Rows


class RowIterator:
    """Gives rows, pass after pass; ``position`` and ``restore`` make a run resume where it was.

    Passes are counted by the dataset, over all its iterators: shuffled rows come in another order
    each time. Workers and the thread that prepares rows end with the pass, with ``close``, or when
    the iterator is collected.

    Parameters
    ----------
    dataset : Dataset
        Whose rows are given.
    columns : list of str, optional
        Which columns, in this order; by default all.
    num_epochs : int
        After so many passes the iterator is empty; -1 for never.
    named : bool
        Whether a row is a dictionary by column instead of a list.
    output_numpy : bool
        Whether values are arrays instead of Tensors.
    """

    def __init__(
        self,
        dataset: Rows,
        columns: Sequence[str] | None,
        num_epochs: int,
        *,
        named: bool,
        output_numpy: bool,
    ) -> None:
        if isinstance(num_epochs, bool) or not isinstance(num_epochs, int) or num_epochs < -1:
            raise ValueError(
                f"num_epochs must be a count of passes, or -1 for any number: {num_epochs!r}."
            )
        names = dataset.column_names
        require_columns("create_tuple_iterator", columns or (), names)
        self._dataset, self._named, self._numpy = dataset, named, output_numpy
        self._names = list(columns or names)
        self._columns = [names.index(name) for name in self._names]
        self._left = num_epochs
        self._epoch, self._row = dataset.passes, 0
        self._source: Iterator[Row] | None = None

    @property
    def position(self) -> tuple[int, int]:
        """The pass, and how many of its rows were given."""
        return self._epoch if self._source else self._dataset.passes, self._row

    def restore(self, position: tuple[int, int]) -> None:
        """Go on from a position, in this program or another that made the dataset alike."""
        self.close()
        self._epoch, self._row = position
        self._dataset.passes = self._epoch
        rows = self._begin()
        for _ in range(self._row):
            next(rows)

    def close(self) -> None:
        """End the pass and its workers; the next row asked for begins another."""
        source, self._source, self._row = self._source, None, 0
        if source is not None:
            source.close()  # pyright: ignore[reportAttributeAccessIssue]  it is a generator

    def _begin(self) -> Iterator[Row]:
        self._epoch = self._dataset.passes
        self._dataset.passes += 1
        dataset, epoch, size = self._dataset, self._epoch, config.get_prefetch_size()
        if size and not config.get_debug_mode():
            self._source = workers.ahead(lambda: dataset.rows(epoch), size)
        else:
            self._source = dataset.rows(epoch)
        return self._source

    def __iter__(self) -> RowIterator:
        return self

    def __next__(self) -> Any:
        if self._left == 0:
            raise StopIteration
        try:
            row = next(self._source or self._begin())
        except StopIteration:
            self.close()
            self._left -= 1
            raise
        except BaseException:
            self.close()
            raise
        self._row += 1
        kept = [row[at] for at in self._columns]
        values: list[Any] = kept
        if not self._numpy:
            values = [to_tensor(a, name) for a, name in zip(kept, self._names, strict=True)]
        return dict(zip(self._names, values, strict=True)) if self._named else values
