"""A recurrent layer in one direction as one native kernel: the loop over time is inside.

Each step is a product with the recurrent weight and a loop over what it gives, for a share of the
batch's rows. Rows need nothing of each other, so threads take shares and never meet in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .control import Carried, repeat
from .emitter import Emitter, Value, as_internal
from .expressions import INT64, DType, affine
from .gemm import Gemm, Product
from .llvm import print_function
from .loops import Buffer, Function, Loop, Store, load
from .recurrent_cells import (
    KINDS,
    CellKind,
    backward_step,
    backward_widths,
    forward_step,
    forward_widths,
)
from .target import Target

INTS: Final = ("rows", "batch", "steps", "reverse")
"""Rows of this call and of the whole batch, steps, and 1 where time runs backwards, else 0."""


@dataclass(frozen=True)
class RecurrentKernel:
    """`void name(buffers..., rows, batch, steps, reverse)`, the buffers being those of `buffers`.

    Forward: reads gates (the inputs' share, `[steps, batch, k*size]`), states at the start, the
    weight transposed (`across`, `[size, k*size]`); writes the outputs, the last states and, with
    `keep`, what the way back needs. `sums` is room for one step's product.
    Backward: reads the results' gradients, the weight `[k*size, size]` and what was kept; writes
    the gradients of gates and states. GRU's `dhidden` are those of the state's share.
    """

    name: str
    kind: str
    size: int
    dtype: DType
    ragged: bool = False
    keep: bool = False
    backward: bool = False

    @property
    def cell(self) -> CellKind:
        """What the kind is made of."""
        return KINDS[self.kind]

    @property
    def text(self) -> str:
        """A canonical description."""
        way = "backward" if self.backward else "forward"
        return "\n".join([f"recurrent {self.name} {way}", self.gemm.text, self.step.text])

    @property
    def gemm(self) -> Gemm:
        """The product of each step."""
        wide, name = self.cell.gates * self.size, f"{self.name}.product"
        if self.backward:
            return Gemm(name, Product(self.dtype, "rows", self.size, wide, accumulate=True))
        return Gemm(name, Product(self.dtype, "rows", wide, self.size))

    @property
    def step(self) -> Function:
        """The loop of each step."""
        name = f"{self.name}.step"
        if self.backward:
            return backward_step(name, self.kind, self.size, self.dtype, self.ragged)
        return forward_step(name, self.kind, self.size, self.dtype, self.ragged, self.keep)

    @property
    def buffers(self) -> tuple[str, ...]:
        """Names of the buffers, in order."""
        cell, lengths = self.cell, ("lengths",) if self.ragged else ()
        if self.backward:
            ends = ("dout", "dlast", *(("dlast_cell",) if cell.has_cell else ()))
            hidden = ("dhidden",) if cell.has_bias else ()
            states = ("dstate", *(("dcell",) if cell.has_cell else ()))
            return (*ends, "weight", "slopes", *lengths, "dgates", *hidden, *states)
        start = ("start", *(("start_cell",) if cell.has_cell else ()))
        bias = ("bias",) if cell.has_bias else ()
        states = ("state", *(("cell",) if cell.has_cell else ()))
        kept = ("slopes", "before") if self.keep else ()
        return ("gates", *start, "across", *bias, *lengths, "output", *states, *kept, "sums")

    @property
    def widths(self) -> tuple[int, ...]:
        """How many elements a row of each buffer has; 0 where all rows share it."""
        of = backward_widths if self.backward else forward_widths
        known = {"lengths": 1, "across": 0, "weight": 0, **of(self.kind, self.size)}
        return tuple(known.get(name, self.size) for name in self.buffers)

    @property
    def advance(self) -> tuple[int, ...]:
        """How many bytes each buffer has a row."""
        item = self.dtype.itemsize
        pairs = zip(self.buffers, self.widths, strict=True)
        return tuple(width * (8 if name == "lengths" else item) for name, width in pairs)

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        emit = Emitter(declarations)
        _Driver(emit, self).run()
        parts = [
            print_function(self.step, target, declarations),
            print_function(_copy(f"{self.name}.copy", self.size, self.dtype), target, declarations),
            self.gemm.llvm(target, declarations),
        ]
        parts = [as_internal(part) for part in parts]
        params = [f"ptr %arg.{b}" for b in self.buffers] + [f"i64 %arg.{i}" for i in INTS]
        return "\n\n".join([*parts, emit.define(self.name, params)])


def transposing(name: str, gates: int, size: int, dtype: DType) -> Function:
    """Build (weight, across): the weight `[gates*size, size]` the other way round.

    Its int, `rows`, counts the rows of the result.
    """
    wide = gates * size
    weight, across = Buffer("weight", dtype), Buffer("across", dtype)
    turned = Store("across", affine(("k", wide), "j"), load(weight, affine(("j", size), "k")))
    body = Loop("k", "rows", (Loop("j", wide, (turned,), vector=True),))
    return Function(name, (weight, across), ("rows",), (body,))


def _copy(name: str, size: int, dtype: DType) -> Function:
    place = affine(("r", size), "j")
    source, target = Buffer("source", dtype), Buffer("target", dtype)
    row = Loop("j", size, (Store("target", place, load(source, place)),), vector=True)
    return Function(name, (source, target), ("rows",), (Loop("r", "rows", (row,)),))


class _Driver:
    """The loop over time."""

    def __init__(self, emit: Emitter, kernel: RecurrentKernel) -> None:
        self.emit, self.kernel = emit, kernel
        self.widths = dict(zip(kernel.buffers, kernel.widths, strict=True))

    def arg(self, name: str) -> Value:
        return Value(f"%arg.{name}", INT64)

    def call(self, name: str, pointers: list[str], *ints: str) -> None:
        args = [f"ptr {p}" for p in pointers] + [f"i64 {i}" for i in ints]
        self.emit.line(f"call void @{name}({', '.join(args)})")

    def run(self) -> None:
        starts = {"start": "state", "start_cell": "cell", "dlast": "dstate", "dlast_cell": "dcell"}
        for source, target in starts.items():
            if source in self.widths:
                pointers = [f"%arg.{source}", f"%arg.{target}"]
                self.call(f"{self.kernel.name}.copy", pointers, "%arg.rows")
        last = self.emit.sub(self.arg("steps"), 1)

        def one(index: Value, state: Carried) -> Carried:
            other = self.emit.sub(last, index)
            turned = self.emit.compare("ne", self.arg("reverse"), int(self.kernel.backward))
            self.time_step(self.emit.select(turned, other, index))
            return state

        repeat(self.emit, self.arg("steps"), 1, {}, one)

    def time_step(self, time: Value) -> None:
        kernel = self.kernel
        row = self.emit.mul(time, self.arg("batch"))
        moved = ("gates", "output", "slopes", "before", "dout", "dgates", "dhidden")
        places = {
            name: self.emit.address(
                f"%arg.{name}", kernel.dtype, self.emit.mul(row, self.widths[name])
            ).text
            if name in moved
            else f"%arg.{name}"
            for name in self.widths
        }
        step = [places[b.name] for b in kernel.step.buffers]
        if kernel.backward:
            self.call(kernel.step.name, step, "%arg.rows", time.text)
            hidden = places["dhidden" if kernel.cell.has_bias else "dgates"]
            product = [hidden, places["weight"], places["dstate"]]
            self.call(kernel.gemm.name, product, "%arg.rows")
            return
        product = [places["state"], places["across"], places["sums"]]
        self.call(kernel.gemm.name, product, "%arg.rows")
        self.call(kernel.step.name, step, "%arg.rows", time.text)
