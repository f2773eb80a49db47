"""Plans on disk: a graph that another process compiled is not simplified, fused and lowered anew.

A plan is found by its graph, written down with all that its kernels depend on, and holds which
machine code runs on which buffers. What was made for a graph whose ops or attributes cannot be
written down (sub-graphs, ops from outside the table) is made in each process.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import scipy

from ...kernels.gemm import blas_address
from ...kernels.loops import FLOAT32, FLOAT64
from ...kernels.object_cache import compiler_key, load_file, store_file
from ...kernels.runtime import Bound, Entry, Program, load_entry
from ...kernels.streams import FUNCTIONS, function_address
from ...kernels.target import host
from ...kernels.workers import thread_count
from ..dtype import DType
from ..ops.registry import OPS, Op
from .graph import Graph, Node, Value
from .memory import aligned_start
from .report import HostStep, KernelReport, Report
from .runs import HostCall, NativeRun, Plan, Reader, RunCheck

if TYPE_CHECKING:
    from ..origin import Origin
    from ..shape import Aval

SMALLEST = 16
"""Graphs of fewer nodes are compiled sooner than found."""
CONSTANT_BYTES = 4 << 20
"""Plans with more bytes of constants are not kept."""
SOURCES = (".", "ops", "compiler", "../kernels")
"""Folders, from `engine`, whose code decides what a graph becomes."""
PLAIN = (bool, int, float, str, type(None))

Address = tuple[str, int]
"""What is bound: the arena ("whole"), a place in it ("arena", bytes), BLAS's product of numbers of
so many bytes ("blas"), or a function of NumPy ("draws", its number among those that draw)."""


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A native run: its program, the keys of its machine code and what is bound to it."""

    program: Program
    objects: tuple[tuple[tuple[str, ...], str], ...]
    products: dict[str, tuple[tuple[str, ...], tuple[int | str, ...]]]
    fixed: tuple[Address, ...]
    ints: dict[str, int]
    slots: tuple[int, ...]
    checks: tuple[RunCheck, ...]


@dataclass(frozen=True, slots=True)
class KeptCall:
    """An op that runs in NumPy."""

    op: str
    inputs: tuple[Aval, ...]
    outputs: tuple[Aval, ...]
    attrs: tuple[tuple[str, object], ...]
    origin: int | None
    reads: tuple[Reader, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KeptPlan:
    """A plan without its addresses; origins are numbers, in the order of the graph's nodes."""

    parts: tuple[KeptRun | KeptCall, ...]
    arena: int
    direct: bool
    rest: dict[str, object]
    kernels: tuple[tuple[KernelReport, tuple[int, ...]], ...]
    hosts: tuple[tuple[HostStep, int | None], ...]
    report: dict[str, object]
    code: bytes


BOUND = {"graph", "report", "parts", "taps", "direct", "lock", "arena"}
"""Fields of a plan that are made anew; the rest is kept as it is."""
TOLD = {"kernels", "host_steps", "compile_seconds", "compiled", "text"}
"""The same of its report."""


def _rest(instance: Plan | Report, without: set[str]) -> dict[str, object]:
    names = [field.name for field in fields(instance)]
    return {name: getattr(instance, name) for name in names if name not in without}


def plan_key(graph: Graph, writes: Mapping[int, int]) -> str | None:
    """Return the key of a graph's plan, or None where it cannot be kept.

    ``CELLWIRE_KEPT_PLANS=0`` keeps none: for work on the compiler itself, as in its tests.
    """
    if len(graph.nodes) < SMALLEST or os.environ.get("CELLWIRE_KEPT_PLANS") == "0":
        return None
    text = graph_text(graph)
    if text is None:
        return None
    digest = hashlib.sha256(compiler_key().encode())
    machine = (host(), thread_count(), sorted(writes.items()))
    digest.update(repr((_sources(), machine)).encode())
    digest.update(text.encode())
    for array in graph.constants.values():
        digest.update(array.tobytes())
    return digest.hexdigest()


@cache
def _sources() -> str:
    """The state of our own files, as Python knows it for its byte code, and what they call."""
    folder = Path(__file__).parent.parent
    found = hashlib.sha256(f"{sys.version} {np.__version__} {scipy.__version__}".encode())
    found.update(ml_dtypes.__version__.encode())
    for name in SOURCES:
        for entry in sorted(os.scandir(folder / name), key=lambda e: e.name):
            if entry.name.endswith(".py"):
                stat = entry.stat()
                found.update(f"{entry.name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return found.hexdigest()


def graph_text(graph: Graph) -> str | None:
    """Return everything of a graph but its constants, or None where it cannot be written down."""
    if sum(array.nbytes for array in graph.constants.values()) > CONSTANT_BYTES:
        return None
    numbers: dict[Value, int] = {}
    avals: dict[Aval, str] = {}
    origins = {origin: i for i, origin in enumerate(_origins(graph))}
    lines: list[str] = []

    def define(value: Value) -> str:
        numbers[value] = len(numbers)
        aval = value.aval
        shown = avals.get(aval)
        if shown is None:
            shown = avals[aval] = f"{aval.shape}{aval.dtype.short}"
        return shown

    lines += [define(value) for value in (*graph.inputs, *graph.constants)]
    lines.append(f"{len(graph.inputs)} {len(graph.constants)}")
    for node in graph.nodes:
        if OPS.get(node.op.name) is not node.op or not _is_ours(node.op):
            return None
        attrs = plain(node.attrs) if node.attrs else ""
        if attrs is None:
            return None
        origin = "" if node.origin is None else origins[node.origin]
        reads = [numbers[value] for value in node.inputs]
        lines.append(f"{node.op.name}{reads}{attrs}{[*map(define, node.outputs)]}{origin}")
    lines.append(str([numbers[value] for value in graph.outputs]))
    return "\n".join(lines)


_OURS = __name__.removesuffix("compiler.kept_plans")


def _is_ours(op: Op) -> bool:
    """Return whether an op is declared in our own files, whose state is part of the key."""
    parts = (op.infer, op.function, getattr(op.lowering, "fn", op.infer))
    return all(part.__module__.startswith(_OURS) for part in parts)


def plain(value: object) -> str | None:
    """Return an attribute as text that no other value has, or None if there is none."""
    kind = type(value)
    if kind in PLAIN:
        return repr(value)
    if isinstance(value, DType):
        return f"<{value.short}>"
    if kind is tuple:
        parts = [plain(part) for part in value]  # pyright: ignore[reportGeneralTypeIssues]
        return None if None in parts else f"({','.join(map(str, parts))},)"
    return None


def _origins(graph: Graph) -> list[Origin]:
    """Return the origins of the nodes, each once."""
    return [*dict.fromkeys(node.origin for node in graph.nodes if node.origin is not None)]


# -- keeping -----------------------------------------------------------------------------------


def keep_plan(key: str, graph: Graph, plan: Plan) -> None:
    """Put a plan on disk, if all that it is made of can be written down."""
    if sum(array.nbytes for array in plan.shared) > CONSTANT_BYTES:
        return
    origins = {origin: i for i, origin in enumerate(_origins(graph))}
    arena = plan.arena
    parts: list[KeptRun | KeptCall] = []
    for part in plan.parts:
        kept = _kept_run(part, arena) if isinstance(part, NativeRun) else _kept_call(part, origins)
        if kept is None:
            return
        parts.append(kept)
    report = plan.report
    kernels = [(k, tuple(origins[o] for o in k.origins)) for k in report.kernels]
    hosts = [(h, None if h.origin is None else origins[h.origin]) for h in report.host_steps]
    content = KeptPlan(
        tuple(parts), arena.size, plan.direct is not None, _rest(plan, BOUND),
        tuple((replace(k, origins=()), numbers) for k, numbers in kernels),
        tuple((replace(h, origin=None), number) for h, number in hosts),
        _rest(report, TOLD), zlib.compress(report.code.encode(), 1),
    )  # fmt: skip
    store_file("plans", key, pickle.dumps(content, 5))


def _kept_run(part: NativeRun, arena: np.ndarray) -> KeptRun | None:
    bound, entry = part.bound, part.bound.entry
    fixed: list[Address] = []
    begin = arena.__array_interface__["data"][0]
    aligned = begin + aligned_start(arena)
    for item in bound.fixed:
        if item is arena:
            fixed.append(("whole", 0))
        elif not isinstance(item, int):
            return None
        elif begin <= item < begin + arena.size:
            fixed.append(("arena", item - aligned))
        elif entry.products and item in (products := _blas_products()):
            fixed.append(("blas", products[item]))
        elif item in (functions := _drawing_functions()):
            fixed.append(("draws", functions[item]))
        else:
            return None
    objects = tuple((tuple(lib.addresses), lib.key) for lib in (*entry.parts, entry.library))
    ints = dict(bound.ints)
    checks = tuple(replace(check, status=None) for check in part.checks)
    return KeptRun(entry.program, objects, entry.products, tuple(fixed), ints, part.slots, checks)


@cache
def _blas_products() -> dict[int, int]:
    return {blas_address(dtype): dtype.itemsize for dtype in (FLOAT32, FLOAT64)}


def _drawing_functions() -> dict[int, int]:
    return {function_address(name): i for i, name in enumerate(FUNCTIONS)}


def _kept_call(part: HostCall, origins: Mapping[Origin, int]) -> KeptCall | None:
    node = part.node
    if OPS.get(node.op.name) is not node.op or plain(node.attrs) is None:
        return None
    return KeptCall(
        node.op.name, tuple(v.aval for v in node.inputs), tuple(v.aval for v in node.outputs),
        node.attrs, None if node.origin is None else origins[node.origin], part.reads, part.results,
    )  # fmt: skip


# -- finding -----------------------------------------------------------------------------------


def find_plan(key: str, graph: Graph) -> Plan | None:
    """Return the plan that was kept under a key, or None if it or its machine code is not there."""
    content = load_file("plans", key)
    if content is None:
        return None
    kept: KeptPlan = pickle.loads(content)
    origins = _origins(graph)
    arena = np.empty(kept.arena, np.uint8)
    parts: list[NativeRun | HostCall] = []
    for part in kept.parts:
        if isinstance(part, KeptCall):
            parts.append(_found_call(part, origins))
            continue
        entry = load_entry(part.program, part.objects, part.products)
        if entry is None:
            return None
        checks = tuple(check.of(arena) for check in part.checks)
        parts.append(NativeRun(_found_run(part, entry, arena), part.slots, checks))
    told: dict[str, Any] = kept.report
    report = Report(
        tuple(replace(k, origins=tuple(origins[i] for i in at)) for k, at in kept.kernels),
        tuple(replace(h, origin=None if i is None else origins[i]) for h, i in kept.hosts),
        text=lambda: zlib.decompress(kept.code).decode(),
        **told,
    )
    direct = parts[0].bound if kept.direct and isinstance(parts[0], NativeRun) else None
    held: dict[str, Any] = kept.rest
    return Plan(graph, report, parts, direct=direct, arena=arena, **held)


def _found_run(part: KeptRun, entry: Entry, arena: np.ndarray) -> Bound:
    begin = arena.__array_interface__["data"][0] + aligned_start(arena)
    dtypes = {dtype.itemsize: dtype for dtype in (FLOAT32, FLOAT64)}
    places: dict[str, Callable[[int], np.ndarray | int]] = {
        "whole": lambda _: arena,
        "arena": lambda number: begin + number,
        "blas": lambda number: blas_address(dtypes[number]),
        "draws": lambda number: function_address(FUNCTIONS[number]),
    }
    return entry.bind([places[kind](number) for kind, number in part.fixed], part.ints)


def _found_call(part: KeptCall, origins: Sequence[Origin]) -> HostCall:
    inputs = tuple(Value(-1, aval) for aval in part.inputs)
    outputs = tuple(Value(-1, aval) for aval in part.outputs)
    origin = None if part.origin is None else origins[part.origin]
    node = Node(OPS[part.op], inputs, outputs, part.attrs, origin)
    return HostCall(node, part.reads, part.results)
