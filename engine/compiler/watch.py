"""Watching a trace: the byte code of every function entered is walked for what it reads.

Each chain of names that starts at a global, a closure or an argument is evaluated and noted.
What acts outside the graph, or gives another value at every call, is a reason not to compile.
"""

from __future__ import annotations

import gc
import importlib.util
import sys
import sysconfig
import types
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..ops import registry
from ..ops.primitives import Print
from ..parameter import Parameter
from ..tensor import LazyTensor, Tensor
from .bytecode import Instruction, instructions_of
from .chains import MISSING, Chain, Step
from .effects import (
    UNSTABLE_MODULES,
    asked_types,
    check_builtin,
    check_lasting,
    check_locals,
    check_stable,
)
from .guards import MUTATORS, Reads, is_cell
from .trace import Trace
from .traced import PACKAGE_NAME, TraceBreak, in_package

REFLECTION = {"getattr": getattr, "hasattr": hasattr}
KIND_TESTS = {"isinstance", "type", "issubclass"}
PRINT_CODE = Print.__call__.__code__
MAKING_CODES = {id(kind.__init__.__code__) for kind in (Tensor, LazyTensor, Parameter)}
EFFECTS = {"STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "STORE_SUBSCR", "COPY"}
"""Instructions that may act outside the function."""
SKIPPED = {"c_call", "c_return", "c_exception"}
"""Events that matter in the user's code only."""
STDLIB = sysconfig.get_paths()["stdlib"]
LIBRARIES = tuple(
    f"{sysconfig.get_paths()['purelib']}/{name}/"
    for name in ("numpy", "scipy", "llvmlite", "ml_dtypes")
)
PRINT_ADVICE = "print outside the compiled function, or return the value"
OWN_FILES = ("cell.py", "hooks.py", "precision.py", "registration.py", "state_dict.py")
"""What runs a Cell: its reads are guarded by ``add_cell``, its own state is no part of a graph."""


@contextmanager
def watching(reads: Reads) -> Iterator[None]:
    """Collect what every Python function entered in the body reads from outside."""
    outermost = registry.traces[-1] if registry.traces else None
    seen: set[tuple[int, ...]] = set()
    walked: dict[int, list[tuple[str, str]]] = {}
    user: dict[int, bool] = {}  # by identity, as hashing code takes longer than all the rest
    codes: list[types.CodeType] = []

    def on_event(frame: types.FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        known = user.get(id(code))
        if known is None:
            codes.append(code)  # kept, so that its identity is not another's
            known = is_user_code(code, frame.f_globals.get("__name__", ""))
            user[id(code)] = known
        if not known and event in SKIPPED:
            return
        if event == "call":
            if known:
                if code.co_name == "__init__":
                    _note_born(frame, reads)
                walked[id(frame)] = walk_frame(frame, reads, seen, walked)
            elif code.co_name == "eager_call" and in_package(code.co_filename, "engine/nn"):
                reads.add_cell(frame.f_locals["self"])
            elif code is PRINT_CODE:
                raise TraceBreak("Print() acts outside the graph", PRINT_ADVICE)
        elif event == "return" and id(code) in MAKING_CODES:
            _note_made(frame.f_locals["self"])
        elif not known:
            return
        elif event == "c_call":
            check_builtin(frame, arg, reads)
        elif event == "return":
            check_locals(frame, walked.pop(id(frame), []), reads)

    on_event.watches_code = True
    with _without_collections(), _profiled_by(on_event):
        yield
    captured = outermost.captured.values() if isinstance(outermost, Trace) else ()
    reads.finish(tensor for tensor, _ in captured)


@contextmanager
def _profiled_by(on_event: Callable[[types.FrameType, str, Any], None]) -> Iterator[None]:
    """Tell `on_event` of calls and returns in the body; afterwards whoever was told before."""
    outer = sys.getprofile()
    sys.setprofile(on_event)
    try:
        yield
    finally:
        if callable(outer) or outer is None:
            sys.setprofile(outer)
        else:  # cProfile's object, which hooks itself in
            sys.setprofile(None)
            outer.enable()


@contextmanager
def _without_collections() -> Iterator[None]:
    """Put off garbage collections: callbacks of `gc` would seem to be called by the traced code."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _note_born(frame: types.FrameType, reads: Reads) -> None:
    """Note the object whose `__init__` begins, if it has no attributes yet."""
    made = frame.f_locals.get(next(iter(frame.f_code.co_varnames), ""))
    if getattr(made, "__dict__", None) == {}:
        reads.born[id(made)] = made


def _note_made(tensor: Tensor) -> None:
    """Tell the trace of a tensor that the code makes anew at each call."""
    trace = next((t for t in reversed(registry.traces) if isinstance(t, Trace)), None)
    if trace is not None:
        trace.made[id(tensor)] = tensor


def is_user_code(code: types.CodeType, module: str) -> bool:
    """Return whether a function's code is walked: the user's, and the Cells' own ``construct``."""
    path = code.co_filename
    if path == "<string>" and module.startswith(f"{PACKAGE_NAME}."):
        return False  # what dataclasses write for our own classes
    if in_package(path):
        return in_package(path, "engine/nn") and not path.endswith((*OWN_FILES, "__init__.py"))
    # PySide6 puts its own function, of a file of that name, in the place of __import__.
    if path.startswith((*LIBRARIES, "<frozen", "shibokensupport")):
        return False
    return "site-packages" in path or not path.startswith(STDLIB)


def walk_frame(
    frame: types.FrameType,
    reads: Reads,
    seen: set[tuple[int, ...]],
    live: Container[int],
) -> list[tuple[str, str]]:
    """Guard the outside reads of the function that ``frame`` has just entered.

    ``live`` has the identities of the traced code's frames. Returns the variables whose
    attributes are read but whose value is not known yet.
    """
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    arguments = {name: frame.f_locals[name] for name in names if name in frame.f_locals}
    closure = [frame.f_locals.get(name) for name in code.co_freevars]
    key = (id(code), *(id(value) for value in (*arguments.values(), *closure)))
    if key in seen:
        return []
    seen.add(key)
    reads.walked.add(code)
    if code.co_argcount and code.co_varnames[0] in arguments:
        _guard_reached(code, type(arguments[code.co_varnames[0]]), reads)
    if KIND_TESTS.intersection(code.co_names):
        for name, value in arguments.items():
            if id(value) in reads.promoted:
                raise TraceBreak(f"the type of the number {name!r} is asked for")
    return [*Walker(frame, arguments, reads, live).run(), *asked_types(code)]


def _guard_reached(code: types.CodeType, kind: type, reads: Reads) -> None:
    """Guard that a class still has the method or property by which Python came to ``code``.

    No chain of names tells of properties, ``__call__``, ``__len__`` and their like.
    """
    name = code.co_name
    found = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
    function = found.fget if isinstance(found, property) else found
    if getattr(function, "__code__", None) is code:
        reads.add(Chain(kind, "object", kind.__name__, (("attr", name),)), found)


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


class Walker:
    """Finds the chains in one function's byte code."""

    def __init__(
        self,
        frame: types.FrameType,
        arguments: Mapping[str, Any],
        reads: Reads,
        live: Container[int] = (),
    ) -> None:
        self.code = frame.f_code
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
        self.instructions: Sequence[Instruction] = instructions_of(self.code)
        if self.code.co_cellvars:
            self.instructions = [self._as_local(i) for i in self.instructions]
        stores = [i.value for i in self.instructions if i.name == "STORE_FAST"]
        self.single = {name for name in stores if stores.count(name) == 1}
        self.stored = set(stores)

    def _as_local(self, instruction: Instruction) -> Instruction:
        """Treat a local variable that an inner function uses like any other local variable."""
        name = LOCAL_NAMES.get(instruction.name)
        if name is None or instruction.value not in self.code.co_cellvars:
            return instruction
        return Instruction(name, instruction.value, instruction.line)

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
        """Walk all instructions; return the attributes read from variables not known yet."""
        chain: Chain | None = None
        before: Chain | None = None
        constant: Any = MISSING
        previous = Instruction("", None, 0)
        for position, instruction in enumerate(self.instructions):
            name, value = instruction.name, instruction.value
            if name in ("LOAD_ATTR", "LOAD_METHOD"):
                self._loose(previous, instruction, chain)
                self._augmented(previous, instruction, chain)
            if self.reflecting is not None:
                self._reflect(position, chain)
            previous = instruction
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
                if name in EFFECTS:
                    self._effects(instruction, chain, container)
                before, chain, constant = chain, self._start(position), MISSING
                if chain is not None:
                    self._note(chain)
        return self.unknown

    def _alias(self, local: str, chain: Chain) -> None:
        if local in self.single and local not in self.arguments:
            self.aliases[local] = chain

    def _loose(self, previous: Instruction, now: Instruction, chain: Chain | None) -> None:
        if previous.name == "LOAD_FAST" and chain is None:
            self.unknown.append((previous.value, now.value))

    def _augmented(self, previous: Instruction, now: Instruction, chain: Chain | None) -> None:
        """Refuse ``object.attribute += ...`` on what a chain leads to."""
        copied = previous.name == "COPY" and previous.value == 1
        if copied and now.name == "LOAD_ATTR" and chain is not None:
            self._refuse_attribute(now.value)

    def _reflect(self, position: int, chain: Chain | None) -> None:
        """Guard what ``getattr`` and ``hasattr`` look at: the first argument ends here."""
        now = self.instructions[position]
        if now.name in ("LOAD_ATTR", "LOAD_METHOD", "BINARY_SUBSCR"):
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
        if isinstance(value, types.ModuleType) and value.__name__.startswith(PACKAGE_NAME):
            return
        if name is not None and hasattr(value, name):
            self._extend(chain, ("attr", name))
        elif hasattr(value, "__dict__") and not isinstance(value, types.ModuleType | type):
            self.reads.add(
                Chain(chain.root, chain.kind, chain.name, (*chain.path, ("attr", "__dict__"))),
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
            if value in self.arguments and value not in self.stored:
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
        if value is MISSING or isinstance(value, Tensor):
            return None
        if step[0] == "attr":
            self._check_step(chain, value, str(step[1]))
            if isinstance(getattr(type(value), str(step[1]), None), property):
                return None
        longer = Chain(chain.root, chain.kind, chain.name, (*chain.path, step))
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
        if value is MISSING:
            return
        inside = chain.kind == "object" and not chain.path  # given by a frame that is watched too
        if not self.own:
            check_stable(value, self._where())
            if not inside:
                check_lasting(value, self._where())
        if _is_builtin_method(value):
            if type(value.__self__) in MUTATORS:
                self.reads.containers.add(id(value.__self__))
            return
        self.reads.functions.learn(value)
        if inside:
            return
        if chain.kind == "global" and (self.own or chain.name not in self.globals):
            return
        ours = str(getattr(value, "__module__", "")).startswith(PACKAGE_NAME)
        if ours and callable(value) and not is_cell(value):
            return
        self.reads.add(chain, value)

    def _effects(
        self, instruction: Instruction, chain: Chain | None, container: Chain | None
    ) -> None:
        name, value = instruction.name, instruction.value
        if name == "STORE_GLOBAL" or (name == "STORE_DEREF" and value in self.code.co_freevars):
            raise TraceBreak(
                f"{value!r} outside the function is assigned",
                "return the value instead",
                self._where(),
            )
        if name == "STORE_ATTR" and chain is not None:
            self._refuse_attribute(value)
        writes_item = name == "STORE_SUBSCR" or (name == "COPY" and value == 2)
        if writes_item and container is not None and self._is_outside(container):
            raise TraceBreak(
                f"an item of {container}, outside the function, is assigned",
                "return the value instead",
                self._where(),
            )

    def _is_outside(self, container: Chain) -> bool:
        value = container.value()
        if type(value) not in MUTATORS:
            return False
        local = container.kind == "object" and not container.path
        return not local or id(value) in self.reads.containers

    def _refuse_attribute(self, name: str) -> None:
        if self.code.co_name == "__init__":
            return
        raise TraceBreak(
            f"the attribute {name!r} of an object outside is assigned",
            "keep state in a Parameter and use set_data or ops.assign",
            self._where(),
        )


def _is_builtin_method(value: Any) -> bool:
    """Return whether ``value`` is a method of a built-in object, made anew at every read."""
    if not isinstance(value, types.BuiltinMethodType):
        return False
    return not isinstance(value.__self__, types.ModuleType)
