"""Datasets: sources, pipelines, order by the seed, and going on where a run stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import cellwire as cw
import numpy as np
import pytest
from cellwire import dataset as ds

VALUES = np.arange(10, dtype=np.float32)


class Source:
    """A map-style source of ten numbers and their squares."""

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        return np.array([index, -index], np.float32), index**2

    def __len__(self) -> int:
        return 10


def firsts(dataset: ds.Dataset) -> list[int]:
    """The numbers of one pass's first column."""
    return [int(np.ravel(row[0].asnumpy())[0]) for row in dataset]


def in_order(data: object = VALUES) -> ds.Dataset:
    return ds.NumpySlicesDataset(data, ["x"], shuffle=False)


def test_map_style_sources_shuffle_by_default_anew_each_pass() -> None:
    cw.set_seed(1)
    data = ds.GeneratorDataset(Source(), ["pair", "square"])
    first, second = firsts(data), firsts(data)
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != list(range(10))
    assert first != second
    cw.set_seed(1)
    again = ds.GeneratorDataset(Source(), ["pair", "square"])
    assert [firsts(again), firsts(again)] == [first, second]
    assert firsts(ds.GeneratorDataset(Source(), ["a", "b"], shuffle=False)) == list(range(10))


def test_iterables_and_functions_come_in_order() -> None:
    def rows() -> Iterator[tuple[int]]:
        yield from ((number,) for number in range(4))

    assert firsts(ds.GeneratorDataset(rows, "x")) == [0, 1, 2, 3]
    assert firsts(ds.GeneratorDataset(range(3), "x", shuffle=False)) == [0, 1, 2]
    assert ds.GeneratorDataset(rows, "x").get_dataset_size() == 4
    with pytest.raises(ValueError, match="shuffle"):
        ds.GeneratorDataset(rows, "x", shuffle=True)


def test_rows_are_tensors_lists_and_dictionaries() -> None:
    data = ds.NumpySlicesDataset({"a": VALUES, "b": VALUES.astype(np.int32)}, shuffle=False)
    assert data.get_col_names() == ["a", "b"]
    row = next(iter(data))
    assert isinstance(row, list)
    assert isinstance(row[0], cw.Tensor)
    assert row[1].dtype is cw.int32
    named = next(data.create_dict_iterator(output_numpy=True))
    assert isinstance(named["a"], np.ndarray)
    assert len(next(data.create_tuple_iterator(["b"]))) == 1


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda d: d.take(3), [0, 1, 2]),
        (lambda d: d.take(-1), list(range(10))),
        (lambda d: d.skip(7), [7, 8, 9]),
        (lambda d: d.take(2).repeat(2), [0, 1, 0, 1]),
        (lambda d: d.map(lambda x: x * 2, "x").take(3), [0, 2, 4]),
        (lambda d: d.map([lambda x: x + 1, lambda x: x * 3], "x").take(2), [3, 6]),
        (lambda d: d.batch(4), [0, 4, 8]),
        (lambda d: d.batch(4, drop_remainder=True), [0, 4]),
        (lambda d: d.repeat().take(12), [*range(10), 0, 1]),
    ],
)
def test_pipelines(change: Callable[[ds.Dataset], ds.Dataset], expected: list[int]) -> None:
    assert firsts(change(in_order())) == expected


def test_sizes_and_shapes_of_batches() -> None:
    data = in_order().batch(4)
    assert [row[0].shape for row in data] == [(4,), (4,), (2,)]
    assert data.get_dataset_size() == 3
    assert in_order().batch(4, True).get_dataset_size() == len(in_order().repeat(2).batch(8)) - 1
    ragged = ds.GeneratorDataset(lambda: iter([(np.ones(2),), (np.ones(3),)]), "x")
    with pytest.raises(ValueError, match="'x' differ in shape"):
        firsts(ragged.batch(2))


def test_map_renames_and_splits_columns() -> None:
    data = ds.NumpySlicesDataset((VALUES, VALUES), ["a", "b"], shuffle=False)
    out = data.map(lambda a: (a, a + 1), "a", ["low", "high"])
    assert out.get_col_names() == ["low", "high", "b"]
    assert [int(t) for t in next(iter(out))] == [0, 1, 0]


def test_a_buffer_shuffles_by_the_seed() -> None:
    cw.set_seed(4)
    data = in_order().shuffle(5)
    first = firsts(data)
    assert sorted(first) == list(range(10))
    assert first != list(range(10))
    cw.set_seed(4)
    assert firsts(in_order().shuffle(5)) == first


def test_parts_of_a_split_share_no_row() -> None:
    cw.set_seed(2)
    train, test = in_order().split([0.8, 0.2])
    assert (len(train), len(test)) == (8, 2)
    assert sorted(firsts(train) + firsts(test)) == list(range(10))
    first, second = in_order().split([3, 7], randomize=False)
    assert firsts(first) == [0, 1, 2]
    assert firsts(second) == list(range(3, 10))
    with pytest.raises(ValueError, match="10 rows"):
        in_order().split([3, 3])


def test_an_iterator_gives_so_many_passes() -> None:
    rows = in_order().create_tuple_iterator(num_epochs=2)
    assert [len(list(rows)) for _ in range(3)] == [10, 10, 0]


def test_going_on_from_a_position_gives_the_same_rows() -> None:
    def made() -> ds.RowIterator:
        cw.set_seed(9)
        data = ds.GeneratorDataset(Source(), ["pair", "square"]).shuffle(4).batch(3)
        return data.create_tuple_iterator(output_numpy=True)

    def tail(rows: ds.RowIterator) -> list[np.ndarray]:
        return [row[1] for row in [*rows, *rows]]

    rows = made()
    list(rows)
    next(rows), next(rows)
    position = rows.position
    assert position == (1, 2)
    rest = tail(rows)
    other = made()
    other.restore(position)
    for a, b in zip(tail(other), rest, strict=True):
        np.testing.assert_array_equal(a, b)


def test_digits() -> None:
    train, test = ds.DigitsDataset("train"), ds.DigitsDataset("test", shuffle=False)
    assert (len(train), len(test)) == (1437, 360)
    image, label = next(iter(test))
    assert (image.shape, image.dtype, label.dtype) == ((1, 8, 8), cw.uint8, cw.int32)
    pixels = {row[0].tobytes() for row in train.create_tuple_iterator(output_numpy=True)}
    kept = [row[0].tobytes() in pixels for row in test.create_tuple_iterator(output_numpy=True)]
    assert sum(kept) <= 2


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: in_order().batch(0), ValueError),
        (lambda: in_order().batch(2.0), TypeError),
        (lambda: in_order().shuffle(1), ValueError),
        (lambda: in_order().map(abs, "y"), ValueError),
        (lambda: in_order().skip(-1), ValueError),
        (lambda: in_order().repeat().get_dataset_size(), ValueError),
        (lambda: in_order().create_tuple_iterator(["y"]), ValueError),
        (lambda: ds.NumpySlicesDataset((VALUES, VALUES[:3])), ValueError),
        (lambda: ds.NumpySlicesDataset(VALUES, ["a", "b"]), ValueError),
        (lambda: ds.GeneratorDataset(3, "x"), TypeError),
        (lambda: firsts(ds.GeneratorDataset(Source(), "one")), ValueError),
        (lambda: ds.DigitsDataset("some"), ValueError),
    ],
)
def test_mistakes_are_named(make: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_files_are_read_as_inputs_and_labels(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", x=np.arange(4.0), y=[2**40, 1, 1, 0])
    read = ds.load_npz(tmp_path / "d.npz", {"inputs": "x"})
    assert list(read) == ["inputs"]
    assert read["inputs"].dtype == np.float32
    with pytest.raises(ds.DataError, match="labels"):
        ds.load_npz(tmp_path / "d.npz", {"labels": "labels"})
    with pytest.raises(ds.DataError, match="1099511627776, which int32 cannot hold"):
        ds.load_npz(tmp_path / "d.npz", {"labels": "y"})
    (tmp_path / "d.csv").write_text("kind,x\nb,1\na,2\n")
    table = ds.load_csv(str(tmp_path / "d.csv"), "kind")
    assert (table["inputs"].tolist(), table["labels"].tolist()) == ([[1.0], [2.0]], [1, 0])


def test_a_split_is_drawn_by_its_seed_and_rounded_up() -> None:
    train, held_out = ds.split_rows(11, 0.2, seed=1)
    assert (len(train), len(held_out)) == (8, 3)
    assert sorted([*train, *held_out]) == list(range(11))
    assert np.array_equal(held_out, ds.split_rows(11, 0.2, seed=1)[1])
    assert not np.array_equal(held_out, ds.split_rows(11, 0.2, seed=2)[1])
