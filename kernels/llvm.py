"""Loop functions as LLVM text: marked loops become vectors of the host's width with masked tails.

Nothing is left to LLVM's optimisation passes: vectors, reductions and loop shapes are explicit, so
a kernel goes straight from this text to machine code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from .control import Carried, repeat, when
from .emitter import TYPES, Emitter, Value, literal, memory_type
from .expressions import (
    BOOL,
    INT32,
    INT64,
    Call,
    Const,
    DType,
    Expr,
    Index,
    Load,
    LoopError,
    Term,
    Var,
    kind_of,
    walk,
)
from .interleave import WIDEST_STRIDE, load_strided, store_strided
from .loops import Accumulator, Function, Let, Loop, Reduce, Statement, Store, statements
from .scalar_ops import HEAVY, scalar_op
from .target import Target
from .verify import verify


def print_function(function: Function, target: Target, declarations: dict[str, str]) -> str:
    """Return the LLVM definition of a verified function; adds what it calls to `declarations`."""
    verify(function)
    emitter = Emitter(declarations)
    params = [f"ptr {'noalias ' if b.noalias else ''}{_symbol(b.name)}" for b in function.buffers]
    params += [f"i64 {_symbol(name)}" for name in function.ints]
    for scratch in function.scratch:
        element = TYPES[memory_type(scratch.dtype)]
        emitter.entry.append(
            f"  {_symbol(scratch.name)} = alloca [{scratch.size} x {element}], align 64"
        )
    names = {name: Value(_symbol(name), INT64) for name in function.ints}
    _Printer(emitter, target, function).body(function.body, _Frame(names))
    return emitter.define(function.name, params)


def _symbol(name: str) -> str:
    """Return the LLVM name of a parameter; the prefix keeps it apart from generated names."""
    return f"%arg.{name}"


_Iteration: TypeAlias = Callable[[Value, Carried, "Value | None"], Carried]
"""Prints one iteration of a vector loop from its first index, what it carries, and its mask."""


@dataclass
class _Frame:
    """What one block knows: values by name, and the lanes and mask of the vector loop around it."""

    names: dict[str, Value]
    lanes: int = 0
    var: str = ""
    base: Value | None = None  # lane 0 of the vector loop's variable
    mask: Value | None = None
    own: bool = False  # the block's accumulators belong to the vector loop itself
    running: dict[str, Value] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)


class _Printer:
    def __init__(self, emitter: Emitter, target: Target, function: Function) -> None:
        self.emit, self.target, self.function = emitter, target, function

    # -- statements ------------------------------------------------------------------------

    def body(self, body: tuple[Statement, ...], frame: _Frame) -> None:
        for statement in body:
            match statement:
                case Let(name, value):
                    frame.names[name] = self.expression(value, frame)
                case Store():
                    self.store(statement, frame)
                case Reduce():
                    self.reduce(statement, frame)
                case Loop():
                    if statement.vector and statement.extent != 1:
                        self.vector_loop(statement, frame)
                    else:
                        self.scalar_loop(statement, frame)

    def store(self, store: Store, frame: _Frame) -> None:
        value = self.expression(store.value, frame)
        if frame.lanes:
            value = self.emit.splat(value, frame.lanes)
        stride = self.short_stride(store.index, frame)
        address = self.address(store.buffer, store.index, value.dtype, frame, not stride)
        if stride:
            store_strided(self.emit, value, address, stride, frame.mask)
        else:
            self.emit.store(value, address, frame.mask)

    def reduce(self, reduce: Reduce, frame: _Frame) -> None:
        old = frame.running[reduce.name]
        value = self.expression(reduce.value, frame)
        new = combine(self.emit, frame.kinds[reduce.name], old, self.emit.splat(value, old.lanes))
        if frame.own and frame.mask is not None:
            new = self.emit.select(frame.mask, new, old)
        frame.running[reduce.name] = new

    # -- loops -----------------------------------------------------------------------------

    def scalar_loop(self, loop: Loop, frame: _Frame) -> None:
        running = {a.name: _identity(a, frame.lanes) for a in loop.accumulators}
        extent = self.extent(loop)

        def once(index: Value, state: Carried) -> Carried:
            inner = replace(
                frame,
                names={**frame.names, loop.var: index},
                running=state,
                kinds={a.name: a.kind for a in loop.accumulators},
                own=False,
            )
            self.body(loop.body, inner)
            return inner.running

        frame.names.update(repeat(self.emit, extent, 1, running, once))

    def vector_loop(self, loop: Loop, frame: _Frame) -> None:
        lanes = lane_count(loop, self.target)
        running = {a.name: _identity(a, lanes) for a in loop.accumulators}

        def once(index: Value, state: Carried, mask: Value | None) -> Carried:
            kinds = {a.name: a.kind for a in loop.accumulators}
            inner = _Frame(
                dict(frame.names), lanes, loop.var, index, mask, True, dict(state), kinds
            )
            self.body(loop.body, inner)
            return inner.running

        extent = self.extent(loop)
        if isinstance(loop.extent, int):
            whole = literal(loop.extent // lanes * lanes, INT64)
        else:
            whole = self.emit.binary("and", extent, -lanes)
        running = repeat(self.emit, whole, lanes, running, lambda i, state: once(i, state, None))
        if isinstance(loop.extent, int):
            rest = loop.extent % lanes
            if rest:
                running = once(whole, running, self.emit.prefix(rest, lanes))
        else:
            running = self.tail(extent, whole, lanes, running, once)
        for accumulator in loop.accumulators:
            vector = running[accumulator.name]
            frame.names[accumulator.name] = self.across(accumulator.kind, vector)

    def tail(
        self, extent: Value, whole: Value, lanes: int, running: Carried, once: _Iteration
    ) -> Carried:
        """Print the last, masked iteration of a loop whose extent is known at run time."""
        emit = self.emit

        def rest(state: Carried) -> Carried:
            left = emit.cast(emit.binary("sub", extent, whole), INT32)
            return once(whole, state, emit.compare("lt", emit.iota(INT32, lanes), left))

        return when(emit, emit.compare("lt", whole, extent), running, rest)

    def extent(self, loop: Loop) -> Value:
        if isinstance(loop.extent, int):
            return literal(loop.extent, INT64)
        return Value(_symbol(loop.extent), INT64)

    def across(self, kind: str, x: Value) -> Value:
        """Reduce the lanes of a vector to a scalar, halving it until one is left."""
        while x.lanes > 1:
            x = combine(self.emit, kind, *self.emit.halves(x))
        return self.emit.first_lane(x)

    # -- expressions -----------------------------------------------------------------------

    def expression(self, root: Expr, frame: _Frame) -> Value:
        known: dict[int, Value] = {}
        for node in walk(root):
            match node:
                case Const(value, dtype):
                    result = literal(value, dtype)
                case Var(name):
                    result = self.variable(name, frame)
                case Load(buffer, index, dtype):
                    result = self.load(buffer, index, dtype, frame)
                case Call(op, args, dtype):
                    result = scalar_op(self.emit, op, [known[id(a)] for a in args], dtype)
                case _:
                    raise LoopError(f"{type(node).__name__} is not an expression")
            known[id(node)] = result
        return known[id(root)]

    def variable(self, name: str, frame: _Frame) -> Value:
        if name == frame.var and frame.base is not None:
            return self.emit.add(frame.base, self.emit.iota(INT64, frame.lanes))
        return frame.names[name]

    def load(self, buffer: str, index: Index, dtype: DType, frame: _Frame) -> Value:
        stride = self.short_stride(index, frame)
        if stride:
            first = self.address(buffer, index, dtype, frame, False)
            return load_strided(self.emit, first, frame.lanes, stride, frame.mask)
        address = self.address(buffer, index, dtype, frame)
        moves = frame.lanes and (address.lanes or index.coefficient(frame.var))
        if not moves:
            return self.emit.load(address, 0)
        return self.emit.load(address, frame.lanes, frame.mask)

    def short_stride(self, index: Index, frame: _Frame) -> int:
        """Return by how many elements lanes differ if that is 2 to 4 in all places, else 0."""
        own = index.coefficient(frame.var) if frame.base is not None else ()
        others = [frame.names[t.name] for t in index.terms if t not in own]
        if len(own) != 1 or own[0].params or any(value.lanes for value in others):
            return 0
        return own[0].scale if 2 <= own[0].scale <= WIDEST_STRIDE else 0

    def address(
        self, buffer: str, index: Index, dtype: DType, frame: _Frame, spread: bool = True
    ) -> Value:
        """Return the address of lane 0 if lanes are adjacent or all the same, else one per lane.

        With `spread` off it is lane 0's in any case.
        """
        emit = self.emit
        offset: Value | None = None
        across: Value | None = None
        own = index.coefficient(frame.var) if frame.base is not None else ()
        others = {t: self.scaled(t, frame.names[t.name]) for t in index.terms if t not in own}
        strided = spread and bool(own) and own != (Term(frame.var),)
        strided = strided or any(value.lanes for value in others.values())
        for term in index.terms:
            if term in own and frame.base is not None:
                offset = self._plus(offset, self.scaled(term, frame.base))
                if strided:
                    across = self._plus(across, self.scaled(term, emit.iota(INT64, frame.lanes)))
            elif others[term].lanes:
                across = self._plus(across, others[term])
            else:
                offset = self._plus(offset, others[term])
        if index.offset or (offset is None and across is None):
            offset = self._plus(offset, literal(index.offset, INT64))
        if across is not None:
            offset = across if offset is None else emit.add(offset, across)
        assert offset is not None
        return emit.address(_symbol(buffer), dtype, offset)

    def _plus(self, total: Value | None, value: Value) -> Value:
        return value if total is None else self.emit.add(total, value)

    def scaled(self, term: Term, value: Value) -> Value:
        if term.scale != 1:
            value = self.emit.mul(value, term.scale)
        for param in term.params:
            value = self.emit.mul(value, Value(_symbol(param), INT64))
        return value


def combine(emit: Emitter, kind: str, x: Value, y: Value) -> Value:
    """Join two partial results of a reduction."""
    match kind:
        case "sum":
            return emit.add(x, y)
        case "prod":
            return emit.mul(x, y)
        case "max":
            return emit.maximum(x, y)
        case _:
            return emit.minimum(x, y)


def _identity(accumulator: Accumulator, lanes: int) -> Value:
    dtype = accumulator.dtype
    if accumulator.kind in ("sum", "prod"):
        return literal(0 if accumulator.kind == "sum" else 1, dtype, lanes)
    largest = accumulator.kind == "min"
    if dtype == BOOL:
        return literal(largest, dtype, lanes)
    if kind_of(dtype) == "float":
        return literal(np.inf if largest else -np.inf, dtype, lanes)
    limits = np.iinfo(dtype)
    return literal(int(limits.max if largest else limits.min), dtype, lanes)


def lane_count(loop: Loop, target: Target) -> int:
    """Choose how many iterations of a vector loop go side by side: one to four registers' worth."""
    inner = list(statements(loop.body))
    values = [s.value for s in inner if not isinstance(s, Loop)]
    nodes = list(walk(*values))
    widest = max((n.dtype.itemsize for n in nodes if kind_of(n.dtype) != "bool"), default=4)
    width = target.vector_bytes // max(4, widest)
    heavy = sum(isinstance(n, Call) and n.op in HEAVY for n in nodes)
    reduces = bool(loop.accumulators) or any(isinstance(s, Loop) for s in inner)
    unroll = 1 if heavy > 1 else 2 if heavy or not reduces else 4
    most = width * unroll
    if isinstance(loop.extent, str):
        return most
    if loop.extent <= width:
        return 1 << (loop.extent - 1).bit_length()
    exact = [n for n in _halvings(most, width) if loop.extent % n == 0]
    return exact[0] if exact else most if loop.extent >= 4 * most else width


def _halvings(most: int, least: int) -> Sequence[int]:
    return [most >> k for k in range(8) if most >> k >= least]
