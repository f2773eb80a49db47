"""What traced code may not do: act outside the graph, or use what differs at every call."""

from __future__ import annotations

import io
import random
import types
import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ..tensor import Tensor
from .bytecode import instructions_of
from .chains import MISSING, Chain
from .guards import MUTATORS, Reads, is_cell
from .traced import PACKAGE_NAME, TraceBreak, Traced, in_package

UNSTABLE_MODULES = ("random", "time", "datetime", "secrets", "uuid", "os", "numpy.random")
EFFECTS: frozenset[object] = frozenset(
    (print, input, open, next, exec, eval, setattr, delattr, globals, vars, warnings.warn)
)
DRAWS = (random.Random, np.random.Generator, np.random.RandomState)
"""Objects that give another value at every call."""


def check_builtin(frame: types.FrameType, function: Any, reads: Reads) -> None:
    """Refuse a built-in function that acts outside the graph."""
    where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    check_stable(function, where)
    if function in EFFECTS:
        raise TraceBreak(
            f"{function.__name__}() acts outside the graph",
            "do it outside the compiled function",
            where,
        )
    owner = getattr(function, "__self__", None)
    if isinstance(owner, io.IOBase):
        raise TraceBreak(f"{function.__name__}() of a file acts outside the graph", "", where)
    methods = MUTATORS.get(type(owner))
    if methods and function.__name__ in methods and id(owner) in reads.containers:
        raise TraceBreak(
            f"{function.__name__}() changes a {type(owner).__name__} outside the graph",
            "return the value instead",
            where,
        )


def check_stable(value: Any, where: str) -> None:
    """Refuse what gives another value at every use: clocks and random generators."""
    kind = type(value)
    drawn = value
    if issubclass(kind, types.BuiltinFunctionType | types.MethodType):
        drawn = value.__self__
    module = None
    if issubclass(kind, types.BuiltinFunctionType | types.FunctionType | type):
        module = value.__module__
    if isinstance(drawn, DRAWS) or module in UNSTABLE_MODULES:
        raise TraceBreak(
            f"{getattr(value, '__name__', kind.__name__)} gives another value at every call,"
            " a graph would keep the first",
            "use Cellwire's random ops, or pass the value as a tensor",
            where,
        )


def check_lasting(value: Any, where: str | None = None) -> None:
    """Refuse an iterator that comes from outside."""
    kind = type(value)
    if hasattr(kind, "__next__") and not issubclass(kind, Tensor):
        raise TraceBreak(
            f"a {kind.__name__} from outside would be used up at every call",
            "take the values outside and pass them as arguments",
            where,
        )


TYPE_OF = "type()"
"""Stands for an attribute where the type of a variable is asked for."""
LOADS = ("LOAD_FAST", "LOAD_DEREF")


def asked_types(code: types.CodeType) -> Iterator[tuple[str, str]]:
    """Yield the variables whose type the user's code asks for: in a trace it is another one."""
    if in_package(code.co_filename) or "type" not in code.co_names:
        return
    for asks, taken in pairwise(instructions_of(code)):
        if (asks.name, asks.value) == ("LOAD_GLOBAL", "type") and taken.name in LOADS:
            yield taken.value, TYPE_OF


def check_locals(
    frame: types.FrameType, reads_of_locals: list[tuple[str, str]], reads: Reads
) -> None:
    """Look at attributes read from variables that hold no named chain, as in loops."""
    for local, attribute in reads_of_locals:
        value = frame.f_locals.get(local)
        if attribute == TYPE_OF:
            if isinstance(value, Traced):
                raise TraceBreak(
                    f"the type of the tensor {local!r} is asked for",
                    "ask whether it isinstance(..., Tensor)",
                    f"{frame.f_code.co_filename}:{frame.f_code.co_firstlineno}",
                )
        elif is_cell(value):
            reads.add_cell(value)
            reads.loose.add(attribute)
        elif id(value) in reads.born and _is_found(value, attribute, reads):
            continue
        elif not _is_plain(value) and not callable(getattr(type(value), attribute, None)):
            raise TraceBreak(
                f"{local}.{attribute} is read from a {type(value).__name__} that no name leads to",
                "read it through a global, a closure or an attribute of the Cell",
                f"{frame.f_code.co_filename}:{frame.f_code.co_firstlineno}",
            )


def _is_found(value: Any, attribute: str, reads: Reads) -> bool:
    """Whether an object that the code made has an attribute; what its class has is guarded."""
    kind = type(value)
    chain = Chain(kind, "object", kind.__name__, (("attr", attribute),))
    found = chain.value()
    if found is not MISSING:
        reads.add(chain, found)
    return found is not MISSING or attribute in vars(value)


def _is_plain(value: Any) -> bool:
    """Return whether a value's attributes are fixed by what it is or made by the trace."""
    module = type(value).__module__
    return isinstance(value, Tensor | types.ModuleType | type) or module.partition(".")[0] in (
        "builtins", "numpy", "functools", "types", PACKAGE_NAME,
    )  # fmt: skip
