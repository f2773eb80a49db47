"""Effects as each call of a plan does them, in the order of the traced code.

The last thing in a call, when the plan has run; the journal of the trace has noted them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..tensor import Tensor
from .chains import MISSING, Held, snapshot
from .encoding import Decoder
from .host_numbers import Program
from .locations import Location
from .printing import print_texts


class Entry(Protocol):
    """One effect."""

    def do(self, made: Decoder) -> None:
        """Do it with the values of one call."""
        ...


class Called(NamedTuple):
    """A call of a function with an effect."""

    function: Callable[..., Any]
    args: Any
    kwargs: Any

    def do(self, made: Decoder) -> None:
        """Call it."""
        self.function(*made.decode(self.args), **made.decode(self.kwargs))

    def __str__(self) -> str:
        return "prints" if self.function is print_texts else "logs"


class Written(NamedTuple):
    """A place that takes a value."""

    location: Location
    value: Any

    def do(self, made: Decoder) -> None:
        """Write it."""
        self.location.assign(made.decode(self.value))

    def __str__(self) -> str:
        return f"sets {self.location.text}"


class Added(NamedTuple):
    """A container that grows."""

    container: Any
    items: Any

    def do(self, made: Decoder) -> None:
        """Add what is new."""
        new = made.decode(self.items)
        (self.container.update if isinstance(self.container, set) else self.container.extend)(new)

    def __str__(self) -> str:
        return f"adds to a {type(self.container).__name__}"


@dataclass(slots=True)
class Effects:
    """What a call does beside its graph, and what must hold for that to be right."""

    program: Program
    entries: list[Entry]
    tensors: list[Tensor]
    """Those that the plan gives beside the result, while it is traced."""
    guards: list[tuple[Location, Any]]
    """Places with the values that they have at the beginning of a call."""
    places: list[Location]
    """Places where there must be tensors."""

    def hold(self) -> bool:
        """Return whether numbers and places outside are such as the trace relied on."""
        return self.broken() is None

    def broken(self) -> str | None:
        """Return what has changed, in words; None if nothing has."""
        for location, value in self.guards:
            now = location.read()
            held = value if isinstance(value, Held) else snapshot(value)
            seen = Held(now) if isinstance(value, Held) else snapshot(now)
            if (now is MISSING) != (value is MISSING) or seen != held:
                return f"{location.text} has changed"
        for place in self.places:
            if type(place.read()) is not Tensor:
                return f"{place.text} is no tensor any more"
        failed = self.program.broken()
        if failed is None:
            return None
        where = f"a comparison of numbers went another way, at {failed.where}"
        return where if failed.where else "a number from outside is of another kind"

    def fits(self, outputs: Sequence[np.ndarray]) -> bool:
        """Return whether what the plan gives is such as the trace relied on."""
        return not self.program.asks_late or self.program.broken(outputs) is None

    def replay(self, outputs: Sequence[Tensor], arguments: Sequence[Tensor]) -> None:
        """Do everything once: numbers are read before the first of them is written."""
        values = self.program.run([output.data for output in outputs])
        made = Decoder(values, outputs, arguments)
        for entry in self.entries:
            entry.do(made)
