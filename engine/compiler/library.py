"""What Python's own library is given by traced code: it looks into objects, and nobody watches it.

`watch.py` asks it about each function of the library that the user's code enters.
"""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import logging
import threading
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..tensor import Tensor
from .chains import CONTAINERS, MAX_DEPTH, SCALARS, Chain
from .effects import HOLDERS, STDLIB
from .guards import Reads
from .host_numbers import HostNumber
from .traced import TraceBreak

SHALLOW = {copy.copy.__code__, dataclasses.replace.__code__}
"""Functions that read all attributes of the object they are given."""
DEEP = {copy.deepcopy.__code__, dataclasses.asdict.__code__, dataclasses.astuple.__code__}
"""Those that read the attributes of all that this object leads to."""
LEVEL = logging.Logger.getEffectiveLevel.__code__
"""What asks a logger and those above it."""
IS_SET = threading.Event.is_set.__code__
WHOLE = {"__dict__", "vars"}
"""Names by which a method reads all attributes."""
DISPATCH = functools.singledispatch(len).dispatch.__code__
"""What looks up the function for a type, of those that were registered."""
NUMBERS = tuple(
    f"{STDLIB}/{name}"
    for name in (
        "copy.py", "dataclasses.py", "fractions.py", "json/", "pprint.py", "statistics.py",
        "string.py", "reprlib.py", "textwrap.py",
    )
)  # fmt: skip
"""Where it matters to the library whether a number is a Python number."""
UNCHANGING = (*SCALARS, type, types.FunctionType, types.ModuleType, enum.Enum, np.generic)


def check_given(frame: types.FrameType, reads: Reads) -> None:
    """Refuse a call of the library that would read what is not watched."""
    code = frame.f_code
    if code is LEVEL:
        raise _unseen(
            frame, "the level of a logger is asked for", "call the logger, which finds out itself"
        )
    deep = code in DEEP
    if deep or code in SHALLOW:
        given = frame.f_locals[code.co_varnames[0]]
        for part in _objects_in(given, reads, MAX_DEPTH if deep else 0):
            raise _unseen(
                frame,
                f"{code.co_name}() reads all attributes of a {type(part).__name__} from outside",
                "read what is needed by name in the code, or do it outside",
            )
    elif code.co_argcount:
        owner = frame.f_locals.get(code.co_varnames[0])
        if isinstance(owner, tuple(HOLDERS)) and id(owner) not in reads.born:
            raise _unseen(
                frame,
                f"what the {type(owner).__name__} holds cannot be watched for changes",
                "read it outside and pass what it gives",
            )
        elif not isinstance(owner, (Tensor, *UNCHANGING)) and id(owner) not in reads.born:
            _guard_attributes(owner, code, reads)
    if reads.journal is not None and code.co_filename.startswith(NUMBERS):
        for value in frame.f_locals.values():
            for number in _numbers_in(value, MAX_DEPTH):
                number.settled("given to a function of Python's library")


def _guard_attributes(owner: Any, code: types.CodeType, reads: Reads) -> None:
    """Guard what a method of the library reads of an object from outside."""
    if code.co_filename == threading.__file__ and code is not IS_SET:
        return  # they wait for others, or wake them
    content = getattr(owner, "__dict__", {})
    names: list[str] = ["__dict__"] if not WHOLE.isdisjoint(code.co_names) else []
    for name in names or [name for name in code.co_names if name in content]:
        if reads.journal is None or not reads.journal.meets(owner, "attr", name):
            chain = Chain(owner, "object", type(owner).__name__, (("attr", name),))
            reads.add(chain, content if name == "__dict__" else content[name])


def guard_registry(frame: types.FrameType, reads: Reads) -> None:
    """Guard which functions are registered where ``singledispatch`` chooses one."""
    registry = frame.f_locals["registry"]
    reads.add(Chain(registry, "object", "registry"), registry)


def _unseen(frame: types.FrameType, what: str, advice: str) -> TraceBreak:
    caller = frame.f_back
    where = f"{caller.f_code.co_filename}:{caller.f_lineno}" if caller is not None else None
    return TraceBreak(what, advice, where)


def _objects_in(value: Any, reads: Reads, depth: int) -> Iterator[Any]:
    """Yield the objects that the code did not make, at most so many steps from ``value``."""
    if type(value) is HostNumber or isinstance(value, (Tensor, *UNCHANGING, np.ndarray)):
        return
    if type(value) in CONTAINERS:
        parts = [*value.keys(), *value.values()] if isinstance(value, dict) else [*value]
    elif id(value) in reads.born:
        parts = [*vars(value).values()]
    else:
        yield value
        return
    for part in parts if depth else ():
        yield from _objects_in(part, reads, depth - 1)


def _numbers_in(value: Any, depth: int) -> Iterator[HostNumber]:
    if type(value) is HostNumber:
        yield value
    elif depth and type(value) in CONTAINERS:
        parts = value.values() if isinstance(value, dict) else value
        for part in parts:
            yield from _numbers_in(part, depth - 1)
