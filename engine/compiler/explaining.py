"""What ``jit.explain`` tells of one call, in words.

Words alone: `jitted.py` has compiled the call by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .chains import Held
from .guards import Guard
from .reasons import Explanation
from .specialisation import Specialisation

if TYPE_CHECKING:
    from .jitted import Jitted


def explanation(
    jitted: Jitted, path: Specialisation | None, reason: str | None = None
) -> Explanation:
    """Return what is to be told of a function, and of one call of it: its path or a reason."""
    families = jitted.families.values()
    notes = tuple(note for family in families for note in family.notes)
    count = sum(len(situation.paths) for situation in jitted.situations.values())
    axes = sorted({place for family in families for place in family.open})
    told = Explanation(
        None, reason, None, count, notes,
        open_sizes=tuple(f"axis {axis} of input {number}" for number, axis in axes),
        open_numbers=tuple(place.text for place in jitted.openings.varying.values()),
        background=jitted.background.notes if jitted.background is not None else (),
    )  # fmt: skip
    if path is None:
        return told
    effects = path.effects.entries if path.effects is not None else ()
    conditions = path.effects.program.conditions if path.effects is not None else ()
    branches = [f"{guard.outcome!r} at {guard.where}" for guard in path.outcomes]
    branches += [f"{c.outcome!r} at {c.where}" for c in conditions]
    return told.of(
        path.plan.report,
        path.call.graph,
        tuple(in_words(guard) for guard in path.reads.guards.values() if not _is_inner(guard)),
        tuple(branches),
        tuple(map(str, effects)),
    )


def in_words(guard: Guard) -> str:
    """Return what must hold, as a sentence's beginning and end."""
    expected = guard.expected
    if isinstance(expected, Held):
        kind = type(expected.value).__name__
        return f"{guard.chain} is the same {kind}"
    if isinstance(expected, tuple) and expected[0] is float:
        return f"{guard.chain} is {expected[1]}"
    if isinstance(expected, tuple) and expected[0] in (bool, int, str, type(None)):
        return f"{guard.chain} is {expected[1]!r}"
    return f"{guard.chain} holds what it held"


def _is_inner(guard: Guard) -> bool:
    """Whether a guard is on what Cells and functions have beside what the user names."""
    last = guard.chain.path[-1][1] if guard.chain.path else ""
    return last in ("_cells", "version", "__code__", "__defaults__", "__kwdefaults__")
