"""Random programs: an eager and a compiled twin go through the same session and stay equal."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import linecache
import math
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import cellwire as cw
import numpy as np
from cellwire.engine import random as streams
from cellwire.engine.compiler.reasons import JitWarning
from cellwire.engine.parameter import Parameter
from cellwire.engine.tensor import Tensor
from cellwire.nn import Cell

from .oracle import purely_eager
from .program_text import Program, Statement
from .world import WORLD

_numbers = itertools.count()
TOLERANCES = {"float16": 3e-2, "bfloat16": 6e-2, "float32": 3e-4, "float64": 1e-8}
DISTURBED = 3e-6
"""By how much the inputs of the third twin differ: where its results are far away, rounding may
lead there too."""


@functools.cache
def _world() -> types.CodeType:
    """Return the code that is the same in all programs."""
    linecache.cache["<fuzz>"] = (len(WORLD), None, WORLD.splitlines(True), "<fuzz>")
    return compile(WORLD, "<fuzz>", "exec")


class Twin:
    """One world: a module of its own in which the steps of a session are run."""

    def __init__(self, program: Program, compiled: bool, disturbed: float = 0.0) -> None:
        self.compiled = compiled
        self.space: dict[str, Any] = {"DISTURBED": disturbed, "__name__": "fuzzed"}
        self.warned: list[str] = []
        name = f"<fuzz {next(_numbers)}>"
        linecache.cache[name] = (len(program.source), None, program.source.splitlines(True), name)
        self.file = name
        with self._mode():
            cw.set_seed(program.seed % 1000)
            exec(_world(), self.space)
            exec(compile(program.source, name, "exec"), self.space)
            main = self.space["main"]
            self.space["run"] = cw.jit(main) if compiled else main

    def close(self) -> None:
        """Forget the module's text."""
        linecache.cache.pop(self.file, None)

    @contextlib.contextmanager
    def _mode(self) -> Iterator[None]:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            with contextlib.nullcontext() if self.compiled else purely_eager():
                yield
        self.warned += [str(w.message) for w in seen if issubclass(w.category, JitWarning)]

    def step(self, text: str, seed: int) -> dict[str, Any]:
        """Run one step; return all that can be seen of it."""
        out = io.StringIO()
        error = ""
        self.space["RESULT"] = None
        with self._mode(), contextlib.redirect_stdout(out), np.errstate(all="ignore"):
            cw.set_seed(seed)
            try:
                exec(compile(text, self.file, "exec"), self.space)
            except Exception as raised:
                error = f"{type(raised).__name__}: {raised}"
            drawn = streams.state().save()
        seen = {name: self.space.get(name) for name in SHOWN}
        state = {name: show(value) for name, value in seen.items()}
        return {"error": error, "printed": out.getvalue(), "drawn": drawn, **state}


SHOWN = (
    "RESULT", "ARGS", "ALPHA", "COUNT", "FLAG", "MODE", "LIST", "TABLE", "SETTING", "LOG", "BUF",
    "STEPS", "W", "EDGE", "HOLDER", "net", "optimizer", "adam", "scaled", "PAIR",
)  # fmt: skip


def show(value: Any, depth: int = 6) -> Any:
    """Return what can be seen of a value, as plain data."""
    if not depth:
        return "..."
    if isinstance(value, Tensor):
        kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
        flag = value.requires_grad if isinstance(value, Parameter) else ""
        return (kind, flag, np.array(value.asnumpy()))
    if isinstance(value, Cell):
        plain = {k: v for k, v in vars(value).items() if k in ("training", "scale", "mode", "rates",
                                                              "calls", "p")}  # fmt: skip
        held = {p.name: p for p in value.get_parameters()}
        return show({**plain, **held}, depth - 1)
    if isinstance(value, dict):
        return {k: show(v, depth - 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return (type(value).__name__, [show(v, depth - 1) for v in value])
    if isinstance(value, types.SimpleNamespace) or type(value).__name__ == "Holder":
        return show(vars(value), depth - 1)
    if isinstance(value, types.FunctionType):
        return [show(cell.cell_contents, 2) for cell in value.__closure__ or ()]
    if isinstance(value, bool | int | float | str | None):
        return value
    return type(value).__name__


def differ(one: Any, other: Any, where: str = "") -> str:
    """Return where two shown values differ beyond rounding; empty if nowhere."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return _arrays_differ(one, other, where)
    if type(one) is not type(other):
        return f"{where}: {_short(one)} eager, {_short(other)} compiled"
    if isinstance(one, dict):
        if [*one] != [*other]:
            return f"{where}: {[*one]} eager, {[*other]} compiled"
        return next(filter(None, (differ(one[k], other[k], f"{where}.{k}") for k in one)), "")
    if isinstance(one, list | tuple):
        if len(one) != len(other):
            return f"{where}: {len(one)} items eager, {len(other)} compiled"
        pairs = enumerate(zip(one, other, strict=True))
        return next(filter(None, (differ(a, b, f"{where}[{i}]") for i, (a, b) in pairs)), "")
    if isinstance(one, float):
        close = one == other or abs(one - other) <= 1e-3 * max(1.0, abs(one))
        close = close or (math.isnan(one) and math.isnan(other))
        return "" if close else f"{where}: {one} eager, {other} compiled"
    return "" if one == other else f"{where}: {_short(one)} eager, {_short(other)} compiled"


def _short(value: Any) -> str:
    return repr(value).replace("\n", " ")[:200]


@np.errstate(all="ignore")
def _arrays_differ(one: np.ndarray, other: np.ndarray, where: str) -> str:
    if one.dtype != other.dtype or one.shape != other.shape:
        return f"{where}: {one.dtype}{list(one.shape)} eager, {other.dtype}{list(other.shape)}"
    if one.tobytes() == other.tobytes():
        return ""
    tolerance = TOLERANCES.get(str(one.dtype), 0.0)
    if not tolerance:
        same = np.array_equal(one, other)
    else:
        wide, else_ = one.astype(np.float64), other.astype(np.float64)
        sizes = np.abs(wide[np.isfinite(wide)])
        scale = float(min(max(1.0, sizes.max(initial=0.0)), 1e30))
        same = np.allclose(wide, else_, tolerance, tolerance * scale * 0.1, equal_nan=True)
    if same:
        return ""
    return f"{where}: {_short(one)} eager, {_short(other)} compiled"


@dataclass
class Session:
    """What became of one program."""

    trouble: str = ""
    compiled: bool = False
    """Whether all calls ran compiled."""
    unstable: bool = False
    """Whether the twins differ as rounding alone can make them."""


def check_program(program: Program) -> Session:
    """Let both twins go through the session; tell where they part."""
    twins = Twin(program, False), Twin(program, True)
    try:
        for number, text in enumerate(program.steps):
            eager, compiled = (twin.step(text, 100 + number) for twin in twins)
            trouble = differ(eager, compiled)
            if trouble and eager["error"] and eager["error"] == compiled["error"]:
                return Session(compiled=not twins[1].warned)  # a plan writes only what succeeds
            if trouble:
                if _unstable(program, number, eager):
                    return Session(unstable=True)
                return Session(f"after step {number} ({text}) {trouble.lstrip('.')}")
        return Session(compiled=not twins[1].warned)
    finally:
        for twin in twins:
            twin.close()


def _unstable(program: Program, last: int, eager: dict[str, Any]) -> bool:
    """Return whether eager results with slightly other inputs part from the eager ones too."""
    for amount in (DISTURBED, -DISTURBED, 2 * DISTURBED):
        twin = Twin(program, False, amount)
        seen: dict[str, Any] = {}
        for number, text in enumerate(program.steps[: last + 1]):
            seen = twin.step(text, 100 + number)
        twin.close()
        if differ(eager, seen):
            return True
    return False


def shrink_program(
    program: Program, fails: Callable[[Program], object], tries: int = 300
) -> Program:
    """Return the smallest program found that still fails."""
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(program):
            tries -= 1
            if tries < 0:
                return program
            try:
                failed = fails(smaller)
            except Exception:  # a world that cannot be built is no smaller case
                continue
            if failed:
                program, changed = smaller, True
                break
    return program


def _smaller(program: Program) -> Iterator[Program]:
    count = len(program.steps)
    for size in (4, 2, 1):
        for at in range(0, count, size):
            steps = program.steps[:at] + program.steps[at + size :]
            if steps:
                yield replace(program, steps=steps)
    for part in ("body", "construct", "inner"):
        for fewer in _without_one(getattr(program, part)):
            yield replace(program, **{part: fewer})
    for result in ("a", "b"):
        if len(program.result) > 4:
            yield replace(program, result=result)


def _without_one(body: tuple[Statement, ...]) -> Iterator[tuple[Statement, ...]]:
    for at, statement in enumerate(body):
        yield body[:at] + body[at + 1 :]
        for clause, (head, inside) in enumerate(statement.clauses):
            yield body[:at] + inside + body[at + 1 :]
            for fewer in _without_one(inside):
                clauses = list(statement.clauses)
                clauses[clause] = (head, fewer)
                whole = Statement(statement.text, tuple(clauses))
                yield (*body[:at], whole, *body[at + 1 :])
