"""Random bits from counters (Philox), the same as NumPy draws from the same key.

Block ``b`` of a key is eight 32-bit numbers, computed from the key and ``b + 1`` alone. A float32
in 0..1 is the upper 24 bits of one of them, so "kept with probability 1 - p" is a comparison of
integers. J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011 (Philox-4x64-10).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from .control import Carried, repeat
from .emitter import Emitter, Value
from .expressions import INT64

NUMBERS: Final = 8
"""Numbers of 32 bits in a block."""
_ROUNDS: Final = 10
_MULTIPLIERS: Final = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_STEPS: Final = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


def threshold(p: float) -> int:
    """Return which of the 2**24 numbers are below ``p``: those below this one."""
    return math.ceil(float(np.float32(p)) * 2**24)


def print_kept(name: str) -> str:
    """Print ``void name(key, out, first, blocks, threshold)``.

    It writes a byte for each number of ``blocks`` blocks from block ``first`` on: 1 where the
    number's upper 24 bits reach the threshold, else 0.
    """
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
        _store_kept(emit, words, index)
        return state

    repeat(emit, Value("%blocks", INT64), 1, {}, block)
    params = "ptr %key, ptr %out, i64 %first, i64 %blocks, i32 %threshold"
    head = f"define internal void @{name}({params}) nounwind {{"
    return "\n".join([head, "entry:", *emit.lines, "  ret void", "}"])


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


def _store_kept(emit: Emitter, words: list[Value], index: Value) -> None:
    vector = "poison"
    for lane, word in enumerate(words):
        name = emit.fresh("w")
        emit.line(f"{name} = insertelement <4 x i64> {vector}, i64 {word.text}, i32 {lane}")
        vector = name
    numbers, upper, kept, held, offset, place = (emit.fresh("w") for _ in range(6))
    emit.line(f"{numbers} = bitcast <4 x i64> {vector} to <8 x i32>")
    emit.line(f"{upper} = lshr <8 x i32> {numbers}, splat (i32 8)")
    emit.line(f"{kept} = icmp uge <8 x i32> {upper}, %limit")
    emit.line(f"{held} = zext <8 x i1> {kept} to <8 x i8>")
    emit.line(f"{offset} = shl i64 {index.text}, 3")
    emit.line(f"{place} = getelementptr i8, ptr %out, i64 {offset}")
    emit.line(f"store <8 x i8> {held}, ptr {place}, align 1")
