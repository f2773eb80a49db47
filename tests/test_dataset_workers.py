"""Workers: the same rows in the same order, errors told, nothing left running."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import dataset as ds
from cellwire.dataset import vision


class Images:
    """A map-style source of small images; row 7 can fail."""

    def __init__(self, fails: Callable[[], object] | None = None) -> None:
        self.fails = fails

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        if index == 7 and self.fails is not None:
            self.fails()
        return np.full((6, 6, 3), index, np.uint8), index

    def __len__(self) -> int:
        return 12


@pytest.fixture(autouse=True)
def settings_as_they_were() -> Iterator[None]:
    yield
    ds.config.set_num_parallel_workers(1)
    ds.config.set_prefetch_size(0)
    cw.set_seed(0)


def noisy(image: np.ndarray) -> np.ndarray:
    """A function with random numbers of NumPy and Python, as users write them."""
    return image + np.random.rand() + random.random()


def rows(dataset: ds.Dataset) -> list[list[Any]]:
    found = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    return [[value.tolist() for value in row] for row in found]


def augmented(workers: int, processes: bool = False, source_processes: bool = False) -> ds.Dataset:
    """A pipeline that draws in each place where one can."""
    cw.set_seed(11)
    data = ds.GeneratorDataset(
        Images(), ["image", "label"], num_parallel_workers=workers,
        python_multiprocessing=source_processes,
    )  # fmt: skip
    steps = [vision.RandomCrop(4, 1), vision.RandomHorizontalFlip(), vision.RandomColorAdjust(0.5)]
    data = data.map(steps, "image", None, workers, python_multiprocessing=processes)
    return data.shuffle(5).batch(5)


def alive() -> int:
    ours = [t for t in threading.enumerate() if t.name.startswith("cellwire-data")]
    return len(ours) + len(multiprocessing.active_children())


def test_any_number_of_workers_gives_the_same_rows() -> None:
    expected = augmented(1)
    passes = [rows(expected), rows(expected)]
    assert passes[0] != passes[1]
    for made in (augmented(3), augmented(2, True), augmented(2, False, True)):
        assert [rows(made), rows(made)] == passes
    ds.config.set_prefetch_size(2)
    assert [rows(made := augmented(1)), rows(made)] == passes
    assert alive() == 0


def test_each_row_and_each_pass_draws_anew() -> None:
    images = np.tile(np.arange(36, dtype=np.uint8).reshape(6, 6), (40, 1, 1))
    data = ds.NumpySlicesDataset(images, "x", shuffle=False).map(vision.RandomCrop(2), "x")
    first, second = rows(data), rows(data)
    assert len({str(row) for row in first}) > 10  # of 25 places
    assert sum(a == b for a, b in zip(first, second, strict=True)) < 12


def test_a_run_resumed_with_workers_goes_on_with_the_same_rows() -> None:
    iterator = augmented(3).create_tuple_iterator(output_numpy=True)
    next(iterator)
    position = iterator.position
    rest = [row[1].tolist() for row in iterator]
    other = augmented(1).create_tuple_iterator(output_numpy=True)
    other.restore(position)
    assert [row[1].tolist() for row in other] == rest


def test_users_random_numbers_in_processes_follow_the_seed() -> None:
    def made(workers: int) -> list[list[Any]]:
        cw.set_seed(4)
        data = ds.GeneratorDataset(Images(), ["image", "label"], shuffle=False)
        return rows(data.map(noisy, "image", None, workers, python_multiprocessing=True))

    first = made(2)
    assert made(3) == first
    assert len({str(row[0]) for row in first}) == 12  # no two rows drew the same


@pytest.mark.parametrize(("processes", "workers"), [(False, 1), (False, 3), (True, 2)])
def test_errors_of_sources_name_the_row_after_the_rows_before(
    processes: bool, workers: int
) -> None:
    data = ds.GeneratorDataset(
        Images(lambda: {}["no such key"]), ["image", "label"], num_parallel_workers=workers,
        shuffle=False, python_multiprocessing=processes,
    )  # fmt: skip
    iterator = data.create_tuple_iterator(output_numpy=True)
    for expected in range(7):
        assert next(iterator)[1] == expected
    with pytest.raises(ds.RowError, match="GeneratorDataset of Images, row 7: KeyError"):
        next(iterator)
    assert alive() == 0


@pytest.mark.parametrize("processes", [False, True])
def test_errors_of_map_name_row_and_operation(processes: bool) -> None:
    data = ds.GeneratorDataset(Images(), ["image", "label"], shuffle=False)
    data = data.map(vision.Crop((0, 0), 9), "image", None, 2, python_multiprocessing=processes)
    with pytest.raises(
        ds.RowError, match="map of image, row 0, operation Crop: ValueError"
    ) as caught:
        list(data)
    notes = getattr(caught.value, "__notes__", [])
    assert bool(notes) is processes
    assert not notes or "Traceback" in notes[0]
    assert alive() == 0


def test_errors_of_the_source_come_after_the_rows_that_workers_hold() -> None:
    def breaks() -> Iterator[tuple[int]]:
        yield from ((number,) for number in range(3))
        raise OSError("disk")

    for size, workers in ((0, 2), (2, 1)):
        ds.config.set_prefetch_size(size)
        data = ds.GeneratorDataset(breaks, "x").map(lambda x: x, "x", None, workers)
        iterator = data.create_tuple_iterator(output_numpy=True)
        assert [int(next(iterator)[0]) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(ds.RowError, match="row 3: OSError: disk"):
            next(iterator)
        assert alive() == 0


def test_after_an_error_the_iterator_begins_a_pass_anew() -> None:
    failing = [True]
    source = Images(lambda: failing.pop() and {}["no such key"] if failing else None)
    iterator = ds.GeneratorDataset(source, ["image", "label"], shuffle=False).create_dict_iterator(
        num_epochs=1, output_numpy=True
    )
    with pytest.raises(ds.RowError, match="row 7"):
        list(iterator)
    assert [int(row["label"]) for row in iterator] == list(range(12))


def test_a_worker_process_that_dies_is_told() -> None:
    data = ds.GeneratorDataset(
        Images(lambda: os._exit(3)), ["image", "label"], num_parallel_workers=2, shuffle=False
    )
    with pytest.raises(ds.RowError, match=r"ended by itself \(exit code 3\)"):
        list(data)
    assert alive() == 0


@pytest.mark.parametrize("kind", ["threads", "processes", "ahead"])
@pytest.mark.parametrize("end", ["closed", "collected", "exhausted", "restored"])
def test_nothing_runs_on_after_an_iterator(kind: str, end: str) -> None:
    if kind == "ahead":
        ds.config.set_prefetch_size(2)
    workers = 1 if kind == "ahead" else 2
    data = ds.GeneratorDataset(
        Images(), ["image", "label"], num_parallel_workers=workers,
        python_multiprocessing=kind == "processes",
    )  # fmt: skip
    iterator = data.create_tuple_iterator(num_epochs=1)
    next(iterator)
    assert alive() > 0
    if end == "closed":
        iterator.close()
    elif end == "collected":
        del iterator
        gc.collect()
    elif end == "restored":
        iterator.restore((0, 11))
        list(iterator)
    else:
        assert len(list(iterator)) == 11
    assert alive() == 0


def test_spawned_workers_need_what_can_be_sent() -> None:
    method = ds.config.get_multiprocessing_start_method()
    ds.config.set_multiprocessing_start_method("spawn")
    try:
        data = ds.GeneratorDataset([1, 2], "x", num_parallel_workers=2, shuffle=False)
        assert rows(data) == [[1], [2]]
        local = ds.NumpySlicesDataset([1, 2], "x").map(
            lambda x: x, "x", None, 2, python_multiprocessing=True
        )
        with pytest.raises(TypeError, match="cannot be sent to them"):
            list(local)
    finally:
        ds.config.set_multiprocessing_start_method(method)


def test_batches_are_mapped_by_workers() -> None:
    def doubled(xs: list[np.ndarray], info: ds.BatchInfo) -> list[np.ndarray]:
        return [2 * x + info.get_batch_num() for x in xs]

    source = ds.NumpySlicesDataset(np.arange(6), "x", shuffle=False)
    for processes in (False, True):
        data = source.batch(
            2, num_parallel_workers=2, per_batch_map=doubled, python_multiprocessing=processes
        )
        assert rows(data) == [[[0, 2]], [[5, 7]], [[10, 12]]]


def test_datasets_that_flat_map_makes_follow_the_seed() -> None:
    def made() -> list[list[Any]]:
        cw.set_seed(3)
        data = ds.NumpySlicesDataset([4, 5, 6], "n", shuffle=False)
        return rows(data.flat_map(lambda n: ds.NumpySlicesDataset(np.arange(int(n)), "x")))

    first = made()
    assert made() == first
    ds.config.set_prefetch_size(2)
    assert made() == first


class Drawn:
    """A source whose rows draw, and tell which thread made them."""

    def __init__(self) -> None:
        self.threads: set[str] = set()

    def __getitem__(self, index: int) -> np.ndarray:
        self.threads.add(threading.current_thread().name)
        return np.asarray(
            float(vision.ToTensor()(augment(np.full((4, 4, 3), index, np.uint8))).sum())
        )

    def __len__(self) -> int:
        return 8


augment = vision.RandomColorAdjust(brightness=(0.1, 0.9))


def test_parts_of_a_source_draw_anew_each_pass_and_have_its_workers() -> None:
    def passes(workers: int) -> tuple[list[Any], set[str]]:
        cw.set_seed(3)
        source = Drawn()
        data = ds.GeneratorDataset(
            source, ["x"], shuffle=False, num_parallel_workers=workers, python_multiprocessing=False
        )
        part, _ = data.split([6, 2], randomize=False)
        return [rows(part), rows(part)], source.threads

    (first, second), threads = passes(1)
    assert len(first) == len(second) == 6
    assert first != second
    assert threads == {"MainThread"}
    again, threads = passes(2)
    assert again == [first, second]
    assert all(name.startswith("cellwire-data") for name in threads)


def test_datasets_made_in_datasets_that_flat_map_makes_are_seeded_too() -> None:
    def made(value: np.ndarray) -> ds.Dataset:
        return ds.NumpySlicesDataset(np.arange(4) + 10 * value)

    def found() -> list[Any]:
        cw.set_seed(5)
        data = ds.NumpySlicesDataset(np.arange(4))
        return rows(data.flat_map(lambda value: made(value).flat_map(made)))

    assert len(found()) == 64
    assert found() == found()
