"""What earlier traces of a function found open outside it: places it writes, numbers that vary.

The journal of the next trace puts stand-ins there from the beginning; `jitted.py` keeps this.
"""

from __future__ import annotations

import types
from dataclasses import dataclass, field
from typing import Any

from .chains import Chain
from .guards import Reads
from .locations import Location, why_not_kept

Identity = tuple[int, str, Any]
"""What tells places apart: whose, of which kind, and which of them."""


@dataclass(slots=True)
class Openings:
    """What is known of a function from earlier traces: which places outside it writes to."""

    written: dict[Identity, Location] = field(default_factory=dict)
    varying: dict[Identity, Location] = field(default_factory=dict)
    """Places with numbers that differed between calls."""
    literal: set[Identity] = field(default_factory=set)
    """Places whose numbers the code needs as they are."""
    containers: dict[int, Any] = field(default_factory=dict)
    """Containers that the function adds to."""
    weigh_all: bool = False
    """Whether objects that no name leads to are told apart by when they were made."""

    def open_changed(self, reads: Reads) -> None:
        """Let numbers that another call found changed be inputs from now on."""
        for guard in reads.guards.values():
            place = place_of(guard.chain)
            if place is None or place.identity in self.literal | self.written.keys():
                continue
            expected, now = guard.expected, guard.chain.value()
            numbers = isinstance(expected, tuple) and expected[0] in (int, float)
            if numbers and type(now) is expected[0] and not guard.holds():
                self.varying[place.identity] = place


def place_of(chain: Chain) -> Location | None:
    """Return the place where a chain ends, if numbers there can be inputs."""
    if not chain.path:
        if chain.kind == "global" and chain.name in chain.root:  # pyright: ignore[reportOperatorIssue]
            return Location(chain.root, chain.name, "item", chain.name)
        return (
            Location(chain.root, "cell_contents", "closure", chain.name)
            if chain.kind == "closure"
            else None
        )
    owner = Chain(chain.root, chain.kind, chain.name, chain.path[:-1]).value()
    kind, key = chain.path[-1]
    if kind == "attr" and isinstance(owner, types.ModuleType):
        owner, kind = vars(owner), "item"
    held = kind == "attr" and key in getattr(owner, "__dict__", ())
    if why_not_kept(owner, key, kind) is not None or (kind == "attr" and not held):
        return None
    return Location(owner, key, kind, str(chain))
