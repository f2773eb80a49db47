"""CIFAR in its Python version as files of records."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..dataset.files import DataError
from .writer import FileWriter


def _dtype(name: Any, align: Any = False, copy: Any = False) -> np.dtype[Any]:
    # files of Python 2 have 0 and 1 here, which NumPy no longer takes for bools
    return np.dtype(name, bool(align), bool(copy))


class _ArraysOnly(pickle.Unpickler):
    """Reads dictionaries, lists, bytes and arrays; refuses whatever else a pickle could run."""

    def find_class(self, module: str, name: str) -> Any:
        from numpy._core import multiarray

        allowed: dict[tuple[str, str], Any] = {
            ("numpy", "ndarray"): np.ndarray,
            ("numpy", "dtype"): _dtype,
            ("multiarray", "_reconstruct"): multiarray._reconstruct,  # pyright: ignore
            ("_codecs", "encode"): _encode,
        }
        key = (module.rpartition(".")[2], name)
        if key not in allowed:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which CIFAR has no need of")
        return allowed[key]


def _encode(text: str, encoding: str) -> bytes:
    return text.encode(encoding)


def _read(path: Path, keys: Sequence[str]) -> list[Any]:
    """Values of a pickled dictionary; DataError where the file is missing or something else."""
    try:
        with path.open("rb") as stream:
            found = _ArraysOnly(stream, encoding="bytes").load()
        named = {k.decode() if isinstance(k, bytes) else str(k): v for k, v in found.items()}
        values = [named[key] for key in keys]
    except FileNotFoundError as error:
        raise DataError(f"There is no file {path}.", "Set the source folder.") from error
    except Exception as error:  # a damaged pickle raises almost anything
        raise DataError(
            f"{path} is no CIFAR file of the Python version: {type(error).__name__}: {error}.",
            "Get the file anew.",
        ) from error
    counts = {len(value) for value in values}
    pixels = np.asarray(values[0])
    if len(counts) != 1 or pixels.dtype != np.uint8 or pixels.shape[1:] != (3072,):
        raise DataError(f"{path} has images {pixels.dtype} {pixels.shape} and {counts} rows.")
    return values


class _Converter:
    """CIFAR's Python version written as two files of records, with images as PNG.

    Parameters
    ----------
    source : str or Path
        The folder with the files.
    destination : str or Path
        The file for the rows to train on; ``_test`` is added for the others.
    """

    train: tuple[str, ...]
    test: tuple[str, ...]
    labels: tuple[tuple[str, str], ...]
    """Field in the records, and key in the files."""

    def __init__(self, source: str | Path, destination: str | Path) -> None:
        self.source, self.destination = Path(source), Path(destination)
        if not self.source.is_dir():
            raise DataError(f"There is no folder {self.source}.", "Set the source.")

    def run(self, fields: Sequence[str] | None = None) -> None:
        """Write both files.

        Parameters
        ----------
        fields : list of str, optional
            Index fields, kept with the files.

        Raises
        ------
        DataError
            If a file is missing or damaged.
        """
        target = self.destination
        self._write(self.train, target, fields)
        self._write(self.test, target.with_name(target.name + "_test"), fields)

    def transform(self, fields: Sequence[str] | None = None) -> None:
        """The same as ``run``."""
        self.run(fields)

    def _write(self, names: Sequence[str], path: Path, fields: Sequence[str] | None) -> None:
        kinds = {field: {"type": "int64"} for field, _ in self.labels}
        count = 0
        with FileWriter(path, overwrite=True) as writer:
            writer.add_schema({"id": {"type": "int64"}, **kinds, "data": {"type": "bytes"}})
            writer.add_index(list(fields or ()))
            for name in names:
                rows = self._rows(self.source / name, count)
                writer.write_raw_data(rows)
                count += len(rows)

    def _rows(self, path: Path, first: int) -> list[dict[str, Any]]:
        """The rows of one file, numbered on from those of the files before."""
        from ..dataset.vision.reading import encode_png

        images, *labels = _read(path, ["data", *(key for _, key in self.labels)])
        pixels = np.asarray(images).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        rows: list[dict[str, Any]] = []
        for at, image in enumerate(pixels):
            classes = {f: int(v[at]) for (f, _), v in zip(self.labels, labels, strict=True)}
            data = encode_png(np.ascontiguousarray(image)).tobytes()
            rows.append({"id": first + at, **classes, "data": data})
        return rows


class Cifar10ToMR(_Converter):
    """CIFAR-10's Python version as two files of records: ``id``, ``label``, ``data`` (PNG).

    Parameters
    ----------
    source : str or Path
        Folder with ``data_batch_1`` to ``data_batch_5`` and ``test_batch``.
    destination : str or Path
        The file for the rows to train on; ``_test`` is added for the others.
    """

    train = tuple(f"data_batch_{number}" for number in range(1, 6))
    test = ("test_batch",)
    labels = (("label", "labels"),)


class Cifar100ToMR(_Converter):
    """CIFAR-100's Python version as two files: ``id``, ``fine_label``, ``coarse_label``, ``data``.

    Parameters
    ----------
    source : str or Path
        Folder with ``train`` and ``test``.
    destination : str or Path
        The file for the rows to train on; ``_test`` is added for the others.
    """

    train = ("train",)
    test = ("test",)
    labels = (("fine_label", "fine_labels"), ("coarse_label", "coarse_labels"))
