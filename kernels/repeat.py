"""Running a program again and again natively, while its buffers move from one run to the next.

A program finds each array of a call through a word, the array object's address, and reads the data
pointer from there. Here the words lead to *cells*, which hold a data pointer where an array object
has it, and how far the pointer moves after each run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from .blas_threads import on_one_thread
from .native import Library, compile_module
from .once import once
from .program_code import DATA_OFFSET

if TYPE_CHECKING:
    from .runtime import Bound
    from .target import Target

WORD: Final = 8
POINTER: Final = DATA_OFFSET // WORD
"""Which word of a cell is the pointer; the three moves follow."""
CELL: Final = POINTER + 4
AT_ONCE: Final = 1 << 12
"""Runs between two looks at signals, so that a loop without end can be interrupted."""


@dataclass(frozen=True, slots=True)
class Moving:
    """A pointer's way: it moves by `first`, then by `second` and `third` in turn, in bytes."""

    start: int
    first: int = 0
    second: int = 0
    third: int = 0

    @staticmethod
    def by(start: int, step: int) -> Moving:
        """Return the way of a pointer that moves by the same step each time."""
        return Moving(start, step, step, step)


@dataclass(frozen=True)
class _RepeatCode:
    """`i64 cellwire_repeat(ptr job)` returns how often it ran the program.

    The job's words: the program and its words; the cells and how many there are; how often to run
    at most; a program to ask before each run and its words, or 0; where its answer, a byte, lies;
    where numbers lie that end the loop unless they are negative after a run, and how many.
    """

    name: str = "cellwire_repeat"

    @property
    def text(self) -> str:
        """A canonical description."""
        return _CODE

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        return _CODE


def _load(name: str, word: int, kind: str) -> str:
    return (
        f"  %at.{name} = getelementptr i64, ptr %job, i64 {word}\n"
        f"  %{name} = load {kind}, ptr %at.{name}, align 8\n"
    )


_JOB: Final = (
    ("program", "ptr"), ("words", "ptr"), ("cells", "ptr"), ("count", "i64"), ("most", "i64"),
    ("test", "ptr"), ("test.words", "ptr"), ("answer", "ptr"), ("checks", "ptr"), ("looks", "i64"),
)  # fmt: skip

_CODE: Final = f"""\
define i64 @cellwire_repeat(ptr %job) nounwind {{
entry:
{"".join(_load(name, word, kind) for word, (name, kind) in enumerate(_JOB))}\
  %asks = icmp ne ptr %test, null
  br label %next
next:
  %run = phi i64 [0, %entry], [%more, %moved]
  %over = icmp sge i64 %run, %most
  br i1 %over, label %end, label %begin
begin:
  br i1 %asks, label %ask, label %go
ask:
  call void %test(ptr %test.words)
  %found = load i8, ptr %answer, align 1
  %stops = icmp eq i8 %found, 0
  br i1 %stops, label %end, label %go
go:
  call void %program(ptr %words)
  br label %look
look:
  %check = phi i64 [0, %go], [%check.next, %seen]
  %left = icmp slt i64 %check, %looks
  br i1 %left, label %seen, label %passed
seen:
  %check.at = getelementptr ptr, ptr %checks, i64 %check
  %status = load ptr, ptr %check.at, align 8
  %wrong = load i64, ptr %status, align 8
  %check.next = add i64 %check, 1
  %stopped = icmp sge i64 %wrong, 0
  br i1 %stopped, label %end, label %look
passed:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %cell, label %moved
cell:
  %number = phi i64 [0, %passed], [%following, %cell]
  %start = mul i64 %number, {CELL}
  %head = add i64 %start, {POINTER}
  %place = getelementptr i64, ptr %cells, i64 %head
  %place1 = getelementptr i64, ptr %place, i64 1
  %place2 = getelementptr i64, ptr %place, i64 2
  %place3 = getelementptr i64, ptr %place, i64 3
  %pointer = load i64, ptr %place, align 8
  %first = load i64, ptr %place1, align 8
  %second = load i64, ptr %place2, align 8
  %third = load i64, ptr %place3, align 8
  %further = add i64 %pointer, %first
  store i64 %further, ptr %place, align 8
  store i64 %second, ptr %place1, align 8
  store i64 %third, ptr %place2, align 8
  store i64 %second, ptr %place3, align 8
  %following = add i64 %number, 1
  %again = icmp slt i64 %following, %count
  br i1 %again, label %cell, label %moved
moved:
  %more = add i64 %run, 1
  br label %next
end:
  ret i64 %run
}}"""


@once
def _library() -> Library:
    return compile_module([_RepeatCode()])


@once
def _function() -> Callable[[int], int]:
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(_library()["cellwire_repeat"])


def repeat(
    program: Bound,
    ways: Sequence[Moving],
    most: int | None,
    test: Bound | None = None,
    asked: Sequence[int] = (),
    answer: int = 0,
    checks: Sequence[int] = (),
) -> int:
    """Run a program at most so often, and as long as the test says so; return how often it ran.

    ``ways`` has a pointer for each array of a call. The test's arrays are the ways of the numbers
    ``asked``, which may be more than the program has; what it answers is a byte at ``answer``. A
    run after which a number at one of ``checks`` is not negative is the last and does not count.
    """
    cells = np.zeros((len(ways), CELL), np.int64)
    cells[:, POINTER:] = [(w.start, w.first, w.second, w.third) for w in ways]
    first = cells.ctypes.data
    places = [first + number * CELL * WORD for number in range(len(ways))]
    words = np.array([program.address, *places[: program.arrays]], np.int64)
    looked = np.array([*checks], np.int64)
    job = [program.function, words.ctypes.data, first, len(ways), 0, 0, 0, answer]
    job += [looked.ctypes.data, len(checks)]
    others = None
    if test is not None:
        others = np.array([test.address, *[places[number] for number in asked]], np.int64)
        job[5:7] = [test.function, others.ctypes.data]
    held, run = np.array(job, np.int64), _function()
    if program.keeps_blas_alone or (test is not None and test.keeps_blas_alone):
        run = on_one_thread(run)
    runs = 0
    while most is None or runs < most:
        held[4] = AT_ONCE if most is None else min(AT_ONCE, most - runs)
        done = run(held.ctypes.data)
        runs += done
        if done < held[4]:
            break
    del words, others, cells, looked  # which the machine code read until here
    return runs
