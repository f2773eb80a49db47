"""Samplers: which rows of a source a pass gives, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, Protocol

import numpy as np

from .columns import positive
from .randomness import stream


class Shuffle(StrEnum):
    """What is shuffled: all rows, the order of files, or rows within each file."""

    GLOBAL = "global"
    FILES = "files"
    INFILE = "infile"


class Countable(Protocol):
    """What a sampler chooses from."""

    def source_size(self) -> int:
        """How many rows there are."""
        ...

    def column(self, name: str) -> np.ndarray:
        """One column of all rows, for samplers by class."""
        ...


class Sampler:
    """Base of samplers; a subclass yields the numbers of rows from ``__iter__``.

    While a pass begins, ``dataset_size`` is the number of rows there are; ``num_samples`` is what
    the constructor got.

    Parameters
    ----------
    num_samples : int, optional
        At most so many rows; by default all that ``__iter__`` yields.

    Raises
    ------
    ValueError
        If the number is not positive.
    """

    def __init__(self, num_samples: int | None = None) -> None:
        if num_samples is not None:
            positive(type(self).__name__, "num_samples", num_samples)
        self.num_samples = num_samples
        self.dataset_size = 0
        self.child_sampler: Sampler | None = None

    def __iter__(self) -> Iterator[int]:
        """Yield the numbers of rows, from 0."""
        raise NotImplementedError(f"{type(self).__name__} must define __iter__.")

    def add_child(self, sampler: Sampler) -> None:
        """Choose from the rows that another sampler gives instead of from all.

        Raises
        ------
        ValueError
            If there is one already.
        """
        if self.child_sampler is not None:
            raise ValueError(f"{type(self).__name__}: it has a child sampler already.")
        self.child_sampler = sampler

    def get_child(self) -> Sampler | None:
        """The sampler whose rows this one chooses from."""
        return self.child_sampler

    def get_num_samples(self) -> int | None:
        """At most how many rows it gives."""
        return self.num_samples

    def choose(self, source: Countable) -> np.ndarray:
        """The numbers of a pass's rows, int64; random ones are drawn from the pass's stream.

        Raises
        ------
        IndexError
            If a number is no row's.
        """
        base = None if self.child_sampler is None else self.child_sampler.choose(source)
        self.dataset_size = source.source_size() if base is None else len(base)
        chosen = np.asarray(self.draw(source), np.int64).reshape(-1)
        if self.num_samples is not None:
            chosen = chosen[: self.num_samples]
        outside = (chosen < 0) | (chosen >= self.dataset_size)
        if outside.any():
            raise IndexError(
                f"{type(self).__name__}: there is no row {chosen[outside][0]}; rows are numbered"
                f" from 0 to {self.dataset_size - 1}."
            )
        return chosen if base is None else base[chosen]

    def draw(self, source: Countable) -> Any:
        """The numbers, before they are cut to ``num_samples`` and checked."""
        return [int(number) for number in self]

    def size(self, source: Countable) -> int:
        """How many rows a pass has."""
        return len(self.choose(source))


class SequentialSampler(Sampler):
    """Rows in order.

    Parameters
    ----------
    start_index : int, optional
        The first row; by default 0.
    num_samples : int, optional
        How many rows; by default all that follow.
    """

    def __init__(self, start_index: int | None = None, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        if start_index is not None and start_index < 0:
            raise ValueError(f"SequentialSampler: start_index is negative: {start_index}.")
        self.start_index = start_index or 0

    def draw(self, source: Countable) -> Any:
        """The numbers from the first on."""
        return np.arange(self.start_index, self.dataset_size)


class RandomSampler(Sampler):
    """Rows in random order, anew each pass.

    Parameters
    ----------
    replacement : bool
        Whether a row can come several times.
    num_samples : int, optional
        How many rows; by default as many as there are.
    shuffle : Shuffle
        Taken for MindSpore's scripts; all rows are shuffled.
    """

    def __init__(
        self,
        replacement: bool = False,
        num_samples: int | None = None,
        shuffle: Shuffle = Shuffle.GLOBAL,
    ) -> None:
        super().__init__(num_samples)
        if not isinstance(replacement, bool):
            raise TypeError(f"RandomSampler: replacement must be a bool, it is {replacement!r}.")
        self.replacement = replacement

    def draw(self, source: Countable) -> Any:
        """A permutation, or independent draws."""
        if self.replacement:
            return stream().integers(self.dataset_size, size=self.num_samples or self.dataset_size)
        return stream().permutation(self.dataset_size)


class SubsetSampler(Sampler):
    """Given rows in the given order.

    Parameters
    ----------
    indices : list of int
        The numbers of the rows.
    num_samples : int, optional
        At most so many of them.
    """

    def __init__(self, indices: Iterable[int], num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        given = [indices] if isinstance(indices, int) else list(indices)
        for number in given:
            if isinstance(number, bool) or not isinstance(number, int | np.integer):
                raise TypeError(f"{type(self).__name__}: indices must be ints, one is {number!r}.")
        self.indices = np.asarray(given, np.int64)

    def draw(self, source: Countable) -> Any:
        """The indices."""
        return self.indices


class SubsetRandomSampler(SubsetSampler):
    """Given rows in random order, anew each pass.

    Parameters
    ----------
    indices : list of int
        The numbers of the rows.
    num_samples : int, optional
        At most so many of them.
    """

    def draw(self, source: Countable) -> Any:
        """The indices, permuted."""
        return stream().permutation(self.indices)


class WeightedRandomSampler(Sampler):
    """Rows drawn with probabilities in proportion to weights.

    Parameters
    ----------
    weights : list of float
        A weight for each row, none negative, not all zero.
    num_samples : int, optional
        How many rows; by default one a weight.
    replacement : bool
        Whether a row can come several times.
    """

    def __init__(
        self, weights: Sequence[float], num_samples: int | None = None, replacement: bool = True
    ) -> None:
        super().__init__(num_samples)
        self.weights = np.asarray(weights, np.float64).reshape(-1)
        if not len(self.weights) or (self.weights < 0).any() or not self.weights.sum() > 0:
            raise ValueError(
                "WeightedRandomSampler: weights must not be negative, and not all be zero."
            )
        self.replacement = replacement

    def draw(self, source: Countable) -> Any:
        """Draws by weight."""
        if len(self.weights) != self.dataset_size:
            raise ValueError(
                f"WeightedRandomSampler: {len(self.weights)} weights for {self.dataset_size} rows."
            )
        count = self.num_samples or self.dataset_size
        drawable = int((self.weights > 0).sum())
        if not self.replacement and count > drawable:
            raise ValueError(
                f"WeightedRandomSampler: {count} different rows are asked for, only {drawable}"
                " have a weight above zero. Set num_samples, or replacement=True."
            )
        shares = self.weights / self.weights.sum()
        return stream().choice(len(shares), count, self.replacement, shares)


class PKSampler(Sampler):
    """For each of P classes, K rows: the first, or K at random.

    Parameters
    ----------
    num_val : int
        K, how many rows of each class.
    num_class : int, optional
        P, how many classes, in rising order of label; by default all.
    shuffle : bool
        Whether the rows of a class are drawn at random.
    class_column : str
        The column that holds the class.
    num_samples : int, optional
        At most so many rows in all.
    """

    def __init__(
        self,
        num_val: int,
        num_class: int | None = None,
        shuffle: bool = False,
        class_column: str = "label",
        num_samples: int | None = None,
    ) -> None:
        super().__init__(num_samples)
        self.num_val = positive("PKSampler", "num_val", num_val)
        self.num_class = (
            None if num_class is None else positive("PKSampler", "num_class", num_class)
        )
        self.shuffle, self.class_column = shuffle, class_column

    def draw(self, source: Countable) -> Any:
        """The rows, class by class."""
        labels = source.column(self.class_column)
        chosen: list[np.ndarray] = []
        for label in np.unique(labels)[: self.num_class]:
            rows = np.flatnonzero(labels == label)
            if len(rows) < self.num_val:
                raise ValueError(
                    f"PKSampler: class {label} has {len(rows)} rows, {self.num_val} are asked for."
                )
            rows = stream().permutation(rows) if self.shuffle else rows
            chosen.append(rows[: self.num_val])
        return np.concatenate(chosen)


class DistributedSampler(Sampler):
    """One of several equal shares of the rows; the last shares begin again at the front.

    Programs with the same seed draw the same order, so that their shares fit together.

    Parameters
    ----------
    num_shards : int
        How many shares.
    shard_id : int
        Which one, from 0.
    shuffle : bool
        Whether rows are shuffled, anew each pass, before they are dealt out.
    num_samples : int, optional
        At most so many rows of the share.
    offset : int
        The share that gets the first row, -1 for the first share.
    """

    def __init__(
        self,
        num_shards: int,
        shard_id: int,
        shuffle: bool = True,
        num_samples: int | None = None,
        offset: int = -1,
    ) -> None:
        super().__init__(num_samples)
        self.num_shards = positive("DistributedSampler", "num_shards", num_shards)
        if isinstance(shard_id, bool) or not 0 <= shard_id < num_shards:
            raise ValueError(
                f"DistributedSampler: shard_id must be in 0..{num_shards - 1}, it is {shard_id!r}."
            )
        if not -1 <= offset < num_shards:
            raise ValueError(
                f"DistributedSampler: offset must be in -1..{num_shards - 1}, it is {offset!r}."
            )
        self.shard_id, self.shuffle, self.offset = shard_id, shuffle, max(offset, 0)

    def draw(self, source: Countable) -> Any:
        """Every `num_shards`-th row."""
        rows = self.dataset_size
        order = stream().permutation(rows) if self.shuffle else np.arange(rows)
        count = -(-rows // self.num_shards)
        places = np.arange(count) * self.num_shards + self.shard_id - self.offset
        return order[places % rows] if rows else order


class IterSampler(Sampler):
    """Rows whose numbers an iterable gives.

    Parameters
    ----------
    sampler : iterable of int
        The numbers, read anew each pass.
    num_samples : int, optional
        At most so many of them.
    """

    def __init__(self, sampler: Iterable[int], num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.sampler = sampler

    def __iter__(self) -> Iterator[int]:
        """Yield the numbers."""
        return iter(self.sampler)


def select_sampler(
    where: str,
    num_samples: int | None,
    sampler: Any,
    shuffle: bool | Shuffle | None,
    num_shards: int | None,
    shard_id: int | None,
) -> Sampler:
    """The sampler that a source's arguments ask for; by default all rows, shuffled.

    Raises
    ------
    ValueError
        If arguments exclude each other.
    TypeError
        If `sampler` is no sampler.
    """
    if (num_shards is None) != (shard_id is None):
        raise ValueError(f"{where}: give num_shards and shard_id together.")
    if num_samples is not None:
        positive(where, "num_samples", num_samples)
    shuffled = shuffle is not False
    if sampler is not None:
        if shuffle is not None or num_shards is not None or num_samples is not None:
            raise ValueError(
                f"{where}: a sampler decides on rows and order; leave out shuffle, num_samples,"
                " num_shards and shard_id."
            )
        return _as_sampler(where, sampler)
    if num_shards is not None and shard_id is not None:
        return DistributedSampler(num_shards, shard_id, shuffled, num_samples)
    return RandomSampler(num_samples=num_samples) if shuffled else SequentialSampler(0, num_samples)


def _as_sampler(where: str, sampler: Any) -> Sampler:
    if isinstance(sampler, Sampler):
        return sampler
    if isinstance(sampler, Iterable) and not isinstance(sampler, str | bytes):
        return IterSampler(sampler)
    raise TypeError(
        f"{where}: sampler must be a Sampler or an iterable of row numbers, it is {sampler!r}."
    )
