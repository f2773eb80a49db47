"""Which instructions of byte code make the values that others take from the stack.

For what byte code writes (`stores.py`), asks types of (`effects.py`) and prints (`printing.py`).
"""

from __future__ import annotations

import dis
import functools
import types

SKIPPED = {"CACHE", "PRECALL", "KW_NAMES", "NOP", "EXTENDED_ARG", "RESUME", "COPY_FREE_VARS"}
ENDS = {
    "JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "RETURN_VALUE", "RERAISE",
    "RAISE_VARARGS", "RETURN_CONST",
}  # fmt: skip
TAKEN = {
    "LOAD_ATTR": 1, "LOAD_METHOD": 1, "FORMAT_SIMPLE": 1, "CONVERT_VALUE": 1, "UNARY_NEGATIVE": 1,
    "UNARY_NOT": 1, "UNARY_INVERT": 1, "GET_ITER": 1, "BINARY_OP": 2, "BINARY_SUBSCR": 2,
    "COMPARE_OP": 2, "IS_OP": 2, "CONTAINS_OP": 2, "FORMAT_WITH_SPEC": 2, "STORE_ATTR": 2,
    "STORE_SUBSCR": 3, "PUSH_NULL": 0, "POP_TOP": 1, "BINARY_SLICE": 3, "MATCH_CLASS": 3,
    "UNPACK_SEQUENCE": 1, "UNPACK_EX": 1,
}  # fmt: skip
"""How many values of the stack an instruction takes; others by how the stack's depth changes."""
BUILDING = ("BUILD_STRING", "BUILD_TUPLE", "BUILD_LIST", "BUILD_SET", "BUILD_SLICE")
UNKNOWN = -1

Stack = list[int]


class Flow:
    """The instructions of a function, and the makers of what each takes, the lowest first."""

    def __init__(self, code: types.CodeType) -> None:
        self.instructions = [i for i in dis.get_instructions(code) if i.opname not in SKIPPED]
        self.taken: list[tuple[int, ...]] = []
        waiting: dict[int, Stack] = {}
        stack: Stack = []
        ended = False
        for position, found in enumerate(self.instructions):
            if found.offset in waiting:
                came = waiting[found.offset]
                stack = came if ended else _merged(came, stack)
            self.taken.append(self._step(position, found, stack))
            if found.opcode in (*dis.hasjrel, *dis.hasjabs) and found.argval > found.offset:
                there = self._where_it_jumps(found, stack)
                waiting[found.argval] = _merged(waiting.get(found.argval, there), there)
            ended = found.opname in ENDS
            if ended:
                stack = []

    @staticmethod
    def _where_it_jumps(found: dis.Instruction, stack: Stack) -> Stack:
        extra = dis.stack_effect(found.opcode, found.arg, jump=True) - dis.stack_effect(
            found.opcode, found.arg, jump=False
        )
        return stack[: len(stack) + extra] if extra < 0 else [*stack, *[UNKNOWN] * extra]

    def _step(self, position: int, found: dis.Instruction, stack: Stack) -> tuple[int, ...]:
        name, arg = found.opname, found.arg or 0
        if name == "COPY":
            stack.append(stack[-arg] if arg <= len(stack) else UNKNOWN)
            return ()
        if name == "SWAP":
            if arg <= len(stack):
                stack[-1], stack[-arg] = stack[-arg], stack[-1]
            return ()
        effect = _effect(found)
        count = _taken(found, effect)
        gone = tuple(stack[len(stack) - count :]) if count <= len(stack) else (UNKNOWN,) * count
        del stack[max(len(stack) - count, 0) :]
        stack += [position] * (effect + count)
        return gone


def _merged(one: Stack, other: Stack) -> Stack:
    """Return the stack where two ways meet: what either may have made is not known."""
    if len(one) != len(other):
        return one
    return [a if a == b else UNKNOWN for a, b in zip(one, other, strict=True)]


def _effect(found: dis.Instruction) -> int:
    if found.opname == "CALL":
        return -(found.arg or 0) - 1
    arg = found.arg if found.opcode >= dis.HAVE_ARGUMENT else None
    return dis.stack_effect(found.opcode, arg, jump=False)


def _taken(found: dis.Instruction, effect: int) -> int:
    name, arg = found.opname, found.arg or 0
    if name in TAKEN:
        return TAKEN[name]
    if name == "CALL":
        return arg + 2
    if name == "CALL_FUNCTION_EX":
        return 3 + (arg & 1)
    if name == "FORMAT_VALUE":
        return 2 if arg & 4 else 1
    return arg if name in BUILDING else max(0, -effect)


@functools.lru_cache(maxsize=512)
def flow_of(code: types.CodeType) -> Flow:
    """Return the flow of values in a function's code."""
    return Flow(code)


# -- texts that are printed at once --------------------------------------------------------------

FORMATS = {"FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC"}
LOGGING = {"debug", "info", "warning", "error", "critical", "log"}


def is_printed(frame: types.FrameType) -> bool:
    """Return whether the text that a frame is making goes straight to ``print`` or a logger."""
    return frame.f_lasti in _printed(frame.f_code)


@functools.lru_cache(maxsize=256)
def _printed(code: types.CodeType) -> frozenset[int]:
    """Return the offsets of the instructions that format what is printed at once."""
    flow = flow_of(code)
    printed: set[int] = set()
    for position, found in enumerate(flow.instructions):
        taken = flow.taken[position]
        if found.opname == "CALL" and taken and _prints(flow.instructions[taken[0]]):
            printed.update(taken[1:])
    for position, found in enumerate(flow.instructions):
        if found.opname == "BUILD_STRING" and position in printed:
            printed.update(flow.taken[position])
    formats = (flow.instructions[p] for p in printed if p != UNKNOWN)
    return frozenset(found.offset for found in formats if found.opname in FORMATS)


def _prints(function: dis.Instruction) -> bool:
    if function.opname in ("LOAD_METHOD", "LOAD_ATTR"):
        return function.argval in LOGGING
    return function.opname == "LOAD_GLOBAL" and function.argval == "print"
