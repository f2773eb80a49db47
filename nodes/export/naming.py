"""Names for generated code: identifiers from what the user calls things, no two alike."""

import builtins
import keyword
import re
import unicodedata
from collections.abc import Iterable

LONGEST = 24
"""Characters of a label that a name keeps, so that lines stay short."""


class Names:
    """Hands out identifiers that are not taken."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def give(self, wanted: str) -> str:
        """`wanted` as an identifier, with a number where another has it."""
        name = identifier(wanted)
        free, number = name, 2
        while free in self._taken:
            free, number = f"{name}_{number}", number + 1
        self._taken.add(free)
        return free


def identifier(label: str) -> str:
    """A snake-case identifier from a label: `2nd Conv` is `n2nd_conv`, `input` is `input_`."""
    words = re.sub(r"\W+", "_", unicodedata.normalize("NFKC", label)).strip("_")
    name = words if words.islower() else re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", words).lower()
    name = name[:LONGEST].rstrip("_") or "node"
    if not name.isidentifier():
        name = f"n{name}"
    if keyword.iskeyword(name) or keyword.issoftkeyword(name) or hasattr(builtins, name):
        name = f"{name}_"
    return name


def class_name(title: str) -> str:
    """A class's name from a title: `Digits MLP` is `DigitsMlp`."""
    words = re.sub(r"\W+|_+", " ", unicodedata.normalize("NFKC", title)).split()
    name = "".join(word[:1].upper() + word[1:].lower() for word in words) or "Model"
    if not name.isidentifier() or keyword.iskeyword(name) or name == "Path":
        name = f"Model{name}"
    return name
