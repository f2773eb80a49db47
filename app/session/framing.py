"""Messages on a byte stream: four bytes of length, little-endian, then the message."""

from __future__ import annotations

import struct
from typing import BinaryIO

HEADER = struct.Struct("<I")
LARGEST = 1 << 30


class FramingError(ValueError):
    """The bytes on the stream are no messages: something else wrote to it."""


def write_frame(stream: BinaryIO, data: bytes) -> None:
    """Write one message and flush it; raises OSError when the other end is gone."""
    if len(data) > LARGEST:
        raise FramingError(f"a message of {len(data)} bytes is too large; the most is {LARGEST}")
    stream.write(HEADER.pack(len(data)) + data)
    stream.flush()


def read_frame(stream: BinaryIO) -> bytes | None:
    """Wait for one message; None when the other end is gone, in the middle of a message too."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    (length,) = HEADER.unpack(header)
    if length > LARGEST:
        raise FramingError(f"a message says that it has {length} bytes; the most is {LARGEST}")
    data = stream.read(length)
    return data if len(data) == length else None
