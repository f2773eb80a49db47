"""Calls that look at their arguments in machine code, and run only what fits."""

from __future__ import annotations

import sys
import threading
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.kernels import fast_call as module
from cellwire.kernels.fast_call import Expected, fast_call
from cellwire.kernels.loops import Buffer, Function, Loop, Store, affine, call, load
from cellwire.kernels.runtime import Bound, Program, Slot, Step, build_entry

F32 = np.dtype(np.float32)
SHAPE = (3, 4)


def doubling() -> Bound:
    """A plan that writes twice its first array into its second."""
    source, target = Buffer("source", F32), Buffer("target", F32)
    value = load(source, affine("i"))
    store = Store("target", affine("i"), call("add", value, value))
    kernel = Function("double", (source, target), (), (Loop("i", 12, (store,), vector=True),))
    step = Step("double", (Slot("array", 0), Slot("array", 1)))
    return build_entry(Program("twice", 2, 0, (), (step,)), [kernel]).bind()


BOUND = doubling()
LIKE = np.zeros(SHAPE, F32)


def made(*, only_check: bool = False) -> Any:
    function = None if only_check else BOUND.function
    return fast_call(function, [BOUND.address, 0, 0], [Expected(1, LIKE), 2], cw.Tensor)


def test_what_fits_is_run() -> None:
    given, out = np.arange(12, dtype=F32).reshape(SHAPE), np.zeros(SHAPE, F32)
    assert made()(cw.Tensor(given), out) is True
    np.testing.assert_array_equal(out, 2 * given)


@pytest.mark.parametrize(
    "argument",
    [
        cw.Tensor(np.zeros(SHAPE, np.float64)),
        cw.Tensor(np.zeros(SHAPE, np.int32)),
        cw.Tensor(np.zeros((4, 3), F32)),
        cw.Tensor(np.zeros((3, 4, 1), F32)),
        cw.Tensor(np.zeros((3, 5), F32))[:, :4],
        cw.Tensor(np.zeros((4, 3), F32)).T,
        cw.Parameter(np.zeros(SHAPE, F32)),
        np.zeros(SHAPE, F32),
        1.0,
        None,
        object.__new__(cw.Tensor),
    ],
    ids=lambda argument: type(argument).__name__,
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(argument: Any) -> None:
    out = np.full(SHAPE, 7, F32)
    assert made()(argument, out) is False
    assert (out == 7).all()


@pytest.mark.parametrize("count", [0, 1, 3])
def test_another_number_of_arguments_is_refused(count: int) -> None:
    assert made()(*[cw.Tensor(LIKE)] * count) is False


def test_a_check_alone_runs_nothing() -> None:
    out = np.full(SHAPE, 7, F32)
    assert made(only_check=True)(cw.Tensor(LIKE), out) is True
    assert made(only_check=True)(cw.Tensor(np.zeros(3, F32)), out) is False
    assert (out == 7).all()


def test_several_threads_call_at_once() -> None:
    run, wrong = made(), []

    def work(seed: int) -> None:
        given, out = np.full(SHAPE, seed, F32), np.zeros(SHAPE, F32)
        for _ in range(200):
            out[:] = 0
            if not run(cw.Tensor(given), out) or not (out == 2 * seed).all():
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_calls_neither_keep_nor_lose_references() -> None:
    given, out, run = cw.Tensor(LIKE), np.zeros(SHAPE, F32), made()
    before = [sys.getrefcount(each) for each in (given, given.data, out, run, LIKE.dtype)]
    for _ in range(100):
        run(given, out)
        run(given)
    assert [sys.getrefcount(each) for each in (given, given.data, out, run, LIKE.dtype)] == before


def test_where_objects_lie_otherwise_calls_take_the_long_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_layout", lambda: False)
    assert made() is None
    run = cw.jit(lambda x: x * 2 + 1, fullgraph=True)
    x = cw.Tensor(np.arange(4, dtype=F32))
    for _ in range(6):
        np.testing.assert_array_equal(run(x).data, x.data * 2 + 1)
    (situation,) = run.situations.values()
    assert situation.paths[0].quick is None
