"""Tokenizers: strings cut at spaces, by expressions, into letters, and into pieces of words."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import numpy as np

from ..columns import positive
from ..transforms.base import Transform
from .changes import compiled
from .options import NormalizeForm
from .vocab import Vocab
from .words import Span, Tokenizer, tokens, words


class WhitespaceTokenizer(Tokenizer):
    """Cut at white space.

    Parameters
    ----------
    with_offsets : bool
        Whether places are given beside the tokens, in bytes.
    """

    def cut(self, text: str) -> list[tuple[str, Span]]:
        """The words."""
        return [(found[0], found.span()) for found in re.finditer(r"\S+", text)]


class UnicodeCharTokenizer(Tokenizer):
    """Cut into letters.

    Parameters
    ----------
    with_offsets : bool
        Whether places are given beside the tokens, in bytes.
    """

    def cut(self, text: str) -> list[tuple[str, Span]]:
        """The letters."""
        return [(letter, (at, at + 1)) for at, letter in enumerate(text)]


class UnicodeScriptTokenizer(Tokenizer):
    """Cut where letters, digits, spaces and signs meet.

    Parameters
    ----------
    keep_whitespace : bool
        Whether runs of spaces are tokens too.
    with_offsets : bool
        Whether places are given beside the tokens, in bytes.
    """

    def __init__(self, keep_whitespace: bool = False, with_offsets: bool = False) -> None:
        super().__init__(with_offsets)
        self.keep_whitespace = bool(keep_whitespace)

    def cut(self, text: str) -> list[tuple[str, Span]]:
        """The runs of one kind, letters by their script."""
        found: list[tuple[str, Span]] = []
        start = 0
        for at in range(1, len(text) + 1):
            if at < len(text) and _script(text[at]) == _script(text[start]):
                continue
            if self.keep_whitespace or not text[start].isspace():
                found.append((text[start:at], (start, at)))
            start = at
        return found


def _script(letter: str) -> str:
    """The kind of a character: its script for letters, else its class."""
    if letter.isspace():
        return "space"
    if letter.isalpha():
        return unicodedata.name(letter, "unknown").split()[0]
    return unicodedata.category(letter)[0]


class RegexTokenizer(Tokenizer):
    """Cut at what a regular expression finds.

    Parameters
    ----------
    delim_pattern : str
        What separates tokens, in Python's syntax.
    keep_delim_pattern : str
        Separators that match this whole are tokens too; by default none.
    with_offsets : bool
        Whether places are given beside the tokens, in bytes.
    """

    def __init__(
        self, delim_pattern: str, keep_delim_pattern: str = "", with_offsets: bool = False
    ) -> None:
        super().__init__(with_offsets)
        self._delimiter = compiled("RegexTokenizer", delim_pattern)
        self._kept = compiled("RegexTokenizer", keep_delim_pattern) if keep_delim_pattern else None

    def cut(self, text: str) -> list[tuple[str, Span]]:
        """The parts between separators, and the separators that are kept."""
        found: list[tuple[str, Span]] = []
        start = 0
        for match in self._delimiter.finditer(text):
            if match.start() > start:
                found.append((text[start : match.start()], (start, match.start())))
            if self._kept is not None and match[0] and self._kept.fullmatch(match[0]):
                found.append((match[0], match.span()))
            start = match.end()
        if start < len(text):
            found.append((text[start:], (start, len(text))))
        return found


class BasicTokenizer(Tokenizer):
    """Cut at white space, signs and Chinese characters, as BERT does before pieces of words.

    Parameters
    ----------
    lower_case : bool
        Whether letters are made small and lose their accents.
    keep_whitespace : bool
        Whether runs of spaces are tokens too.
    normalization_form : NormalizeForm
        Unicode's form that letters are brought to where `lower_case` is False.
    preserve_unused_token : bool
        Whether ``[CLS]``, ``[SEP]``, ``[UNK]``, ``[PAD]``, ``[MASK]`` and ``[unused1]`` stay whole.
    with_offsets : bool
        Whether places in the given text are given beside the tokens, in bytes.

    References
    ----------
    Devlin et al., BERT, 2018; the rules of its published tokenizer.
    """

    def __init__(
        self,
        lower_case: bool = False,
        keep_whitespace: bool = False,
        normalization_form: NormalizeForm = NormalizeForm.NONE,
        preserve_unused_token: bool = True,
        with_offsets: bool = False,
    ) -> None:
        super().__init__(with_offsets)
        self.lower_case, self.keep_whitespace = bool(lower_case), bool(keep_whitespace)
        self.normalization_form = NormalizeForm(normalization_form)
        special = r"\[(?:CLS|SEP|UNK|PAD|MASK|unused\d+)\]|" if preserve_unused_token else ""
        self._pattern = re.compile(special + r"\s+|.", re.DOTALL)

    def cut(self, text: str) -> list[tuple[str, Span]]:
        """The words, signs and characters."""
        found: list[tuple[str, Span]] = []
        open_word = False  # whether the last token is a word that goes on
        for match in self._pattern.finditer(text):
            part, span = match[0], match.span()
            if part.isspace():
                open_word = False
                if self.keep_whitespace:
                    found.append((part, span))
                continue
            if len(part) > 1 or _stands_alone(part):
                found.append((part, span))
                open_word = False
                continue
            part = self._normal(part)
            if not part:
                continue
            if open_word:
                word, (start, _) = found[-1]
                found[-1] = (word + part, (start, span[1]))
            else:
                found.append((part, span))
            open_word = True
        return found

    def _normal(self, letter: str) -> str:
        if unicodedata.category(letter) in ("Cc", "Cf") or letter == "\ufffd":
            return ""
        if self.lower_case:
            apart = unicodedata.normalize("NFD", letter.lower())
            return "".join(sign for sign in apart if unicodedata.category(sign) != "Mn")
        form = self.normalization_form
        if form is NormalizeForm.NONE:
            return letter
        return unicodedata.normalize(form.name, letter)  # pyright: ignore[reportArgumentType]


def _stands_alone(letter: str) -> bool:
    code = ord(letter)
    ascii_sign = 33 <= code <= 126 and not letter.isalnum()
    ideograph = unicodedata.name(letter, "").startswith("CJK ")
    return ascii_sign or ideograph or unicodedata.category(letter).startswith("P")


class WordpieceTokenizer(Transform):
    """Cut words into the longest pieces that a vocabulary has (Wu et al., 2016).

    Parameters
    ----------
    vocab : Vocab
        The pieces.
    suffix_indicator : str
        What stands before a piece that does not begin its word.
    max_bytes_per_token : int
        A longer word is unknown as a whole.
    unknown_token : str
        What an unknown word becomes; "" leaves it.
    with_offsets : bool
        Whether places in the row of words are given beside the pieces, in bytes.
    """

    def __init__(
        self,
        vocab: Vocab,
        suffix_indicator: str = "##",
        max_bytes_per_token: int = 100,
        unknown_token: str = "[UNK]",
        with_offsets: bool = False,
    ) -> None:
        if not isinstance(vocab, Vocab):
            raise TypeError(f"WordpieceTokenizer: vocab must be a Vocab, not {vocab!r}.")
        self._vocab, self.suffix_indicator = vocab, suffix_indicator
        self.max_bytes_per_token = positive("WordpieceTokenizer", "bytes", max_bytes_per_token)
        self.unknown_token, self.with_offsets = unknown_token, bool(with_offsets)

    def __call__(self, value: Any) -> Any:
        """The pieces of one word or of a row of words."""
        pieces: list[tuple[str, Span]] = []
        start = 0
        for word in tokens(value, "WordpieceTokenizer"):
            pieces += [(p, (start + a, start + b)) for p, (a, b) in self.pieces(word)]
            start += len(word.encode())
        result = words([piece for piece, _ in pieces])
        if not self.with_offsets:
            return result
        spans = [span for _, span in pieces] or [(0, 0)]
        starts, ends = zip(*spans, strict=True)
        return result, np.asarray(starts, np.uint32), np.asarray(ends, np.uint32)

    def pieces(self, word: str) -> list[tuple[str, Span]]:
        """The pieces of a word, each with its place in bytes."""
        whole = (0, len(word.encode()))
        unknown: list[tuple[str, Span]] = [(self.unknown_token or word, whole)]
        if whole[1] > self.max_bytes_per_token:
            return unknown
        found: list[tuple[str, Span]] = []
        start = 0
        while start < len(word):
            prefix = self.suffix_indicator if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self._vocab), None)
            if end is None:
                return unknown
            span = len(word[:start].encode()), len(word[:end].encode())
            found.append((prefix + word[start:end], span))
            start = end
        return found


class BertTokenizer(Tokenizer):
    """`BasicTokenizer`, then `WordpieceTokenizer` on its words.

    Parameters
    ----------
    vocab : Vocab
        The pieces of words.
    suffix_indicator : str
        What stands before a piece that does not begin its word.
    max_bytes_per_token : int
        A longer word is unknown as a whole.
    unknown_token : str
        What an unknown word becomes; "" leaves it.
    lower_case, keep_whitespace : bool
        As in `BasicTokenizer`.
    normalization_form : NormalizeForm
        As in `BasicTokenizer`.
    preserve_unused_token : bool
        As in `BasicTokenizer`.
    with_offsets : bool
        Whether the place of each piece's word is given beside the pieces, in bytes.
    """

    def __init__(
        self,
        vocab: Vocab,
        suffix_indicator: str = "##",
        max_bytes_per_token: int = 100,
        unknown_token: str = "[UNK]",
        lower_case: bool = False,
        keep_whitespace: bool = False,
        normalization_form: NormalizeForm = NormalizeForm.NONE,
        preserve_unused_token: bool = True,
        with_offsets: bool = False,
    ) -> None:
        super().__init__(with_offsets)
        self._basic = BasicTokenizer(
            lower_case, keep_whitespace, normalization_form, preserve_unused_token
        )
        self._pieces = WordpieceTokenizer(
            vocab, suffix_indicator, max_bytes_per_token, unknown_token
        )

    def cut(self, text: str) -> list[tuple[str, Span]]:
        """The pieces of all words."""
        return [
            (piece, span)
            for word, span in self._basic.cut(text)
            for piece, _ in self._pieces.pieces(word)
        ]
