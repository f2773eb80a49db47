"""Operations of pipelines: rows of behaviour 44 to 46, batches, columns, errors, settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import dataset as ds
from cellwire.dataset import transforms


class Squares:
    """A map-style source of ten numbers and their squares."""

    def __getitem__(self, index: int) -> tuple[np.int32, np.int32]:
        return np.int32(index), np.int32(index**2)

    def __len__(self) -> int:
        return 10


@pytest.fixture(autouse=True)
def settings_as_they_were() -> Iterator[None]:
    """Seed and settings of the process, put back."""
    yield
    ds.config.set_num_parallel_workers(1)
    ds.config.set_prefetch_size(0)
    ds.config.set_debug_mode(False)
    cw.set_seed(0)


def numbers(count: int = 10, name: str = "x") -> ds.Dataset:
    return ds.NumpySlicesDataset({name: np.arange(count, dtype=np.int32)}, shuffle=False)


def ragged(*lengths: int) -> ds.Dataset:
    """Rows of ones of these lengths."""
    return ds.GeneratorDataset(lambda: iter([(np.ones(n, np.float32),) for n in lengths]), "x")


def firsts(dataset: ds.Dataset) -> list[Any]:
    rows = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    return [row[0].tolist() for row in rows]


# rows of behaviour


def test_row_44_map_style_sources_shuffle_by_default_others_keep_their_order() -> None:
    cw.set_seed(3)
    data = ds.GeneratorDataset(Squares(), ["number", "square"], shuffle=None)
    first, second = firsts(data), firsts(data)
    assert sorted(first) == list(range(10))
    assert first != list(range(10))
    assert second != first
    assert firsts(ds.GeneratorDataset(Squares(), ["a", "b"], shuffle=False)) == list(range(10))
    assert firsts(ds.GeneratorDataset(lambda: iter(range(5)), "a")) == list(range(5))
    assert firsts(ds.NumpySlicesDataset(np.arange(9))) != list(range(9))


def test_row_45_a_ragged_last_batch_is_one_more_situation_for_jit() -> None:
    data = ds.NumpySlicesDataset({"x": np.arange(20, dtype=np.float32).reshape(10, 2)}).batch(4)

    @cw.jit
    def total(x: cw.Tensor) -> cw.Tensor:
        return (x * x).sum()

    rows = [row[0] for row in data]
    assert [row.shape for row in rows] == [(4, 2), (4, 2), (2, 2)]
    for row in rows:
        assert float(total(row)) == float((row.asnumpy() ** 2).sum())
    assert len(data.source.batch(4, drop_remainder=True)) == 2  # type: ignore[attr-defined]


def test_row_46_iterators_give_tensors_and_map_functions_see_numpy() -> None:
    seen: list[type] = []

    def look(x: np.ndarray) -> np.ndarray:
        seen.append(type(x))
        return x

    data = ds.GeneratorDataset(Squares(), ["a", "b"], shuffle=False).map(look, "a")
    (direct,) = list(data.take(1))
    assert [type(value) for value in direct] == [cw.Tensor, cw.Tensor]
    assert direct[0].shape == ()
    assert direct[0].dtype is cw.int32
    named = next(data.create_dict_iterator())
    assert list(named) == ["a", "b"]
    assert isinstance(named["b"], cw.Tensor)
    assert isinstance(next(data.create_tuple_iterator(output_numpy=True))[0], np.ndarray)
    assert set(seen) == {np.ndarray}


def test_what_an_iterator_gives_is_the_callers_own() -> None:
    array = np.zeros((4, 3), np.float32)
    plain = ds.NumpySlicesDataset(array, "x", shuffle=False)

    def spoil(x: np.ndarray) -> np.ndarray:
        x += 1
        return x

    for data in (plain, plain.batch(2), plain.map(spoil), ds.GeneratorDataset(array, "x")):
        for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
            row[0][...] = 9
    assert not array.any()


# operations


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda d: d.filter(lambda x: x % 3 == 0), [0, 3, 6, 9]),
        (lambda d: d.filter(lambda x: x > 7, "x").map(lambda x: x * 2), [16, 18]),
        (lambda d: d.take(2) + d.skip(8), [0, 1, 8, 9]),
        (lambda d: d.take(1).concat([d.take(2), d.skip(9)]), [0, 0, 1, 9]),
        (lambda d: d.apply(lambda s: s.take(3)), [0, 1, 2]),
        (lambda d: d.skip(7).flat_map(lambda x: numbers(int(x) - 6)), [0, 0, 1, 0, 1, 2]),
        (lambda d: d.rename("x", "y").project("y").take(2), [0, 1]),
        (lambda d: d.batch(4).take(1), [[0, 1, 2, 3]]),
        (lambda d: d.batch(lambda info: info.batch + 1).skip(2), [[3, 4, 5], [6, 7, 8, 9]]),
        (lambda d: d.take(3).batch(lambda info: 2, drop_remainder=True), [[0, 1]]),
    ],
)  # fmt: skip
def test_operations(change: Callable[[ds.Dataset], ds.Dataset], expected: list[Any]) -> None:
    data = change(numbers())
    assert firsts(data) == expected
    assert data.get_dataset_size() == len(expected)


def test_zip_puts_columns_side_by_side_up_to_the_shortest() -> None:
    both = ds.zip((numbers(3, "a"), numbers(5, "b")))
    assert both.get_col_names() == ["a", "b"]
    assert len(both) == len(list(both)) == 3
    assert numbers(3, "a").zip(numbers(2, "b")).get_dataset_size() == 2
    with pytest.raises(ValueError, match="named a; rename"):
        numbers(3, "a").zip(numbers(2, "a"))
    with pytest.raises(TypeError, match="int is no dataset"):
        ds.zip((numbers(), 3))  # type: ignore[arg-type]


def test_concat_asks_for_the_same_columns_and_types() -> None:
    with pytest.raises(ValueError, match="project and rename"):
        numbers(2, "a") + numbers(2, "b")
    other = ds.NumpySlicesDataset({"x": np.ones(2, np.float32)}, shuffle=False)
    with pytest.raises(TypeError, match="dataset 1 has other element types"):
        list(numbers(2) + other)


def test_map_puts_results_where_the_first_input_was_or_in_a_given_order() -> None:
    data = ds.NumpySlicesDataset({"a": [1], "b": [2], "c": [3]})
    assert data.map(lambda b, c: b + c, ["b", "c"], "sum").get_col_names() == ["a", "sum"]
    split = data.map(lambda b: (b, b), "b", ["p", "q"])
    assert split.get_col_names() == ["a", "p", "q", "c"]
    ordered = data.map(lambda b: (b, b), "b", ["p", "q"], column_order=["q", "a"])
    assert ordered.get_col_names() == ["q", "a"]
    with pytest.raises(ValueError, match="two columns are named a"):
        data.map(lambda b: (b, b), "b", ["p", "a"])
    with pytest.raises(ValueError, match="no column z; there are a, b, c"):
        data.project(["z"])


def test_map_errors_name_columns_row_and_operation() -> None:
    def third(x: np.ndarray) -> np.ndarray:
        return x[3]

    with pytest.raises(
        ds.RowError, match=r"map of x, row 0, operation third: IndexError: too many"
    ):
        list(numbers().map([np.copy, third], "x"))
    data = ds.NumpySlicesDataset(np.arange(3), "label", shuffle=False)
    with pytest.raises(ds.RowError, match=r"map of label, row 2, operation OneHot: ValueError"):
        list(data.map(transforms.OneHot(2), "label"))
    with pytest.raises(ds.RowError, match="row 2, operation OneHot"):  # also when mapped by blocks
        list(data.map(transforms.OneHot(2), "label").batch(3))
    with pytest.raises(ValueError, match=r"2 results for 1 columns \(x\) in row 0"):
        list(numbers().map(lambda x: (x, x), "x"))
    with pytest.raises(ds.RowError, match="filter of x, row 0: ZeroDivisionError"):
        list(numbers().filter(lambda x: 1 // int(x)))
    with pytest.raises(TypeError, match="is not callable"):
        numbers().map(3)  # type: ignore[arg-type]


def test_ragged_rows_are_told_with_column_row_shapes_and_advice() -> None:
    text = r"column 'x' differ in shape: row 0 is \(2,\), row 1 is \(3,\)\. .*PadEnd.*padded_batch"
    with pytest.raises(ValueError, match=text):
        list(ragged(2, 3).batch(2))
    with pytest.raises(ValueError, match=r"row 2 is \(2,\), row 3 is \(3,\)"):
        list(ragged(1, 1, 2, 3).batch(2))


def test_padded_batches() -> None:
    (row,) = list(ragged(1, 3).padded_batch(2))
    assert row[0].asnumpy().tolist() == [[1, 0, 0], [1, 1, 1]]
    (row,) = list(ragged(1, 2).padded_batch(2, pad_info={"x": ([4], -1)}))
    assert row[0].asnumpy().tolist() == [[1, -1, -1, -1], [1, 1, -1, -1]]
    texts = ds.GeneratorDataset(lambda: iter([(np.array(["a"]),), (np.array(["b", "c"]),)]), "t")
    (row,) = list(texts.batch(2, pad_info={"t": (None, "<pad>")}))
    assert row[0].tolist() == [["a", "<pad>"], ["b", "c"]]
    (row,) = list(texts.batch(2, pad_info={}))
    assert row[0].tolist() == [["a", ""], ["b", "c"]]
    whole = ds.GeneratorDataset([np.ones(1, int), np.ones(2, int)], "x")
    with pytest.raises(ValueError, match=r"column 'x': 0.5 does not fit into int64"):
        list(whole.padded_batch(2, pad_info={"x": (None, 0.5)}))
    with pytest.raises(ValueError, match="3 entries on axis 0, more than the 2 to pad to"):
        list(ragged(3).padded_batch(1, pad_info={"x": ([2], 0)}))
    with pytest.raises(ValueError, match="no column y"):
        ragged(3).padded_batch(1, pad_info={"y": ([2], 0)})


def test_buckets_gather_rows_of_similar_length() -> None:
    data = ragged(1, 5, 2, 6, 1, 9)
    zeros = {"x": (None, 0.0)}
    made = data.bucket_batch_by_length("x", [4, 8], [2, 2, 1], pad_info=zeros)
    assert [row[0].shape for row in made] == [(2, 2), (2, 6), (1, 9), (1, 1)]
    assert made.get_dataset_size() == 4
    kept = data.bucket_batch_by_length(["x"], [4, 8], [2, 2, 1], len, zeros, drop_remainder=True)
    assert [row[0].shape for row in kept] == [(2, 2), (2, 6), (1, 9)]
    edge = data.take(5).bucket_batch_by_length("x", [4, 8], [2, 2, 1], None, zeros, True, True)
    assert [row[0].shape for row in edge] == [(2, 3), (2, 7)]
    with pytest.raises(ValueError, match="make 3 buckets, but there are 2 batch sizes"):
        data.bucket_batch_by_length("x", [4, 8], [2, 2])
    with pytest.raises(ValueError, match="last boundary 8"):
        list(data.bucket_batch_by_length("x", [4, 8], [2, 2, 1], None, zeros, True))


def test_per_batch_map_sees_rows_and_which_batch_it_is() -> None:
    def shifted(xs: list[np.ndarray], info: ds.BatchInfo) -> tuple[list[Any], list[Any]]:
        place = 100 * info.get_epoch_num() + 10 * info.get_batch_num()
        return [x + place for x in xs], [-x for x in xs]

    data = numbers(4).batch(2, per_batch_map=shifted, input_columns="x", output_columns=["x", "y"])
    assert data.get_col_names() == ["x", "y"]
    assert firsts(data) == [[0, 1], [12, 13]]
    assert firsts(data) == [[100, 101], [112, 113]]
    broken = numbers(4).batch(2, per_batch_map=lambda xs, info: xs[9])
    with pytest.raises(ds.RowError, match="per_batch_map <lambda>, batch 0: IndexError"):
        list(broken)
    uneven = numbers(4).batch(
        2, per_batch_map=lambda xs, info: (xs, xs[:1]), output_columns=["a", "b"]
    )
    with pytest.raises(ValueError, match=r"columns of \[1, 2\] rows in batch 0"):
        list(uneven)


def test_what_is_known_of_a_dataset() -> None:
    data = ds.NumpySlicesDataset({"x": np.ones((6, 2, 3), np.float32), "y": np.arange(6)})
    batched = data.batch(4).repeat(3)
    assert batched.output_shapes() == [[4, 2, 3], [4]]
    assert data.batch(4).output_shapes(estimate=True) == [[None, 2, 3], [None]]
    assert batched.output_types() == [np.float32, np.int64]
    assert (batched.get_batch_size(), batched.get_repeat_count(), len(batched)) == (4, 3, 6)
    assert (data.get_batch_size(), data.get_repeat_count(), data.num_classes()) == (1, 1, None)
    assert data.get_class_indexing() == {}
    assert numbers().repeat().take(7).get_dataset_size() == 7
    assert numbers().repeat().batch(3).skip(1).take(5).get_dataset_size() == 5
    assert numbers(2, "a").zip(numbers().repeat()).get_dataset_size() == 2


def test_reset_counts_passes_anew() -> None:
    cw.set_seed(1)
    data = ds.NumpySlicesDataset(np.arange(8))
    first, second = firsts(data), firsts(data)
    data.reset()
    assert [firsts(data), firsts(data)] == [first, second]
    assert first != second


def test_sources_check_what_they_give() -> None:
    with pytest.raises(
        TypeError, match=r"Squares, row 0: column 'b' is to hold float32, but got int32"
    ):
        list(ds.GeneratorDataset(Squares(), ["a", "b"], [cw.int32, cw.float32], shuffle=False))
    schema = ds.Schema()
    schema.add_column("a", cw.int32)
    schema.add_column("b", "int32", [])
    data = ds.GeneratorDataset(Squares(), schema=schema, num_samples=3, shuffle=False)
    assert data.get_col_names() == ["a", "b"]
    assert firsts(data) == [0, 1, 2]
    with pytest.raises(ValueError, match=r"row 0: a row has 2 values for 1 columns"):
        list(ds.GeneratorDataset(Squares(), "a", shuffle=False))
    with pytest.raises(TypeError, match=r"row 0: column 'a' got .*elements of object"):
        list(ds.GeneratorDataset([object()], "a"))
    with pytest.raises(TypeError, match="column 'b' got a nested list whose parts differ"):
        ds.NumpySlicesDataset({"a": [1, 2], "b": [[1], [2, 3]]})
    with pytest.raises(TypeError, match="column 'a' got a nested list"):
        list(ds.GeneratorDataset(lambda: iter([([[1], [2, 3]],)]), "a"))

    def breaks() -> Iterator[tuple[int]]:
        yield (1,)
        raise OSError("disk")

    with pytest.raises(ds.RowError, match="of breaks, row 1: OSError: disk"):
        list(ds.GeneratorDataset(breaks, "a"))


def test_an_iterator_gives_one_pass_and_says_so() -> None:
    data = ds.GeneratorDataset((number for number in range(3)), "x")
    with pytest.raises(ValueError, match="cannot be counted without using it up"):
        data.get_dataset_size()
    assert firsts(data) == [0, 1, 2]
    with pytest.raises(ValueError, match="used up by the first pass"):
        firsts(data)


def test_rows_may_be_dictionaries_text_and_bytes() -> None:
    rows = [{"t": "é", "b": b"a\0b\0"}, {"t": "long", "b": b"c"}]
    data = ds.GeneratorDataset(rows, ["b", "t"], shuffle=False)
    first, second = list(data)
    assert first[0].asnumpy().tolist() == [97, 0, 98, 0]  # no zero is cut off
    assert (str(first[1]), str(second[1].asnumpy())) == ("é", "long")
    assert data.project("t").batch(2).output_types() == [np.str_]
    with pytest.raises(ValueError, match="a row has no z; it has t, b"):
        list(ds.GeneratorDataset(rows, ["z"]))


def test_a_seed_of_datasets_alone_holds_until_the_next_seed() -> None:
    ds.config.set_seed(5)
    first = firsts(ds.NumpySlicesDataset(np.arange(20)))
    ds.config.set_seed(5)
    assert ds.config.get_seed() == 5
    assert firsts(ds.NumpySlicesDataset(np.arange(20))) == first
    cw.set_seed(7)
    assert ds.config.get_seed() == 7
    third = firsts(ds.NumpySlicesDataset(np.arange(20)))
    cw.set_seed(7)
    assert firsts(ds.NumpySlicesDataset(np.arange(20))) == third != first


def test_settings_are_checked() -> None:
    ds.config.set_num_parallel_workers(2)
    ds.config.set_prefetch_size(3)
    assert (ds.config.get_num_parallel_workers(), ds.config.get_prefetch_size()) == (2, 3)
    with pytest.raises(ValueError, match="num must be at least 1, it is 0"):
        ds.config.set_num_parallel_workers(0)
    with pytest.raises(TypeError, match="size must be an int"):
        ds.config.set_prefetch_size(2.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seed must be at least 0"):
        ds.config.set_seed(-1)
    with pytest.raises(ValueError, match="no method 'thread'"):
        ds.config.set_multiprocessing_start_method("thread")
    with pytest.raises(TypeError, match="numa_enable must be a bool"):
        ds.config.set_numa_enable(1)  # type: ignore[arg-type]
    before = ds.config.get_numa_enable()
    ds.config.set_numa_enable(not before)
    assert ds.config.get_numa_enable() is not before
    ds.config.set_numa_enable(before)


def test_the_debug_mode_shows_what_passes_through_map(capsys: pytest.CaptureFixture[str]) -> None:
    hook = ds.debug.PrintMetaDataHook()
    data = numbers(1).map([transforms.TypeCast(cw.float32), lambda x: x[None]], "x", None, 4)
    ds.config.set_debug_mode(True, [hook, ds.debug.PrintDataHook()])
    assert ds.config.get_debug_mode()
    list(data)
    lines = capsys.readouterr().out.splitlines()
    assert lines[::2] == [
        "shape (), type int32",
        "shape (), type float32",
        "shape (1,), type float32",
    ]
    assert lines[1::2] == ["0", "0.0", "[0.]"]


def test_blocks_are_what_rows_are() -> None:
    images = np.arange(5 * 4 * 3 * 2, dtype=np.uint8).reshape(5, 4, 3, 2)
    source = ds.NumpySlicesDataset({"image": images, "label": np.arange(5)}, shuffle=False)
    steps = [
        ds.vision.Rescale(1 / 255, 0.5),
        ds.vision.Normalize([0.1, 0.2], [0.3, 0.4]),
        ds.vision.HWC2CHW(),
        transforms.TypeCast(cw.float16),
    ]
    fast = source.map(steps, "image").rename("label", "y").project(["y", "image"])
    slow = source.map([*steps, lambda x: x], "image").rename("label", "y").project(["y", "image"])
    assert fast.stacked
    assert not slow.stacked
    pairs = zip(
        fast.batch(2).create_tuple_iterator(num_epochs=1, output_numpy=True),
        slow.batch(2).create_tuple_iterator(num_epochs=1, output_numpy=True),
        strict=True,
    )
    for a, b in pairs:
        np.testing.assert_array_equal(a[0], b[0])
        np.testing.assert_array_equal(a[1], b[1])
        assert a[1].dtype == np.float16
