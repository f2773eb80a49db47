"""Numbers drawn one after another from a key's stream: the bits of NumPy's own functions.

How many bits a normal number takes shows only when it is drawn, so such numbers cannot be computed
each from its own counter. NumPy's functions for them are there for other machine code to call
(its guide, "C API for random"); they take a *bit generator*, a state with functions over it. The
kernels here make one over the blocks of `philox.py` and need no Python while they draw.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.random import _generator

from .emitter import literal
from .expressions import FLOAT32, FLOAT64, DType
from .philox import NUMBERS, print_blocks
from .target import Target

FUNCTIONS: Final = (
    "random_standard_normal_f",
    "random_standard_normal",
    "random_bounded_uint64_fill",
    "random_interval",
    "random_laplace",
)
"""What kernels call of NumPy."""
NORMALS: Final = {FLOAT32: FUNCTIONS[0], FLOAT64: FUNCTIONS[1]}
_DIGITS: Final = {FLOAT32: 23, FLOAT64: 52}
"""Bits that say how far a number lies from zero, in steps of its layer."""
_BLOCKS: Final = 16
_HELD: Final = _BLOCKS * NUMBERS
"""Numbers of 32 bits that are computed at once."""
_HEAD: Final = 64
"""Bytes of a state before its numbers: how many of them were taken, the next block, the key."""


@cache
def function_address(name: str) -> int:
    """Return where one of NumPy's functions is, 0 where this build of NumPy keeps it to itself."""
    library = ctypes.CDLL(_generator.__file__)
    found = getattr(library, name, None)
    return 0 if found is None else ctypes.cast(found, ctypes.c_void_p).value or 0


@dataclass(frozen=True)
class Normal:
    """`void name(key, out, function, n)`: normal numbers, by the ziggurat method.

    Its usual case is done here; in the others, one of a hundred, NumPy's function looks at the
    same bits again. G. Marsaglia and W. W. Tsang, "The ziggurat method for generating random
    variables", 2000.
    """

    name: str
    dtype: DType

    @property
    def text(self) -> str:
        """A canonical description."""
        return f"normal numbers {self.name} {self.dtype} {np.__version__}"  # whose tables it has

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        bits = 8 * self.dtype.itemsize
        real = "float" if self.dtype == FLOAT32 else "double"
        widths = [literal(step, self.dtype).text for step in _steps(self.dtype)]
        limits = [str(limit) for limit in _limits(self.dtype)]
        tables = [
            _table(f"{self.name}.widths", real, widths),
            _table(f"{self.name}.limits", f"i{bits}", limits),
        ]
        return "\n".join([*tables, _definition(self.name, (), self._loop(bits, real))])

    def _loop(self, bits: int, real: str) -> str:
        """Return the loop over numbers of the LLVM type ``real``, made of so many bits each."""
        return f"""\
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i.next, %done ]
  %at = phi i64 [ {_HELD}, %entry ], [ %at.next, %done ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %draw, label %end
draw:
  %empty = icmp sge i64 %at, {_HELD}
  br i1 %empty, label %fill, label %take
fill:
  call void @{self.name}.fill(ptr %state)
  br label %take
take:
  %now = phi i64 [ %at, %draw ], [ 0, %fill ]
  %place = getelementptr i32, ptr %numbers, i64 %now
  %r = load i{bits}, ptr %place, align 4
  %layer = and i{bits} %r, 255
  %width.at = getelementptr {real}, ptr @{self.name}.widths, i{bits} %layer
  %width = load {real}, ptr %width.at, align {self.dtype.itemsize}
  %limit.at = getelementptr i{bits}, ptr @{self.name}.limits, i{bits} %layer
  %limit = load i{bits}, ptr %limit.at, align {self.dtype.itemsize}
  %shifted = lshr i{bits} %r, 9
  %steps = and i{bits} %shifted, {(1 << _DIGITS[self.dtype]) - 1}
  %real = sitofp i{bits} %steps to {real}
  %size = fmul {real} %real, %width
  %sign = shl i{bits} %r, {bits - 9}
  %top = and i{bits} %sign, {-(1 << (bits - 1))}
  %plain = bitcast {real} %size to i{bits}
  %signed = or i{bits} %plain, %top
  %inside = bitcast i{bits} %signed to {real}
  %after = add i64 %now, {self.dtype.itemsize // 4}
  %usual = icmp ult i{bits} %steps, %limit
  br i1 %usual, label %done, label %ask
ask:
  store i64 %now, ptr %state, align 8
  %asked = call {real} %function(ptr %generator)
  %at.asked = load i64, ptr %state, align 8
  br label %done
done:
  %x = phi {real} [ %inside, %take ], [ %asked, %ask ]
  %at.next = phi i64 [ %after, %take ], [ %at.asked, %ask ]
  %to = getelementptr {real}, ptr %out, i64 %i
  store {real} %x, ptr %to, align {self.dtype.itemsize}
  %i.next = add i64 %i, 1
  br label %head
end:"""


@dataclass(frozen=True)
class Integers:
    """`void name(key, out, function, n, low, range)`: whole numbers from low to low + range."""

    name: str

    @property
    def text(self) -> str:
        """A canonical description."""
        return f"whole numbers {self.name}"

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        given = "ptr %generator, i64 %low, i64 %range, i64 %n, i1 zeroext false, ptr %out"
        return _definition(self.name, ("low", "range"), f"  call void %function({given})")


@dataclass(frozen=True)
class Permutation:
    """`void name(key, out, function, n, first)`: n numbers from the first on, in random order."""

    name: str

    @property
    def text(self) -> str:
        """A canonical description."""
        return f"permutation {self.name}"

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        body = """\
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %count, label %end
count:
  %i = phi i64 [ 0, %entry ], [ %i.next, %count ]
  %number = add i64 %i, %first
  %to = getelementptr i64, ptr %out, i64 %i
  store i64 %number, ptr %to, align 8
  %i.next = add i64 %i, 1
  %counting = icmp slt i64 %i.next, %n
  br i1 %counting, label %count, label %head
head:
  %left = phi i64 [ %n, %count ], [ %last, %swap ]
  %last = sub i64 %left, 1
  %more = icmp sgt i64 %last, 0
  br i1 %more, label %swap, label %end
swap:
  %other = call i64 %function(ptr %generator, i64 %last)
  %at = getelementptr i64, ptr %out, i64 %last
  %at.other = getelementptr i64, ptr %out, i64 %other
  %one = load i64, ptr %at, align 8
  %two = load i64, ptr %at.other, align 8
  store i64 %two, ptr %at, align 8
  store i64 %one, ptr %at.other, align 8
  br label %head
end:"""
        return _definition(self.name, ("first",), body)


@cache
def swaps_as_numpy() -> bool:
    """Return whether NumPy puts numbers in random order as ``Permutation`` does.

    That is no function of NumPy's that other machine code can call, and may change.
    """
    if not function_address("random_interval"):
        return False
    drawn, given = (np.random.Generator(np.random.Philox(key=(1, 2))) for _ in range(2))
    kind = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64)
    interval = kind(function_address("random_interval"))
    bits: Any = drawn.bit_generator.ctypes.bit_generator
    order = list(range(100))
    for last in range(99, 0, -1):
        other = interval(bits, last)
        order[last], order[other] = order[other], order[last]
    return order == given.permutation(100).tolist()


@dataclass(frozen=True)
class Laplace:
    """`void name(key, out, function, n)`: numbers of mean 0 and scale 1, as float64."""

    name: str

    @property
    def text(self) -> str:
        """A canonical description."""
        return f"laplace numbers {self.name}"

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        body = """\
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i.next, %draw ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %draw, label %end
draw:
  %x = call double %function(ptr %generator, double 0.0, double 1.0)
  %to = getelementptr double, ptr %out, i64 %i
  store double %x, ptr %to, align 8
  %i.next = add i64 %i, 1
  br label %head
end:"""
        return _definition(self.name, (), body)


# ---- the stream --------------------------------------------------------------------------------


def _definition(name: str, ints: Sequence[str], body: str) -> str:
    """Return a kernel whose body draws from ``%generator``, and the functions that this needs."""
    more = "".join(f", i64 %{given}" for given in ints)
    nexts = (f"@{name}.next64", f"@{name}.next32", f"@{name}.double", f"@{name}.next64")
    pointers = [("%state", 0), *((text, 8 + 8 * k) for k, text in enumerate(nexts))]
    stores = [
        f"  %generator.{at} = getelementptr i8, ptr %generator, i64 {at}\n"
        f"  store ptr {text}, ptr %generator.{at}, align 8"
        for text, at in pointers
    ]
    head = f"""\
define void @{name}(ptr %key, ptr %out, ptr %function, i64 %n{more}) nounwind {{
entry:
  %state = alloca [{_HEAD + 4 * _HELD} x i8], align 64
  %generator = alloca [5 x ptr], align 8
  store i64 {_HELD}, ptr %state, align 8
  %state.block = getelementptr i8, ptr %state, i64 8
  store i64 0, ptr %state.block, align 8
  %state.key = getelementptr i8, ptr %state, i64 16
  store ptr %key, ptr %state.key, align 8
  %numbers = getelementptr i8, ptr %state, i64 {_HEAD}"""
    return "\n".join([_stream(name), head, *stores, body, "  ret void", "}"])


def _stream(name: str) -> str:
    """Return the functions of a bit generator: its next 32 bits, 64 bits, and number in 0..1."""
    fill = f"""\
define internal void @{name}.fill(ptr %state) nounwind {{
  %place = getelementptr i8, ptr %state, i64 8
  %first = load i64, ptr %place, align 8
  %key.at = getelementptr i8, ptr %state, i64 16
  %key = load ptr, ptr %key.at, align 8
  %numbers = getelementptr i8, ptr %state, i64 {_HEAD}
  call void @{name}.blocks(ptr %key, ptr %numbers, i64 %first, i64 {_BLOCKS}, i32 0)
  %next = add i64 %first, {_BLOCKS}
  store i64 %next, ptr %place, align 8
  store i64 0, ptr %state, align 8
  ret void
}}"""
    double = f"""\
define internal double @{name}.double(ptr %state) nounwind {{
  %bits = call i64 @{name}.next64(ptr %state)
  %upper = lshr i64 %bits, 11
  %number = sitofp i64 %upper to double
  %part = fmul double %number, {literal(2.0**-53, FLOAT64).text}
  ret double %part
}}"""
    words = (_next(name, 32, 0), _next(name, 64, 1))
    return "\n".join([print_blocks(f"{name}.blocks", "words"), fill, *words, double])


def _next(name: str, bits: int, odd: int) -> str:
    """Return the function that takes so many bits; those of 64 begin at an even number."""
    return f"""\
define internal i{bits} @{name}.next{bits}(ptr %state) nounwind {{
entry:
  %taken = load i64, ptr %state, align 8
  %half = and i64 %taken, {odd}
  %at = add i64 %taken, %half
  %empty = icmp sge i64 %at, {_HELD}
  br i1 %empty, label %fill, label %take
fill:
  call void @{name}.fill(ptr %state)
  br label %take
take:
  %now = phi i64 [ %at, %entry ], [ 0, %fill ]
  %after = add i64 %now, {bits // 32}
  store i64 %after, ptr %state, align 8
  %numbers = getelementptr i8, ptr %state, i64 {_HEAD}
  %place = getelementptr i32, ptr %numbers, i64 %now
  %found = load i{bits}, ptr %place, align 4
  ret i{bits} %found
}}"""


# ---- the ziggurat ------------------------------------------------------------------------------

_LAYERS: Final = 256
_MARGIN: Final = 4
"""Steps at a layer's inner edge that are left to NumPy, since the edge is computed by division."""


def _table(name: str, kind: str, items: Sequence[str]) -> str:
    shown = ", ".join(f"{kind} {item}" for item in items)
    return f"@{name} = internal constant [{len(items)} x {kind}] [{shown}]"


class _Generator(ctypes.Structure):
    """A bit generator, as NumPy's functions take it."""

    _word = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)
    _half = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)
    _real = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)
    _fields_ = (
        ("state", ctypes.c_void_p), ("next64", _word), ("next32", _half), ("double", _real),
        ("raw", _word),
    )  # fmt: skip


@cache
def _steps(dtype: DType) -> tuple[float, ...]:
    """Return how long a step of each layer is: what NumPy gives for the first one."""
    waiting: list[int] = []

    def following(_: int | None) -> int:
        return waiting.pop(0)

    def zero(_: int | None) -> float:
        return 0.0  # inside a layer's curved end too

    kinds = _Generator
    words, halves, reals = kinds._word(following), kinds._half(following), kinds._real(zero)
    given = _Generator(None, words, halves, reals, words)
    real = ctypes.c_float if dtype == FLOAT32 else ctypes.c_double
    draw = ctypes.CFUNCTYPE(real, ctypes.c_void_p)(function_address(NORMALS[dtype]))
    found: list[float] = []
    for layer in range(_LAYERS):
        waiting[:] = [1 << 9 | layer, 0]
        found.append(draw(ctypes.addressof(given)))
    return tuple(found)


def _limits(dtype: DType) -> list[int]:
    """Return for each layer below which number of steps all lie inside."""
    steps, digits = _steps(dtype), _DIGITS[dtype]
    inner = (steps[-1], 0.0, *steps[1:-1])
    pairs = zip(inner, steps, strict=True)
    return [max(int(one / other * 2.0**digits) - _MARGIN, 0) for one, other in pairs]
