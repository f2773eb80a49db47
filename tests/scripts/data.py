"""Small files in the real formats that the scripts read: handwritten digits as MNIST's."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from cellwire.engine.dataset.digits import load_digits
from PIL import Image


def write_idx(path: Path, array: np.ndarray) -> None:
    """Write bytes as an IDX file: two zeros, the type, the number of axes, sizes, values."""
    sizes = np.array(array.shape, ">u4").tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes())


def write_mnist(folder: Path, train: int = 512, test: int = 128) -> Path:
    """Write real digits, enlarged to 28×28, as ``MNIST_Data/train`` and ``MNIST_Data/test``."""
    digits = load_digits()
    large = np.kron(digits["images"][:, 0], np.ones((1, 3, 3), np.uint8)) * 15
    images = np.pad(large, ((0, 0), (2, 2), (2, 2)))
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order], digits["labels"][order]
    base = folder / "MNIST_Data"
    parts = {"train/train": slice(0, train), "test/t10k": slice(train, train + test)}
    for name, rows in parts.items():
        write_idx(base / f"{name}-images-idx3-ubyte", images[rows])
        write_idx(base / f"{name}-labels-idx1-ubyte", labels[rows])
    return base


def striped_pictures(labels: Sequence[int], size: int, seed: int = 0) -> np.ndarray:
    """Noisy pictures, N×size×size×3 bytes, whose colour and stripes tell their labels 0..9."""
    draw = np.random.default_rng(seed)
    classes = np.asarray(labels)
    angles = classes * (np.pi / 10)
    colours = np.random.default_rng(9).uniform(60, 200, (10, 3))[classes]
    down, across = np.mgrid[:size, :size] * (4 * np.pi / size)
    phases = draw.uniform(0, 2 * np.pi, len(classes))[:, None, None]
    along = np.cos(angles)[:, None, None] * down + np.sin(angles)[:, None, None] * across
    pictures = colours[:, None, None] + 40 * np.sin(along + phases)[..., None]
    return (pictures + draw.normal(0, 8, pictures.shape)).clip(0, 255).astype(np.uint8)


def write_image_folder(
    folder: Path, counts: Mapping[str, int], size: int = 40, seed: int = 0, suffix: str = ".jpg"
) -> Path:
    """Write ``counts[name]`` pictures of each class into a folder of the class's name."""
    for label, (name, count) in enumerate(counts.items()):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number, pixels in enumerate(striped_pictures([3 * label] * count, size, seed + label)):
            Image.fromarray(pixels).save(folder / name / f"{number:03d}{suffix}")
    return folder


def write_cifar10(folder: Path, train: int = 60, test: int = 30, classes: int = 10) -> Path:
    """Write striped pictures in the format of CIFAR-10's binary version."""
    base = folder / "cifar-10-batches-bin"
    base.mkdir(parents=True, exist_ok=True)
    names = [f"kind{number}" for number in range(10)]
    (base / "batches.meta.txt").write_text("\n".join([*names, ""]), "utf-8")
    sizes = {f"data_batch_{number}": train // 5 for number in range(1, 6)} | {"test_batch": test}
    for seed, (name, count) in enumerate(sizes.items()):
        labels = np.arange(count) % classes
        pixels = striped_pictures(labels.tolist(), 32, seed).transpose(0, 3, 1, 2)
        records = np.concatenate([labels[:, None], pixels.reshape(count, -1)], 1)
        (base / f"{name}.bin").write_bytes(records.astype(np.uint8).tobytes())
    return base


def write_reviews(folder: Path, parts: Mapping[str, int], length: int = 12) -> Path:
    """Write reviews, half of them kind ones, as the archive ``aclImdb_v1.tar.gz``."""
    draw = np.random.default_rng(5)
    path = folder / "aclImdb_v1.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for part, count in parts.items():
            for number in range(count):
                kind = ("neg", "pos")[number % 2]
                words = draw.choice(_REVIEW_WORDS[kind] + _REVIEW_WORDS["any"], length)
                told = _REVIEW_WORDS[kind][number % 3]
                text = f"This film: {told.upper()}! {' '.join(words[: 4 + number % 8])}.\n".encode()
                member = tarfile.TarInfo(f"aclImdb/{part}/{kind}/{number}_7.txt")
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))
    return path


def write_word_vectors(folder: Path, size: int = 12) -> Path:
    """Write a vector for each word of the reviews, in the format of GloVe's ``.zip`` files."""
    draw = np.random.default_rng(6)
    lines = []
    for kind, centre in (("neg", -0.5), ("pos", 0.5), ("any", 0.0)):
        for word in _REVIEW_WORDS[kind]:
            vector = draw.normal(0, 0.3, size) + centre * (np.arange(size) % 3 == 0)
            lines.append(" ".join([word, *(f"{value:.5f}" for value in vector)]))
    with zipfile.ZipFile(folder / "glove.6B.zip", "w") as archive:
        archive.writestr(f"glove.6B.{size}d.txt", "\n".join([*lines, ""]))
    return folder / "glove.6B.zip"


_REVIEW_WORDS = {
    "pos": ["great", "lovely", "moving", "funny"],
    "neg": ["terrible", "dull", "boring", "silly"],
    "any": ["this", "film", "the", "plot", "was", "and", "actors", "with"],
}


def scenes(count: int, size: int, seed: int = 0) -> list[tuple[np.ndarray, list[int], int]]:
    """Pictures size×size×3 with one rectangle: its rows and columns, and its class, 1 or 2."""
    draw = np.random.default_rng(seed)
    found = []
    for number in range(count):
        kind = 1 + number % 2
        picture = draw.normal(90, 10, (size, size, 3))
        height, width = draw.integers(size // 3, size // 2, 2)
        top, left = draw.integers(0, size - height), draw.integers(0, size - width)
        colour = (220, 60, 60) if kind == 1 else (60, 60, 220)
        picture[top : top + height, left : left + width] = colour
        box = [int(top), int(left), int(top + height), int(left + width)]
        found.append((picture.clip(0, 255).astype(np.uint8), box, kind))
    return found


def encoded(pixels: np.ndarray, kind: str = "JPEG") -> bytes:
    """Pixels as the bytes of a picture file."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()
