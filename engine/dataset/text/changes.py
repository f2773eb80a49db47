"""Transforms of strings and of rows of tokens."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dtype import dtype_of
from ..columns import positive
from ..transforms.base import Transform
from .options import NormalizeForm
from .words import TextTransform, one_text, tokens, words


class CaseFold(TextTransform):
    """Fold upper and lower case into one, by Unicode's rules."""

    def change(self, text: str) -> str:
        """The folded string."""
        return text.casefold()


class NormalizeUTF8(TextTransform):
    """Bring strings to one of Unicode's normal forms.

    Parameters
    ----------
    normalize_form : NormalizeForm
        Which form.
    """

    def __init__(self, normalize_form: NormalizeForm = NormalizeForm.NFKC) -> None:
        self.normalize_form = NormalizeForm(normalize_form)

    def change(self, text: str) -> str:
        """The normal form."""
        form = self.normalize_form
        if form is NormalizeForm.NONE:
            return text
        return unicodedata.normalize(form.name, text)  # pyright: ignore[reportArgumentType]


class RegexReplace(TextTransform):
    """Replace what a regular expression finds.

    Parameters
    ----------
    pattern : str
        The expression, in Python's syntax.
    replace : str
        What comes instead.
    replace_all : bool
        Whether all that is found is replaced, or the first only.
    """

    def __init__(self, pattern: str, replace: str, replace_all: bool = True) -> None:
        self._pattern = compiled("RegexReplace", pattern)
        self.replace, self.replace_all = replace, bool(replace_all)

    def change(self, text: str) -> str:
        """The string with replacements."""
        return self._pattern.sub(self.replace, text, 0 if self.replace_all else 1)


def compiled(where: str, pattern: str) -> re.Pattern[str]:
    """A regular expression; ValueError where it is none."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{where}: {pattern!r} is no regular expression: {error}.") from error


class ToNumber(Transform):
    """Strings as the numbers that they spell.

    Parameters
    ----------
    data_type : DType
        Element type of the numbers.

    Raises
    ------
    ValueError
        If, when called, a string is no number or does not fit into the type.
    """

    def __init__(self, data_type: Any) -> None:
        self.data_type = dtype_of(data_type).numpy

    def __call__(self, value: Any) -> np.ndarray:
        """The numbers of one string or of an array of strings."""
        array = value if isinstance(value, np.ndarray) else np.asarray(value)
        found = [self._number(word) for word in tokens(array.reshape(-1), "ToNumber")]
        return np.asarray(found, self.data_type).reshape(array.shape)

    def _number(self, word: str) -> Any:
        whole = self.data_type.kind in "iu"
        try:
            number = int(word) if whole else float(word)
        except ValueError as error:
            raise ValueError(f"ToNumber: {word!r} is no {self.data_type}.") from error
        if whole:
            limits = np.iinfo(self.data_type)
            if not limits.min <= number <= limits.max:
                raise ValueError(f"ToNumber: {word} does not fit into {self.data_type}.")
        return number


class Truncate(Transform):
    """Keep the first elements.

    Parameters
    ----------
    max_seq_len : int
        At most so many.
    """

    def __init__(self, max_seq_len: int) -> None:
        self.max_seq_len = positive("Truncate", "max_seq_len", max_seq_len)

    def __call__(self, value: Any) -> np.ndarray:
        """The first elements of one array."""
        return np.asarray(value)[: self.max_seq_len]


class TruncateSequencePair(Transform):
    """Shorten two rows, always the longer by its last element, until both fit together.

    Parameters
    ----------
    max_length : int
        At most so many elements in both.
    """

    def __init__(self, max_length: int) -> None:
        self.max_length = positive("TruncateSequencePair", "max_length", max_length)

    def __call__(self, first: Any, second: Any) -> tuple[np.ndarray, np.ndarray]:
        """The two rows, shortened."""
        a, b = np.asarray(first), np.asarray(second)
        rest = max(0, len(a) + len(b) - self.max_length)
        longer = min(rest, abs(len(a) - len(b)))  # taken from the longer one first
        more = rest - longer
        from_a = (longer if len(a) > len(b) else 0) + more // 2
        from_b = rest - from_a
        return a[: len(a) - from_a], b[: len(b) - from_b]


class AddToken(Transform):
    """Put a token at the beginning or the end.

    Parameters
    ----------
    token : str
        The token.
    begin : bool
        Whether it comes first; else last.
    """

    def __init__(self, token: str, begin: bool = True) -> None:
        self.token, self.begin = token, bool(begin)

    def __call__(self, value: Any) -> np.ndarray:
        """The tokens with one more; of rows of tokens (two axes) each row."""
        array = np.asarray(value)
        if array.ndim == 2:
            return np.stack([self(row) for row in array])
        found = tokens(array, "AddToken")
        return words([self.token, *found] if self.begin else [*found, self.token])


class Ngram(Transform):
    """Join each run of n tokens to one string.

    Parameters
    ----------
    n : int or list of int
        How many tokens; with several all runs of the first, then of the next.
    left_pad, right_pad : (str, int)
        A token that is put in front or behind first, and how often.
    separator : str
        What stands between the tokens of a run.
    """

    def __init__(
        self,
        n: int | Sequence[int],
        left_pad: tuple[str, int] = ("", 0),
        right_pad: tuple[str, int] = ("", 0),
        separator: str = " ",
    ) -> None:
        sizes = [n] if isinstance(n, int) else list(n)
        self.n = [positive("Ngram", "n", size) for size in sizes]
        self.left_pad, self.right_pad, self.separator = left_pad, right_pad, separator

    def __call__(self, value: Any) -> np.ndarray:
        """The joined strings; one empty string where the row is shorter than n."""
        found = tokens(value, "Ngram")
        joined: list[str] = []
        for n in self.n:
            left = [self.left_pad[0]] * min(self.left_pad[1], n - 1)
            right = [self.right_pad[0]] * min(self.right_pad[1], n - 1)
            padded = [*left, *found, *right]
            runs = range(len(padded) - n + 1)
            joined += [self.separator.join(padded[at : at + n]) for at in runs]
        return words(joined)


class SlidingWindow(Transform):
    """All runs of elements of one length, as rows of a new axis.

    Parameters
    ----------
    width : int
        The length.
    axis : int
        The axis that they are taken along.
    """

    def __init__(self, width: int, axis: int = 0) -> None:
        self.width, self.axis = positive("SlidingWindow", "width", width), axis

    def __call__(self, value: Any) -> np.ndarray:
        """The runs; no rows where the axis is shorter than the width."""
        array = np.asarray(value)
        axis = self.axis % max(array.ndim, 1)
        count = array.shape[axis] - self.width + 1
        if count < 1:
            shape = (*array.shape[:axis], 0, self.width, *array.shape[axis + 1 :])
            return np.zeros(shape, array.dtype)
        places = np.arange(count)[:, None] + np.arange(self.width)
        return np.take(array, places, axis)


class PythonTokenizer(Transform):
    """Cut a string by a function.

    Parameters
    ----------
    tokenizer : callable
        Takes a string and gives a list of strings.
    """

    def __init__(self, tokenizer: Callable[[str], Any]) -> None:
        if not callable(tokenizer):
            raise TypeError(f"PythonTokenizer: {tokenizer!r} is not callable.")
        self.tokenizer: Callable[[str], Any] = tokenizer

    def __call__(self, value: Any) -> np.ndarray:
        """The tokens of one string."""
        return words(tokens(list(self.tokenizer(one_text(value, "PythonTokenizer"))), "the tokens"))
