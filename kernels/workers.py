"""Worker threads for native code: tickets of one job, claimed by whoever is free.

A job is ``total`` tickets of one function, ``work(call, ticket, state)``. The calling thread and
the workers claim tickets from one atomic word, so that a worker that is asleep or not scheduled
costs nothing: the caller then does its tickets too. A worker spins for a while after each job, then
sleeps in the kernel until the next one. Which thread takes a ticket never changes what it computes.
Where other programs hold the processors, a worker may lose its own in the middle of a ticket, and
the others wait; after such a job the caller does some alone.

A ticket that needs what earlier ones made calls `wait` for their number; tickets are claimed in
order, so those it waits for are running already. With no free state (another thread of the program
runs a job) the caller does all tickets alone, in order.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from .native import Library, compile_module
from .once import once
from .target import Target

TICKET, FINISHED, WORK, CALL, SLEEPERS, WAKE, BUSY, STOP = 0, 64, 128, 136, 192, 256, 320, 384
WAITED, ALONE = 448, 512
"""Where the words of the shared state lie, one a cache line; WORK and CALL share theirs."""
STATE_BYTES: Final = 576
FEWEST_ALONE, MOST_ALONE = 64, 8192
"""How many jobs the caller does alone after one in which threads mostly waited for each other: the
fewest at first, twice as many each time it happens again, half as many after a job that went well.
Of long jobs it is fewer.
"""
LONGEST_ALONE: Final = {"x86_64": 1 << 27, "aarch64": 1 << 20}
"""Ticks of the processor's clock, some 40 ms, that such jobs take together at most."""
FIELD: Final = 20
"""Bits of the ticket word for the next ticket, and for their number; the rest count jobs."""
MOST: Final = (1 << FIELD) - 64
"""The largest number of tickets: threads that come too late count a little beyond it."""
SPINS: Final = 4000
"""How often a worker looks for a job before it sleeps: some 40 microseconds."""
PATIENCE: Final = 4000
"""How often a thread looks for another's result before it lets others have its processor."""
FUTEX: Final = {"x86_64": 202, "aarch64": 98}
"""Number of Linux's call to sleep on a word."""


def can_run_threads() -> bool:
    """Return whether workers can sleep and be woken on this system."""
    return sys.platform == "linux" and os.uname().machine in FUTEX


@cache
def thread_count() -> int:
    """Return how many threads run a job: ``CELLWIRE_THREADS``, else the usable processors."""
    wanted = os.environ.get("CELLWIRE_THREADS", "")
    if wanted:
        if not wanted.isdigit() or not 1 <= int(wanted) <= 256:
            raise ValueError(f"CELLWIRE_THREADS must be a number from 1 to 256, not {wanted!r}.")
        count = int(wanted)
    elif hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    return count if can_run_threads() else 1


@dataclass(frozen=True)
class WorkerCode:
    """The native side: ``share`` runs a job, ``worker`` is a worker's life, ``wait`` a barrier."""

    name: str = "cellwire_share"

    @property
    def text(self) -> str:
        """A canonical description."""
        alone = (FEWEST_ALONE, MOST_ALONE, LONGEST_ALONE)
        return f"workers {_CODE} {SPINS} {PATIENCE} {FIELD} {alone}"

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definitions."""
        machine = target.triple.partition("-")[0]
        arm = machine in ("aarch64", "arm64")
        declarations["syscall"] = "declare i64 @syscall(i64, ...)"
        declarations["sched_yield"] = "declare i32 @sched_yield()"
        pause = 'call void asm sideeffect "yield", ""()' if arm else (
            'call void asm sideeffect "pause", ""()'
        )  # fmt: skip
        for name in ("smax", "smin"):
            declarations[f"llvm.{name}.i32"] = f"declare i32 @llvm.{name}.i32(i32, i32)"
        declarations["llvm.smin.i64"] = "declare i64 @llvm.smin.i64(i64, i64)"
        family = "aarch64" if arm else "x86_64"
        if arm:
            clock = 'call i64 asm sideeffect "mrs $0, cntvct_el0", "=r"()'
        else:
            clock = "call i64 @llvm.readcyclecounter()"
            declarations["llvm.readcyclecounter"] = "declare i64 @llvm.readcyclecounter()"
        return _CODE.format(
            pause=pause, futex=FUTEX[family], field=FIELD, double=2 * FIELD,
            mask=(1 << FIELD) - 1, spins=SPINS, patience=PATIENCE, finished=FINISHED, work=WORK,
            call=CALL, sleepers=SLEEPERS, wake=WAKE, busy=BUSY, stop=STOP, waited=WAITED,
            alone=ALONE, fewest=FEWEST_ALONE, most=MOST_ALONE, longest=LONGEST_ALONE[family],
            clock=clock,
        )  # fmt: skip


_CODE: Final = """\
define internal i1 @cellwire_open(i64 %word) {{
  %next = and i64 %word, {mask}
  %shifted = lshr i64 %word, {field}
  %total = and i64 %shifted, {mask}
  %open = icmp ult i64 %next, %total
  ret i1 %open
}}

define internal void @cellwire_claim(ptr %state) {{
entry:
  %finished = getelementptr i8, ptr %state, i64 {finished}
  %workp = getelementptr i8, ptr %state, i64 {work}
  %callp = getelementptr i8, ptr %state, i64 {call}
  br label %look
look:
  %seen = load atomic i64, ptr %state acquire, align 8
  %some = call i1 @cellwire_open(i64 %seen)
  br i1 %some, label %take, label %done
take:
  %word = atomicrmw add ptr %state, i64 1 acq_rel
  %ours = call i1 @cellwire_open(i64 %word)
  br i1 %ours, label %run, label %done
run:
  %ticket = and i64 %word, {mask}
  %work = load ptr, ptr %workp, align 8
  %call = load ptr, ptr %callp, align 8
  call void %work(ptr %call, i64 %ticket, ptr %state)
  %old = atomicrmw add ptr %finished, i64 1 acq_rel
  br label %look
done:
  ret void
}}

define void @cellwire_wait(ptr %state, i64 %count) {{
entry:
  %alone = icmp eq ptr %state, null
  br i1 %alone, label %done, label %start
start:
  %finished = getelementptr i8, ptr %state, i64 {finished}
  %first = load atomic i64, ptr %finished acquire, align 8
  %at_once = icmp uge i64 %first, %count
  br i1 %at_once, label %done, label %begin
begin:
  %began = {clock}
  br label %look
look:
  %n = phi i64 [0, %begin], [%more, %next]
  %now = load atomic i64, ptr %finished acquire, align 8
  %ready = icmp uge i64 %now, %count
  br i1 %ready, label %sum, label %again
sum:
  %ended = {clock}
  %spent = sub i64 %ended, %began
  %waited = getelementptr i8, ptr %state, i64 {waited}
  %before = atomicrmw add ptr %waited, i64 %spent monotonic
  br label %done
again:
  %more = add i64 %n, 1
  %long = icmp ugt i64 %more, {patience}
  br i1 %long, label %leave, label %rest
leave:
  %ignored = call i32 @sched_yield()
  br label %next
rest:
  {pause}
  br label %next
next:
  br label %look
done:
  ret void
}}

define void @cellwire_share(ptr %state, ptr %work, ptr %call, i64 %total) {{
entry:
  %turnsp = getelementptr i8, ptr %state, i64 {alone}
  %turns = load atomic i32, ptr %turnsp monotonic, align 4
  %apart = icmp sgt i32 %turns, 0
  br i1 %apart, label %fewer, label %try
fewer:
  %less = atomicrmw sub ptr %turnsp, i32 1 monotonic
  br label %alone
try:
  %busy = getelementptr i8, ptr %state, i64 {busy}
  %taken = cmpxchg ptr %busy, i32 0, i32 1 acq_rel monotonic
  %free = extractvalue {{ i32, i1 }} %taken, 1
  br i1 %free, label %publish, label %alone
alone:
  %i = phi i64 [0, %try], [0, %fewer], [%j, %one]
  %end = icmp uge i64 %i, %total
  br i1 %end, label %done, label %one
one:
  call void %work(ptr %call, i64 %i, ptr null)
  %j = add i64 %i, 1
  br label %alone
publish:
  %workp = getelementptr i8, ptr %state, i64 {work}
  %callp = getelementptr i8, ptr %state, i64 {call}
  %finished = getelementptr i8, ptr %state, i64 {finished}
  store ptr %work, ptr %workp, align 8
  store ptr %call, ptr %callp, align 8
  store atomic i64 0, ptr %finished monotonic, align 8
  %waited = getelementptr i8, ptr %state, i64 {waited}
  store atomic i64 0, ptr %waited monotonic, align 8
  %began = {clock}
  %before = load atomic i64, ptr %state monotonic, align 8
  %jobs = lshr i64 %before, {double}
  %job = add i64 %jobs, 1
  %high = shl i64 %job, {double}
  %count = shl i64 %total, {field}
  %word = or i64 %high, %count
  store atomic i64 %word, ptr %state seq_cst, align 8
  fence seq_cst
  %sleepers = getelementptr i8, ptr %state, i64 {sleepers}
  %asleep = load atomic i32, ptr %sleepers monotonic, align 4
  %none = icmp eq i32 %asleep, 0
  br i1 %none, label %join, label %rouse
rouse:
  %wake = getelementptr i8, ptr %state, i64 {wake}
  %w = atomicrmw add ptr %wake, i32 1 seq_cst
  %woken = call i64 (i64, ...) @syscall(i64 {futex}, ptr %wake, i32 129, i32 2147483647, ptr null)
  br label %join
join:
  call void @cellwire_claim(ptr %state)
  call void @cellwire_wait(ptr %state, i64 %total)
  %ended = {clock}
  %took = sub i64 %ended, %began
  %quarter = lshr i64 %took, 2
  %most = sub i64 %took, %quarter
  %lost = load atomic i64, ptr %waited monotonic, align 8
  %bad = icmp ugt i64 %lost, %most
  %lastp = getelementptr i8, ptr %turnsp, i64 4
  %last = load i32, ptr %lastp, align 4
  br i1 %bad, label %part, label %well
part:
  %twice = shl i32 %last, 1
  %enough = call i32 @llvm.smax.i32(i32 %twice, i32 {fewest})
  %limited = call i32 @llvm.smin.i32(i32 %enough, i32 {most})
  %ticks = or i64 %took, 1
  %fitting = udiv i64 {longest}, %ticks
  %few = call i64 @llvm.smin.i64(i64 %fitting, i64 {most})
  %few32 = trunc i64 %few to i32
  %next_alone = call i32 @llvm.smin.i32(i32 %limited, i32 %few32)
  store atomic i32 %next_alone, ptr %turnsp monotonic, align 4
  br label %leave
well:
  %half = lshr i32 %last, 1
  br label %leave
leave:
  %kept = phi i32 [%next_alone, %part], [%half, %well]
  store i32 %kept, ptr %lastp, align 4
  store atomic i32 0, ptr %busy release, align 4
  br label %done
done:
  ret void
}}

define void @cellwire_worker(ptr %state) {{
entry:
  %stop = getelementptr i8, ptr %state, i64 {stop}
  %sleepers = getelementptr i8, ptr %state, i64 {sleepers}
  %wake = getelementptr i8, ptr %state, i64 {wake}
  br label %look
look:
  %n = phi i64 [0, %entry], [%more, %rest], [0, %work], [0, %up]
  %end = load atomic i32, ptr %stop acquire, align 4
  %over = icmp ne i32 %end, 0
  br i1 %over, label %done, label %check
check:
  %word = load atomic i64, ptr %state acquire, align 8
  %some = call i1 @cellwire_open(i64 %word)
  br i1 %some, label %work, label %idle
work:
  call void @cellwire_claim(ptr %state)
  br label %look
idle:
  %more = add i64 %n, 1
  %long = icmp ugt i64 %more, {spins}
  br i1 %long, label %down, label %rest
rest:
  {pause}
  br label %look
down:
  %s = atomicrmw add ptr %sleepers, i32 1 seq_cst
  %seen = load atomic i32, ptr %wake seq_cst, align 4
  %last = load atomic i64, ptr %state seq_cst, align 8
  %late = call i1 @cellwire_open(i64 %last)
  %ended = load atomic i32, ptr %stop seq_cst, align 4
  %ending = icmp ne i32 %ended, 0
  %skip = or i1 %late, %ending
  br i1 %skip, label %up, label %sleep
sleep:
  %r = call i64 (i64, ...) @syscall(i64 {futex}, ptr %wake, i32 128, i32 %seen, ptr null)
  br label %up
up:
  %t = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  br label %look
done:
  ret void
}}

define void @cellwire_stop(ptr %state) {{
  %stop = getelementptr i8, ptr %state, i64 {stop}
  %wake = getelementptr i8, ptr %state, i64 {wake}
  store atomic i32 1, ptr %stop seq_cst, align 4
  %w = atomicrmw add ptr %wake, i32 1 seq_cst
  %r = call i64 (i64, ...) @syscall(i64 {futex}, ptr %wake, i32 129, i32 2147483647, ptr null)
  ret void
}}"""


class _Part:
    """One more exported function of the worker code."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = f"part of the workers: {name}"

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return nothing: the definition stands beside the first one."""
        declarations.pop(self.name, None)
        return ""


PARTS: Final = ("cellwire_wait", "cellwire_worker", "cellwire_stop")


@once
def worker_library() -> Library:
    """Return the native side, compiled or from the cache."""
    return compile_module([WorkerCode(), *(_Part(name) for name in PARTS)])


class Workers:
    """Threads that wait for jobs; the caller is one of ``count``."""

    def __init__(self, count: int) -> None:
        self.library = worker_library()
        self._memory = np.zeros(STATE_BYTES + 64, np.uint8)
        start = -self._memory.__array_interface__["data"][0] % 64
        self.state: int = self._memory.__array_interface__["data"][0] + start
        run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.library["cellwire_worker"])
        self._stop = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.library["cellwire_stop"])
        self.threads = [
            threading.Thread(
                target=run, args=(self.state,), daemon=True, name=f"cellwire-worker-{number}"
            )
            for number in range(1, count)
        ]
        for thread in self.threads:
            thread.start()

    @property
    def share(self) -> int:
        """The address of ``share(state, work, call, total)``."""
        return self.library["cellwire_share"]

    def close(self) -> None:
        """End the threads."""
        self._stop(self.state)
        for thread in self.threads:
            thread.join()


_pool: list[Workers] = []
_lock = threading.Lock()


def workers() -> Workers | None:
    """Return the process's workers, started at the first call; None where one thread runs all."""
    if thread_count() < 2:
        return None
    with _lock:
        if not _pool:
            _pool.append(Workers(thread_count()))
            atexit.register(_close)
        return _pool[0]


def _close() -> None:
    while _pool:
        _pool.pop().close()


def _forget() -> None:
    """A forked child has no threads but its own; its plans begin anew."""
    global _lock
    _lock = threading.Lock()  # another thread may have held it
    _pool.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
