"""CIFAR-10 and CIFAR-100 in their binary format.

Reference: A. Krizhevsky, Learning multiple layers of features from tiny images, 2009; the data
set's page describes the format.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from .files import DataError
from .mappable import ArraysDataset
from .mnist import existing_folder, require_usage
from .samplers import select_sampler

PIXELS = 3 * 32 * 32


def read_cifar(path: Path, classes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Images N×32×32×3 uint8 and labels N×K int32 of a binary file with K labels a record.

    Raises
    ------
    DataError
        If the file is missing, ends in the middle of a record, or has a label that is no class.
    """
    try:
        data = np.frombuffer(path.read_bytes(), np.uint8)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", "Set dataset_dir.") from error
    size = len(classes) + PIXELS
    if not len(data) or len(data) % size:
        raise DataError(
            f"{path.name} has {len(data)} bytes, which are no whole records of {size} bytes.",
            "Get the file anew; it was not copied whole, or is of the other CIFAR.",
        )
    records = data.reshape(-1, size)
    labels = records[:, : len(classes)].astype(np.int32)
    for row, column in np.argwhere(labels >= classes)[:1].tolist():
        raise DataError(
            f"{path.name}, record {row} (byte {row * size}): label {labels[row, column]} is outside"
            f" 0..{classes[column] - 1}.",
            "Get the file anew, or check which CIFAR it is.",
        )
    images = records[:, len(classes) :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), labels


class Cifar10Dataset(ArraysDataset):
    """Small photographs in ten classes: columns ``image`` 32×32×3 uint8 and ``label`` int32.

    Parameters
    ----------
    dataset_dir : str or Path
        Folder with ``data_batch_1.bin`` and so on, and ``test_batch.bin``.
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
    """

    columns = ("image", "label")
    classes: tuple[int, ...] = (10,)

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
        usage = require_usage(where, usage, ("train", "test", "all"))
        folder = existing_folder(where, dataset_dir)
        paths = [path for part in ("train", "test") if usage in (part, "all")
                 for path in self.files(folder, part)]  # fmt: skip
        if not paths:
            raise DataError(
                f"{where}: {folder} has no .bin files of {usage} rows.",
                "Set dataset_dir to the folder of the binary version, or another usage.",
            )
        read = [read_cifar(path, self.classes) for path in paths]
        labels = np.concatenate([numbers for _, numbers in read])
        arrays = [np.concatenate([images for images, _ in read]), *labels.T.copy()]
        super().__init__(self.columns, arrays, chosen)

    def files(self, folder: Path, part: str) -> list[Path]:
        """The files of a part; DataError where one before the last is missing."""
        if part == "test":
            return [path] if (path := folder / "test_batch.bin").is_file() else []
        found = {path.name for path in folder.glob("data_batch_*.bin")}
        names = [f"data_batch_{n}.bin" for n in itertools.islice(itertools.count(1), len(found))]
        missing = sorted(set(names) - found)
        if missing:
            raise DataError(f"{folder} has no file {missing[0]}, but later ones.", "Get it anew.")
        return [folder / name for name in names]

    def num_classes(self) -> int | None:
        """How many classes there are."""
        return self.classes[-1]


class Cifar100Dataset(Cifar10Dataset):
    """Small photographs: columns ``image``, ``coarse_label`` in 0..19 and ``fine_label`` in 0..99.

    Files are ``train.bin`` and ``test.bin``.

    Parameters
    ----------
    dataset_dir : str or Path
        Folder with the files.
    usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id : optional
        As in `Cifar10Dataset`.
    """

    columns = ("image", "coarse_label", "fine_label")
    classes = (20, 100)

    def files(self, folder: Path, part: str) -> list[Path]:
        """The file of a part."""
        return [path] if (path := folder / f"{part}.bin").is_file() else []
