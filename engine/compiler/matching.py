"""Attributes that a class pattern of a ``match`` statement reads, with no name in the byte code.

``case Point(x=0)`` is one instruction, which reads what the pattern names, and, for what it does
not name, the attributes that the class lists in ``__match_args__``.
"""

from __future__ import annotations

import types
from typing import Any

from .bytecode import RENAMED
from .chains import CONTAINERS, MISSING, Chain, follow, of_class, runs_code
from .guards import Reads
from .stack_flow import UNKNOWN, Flow, flow_of
from .traced import TraceBreak


def attributes_matched(
    frame: types.FrameType, position: int, reads: Reads
) -> tuple[Any, tuple[str, ...]]:
    """Return the object that a pattern is about to look at, and the attributes it will read."""
    flow = flow_of(frame.f_code)
    now = flow.instructions[position]
    subject, kind, named = (made_at(frame, flow, p, position) for p in flow.taken[position])
    given = now.arg or 0
    if kind is MISSING or named is MISSING:
        raise _unseen(frame)
    names = tuple(named)
    if given and not _matches_itself(kind):
        listed = of_class(kind, "__match_args__") or ()
        chain = Chain(kind, "object", kind.__name__, (("attr", "__match_args__"),))
        if listed:
            reads.add(chain, listed)
        names = (*listed[:given], *names)
    if not names:
        return None, ()
    if subject is MISSING:
        raise _unseen(frame)
    if not isinstance(subject, kind):
        return None, ()
    return subject, tuple(name for name in names if not runs_code(subject, name))


def _unseen(frame: types.FrameType) -> TraceBreak:
    return TraceBreak(
        "a class pattern reads attributes of what has no name",
        "match a variable or an attribute, or ask isinstance(...) and read the attributes by name",
        f"{frame.f_code.co_filename}:{frame.f_lineno}",
    )


def _matches_itself(kind: type) -> bool:
    """Return whether ``kind(x)`` matches the object itself, as ``int(x)`` does."""
    return (
        "__match_args__" not in vars(kind)
        and issubclass(
            kind, (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
        )
        and of_class(kind, "__match_args__") is None
    )


def made_at(frame: types.FrameType, flow: Flow, position: int, until: int) -> Any:
    """Return what an instruction has made; MISSING where making it again would run code."""
    if position == UNKNOWN:
        return MISSING
    now = flow.instructions[position]
    name, value = RENAMED.get(now.opname, now.opname), now.argval
    if name == "LOAD_CONST":
        return value
    if name in ("LOAD_FAST", "LOAD_DEREF"):
        between = flow.instructions[position:until]
        rebound = any(i.opname.startswith("STORE") and i.argval == value for i in between)
        return MISSING if rebound else frame.f_locals.get(value, MISSING)
    if name in ("LOAD_GLOBAL", "LOAD_NAME"):
        return Chain(frame.f_globals, "global", value).value()
    taken = flow.taken[position]
    if name == "LOAD_ATTR":
        owner = made_at(frame, flow, taken[0], until)
        return MISSING if runs_code(owner, value) else follow(owner, "attr", value)
    if name == "BINARY_SUBSCR":
        owner, key = (made_at(frame, flow, p, until) for p in taken)
        known = type(owner) in CONTAINERS and key is not MISSING
        return follow(owner, "item", key) if known else MISSING
    return MISSING
