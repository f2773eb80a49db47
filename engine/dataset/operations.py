"""Operations that choose, order or join rows and columns."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .columns import Row, require_columns, require_distinct
from .pipeline import Dataset
from .randomness import Drawing, new_key, pass_generator
from .rows import Rows
from .workers import RowError


class Over(Dataset):
    """A dataset on top of another, with its columns and size unless a subclass says otherwise."""

    def __init__(self, source: Rows, columns: Sequence[str] | None = None) -> None:
        super().__init__(source.column_names if columns is None else columns, (source,))
        self.source = source

    def get_dataset_size(self) -> int:
        """How many rows a pass has."""
        return self.source.get_dataset_size()


class Shuffled(Over):
    """Rows drawn at random from a buffer."""

    def __init__(self, source: Dataset, buffer: int) -> None:
        super().__init__(source)
        self.buffer, self.key = buffer, new_key()

    def rows(self, epoch: int) -> Iterator[Row]:
        """Yield the rows of a pass."""
        stream = pass_generator(self.key, epoch)
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


class Filtered(Over):
    """The rows for which a predicate holds."""

    def __init__(
        self, source: Dataset, predicate: Callable[..., Any], inputs: Sequence[str]
    ) -> None:
        super().__init__(source)
        require_columns("filter", inputs, source.column_names)
        if not callable(predicate):
            raise TypeError(f"filter: the predicate must be callable, it is {predicate!r}.")
        self.predicate, self.inputs, self.key = predicate, list(inputs), new_key()

    def rows(self, epoch: int) -> Iterator[Row]:
        """Yield the rows that are kept."""
        places = [self.column_names.index(name) for name in self.inputs]
        for number, row in enumerate(self.source.rows(epoch)):
            with Drawing(self.key, epoch, number):
                try:
                    kept = bool(self.predicate(*(row[at] for at in places)))
                except Exception as error:
                    raise RowError(
                        f"filter of {', '.join(self.inputs)}, row {number}:"
                        f" {type(error).__name__}: {error}"
                    ) from error
            if kept:
                yield row

    def get_dataset_size(self) -> int:
        """How many rows the first pass keeps, found by making it."""
        return sum(1 for _ in self.rows(0))


class FlatMapped(Dataset):
    """The rows of datasets that a function makes, one of each row."""

    def __init__(self, source: Dataset, function: Callable[..., Dataset]) -> None:
        if not callable(function):
            raise TypeError(f"flat_map: the function must be callable, it is {function!r}.")
        self.source, self.function, self.key = source, function, new_key()
        first = next(self._made(0), None)
        super().__init__(source.column_names if first is None else first.column_names, (source,))

    def _made(self, epoch: int) -> Iterator[Dataset]:
        for number, row in enumerate(self.source.rows(epoch)):
            with Drawing(self.key, epoch, number):
                made = self.function(*row)
            if not isinstance(made, Dataset):
                raise TypeError(
                    f"flat_map: the function must return a dataset, for row {number} it gave"
                    f" {type(made).__name__}."
                )
            yield made

    def rows(self, epoch: int) -> Iterator[Row]:
        """Yield the rows of the datasets in order."""
        for made in self._made(epoch):
            if len(made.column_names) != len(self.column_names):
                raise ValueError(
                    f"flat_map: datasets differ in columns: {', '.join(made.column_names)} after"
                    f" {', '.join(self.column_names)}."
                )
            yield from made.rows(epoch)

    def get_dataset_size(self) -> int:
        """How many rows the first pass has, found by making the datasets."""
        return sum(made.get_dataset_size() for made in self._made(0))


class Repeated(Over):
    """All rows several times in one pass."""

    def __init__(self, source: Dataset, count: int | None) -> None:
        super().__init__(source)
        self.count = count

    def rows(self, epoch: int) -> Iterator[Row]:
        """Yield the rows of as many passes of the source, or of passes without end."""
        if self.count is None:
            for number in itertools.count(epoch):
                empty = True
                for row in self.source.rows(number):
                    empty = False
                    yield row
                if empty:
                    return
        else:
            for number in range(self.count):
                yield from self.source.rows(epoch * self.count + number)

    def get_dataset_size(self) -> int:
        """How many rows a pass has; ValueError where it has no end."""
        if self.count is None:
            raise ValueError("a dataset that repeats without end has no size; give repeat a count.")
        return self.source.get_dataset_size() * self.count

    @property
    def endless(self) -> bool:
        """Whether a pass has no end."""
        return self.count is None or self.source.endless

    def get_repeat_count(self) -> int:
        """How often the source's rows are given in a pass, -1 without end."""
        return -1 if self.count is None else self.count * self.source.get_repeat_count()


class Cut(Over):
    """The rows after a first number of them, up to a count."""

    def __init__(self, source: Dataset, start: int, count: int | None) -> None:
        super().__init__(source)
        self.start, self.count = start, count

    @property
    def endless(self) -> bool:
        """Whether a pass has no end."""
        return self.count is None and self.source.endless

    def rows(self, epoch: int) -> Iterator[Row]:
        """Yield the rows in the range."""
        end = None if self.count is None else self.start + self.count
        yield from itertools.islice(self.source.rows(epoch), self.start, end)

    def get_dataset_size(self) -> int:
        """How many rows are left."""
        if self.source.endless and self.count is not None:
            return self.count
        rest = max(0, self.source.get_dataset_size() - self.start)
        return rest if self.count is None else min(rest, self.count)


class Part(Over):
    """The rows of some numbers, counted as the first pass of the source gives them."""

    def __init__(self, source: Dataset, numbers: np.ndarray) -> None:
        super().__init__(source)
        self.numbers = frozenset(numbers.tolist())

    def rows(self, epoch: int) -> Iterator[Row]:
        """Yield the chosen rows of the source's first pass."""
        for number, row in enumerate(self.source.rows(0)):
            if number in self.numbers:
                yield row

    def get_dataset_size(self) -> int:
        """How many rows were chosen."""
        return len(self.numbers)


class Projected(Over):
    """Some of the columns, in an order of their own."""

    def __init__(self, source: Dataset, columns: Sequence[str]) -> None:
        if not columns:
            raise ValueError("project: name at least one column.")
        require_columns("project", columns, source.column_names)
        super().__init__(source, columns)
        self.places = [source.column_names.index(name) for name in columns]

    @property
    def stacked(self) -> bool:
        """As the source."""
        return self.source.stacked

    def rows(self, epoch: int) -> Iterator[Row]:
        """Yield the chosen columns of each row."""
        for row in self.source.rows(epoch):
            yield tuple(row[at] for at in self.places)

    def blocks(self, epoch: int, size: int) -> Iterator[Row]:
        """Yield the chosen columns of each block."""
        for block in self.source.blocks(epoch, size):
            yield tuple(block[at] for at in self.places)


class Renamed(Over):
    """The same columns under other names."""

    def __init__(self, source: Dataset, old: Sequence[str], new: Sequence[str]) -> None:
        require_columns("rename", old, source.column_names)
        if len(old) != len(new):
            raise ValueError(f"rename: {len(new)} new names for {len(old)} columns.")
        names = dict(zip(old, new, strict=True))
        columns = [names.get(name, name) for name in source.column_names]
        require_distinct("rename", columns)
        super().__init__(source, columns)

    @property
    def stacked(self) -> bool:
        """As the source."""
        return self.source.stacked

    def rows(self, epoch: int) -> Iterator[Row]:
        """Yield the source's rows."""
        return self.source.rows(epoch)

    def blocks(self, epoch: int, size: int) -> Iterator[Row]:
        """Yield the source's blocks."""
        return self.source.blocks(epoch, size)


class Zipped(Dataset):
    """Columns of several datasets side by side, up to the shortest."""

    def __init__(self, datasets: Sequence[Dataset]) -> None:
        _require_datasets("zip", datasets)
        columns = [name for dataset in datasets for name in dataset.column_names]
        require_distinct("zip", columns)
        super().__init__(columns, datasets)

    def rows(self, epoch: int) -> Iterator[Row]:
        """Yield a row of each dataset as one."""
        for rows in zip(*(dataset.rows(epoch) for dataset in self.sources), strict=False):
            yield tuple(itertools.chain.from_iterable(rows))

    @property
    def endless(self) -> bool:
        """Whether none of them has an end."""
        return all(dataset.endless for dataset in self.sources)

    def get_dataset_size(self) -> int:
        """How many rows the shortest has."""
        ending = [dataset for dataset in self.sources if not dataset.endless]
        return min(dataset.get_dataset_size() for dataset in ending or self.sources)


class Concatenated(Dataset):
    """The rows of several datasets, one after the other."""

    def __init__(self, datasets: Sequence[Dataset]) -> None:
        _require_datasets("concat", datasets)
        columns = datasets[0].column_names
        for dataset in datasets[1:]:
            if dataset.column_names != columns:
                raise ValueError(
                    "concat: datasets must have the same columns; one has"
                    f" {', '.join(columns)}, another {', '.join(dataset.column_names)}."
                    " Bring them in line by project and rename."
                )
        super().__init__(columns, datasets)

    def rows(self, epoch: int) -> Iterator[Row]:
        """Yield the rows; TypeError where a later dataset has other element types."""
        types: list[str] | None = None
        for number, dataset in enumerate(self.sources):
            for at, row in enumerate(dataset.rows(epoch)):
                if at == 0:
                    found = [array.dtype.kind + str(array.ndim) for array in row]
                    if types is not None and found != types:
                        raise TypeError(
                            f"concat: dataset {number} has other element types or numbers of axes"
                            f" than those before: {found} after {types} (kind and axes of each"
                            " column). Bring them in line by map."
                        )
                    types = found
                yield row

    def get_dataset_size(self) -> int:
        """How many rows all have together."""
        return sum(dataset.get_dataset_size() for dataset in self.sources)


def _require_datasets(method: str, datasets: Sequence[Any]) -> None:
    for dataset in datasets:
        if not isinstance(dataset, Dataset):
            raise TypeError(f"{method}: {type(dataset).__name__} is no dataset.")
    if not datasets:
        raise ValueError(f"{method}: give at least one dataset.")


def zip_datasets(datasets: Sequence[Dataset]) -> Dataset:
    """Put the columns of datasets side by side, up to the shortest.

    Parameters
    ----------
    datasets : tuple of Dataset
        At least one, their columns named differently.

    Returns
    -------
    Dataset
        Rows with all the columns.

    Raises
    ------
    TypeError
        If one of them is no dataset.
    ValueError
        If two columns have one name.
    """
    return Zipped(list(datasets))
