"""Nested tuples, lists and dictionaries taken apart into leaves and put together again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any


class Leaf:
    """The place of a leaf in a structure."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "*"


LEAF = Leaf()


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
            return parts if isinstance(part, list) else rebuild_tuple(part, parts)
        if isinstance(part, dict):
            return {key: walk(value) for key, value in part.items()}
        return part

    return leaves, walk(tree)


def unflatten(structure: object, leaves: Sequence[object]) -> object:
    """Put ``leaves`` back into ``structure``, the inverse of ``flatten``."""
    return _fill(structure, iter(leaves))


def _fill(structure: object, leaves: Iterator[object]) -> object:
    if structure is LEAF:
        return next(leaves)
    if isinstance(structure, tuple | list):
        parts = [_fill(part, leaves) for part in structure]
        return parts if isinstance(structure, list) else rebuild_tuple(structure, parts)
    if isinstance(structure, dict):
        return {key: _fill(value, leaves) for key, value in structure.items()}
    return structure


def rebuild_tuple(like: tuple[object, ...], parts: Sequence[object]) -> tuple[object, ...]:
    """Make a tuple of the same type as ``like``, a named tuple included."""
    kind: Any = type(like)
    return kind(*parts) if hasattr(like, "_fields") else tuple(parts)
