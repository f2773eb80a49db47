"""Walking the byte code of one function for what it reads from outside and writes there.

`watch.py` calls it for each function that traced code enters.
"""

from __future__ import annotations

import builtins
import importlib.util
import sys
import types
from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..parameter import Parameter
from ..tensor import Tensor
from .bytecode import Instruction, instructions_of
from .chains import MISSING, Chain, Step, runs_code
from .effects import UNSTABLE_MODULES, check_lasting, check_stable
from .fallback import check_fallback
from .guards import MUTATORS, Reads, is_cell
from .host_numbers import HostNumber
from .journal import GROWING
from .stores import Stores
from .traced import PACKAGE_NAME, TraceBreak, Traced, in_package

EFFECTS = {
    "STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "STORE_SUBSCR", "COPY", "DELETE_ATTR",
    "DELETE_SUBSCR",
}  # fmt: skip
"""Instructions that may act outside the function."""
NOT_OF_DATA = {"requires_grad", "name", "layerwise_parallel", "parallel_optimizer", "comm_fusion"}
"""Attributes of a Parameter that change with no new tensor."""
REFLECTION = {"getattr": getattr, "hasattr": hasattr}
COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
LOCAL_NAMES = {"LOAD_DEREF": "LOAD_FAST", "STORE_DEREF": "STORE_FAST"}


def is_made_inside(name: str, frame: types.FrameType, live: Container[int]) -> bool:
    """Return whether a variable of the closure is a local one of traced code that still runs."""
    inner, outer = frame.f_code, frame.f_back
    while outer is not None and id(outer) in live:
        if inner in outer.f_code.co_consts:
            if name in outer.f_code.co_cellvars:
                return outer.f_locals.get(name) is frame.f_locals[name]
            inner = outer.f_code
        outer = outer.f_back
    return False


@dataclass(frozen=True, slots=True)
class Text:
    """A function's instructions, variables that an inner function uses being local ones."""

    instructions: tuple[Instruction, ...]
    stored: Counter[str]
    """How often each local variable is assigned."""
    acts: bool
    """Whether there is an instruction that may act outside."""


@lru_cache(1024)
def _text_of(code: types.CodeType) -> Text:
    instructions = tuple(_as_local(i, code) for i in instructions_of(code))
    stored = Counter(i.value for i in instructions if i.name == "STORE_FAST")
    return Text(instructions, stored, any(i.name in EFFECTS for i in instructions))


def _as_local(instruction: Instruction, code: types.CodeType) -> Instruction:
    name = LOCAL_NAMES.get(instruction.name)
    if name is None or instruction.value not in code.co_cellvars:
        return instruction
    return Instruction(name, instruction.value, instruction.line, instruction.offset)


class Walker:
    """Finds the chains in one function's byte code."""

    def __init__(
        self,
        frame: types.FrameType,
        arguments: Mapping[str, Any],
        reads: Reads,
        live: Container[int] = (),
        first: bool = False,
    ) -> None:
        self.code = frame.f_code
        self.stores = Stores(reads, self.code, first)
        self.position = 0
        self.noting = False
        self.globals = frame.f_globals
        self.arguments = arguments
        self.reads = reads
        for value in arguments.values():
            reads.functions.learn(value)
        self.cells = self._cells(frame)
        self.inner = {
            name: frame.f_locals[name]
            for name in self.code.co_freevars
            if name in frame.f_locals and is_made_inside(name, frame, live)
        }
        self.line = self.code.co_firstlineno
        self.aliases: dict[str, Chain] = {}
        self.imported: Chain | None = None
        self.reflecting: int | None = None
        self.unknown: list[tuple[str, str]] = []
        self.own = in_package(self.code.co_filename, "engine")
        self.text = _text_of(self.code)
        self.instructions = self.text.instructions

    def _cells(self, frame: types.FrameType) -> dict[str, object]:
        """Return the closure's cells by name; the frame itself shows only their contents."""
        code, outer = frame.f_code, frame.f_back
        if not code.co_freevars:
            return {}
        if code.co_name in COMPREHENSIONS and outer and code in outer.f_code.co_consts:
            cells = self._cells(outer)  # what is not among them is made inside
            return {name: cells[name] for name in code.co_freevars if name in cells}
        function = self.reads.functions.running(frame)
        if function is None:
            return {}
        return dict(zip(code.co_freevars, function.__closure__ or (), strict=True))

    def run(self) -> list[tuple[str, str]]:
        """Walk all instructions, for writes first, since what is written is not guarded.

        Returns the attributes read from variables not known yet.
        """
        if self.text.acts:
            self._walk()
            self.unknown.clear()
        self.noting = True
        self._walk()
        return self.unknown

    def _walk(self) -> None:
        chain: Chain | None = None
        before: Chain | None = None
        constant: Any = MISSING
        previous = Instruction("", None, 0)
        for position, instruction in enumerate(self.instructions):
            self.position = position
            name, value = instruction.name, instruction.value
            if name in ("LOAD_ATTR", "LOAD_METHOD"):
                self._loose(previous, instruction, chain)
                if not self.noting:
                    self._augmented(previous, instruction, chain)
            if self.noting:
                self._reflect(position, chain)
            previous_but_one, previous = previous, instruction
            self.line = instruction.line or self.line
            if name in ("LOAD_ATTR", "LOAD_METHOD") and chain is not None:
                chain = self._extend(chain, ("attr", value))
            elif name == "LOAD_CONST" and chain is not None and constant is MISSING:
                constant = value
            elif name == "BINARY_SUBSCR" and chain is not None and constant is not MISSING:
                chain, constant = self._extend(chain, ("item", constant)), MISSING
            elif name == "COPY" and value == 1:
                pass
            else:
                container = before if constant is MISSING else chain
                if name == "STORE_FAST" and chain is not None and constant is MISSING:
                    self._alias(value, chain)
                if (
                    not self.noting
                    and name in EFFECTS
                    and (previous_but_one.name, name) != ("COPY", "COPY")
                ):
                    self._effects(instruction, chain, container, constant)
                before, chain, constant = chain, self._start(position), MISSING
                if chain is not None:
                    self._note(chain)

    def _alias(self, local: str, chain: Chain) -> None:
        if self.text.stored.get(local) == 1 and local not in self.arguments:
            self.aliases[local] = chain

    def _loose(self, previous: Instruction, now: Instruction, chain: Chain | None) -> None:
        if previous.name == "LOAD_FAST" and chain is None:
            self.unknown.append((previous.value, now.value))
        elif chain is None and not self.own:
            self.reads.unnamed.add(now.value)

    def _augmented(self, previous: Instruction, now: Instruction, chain: Chain | None) -> None:
        """Note ``object.attribute += ...`` on what a chain leads to."""
        copied = previous.name == "COPY" and previous.value == 1
        if copied and now.name == "LOAD_ATTR" and chain is not None:
            self.stores.attribute(chain, now.value, self._where())

    def _reflect(self, position: int, chain: Chain | None) -> None:
        """Guard what ``getattr`` and ``hasattr`` look at: the first argument ends here."""
        now = self.instructions[position]
        if self.reflecting is None or now.name in ("LOAD_ATTR", "LOAD_METHOD", "BINARY_SUBSCR"):
            return
        if self.reflecting == position - 1:  # the name getattr itself; its argument begins
            return
        after = self.instructions[position + 1].name if now.name == "LOAD_CONST" else ""
        if after == "BINARY_SUBSCR":
            return
        local = self.instructions[self.reflecting + 1]
        single = self.reflecting + 2 == position and local.name == "LOAD_FAST"
        self.reflecting = None
        name = now.value if now.name == "LOAD_CONST" and isinstance(now.value, str) else None
        if chain is not None:
            self._look_into(chain, name)
        elif single and name is not None:
            self.unknown.append((local.value, name))
        elif single:
            raise TraceBreak(
                f"an attribute of {local.value!r} is read by a name made at run time",
                "write the attribute's name in the code",
                self._where(),
            )

    def _look_into(self, chain: Chain, name: str | None) -> None:
        value = chain.value()
        if value is MISSING or isinstance(value, Tensor):
            return
        if name is not None and self._meets(_longer(chain, ("attr", name))):
            return
        if isinstance(value, types.ModuleType) and value.__name__.startswith(PACKAGE_NAME):
            return
        if name is not None:
            check_fallback(value, name, self._where())
        if name is not None and hasattr(value, name):
            self._extend(chain, ("attr", name))
        elif hasattr(value, "__dict__") and not isinstance(value, types.ModuleType | type):
            self.reads.add(
                _longer(chain, ("attr", "__dict__")),
                value.__dict__,
            )
        else:
            raise TraceBreak(
                f"an attribute of {chain} is read by a name made at run time",
                "write the attribute's name in the code",
                self._where(),
            )

    def _where(self) -> str:
        return f"{self.code.co_filename}:{self.line}"

    def _start(self, position: int) -> Chain | None:
        instruction = self.instructions[position]
        name, value = instruction.name, instruction.value
        if name in ("LOAD_GLOBAL", "LOAD_NAME"):
            chain = Chain(self.globals, "global", value)
            if value in REFLECTION and chain.value() is REFLECTION[value]:
                self.reflecting = position
            return chain
        if name == "IMPORT_NAME" and not self.own:
            self.imported = self._module(position)
            return self.imported
        if name == "IMPORT_FROM" and self.imported is not None:
            return self._extend(self.imported, ("attr", value))
        if name == "LOAD_DEREF" and value in self.inner:
            return Chain(self.inner[value], "object", value)
        if name in ("LOAD_DEREF", "LOAD_CLASSDEREF") and value in self.cells:
            return Chain(self.cells[value], "closure", value)
        if name == "LOAD_FAST":
            if value in self.aliases:
                return self.aliases[value]
            if value in self.arguments and value not in self.text.stored:
                return Chain(self.arguments[value], "object", value)
        return None

    def _module(self, position: int) -> Chain:
        """Return the chain of the module that an import statement gives."""
        wanted = str(self.instructions[position].value)
        level, names = (self.instructions[position - back].value for back in (2, 1))
        package = self.globals.get("__package__")
        name = importlib.util.resolve_name("." * level + wanted, package) if level else wanted
        name = name if names else name.partition(".")[0]
        if name not in sys.modules:
            raise TraceBreak(
                f"the module {name} is imported for the first time",
                "import it outside the compiled function",
                self._where(),
            )
        return Chain(sys.modules, "object", name, (("item", name),))

    def _extend(self, chain: Chain, step: Step) -> Chain | None:
        value = chain.value()
        if isinstance(value, Parameter) and step[1] in NOT_OF_DATA and step[0] == "attr":
            self._note(_longer(chain, step))
        if value is MISSING or isinstance(value, Tensor) or type(value) is HostNumber:
            return None
        if step[0] == "attr":
            self._check_step(chain, value, str(step[1]))
            check_fallback(value, str(step[1]), self._where())
            if runs_code(value, str(step[1])):
                for kind in type(value).__mro__ if not self.own else ():
                    if step[1] in vars(kind):  # not by getattr, which runs a descriptor's code
                        path = (("attr", "__dict__"), ("item", step[1]))
                        self._note(Chain(kind, "object", kind.__name__, path))
                        break
                return None
        longer = _longer(chain, step)
        self._note(longer)
        return longer

    def _check_step(self, chain: Chain, value: Any, name: str) -> None:
        module = value.__name__ if isinstance(value, types.ModuleType) else ""
        if module in UNSTABLE_MODULES or f"{module}.{name}" in UNSTABLE_MODULES:
            raise TraceBreak(
                f"{chain}.{name} gives another value at every call, a graph would keep the first",
                "use Cellwire's random ops, or pass the value as a tensor",
                self._where(),
            )

    def _note(self, chain: Chain) -> None:
        value = chain.value()
        if value is MISSING and chain.kind == "closure" and not chain.path and self.noting:
            raise TraceBreak(
                f"{chain.name!r}, a variable of the function around, has no value yet",
                "assign it before the first call",
                self._where(),
            )
        if value is MISSING or not self.noting:
            return
        if type(value) is HostNumber or isinstance(value, Traced) or self._meets(chain):
            return
        if self._is_changed_outside(chain, value):
            return
        inside = chain.kind == "object" and not chain.path  # given by a frame that is watched too
        if not self.own:
            check_stable(value, self._where())
            if not inside:
                check_lasting(value, self._where())
        if _is_builtin_method(value):
            if type(value.__self__) in MUTATORS:
                self.reads.note_container(chain, value.__self__)
            return
        self.reads.functions.learn(value)
        if inside:
            return
        if self.own:
            ours = str(getattr(value, "__module__", "")).startswith(PACKAGE_NAME)
            if chain.kind == "global" or (ours and callable(value) and not is_cell(value)):
                return
        if value is builtins.print:  # what stands for it: each call looks for the function itself
            if chain.kind == "global":  # until there is a global of that name
                self.reads.add(Chain(chain.root, "absent", chain.name), True)
            return
        self.reads.add(chain, value)

    def _effects(
        self, now: Instruction, chain: Chain | None, container: Chain | None, key: Any
    ) -> None:
        name, value = now.name, now.value
        where = self._where()
        if name == "STORE_GLOBAL":
            self.stores.variable(self.globals, value, "item", value, where)
        elif name == "STORE_DEREF" and value in self.code.co_freevars:
            if value not in self.inner:
                self._store_free(value, where)
        elif name == "STORE_ATTR" and chain is not None:
            self.stores.attribute(chain, value, where)
        elif (name == "STORE_SUBSCR" or (name, value) == ("COPY", 2)) and container is not None:
            self.stores.item(container, key, where)
        elif name == "DELETE_ATTR" and chain is not None:
            self.stores.deletes(chain, f"the attribute {value!r}", where)
        elif name == "DELETE_SUBSCR" and container is not None:
            self.stores.deletes(container, "an item", where)

    def _store_free(self, name: str, where: str) -> None:
        cell = self.cells.get(name)
        if cell is None:
            raise TraceBreak(
                f"{name!r} outside the function is assigned", "return the value instead", where
            )
        self.stores.variable(cell, "cell_contents", "closure", name, where)

    def _is_changed_outside(self, chain: Chain, value: Any) -> bool:
        """Return whether this is a container that the code changes: it is known by identity."""
        journal = self.reads.journal
        if journal is None or type(value) not in MUTATORS:
            return False
        growing = id(value) in journal.openings.containers
        if not growing and id(value) not in journal.item_owners:
            return False
        if not self._only_changed(value, growing):
            journal.looked_into(str(chain))
        if chain.kind != "object" or chain.path:
            self.reads.add_identity(chain, value)
        return True

    def _meets(self, chain: Chain) -> bool:
        """Return whether the journal looks after the place where a chain ends."""
        journal = self.reads.journal
        if journal is None or not journal.locations:
            return False
        if not chain.path:
            if chain.kind == "global":
                return journal.meets(chain.root, "item", chain.name)
            return chain.kind == "closure" and journal.meets(chain.root, "closure", "cell_contents")
        owner = Chain(chain.root, chain.kind, chain.name, chain.path[:-1]).value()
        kind, key = chain.path[-1]
        if kind == "attr" and isinstance(owner, types.ModuleType):
            return journal.meets(vars(owner), "item", key)
        return journal.meets(owner, kind, key)

    def _only_changed(self, value: Any, growing: bool) -> bool:
        """Return whether what was just loaded is only added to, or read at one fixed key."""
        after, next_but_one = self.instructions[self.position + 1 : self.position + 3]
        if growing:
            names = GROWING.get(type(value), ())
            return after.name in ("LOAD_METHOD", "LOAD_ATTR") and after.value in names
        if next_but_one.name in ("STORE_SUBSCR", "BINARY_SUBSCR", "COPY"):
            return after.name == "LOAD_CONST" or next_but_one.name == "STORE_SUBSCR"
        return False


def _longer(chain: Chain, step: Step) -> Chain:
    return Chain(chain.root, chain.kind, chain.name, (*chain.path, step))


def _is_builtin_method(value: Any) -> bool:
    """Return whether ``value`` is a method of a built-in object, made anew at every read."""
    if not isinstance(value, types.BuiltinMethodType):
        return False
    return not isinstance(value.__self__, types.ModuleType)
