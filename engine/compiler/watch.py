"""Watching a trace: the byte code of every function entered is walked for what it reads.

Each chain of names that starts at a global, a closure or an argument is evaluated and noted.
What acts outside the graph, or gives another value at every call, is a reason not to compile.
"""

from __future__ import annotations

import functools
import sys
import sysconfig
import types
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from typing import Any

from ..ops import registry
from ..ops.primitives import Print
from ..parameter import Parameter
from ..tensor import LazyTensor, Tensor
from .bytecode import KIND_TESTS
from .chains import MISSING, SCALARS, Chain
from .effects import STDLIB, asked_types, check_builtin, check_library_call, check_locals
from .garbage import without_collections
from .given_back import check_given_back
from .guards import Reads
from .library import DISPATCH, check_given, guard_registry
from .stores import seeing_loose_stores
from .trace import Trace
from .traced import PACKAGE_NAME, TraceBreak, in_package
from .walker import NOT_OF_DATA, Walker

PRINT_CODE = Print.__call__.__code__
MAKING_CODES = {id(kind.__init__.__code__) for kind in (Tensor, LazyTensor, Parameter)}
ASKING_CODES = {id(vars(Parameter)[name].fget.__code__) for name in ("name", "requires_grad")}
LISTING = ("parameters_and_names", "named_buffers", "state_of")
"""What lists the state of a Cell and those below it."""
SKIPPED = {"c_call", "c_return", "c_exception"}
"""Events that matter in the user's code only."""
LIBRARIES = tuple(
    f"{sysconfig.get_paths()['purelib']}/{name}/"
    for name in ("numpy", "scipy", "llvmlite", "ml_dtypes", "torch/package")
)
"""Whose code is not walked. PyTorch puts a function of its packages in the place of __import__."""
OWN_BASES = (PACKAGE_NAME, "builtins")
PRINT_ADVICE = "print outside the compiled function, or return the value"
OWN_FILES = ("cell.py", "hooks.py", "precision.py", "registration.py", "state_dict.py")
"""What runs a Cell: its reads are guarded by ``add_cell``, its own state is no part of a graph."""


@contextmanager
def watching(reads: Reads) -> Iterator[None]:
    """Collect what every Python function entered in the body reads from outside."""
    with without_collections(), seeing_loose_stores(reads) as see:
        watch = Watch(reads, see)
        with _profiled_by(watch.on_event):
            yield
    captured = watch.trace.captured.values() if watch.trace is not None else ()
    reads.finish(tensor for tensor, _ in captured)


class Watch:
    """Follows the calls and returns of one trace; ``see`` is told of each frame of the user's."""

    def __init__(self, reads: Reads, see: Callable[[types.FrameType], None]) -> None:
        innermost = registry.traces[-1] if registry.traces else None
        self.trace = innermost if isinstance(innermost, Trace) else None
        self.reads = reads
        self.see = see
        self.seen: dict[tuple[int, ...], list[tuple[str, str]]] = {}
        self.walked: dict[int, list[tuple[str, str]]] = {}
        self.user: dict[int, bool] = {}
        """Whether code is walked, by identity: hashing code takes longer than all the rest."""
        self.library: set[int] = set()
        self.codes: list[types.CodeType] = []
        """All code met, kept so that its identity is not another's."""

    def on_event(self, frame: types.FrameType, event: str, arg: Any) -> None:
        """Look at a call or return, of a Python function or of a built-in one."""
        code = frame.f_code
        known = self.user.get(id(code))
        if known is None:
            known = self._meet(frame)
        if not known and event in SKIPPED and id(code) not in self.library:
            return
        if event == "call":
            self._enter(frame, known)
        elif event == "return" and id(code) in MAKING_CODES:
            _note_made(frame.f_locals["self"])
        elif event == "c_call" and known:
            check_builtin(frame, arg, self.reads)
        elif event == "c_call":
            check_library_call(frame, arg)
        elif known and event == "return" and (self.trace is None or self.trace.broken is None):
            check_locals(frame, self.walked.pop(id(frame), []), self.reads)
            caller = frame.f_back
            if caller is not None and self.user.get(id(caller.f_code)):
                check_given_back(caller, arg, self.reads)

    on_event.watches_code = True  # pyright: ignore[reportFunctionMemberAccess]

    def _meet(self, frame: types.FrameType) -> bool:
        """Return whether code that was not met before is walked."""
        code = frame.f_code
        self.codes.append(code)
        known = is_user_code(code, frame.f_globals.get("__name__", ""))
        self.user[id(code)] = known
        if code.co_filename.startswith(STDLIB) and not known:
            self.library.add(id(code))
        return known

    def _enter(self, frame: types.FrameType, known: bool) -> None:
        """Walk a function of the user's that begins; of our own note Cells and what prints."""
        code, reads = frame.f_code, self.reads
        if known:
            if code.co_name == "__init__":
                _note_born(frame, reads)
            self.walked[id(frame)] = walk_frame(frame, reads, self.seen, self.walked)
            if reads.journal is not None:
                self.see(frame)
        elif code is DISPATCH:
            guard_registry(frame, reads)
        elif id(code) in self.library:
            if code.co_name == "__init__":
                _note_born(frame, reads)
            elif frame.f_back is not None and self.user.get(id(frame.f_back.f_code)):
                check_given(frame, reads)
        elif id(code) in ASKING_CODES:
            parameter = frame.f_locals["self"]
            reads.asked[id(parameter)] = parameter
        elif code.co_name == "eager_call" and in_package(code.co_filename, "engine/nn"):
            reads.add_cell(frame.f_locals["self"])
        elif code.co_name in LISTING and in_package(code.co_filename, "engine/nn"):
            reads.add_state(frame.f_locals[code.co_varnames[0]])
        elif code is PRINT_CODE and reads.journal is None:
            raise TraceBreak("Print() acts outside the graph", PRINT_ADVICE)


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


def _note_born(frame: types.FrameType, reads: Reads) -> None:
    """Note the object whose `__init__` begins, if it has no attributes yet."""
    made = frame.f_locals.get(next(iter(frame.f_code.co_varnames), ""))
    content = getattr(made, "__dict__", MISSING)
    if content == {} or (content is MISSING and not any(_slots_of(made))):
        reads.born[id(made)] = made


def _slots_of(made: Any) -> Iterator[bool]:
    """Tell of each of the ``__slots__`` of an object whether there is a value in it."""
    for kind in type(made).__mro__:
        for member in vars(kind).values():
            if isinstance(member, types.MemberDescriptorType):
                try:
                    member.__get__(made)
                except AttributeError:  # nothing assigned yet
                    yield False
                else:
                    yield True


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
    # Qt's binding, too, puts a function in the place of __import__, of a file of that name.
    if path.startswith((*LIBRARIES, "<frozen", "shibokensupport")):
        return False
    return "site-packages" in path or not path.startswith(STDLIB)


def walk_frame(
    frame: types.FrameType,
    reads: Reads,
    seen: dict[tuple[int, ...], list[tuple[str, str]]],
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
    own = in_package(code.co_filename)
    marks = [_mark(value, code, reads) if own else id(value) for value in arguments.values()]
    key = (id(code), *marks, *map(id, closure))
    if key in seen:
        return seen[key]
    first = not reads.walked
    reads.walked.add(code)
    if code.co_argcount and code.co_varnames[0] in arguments:
        _guard_reached(code, type(arguments[code.co_varnames[0]]), reads)
    if KIND_TESTS.intersection(code.co_names):
        for name, value in arguments.items():
            if id(value) in reads.promoted:
                raise TraceBreak(f"the type of the number {name!r} is asked for")
    seen[key] = [*Walker(frame, arguments, reads, live, first).run(), *asked_types(code)]
    return seen[key]


def _mark(value: Any, code: types.CodeType, reads: Reads) -> int:
    """Return what tells whether our own code reads the same from outside by another argument."""
    if isinstance(value, Parameter):
        alike = NOT_OF_DATA.isdisjoint(code.co_names)
    else:
        alike = isinstance(value, (*SCALARS, Tensor))
    return -id(type(value)) if alike and id(value) not in reads.promoted else id(value)


def _guard_reached(code: types.CodeType, kind: type, reads: Reads) -> None:
    """Guard that a class still has the method or property by which Python came to ``code``.

    No chain of names tells of properties, ``__call__``, ``__len__`` and their like.
    """
    known = in_package(code.co_filename) or kind.__module__ == "builtins"
    bases = [b for b in kind.__mro__ if b.__module__.partition(".")[0] not in OWN_BASES]
    names = {code.co_name} if known else {code.co_name, *_names_of(code, bases)}
    for base in dict.fromkeys((kind, *bases)):  # few guards for what our own classes inherit
        for name in names:
            found = next((vars(b)[name] for b in base.__mro__ if name in vars(b)), None)
            if _code_of(found) is code:  # also by another name, as lambdas and wrappers are
                if isinstance(found, functools.cached_property):
                    raise TraceBreak(
                        f"the cached property {name!r} is computed inside the function",
                        "read it once before the first call, or compute it at each call",
                        f"{code.co_filename}:{code.co_firstlineno}",
                    )
                reads.add(Chain(base, "object", base.__name__, (("attr", name),)), found)


def _names_of(code: types.CodeType, kinds: list[type]) -> list[str]:
    items = [item for kind in kinds for item in vars(kind).items()]
    return [name for name, value in items if _code_of(value) is code]


def _code_of(value: Any) -> types.CodeType | None:
    """Return the code that runs where a class has ``value``."""
    if isinstance(value, property):
        value = value.fget
    if isinstance(value, functools.cached_property):
        value = value.func
    return value.__code__ if isinstance(value, types.FunctionType) else None
