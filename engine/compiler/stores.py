"""Writes of traced code to what is outside it: found in its byte code, noted in the journal.

`walker.py` and a trace of single instructions find them; the journal undoes and repeats them.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..parameter import Parameter
from ..tensor import Tensor
from .bytecode import RENAMED, instructions_of
from .chains import MISSING, SCALARS, Chain, follow
from .fallback import check_fallback
from .guards import MUTATORS, Reads, is_cell
from .locations import Location
from .matching import attributes_matched, made_at
from .stack_flow import UNKNOWN, Flow, flow_of
from .traced import PACKAGE_NAME, TraceBreak, Traced, in_package

PLACED = ("layerwise_parallel", "parallel_optimizer", "comm_fusion")
"""Attributes of a Parameter that anyone may set; `watch.py` sees who asks for its others."""


class Stores:
    """Notes the writes of one function, as far as names lead to where it writes."""

    def __init__(self, reads: Reads, code: types.CodeType, first: bool) -> None:
        self.reads = reads
        self.code = code
        self.first = first

    def variable(self, owner: Any, key: Any, kind: str, text: str, where: str) -> None:
        """Note a write to a global, or to a variable of a function around."""
        self._note(Location(owner, key, kind, text), f"{text!r} outside the function", True, where)

    def attribute(self, chain: Chain, name: str, where: str) -> None:
        """Note a write to an attribute of what a chain of names leads to."""
        owner = chain.value()
        if owner is MISSING or id(owner) in self.reads.born:
            return
        if self.reads.journal is None or isinstance(owner, Tensor):
            raise TraceBreak(
                f"the attribute {name!r} of an object outside is assigned",
                "keep state in a Parameter and use set_data or ops.assign",
                where,
            )
        place = attribute_of(owner, name, f"{chain}.{name}")
        if place is not None:
            self._note(place, f"{chain}.{name}", self._is_named(chain), where)

    def item(self, chain: Chain, key: Any, where: str) -> None:
        """Note a write to an item of a container; ``key`` is MISSING if it is made at run time."""
        owner = chain.value()
        if not isinstance(owner, np.ndarray) and type(owner) not in MUTATORS:
            return
        local = chain.kind == "object" and not chain.path
        if local and not self.first and id(owner) not in self.reads.containers:
            return
        text = f"an item of {chain}, outside the function,"
        if key is MISSING or type(key) not in SCALARS or type(owner) not in (dict, list):
            raise TraceBreak(f"{text} is assigned", "return the value instead", where)
        place = Location(owner, key, "item", f"{chain}[{key!r}]")
        self._note(place, text, self._is_named(chain), where)

    def deletes(self, chain: Chain, what: str, where: str) -> None:
        """Refuse to delete something outside."""
        raise TraceBreak(f"{what} of {chain} is deleted", "assign None instead", where)

    def _is_named(self, chain: Chain) -> bool:
        return chain.kind != "object" or self.first

    def _note(self, place: Location, text: str, named: bool, where: str) -> None:
        if self.reads.journal is None:
            raise TraceBreak(f"{text} is assigned", "return the value instead", where)
        self.reads.journal.writes(place, named, self.first)


def attribute_of(owner: Any, name: str, text: str) -> Location | None:
    """Return the place of an attribute; None where setting it runs code, which is watched too."""
    if isinstance(owner, types.ModuleType):
        return Location(vars(owner), name, "item", text)
    found = getattr(type(owner), name, None)
    if isinstance(found, property) and isinstance(found.fset, types.FunctionType):
        return None
    return Location(owner, name, "attr", text)


def is_plain(value: Any) -> bool:
    """Return whether a value's attributes are fixed by what it is or made by the trace."""
    if isinstance(value, types.SimpleNamespace):
        return False
    module = type(value).__module__
    return isinstance(value, Tensor | types.ModuleType | type) or module.partition(".")[0] in (
        "builtins", "numpy", "functools", "types", PACKAGE_NAME,
    )  # fmt: skip


# -- writes to what only run time tells, as in loops over objects --------------------------------


class Loose(NamedTuple):
    """A write to an attribute or item of what a local variable leads to, or a read of one."""

    local: str | None
    path: tuple[tuple[str, Any], ...]
    kind: str
    key: Any
    key_local: bool = False


STORING = ("STORE_ATTR", "STORE_SUBSCR", "STORE_GLOBAL", "STORE_DEREF")
SETTERS = ("__setattr__", "__delattr__")
"""Methods that set attributes; nobody is told of their calls."""
NAMED = "a global"
"""Stands for what starts at a global: names tell what that is."""
MADE = "what is made inside"
BUILDS = (
    "BUILD_LIST",
    "BUILD_MAP",
    "BUILD_SET",
    "BUILD_CONST_KEY_MAP",
    "LIST_EXTEND",
    "SET_UPDATE",
)


def loose_stores(code: types.CodeType) -> dict[int, Loose]:
    """Return the writes in a function's code whose object only run time tells, by offset."""
    flow = flow_of(code)
    known = _known_locals(code, flow)
    found: dict[int, Loose] = {}
    for position, now in enumerate(flow.instructions):
        taken = flow.taken[position]
        if now.opname == "STORE_ATTR":
            local, path = _origin(flow, taken[1])
            store = Loose(local, path, "attr", now.argval)
        elif now.opname == "STORE_SUBSCR":
            local, path = _origin(flow, taken[1])
            store = Loose(local, path, "item", *_key(flow, taken[2]))
        elif now.opname == "MATCH_CLASS":
            found[now.offset] = Loose(None, (), "match", position)
            continue
        elif now.opname == "CALL" and _called(flow, taken) in SETTERS:
            found[now.offset] = Loose(None, (), "call", position)
            continue
        elif now.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            local, path = _origin(flow, taken[0])
            store = Loose(local, path, "read", now.argval)
        else:
            continue
        reads = store.kind == "read"
        if local not in known and not (reads and (local is None or hasattr(Tensor, store.key))):
            found[now.offset] = store
    written = {(*store[:2], store.key) for store in found.values() if store.kind == "attr"}
    for offset, read in found.items():
        if read.kind == "read" and (*read[:2], read.key) in written:
            found[offset] = read._replace(kind="attr")  # it is looked after from here on
    return found


def _called(flow: Flow, taken: tuple[int, ...]) -> Any:
    """Return the name of the method that a call calls."""
    function = flow.instructions[taken[0]] if taken[0] != UNKNOWN else None
    is_method = function is not None and function.opname in ("LOAD_ATTR", "LOAD_METHOD")
    return function.argval if function is not None and is_method else None


def _origin(flow: Flow, position: int) -> tuple[str | None, tuple[tuple[str, Any], ...]]:
    """Return the variable and the steps from it that make a value; no variable if it is unnamed."""
    path: tuple[tuple[str, Any], ...] = ()
    while position != UNKNOWN:
        now = flow.instructions[position]
        name = RENAMED.get(now.opname, now.opname)
        if name in ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE"):
            return now.argval, path
        if name in ("LOAD_GLOBAL", "LOAD_NAME"):
            return NAMED, path
        if name in BUILDS:
            return MADE, path
        if name == "BINARY_SUBSCR":
            key, is_local = _key(flow, flow.taken[position][1])
            if key is MISSING or is_local:
                return None, ()
            path = (("item", key), *path)
        elif name == "LOAD_ATTR":
            path = (("attr", now.argval), *path)
        else:
            return None, ()
        position = flow.taken[position][0]
    return None, ()


def _key(flow: Flow, position: int) -> tuple[Any, bool]:
    """Return a key and whether it is the name of a variable; ``MISSING`` if it is neither."""
    now = flow.instructions[position] if position != UNKNOWN else None
    if now is not None and now.opname in ("LOAD_CONST", "LOAD_SMALL_INT"):
        return now.argval, False
    if now is not None and RENAMED.get(now.opname, now.opname) == "LOAD_FAST":
        return now.argval, True
    return MISSING, False


def _known_locals(code: types.CodeType, flow: Flow) -> set[str | None]:
    """Return the variables of which names or the code itself tell what they are."""
    stores = [
        (now.argval, flow.instructions[taken[0]].opname if taken and taken[0] >= 0 else "")
        for now, taken in zip(flow.instructions, flow.taken, strict=True)
        if now.opname in ("STORE_FAST", "STORE_DEREF")
    ]
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    stored = {name for name, _ in stores}
    built = stored - {name for name, maker in stores if maker not in BUILDS}
    return ({*arguments, *code.co_freevars} - stored) | built | {NAMED, MADE}


def _keys_stored(code: types.CodeType) -> dict[int, Any]:
    """Return what the writes in a function's code write to, by offset; ``MISSING`` for an item."""
    found = [i for i in instructions_of(code) if i.name in STORING]
    return {
        i.offset: {"STORE_SUBSCR": MISSING, "STORE_DEREF": "cell_contents"}.get(i.name, i.value)
        for i in found
    }


@contextmanager
def seeing_loose_stores(reads: Reads) -> Iterator[Callable[[types.FrameType], None]]:
    """Give a function that watches a frame's writes to what only run time tells."""
    codes: dict[types.CodeType, dict[int, Loose]] = {}
    keys: dict[types.CodeType, dict[int, Any]] = {}
    done = reads.journal.stored if reads.journal is not None else set[Any]()
    outer = sys.gettrace()

    def on_opcode(frame: types.FrameType, event: str, arg: Any) -> Any:
        found = codes[frame.f_code].get(frame.f_lasti) if event == "opcode" else None
        if found is not None:
            note_loose(frame, found, reads)
        if event == "opcode" and frame.f_lasti in keys[frame.f_code]:
            done.add(keys[frame.f_code][frame.f_lasti])
        return on_opcode

    def see(frame: types.FrameType) -> None:
        code = frame.f_code
        if code not in codes:
            codes[code] = {} if in_package(code.co_filename) else loose_stores(code)
            keys[code] = _keys_stored(code)
        if in_package(code.co_filename):
            done.update(keys[code].values())
        elif codes[code] or (keys[code] and reads.journal and reads.journal.openings.written):
            frame.f_trace, frame.f_trace_opcodes, frame.f_trace_lines = on_opcode, True, False
            if sys.gettrace() is None:
                sys.settrace(lambda frame, event, arg: None)

    try:
        yield see
    finally:
        if outer is None and sys.gettrace() is not None:
            sys.settrace(None)


def check_read(owner: Any, name: str, text: str, reads: Reads, where: str) -> None:
    """Refuse to read an attribute that nothing looks after."""
    check_fallback(owner, name, where)
    if not is_cell(owner) and id(owner) not in reads.born:
        reads.add_method(owner, name)
    if not is_looked_after(owner, name, reads) and not callable(getattr(type(owner), name, None)):
        raise TraceBreak(
            f"{text} is read from a {type(owner).__name__} that no name leads to",
            "read it through a global, a closure or an attribute of the Cell",
            where,
        )


def is_looked_after(owner: Any, name: str, reads: Reads) -> bool:
    """Return whether an attribute of an object needs no guard of its own."""
    if isinstance(owner, Parameter) and name in PLACED:
        return False
    if owner is MISSING or is_cell(owner) or id(owner) in reads.born or is_plain(owner):
        return True
    return reads.journal is not None and reads.journal.meets(owner, "attr", name)


def guard_read(owner: Any, name: str, reads: Reads, where: str) -> None:
    """Guard an attribute of an object that only run time tells, as it is read."""
    if is_looked_after(owner, name, reads):
        return
    check_fallback(owner, name, where)
    reads.add_method(owner, name)
    value = getattr(owner, name, MISSING)
    if value is MISSING or isinstance(value, Traced) or callable(getattr(type(owner), name, None)):
        return
    reads.add(Chain(owner, "object", type(owner).__name__, (("attr", name),)), value)


def guard_match(owner: Any, name: str, reads: Reads, where: str) -> None:
    """Guard an attribute that a class pattern reads, also that there is none."""
    if is_cell(owner):
        reads.add_cell(owner)
        reads.loose.add(name)
    elif hasattr(owner, name):
        guard_read(owner, name, reads, where)
    elif not is_looked_after(owner, name, reads):
        chain = Chain(owner, "object", type(owner).__name__, (("attr", "__dict__"),))
        reads.add(chain, getattr(owner, "__dict__", MISSING))


def check_setter(frame: types.FrameType, position: int, reads: Reads, where: str) -> None:
    """Refuse ``object.__setattr__(part, ...)`` and its like, but of what the code made itself."""
    flow = flow_of(frame.f_code)
    taken = flow.taken[position]
    giver = flow.taken[taken[0]][0]
    owner = made_at(frame, flow, giver, position)
    if isinstance(owner, type) and len(taken) > 2:
        owner = made_at(frame, flow, taken[2], position)
    elif giver != UNKNOWN and flow.instructions[giver].opname == "CALL":  # of super()
        owner = frame.f_locals.get(next(iter(frame.f_code.co_varnames), ""), MISSING)
    if id(owner) not in reads.born:
        raise TraceBreak(
            f"{_called(flow, taken)}() changes an attribute outside the graph",
            "assign it by its name: part.count = ...",
            where,
        )


def note_loose(frame: types.FrameType, found: Loose, reads: Reads) -> None:
    """Note one write, just before it happens."""
    where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    if found.kind == "match":
        owner, names = attributes_matched(frame, found.key, reads)
        for name in names:
            guard_match(owner, name, reads, where)
        return
    if found.kind == "call":
        check_setter(frame, found.key, reads, where)
        return
    owner: Any = MISSING if found.local is None else frame.f_locals.get(found.local, MISSING)
    for kind, step in found.path:
        owner = MISSING if owner is MISSING else follow(owner, kind, step)
    if found.kind == "read":
        guard_read(owner, found.key, reads, where)
        return
    if isinstance(owner, Tensor) and (found.kind == "item" or not isinstance(owner, Parameter)):
        return
    if owner is MISSING or reads.journal is None:
        raise TraceBreak(
            f"an {'item' if found.kind == 'item' else 'attribute'} of what has no name is assigned",
            "give it a name first: part = parts[i]; part.count += 1",
            where,
        )
    key = frame.f_locals.get(found.key, MISSING) if found.key_local else found.key
    if id(owner) in reads.born:
        return
    text = f"{found.local}{''.join(f'.{s}' if k == 'attr' else f'[{s!r}]' for k, s in found.path)}"
    if found.kind == "attr":
        place = attribute_of(owner, key, f"{text}.{key}")
    elif isinstance(owner, np.ndarray) or type(owner) in MUTATORS:
        if type(key) not in SCALARS or type(owner) not in (dict, list):
            reads.journal.changes_only_own(owner, text)
            return
        place = Location(owner, key, "item", f"{text}[{key!r}]")
    else:
        return
    if place is not None:
        reads.journal.writes(place, named=False, first=False)
