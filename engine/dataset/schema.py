"""Schema: the names, element types and shapes that a source's columns are to have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..dtype import dtype_of
from .columns import require_columns
from .files import DataError


class Schema:
    """Names, element types and shapes of columns.

    Parameters
    ----------
    schema_file : str or Path, optional
        A JSON file, ``{"columns": {"image": {"type": "uint8", "shape": [28, 28]}}}``.

    Raises
    ------
    DataError
        If the file is no such JSON.
    """

    def __init__(self, schema_file: str | Path | None = None) -> None:
        self.columns: dict[str, dict[str, Any]] = {}
        if schema_file is None:
            return
        path = Path(schema_file)
        try:
            described = json.loads(path.read_text(encoding="utf-8"))
            for name, column in described["columns"].items():
                self.add_column(name, column["type"], column.get("shape"))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{path} is no schema: {type(error).__name__}: {error}.",
                'Write {"columns": {"name": {"type": "float32"}}}.',
            ) from error

    def add_column(self, name: str, de_type: Any, shape: Sequence[int] | None = None) -> None:
        """Add a column.

        Parameters
        ----------
        name : str
            Its name, new to the schema.
        de_type : DType or str
            Its element type; ``"string"`` for text.
        shape : list of int, optional
            Its shape, as a description.

        Raises
        ------
        ValueError
            If there is a column of that name.
        TypeError
            If there is no such element type.
        """
        if name in self.columns:
            raise ValueError(f"Schema: there is a column {name!r} already.")
        kind = "string" if de_type in ("string", str) else dtype_of(de_type).numpy.name
        self.columns[name] = {"type": kind} | ({} if shape is None else {"shape": list(shape)})

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return list(self.columns)

    def types(self, names: Sequence[str]) -> list[str]:
        """The element types of columns, by name."""
        require_columns("Schema", names, self.names)
        return [self.columns[name]["type"] for name in names]

    def to_json(self) -> str:
        """The schema as JSON text, as a file holds it."""
        return json.dumps({"columns": self.columns}, indent=2)
