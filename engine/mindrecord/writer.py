"""Writing files of records."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from .format import END, HEAD, MAGIC, TAIL, Schema, checked_schema, encode_row, pack


class FileWriter:
    """Writes rows to one file or deals them out to several; they are there after ``commit``.

    As a context manager it commits, unless an error ends the body: then nothing is left.
    The format is Cellwire's own (see ``mindrecord.format``), under MindSpore's calls.

    Parameters
    ----------
    file_name : str or Path
        The file; with several a number is added to the name.
    shard_num : int
        How many files.
    overwrite : bool
        Whether files of these names may be replaced.

    Raises
    ------
    FileExistsError
        If one exists and may not be replaced.
    """

    def __init__(self, file_name: str | Path, shard_num: int = 1, overwrite: bool = False) -> None:
        if isinstance(shard_num, bool) or not isinstance(shard_num, int) or shard_num < 1:
            raise ValueError(f"FileWriter: shard_num must be a positive int, it is {shard_num!r}.")
        path = Path(file_name)
        digits = len(str(shard_num - 1))
        self.paths = [path] if shard_num == 1 else [
            path.with_name(f"{path.name}{number:0{digits}d}") for number in range(shard_num)
        ]  # fmt: skip
        for existing in self.paths:
            if existing.exists() and not overwrite:
                raise FileExistsError(
                    f"FileWriter: {existing} exists; remove it, or set overwrite=True."
                )
        self._parts = [path.with_name(path.name + ".part") for path in self.paths]
        self._schema: Schema | None = None
        self._description = ""
        self._index: list[str] = []
        self._places: list[list[int]] = [[] for _ in self.paths]
        self._sizes = [0 for _ in self.paths]
        self._rows, self._committed = 0, False

    def add_schema(self, content: Mapping[str, Any], desc: str | None = None) -> int:
        """Say what fields rows have.

        Parameters
        ----------
        content : dict
            By field ``{"type": "int32"}``, ``{"type": "float32", "shape": [-1, 3]}``,
            ``{"type": "string"}`` or ``{"type": "bytes"}``.
        desc : str, optional
            What the data is.

        Returns
        -------
        int
            The schema's number, 0: a file has one.

        Raises
        ------
        ValueError
            If a field is not described right.
        RuntimeError
            If there is a schema already.
        """
        if self._schema is not None:
            raise RuntimeError("add_schema: a file has one schema, and this one has it.")
        self._schema, self._description = checked_schema(content), desc or ""
        return 0

    def add_index(self, index_fields: Sequence[str]) -> None:
        """Name the fields that rows are found by; kept with the file, rows are found by number."""
        unknown = [name for name in index_fields if name not in (self._schema or {})]
        if unknown:
            raise ValueError(f"add_index: no field {', '.join(unknown)} in the schema.")
        self._index = list(index_fields)

    def write_raw_data(
        self, raw_data: Sequence[Mapping[str, Any]], parallel_writer: bool = False
    ) -> None:
        """Write rows; none of them if one is not as the schema says.

        Parameters
        ----------
        raw_data : list of dict
            Each row's values by field.
        parallel_writer : bool
            Taken for MindSpore's scripts; one thread writes.

        Raises
        ------
        RuntimeError
            If there is no schema, or the files are committed.
        ValueError, TypeError
            If a value is not what the schema says: row and field are named.
        """
        if self._schema is None:
            raise RuntimeError("write_raw_data: call add_schema first.")
        if self._committed:
            raise RuntimeError("write_raw_data: the files are committed already.")
        if isinstance(raw_data, Mapping):
            raise TypeError("write_raw_data: give a list of rows, not one dict.")
        shares: list[list[bytes]] = [[] for _ in self.paths]
        for number, row in enumerate(raw_data, self._rows):
            encoded = encode_row(row, self._schema, f"write_raw_data, row {number}")
            shares[number % len(self.paths)].append(encoded)
        for shard, rows in enumerate(shares):
            self._append(shard, rows)
        self._rows += len(raw_data)

    def _append(self, shard: int, rows: list[bytes]) -> None:
        first = not self._sizes[shard]
        with self._parts[shard].open("wb" if first else "ab") as stream:
            if first:
                self._sizes[shard] = stream.write(MAGIC)
            for data in rows:
                self._places[shard].append(self._sizes[shard])
                head = HEAD.pack(len(data), zlib.crc32(data))
                self._sizes[shard] += stream.write(head) + stream.write(data)

    def commit(self) -> None:
        """Finish the files and give them their names.

        Raises
        ------
        RuntimeError
            If there is no schema, or they are committed.
        """
        if self._schema is None or self._committed:
            reason = "it is done already" if self._committed else "call add_schema first"
            raise RuntimeError(f"commit: {reason}.")
        for shard, part in enumerate(self._parts):
            self._append(shard, [])
            footer = pack({
                "schema": self._schema,
                "description": self._description,
                "index": self._index,
                "files": [path.name for path in self.paths],
                "places": np.asarray(self._places[shard], "<i8").tobytes(),
            })  # fmt: skip
            with part.open("ab") as stream:
                stream.write(footer)
                stream.write(TAIL.pack(self._sizes[shard], len(footer), zlib.crc32(footer), END))
                stream.flush()
                os.fsync(stream.fileno())
        for part, path in zip(self._parts, self.paths, strict=True):
            part.replace(path)
        self._committed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit, or after an error leave nothing of what was written."""
        if error is None:
            self.commit()
            return
        for part in self._parts:
            part.unlink(missing_ok=True)
