"""Worker threads: every ticket is run once, results do not depend on threads, forks go on."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cellwire.engine import ops
from cellwire.engine.compiler import cutting
from cellwire.engine.compiler.plan import compile_graph
from cellwire.engine.compiler.trace import trace
from cellwire.engine.dtype import float32
from cellwire.engine.shape import Aval
from cellwire.kernels.native import compile_module
from cellwire.kernels.workers import (
    ALONE,
    FEWEST_ALONE,
    Workers,
    can_run_threads,
    thread_count,
)

pytestmark = pytest.mark.skipif(not can_run_threads(), reason="workers sleep by Linux's futex")


class Count:
    """A kernel whose ticket ``t`` adds one to the number ``t`` of its call."""

    name = "count_ticket"
    text = "adds one to the number of its ticket"

    def llvm(self, target: object, declarations: dict[str, str]) -> str:
        return """define void @count_ticket(ptr %call, i64 %ticket, ptr %state) {
  %place = getelementptr i64, ptr %call, i64 %ticket
  %old = load i64, ptr %place
  %new = add i64 %old, 1
  store i64 %new, ptr %place
  ret void
}"""


@pytest.fixture
def pool() -> Iterator[Workers]:
    made = Workers(3)
    yield made
    made.close()


def sharing(pool: Workers) -> Callable[..., None]:
    kinds = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    return ctypes.CFUNCTYPE(None, *kinds)(pool.share)


def test_every_ticket_is_run_once_in_every_job(pool: Workers) -> None:
    library = compile_module([Count()])
    share, counts = sharing(pool), np.zeros(64, np.int64)
    for job in range(3000):
        share(pool.state, library["count_ticket"], counts.ctypes.data, 1 + job % 64)
    expected = [sum(1 for job in range(3000) if job % 64 >= ticket) for ticket in range(64)]
    assert counts.tolist() == expected


def test_threads_of_the_program_share_workers_without_losing_tickets(pool: Workers) -> None:
    library = compile_module([Count()])
    share, counts = sharing(pool), [np.zeros(8, np.int64) for _ in range(3)]

    def run(own: np.ndarray) -> None:
        for _ in range(1000):
            share(pool.state, library["count_ticket"], own.ctypes.data, 8)

    threads = [threading.Thread(target=run, args=(own,)) for own in counts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((own == 1000).all() for own in counts)


class Sleep:
    """A kernel whose ticket 0 takes a tenth of what ticket 1 takes, in microseconds."""

    def __init__(self, long: int) -> None:
        self.long = long
        self.name = f"sleep_{long}"
        self.text = f"sleeps {long} microseconds or a tenth"

    def llvm(self, target: object, declarations: dict[str, str]) -> str:
        declarations["usleep"] = "declare i32 @usleep(i32)"
        return f"""define void @{self.name}(ptr %call, i64 %ticket, ptr %state) {{
  %long = icmp eq i64 %ticket, 1
  %time = select i1 %long, i32 {self.long}, i32 {self.long // 10}
  %ignored = call i32 @usleep(i32 %time)
  ret void
}}"""


def turns_alone_after(pool: Workers, job: Sleep, tries: int) -> int:
    """Run a job until a worker had its long ticket; return how many turns the caller is to take."""
    library, share = compile_module([job]), sharing(pool)
    turns = ctypes.c_int32.from_address(pool.state + ALONE)
    for _ in range(tries):  # the caller has both where no worker was given a processor in time
        share(pool.state, library[job.name], None, 2)
        if turns.value:
            break
    return turns.value


def test_where_threads_wait_for_each_other_the_caller_does_jobs_alone(pool: Workers) -> None:
    turns = turns_alone_after(pool, Sleep(2000), 200)
    assert 0 < turns <= FEWEST_ALONE
    assert turns_alone_after(pool, Sleep(2000), 1) == turns - 1


def test_jobs_that_are_long_are_never_done_alone(pool: Workers) -> None:
    assert turns_alone_after(pool, Sleep(200_000), 2) == 0


@pytest.fixture
def everything_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "WORTH_A_MEETING", 0.0)
    monkeypatch.setattr(cutting, "WORTH_SHARING", 0.0)


SHAPES = ((37, 24), (24, 24), (24,))


def layers(x: Any, w: Any, b: Any) -> Any:
    """Rows on their own, then a sum over rows, then rows that need it."""
    h = ops.relu(ops.dense(x, w, b))
    h = ops.softmax(h + x)
    return h - ops.mean(h, 0) + ops.sum(ops.matmul(h.T, x))


def plan(monkeypatch: pytest.MonkeyPatch, threads: int) -> Any:
    monkeypatch.setattr("cellwire.engine.compiler.planner.thread_count", lambda: threads)
    return compile_graph(trace(layers, [Aval(shape, float32) for shape in SHAPES]).graph)


def arrays() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float32) for shape in SHAPES]


@pytest.mark.usefixtures("everything_is_cut")
def test_any_number_of_threads_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    alone, shared = plan(monkeypatch, 1), plan(monkeypatch, 3)
    expected = alone(*arrays())[0]
    for _ in range(50):
        np.testing.assert_array_equal(shared(*arrays())[0], expected)


@pytest.mark.usefixtures("everything_is_cut")
@pytest.mark.skipif(thread_count() < 2, reason="one processor")
def test_a_forked_child_goes_on_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = plan(monkeypatch, 2)
    expected = shared(*arrays())[0]
    child = os.fork()
    if child == 0:
        same = False
        try:
            same = np.array_equal(shared(*arrays())[0], expected)
        finally:  # an error must not run the rest of the tests in the child
            os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_runs_the_plan_that_a_thread_was_running(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    busy = plan(monkeypatch, 1)
    expected = busy(*arrays())[0]
    with busy.lock:  # as the thread holds it while the plan runs
        child = os.fork()
        if child == 0:
            same = False
            try:
                signal.alarm(5)  # ends the child where it waits for a thread that is no more
                same = np.array_equal(busy(*arrays())[0], expected)
            finally:
                os._exit(0 if same else 1)
        assert os.waitpid(child, 0)[1] == 0


@pytest.fixture
def counted_anew() -> Iterator[None]:
    thread_count.cache_clear()
    yield
    thread_count.cache_clear()


@pytest.mark.usefixtures("counted_anew")
def test_the_thread_count_is_told_or_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELLWIRE_THREADS", "five")
    with pytest.raises(ValueError, match="CELLWIRE_THREADS must be a number"):
        thread_count()
    monkeypatch.setenv("CELLWIRE_THREADS", "5")
    assert thread_count() == 5
