"""Samplers: which rows a pass gives, in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import dataset as ds

LABELS = np.array([1, 0, 1, 0, 2, 2, 1, 0], np.int32)


def sampled(sampler: Any, **given: Any) -> ds.NumpySlicesDataset:
    data = {"x": np.arange(8), "label": LABELS}
    return ds.NumpySlicesDataset(data, sampler=sampler, **given)


def order(dataset: ds.Dataset) -> list[int]:
    return [int(row[0]) for row in dataset]


class Backwards(ds.Sampler):
    """Rows from the last to the first."""

    def __iter__(self) -> Iterator[int]:
        yield from range(self.dataset_size - 1, -1, -1)


@pytest.mark.parametrize(
    ("sampler", "expected"),
    [
        (ds.SequentialSampler(), list(range(8))),
        (ds.SequentialSampler(3, 2), [3, 4]),
        (ds.SubsetSampler([5, 1, 5]), [5, 1, 5]),
        (ds.SubsetSampler([5, 1, 5], 2), [5, 1]),
        (ds.PKSampler(2), [1, 3, 0, 2, 4, 5]),
        (ds.PKSampler(1, num_class=2), [1, 0]),
        (ds.PKSampler(2, class_column="label", num_samples=3), [1, 3, 0]),
        (ds.DistributedSampler(3, 1, shuffle=False), [1, 4, 7]),
        (ds.DistributedSampler(3, 2, shuffle=False), [2, 5, 0]),
        (ds.IterSampler([2, 4]), [2, 4]),
        ([6, 0], [6, 0]),
        (Backwards(), list(range(7, -1, -1))),
        (Backwards(3), [7, 6, 5]),
    ],
)
def test_samplers_without_chance(sampler: Any, expected: list[int]) -> None:
    data = sampled(sampler)
    assert order(data) == expected
    assert len(data) == len(expected)
    batches = data.batch(2).create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert [x for row in batches for x in row[0].tolist()] == expected


def test_random_samplers_follow_the_seed_and_the_pass() -> None:
    makers: list[Callable[[], ds.Sampler]] = [
        ds.RandomSampler,
        lambda: ds.RandomSampler(replacement=True, num_samples=20),
        lambda: ds.SubsetRandomSampler(range(8)),
        lambda: ds.WeightedRandomSampler([1] * 8, 20),
        lambda: ds.DistributedSampler(2, 0),
    ]
    for make in makers:
        cw.set_seed(2)
        data = sampled(make())
        first, second = order(data), order(data)
        cw.set_seed(2)
        assert order(sampled(make())) == first
        assert first != second


def test_shares_of_one_seed_fit_together() -> None:
    shares: list[int] = []
    for shard in range(2):
        cw.set_seed(6)
        shares += order(ds.NumpySlicesDataset(np.arange(8), num_shards=2, shard_id=shard))
    assert sorted(shares) == list(range(8))


def test_draws_go_by_weight_and_by_class() -> None:
    weighted = sampled(ds.WeightedRandomSampler([0, 1, 0, 0, 0, 0, 0, 3], 400))
    drawn = order(weighted)
    assert set(drawn) == {1, 7}
    assert 260 < drawn.count(7) < 340  # expected 300, deviation 8.7
    without = ds.WeightedRandomSampler([1, 1, 0, 0, 0, 0, 0, 1], 3, replacement=False)
    assert sorted(order(sampled(without))) == [0, 1, 7]
    rows = order(sampled(ds.PKSampler(1, shuffle=True)))
    assert [int(LABELS[row]) for row in rows] == [0, 1, 2]


def test_samplers_stand_on_each_other_and_can_be_changed() -> None:
    subset = ds.SubsetSampler([7, 5, 3, 1])
    backwards = Backwards()
    backwards.add_child(subset)
    assert order(sampled(backwards)) == [1, 3, 5, 7]
    data = sampled(ds.SequentialSampler())
    data.use_sampler(ds.SubsetSampler([4]))
    assert order(data) == [4]
    data.use_sampler(subset)
    data.add_sampler(ds.SequentialSampler(1, 2))
    assert order(data) == [5, 3]


def test_a_dataset_is_the_source_of_another() -> None:
    rows = sampled(ds.SequentialSampler(2, 4))
    assert [int(rows[number][0]) for number in (0, 3, -1)] == [2, 5, 5]
    with pytest.raises(IndexError, match="NumpySlicesDataset has 4 rows, no row 4"):
        rows[4]
    shuffled = ds.GeneratorDataset(rows, ["x", "label"], shuffle=True)
    assert shuffled.get_dataset_size() == 4
    assert sorted(order(shuffled)) == [2, 3, 4, 5]
    passing = ds.GeneratorDataset(lambda: iter(range(3)), "x")
    assert order(ds.GeneratorDataset(passing, "x")) == [0, 1, 2]
    with pytest.raises(ValueError, match="shuffle, sampler and shards need"):
        ds.GeneratorDataset(passing, "x", shuffle=True)


def test_parts_of_sampled_rows_are_parts_of_what_the_sampler_gives() -> None:
    first, second = sampled(ds.SubsetSampler([7, 5, 3, 1])).split([1, 3], randomize=False)
    assert (order(first), order(second)) == ([7], [5, 3, 1])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: sampled(ds.SubsetSampler([8])).order(0), "there is no row 8; .* from 0 to 7"),
        (lambda: sampled([0], shuffle=True), "a sampler decides on rows and order"),
        (lambda: sampled(None, num_shards=2), "num_shards and shard_id together"),
        (lambda: ds.DistributedSampler(2, 2), "shard_id must be in 0..1"),
        (lambda: sampled(ds.WeightedRandomSampler([1, 2])).order(0), "2 weights for 8 rows"),
        (lambda: ds.WeightedRandomSampler([0, 0]), "not all be zero"),
        (lambda: sampled(ds.PKSampler(9)).order(0), "class 0 has 3 rows, 9 are asked for"),
        (lambda: sampled(ds.PKSampler(1, class_column="y")).order(0), "no column 'y'"),
        (lambda: ds.RandomSampler(num_samples=0), "num_samples must be positive"),
        (
            lambda: sampled(ds.WeightedRandomSampler([1] + [0] * 7, 2, False)).order(0),
            "only 1 have a weight",
        ),
    ],
)
def test_mistakes_are_named(make: Callable[[], object], text: str) -> None:
    with pytest.raises((ValueError, IndexError), match=text):
        make()


def test_a_sampler_must_be_one() -> None:
    with pytest.raises(TypeError, match="must be a Sampler or an iterable"):
        sampled(3)
    with pytest.raises(NotImplementedError, match="must define __iter__"):
        order(sampled(ds.Sampler()))
