"""Text values: strings, rows of tokens, bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..transforms.base import Transform


def one_text(value: Any, where: str) -> str:
    """One string from a string or an array of one; TypeError where it is none."""
    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    if array.dtype.kind not in "US" or array.size != 1:
        raise TypeError(f"{where}: needs one string, this is {array.dtype} of shape {array.shape}.")
    found = array.reshape(-1)[0]
    return found.decode("utf-8") if isinstance(found, bytes) else str(found)


def tokens(value: Any, where: str) -> list[str]:
    """Strings from an array with one axis, or a list; TypeError where they are none."""
    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    if array.dtype.kind != "U" or array.ndim > 1:
        raise TypeError(
            f"{where}: needs strings on one axis, this is {array.dtype} of shape {array.shape}."
        )
    return [str(word) for word in array.reshape(-1)]


def words(found: Sequence[str]) -> np.ndarray:
    """Strings as an array; a text without tokens gives one empty token."""
    return np.asarray(list(found) or [""], np.str_)


class TextTransform(Transform):
    """A step that makes of each string another."""

    def __call__(self, value: Any) -> np.ndarray:
        """Change one string or all strings of an array."""
        array = value if isinstance(value, np.ndarray) else np.asarray(value)
        if array.dtype.kind not in "US":
            raise TypeError(f"{type(self).__name__}: needs text, this is {array.dtype}.")
        flat = [one_text(word, type(self).__name__) for word in array.reshape(-1)]
        return np.asarray([self.change(word) for word in flat], np.str_).reshape(array.shape)

    def change(self, text: str) -> str:
        """The other string."""
        raise NotImplementedError


Span = tuple[int, int]
"""First and last place of a token in its text, counted in characters, the last excluded."""


class Tokenizer(Transform):
    """A step that cuts a string into tokens.

    Parameters
    ----------
    with_offsets : bool
        Whether the results are three: tokens, and where each begins and ends in the text, uint32,
        counted in bytes of UTF-8.
    """

    def __init__(self, with_offsets: bool = False) -> None:
        self.with_offsets = bool(with_offsets)

    def __call__(self, value: Any) -> Any:
        """Cut one string."""
        text = one_text(value, type(self).__name__)
        found = self.cut(text)
        result = words([token for token, _ in found])
        if not self.with_offsets:
            return result
        places = [0, *np.cumsum([len(letter.encode()) for letter in text]).tolist()]
        spans = [span for _, span in found] or [(0, 0)]
        starts = np.asarray([places[start] for start, _ in spans], np.uint32)
        return result, starts, np.asarray([places[end] for _, end in spans], np.uint32)

    def cut(self, text: str) -> list[tuple[str, Span]]:
        """The tokens, each with its span."""
        raise NotImplementedError


def to_str(array: Any, encoding: str = "utf8") -> np.ndarray:
    """Text as an array of strings.

    Parameters
    ----------
    array : ndarray
        Strings, bytes (kind S), or the bytes of one string as uint8.
    encoding : str
        How bytes are read.

    Returns
    -------
    ndarray
        The strings.
    """
    given = np.asarray(array)
    if given.dtype == np.uint8:
        return np.asarray(given.tobytes().decode(encoding))
    if given.dtype.kind not in "US":
        raise TypeError(f"to_str: needs text or bytes, this is {given.dtype}.")
    return np.char.decode(given, encoding) if given.dtype.kind == "S" else given


def to_bytes(array: Any, encoding: str = "utf8") -> np.ndarray:
    """Text as an array of bytes (kind S).

    Parameters
    ----------
    array : ndarray
        Strings.
    encoding : str
        How they are written.

    Returns
    -------
    ndarray
        The bytes.
    """
    given = np.asarray(array)
    if given.dtype.kind not in "US":
        raise TypeError(f"to_bytes: needs text, this is {given.dtype}.")
    return np.char.encode(given, encoding) if given.dtype.kind == "U" else given
