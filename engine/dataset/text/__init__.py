"""Transforms of text, for ``Dataset.map``: tokens, vocabularies, numbers.

Tokenizers that need files of other projects (Jieba's dictionary, SentencePiece's models) are not
here; any of them works through ``PythonTokenizer``.
"""

from .changes import (
    AddToken,
    CaseFold,
    Ngram,
    NormalizeUTF8,
    PythonTokenizer,
    RegexReplace,
    SlidingWindow,
    ToNumber,
    Truncate,
    TruncateSequencePair,
)
from .options import NormalizeForm
from .tokenizers import (
    BasicTokenizer,
    BertTokenizer,
    RegexTokenizer,
    UnicodeCharTokenizer,
    UnicodeScriptTokenizer,
    WhitespaceTokenizer,
    WordpieceTokenizer,
)
from .vocab import Lookup, Vocab
from .words import to_bytes, to_str

__all__ = [
    "AddToken",
    "BasicTokenizer",
    "BertTokenizer",
    "CaseFold",
    "Lookup",
    "Ngram",
    "NormalizeForm",
    "NormalizeUTF8",
    "PythonTokenizer",
    "RegexReplace",
    "RegexTokenizer",
    "SlidingWindow",
    "ToNumber",
    "Truncate",
    "TruncateSequencePair",
    "UnicodeCharTokenizer",
    "UnicodeScriptTokenizer",
    "Vocab",
    "WhitespaceTokenizer",
    "WordpieceTokenizer",
    "to_bytes",
    "to_str",
]
