"""Effects are those of eager code whether a function is compiled or refused."""

from __future__ import annotations

import collections
import contextlib
import os
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine.compiler import JitWarning


class Meter:
    def __init__(self) -> None:
        self.count = 0
        self.last: Any = None
        self.seen: Any = None


def one(value: Any = 1.0) -> Any:
    return cw.Tensor([value])


def plain(value: Any) -> Any:
    """Return a value with tensors as lists and objects as what they hold, to be compared."""
    if isinstance(value, cw.Tensor):
        return value.tolist()
    if isinstance(value, Meter):
        return plain(vars(value))
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list) else value


def adds_in_place(state: Any, x: Any) -> Any:
    state.list += [x]
    return x


def adds_to_an_alias(state: Any, x: Any) -> Any:
    same = state.list
    same += [x]
    return x


def changes_an_array(state: Any, x: Any) -> Any:
    same = state.array
    same += 1
    return x


def changes_deep_inside(state: Any, x: Any) -> Any:
    for part in state.deep:
        part["n"]["m"] += 1
    return x * state.deep[0]["n"]["m"]


def counts_by_key(state: Any, x: Any) -> Any:
    state.counter["k"] += 1
    return x


def sets_in_turn(state: Any, x: Any) -> Any:
    state.meter.seen, state.meter.last = state.meter.last, x
    return x if state.meter.seen is None else x + state.meter.seen


def turns(state: Any, x: Any) -> Any:
    state.flag = not state.flag
    return x if state.flag else -x


def catches(state: Any, x: Any) -> Any:
    try:
        state.meter.count += 1
        raise KeyError("k")
    except KeyError:
        state.list.append(state.meter.count)
    return x


def writes_by_branch(state: Any, x: Any) -> Any:
    if x.sum() > 0:
        state.meter.count += 1
        state.list.append("more")
    else:
        state.meter.count -= 1
    return x * state.meter.count


def makes_an_object(state: Any, x: Any) -> Any:
    state.meter = Meter()
    state.meter.last = x
    return x


@pytest.mark.parametrize(
    "fn",
    [
        adds_in_place, adds_to_an_alias, changes_an_array, changes_deep_inside, counts_by_key,
        sets_in_turn, turns, catches, writes_by_branch, makes_an_object,
    ],
)  # fmt: skip
def test_effects_are_those_of_eager_whether_compiled_or_not(fn: Callable[..., Any]) -> None:
    found = []
    for wrap in (lambda fn: fn, cw.jit):
        state = types.SimpleNamespace(
            meter=Meter(), list=[], array=np.zeros(2), deep=[{"n": {"m": 0}}], flag=False,
            counter=collections.Counter(),
        )  # fmt: skip
        run = wrap(lambda x, state=state: fn(state, x))
        steps = []
        for value in (1.0, -2.0, 3.0, -1.0):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", JitWarning)
                result = run(one(value))
            arrays = state.array.tolist()
            steps.append((plain(result), plain({**vars(state), "array": arrays})))
        found.append(steps)
    assert found[1] == found[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_child_forked_while_another_thread_traces_goes_on() -> None:
    meter, inside, go_on = Meter(), threading.Event(), threading.Event()

    def fn(x: Any) -> Any:
        meter.count += 1
        inside.set()
        go_on.wait(10)
        return x * meter.count

    thread = threading.Thread(target=lambda: cw.jit(fn)(one()))
    thread.start()
    inside.wait(10)
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(Exception):
            right = cw.jit(lambda x: x + 1)(one()).item() == 2 and type(meter.count) is int
            code = 0 if right else 2
        os._exit(code)
    go_on.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
