"""Guards: everything that traced code read from outside, and one function that checks it.

A trace of ``x * cfg.alpha`` sees only the number. ``watch`` finds the chains of names that the
code read; each becomes a guard. A changed value means another specialisation.
"""

from __future__ import annotations

import builtins
import collections
import copy
import operator
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.tensor_hooks import hooks_of
from ..parameter import Parameter, switches
from ..tensor import Tensor
from .chains import CHANGEABLE, MAX_DEPTH, SCALARS, Chain, Held, TooLargeError, snapshot
from .functions import Functions
from .traced import TraceBreak, in_package

if TYPE_CHECKING:
    from .journal import Journal

MUTATORS = {
    list: {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"},
    dict: {"update", "pop", "popitem", "clear", "setdefault"},
    set: {"add", "discard", "remove", "pop", "clear", "update"},
    collections.deque: {
        "append",
        "appendleft",
        "pop",
        "popleft",
        "extend",
        "extendleft",
        "clear",
        "rotate",
        "insert",
        "remove",
        "reverse",
    },
    bytearray: {"append", "extend", "pop", "remove", "clear", "insert", "reverse"},
}
NO_MEMBERS = (Tensor, type, types.FunctionType, types.ModuleType)
CELL_STATE = (
    (("attr", "_cells"),),
    (("attr", "hooks"), ("attr", "version")),
    (("attr", "training"),),
)


@dataclass(frozen=True, slots=True)
class Guard:
    """A chain and what its value was while tracing."""

    chain: Chain
    expected: Any

    def holds(self) -> bool:
        """Return whether the chain still gives what the trace saw."""
        try:
            value = self.chain.value()
            if isinstance(self.expected, Held):
                return value is self.expected.value
            return snapshot(value) == self.expected
        except TooLargeError:
            return False


@dataclass(slots=True)
class Reads:
    """Everything that one trace read from outside."""

    guards: dict[object, Guard] = field(default_factory=dict)
    containers: set[int] = field(default_factory=set)
    outside: set[int] = field(default_factory=set)
    """Those to which a global or a closure leads."""
    originals: dict[int, tuple[Any, Any]] = field(default_factory=dict, repr=False)
    """Containers with copies of what they held when they were first read."""
    cells: dict[int, Any] = field(default_factory=dict)
    loose: set[str] = field(default_factory=set)
    unnamed: set[str] = field(default_factory=set)
    """Attributes read from what has no name, as in ``parts[i + 1].rate``."""
    members: dict[int, Any] = field(default_factory=dict, repr=False)
    """Objects from outside, also in containers: what has no name may be one of them."""
    functions: Functions = field(default_factory=Functions, repr=False)
    walked: set[types.CodeType] = field(default_factory=set, repr=False)
    born: dict[int, Any] = field(default_factory=dict, repr=False)
    """Objects that the traced code made itself: their attributes are what it gave them."""
    listed: dict[int, Any] = field(default_factory=dict, repr=False)
    """Cells whose Parameters or buffers were listed."""
    asked: dict[int, Parameter] = field(default_factory=dict, repr=False)
    """Parameters whose name was asked for, or whether they are trained."""
    promoted: set[int] = field(default_factory=set, repr=False)
    """Identities of the traced tensors that stand for Python floats."""
    where: str | None = None
    """Where the traced function is written."""
    journal: Journal | None = field(default=None, repr=False)
    """What notes effects, where they may be done again at each call."""
    hold: Callable[[], bool] = field(default=lambda: True, repr=False)
    """Whether nothing that was read has changed; set by ``finish``."""

    def add(self, chain: Chain, value: Any) -> None:
        """Note that the trace saw ``value`` at the end of ``chain``."""
        if type(value) in MUTATORS:
            self.note_container(chain, value)
        key = (id(chain.root), chain.kind, chain.name, chain.path)
        if key not in self.guards:
            self._meet_member(value)
            self._keep_content(value)
            try:
                self.guards[key] = Guard(chain, snapshot(value))
            except TooLargeError:
                raise TraceBreak(
                    f"{chain} is too large or too deeply nested to be watched for changes",
                    "pass what is needed of it as an argument",
                ) from None
            if is_cell(value):
                self.add_cell(value)
                if chain.kind != "object" and self.journal is not None:
                    self.journal.meet_cell(value)

    def _keep_content(self, value: Any, depth: int = MAX_DEPTH) -> None:
        """Keep what a container and those in it hold, should the code change them."""
        if isinstance(value, (*MUTATORS, np.ndarray)):
            if id(value) in self.originals:
                return
            self.originals[id(value)] = (value, copy.copy(value))
        if depth and isinstance(value, dict | list | tuple | collections.deque):
            for part in value.values() if isinstance(value, dict) else value:
                if self.journal is not None:
                    self.journal.meet_in_container(part)
                self._meet_member(part)
                self._keep_content(part, depth - 1)

    def note_container(self, chain: Chain, container: Any) -> None:
        """Note a container to which a chain leads."""
        self.containers.add(id(container))
        if chain.kind != "object":
            self.outside.add(id(container))

    def add_identity(self, chain: Chain, value: Any) -> None:
        """Note that ``chain`` leads to this very object, whatever it holds."""
        key = (id(chain.root), chain.kind, chain.name, chain.path)
        self.note_container(chain, value)
        self.guards.setdefault(key, Guard(chain, Held(value)))

    def add_cell(self, cell: Any) -> None:
        """Guard a Cell's hooks, sub-Cells, mode and ``construct``, once."""
        if id(cell) in self.cells:
            return
        self.cells[id(cell)] = cell
        kind = type(cell)
        self.add(Chain(kind, "object", kind.__name__, (("attr", "construct"),)), kind.construct)
        for path in CELL_STATE:
            chain = Chain(cell, "object", type(cell).__name__, path)
            self.add(chain, chain.value())
        for child in cell.__dict__["_cells"].values():
            self.add_cell(child)

    def add_state(self, cell: Any) -> None:
        """Guard which Parameters and buffers a Cell and those below it have, once."""
        if id(cell) in self.listed:
            return
        self.listed[id(cell)] = cell
        buffers = [name for name in cell.__dict__["_buffers"] if not self._is_kept(cell, name)]
        for name in ("_params", "_buffers", *buffers):
            chain = Chain(cell, "object", type(cell).__name__, (("attr", name),))
            self.add(chain, chain.value())
        for child in cell.__dict__["_cells"].values():
            self.add_state(child)

    def finish(self, captured: Iterable[Any]) -> None:
        """Guard what no chain names, and compile the check.

        That is attributes read from Cells in loops, the code and defaults of the functions
        entered, and which Parameters (``captured``, those of the Cells and those asked) are trained
        and hooked, and their names.
        """
        for code in self.walked:
            for function in self.functions.of.get(code, ()):
                self._add_function(function)
        for name in self.loose:
            for cell in self.cells.values():
                if name in cell.__dict__ and not self._is_kept(cell, name):
                    chain = Chain(cell, "object", type(cell).__name__, (("attr", name),))
                    self.add(chain, cell.__dict__[name])
                else:
                    self.add_method(cell, name)
        self._add_members()
        self.members.clear()
        self.born.clear()
        held = [p for cell in self.cells.values() for p in cell.__dict__["_params"].values()]
        tensors = [*held, *self.asked.values(), *captured]
        self.hold = compile_check([*self.guards.values()], same_training(tensors))
        for chain in self.changed():
            for container, content in self.originals.values():
                refill(container, content)
            raise TraceBreak(
                f"{chain}, outside the function, is changed by it",
                "return the value instead",
                self.where,
            )

    def _meet_member(self, value: Any) -> bool:
        """Note an object that attributes may be read from; return whether it is a new one."""
        plain = not type(value).__dictoffset__ or isinstance(value, NO_MEMBERS)
        if plain or id(value) in self.members:
            return False
        self.members[id(value)] = value
        return True

    def _add_members(self) -> None:
        """Guard attributes read from what may be an object in a container, or lead on from it."""
        waiting = [*self.members.values()]
        while waiting:
            owner = waiting.pop()
            for name in sorted(self.unnamed.intersection(vars(owner))):
                if is_cell(owner) or self._is_kept(owner, name):
                    continue
                value = vars(owner)[name]
                waiting += [value] if self._meet_member(value) else []
                self.add(Chain(owner, "object", type(owner).__name__, (("attr", name),)), value)

    def add_method(self, owner: Any, name: str) -> None:
        """Guard which method the user's object has by this name: it may get one of its own."""
        found = getattr(type(owner), name, None)
        if isinstance(found, types.FunctionType) and not in_package(found.__code__.co_filename):
            chain = Chain(owner, "object", type(owner).__name__, (("attr", name),))
            self.add(chain, getattr(owner, name))

    def meet_loose(self) -> None:
        """Tell the journal of attributes of Cells that are read where no chain tells of which."""
        for name in self.loose:
            for cell in self.cells.values():
                self._is_kept(cell, name)

    def _is_kept(self, owner: Any, name: str) -> bool:
        return self.journal is not None and self.journal.meets(owner, "attr", name)

    def _add_function(self, function: types.FunctionType) -> None:
        if in_package(function.__code__.co_filename, "engine"):
            return
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            value = getattr(function, name)
            if value is not None:
                self.add(Chain(function, "object", function.__name__, (("attr", name),)), value)

    def changed(self) -> list[Chain]:
        """Return the chains whose value differs now."""
        return [guard.chain for guard in self.guards.values() if not guard.holds()]


def refill(container: Any, content: Any) -> None:
    """Put back what a container held, so that running the code again changes it once."""
    if isinstance(container, list | bytearray):
        container[:] = content
        return
    if isinstance(container, np.ndarray):
        if container.flags.writeable:
            container[...] = content
        return
    container.clear()
    if isinstance(container, collections.deque):
        container.extend(content)
    else:
        container.update(content)


def is_cell(value: Any) -> bool:
    """Return whether ``value`` is a Cell."""
    return hasattr(type(value), "construct") and "_cells" in getattr(value, "__dict__", ())


def same_training(tensors: list[Tensor]) -> Callable[[], bool]:
    """Return a check that the tensors have the names and hooks of now, and the same are trained."""
    flags = [_training(tensor) for tensor in tensors]
    seen = [switches[0]]

    def same() -> bool:
        if seen[0] == switches[0]:
            return True
        if [_training(tensor) for tensor in tensors] != flags:
            return False
        seen[0] = switches[0]
        return True

    return same


def _training(tensor: Tensor) -> object:
    if not isinstance(tensor, Parameter):
        return hooks_of(tensor)
    return tensor.requires_grad, tensor.name, hooks_of(tensor)


def compile_check(guards: list[Guard], same: Callable[[], bool]) -> Callable[[], bool]:
    """Return one function that checks all guards: a chain costs some ten nanoseconds."""
    names: dict[str, Any] = {
        "snapshot": snapshot, "switches": switches, "same": same, "TooLargeError": TooLargeError,
        "same_object": operator.is_,
    }  # fmt: skip
    roots: dict[int, str] = {}
    tests: dict[object, str] = {0: f"(switches[0] == {switches[0]} or same())"}
    for number, guard in enumerate(guards):
        source = _source(guard.chain, names, roots)
        if source not in tests:
            tests[source] = _test(source, guard, number, names)
    body = "\n            and ".join(tests.values())
    text = (
        "def check():\n    try:\n        return (\n            "
        f"{body}\n        )\n    except (AttributeError, LookupError, TypeError, ValueError,"
        " TooLargeError):\n"
        "        return False\n"
    )
    exec(compile(text, "<guards>", "exec"), names)
    return names["check"]


def _test(source: str, guard: Guard, number: int, names: dict[str, Any]) -> str:
    """Return the Python expression that one guard holds, its constants bound in ``names``."""
    expected, name = guard.expected, f"e{number}"
    if isinstance(expected, Held):
        names[name] = expected.value
        return f"{source} is {name}"
    if isinstance(expected, tuple) and expected[0] in (bool, type(None)):
        return f"{source} is {expected[1]!r}"
    if type(now := guard.chain.value()) is types.MethodType and snapshot(now) == expected:
        names[f"f{number}"], names[f"s{number}"] = now.__func__, now.__self__
        return f"(v := {source}).__func__ is f{number} and v.__self__ is s{number}"
    if _is_number_or_text(expected):
        names[name], names[f"t{number}"] = expected[1], expected[0]
        return f"((v := {source}) is {name} or v.__class__ is t{number} and v == {name})"
    names[name] = expected
    if guard.chain.path[-1:] == (("attr", "_cells"),):  # names and Cells, whose ids last with them
        return _same_items(source, now, number, names) if expected[1] else f"not {source}"
    if _is_lasting(now) and snapshot(now) == expected:  # the same object is the same value
        names[f"o{number}"] = now
        return f"((v := {source}) is o{number} or snapshot(v) == {name})"
    if _has_lasting_items(now) and snapshot(now) == expected:
        same = _same_items(source, now, number, names)
        return f"({same} or snapshot({source}) == {name})"
    return f"snapshot({source}) == {name}"


def _has_lasting_items(value: Any) -> bool:
    if type(value) is dict:
        return all(type(key) in (str, int) for key in value) and all(
            map(_is_lasting, value.values())
        )
    return isinstance(value, list | tuple) and _is_plain(value) and all(map(_is_lasting, value))


def _is_plain(value: list[Any] | tuple[Any, ...] | frozenset[Any]) -> bool:
    """Return whether a container gives what it holds, whatever its class is."""
    return any(type(value).__iter__ is kind.__iter__ for kind in (list, tuple, frozenset))


def _same_items(source: str, now: Any, number: int, names: dict[str, Any]) -> str:
    """Return the test that a list or dictionary has the very same items, in a text."""
    items = [*now.values()] if isinstance(now, dict) else [*now]
    names[f"i{number}"], names[f"y{number}"] = items, type(now)
    kind = f"(v := {source}).__class__ is y{number}"
    if not isinstance(now, dict):
        return f"({kind} and len(v) == {len(items)} and all(map(same_object, v, i{number})))"
    names[f"n{number}"] = [*now]
    keys = f"[*v] == n{number}"
    if any(type(key) is not str for key in now):  # 1 is True and 1.0 as well
        names[f"c{number}"] = [*map(type, now)]
        keys += f" and [*map(type, v)] == c{number}"
    return f"({kind} and {keys} and all(map(same_object, v.values(), i{number})))"


def _is_lasting(value: Any) -> bool:
    """Return whether the same object has the same ``snapshot`` for ever."""
    if isinstance(value, tuple | frozenset):
        return _is_plain(value) and all(map(_is_lasting, value))
    return type(value) in SCALARS or not isinstance(value, CHANGEABLE)


def _is_number_or_text(expected: Any) -> bool:
    """Return whether ``==`` on values of one type is enough; not so for zeros and NaN."""
    if not isinstance(expected, tuple) or expected[0] not in (int, float, str):
        return False
    return isinstance(expected[1], expected[0])


def _source(chain: Chain, names: dict[str, Any], roots: dict[int, str]) -> str:
    """Return the Python expression of a chain over names bound in ``names``."""
    root = roots.get(id(chain.root))
    if root is None:
        root = roots[id(chain.root)] = f"r{len(roots)}"
        names[root] = chain.root
    text = root
    if chain.kind == "global" and chain.name in chain.root:  # pyright: ignore[reportOperatorIssue]
        text = f"{root}[{chain.name!r}]"
    elif chain.kind == "global":  # a built-in name, until there is a global of that name
        names["builtins"] = builtins
        text = f"{root}.get({chain.name!r}, builtins.{chain.name})"
    elif chain.kind == "absent":
        text = f"({chain.name!r} not in {root})"
    elif chain.kind == "closure":
        text = f"{root}.cell_contents"
    for kind, name in chain.path:
        text += f".{name}" if kind == "attr" else f"[{name!r}]"
    return text
