"""LLVM text, one instruction at a time, on scalars and on vectors of any number of lanes."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from .expressions import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    HALVES,
    INT64,
    DType,
    Scalar,
    kind_of,
)
from .halves import BITS, round_to_bfloat16, round_to_odd, widen

TYPES: Final = {
    FLOAT16: "half",
    BFLOAT16: "i16",  # its bits
    FLOAT32: "float",
    FLOAT64: "double",
    BOOL: "i1",
    **{np.dtype(f"{sign}{size}"): f"i{8 * size}" for sign in "iu" for size in (1, 2, 4, 8)},
}

_COMPARE: Final = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_INT_ARITHMETIC: Final = {"add": "add", "sub": "sub", "mul": "mul"}
_HELD: Final = {BOOL: np.dtype(np.uint8), **dict.fromkeys(HALVES, BITS)}


@dataclass(frozen=True)
class Value:
    """An SSA value; `lanes` is 0 for a scalar."""

    text: str
    dtype: DType
    lanes: int = 0


Number: TypeAlias = "Value | float | int"


def type_text(dtype: DType, lanes: int) -> str:
    """Print a type."""
    return f"<{lanes} x {TYPES[dtype]}>" if lanes else TYPES[dtype]


def memory_type(dtype: DType) -> DType:
    """Return the integer dtype that carries bools and halves in memory, else the dtype itself."""
    return _HELD.get(dtype, dtype)


def literal(value: Scalar, dtype: DType, lanes: int = 0) -> Value:
    """Return a constant; floats are printed as the bits of a double, exactly."""
    if dtype == BOOL:
        text = "true" if value else "false"
    elif kind_of(dtype) == "float":
        bits = struct.unpack("<Q", struct.pack("<d", dtype.type(value).item()))[0]
        text = f"0x{bits:016X}"
        if dtype == FLOAT32 and math.isnan(value):
            text = "0x7FF8000000000000"
    elif dtype == FLOAT16:
        text = f"0xH{np.float16(value).view(np.uint16).item():04X}"
    elif dtype == BFLOAT16:
        text = str(dtype.type(value).view(np.int16).item())
    else:
        text = str(int(value))
    return Value(f"splat ({TYPES[dtype]} {text})" if lanes else text, dtype, lanes)


class Emitter:
    """Collects the instructions of one LLVM function and the declarations its module needs."""

    def __init__(self, declarations: dict[str, str]) -> None:
        self.lines: list[str] = []
        self.entry: list[str] = []  # goes to the top of the function: stack slots
        self.declarations = declarations
        self.block_name = "entry"
        self._count = 0
        self._narrow: dict[str, Value] = {}  # by the name of a float32: the half that it was

    # -- structure -------------------------------------------------------------------------

    def fresh(self, hint: str = "v") -> str:
        """Return a new name."""
        self._count += 1
        return f"%{hint}{self._count}"

    def define(self, name: str, params: Sequence[str], *, internal: bool = False) -> str:
        """Return the function `void name(params)` of the instructions so far."""
        kind = "internal void" if internal else "void"
        head = f"define {kind} @{name}({', '.join(params)}) nounwind {{"
        return "\n".join([head, "entry:", *self.entry, *self.lines, "  ret void", "}"])

    def label(self, hint: str) -> str:
        """Return a new block name."""
        self._count += 1
        return f"{hint}{self._count}"

    def block(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")
        self.block_name = name

    def line(self, text: str) -> None:
        """Add an instruction without a result."""
        self.lines.append("  " + text)

    def value(self, text: str, dtype: DType, lanes: int) -> Value:
        """Add an instruction and name its result."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {text}")
        return Value(name, dtype, lanes)

    def branch(self, target: str) -> None:
        """Jump."""
        self.line(f"br label %{target}")

    def branch_if(self, condition: Value, then: str, otherwise: str) -> None:
        """Jump on a scalar bool."""
        self.line(f"br i1 {condition.text}, label %{then}, label %{otherwise}")

    def phi(self, name: str, dtype: DType, lanes: int, edges: Sequence[tuple[str, str]]) -> Value:
        """Merge values at the top of a block."""
        arms = ", ".join(f"[ {text}, %{block} ]" for text, block in edges)
        self.line(f"{name} = phi {type_text(dtype, lanes)} {arms}")
        return Value(name, dtype, lanes)

    def intrinsic(self, name: str, args: Sequence[Value], dtype: DType, lanes: int) -> Value:
        """Call an LLVM intrinsic whose name ends in the type of its result."""
        suffix = (f"v{lanes}" if lanes else "") + _short(dtype)
        return self.call(f"{name}.{suffix}", args, dtype, lanes)

    def call(self, name: str, args: Sequence[Value], dtype: DType, lanes: int) -> Value:
        """Call a function that returns a value, declaring it in the module."""
        result = type_text(dtype, lanes)
        types = [type_text(a.dtype, a.lanes) for a in args]
        self.declarations[name] = f"declare {result} @{name}({', '.join(types)})"
        shown = ", ".join(f"{t} {a.text}" for t, a in zip(types, args, strict=True))
        return self.value(f"call {result} @{name}({shown})", dtype, lanes)

    # -- shapes ----------------------------------------------------------------------------

    def splat(self, x: Value, lanes: int) -> Value:
        """Repeat a scalar over lanes; a vector stays."""
        if x.lanes == lanes:
            return x
        if not x.text.startswith("%"):
            return Value(f"splat ({TYPES[x.dtype]} {x.text})", x.dtype, lanes)
        vector, scalar = type_text(x.dtype, lanes), TYPES[x.dtype]
        one = self.value(f"insertelement {vector} poison, {scalar} {x.text}, i32 0", x.dtype, lanes)
        zeros = f"<{lanes} x i32> zeroinitializer"
        return self.value(
            f"shufflevector {vector} {one.text}, {vector} poison, {zeros}", x.dtype, lanes
        )

    def match(self, *args: Number) -> list[Value]:
        """Bring numbers and values to the dtype of the first value and to one number of lanes."""
        dtype = next(a.dtype for a in args if isinstance(a, Value))
        lanes = max(a.lanes for a in args if isinstance(a, Value))
        return [
            self.splat(a, lanes) if isinstance(a, Value) else literal(a, dtype, lanes) for a in args
        ]

    def halves(self, x: Value) -> tuple[Value, Value]:
        """Split a vector into its lower and upper lanes."""
        half = x.lanes // 2
        vector = type_text(x.dtype, x.lanes)
        parts = []
        for first in (0, half):
            picks = ", ".join(f"i32 {first + lane}" for lane in range(half))
            text = f"shufflevector {vector} {x.text}, {vector} poison, <{half} x i32> <{picks}>"
            parts.append(self.value(text, x.dtype, half))
        return parts[0], parts[1]

    def first_lane(self, x: Value) -> Value:
        """Return lane 0 as a scalar."""
        return self.value(
            f"extractelement {type_text(x.dtype, x.lanes)} {x.text}, i32 0", x.dtype, 0
        )

    def iota(self, dtype: DType, lanes: int) -> Value:
        """Return 0, 1, 2, ... over the lanes."""
        items = ", ".join(f"{TYPES[dtype]} {lane}" for lane in range(lanes))
        return Value(f"<{items}>", dtype, lanes)

    def prefix(self, count: int, lanes: int) -> Value:
        """Return a mask of the first `count` lanes."""
        items = ", ".join(f"i1 {'true' if lane < count else 'false'}" for lane in range(lanes))
        return Value(f"<{items}>", BOOL, lanes)

    # -- arithmetic ------------------------------------------------------------------------

    def binary(self, instruction: str, x: Number, y: Number) -> Value:
        """Emit a two-operand instruction, as `fadd`, with its flags."""
        x, y = self.match(x, y)
        return self.value(
            f"{instruction} {type_text(x.dtype, x.lanes)} {x.text}, {y.text}", x.dtype, x.lanes
        )

    def arithmetic(self, op: str, x: Number, y: Number) -> Value:
        """Add, subtract, multiply or divide; float products may contract into sums."""
        dtype = next(a.dtype for a in (x, y) if isinstance(a, Value))
        if kind_of(dtype) == "float":
            return self.binary(f"f{op} contract", x, y)
        return self.binary(_INT_ARITHMETIC[op], x, y)

    def add(self, x: Number, y: Number) -> Value:
        """x + y."""
        return self.arithmetic("add", x, y)

    def sub(self, x: Number, y: Number) -> Value:
        """x - y."""
        return self.arithmetic("sub", x, y)

    def mul(self, x: Number, y: Number) -> Value:
        """x * y."""
        return self.arithmetic("mul", x, y)

    def div(self, x: Number, y: Number) -> Value:
        """x / y for floats."""
        return self.binary("fdiv", x, y)

    def exact(self, op: str, x: Number, y: Number) -> Value:
        """Float add, sub or mul that is rounded by itself, never contracted."""
        return self.binary(f"f{op}", x, y)

    def fma(self, x: Number, y: Number, z: Number) -> Value:
        """x * y + z, rounded once."""
        args = self.match(x, y, z)
        return self.intrinsic("llvm.fma", args, args[0].dtype, args[0].lanes)

    def unary(self, intrinsic: str, x: Value) -> Value:
        """Call a one-argument float intrinsic: sqrt, fabs, floor, ceil, trunc, rint."""
        return self.intrinsic(f"llvm.{intrinsic}", [x], x.dtype, x.lanes)

    def neg(self, x: Value) -> Value:
        """-x."""
        if kind_of(x.dtype) == "float":
            return self.value(f"fneg {type_text(x.dtype, x.lanes)} {x.text}", x.dtype, x.lanes)
        return self.binary("sub", literal(0, x.dtype, x.lanes), x)

    def compare(self, op: str, x: Number, y: Number) -> Value:
        """Compare with `eq ne lt le gt ge`, or for floats any LLVM predicate as `uno`."""
        x, y = self.match(x, y)
        if kind_of(x.dtype) == "float":
            text = f"fcmp {_COMPARE.get(op, op)}"
        else:
            signed = "s" if x.dtype.kind == "i" else "u"
            text = f"icmp {op if op in ('eq', 'ne') else signed + op}"
        return self.value(f"{text} {type_text(x.dtype, x.lanes)} {x.text}, {y.text}", BOOL, x.lanes)

    def is_nan(self, x: Value) -> Value:
        """Whether x is NaN."""
        return self.compare("uno", x, x)

    def select(self, condition: Value, x: Number, y: Number) -> Value:
        """Choose lane by lane."""
        x, y = self.match(x, y)
        lanes = max(condition.lanes, x.lanes)
        condition, x, y = (self.splat(v, lanes) for v in (condition, x, y))
        both, kind = type_text(x.dtype, lanes), type_text(BOOL, lanes)
        return self.value(
            f"select {kind} {condition.text}, {both} {x.text}, {both} {y.text}", x.dtype, lanes
        )

    def maximum(self, x: Number, y: Number) -> Value:
        """The larger; NaN if either is NaN."""
        return self._extreme("gt", x, y)

    def minimum(self, x: Number, y: Number) -> Value:
        """The smaller; NaN if either is NaN."""
        return self._extreme("lt", x, y)

    def _extreme(self, op: str, x: Number, y: Number) -> Value:
        x, y = self.match(x, y)
        if x.dtype == BOOL:
            return self.binary("or" if op == "gt" else "and", x, y)
        best = self.select(self.compare(op, x, y), x, y)  # y if either is NaN
        if kind_of(x.dtype) != "float":
            return best
        return self.select(self.is_nan(x), x, best)

    def bits(self, x: Value) -> Value:
        """The bits of a float as a signed integer."""
        dtype = np.dtype(f"i{x.dtype.itemsize}")
        return self.reinterpret(x, dtype)

    def reinterpret(self, x: Value, dtype: DType) -> Value:
        """The same bits as another dtype of that size."""
        source, target = type_text(x.dtype, x.lanes), type_text(dtype, x.lanes)
        return self.value(f"bitcast {source} {x.text} to {target}", dtype, x.lanes)

    def reinterpret_unsigned(self, x: Value) -> Value:
        """The same integer bits read without a sign."""
        return Value(x.text, np.dtype(f"u{x.dtype.itemsize}"), x.lanes)

    def cast(self, x: Value, dtype: DType) -> Value:
        """Convert as NumPy's `astype`; floats to integers truncate."""
        if x.dtype == dtype:
            return x
        if dtype == BOOL:
            return self._to_bool(x)
        source, target = kind_of(x.dtype), kind_of(dtype)
        if x.dtype == FLOAT32 and self._narrow.get(x.text, x).dtype == dtype:
            return self._narrow[x.text]
        if source == "half" and dtype == FLOAT32:
            wide = widen(self, x)
            self._narrow[wide.text] = x
            return wide
        if source == "half" or (target == "half" and source != "float"):
            return self.cast(self.cast(x, FLOAT32), dtype)
        if dtype == BFLOAT16:
            return round_to_bfloat16(self, self.cast(x, FLOAT32))
        if x.dtype == FLOAT64 and dtype == FLOAT16:
            return self.cast(round_to_odd(self, x), FLOAT16)
        floats = ("float", "half")
        if source in floats and target in floats:
            word = "fpext" if dtype.itemsize > x.dtype.itemsize else "fptrunc"
        elif source in floats:
            word = "fptosi" if dtype.kind == "i" else "fptoui"
        elif target in floats:
            word = "sitofp" if x.dtype.kind == "i" else "uitofp"
        elif source == "bool" or dtype.itemsize > x.dtype.itemsize:
            word = "sext" if x.dtype.kind == "i" else "zext"
        elif dtype.itemsize < x.dtype.itemsize:
            word = "trunc"
        else:
            return Value(x.text, dtype, x.lanes)
        return self.convert(word, x, dtype)

    def convert(self, word: str, x: Value, dtype: DType) -> Value:
        """Emit one conversion instruction."""
        source, target = type_text(x.dtype, x.lanes), type_text(dtype, x.lanes)
        return self.value(f"{word} {source} {x.text} to {target}", dtype, x.lanes)

    def _to_bool(self, x: Value) -> Value:
        if kind_of(x.dtype) == "half":
            x = self.cast(x, FLOAT32)
        return self.compare("ne", x, 0)

    # -- memory ----------------------------------------------------------------------------

    def address(self, pointer: str, dtype: DType, offset: Value) -> Value:
        """Return the address of an element; a vector of offsets gives a vector of pointers."""
        element = TYPES[memory_type(dtype)]
        offsets = f"{type_text(INT64, offset.lanes)} {offset.text}"
        name = self.fresh("p")
        self.line(f"{name} = getelementptr {element}, ptr {pointer}, {offsets}")
        return Value(name, dtype, offset.lanes)

    def prefetch(self, address: str, *, write: bool = False) -> None:
        """Ask for a line of memory; an address outside of what there is does nothing."""
        name = "llvm.prefetch.p0"
        self.declarations[name] = f"declare void @{name}(ptr, i32, i32, i32)"
        self.line(f"call void @{name}(ptr {address}, i32 {write:d}, i32 3, i32 1)")

    def load(self, address: Value, lanes: int, mask: Value | None = None) -> Value:
        """Load a scalar, adjacent lanes, or (from a vector of pointers) scattered lanes."""
        dtype, held = address.dtype, memory_type(address.dtype)
        kind = type_text(held, lanes)
        if address.lanes:
            mask = mask or literal(True, BOOL, lanes)
            name = f"llvm.masked.gather.v{lanes}{_short(held)}.v{lanes}p0"
            raw = self._masked(name, f"<{lanes} x ptr>", address, held, lanes, mask)
        elif mask is not None:
            name = f"llvm.masked.load.v{lanes}{_short(held)}.p0"
            raw = self._masked(name, "ptr", address, held, lanes, mask)
        else:
            raw = self.value(f"load {kind}, ptr {address.text}, align {held.itemsize}", held, lanes)
        if dtype == BOOL:
            return self.compare("ne", raw, 0)
        if dtype == BFLOAT16:
            return Value(raw.text, dtype, lanes)
        return raw if dtype == held else self.reinterpret(raw, dtype)

    def _masked(
        self, name: str, pointers: str, address: Value, held: DType, lanes: int, mask: Value
    ) -> Value:
        kind = type_text(held, lanes)
        self.declarations[name] = f"declare {kind} @{name}({pointers}, <{lanes} x i1>, {kind})"
        return self.value(
            f"call {kind} @{name}({pointers} align {held.itemsize} {address.text}, "
            f"<{lanes} x i1> {mask.text}, {kind} zeroinitializer)",
            held,
            lanes,
        )

    def store(self, x: Value, address: Value, mask: Value | None = None) -> None:
        """Store what `load` loads."""
        held = memory_type(x.dtype)
        if x.dtype == BOOL:
            x = self.cast(x, held)
        elif x.dtype == FLOAT16:
            x = self.reinterpret(x, held)
        kind = type_text(held, x.lanes)
        if address.lanes:
            mask = mask or literal(True, BOOL, x.lanes)
            name = f"llvm.masked.scatter.v{x.lanes}{_short(held)}.v{x.lanes}p0"
            pointers = f"<{x.lanes} x ptr>"
        elif mask is not None and mask.text == self.prefix(1, x.lanes).text:
            # A masked store of one lane that was truncated writes as much as before (LLVM 22).
            self.store(self.first_lane(Value(x.text, held, x.lanes)), address)
            return
        elif mask is not None:
            name, pointers = f"llvm.masked.store.v{x.lanes}{_short(held)}.p0", "ptr"
        else:
            self.line(f"store {kind} {x.text}, ptr {address.text}, align {held.itemsize}")
            return
        self.declarations[name] = f"declare void @{name}({kind}, {pointers}, <{x.lanes} x i1>)"
        self.line(
            f"call void @{name}({kind} {x.text}, {pointers} align {held.itemsize} {address.text}, "
            f"<{x.lanes} x i1> {mask.text})"
        )


def as_internal(definition: str) -> str:
    """Return a function's definition for a module that alone may call it."""
    return definition.replace("define void @", "define internal void @", 1)


def _short(dtype: DType) -> str:
    """The type as intrinsic names spell it."""
    return {"half": "f16", "float": "f32", "double": "f64"}.get(TYPES[dtype], TYPES[dtype])
