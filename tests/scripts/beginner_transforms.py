"""Change rows on their way: what MindSpore's tutorial ``beginner/transforms`` calls.

Transforms put together, called on a single image, on text with a vocabulary of it, and functions
of one's own.
"""

from __future__ import annotations

from pathlib import Path

import cellwire as ms
import numpy as np
from cellwire.dataset import GeneratorDataset, MnistDataset, text, transforms, vision
from data import write_mnist
from PIL import Image

SENTENCES = ["draw the graph", "stop at the wire", "看图!"]


def put_together(folder: Path) -> None:
    """One transform made of several."""
    dataset = MnistDataset(str(write_mnist(folder, train=4, test=4) / "train"))
    image, _ = next(dataset.create_tuple_iterator())
    assert image.shape == (28, 28, 1)
    prepare = transforms.Compose(
        [
            vision.Rescale(1.0 / 255.0, 0),
            vision.Normalize(mean=(0.1307,), std=(0.3081,)),
            vision.HWC2CHW(),
        ]
    )
    image, _ = next(dataset.map(prepare, "image").create_tuple_iterator())
    assert (image.shape, image.dtype) == ((1, 28, 28), ms.float32)


def one_image() -> None:
    """A transform is a function of an image, too."""
    pixels = np.random.randint(0, 255, (16, 12), np.uint8)
    scaled = vision.Rescale(1.0 / 255.0, 0)(Image.fromarray(pixels))
    assert np.allclose(scaled, pixels / 255, atol=1e-6)
    normal = vision.Normalize(mean=(0.5,), std=(0.25,))(scaled)
    assert np.allclose(normal, (pixels / 255 - 0.5) / 0.25, atol=1e-5)
    last = np.expand_dims(normal, -1)
    first = vision.HWC2CHW()(last)
    assert (last.shape, first.shape) == ((16, 12, 1), (1, 16, 12))


def words() -> None:
    """Text becomes words, words become numbers."""
    dataset = GeneratorDataset(SENTENCES, "text", shuffle=False)
    split = dataset.map(text.PythonTokenizer(lambda sentence: sentence.split()))
    assert next(split.create_tuple_iterator())[0].tolist() == ["draw", "the", "graph"]
    basic = dataset.map(text.BasicTokenizer())
    assert [row[0].tolist() for row in basic][2] == ["看", "图", "!"]

    vocabulary = text.Vocab.from_dataset(basic)
    numbers = vocabulary.vocab()
    assert numbers["the"] == 0  # the word that is met most often comes first
    assert sorted(numbers.values()) == list(range(9))
    found = next(basic.map(text.Lookup(vocabulary)).create_tuple_iterator())[0]
    assert found.dtype == ms.int32
    assert found.tolist() == [numbers["draw"], 0, numbers["graph"]]


def functions() -> None:
    """Functions without a class, one after another."""

    def shifted(value: np.ndarray) -> np.ndarray:
        return value * value - 1

    dataset = GeneratorDataset([1, 2, 3], "data", shuffle=False).map(lambda x: x * 3)
    assert [int(row[0]) for row in dataset.create_tuple_iterator()] == [3, 6, 9]
    dataset = dataset.map(shifted)
    assert [int(row[0]) for row in dataset.create_tuple_iterator()] == [8, 35, 80]


def main(folder: Path) -> None:
    put_together(folder)
    one_image()
    words()
    functions()
