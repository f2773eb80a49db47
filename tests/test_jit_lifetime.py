"""Compiled functions among threads and objects that come and go, wherever their code lies."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from alike import one
from cellwire import nn, ops
from cellwire.engine.ops import registry

F32 = np.float32


def test_compiled_methods_do_not_keep_their_objects() -> None:
    class Scale(nn.Cell):
        def __init__(self, factor: float) -> None:
            super().__init__()
            self.factor = factor

        @cw.jit
        def construct(self, x: Any) -> Any:
            return x * self.factor

    kept = []
    for n in range(3):
        cell = Scale(float(n))
        assert cell(one()).item() == n
        kept.append(weakref.ref(cell))
    cw.set_context(mode=cw.GRAPH_MODE)
    try:
        cell = nn.Dense(2, 2)
        cell(cw.Tensor(np.ones((1, 2), F32)))
    finally:
        cw.set_context(mode=cw.PYNATIVE_MODE)
    kept.append(weakref.ref(cell))
    del cell
    gc.collect()
    assert [ref() for ref in kept] == [None] * 4


def test_threads_may_call_compile_and_run_eagerly_at_once() -> None:
    run = cw.jit(lambda x: ops.tanh(x * 2) + x.sum())
    errors = []

    def work(start: Any, call: Callable[..., Any]) -> None:
        try:
            for size in range(1, 8):
                x = np.full(size, start + 0.5, F32)
                got = call(cw.Tensor(x))
                assert type(got) is cw.Tensor
                np.testing.assert_allclose(got.asnumpy(), np.tanh(x * 2) + x.sum(), rtol=1e-5)
        except BaseException as error:
            errors.append(error)

    def eager(x: Any) -> Any:
        for _ in range(20):
            y = ops.tanh(x * 2) + x.sum()
        return y

    calls = (run, run, eager)
    threads = [threading.Thread(target=work, args=(n, calls[n % 3])) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert registry.traces == []


@pytest.mark.parametrize("place", ["scratch.py", "benchmarks/mine.py", "../{name}-mine/net.py"])
def test_a_script_in_or_beside_a_checkout_is_watched_like_any_other(place: str) -> None:
    root = Path(cw.__file__).parent
    source = "def fn(x):\n    log.append(1)\n    return x * 2\n"
    scope: dict[str, Any] = {"log": []}
    file = f"{root}/{place.format(name=root.name)}"
    exec(compile(source, file, "exec"), scope)
    call = cw.jit(scope["fn"])
    call(one(3.0))
    call(one(3.0))
    assert len(scope["log"]) == 2
