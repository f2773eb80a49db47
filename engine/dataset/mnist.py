"""Data sets in the IDX format of MNIST: handwritten digits, clothes, Japanese letters.

Reference: Y. LeCun, C. Cortes, C. Burges, The MNIST database, which describes the format.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .files import DataError
from .mappable import ArraysDataset
from .samplers import select_sampler

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: Path) -> np.ndarray:
    """The array of an IDX file, which may be compressed (``.gz``).

    Raises
    ------
    DataError
        If it is no such file, or has more or fewer bytes than it says.
    """
    data = _contents(path)
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in _TYPES:
        raise DataError(
            f"{path.name} is no IDX file: it begins with the bytes {data[:4].hex(' ') or 'none'}.",
            "Get the file anew; it begins with 00 00, a type and a number of axes.",
        )
    dtype, start = np.dtype(_TYPES[data[2]]), 4 + 4 * data[3]
    shape = tuple(int(n) for n in np.frombuffer(data[4:start], ">u4"))
    expected = start + dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    if len(shape) != data[3] or len(data) != expected:
        raise DataError(
            f"{path.name} should have {expected} bytes for {'×'.join(map(str, shape))} values, but"
            f" has {len(data)}.",
            "Get the file anew; it was not copied whole.",
        )
    array = np.frombuffer(data, dtype, offset=start).reshape(shape)
    return array.astype(dtype.newbyteorder("="))


def _contents(path: Path) -> bytes:
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as stream:
                return stream.read()
        return path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {error}.", "Get the file anew.") from error


class Files(NamedTuple):
    """The files of one part of a data set: images and labels, without ``.gz``."""

    images: str
    labels: str


_PARTS = {
    "train": Files("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": Files("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}


def _found(folder: Path, name: str) -> Path | None:
    for stem in (name, name.replace("-idx", ".idx")):
        for path in (folder / stem, folder / f"{stem}.gz"):
            if path.is_file():
                return path
    return None


def _read_part(folder: Path, files: Files) -> tuple[np.ndarray, np.ndarray] | None:
    """Images N×H×W×1 and labels; None where neither file is there."""
    images, labels = _found(folder, files.images), _found(folder, files.labels)
    if images is None and labels is None:
        return None
    if images is None or labels is None:
        missing = files.labels if labels is None else files.images
        raise DataError(f"{folder} has no file {missing}.", "Images and labels belong together.")
    pixels, numbers = read_idx(images), read_idx(labels)
    if pixels.ndim != 3 or numbers.ndim not in (1, 2) or len(pixels) != len(numbers):
        raise DataError(
            f"{images.name} has {'×'.join(map(str, pixels.shape))} pixels, {labels.name}"
            f" {'×'.join(map(str, numbers.shape))} labels; they do not belong together.",
            "Get both files from one place.",
        )
    return pixels[..., None], numbers.astype(np.int32)


def existing_folder(where: str, path: Any) -> Path:
    """The folder; DataError where there is none."""
    folder = Path(path)
    if not folder.is_dir():
        raise DataError(f"{where}: there is no folder {folder}.", "Set dataset_dir.")
    return folder


def require_usage(where: str, usage: str | None, known: Sequence[str]) -> str:
    """The part of the data set that is asked for, by default all; ValueError where unknown."""
    if usage is not None and usage not in known:
        raise ValueError(f"{where}: usage must be {', '.join(known)} or None, it is {usage!r}.")
    return usage or "all"


class MnistDataset(ArraysDataset):
    """Handwritten digits: columns ``image`` 28×28×1 uint8 and ``label`` int32 in 0..9.

    The images are read into memory. Labels are int32, where MindSpore has uint32, so that losses
    take them as they are.

    Parameters
    ----------
    dataset_dir : str or Path
        Folder with the IDX files (``train-images-idx3-ubyte`` and so on, or ``.gz`` of them).
    usage : str, optional
        ``"train"``, ``"test"`` or ``"all"``; by default all that the folder has.
    num_samples : int, optional
        At most so many rows a pass.
    num_parallel_workers : int, optional
        Taken for MindSpore's scripts; rows in memory take no worker.
    shuffle : bool, optional
        Whether rows come in random order, anew each pass; by default they do.
    sampler : Sampler or iterable of int, optional
        Which rows a pass gives.
    num_shards, shard_id : int, optional
        How many shares the rows are dealt out to, and which this is.

    Raises
    ------
    DataError
        If a file is missing or damaged: it is named.
    ValueError
        If `usage` is something else.
    """

    parts = _PARTS
    classes = 10

    def __init__(
        self,
        dataset_dir: str | Path,
        usage: str | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        where = type(self).__name__
        chosen = select_sampler(where, num_samples, sampler, shuffle, num_shards, shard_id)
        usage = require_usage(where, usage, (*self.parts, "all"))
        images, labels = self._read(existing_folder(where, dataset_dir), usage)
        super().__init__(["image", "label"], [images, labels], chosen)

    def _read(self, folder: Path, usage: str) -> tuple[np.ndarray, np.ndarray]:
        names = list(self.parts) if usage == "all" else [usage]
        read = [part for name in names if (part := _read_part(folder, self.parts[name]))]
        if not read:
            wanted = " or ".join(self.parts[name].images for name in names)
            raise DataError(
                f"{type(self).__name__}: {folder} has no file {wanted} (nor .gz of it).",
                "Set dataset_dir to the folder that holds the files, or another usage.",
            )
        images, labels = zip(*read, strict=True)
        return np.concatenate(images), np.concatenate(labels)

    def num_classes(self) -> int | None:
        """How many classes there are."""
        return self.classes


class FashionMnistDataset(MnistDataset):
    """Pictures of clothes in ten classes; files and columns as `MnistDataset`.

    Parameters
    ----------
    dataset_dir : str or Path
        Folder with the files.
    usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id : optional
        As in `MnistDataset`.
    """


class KMnistDataset(MnistDataset):
    """Ten Japanese letters; files and columns as `MnistDataset`.

    Parameters
    ----------
    dataset_dir : str or Path
        Folder with the files.
    usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id : optional
        As in `MnistDataset`.
    """


_EMNIST_CLASSES = {
    "byclass": 62,
    "bymerge": 47,
    "balanced": 47,
    "letters": 26,
    "digits": 10,
    "mnist": 10,
}


class EMnistDataset(MnistDataset):
    """Handwritten letters and digits; columns as `MnistDataset`.

    Parameters
    ----------
    dataset_dir : str or Path
        Folder with files as ``emnist-letters-train-images-idx3-ubyte``.
    name : str
        ``"byclass"``, ``"bymerge"``, ``"balanced"``, ``"letters"``, ``"digits"`` or ``"mnist"``.
    usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id : optional
        As in `MnistDataset`.
    """

    def __init__(
        self,
        dataset_dir: str | Path,
        name: str,
        usage: str | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        if name not in _EMNIST_CLASSES:
            raise ValueError(f"EMnistDataset: name must be one of {', '.join(_EMNIST_CLASSES)}.")
        self.classes = _EMNIST_CLASSES[name]
        self.parts = {
            part: Files(
                f"emnist-{name}-{part}-images-idx3-ubyte", f"emnist-{name}-{part}-labels-idx1-ubyte"
            )
            for part in ("train", "test")
        }
        super().__init__(
            dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards,
            shard_id,
        )  # fmt: skip


_QMNIST_TEST = Files("qmnist-test-images-idx3-ubyte", "qmnist-test-labels-idx2-int")
_QMNIST = {
    "train": Files("qmnist-train-images-idx3-ubyte", "qmnist-train-labels-idx2-int"),
    "test": _QMNIST_TEST,
    "test10k": _QMNIST_TEST,
    "test50k": _QMNIST_TEST,
    "nist": Files("xnist-images-idx3-ubyte", "xnist-labels-idx2-int"),
}
_QMNIST_RANGES = {"test10k": slice(10_000), "test50k": slice(10_000, None)}


class QMnistDataset(MnistDataset):
    """MNIST with what is known of each digit; columns as `MnistDataset`.

    Parameters
    ----------
    dataset_dir : str or Path
        Folder with files as ``qmnist-train-images-idx3-ubyte``.
    usage : str, optional
        ``"train"``, ``"test"``, ``"test10k"``, ``"test50k"``, ``"nist"`` or ``"all"``.
    compat : bool
        Whether the label is the class alone; else all eight numbers known of the digit.
    num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id : optional
        As in `MnistDataset`.
    """

    parts = _QMNIST

    def __init__(
        self,
        dataset_dir: str | Path,
        usage: str | None = None,
        compat: bool = True,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        self.compat = bool(compat)
        super().__init__(
            dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards,
            shard_id,
        )  # fmt: skip

    def _read(self, folder: Path, usage: str) -> tuple[np.ndarray, np.ndarray]:
        if usage == "all":
            parts = [
                p for n in ("train", "test", "nist") if (p := _read_part(folder, self.parts[n]))
            ]
            if not parts:
                raise DataError(f"QMnistDataset: {folder} has no qmnist files.", "Set dataset_dir.")
            images = np.concatenate([pixels for pixels, _ in parts])
            labels = np.concatenate([numbers for _, numbers in parts])
        else:
            images, labels = super()._read(folder, usage)
        if labels.ndim != 2 or labels.shape[1] != 8:
            raise DataError(f"QMnistDataset: labels in {folder} are not eight numbers a digit.")
        kept = _QMNIST_RANGES.get(usage, slice(None))
        return images[kept], (labels[:, 0] if self.compat else labels)[kept]
