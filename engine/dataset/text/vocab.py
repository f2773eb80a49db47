"""Vocabularies: the number of each word, and words looked up in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...dtype import dtype_of, int32
from ..columns import listed, require_columns
from ..files import DataError
from ..pipeline import Dataset
from ..transforms.base import Transform
from .words import tokens


class Vocab:
    """Words and their numbers; made by one of the ``from_`` methods.

    Parameters
    ----------
    words : dict of str to int, optional
        The number of each word, none negative, none twice.

    Raises
    ------
    ValueError
        If two words have one number, or one is negative.
    """

    def __init__(self, words: Mapping[str, int] | None = None) -> None:
        self._ids = dict(words or {})
        for word, number in self._ids.items():
            if not isinstance(word, str) or isinstance(number, bool) or not isinstance(number, int):
                raise TypeError(f"Vocab: {word!r}: {number!r} is no word with a number.")
            if number < 0:
                raise ValueError(f"Vocab: the number of {word!r} is negative: {number}.")
        self._words = {number: word for word, number in self._ids.items()}
        if len(self._words) != len(self._ids):
            twice = [n for n, c in Counter(self._ids.values()).items() if c > 1]
            raise ValueError(f"Vocab: several words have the number {twice[0]}.")

    @classmethod
    def from_list(
        cls,
        word_list: Sequence[str],
        special_tokens: Sequence[str] | None = None,
        special_first: bool = True,
    ) -> Vocab:
        """Number words in their order.

        Parameters
        ----------
        word_list : list of str
            The words, none twice.
        special_tokens : list of str, optional
            More words, as ``"<pad>"``.
        special_first : bool
            Whether they come in front.
        """
        special = list(special_tokens or ())
        every = [*special, *word_list] if special_first else [*word_list, *special]
        twice = [word for word, count in Counter(every).items() if count > 1]
        if twice:
            raise ValueError(f"Vocab: the word {twice[0]!r} comes more than once.")
        return cls({word: number for number, word in enumerate(every)})

    @classmethod
    def from_dict(cls, word_dict: Mapping[str, int]) -> Vocab:
        """Take words with their numbers."""
        return cls(word_dict)

    @classmethod
    def from_file(
        cls,
        file_path: str | Path,
        delimiter: str = "",
        vocab_size: int | None = None,
        special_tokens: Sequence[str] | None = None,
        special_first: bool = True,
    ) -> Vocab:
        """Read words from a text file, one a line.

        Parameters
        ----------
        file_path : str or Path
            The file, UTF-8.
        delimiter : str
            What ends the word in its line; by default the line does.
        vocab_size : int, optional
            At most so many words of the file.
        special_tokens, special_first : optional
            As in `from_list`.

        Raises
        ------
        DataError
            If the file cannot be read, or a word comes twice: it names the line.
        """
        path = Path(file_path)
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(
                f"{path} is no readable UTF-8 text: {error}.", "Set the path."
            ) from error
        found: dict[str, int] = {}
        for number, line in enumerate(lines, 1):
            word = line.partition(delimiter)[0] if delimiter else line
            if word in found:
                raise DataError(
                    f"{path.name}, line {number}: {word!r} is in line {found[word]} already.",
                    "Keep each word once.",
                )
            if vocab_size is not None and len(found) == vocab_size:
                break
            found[word] = number
        return cls.from_list(list(found), special_tokens, special_first)

    @classmethod
    def from_dataset(
        cls,
        dataset: Dataset,
        columns: str | Sequence[str] | None = None,
        freq_range: tuple[int | None, int | None] | None = None,
        top_k: int | None = None,
        special_tokens: Sequence[str] | None = None,
        special_first: bool = True,
    ) -> Vocab:
        """Count the words of a dataset and number them, the most frequent first.

        Parameters
        ----------
        dataset : Dataset
            Its columns hold tokens.
        columns : str or list of str, optional
            Which of them; by default all.
        freq_range : (int, int), optional
            How often a word must come at least and at most; None for no limit.
        top_k : int, optional
            At most so many words. Of equally frequent ones the first in the alphabet wins.
        special_tokens, special_first : optional
            As in `from_list`.
        """
        chosen = listed(columns) or dataset.get_col_names()
        require_columns("Vocab.from_dataset", chosen, dataset.get_col_names())
        counts: Counter[str] = Counter()
        for row in dataset.create_dict_iterator(num_epochs=1, output_numpy=True):
            for name in chosen:
                counts.update(tokens(row[name].reshape(-1), f"Vocab.from_dataset, column {name}"))
        low, high = freq_range or (None, None)
        kept = [
            word
            for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            if (low is None or count >= low) and (high is None or count <= high)
        ]
        return cls.from_list(kept[:top_k], special_tokens, special_first)

    def vocab(self) -> dict[str, int]:
        """The number of each word."""
        return dict(self._ids)

    def tokens_to_ids(self, words: str | Sequence[str]) -> int | list[int]:
        """The number of a word, or of each; -1 where it is unknown."""
        if isinstance(words, str):
            return self._ids.get(words, -1)
        return [self._ids.get(str(word), -1) for word in words]

    def ids_to_tokens(self, ids: int | Sequence[int]) -> str | list[str]:
        """The word of a number, or of each; empty where there is none."""
        if isinstance(ids, int | np.integer):
            return self._words.get(int(ids), "")
        return [self._words.get(int(number), "") for number in ids]

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, word: str) -> bool:
        return word in self._ids


class Lookup(Transform):
    """Words as their numbers in a vocabulary.

    Parameters
    ----------
    vocab : Vocab
        The vocabulary.
    unknown_token : str, optional
        The word whose number an unknown word gets; by default an unknown word is an error.
    data_type : DType
        Element type of the numbers.

    Raises
    ------
    ValueError
        If the vocabulary lacks `unknown_token`, or, when called, a word.
    """

    def __init__(
        self, vocab: Vocab, unknown_token: str | None = None, data_type: Any = int32
    ) -> None:
        if not isinstance(vocab, Vocab):
            raise TypeError(f"Lookup: vocab must be a Vocab, it is {type(vocab).__name__}.")
        if unknown_token is not None and unknown_token not in vocab:
            raise ValueError(f"Lookup: the vocabulary lacks the unknown token {unknown_token!r}.")
        self.unknown_token = unknown_token
        self._ids, self._dtype = vocab.vocab(), dtype_of(data_type).numpy

    def __call__(self, value: Any) -> np.ndarray:
        """The numbers of one word or of an array of words."""
        array = value if isinstance(value, np.ndarray) else np.asarray(value)
        other = None if self.unknown_token is None else self._ids[self.unknown_token]
        numbers: list[int] = []
        for word in tokens(array.reshape(-1), "Lookup"):
            number = self._ids.get(word, other)
            if number is None:
                raise ValueError(
                    f"Lookup: {word!r} is not in the vocabulary; add it, or set unknown_token."
                )
            numbers.append(number)
        return np.asarray(numbers, self._dtype).reshape(array.shape)
