"""Load and prepare data: what MindSpore's tutorial ``beginner/dataset`` calls.

``GeneratorDataset`` from each kind of source, MindRecord files, MNIST files, transforms of the
library and of one's own, ``shuffle``, ``batch``, and iterators of tuples and dicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Self

import cellwire as ms
import numpy as np
from cellwire import dtype as mstype
from cellwire.dataset import (
    GeneratorDataset,
    MindDataset,
    MnistDataset,
    NumpySlicesDataset,
    transforms,
    vision,
)
from cellwire.mindrecord import FileWriter
from data import write_mnist


class Squares:
    """Rows by number: a number and its square."""

    def __init__(self, count: int) -> None:
        self.numbers = np.arange(count, dtype=np.float64)

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        return self.numbers[index], self.numbers[index] ** 2

    def __len__(self) -> int:
        return len(self.numbers)


class Countdown:
    """Rows one after another, from the start each time it is asked for an iterator."""

    def __init__(self, start: int) -> None:
        self.start = start

    def __next__(self) -> int:
        return next(self.left)

    def __iter__(self) -> Self:
        self.left = iter(range(self.start, 0, -1))
        return self


def doubles(start: int, end: int) -> Iterator[int]:
    for number in range(start, end):
        yield 2 * number


def own_sources() -> None:
    """A source may be anything that gives rows."""
    dataset = GeneratorDataset(source=Squares(5), column_names=["number", "square"])
    rows = [[float(value) for value in row] for row in dataset]
    assert sorted(rows) == [[n, n * n] for n in range(5)]
    number, square = next(dataset.create_tuple_iterator())
    print(number, square)
    assert (number.shape, number.dtype, square.dtype) == ((), ms.float64, ms.float64)

    arrays = GeneratorDataset([np.array(0), np.array(1), np.array(2)], column_names=["data"])
    assert sorted(int(row[0]) for row in arrays) == [0, 1, 2]
    stream = GeneratorDataset(source=Countdown(3), column_names=["data"])
    assert [int(row[0]) for row in stream] == [3, 2, 1]
    assert [int(row[0]) for row in stream] == [3, 2, 1]
    generated = GeneratorDataset(source=lambda: doubles(3, 6), column_names=["data"])
    assert [int(row[0]) for row in generated] == [6, 8, 10]


def record_files(folder: Path) -> None:
    """Rows of several types in one file."""
    name = str(folder / "notes.mindrecord")
    writer = FileWriter(file_name=name, shard_num=1, overwrite=True)
    schema = {
        "title": {"type": "string"},
        "stars": {"type": "int32"},
        "words": {"type": "int32", "shape": [-1]},
    }
    writer.add_schema(schema, "notes")
    for number in range(3):
        words = np.full(number + 1, number, np.int32)
        writer.write_raw_data([{"title": f"note {number}", "stars": number, "words": words}])
    writer.commit()

    dataset = MindDataset(name, shuffle=False)
    rows = list(dataset.create_dict_iterator())
    assert [str(row["title"]) for row in rows] == ["note 0", "note 1", "note 2"]
    assert [row["words"].tolist() for row in rows] == [[0], [1, 1], [2, 2, 2]]
    assert rows[2]["stars"] == 2
    for row in dataset:
        print(row)


def digits(folder: Path) -> None:
    """Images, with the library's transforms and with functions of one's own."""
    path = str(write_mnist(folder, train=40, test=8) / "train")
    dataset = MnistDataset(path, shuffle=False)
    assert type(dataset) is MnistDataset
    labels = [int(label) for _, label in dataset.create_tuple_iterator()]
    assert len(labels) == dataset.get_dataset_size() == 40
    image, _ = next(dataset.create_tuple_iterator())
    assert (image.shape, image.dtype) == ((28, 28, 1), ms.uint8)
    mixed = dataset.shuffle(buffer_size=16)
    assert sorted(int(label) for _, label in mixed) == sorted(labels)

    ready = MnistDataset(path, shuffle=False)
    ready = ready.map(
        operations=[
            vision.Rescale(1.0 / 255.0, 0),
            vision.Normalize(mean=(0.1307,), std=(0.3081,)),
            vision.HWC2CHW(),
        ],
        input_columns=["image"],
    )
    ready = ready.map(operations=[transforms.TypeCast(mstype.int32)], input_columns=["label"])
    own = MnistDataset(path, shuffle=False)
    own = own.map(operations=normalised, input_columns=["image"])
    own = own.map(operations=lambda label: label.astype(np.int32), input_columns=["label"])
    for (image, label), (same, _) in zip(ready, own, strict=True):
        assert (image.shape, image.dtype) == ((1, 28, 28), ms.float32)
        assert (label.shape, label.dtype) == ((), ms.int32)
        assert np.allclose(image.asnumpy(), same.asnumpy(), atol=1e-5)


def normalised(image: np.ndarray) -> np.ndarray:
    scaled = (image / 255.0 - 0.1307) / 0.3081
    return scaled.transpose(2, 0, 1).astype(np.float32)


def batches() -> None:
    """Rows put together, as tensors or as arrays, in tuples or in dicts."""
    columns = ([[1, 2], [3, 4], [5, 6], [7, 8]], [0, 1, 0, 1])
    dataset = NumpySlicesDataset(data=columns, column_names=["data", "label"], shuffle=False)
    dataset = dataset.map(lambda row: row * 10, input_columns=["data"]).batch(2)
    for data, label in dataset.create_tuple_iterator():
        assert (data.shape, label.shape) == ((2, 2), (2,))
    last = list(dataset.create_dict_iterator())[-1]
    assert last["data"].tolist() == [[50, 60], [70, 80]]
    assert last["label"].tolist() == [0, 1]
    arrays = next(dataset.create_dict_iterator(output_numpy=True))
    assert isinstance(arrays["data"], np.ndarray)


def main(folder: Path) -> None:
    own_sources()
    record_files(folder)
    digits(folder)
    batches()
