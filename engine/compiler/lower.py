"""Lowering: a fused group becomes one function of the loop IR.

The stage after fusion. `kernels/llvm.py` prints what it makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...kernels import loops
from ...kernels.gemm import EPILOGUE_INTS
from ...kernels.gemm_code import COLUMNS
from ...kernels.loops import (
    Accumulator,
    Expr,
    Function,
    Let,
    Loop,
    Reduce,
    Scratch,
    Statement,
    Store,
    Var,
)
from ..ops import registry
from .graph import Node, Value
from .kernel_memory import KernelMemory
from .loop_kernel import LoopKernel, Place
from .pointwise import BUILDER, FLOAT16_BUILDER, compute_dtype, neutral, reduction_kind
from .space import NONE, Space, column_advance

COMBINED = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}
"""The op that takes one more value into a reduction, by its kind."""


def lower_space(space: Space, stored: Sequence[Value]) -> LoopKernel:
    """Lower a fused group; ``stored`` are the values written to memory."""
    return _Lowering(space, stored).run()


def lower_epilogue(
    space: Space, stored: Sequence[Value], product: Value, place: str, *, columns: bool = False
) -> LoopKernel:
    """Lower what follows a gemm as a function of some rows of its ``product``.

    With ``place`` "over" the only result is written over the product itself; with "local" the
    product is a block of these rows alone. With ``columns`` some columns can be done alone:
    ``advance`` then says how far buffers move from one to the next.
    """
    return _Lowering(space, stored, product, place, columns).run()


class _Lowering(KernelMemory):
    def run(self) -> LoopKernel:
        body = self._nest()
        ints: tuple[str, ...] = () if self.runtime == NONE else ("n",)
        sizes: tuple[Any, ...] = () if self.runtime == NONE else (self.space.extents[self.runtime],)
        ints, sizes = (*ints, *self.open.values()), (*sizes, *self.open)
        if self.product is not None:
            ints, sizes = (*EPILOGUE_INTS, *self.open.values()), (*self.open,)
        if self.columns:
            own = () if self.product is not None else (self.space.extents[self.space.vector],)
            ints, sizes = (*ints, COLUMNS), (*sizes, *own)
        buffers = {buffer.name: (buffer, value) for value, buffer in self.buffers.items()}
        function = Function(
            "kernel",
            tuple(buffer for buffer, _ in buffers.values()),
            ints,
            tuple(body),
            tuple(self.scratch.values()),
        )
        function = function.named("loops")
        bases = tuple(value for _, value in buffers.values())
        if not self.columns:
            return LoopKernel(function, bases, sizes, self._advance(bases))
        values = self.stored if self.product is None else (*self.stored, self.product)
        moves = column_advance(self.space, values) or {}
        return LoopKernel(function, bases, sizes, tuple(moves[base] for base in bases), True)

    # -- values ------------------------------------------------------------------------------

    def _let(self, place: Place, value: Value, expr: Expr) -> Expr:
        if isinstance(expr, loops.Const | Var):
            place.bound[value] = expr
            return expr
        name = self._fresh("v")
        place.body.append(Let(name, expr))
        place.bound[value] = Var(name, expr.dtype)
        return place.bound[value]

    def _get(self, place: Place, value: Value) -> Expr:
        """Return a value at a place: bound there, loaded, or computed again."""
        found = place.find(value)
        if found is not None:
            return found
        if value in self.space.leaves or value in self.stored or value in self.scratch:
            home = self._home(place, value)
            return self._let(home, value, self._load(value, home.variables))
        return self._compute(place, self.producer[value])

    def _home(self, place: Place, value: Value) -> Place:
        """Return the outermost body in which a load of ``value`` can stand."""
        if value not in self.space.leaves:
            return place
        needed = self.space.classes(value)
        while place.outer is not None and needed <= set(place.outer.variables):
            place = place.outer
        return place

    def _load(self, value: Value, variables: dict[int, str]) -> Expr:
        if value in self.scratch:
            loaded: Expr = loops.load(self.scratch[value], self._row_index(variables))
        else:
            access = self.space.leaves.get(value)
            base = value if access is None else access.base
            loaded = loops.load(self.buffers[base], self._index(value, variables))
        return loops.cast(loaded, compute_dtype(value))

    def _compute(self, place: Place, node: Node) -> Expr:
        output = node.outputs[0]
        arguments = [self._get(place, v) for v in node.inputs]
        lowering = node.op.lowering
        if isinstance(lowering, registry.Pointwise):
            stored = output.aval.dtype.numpy
            builder = FLOAT16_BUILDER if stored == loops.FLOAT16 else BUILDER
            expr = lowering.expr(builder, *arguments, **node.attributes)
            expr = loops.cast(expr, compute_dtype(output))
            if stored in loops.HALVES:
                expr = loops.cast(loops.cast(expr, stored), loops.FLOAT32)
        else:
            expr = arguments[0]
            if isinstance(lowering, registry.Reduce) and lowering.kind == "sum":
                expr = _sum_of_one(expr)
        return self._let(place, output, expr)

    def _store(self, place: Place, value: Value, expr: Expr) -> None:
        if value in self.stored:
            index = self._index(value, place.variables)
            dtype = value.aval.dtype.numpy
            place.body.append(Store(self.buffers[value].name, index, loops.cast(expr, dtype)))
        if value in self.staged:
            row = Scratch(self._fresh("row"), compute_dtype(value), self.space.row_size)
            self.scratch[value] = row
            place.body.append(Store(row.name, self._row_index(place.variables), expr))

    # -- loops -------------------------------------------------------------------------------

    def _nest(self) -> list[Statement]:
        """Return the kernel's body: sinks cleared, the outer loops, the tail."""
        top = Place({})
        clear = [self._clear(s) for s in self._column_sinks()]
        top.body.extend(s for statements in clear for s in statements)
        self._outer(top, 0)
        self._tail(top)
        return top.body

    def _column_sinks(self) -> list[Value]:
        found = [n.outputs[0] for n in self.space.nodes if n.outputs[0] in self.space.sinks]
        return [v for v in found if self.space.is_inner(v)]

    def _scalar_sinks(self) -> list[Node]:
        return [
            n
            for n in self.space.nodes
            if n.outputs[0] in self.space.sinks and not self.space.is_inner(n.outputs[0])
        ]

    def _outer(self, place: Place, depth: int) -> dict[Value, str]:
        """Emit the outer loops from ``depth`` on; return the names of the scalar sinks."""
        if depth == len(self.space.outer):
            self._row(place)
            return {}
        loop = self.space.outer[depth]
        variable = self._fresh("i")
        inner = Place({**place.variables, loop: variable}, outer=place)
        if self.product is not None and loop == self.space.leading:
            self.block_row = variable
            inner.variables[loop] = self._fresh("row")
            row = loops.call("add", Var(variable), Var("first"))
            inner.body.append(Let(inner.variables[loop], row))
        deeper = self._outer(inner, depth + 1)
        accumulators: dict[Value, Accumulator] = {}
        for node in self._scalar_sinks():
            output = node.outputs[0]
            value = (
                Var(deeper[output], compute_dtype(output))
                if output in deeper
                else self._get(inner, node.inputs[0])
            )
            accumulators[output] = self._reduced(inner, node, value, "s")
        self._loop(place, inner, loop, variable, self._count(loop), accumulators)
        return {output: found.name for output, found in accumulators.items()}

    def _reduced(self, place: Place, node: Node, value: Expr, letter: str) -> Accumulator:
        """Add a value up in the loop whose body a place is; return what takes it."""
        found = Accumulator(
            self._fresh(letter), reduction_kind(node), compute_dtype(node.outputs[0])
        )
        place.body.append(Reduce(found.name, value))
        return found

    def _loop(
        self,
        place: Place,
        inner: Place,
        loop: int,
        variable: str,
        count: int | str,
        accumulators: dict[Value, Accumulator],
    ) -> None:
        """Emit a loop; afterwards what it has added up is known at its place."""
        vector, taken = loop == self.space.vector, tuple(accumulators.values())
        body = tuple(inner.body)
        place.body.append(Loop(variable, count, body, vector=vector, accumulators=taken))
        for output, found in accumulators.items():
            place.bound[output] = Var(found.name, found.dtype)

    def _row(self, place: Place) -> None:
        """Emit one row: by turns what is computed between the inner loops, and the loops."""
        nodes = [n for n in self.space.nodes if n.outputs[0] not in self.space.tail]
        sinks = [n for n in self.space.nodes if n.outputs[0] in self.space.sinks]
        last = max(self.space.time.values(), default=0)
        for time in range(last + 1):
            for node in nodes:
                output = node.outputs[0]
                if self.space.is_inner(output) or self.space.time[output] != time:
                    continue
                if not self._reduces(node):
                    self._compute(place, node)
                self._store(place, output, self._get(place, output))
            self._inner(place, time, nodes, sinks)

    def _reduces(self, node: Node) -> bool:
        return isinstance(node.op.lowering, registry.Reduce) and (
            self.space.time[node.outputs[0]] > self.space.time[node.inputs[0]]
        )

    def _inner(self, place: Place, time: int, nodes: Sequence[Node], sinks: Sequence[Node]) -> None:
        space = self.space
        here = [
            n for n in nodes if space.is_inner(n.outputs[0]) and space.time[n.outputs[0]] == time
        ]
        reduces = [n for n in nodes if self._reduces(n) and space.time[n.inputs[0]] == time]
        columns = [
            n for n in sinks if space.is_inner(n.outputs[0]) and space.time[n.inputs[0]] == time
        ]
        if here or reduces or columns:
            self._inner_loops(place, 0, here, reduces, columns)

    def _inner_loops(
        self,
        place: Place,
        depth: int,
        here: Sequence[Node],
        reduces: Sequence[Node],
        columns: Sequence[Node],
    ) -> None:
        loop = self.space.inner[depth]
        inner = Place({**place.variables, loop: self._fresh("i")}, outer=place)
        deepest = depth + 1 == len(self.space.inner)
        if deepest:
            for node in here:
                self._compute(inner, node)
                self._store(inner, node.outputs[0], self._get(inner, node.outputs[0]))
            for node in columns:
                self._accumulate(inner, node)
        else:
            self._inner_loops(inner, depth + 1, here, reduces, columns)
        accumulators: dict[Value, Accumulator] = {}
        for node in reduces:
            output = node.outputs[0]
            value = self._get(inner, node.inputs[0] if deepest else output)
            accumulators[output] = self._reduced(inner, node, value, "r")
        self._loop(place, inner, loop, inner.variables[loop], self._extent(loop), accumulators)

    # -- sinks and tail ----------------------------------------------------------------------

    def _sink_store(self, place: Place, sink: Value, expr: Expr) -> Statement:
        if sink in self.stored:
            expr = loops.cast(expr, sink.aval.dtype.numpy)
            return Store(self.buffers[sink].name, self._index(sink, place.variables), expr)
        return Store(self.scratch[sink].name, self._row_index(place.variables), expr)

    def _clear(self, sink: Value) -> list[Statement]:
        """Return loops that set a column sink to its neutral element."""
        if sink not in self.stored:
            name = self._fresh("row")
            self.scratch[sink] = Scratch(name, compute_dtype(sink), self.space.row_size)
        top = Place({})
        start = neutral(reduction_kind(self.producer[sink]), compute_dtype(sink))
        self._columns(top, lambda place: [self._sink_store(place, sink, start)])
        return top.body

    def _columns(self, place: Place, make: Any, depth: int = 0) -> None:
        """Emit loops over one row outside the outer loops."""
        if depth == len(self.space.inner):
            place.body.extend(make(place))
            return
        loop = self.space.inner[depth]
        inner = Place({**place.variables, loop: self._fresh("i")}, outer=place)
        self._columns(inner, make, depth + 1)
        self._loop(place, inner, loop, inner.variables[loop], self._extent(loop), {})

    def _accumulate(self, place: Place, node: Node) -> None:
        sink = node.outputs[0]
        old = self._load(sink, place.variables)
        value = self._get(place, node.inputs[0])
        both = loops.call(COMBINED[reduction_kind(node)], old, value)
        place.body.append(self._sink_store(place, sink, both))

    def _tail(self, place: Place) -> None:
        """Emit what depends on complete sinks."""
        nodes = [n for n in self.space.nodes if n.outputs[0] in self.space.tail]
        for node in nodes:
            output = node.outputs[0]
            if not self.space.is_inner(output):
                if output not in self.space.sinks:
                    self._compute(place, node)
                if output in self.stored:
                    self._store(place, output, self._get(place, output))
        columns = [
            n
            for n in nodes
            if self.space.is_inner(n.outputs[0]) and n.outputs[0] not in self.space.sinks
        ]
        if columns:
            self._columns(place, lambda inner: self._tail_columns(inner, columns))

    def _tail_columns(self, place: Place, nodes: Sequence[Node]) -> list[Statement]:
        for node in nodes:
            self._compute(place, node)
            self._store(place, node.outputs[0], self._get(place, node.outputs[0]))
        return []


def _sum_of_one(expr: Expr) -> Expr:
    """Return the sum of a single number: that of -0 alone is 0, since sums begin with 0."""
    if expr.dtype.kind != "f":
        return expr
    return loops.call("add", expr, loops.const(0.0, expr.dtype))
