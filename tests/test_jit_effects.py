"""What compiled code does outside its graph: once at each call, in order, with its own values."""

from __future__ import annotations

import collections
import contextlib
import io
import logging
import threading
import types
from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops
from cellwire.engine.compiler import JitError

F32 = np.float32


def one(value: Any = 1.0) -> Any:
    return cw.Tensor([value])


class Meter:
    def __init__(self) -> None:
        self.count = 0
        self.total = 0.5
        self.last: Any = None
        self.state: Any = cw.Tensor([0.0])
        self.seen: list[Any] = []


def plain(value: Any) -> Any:
    """Return a value with tensors as lists and objects as what they hold, to be compared."""
    if isinstance(value, cw.Tensor):
        return value.tolist()
    if isinstance(value, Meter | types.SimpleNamespace):
        return {name: plain(part) for name, part in vars(value).items()}
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple | collections.deque):
        return [plain(part) for part in value]
    return value


def both(make: Callable[[Any], Callable[..., Any]], paths: int = 1) -> None:
    """Run a function of fresh state eagerly and compiled: results, state and prints are alike."""
    found = []
    for wrap in (lambda fn: fn, lambda fn: cw.jit(fn, fullgraph=True)):
        state = types.SimpleNamespace(
            meter=Meter(), parts=[Meter(), Meter()], table={"n": 0, "loss": None}, list=[],
            queue=collections.deque(), kinds=set(), flag=False,
        )  # fmt: skip
        run = wrap(make(state))
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            results = [plain(run(one(float(n)))) for n in range(-1, 5)]
        found.append((results, plain(state), text.getvalue()))
    assert found[1] == found[0]
    assert sum(len(s.paths) for s in run.situations.values()) <= paths


def test_numbers_are_counted() -> None:
    def make(state: Any) -> Callable[..., Any]:
        def fn(x: Any) -> Any:
            state.meter.count += 1
            state.meter.total = state.meter.total * 0.5 + state.meter.count
            state.table["n"] += 2
            return x * state.meter.total + state.table["n"] % 3

        return fn

    both(make)


def test_a_comparison_of_a_counted_number_makes_a_path() -> None:
    def make(state: Any) -> Callable[..., Any]:
        def fn(x: Any) -> Any:
            state.meter.count += 1
            if state.meter.count % 2 == 0:
                state.meter.last = x * 3
                return x
            return x * 2

        return fn

    both(make, paths=2)


def test_tensors_are_kept_and_read_again() -> None:
    def make(state: Any) -> Callable[..., Any]:
        def fn(x: Any) -> Any:
            state.meter.state = state.meter.state * 0.5 + x
            state.meter.last = {"x": x, "both": (state.meter.state, x * 2), "n": 3}
            state.table["loss"] = x * x
            return state.meter.state

        return fn

    both(make)


def test_containers_grow() -> None:
    def make(state: Any) -> Callable[..., Any]:
        def fn(x: Any) -> Any:
            state.list.append(x)
            y = x * 2
            state.list.extend([y, (y, 1)])
            state.queue.append(y + 1)
            state.kinds.add("seen")
            state.meter.seen.append(x.shape[0])
            return y

        return fn

    both(make)


def test_objects_in_loops_and_in_other_functions_are_written() -> None:
    def note(meter: Meter, x: Any) -> None:
        meter.count += 1
        meter.last = x
        meter.seen.append(meter.count)

    def make(state: Any) -> Callable[..., Any]:
        def fn(x: Any) -> Any:
            for part in state.parts:
                part.total += part.count
                x = x + part.total
                part.last = x
            note(state.meter, x)
            return x

        return fn

    both(make)


def test_what_is_made_inside_is_no_effect() -> None:
    def make(state: Any) -> Callable[..., Any]:
        def note(found: list[Any], x: Any) -> None:
            found.append(x)

        def fn(x: Any) -> Any:
            parts: list[Any] = []
            for n in range(2):
                note(parts, x * n)
                inner = types.SimpleNamespace(x=x)
                inner.x = x + n
                parts.append(inner.x)
            return parts

        return fn

    both(make)


def test_prints_and_logs_come_with_values_in_order() -> None:
    log = logging.getLogger("test_jit_effects")
    log.propagate = False

    def make(state: Any) -> Callable[..., Any]:
        def fn(x: Any) -> Any:
            state.meter.count += 1
            print("x", x, [x * 2], sep=" | ")
            log.info("y %s", x + 1)
            print(f"call {state.meter.count:3d} of {x * 3}", end=".\n")
            log.warning(f"z {x}")
            ops.Print()("shown", x)
            if x.sum() > 1:
                print("large")
            return x

        return fn

    handler = logging.Handler()
    handler.emit = lambda record: print(record.levelname, record.lineno, record.getMessage())
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        both(make, paths=2)
    finally:
        log.removeHandler(handler)


def test_kept_tensors_are_the_returned_and_given_ones() -> None:
    kept: list[Any] = []

    @cw.jit(fullgraph=True)
    def fn(x: Any) -> Any:
        y = x * 2
        kept.extend([x, y])
        return y

    x = one(3.0)
    y = fn(x)
    assert kept[0] is x
    assert kept[1] is y
    assert fn(one(4.0)) is kept[3]


def test_globals_closures_and_cells_keep_state() -> None:
    calls = 0

    class Net(nn.Cell):
        seen = 0

        def __init__(self) -> None:
            super().__init__()
            self.dense = nn.Dense(1, 1, weight_init="ones", bias_init="zeros")
            self.hidden: Any = None

        def construct(self, x: Any) -> Any:
            nonlocal calls
            calls += 1
            self.seen += 1
            y = self.dense(x)
            if self.hidden is not None:
                y = y + self.hidden
            self.hidden = y
            return y * self.seen

    net = Net()
    run = cw.jit(net, fullgraph=True)
    x = cw.Tensor([[1.0]])
    assert [run(x).item() for _ in range(4)] == [1, 4, 9, 16]
    assert (calls, net.seen, net.hidden.item()) == (4, 4, 4)
    assert sum(len(s.paths) for s in run.situations.values()) == 2


def test_an_error_comes_after_the_effects_before_it() -> None:
    meter = Meter()

    def fn(x: Any, size: int) -> Any:
        meter.count += 1
        print("before")
        return x.reshape(size)

    run = cw.jit(fn)
    for expected in (1, 2):
        with pytest.raises(ValueError, match="reshape"), contextlib.redirect_stdout(io.StringIO()):
            run(one(), 7)
        assert meter.count == expected
    assert run(one(), 1).shape == (1,)
    assert meter.count == 3


def test_a_number_that_calls_change_is_no_size() -> None:
    meter = Meter()

    def fn(x: Any) -> Any:
        meter.count += 1
        return ops.concat([x] * meter.count)

    with pytest.raises(JitError, match=r"test_jit_effects\.py:\d+: the number meter\.count"):
        cw.jit(fn, fullgraph=True)(one())
    assert meter.count == 0


def test_a_container_both_changed_and_looked_into_is_a_reason() -> None:
    kept: list[Any] = []

    def fn(x: Any) -> Any:
        kept.append(x)
        return x * len(kept)

    with pytest.raises(JitError, match="kept, outside the function, is both looked into"):
        cw.jit(fn, fullgraph=True)(one())
    assert kept == []


def test_effects_in_branches_of_the_graph_are_a_reason() -> None:
    meter = Meter()

    def counted(x: Any) -> Any:
        meter.count += 1
        return x

    def printed(x: Any) -> Any:
        print(1)
        return x

    for fn in (counted, printed):
        with pytest.raises(JitError, match="outside"):
            cw.jit(lambda x, fn=fn: ops.cond(x.sum() > 0, fn, fn, x), fullgraph=True)(one())
    assert meter.count == 0


def test_gradients_flow_through_what_is_kept() -> None:
    meter = Meter()

    def fn(x: Any) -> Any:
        meter.count += 1
        meter.last = x * x
        return meter.last * meter.count

    run = cw.jit(fn, fullgraph=True)
    assert [cw.grad(run)(one(3.0)).item() for _ in range(3)] == [6, 12, 18]
    assert meter.count == 3
    step = cw.jit(cw.value_and_grad(fn), fullgraph=True)
    value, grad = step(one(2.0))
    assert (value.item(), grad.item(), meter.count) == (16, 16, 4)


def test_another_thread_sees_numbers_while_code_is_traced() -> None:
    meter, inside, seen = Meter(), threading.Event(), []
    asked = threading.Event()

    def slow() -> None:
        inside.set()
        asked.wait(5)

    def fn(x: Any) -> Any:
        meter.count += 1
        slow()
        return x * meter.count

    def other() -> None:
        inside.wait(5)
        seen.append(meter.count + 1)
        print("from another thread")
        asked.set()

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        thread = threading.Thread(target=other)
        thread.start()
        results = [cw.jit(fn)(one()).item()]
        thread.join()
    assert results == [1]
    assert [int(n) for n in seen] in ([1], [2])
    assert text.getvalue() == "from another thread\n"
    assert type(meter.count) is int


# ---- numbers that differ between calls ---------------------------------------------------------


def test_numbers_outside_become_inputs_at_their_second_value() -> None:
    settings = types.SimpleNamespace(rate=0.5, power=2, table={"scale": 1.0})

    def fn(x: Any) -> Any:
        return (x * settings.rate + settings.power) / (1 + settings.table["scale"])

    run = cw.jit(fn, fullgraph=True)
    for n in range(6):
        settings.rate, settings.power = 0.5 / (n + 1), n
        settings.table["scale"] = n * 0.25
        np.testing.assert_array_equal(run(one(3.0)).asnumpy(), fn(one(3.0)).asnumpy())
    assert sum(len(s.paths) for s in run.situations.values()) == 2


@pytest.mark.parametrize("dtype", [cw.float64, cw.float16, cw.int32])
def test_numbers_take_the_tensors_type_as_they_do_eagerly(dtype: Any) -> None:
    settings = types.SimpleNamespace(rate=1.0)
    run = cw.jit(lambda x: x * settings.rate, fullgraph=True)
    x = cw.Tensor([3, 5], dtype)
    for rate in (1.0, 1 / 3, 1e-9, -0.0, 0.1):
        settings.rate = rate
        got, wanted = run(x), x * rate
        assert got.dtype is wanted.dtype
        assert got.asnumpy().tobytes() == wanted.asnumpy().tobytes()


def test_numbers_that_code_needs_as_they_are_stay_guarded() -> None:
    settings = types.SimpleNamespace(axis=0, size=1)
    run = cw.jit(lambda x: ops.sum(x, settings.axis) * [5.0, 7.0][settings.size], fullgraph=True)
    x = cw.Tensor([[1.0, 2.0], [3.0, 4.0]])
    for axis, size in ((0, 1), (1, 0), (0, 0), (1, 1)):
        settings.axis, settings.size = axis, size
        assert run(x).tolist() == (ops.sum(x, axis) * [5.0, 7.0][size]).tolist()


# ---- numbers taken out of tensors --------------------------------------------------------------


def test_elements_are_kept_printed_and_compared_without_a_path_for_each() -> None:
    def make(state: Any) -> Callable[..., Any]:
        def fn(x: Any) -> Any:
            y = (x * x).sum()
            state.list.append(y.item())
            state.meter.total += y.item() / 2
            print(f"{y.item():.3f} after {state.meter.total}", x.item(0))
            if y.item() > 3:
                state.meter.count += 1
            return y

        return fn

    both(make, paths=2)


def test_elements_used_as_sizes_or_in_ops_make_paths() -> None:
    def make(state: Any) -> Callable[..., Any]:
        def fn(x: Any) -> Any:
            for _ in range(int(x.sum().item()) % 3):
                x = x + 1
            while x.max().item() < 3:
                x = x * 2 + 1.0
            return x * x.sum().item()

        return fn

    both(make, paths=8)


def test_a_cell_that_a_name_leads_to_counts_without_a_look_at_all_objects() -> None:
    class Counting(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0
            self.inner: Any = None

        def construct(self, x: Any) -> Any:
            self.calls += 1
            return x * 2 if self.inner is None else self.inner(x)

    outer = Counting()
    outer.inner = Counting()
    run = cw.jit(lambda x: outer(x + 0), fullgraph=True)
    for _ in range(5):
        run(one())
    assert (outer.calls, outer.inner.calls) == (5, 5)
    assert not run.openings.weigh_all
