"""What traced code may not do: act outside the graph, or use what differs at every call.

`watch.py` asks it about built-in functions and local variables while code is traced.
"""

from __future__ import annotations

import array
import collections
import configparser
import contextvars
import dis
import functools
import inspect
import io
import itertools
import operator
import os
import pickle
import queue
import random
import sysconfig
import threading
import types
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..tensor import Tensor
from .bytecode import RENAMED, instructions_of
from .chains import MISSING, Chain
from .guards import MUTATORS, Reads, is_cell
from .host_numbers import HostNumber
from .stack_flow import UNKNOWN, Flow, flow_of
from .stores import check_read
from .traced import PACKAGE_NAME, TraceBreak, Traced, in_package

UNSTABLE_MODULES = ("random", "time", "datetime", "secrets", "uuid", "os", "numpy.random")
STATE = {"get_context", "get_seed", "get_rng_state", "get_state"}
"""Our own functions that give what others of ours set."""
EFFECTS: frozenset[object] = frozenset(
    (print, input, open, next, exec, eval, setattr, delattr, globals, vars, warnings.warn,
     breakpoint, pickle.dump, pickle.dumps)
)  # fmt: skip
"""Built-in functions that act outside the graph, or look at all that is outside."""
DRAWS = (random.Random, np.random.Generator, np.random.RandomState)
"""Objects that give another value at every call."""
OUTSIDE = (
    "io", "_io", "posix", "nt", "time", "_socket", "_random", "_posixsubprocess", "_thread",
)  # fmt: skip
"""Modules of built-in functions by which Python's library acts outside."""
PURE = {
    "fspath", "cpu_count", "_path_normpath", "text_encoding", "StringIO", "BytesIO",
    "allocate_lock", "get_ident", "get_native_id", "RLock",
}  # fmt: skip
"""Functions of these that do not."""
STDLIB = sysconfig.get_paths()["stdlib"]
TYPE_OF = "type()"
"""Stands for an attribute where the type of a variable is asked for."""
SAME_AS = "is "
"""Begins what stands for an attribute where a variable is asked whether it is another one."""
EXPRESSION = ""
"""Stands for a variable where there is none."""
LOADS = ("LOAD_FAST", "LOAD_DEREF")
NAMES = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_CONST")


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
        raise TraceBreak(
            f"{function.__name__}() of a file acts outside the graph",
            "read before the call and write after it",
            where,
        )
    methods = MUTATORS.get(type(owner))
    name = function.__name__
    if methods and name in methods and id(owner) in reads.containers:
        journal = reads.journal
        if journal is not None and journal.adds(owner, name, named=id(owner) in reads.outside):
            return
        raise TraceBreak(
            f"{function.__name__}() changes a {type(owner).__name__} outside the graph",
            "return the value instead",
            where,
        )


def check_library_call(frame: types.FrameType, function: Any) -> None:
    """Refuse what Python's own library does outside the graph, where traced code calls it."""
    if getattr(function, "__module__", None) not in OUTSIDE or function.__name__ in PURE:
        return
    caller: types.FrameType | None = frame
    while caller is not None and caller.f_code.co_filename.startswith(STDLIB):
        if "site-packages" in caller.f_code.co_filename:
            return
        caller = caller.f_back
    if caller is frame or caller is None or in_package(caller.f_code.co_filename):
        return
    if caller.f_code.co_filename.startswith("<"):
        return
    raise TraceBreak(
        f"{function.__name__}() is called by Python's library, outside the graph",
        "do it outside the compiled function and pass what comes of it",
        f"{caller.f_code.co_filename}:{caller.f_lineno}",
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
    if module is not None and module.startswith(PACKAGE_NAME) and value.__name__ in STATE:
        raise TraceBreak(
            f"{value.__name__}() reads what may differ at every call",
            "call it outside and pass what it gives as an argument",
            where,
        )
    if isinstance(drawn, DRAWS) or module in UNSTABLE_MODULES:
        raise TraceBreak(
            f"{getattr(value, '__name__', kind.__name__)} gives another value at every call,"
            " a graph would keep the first",
            "use Cellwire's random ops, or pass the value as a tensor",
            where,
        )


READERS: dict[type, str] = {
    operator.attrgetter: "write the attribute's name in the code",
    operator.methodcaller: "write the method's name in the code",
    functools._lru_cache_wrapper: "call it outside and pass what it gives, or call its __wrapped__",
}
"""What reads from outside in machine code, unseen; what to do instead."""
PASS_PLAIN = "keep it in a list or dictionary, or read it outside and pass what it gives"
HOLDERS: dict[type, str] = {
    array.array: PASS_PLAIN,
    memoryview: PASS_PLAIN,
    types.MappingProxyType: PASS_PLAIN,
    collections.ChainMap: PASS_PLAIN,
    collections.UserDict: PASS_PLAIN,
    collections.UserList: PASS_PLAIN,
    collections.UserString: PASS_PLAIN,
    configparser.RawConfigParser: PASS_PLAIN,
    configparser.SectionProxy: PASS_PLAIN,
    queue.Queue: PASS_PLAIN,
    queue.SimpleQueue: PASS_PLAIN,
    type(os.environ): PASS_PLAIN,
    contextvars.ContextVar: "read it outside and pass what it gives",
    threading.local: "read it outside and pass what it gives",
    weakref.ref: "hold the object itself, or pass it as an argument",
    weakref.WeakValueDictionary: PASS_PLAIN,
    weakref.WeakKeyDictionary: PASS_PLAIN,
    weakref.WeakSet: PASS_PLAIN,
}
"""Objects, those of subclasses too, whose content is read unseen; what to do instead."""


def check_lasting(value: Any, where: str | None = None) -> None:
    """Refuse an iterator that comes from outside, and what reads attributes unseen."""
    kind = type(value)
    reader = value if kind is type else kind
    if reader in READERS:
        raise TraceBreak(
            f"what an {reader.__name__.strip('_')} reads or keeps cannot be watched",
            READERS[reader],
            where,
        )
    holder = next((base for base in inspect.getmro(kind) if base in HOLDERS), None)
    if holder is not None:
        raise TraceBreak(
            f"what the {kind.__name__} holds cannot be watched for changes", HOLDERS[holder], where
        )
    if hasattr(kind, "__next__") and not issubclass(kind, Tensor):
        raise TraceBreak(
            f"a {kind.__name__} from outside would be used up at every call",
            "take the values outside and pass them as arguments",
            where,
        )


def asked_types(code: types.CodeType) -> Iterator[tuple[str, str]]:
    """Yield the variables whose type the user's code asks for: in a trace it is another one."""
    if in_package(code.co_filename):
        return
    instructions = instructions_of(code)
    if not {"type", "__class__"}.intersection(code.co_names) and not any(
        one.name == "IS_OP" and other.name != "LOAD_CONST"
        for other, one in itertools.pairwise(instructions)
    ):
        return
    flow = flow_of(code)
    for now, taken in zip(flow.instructions, flow.taken, strict=True):
        if now.opname == "IS_OP":
            compared = [flow.instructions[maker] for maker in taken if maker != UNKNOWN]
            if [RENAMED.get(one.opname, one.opname) in LOADS for one in compared] == [True, True]:
                yield compared[0].argval, f"{SAME_AS}{compared[1].argval}"
        asked = _asked(flow, now, taken)
        if asked is not None:
            found = flow.instructions[asked] if asked != UNKNOWN else None
            name = RENAMED.get(found.opname, found.opname) if found is not None else ""
            if found is not None and name in LOADS:
                yield found.argval, TYPE_OF
            elif name not in NAMES:
                yield EXPRESSION, TYPE_OF


def _asked(flow: Flow, now: dis.Instruction, taken: tuple[int, ...]) -> int | None:
    """Return where the value is made whose type an instruction asks for."""
    if now.opname == "LOAD_ATTR" and now.argval == "__class__":
        return taken[0]
    function = flow.instructions[taken[0]] if taken and taken[0] != UNKNOWN else None
    is_type = function is not None and (function.opname, function.argval) == ("LOAD_GLOBAL", "type")
    return taken[-1] if now.opname == "CALL" and now.arg == 1 and is_type else None


def check_locals(
    frame: types.FrameType, reads_of_locals: list[tuple[str, str]], reads: Reads
) -> None:
    """Look at attributes read from variables that hold no named chain, as in loops."""
    for local, attribute in reads_of_locals:
        value = frame.f_locals.get(local)
        if local == EXPRESSION:
            raise TraceBreak(
                "the type of what an expression gives is asked for",
                "give it a name first, and ask whether that isinstance(..., Tensor)",
                f"{frame.f_code.co_filename}:{frame.f_code.co_firstlineno}",
            )
        if attribute == TYPE_OF:
            if isinstance(value, Traced) or type(value) is HostNumber:
                kind = "tensor" if isinstance(value, Traced) else "number"
                raise TraceBreak(
                    f"the type of the {kind} {local!r} is asked for",
                    "ask whether it isinstance(..., Tensor), or of which other kind",
                    f"{frame.f_code.co_filename}:{frame.f_code.co_firstlineno}",
                )
        elif attribute.startswith(SAME_AS):
            other = frame.f_locals.get(attribute.removeprefix(SAME_AS))
            if isinstance(value, Traced) and isinstance(other, Traced):
                raise TraceBreak(
                    f"whether the tensors {local!r} and {attribute[3:]!r} are one object is asked",
                    "pass a flag instead",
                    f"{frame.f_code.co_filename}:{frame.f_code.co_firstlineno}",
                )
        elif is_cell(value):
            reads.add_cell(value)
            reads.loose.add(attribute)
        elif id(value) in reads.born and _is_found(value, attribute, reads):
            continue
        elif frame.f_trace is None or hasattr(Tensor, attribute):  # else seen when it was read
            where = f"{frame.f_code.co_filename}:{frame.f_code.co_firstlineno}"
            check_read(value, attribute, f"{local}.{attribute}", reads, where)


def _is_found(value: Any, attribute: str, reads: Reads) -> bool:
    """Whether an object that the code made has an attribute; what its class has is guarded."""
    kind = type(value)
    chain = Chain(kind, "object", kind.__name__, (("attr", attribute),))
    found = chain.value()
    if found is not MISSING:
        reads.add(chain, found)
    return found is not MISSING or attribute in vars(value)
