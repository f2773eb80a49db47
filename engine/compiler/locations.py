"""Places outside traced code that hold a value: attributes, items, globals, closures.

While code is traced a place that it writes to, or a number that differs between calls, holds what
stands for its value at a call. What the place held before is put back when the trace ends.
"""

from __future__ import annotations

import types
from dataclasses import dataclass, field
from typing import Any

from .chains import MISSING
from .traced import in_package


@dataclass(slots=True, eq=False)
class Location:
    """One place: an attribute of an object, an item of a container, a variable of a closure."""

    owner: Any
    key: Any
    kind: str  # "attr" | "item" | "closure"
    text: str
    active: bool = field(default=False, repr=False)
    """Whether a trace has put something else there."""
    original: Any = field(default=MISSING, repr=False)

    @property
    def identity(self) -> tuple[int, str, Any]:
        """What two descriptions of the same place have in common."""
        return id(self.owner), self.kind, self.key

    def held(self) -> Any:
        """Return what the place itself holds; ``MISSING`` if there is nothing."""
        if self.kind == "attr":
            return vars(self.owner).get(self.key, MISSING)
        if self.kind == "closure":
            return _content(self.owner)
        return _item(self.owner, self.key)

    def read(self) -> Any:
        """Return what code reads there at the beginning of a call."""
        value = self.original if self.active else self.held()
        if value is MISSING and self.kind == "attr":
            return getattr(type(self.owner), self.key, MISSING)
        return value

    def begin(self) -> None:
        """Note what the place holds before a trace."""
        self.original = self.held()
        self.active = True

    def put(self, value: Any) -> None:
        """Let the place hold ``value``, unseen by the owner's own methods."""
        if self.kind == "attr" and value is MISSING:
            vars(self.owner).pop(self.key, None)
        elif self.kind == "attr":
            vars(self.owner)[self.key] = value
        elif self.kind == "closure":
            _fill(self.owner, value)
        elif value is MISSING:
            self.owner.pop(self.key, None)
        else:
            self.owner[self.key] = value

    def restore(self) -> None:
        """Put back what the place held before the trace."""
        if self.active:
            self.put(self.original)
            self.active = False
            self.original = MISSING

    def assign(self, value: Any) -> None:
        """Write ``value`` as the traced code does."""
        if self.kind == "attr":
            setattr(self.owner, self.key, value)
        elif self.kind == "closure":
            self.owner.cell_contents = value
        else:
            self.owner[self.key] = value


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing assigned yet
        return MISSING


def _fill(cell: types.CellType, value: Any) -> None:
    if value is MISSING:
        del cell.cell_contents
    else:
        cell.cell_contents = value


def _item(owner: Any, key: Any) -> Any:
    if isinstance(owner, dict):
        return owner.get(key, MISSING)
    return owner[key] if isinstance(key, int) and -len(owner) <= key < len(owner) else MISSING


def why_not_kept(owner: Any, key: Any, kind: str) -> str | None:
    """Return why a place cannot be written after each call; None if it can."""
    name = type(owner).__name__
    if kind == "closure":
        return None
    if kind == "item":
        return None if type(owner) in (dict, list) else f"items of a {name} are not kept"
    if isinstance(owner, type):
        return "attributes of classes are not kept"
    if not hasattr(owner, "__dict__"):
        return f"a {name} has no dictionary of attributes"
    if not _sets_plainly(type(owner)):
        return f"{name} has a __setattr__ of its own"
    if any(key in vars(owner).get(table, ()) for table in ("_params", "_cells")):
        return f"{key!r} is a Parameter or a Cell"
    if hasattr(getattr(type(owner), key, None), "__set__"):
        return f"{key!r} is no plain attribute of {name}"
    return None


def _sets_plainly(kind: type) -> bool:
    """Whether setting an attribute does no more than that; so it is with Cells as well."""
    setter = kind.__setattr__
    code = getattr(setter, "__code__", None)
    return isinstance(setter, types.WrapperDescriptorType) or (
        code is not None and in_package(code.co_filename, "engine/nn")
    )
