"""Where a value comes from in the user's drawing; every value of every IR carries it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True, slots=True)
class Origin:
    """The drawn node and port that a value belongs to, forward or as its gradient."""

    scope: tuple[str, ...]
    node: str
    port: str
    direction: Literal["forward", "gradient"] = "forward"

    def __str__(self) -> str:
        path = "/".join((*self.scope, self.node))
        mark = "" if self.direction == "forward" else " (gradient)"
        return f"{path}.{self.port}{mark}" if self.port else f"{path}{mark}"

    def gradient(self) -> Origin:
        """Return the same place on the way back."""
        return replace(self, direction="gradient")


active: Origin | None = None
"""The origin under which ops run now; only ``at`` sets it."""


def current() -> Origin | None:
    """Return the origin under which ops run now, or None outside a drawn graph."""
    return active


@contextmanager
def at(origin: Origin | None) -> Iterator[None]:
    """Run the body's ops under ``origin``; nested uses restore the outer one."""
    global active
    outer = active
    active = origin
    try:
        yield
    finally:
        active = outer
