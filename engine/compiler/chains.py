"""Chains of names: where code reads from outside itself, and what must stay equal there."""

from __future__ import annotations

import math
import types
from dataclasses import dataclass
from typing import Any

import numpy as np

SCALARS = (bool, int, float, complex, str, bytes, type(None))
MISSING = object()

Step = tuple[str, object]


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain of names: where it starts and the attributes and items it follows."""

    root: object
    kind: str  # "global" | "closure" | "object"
    name: str
    path: tuple[Step, ...] = ()

    def start(self) -> Any:
        """Return the value the chain starts from."""
        if self.kind == "global":
            root: Any = self.root
            builtins = root.get("__builtins__", {})
            spare = builtins if isinstance(builtins, dict) else vars(builtins)
            return root.get(self.name, spare.get(self.name, MISSING))
        if self.kind == "closure":
            return self.root.cell_contents  # pyright: ignore[reportAttributeAccessIssue]
        return self.root

    def value(self) -> Any:
        """Evaluate the chain; ``MISSING`` where it breaks off."""
        value = self.start()
        for kind, name in self.path:
            if value is MISSING:
                return MISSING
            value = follow(value, kind, name)
        return value

    def __str__(self) -> str:
        parts = [f".{n}" if k == "attr" else f"[{n!r}]" for k, n in self.path]
        return self.name + "".join(parts)


def follow(value: Any, kind: str, name: Any) -> Any:
    """Take one step of a chain."""
    try:
        return getattr(value, name) if kind == "attr" else value[name]
    except (AttributeError, KeyError, IndexError, TypeError):
        return MISSING


NAN = (float, "nan")


def snapshot(value: Any, depth: int = 3) -> Any:
    """Return what must stay equal for ``value`` to count as unchanged."""
    if isinstance(value, float) and math.isnan(value):
        return NAN
    if isinstance(value, SCALARS):
        return (type(value), value)
    if isinstance(value, list | tuple) and depth:
        return (type(value), tuple(snapshot(item, depth - 1) for item in value))
    if isinstance(value, dict) and depth and len(value) < 256:
        items = ((snapshot(k, 0), snapshot(v, depth - 1)) for k, v in value.items())
        return (dict, tuple(items))
    if isinstance(value, np.ndarray):
        return (np.ndarray, value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, types.MethodType):
        return (types.MethodType, Held(value.__func__), Held(value.__self__))
    return Held(value)


class Held:
    """An object compared by identity and kept alive meanwhile."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)
