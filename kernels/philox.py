"""Random bits from counters (Philox), the same as NumPy draws from the same key.

Block ``b`` of a key is eight 32-bit numbers, computed from the key and ``b + 1`` alone. A float32
in 0..1 is the upper 24 bits of one of them, so "kept with probability 1 - p" is a comparison of
integers. J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011 (Philox-4x64-10).
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Final

import numpy as np

from .control import Carried, repeat
from .emitter import Emitter, Value
from .expressions import INT64
from .target import Target

NUMBERS: Final = 8
"""Numbers of 32 bits in a block."""
COUNTS: Final = {"kept": 8, "float32": 8, "float64": 4, "words": 4}
"""What a block gives, by kind; words are the block as it is."""
WIDTHS: Final = {"kept": 1, "float32": 4, "float64": 8, "words": 8}
"""Bytes of each."""
_VECTORS: Final = {
    "kept": "<8 x i8>", "float32": "<8 x float>", "float64": "<4 x double>", "words": "<4 x i64>",
}  # fmt: skip
_ROUNDS: Final = 10
_MULTIPLIERS: Final = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_STEPS: Final = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


def threshold(p: float) -> int:
    """Return which of the 2**24 numbers are below ``p``: those below this one."""
    return math.ceil(float(np.float32(p)) * 2**24)


@dataclass(frozen=True)
class Draw:
    """`void name(key, out, start, n, threshold)`: the numbers of `n` blocks, from where `out` is.

    ``kind`` says what becomes of a block: "kept" (8 bytes, 1 where the upper 24 bits of a number
    reach the threshold), "float32" (8 numbers in 0..1) or "float64" (4). How far ``out`` was moved
    from ``start`` tells the first block. With ``rest`` only so many elements of block ``n`` are
    written, to the end of what starts at ``start``; a name is one more parameter.
    """

    name: str
    kind: str
    rest: int | str = 0

    @property
    def text(self) -> str:
        """A canonical description."""
        return f"draw {self.name} {self.kind} {self.rest}"

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        inner = print_blocks(f"{self.name}.blocks", self.kind)
        size = WIDTHS[self.kind] * COUNTS[self.kind]
        width = "i" + str(8 * WIDTHS[self.kind])
        call = f"call void @{self.name}.blocks(ptr %key, ptr"
        params = "ptr %key, ptr %out, ptr %start, i64 %n, i64 %limit"
        params += f", i64 %{self.rest}" if isinstance(self.rest, str) else ""
        head = f"define void @{self.name}({params}) nounwind {{"
        lines = [head, "entry:", "  %threshold = trunc i64 %limit to i32"]
        if self.rest:
            rest = f"%{self.rest}" if isinstance(self.rest, str) else self.rest
            lines += [
                f"  %block = alloca [{size} x i8], align 64",
                f"  {call} %block, i64 %n, i64 1, i32 %threshold)",
                f"  %bytes = mul i64 %n, {size}",
                "  %end = getelementptr i8, ptr %start, i64 %bytes",
            ]
            for at in range(self.rest if isinstance(self.rest, int) else COUNTS[self.kind] - 1):
                lines += [
                    f"  %from{at} = getelementptr {width}, ptr %block, i64 {at}",
                    f"  %next{at} = getelementptr {width}, ptr %end, i64 {at}",
                    f"  %meant{at} = icmp sgt i64 {rest}, {at}",
                    f"  %to{at} = select i1 %meant{at}, ptr %next{at}, ptr %from{at}",
                    f"  %x{at} = load {width}, ptr %from{at}, align 1",
                    f"  store {width} %x{at}, ptr %to{at}, align 1",
                ]
        else:
            lines += [
                "  %here = ptrtoint ptr %out to i64",
                "  %there = ptrtoint ptr %start to i64",
                "  %bytes = sub i64 %here, %there",
                f"  %first = sdiv i64 %bytes, {size}",
                f"  {call} %out, i64 %first, i64 %n, i32 %threshold)",
            ]
        return "\n\n".join([inner, "\n".join([*lines, "  ret void", "}"])])


def print_blocks(name: str, kind: str) -> str:
    """Print ``void name(key, out, first, blocks, threshold)``: blocks from number ``first`` on."""
    emit = Emitter({})
    key = [_load(emit, "%key", word) for word in range(2)]
    keys = [key]
    for _ in range(_ROUNDS - 1):
        key = [emit.add(word, _signed(step)) for word, step in zip(key, _STEPS, strict=True)]
        keys.append(key)
    emit.line("%single = insertelement <8 x i32> poison, i32 %threshold, i32 0")
    emit.line(
        "%limit = shufflevector <8 x i32> %single, <8 x i32> poison, <8 x i32> zeroinitializer"
    )

    def block(index: Value, state: Carried) -> Carried:
        counter = emit.add(emit.add(index, Value("%first", INT64)), 1)
        zero = Value("0", INT64)
        words = [counter, zero, zero, zero]
        for round_key in keys:
            words = _round(emit, words, round_key)
        _store(emit, kind, words, index)
        return state

    repeat(emit, Value("%blocks", INT64), 1, {}, block)
    params = ("ptr %key", "ptr %out", "i64 %first", "i64 %blocks", "i32 %threshold")
    return emit.define(name, params, internal=True)


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def _load(emit: Emitter, pointer: str, word: int) -> Value:
    place = emit.address(pointer, INT64, Value(str(word), INT64))
    return emit.load(place, 0)


def _round(emit: Emitter, words: list[Value], key: list[Value]) -> list[Value]:
    high0, low0 = _product(emit, words[0], _MULTIPLIERS[0])
    high1, low1 = _product(emit, words[2], _MULTIPLIERS[1])
    first = emit.binary("xor", emit.binary("xor", high1, words[1]), key[0])
    third = emit.binary("xor", emit.binary("xor", high0, words[3]), key[1])
    return [first, low1, third, low0]


def _product(emit: Emitter, x: Value, multiplier: int) -> tuple[Value, Value]:
    """Return the upper and the lower half of a product of two 64-bit numbers."""
    names = [emit.fresh("w") for _ in range(5)]
    wide, product, upper, high, low = names
    emit.line(f"{wide} = zext i64 {x.text} to i128")
    emit.line(f"{product} = mul i128 {wide}, {multiplier}")
    emit.line(f"{upper} = lshr i128 {product}, 64")
    emit.line(f"{high} = trunc i128 {upper} to i64")
    emit.line(f"{low} = trunc i128 {product} to i64")
    return Value(high, INT64), Value(low, INT64)


def _store(emit: Emitter, kind: str, words: list[Value], index: Value) -> None:
    """Store what becomes of a block."""
    vector = "poison"
    for lane, word in enumerate(words):
        name = emit.fresh("w")
        emit.line(f"{name} = insertelement <4 x i64> {vector}, i64 {word.text}, i32 {lane}")
        vector = name
    numbers, upper, made, held, offset, place = (emit.fresh("w") for _ in range(6))
    if kind == "words":
        held = vector
    elif kind == "float64":
        emit.line(f"{upper} = lshr <4 x i64> {vector}, splat (i64 11)")
        emit.line(f"{made} = uitofp <4 x i64> {upper} to <4 x double>")
        emit.line(f"{held} = fmul <4 x double> {made}, splat (double {_bits(2.0**-53)})")
    else:
        emit.line(f"{numbers} = bitcast <4 x i64> {vector} to <8 x i32>")
        emit.line(f"{upper} = lshr <8 x i32> {numbers}, splat (i32 8)")
    if kind == "float32":
        emit.line(f"{made} = uitofp <8 x i32> {upper} to <8 x float>")
        emit.line(f"{held} = fmul <8 x float> {made}, splat (float {_bits(2.0**-24)})")
    elif kind == "kept":
        emit.line(f"{made} = icmp uge <8 x i32> {upper}, %limit")
        emit.line(f"{held} = zext <8 x i1> {made} to <8 x i8>")
    emit.line(f"{offset} = mul i64 {index.text}, {WIDTHS[kind] * COUNTS[kind]}")
    emit.line(f"{place} = getelementptr i8, ptr %out, i64 {offset}")
    emit.line(f"store {_VECTORS[kind]} {held}, ptr {place}, align 1")


def _bits(number: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
