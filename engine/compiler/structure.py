"""Nested tuples, lists and dictionaries taken apart into leaves and put together again.

For the arguments and results of traces, and for what effects keep.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from ..dtype import DType


class Leaf:
    """The place of a leaf in a structure."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "*"


LEAF = Leaf()


class Known:
    """The place of a tensor that a call does not make: given, from outside, or a leaf once more.

    One that is from a place outside which calls write is read there, before they do.
    """

    __slots__ = ("kind", "value")

    def __init__(self, kind: Literal["argument", "outside", "place", "leaf"], value: Any) -> None:
        self.kind = kind
        self.value = value

    def __repr__(self) -> str:
        return f"<{self.kind}>" if self.kind == "outside" else f"<{self.kind} {self.value}>"

    def found(self, leaves: Sequence[object], arguments: Sequence[object]) -> object:
        """Return what stands here in one call."""
        if self.kind == "outside":
            return self.value
        if self.kind == "place":
            return self.value.read()
        return (arguments if self.kind == "argument" else leaves)[self.value]


FIXED = (
    Leaf, Known, bool, int, float, complex, str, bytes, type(None), type, slice, range, type(...),
    DType, np.dtype, np.generic,
)  # fmt: skip
"""What may stand beside tensors in a result: values that cannot change."""


def flatten(tree: object, is_leaf: Callable[[object], bool]) -> tuple[list[object], object]:
    """Return the leaves that ``is_leaf`` accepts, in order, and the structure around them.

    Anything else that is not a tuple, list or dictionary stays in the structure as it is.
    """
    leaves: list[object] = []

    def walk(part: object) -> object:
        if is_leaf(part):
            leaves.append(part)
            return LEAF
        if isinstance(part, tuple | list):
            parts = [walk(item) for item in part]
            return (
                rebuild_list(part, parts) if isinstance(part, list) else rebuild_tuple(part, parts)
            )
        if isinstance(part, dict):
            return rebuild_dict(part, {key: walk(value) for key, value in part.items()})
        return part

    return leaves, walk(tree)


def unflatten(
    structure: object, leaves: Sequence[object], arguments: Sequence[object] = ()
) -> object:
    """Put ``leaves`` back into ``structure``, the inverse of ``flatten``.

    ``arguments`` are the tensors of the call, which stand where they are known to.
    """
    rest = iter(leaves)

    def fill(part: object) -> object:
        if part is LEAF:
            return next(rest)
        if type(part) is Known:
            return part.found(leaves, arguments)
        if isinstance(part, tuple | list):
            parts = [fill(item) for item in part]
            return (
                rebuild_list(part, parts) if isinstance(part, list) else rebuild_tuple(part, parts)
            )
        if isinstance(part, dict):
            return rebuild_dict(part, {key: fill(value) for key, value in part.items()})
        return part

    return fill(structure)


def rebuild_list(like: list[object], parts: list[object]) -> list[object]:
    """Make a list of the same type as ``like``."""
    if type(like) is list:
        return parts
    made = copy.copy(like)
    made[:] = parts
    return made


def rebuild_dict(like: dict[object, object], items: dict[object, object]) -> dict[object, object]:
    """Make a dictionary of the same type as ``like``, a default factory included."""
    if type(like) is dict:
        return items
    made = copy.copy(like)
    dict.update(made, items)  # a Counter's own update adds
    return made


def opaque_part(structure: object) -> object | None:
    """Return a part that may hold or share something a graph cannot make anew; None if none."""
    if isinstance(structure, tuple | list | dict) and not has_attributes(structure):
        parts = structure.values() if isinstance(structure, dict) else structure
        found = (opaque_part(part) for part in parts)
        return next((part for part in found if part is not None), None)
    return None if isinstance(structure, FIXED) else structure


def rebuild_tuple(like: tuple[object, ...], parts: Sequence[object]) -> tuple[object, ...]:
    """Make a tuple of the same type as ``like``, a named tuple included."""
    if type(like) is tuple:
        return tuple(parts)
    made = tuple.__new__(type(like), parts)
    if has_attributes(like):
        vars(made).update(vars(like))
    return made


def has_attributes(container: object) -> bool:
    """Return whether a tuple, list or dictionary of another class holds more than its items."""
    return bool(getattr(container, "__dict__", None))
