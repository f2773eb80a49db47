"""The file format of records: rows of named values that can be read by number.

It is Cellwire's own, under the calls of MindSpore's MindRecord, whose files it does not read. A
file is ``CWRECRD1``, then for each row its length, its CRC-32 and its msgpack, then the footer
(msgpack: schema, index fields, names of all files of the set, places of the rows), then the
footer's place, length and CRC-32, and ``CWRECEND``. Integers are little-endian. Nothing but the
footer makes a file valid, and it is written last.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ..dataset.files import DataError

MAGIC, END = b"CWRECRD1", b"CWRECEND"
HEAD = struct.Struct("<II")
TAIL = struct.Struct("<QII8s")
NUMBERS = ("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
           "float16", "float32", "float64")  # fmt: skip

Schema = dict[str, dict[str, Any]]
"""By field its ``type`` (a number type, ``string`` or ``bytes``) and, for arrays, its ``shape``."""


def pack(value: Any) -> bytes:
    """Plain data as msgpack."""
    from msgspec import msgpack

    return msgpack.encode(value)


def unpack(data: bytes) -> Any:
    """Plain data from msgpack."""
    from msgspec import msgpack

    return msgpack.decode(data)


def checked_schema(content: Mapping[str, Any]) -> Schema:
    """The schema, copied; TypeError or ValueError where a field is not described right."""
    if not isinstance(content, Mapping) or not content:
        raise TypeError(f"add_schema: give a dict of fields, not {content!r}.")
    schema: Schema = {}
    for name, field in content.items():
        kind = field.get("type") if isinstance(field, Mapping) else None
        if kind not in (*NUMBERS, "string", "bytes"):
            raise ValueError(
                f'add_schema: field {name!r} needs a "type": string, bytes or one of'
                f" {', '.join(NUMBERS)}; it is {field!r}."
            )
        shape = field.get("shape")
        if shape is not None and (kind in ("string", "bytes") or not _is_shape(shape)):
            raise ValueError(
                f"add_schema: the shape of field {name!r} must be a list of sizes (-1: any), and"
                f" only numbers have one; it is {shape!r}."
            )
        schema[str(name)] = {"type": kind} | ({} if shape is None else {"shape": list(shape)})
    return schema


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, list | tuple) and all(isinstance(n, int) and n >= -1 for n in shape)


def encode_row(row: Mapping[str, Any], schema: Schema, where: str) -> bytes:
    """A row as bytes; ValueError or TypeError where a value is not what the schema says."""
    missing = [name for name in schema if name not in row]
    unknown = [str(name) for name in row if name not in schema]
    if missing or unknown:
        raise ValueError(
            f"{where}: fields missing: {', '.join(missing) or 'none'}; not in the schema:"
            f" {', '.join(unknown) or 'none'}."
        )
    return pack([_encoded(row[name], field, f"{where}, {name}") for name, field in schema.items()])


def _encoded(value: Any, field: dict[str, Any], where: str) -> Any:
    kind = field["type"]
    if kind == "string":
        if isinstance(value, np.ndarray) and value.dtype.kind == "U" and value.ndim == 0:
            value = str(value)
        if not isinstance(value, str):
            raise TypeError(f"{where}: needs a str, not {type(value).__name__}.")
        return str(value)
    if kind == "bytes":
        if isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 1:
            value = value.tobytes()
        if not isinstance(value, bytes | bytearray):
            raise TypeError(f"{where}: needs bytes, not {type(value).__name__}.")
        return bytes(value)
    return _encoded_array(value, kind, field.get("shape"), where)


def _encoded_array(value: Any, kind: str, shape: list[int] | None, where: str) -> Any:
    array, dtype = np.asarray(value), np.dtype(kind)
    typed = isinstance(value, np.ndarray | np.generic)
    if (typed and array.dtype != dtype) or array.dtype.kind not in "biuf":
        raise TypeError(f"{where}: needs {kind}, this is {array.dtype}.")
    cast = array.astype(dtype)
    exact = cast.dtype.kind == "f" or (array.dtype.kind != "f" and (cast == array).all())
    if not exact:
        raise ValueError(f"{where}: {value!r} does not fit into {kind}.")
    wanted = [] if shape is None else shape
    if len(wanted) != cast.ndim or any(
        size not in (-1, found) for size, found in zip(wanted, cast.shape, strict=True)
    ):
        raise ValueError(f"{where}: needs the shape {wanted}, this has {list(cast.shape)}.")
    return [list(cast.shape), np.ascontiguousarray(cast, dtype.newbyteorder("<")).tobytes()]


def decode_row(data: bytes, schema: Schema) -> dict[str, np.ndarray]:
    """The values of a row as arrays: text as strings, bytes as uint8."""
    row: dict[str, np.ndarray] = {}
    for (name, field), value in zip(schema.items(), unpack(data), strict=True):
        kind = field["type"]
        if kind == "string":
            row[name] = np.asarray(value, np.str_)
        elif kind == "bytes":
            row[name] = np.frombuffer(value, np.uint8).copy()
        else:
            shape, numbers = value
            stored = np.frombuffer(numbers, np.dtype(kind).newbyteorder("<"))
            row[name] = stored.reshape(shape).astype(kind)
    return row


class RecordFile:
    """A file of records, opened to read; each row is checked when it is read.

    Raises
    ------
    DataError
        If the file is missing, is none of these, was cut off, or its footer is damaged.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            with self.path.open("rb") as stream:
                size = stream.seek(0, 2)
                if size < len(MAGIC) + TAIL.size:
                    self._fail(f"it has only {size} bytes")
                self._data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError as error:
            raise DataError(
                f"There is no file {self.path}.",
                "Set the path; a file is there once its writer committed.",
            ) from error
        except OSError as error:
            raise DataError(f"{self.path} cannot be read: {error.strerror}.", "Set it.") from error
        footer = self._footer(size)
        self.schema: Schema = footer["schema"]
        self.description: str = footer["description"]
        self.index_fields: list[str] = footer["index"]
        self.files: list[str] = footer["files"]
        self._places = np.frombuffer(footer["places"], "<i8")

    def _footer(self, size: int) -> dict[str, Any]:
        if self._data[: len(MAGIC)] != MAGIC:
            self._fail(f"it begins with {self._data[: len(MAGIC)]!r}")
        place, length, crc, end = TAIL.unpack(self._data[size - TAIL.size :])
        if end != END or place + length + TAIL.size != size:
            self._fail(f"it was cut off after {size} bytes, or never finished")
        footer = self._data[place : place + length]
        if zlib.crc32(footer) != crc:
            self._fail(f"its footer at byte {place} is damaged")
        return unpack(footer)

    def _fail(self, what: str) -> NoReturn:
        raise DataError(
            f"{self.path} is no whole file of records: {what}.",
            "Write it anew by mindrecord.FileWriter; MindSpore's own files are not read.",
        )

    def __len__(self) -> int:
        return len(self._places)

    def row(self, number: int) -> dict[str, np.ndarray]:
        """The row of that number; DataError where its bytes are damaged."""
        place = int(self._places[number])
        length, crc = HEAD.unpack(self._data[place : place + HEAD.size])
        data = self._data[place + HEAD.size : place + HEAD.size + length]
        if len(data) != length or zlib.crc32(data) != crc:
            raise DataError(
                f"{self.path}, row {number}: the record at byte {place} is damaged.",
                "Write the file anew.",
            )
        return decode_row(data, self.schema)
