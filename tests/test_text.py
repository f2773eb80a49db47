"""Transforms of text: vocabularies, tokenizers, changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import dataset as ds
from cellwire.dataset import text

WORDS = ["[UNK]", "[CLS]", "un", "##aff", "##able", "cat", "##s", "ü", "狗", "u"]
VOCAB = text.Vocab.from_list(WORDS)


def test_vocabularies_are_made_of_lists_dicts_files_and_datasets(tmp_path: Path) -> None:
    made = text.Vocab.from_list(["b", "a"], ["<pad>"], special_first=True)
    assert made.vocab() == {"<pad>": 0, "b": 1, "a": 2}
    assert text.Vocab.from_list(["b"], ["<pad>"], False).vocab() == {"b": 0, "<pad>": 1}
    assert made.tokens_to_ids(["a", "none"]) == [2, -1]
    assert (made.tokens_to_ids("b"), made.ids_to_tokens(1), made.ids_to_tokens([2, 9])) == (
        1, "b", ["a", ""],
    )  # fmt: skip
    assert text.Vocab.from_dict({"x": 7}).tokens_to_ids("x") == 7
    path = tmp_path / "vocab.txt"
    path.write_text("x,9\ny,8\nz,7\n")
    assert text.Vocab.from_file(path, ",", 2).vocab() == {"x": 0, "y": 1}
    assert len(text.Vocab.from_file(str(path))) == 3
    lines = ds.GeneratorDataset([np.array(["b", "a", "b"]), np.array(["c", "a", "b"])], "w")
    assert text.Vocab.from_dataset(lines, "w").vocab() == {"b": 0, "a": 1, "c": 2}
    often = text.Vocab.from_dataset(lines, freq_range=(2, None), top_k=1, special_tokens=["?"])
    assert often.vocab() == {"?": 0, "b": 1}


def test_lookup_gives_numbers() -> None:
    lookup = text.Lookup(VOCAB, "[UNK]")
    found = lookup(np.array(["cat", "dog"]))
    assert (found.tolist(), found.dtype) == ([5, 0], np.int32)
    assert lookup("cat") == 5
    assert text.Lookup(VOCAB, data_type=cw.int64)(np.array([["cat"]])).tolist() == [[5]]


@pytest.mark.parametrize(
    ("op", "given", "expected"),
    [
        (text.WhitespaceTokenizer(), "  a  bc\nd ", ["a", "bc", "d"]),
        (text.WhitespaceTokenizer(), "  ", [""]),
        (text.UnicodeCharTokenizer(), "aü狗", ["a", "ü", "狗"]),
        (text.UnicodeScriptTokenizer(), "ab狗 12!", ["ab", "狗", "12", "!"]),
        (text.UnicodeScriptTokenizer(True), "a b", ["a", " ", "b"]),
        (text.RegexTokenizer(r"[,;]\s*"), "a, b;c", ["a", "b", "c"]),
        (text.RegexTokenizer(r"[,;]", ","), "a,b;c", ["a", ",", "b", "c"]),
        (text.BasicTokenizer(True), "Ünd das-IST狗fein", ["und", "das", "-", "ist", "狗", "fein"]),
        (text.BasicTokenizer(), "A [CLS] b", ["A", "[CLS]", "b"]),
        (text.BasicTokenizer(preserve_unused_token=False), "[CLS]", ["[", "CLS", "]"]),
        (text.BasicTokenizer(keep_whitespace=True), "a b", ["a", " ", "b"]),
        (text.WordpieceTokenizer(VOCAB), ["unaffable", "cats", "dog"],
         ["un", "##aff", "##able", "cat", "##s", "[UNK]"]),
        (text.WordpieceTokenizer(VOCAB, unknown_token=""), "dog", ["dog"]),
        (text.WordpieceTokenizer(VOCAB, max_bytes_per_token=3), "cats", ["[UNK]"]),
        (text.BertTokenizer(VOCAB, lower_case=True), "Unaffable Cats!",
         ["un", "##aff", "##able", "cat", "##s", "[UNK]"]),
        (text.PythonTokenizer(str.split), "a b", ["a", "b"]),
        (text.CaseFold(), "STRASSE ß", "strasse ss"),
        (text.NormalizeUTF8(text.NormalizeForm.NFKC), "ﬁ①", "fi1"),
        (text.NormalizeUTF8(text.NormalizeForm.NONE), "ﬁ", "ﬁ"),
        (text.RegexReplace(r"(\d)", r"<\1>"), "1a2", "<1>a<2>"),
        (text.RegexReplace(r"\d", "", False), ["12", "3"], ["2", ""]),
        (text.ToNumber(cw.int32), ["1", "-2"], [1, -2]),
        (text.ToNumber(cw.float32), "2.5", 2.5),
        (text.Truncate(2), [1, 2, 3], [1, 2]),
        (text.AddToken("X"), ["a"], ["X", "a"]),
        (text.AddToken("X", begin=False), [["a"], ["b"]], [["a", "X"], ["b", "X"]]),
        (text.Ngram(2), ["a", "b", "c"], ["a b", "b c"]),
        (text.Ngram([1, 3], ("<", 1), (">", 1), ""), ["a", "b"], ["a", "b", "<ab", "ab>"]),
        (text.Ngram(3), ["a"], [""]),
        (text.SlidingWindow(2), [1, 2, 3], [[1, 2], [2, 3]]),
        (text.SlidingWindow(2, -1), [[1, 2, 3]], [[[1, 2], [2, 3]]]),
        (text.SlidingWindow(4), [1, 2], []),
    ],
)  # fmt: skip
def test_transforms(op: Callable[[Any], np.ndarray], given: Any, expected: Any) -> None:
    array = np.asarray(given)
    assert op(array).tolist() == expected


def test_pairs_are_shortened_from_the_longer() -> None:
    pair = text.TruncateSequencePair(4)
    assert [part.tolist() for part in pair([1, 2, 3, 4, 5], [6])] == [[1, 2, 3], [6]]
    assert [part.tolist() for part in pair([1], [2, 3, 4, 5])] == [[1], [2, 3, 4]]
    assert [len(part) for part in pair(list(range(9)), list(range(6)))] == [2, 2]
    assert [len(part) for part in pair([1, 2], [3, 4])] == [2, 2]


def test_offsets_count_bytes() -> None:
    words, starts, ends = text.WhitespaceTokenizer(with_offsets=True)("ü a狗")
    assert (words.tolist(), starts.tolist(), ends.tolist()) == (["ü", "a狗"], [0, 3], [2, 7])
    assert starts.dtype == np.uint32
    pieces = text.WordpieceTokenizer(VOCAB, with_offsets=True)(np.array(["cats", "ü"]))
    assert [part.tolist() for part in pieces[1:]] == [[0, 3, 4], [3, 4, 6]]
    basic = text.BasicTokenizer(True, with_offsets=True)("Ab-c")
    assert [part.tolist() for part in basic] == [["ab", "-", "c"], [0, 2, 3], [2, 3, 4]]
    bert = text.BertTokenizer(VOCAB, with_offsets=True)("cats ü")
    assert [part.tolist() for part in bert] == [["cat", "##s", "ü"], [0, 0, 5], [4, 4, 7]]


def test_text_and_bytes() -> None:
    encoded = text.to_bytes(np.array(["ä", "b"]))
    assert (encoded.dtype.kind, text.to_str(encoded).tolist()) == ("S", ["ä", "b"])
    assert text.to_str(np.frombuffer("ä".encode(), np.uint8)) == "ä"


def test_a_pipeline_from_lines_to_numbers(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("Cats\nunaffable cats\n")
    data = ds.TextFileDataset(tmp_path / "lines.txt", shuffle=False)
    steps = [text.BertTokenizer(VOCAB, lower_case=True), text.Lookup(VOCAB, "[UNK]")]
    data = data.map(steps, "text").map(ds.transforms.PadEnd([6], 0), "text").batch(2)
    (row,) = list(data)
    assert row[0].asnumpy().tolist() == [[5, 6, 0, 0, 0, 0], [2, 3, 4, 5, 6, 0]]
    assert row[0].dtype is cw.int32


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: text.Vocab.from_list(["a", "a"]), "the word 'a' comes more than once"),
        (lambda: text.Vocab.from_dict({"a": 1, "b": 1}), "several words have the number 1"),
        (lambda: text.Vocab.from_dict({"a": -1}), "the number of 'a' is negative"),
        (lambda: text.Lookup(VOCAB, "<unk>"), "lacks the unknown token '<unk>'"),
        (lambda: text.Lookup(VOCAB)("dog"), "'dog' is not in the vocabulary; add it"),
        (lambda: text.Lookup({"a": 1}), "vocab must be a Vocab"),
        (lambda: text.WhitespaceTokenizer()(["a", "b"]), "needs one string, this is <U1"),
        (lambda: text.CaseFold()(3), "CaseFold: needs text"),
        (lambda: text.RegexReplace("(", ""), "is no regular expression"),
        (lambda: text.ToNumber(cw.int8)("300"), "300 does not fit into int8"),
        (lambda: text.ToNumber(cw.int8)("x"), "'x' is no int8"),
        (lambda: text.PythonTokenizer(3), "is not callable"),
        (lambda: text.Vocab.from_file("/nowhere/v.txt"), "is no readable UTF-8"),
    ],
)
def test_mistakes_are_named(make: Callable[[], object], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_a_word_that_comes_twice_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("a\nb\na\n")
    with pytest.raises(ds.DataError, match=r"v.txt, line 3: 'a' is in line 1 already"):
        text.Vocab.from_file(path)
