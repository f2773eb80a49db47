"""Images in a folder a class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import config, workers
from .columns import Row, file_contents
from .files import DataError
from .mappable import MappableDataset
from .mnist import existing_folder
from .samplers import select_sampler

EXTENSIONS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp")


class ImageFolderDataset(MappableDataset):
    """Image files, their folder being their class: columns ``image`` and ``label`` int32.

    Parameters
    ----------
    dataset_dir : str or Path
        Folder with a folder for each class; images in folders below these count too.
    num_samples : int, optional
        At most so many rows a pass.
    num_parallel_workers : int, optional
        How many threads read files; by default what ``config`` says, 1 at first.
    shuffle : bool, optional
        Whether rows come in random order, anew each pass; by default they do.
    sampler : Sampler or iterable of int, optional
        Which rows a pass gives.
    extensions : list of str, optional
        Ends of the names of files that count, as ``[".JPEG"]``; by default those of images.
    class_indexing : dict of str to int, optional
        The number of each folder that counts; by default all, numbered by name from 0.
    decode : bool
        Whether ``image`` is H×W×3 uint8 instead of the bytes of the file.
    num_shards, shard_id : int, optional
        How many shares the rows are dealt out to, and which this is.

    Raises
    ------
    DataError
        If there are no images or a class has no folder; while iterating, if a file is damaged.
    """

    def __init__(
        self,
        dataset_dir: str | Path,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        extensions: Sequence[str] | None = None,
        class_indexing: Mapping[str, int] | None = None,
        decode: bool = False,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        where = "ImageFolderDataset"
        chosen = select_sampler(where, num_samples, sampler, shuffle, num_shards, shard_id)
        folder = existing_folder(where, dataset_dir)
        classes = sorted(path.name for path in folder.iterdir() if path.is_dir())
        self.indexing = dict(class_indexing or {name: at for at, name in enumerate(classes)})
        for name in self.indexing:
            if name not in classes:
                raise DataError(
                    f"{where}: {folder} has no folder {name!r}; it has {', '.join(classes)}.",
                    "Mend class_indexing.",
                )
        ends = tuple(end.lower() for end in (extensions or EXTENSIONS))
        self.files = [
            (path, number)
            for name, number in self.indexing.items()
            for path in sorted((folder / name).rglob("*"))
            if path.is_file() and path.name.lower().endswith(ends)
        ]
        if not self.files:
            raise DataError(
                f"{where}: no folder in {folder} has a file that ends in {', '.join(ends)}.",
                "Put images into one folder a class, or set extensions.",
            )
        self.decode, self.workers = bool(decode), num_parallel_workers
        super().__init__(["image", "label"], len(self.files), chosen)

    def row(self, number: int) -> Row:
        """The image of that number and its class."""
        from .vision.reading import decoded, file_bytes

        path, label = self.files[number]
        data = file_bytes(path)
        if self.decode:
            image = np.array(decoded(data, "RGB", str(path)))
        else:
            image = file_contents(data, str(path))
        return image, np.asarray(label, np.int32)

    def rows_of(self, numbers: Sequence[int], epoch: int) -> Iterator[Row]:
        """Yield the rows of these numbers, read by this thread or by several."""
        count = config.workers_for(self.workers)
        if count == 1:
            return super().rows_of(numbers, epoch)
        return workers.in_threads(self.row, numbers, count)

    def column(self, name: str) -> np.ndarray:
        """One column of all rows; labels without reading files."""
        if name == "label":
            return np.asarray([label for _, label in self.files], np.int32)
        return super().column(name)

    def num_classes(self) -> int | None:
        """How many classes there are."""
        return len(self.indexing)

    def get_class_indexing(self) -> dict[str, Any]:
        """The number of each folder."""
        return dict(self.indexing)
