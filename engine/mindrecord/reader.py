"""Reading files of records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..dataset.columns import require_columns
from ..dataset.files import DataError
from .format import RecordFile, Schema


class RecordSet:
    """The rows of a file, of all files that were written with it, or of a list of files.

    Parameters
    ----------
    files : str, Path or list
        One name stands for the whole set that it belongs to, also the name given to the writer.

    Raises
    ------
    DataError
        If a file is missing or damaged, or files differ in schema.
    """

    def __init__(self, files: str | Path | Sequence[str | Path]) -> None:
        given = [files] if isinstance(files, str | Path) else list(files)
        if not given:
            raise ValueError("give at least one file of records.")
        alone = isinstance(files, str | Path)
        groups = [_whole_set(Path(name)) if alone else [RecordFile(name)] for name in given]
        self.schema: Schema = groups[0][0].schema
        self._rows: list[tuple[RecordFile, int]] = []
        for group in groups:
            for file in group:
                if file.schema != self.schema:
                    raise DataError(
                        f"{file.path} has other fields ({', '.join(file.schema)}) or types than"
                        f" {groups[0][0].path} ({', '.join(self.schema)}).",
                        "Read them as two data sets.",
                    )
            # rows were dealt out in turn, so this is the order in which they were written
            longest = max(len(file) for file in group)
            self._rows += [(f, at) for at in range(longest) for f in group if at < len(f)]

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, number: int) -> dict[str, np.ndarray]:
        """The row of that number."""
        file, at = self._rows[number]
        return file.row(at)


def _whole_set(path: Path) -> list[RecordFile]:
    if not path.exists():
        numbered = sorted(path.parent.glob(f"{path.name}[0-9]*"))
        numbered = [found for found in numbered if found.name[len(path.name) :].isdigit()]
        path = numbered[0] if numbered else path
    first = RecordFile(path)
    if path.name not in first.files or len(first.files) == 1:
        return [first]
    return [RecordFile(path.with_name(name)) for name in first.files]


class FileReader:
    """Reads the rows of files of records in the order in which they were written.

    Parameters
    ----------
    file_name : str, Path or list of these
        One name stands for the whole set that it belongs to.
    num_consumer : int
        Taken for MindSpore's scripts; one thread reads.
    columns : list of str, optional
        Which fields; by default all.

    Raises
    ------
    DataError
        If a file is missing or damaged: file, row and byte are named.
    """

    def __init__(
        self,
        file_name: str | Path | Sequence[str | Path],
        num_consumer: int = 4,
        columns: Sequence[str] | None = None,
    ) -> None:
        self._set = RecordSet(file_name)
        self._columns = list(columns or self._set.schema)
        require_columns("FileReader", self._columns, list(self._set.schema))

    def get_next(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a dict of arrays: text as strings, bytes as uint8."""
        for number in range(len(self._set)):
            row = self._set.row(number)
            yield {name: row[name] for name in self._columns}

    def schema(self) -> Schema:
        """The fields and their types."""
        return {name: dict(field) for name, field in self._set.schema.items()}

    def len(self) -> int:
        """How many rows there are."""
        return len(self._set)

    def close(self) -> None:
        """Let the files go; there is nothing to read afterwards."""
        self._set._rows.clear()

    finish = close
