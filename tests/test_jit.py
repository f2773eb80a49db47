"""``jit``: the same answer as eager, guards on what was read, and reasons where it cannot be."""

from __future__ import annotations

import gc
import math
import time
import types
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops
from cellwire.engine.compiler import JitError, JitWarning
from cellwire.engine.compiler.jit import MAX_PATHS

F32 = np.float32


def tensor(*shape: int, seed: int = 0) -> cw.Tensor:
    return cw.Tensor(np.random.default_rng(seed).normal(size=shape).astype(F32))


def close(a: Any, b: Any, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=rtol, atol=atol)


def compiled(fn: Callable[..., Any], **options: Any) -> Any:
    return cw.jit(fn, fullgraph=True, **options)


# ---- forms -----------------------------------------------------------------------------------


def test_functions_structures_and_keywords() -> None:
    @cw.jit(fullgraph=True)
    def fn(pair: Any, *, scale: Any = None, names: Any = ("a",)) -> Any:
        a, b = pair
        return {"sum": a + b, "rest": [a * scale, names[0]]}

    a, b = tensor(2, 3), tensor(2, 3, seed=1)
    out = fn((a, b), scale=a)
    close(out["sum"], a + b)
    close(out["rest"][0], a * a)
    assert out["rest"][1] == "a"


def test_cells_methods_bound_methods_and_classes() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.dense = nn.Dense(4, 3)

        def construct(self, x: Any) -> Any:
            return ops.relu(self.dense(x))

    class Decorated(Net):
        @cw.jit(fullgraph=True)
        def construct(self, x: Any) -> Any:
            return ops.relu(self.dense(x))

    x = tensor(5, 4)
    net = Net()
    close(cw.jit(net, fullgraph=True)(x), net(x))
    close(cw.jit(net.construct, fullgraph=True)(x), net(x))
    decorated = Decorated()
    close(decorated(x), ops.relu(decorated.dense(x)))
    made = cw.jit(Net)()
    close(made(x), ops.relu(made.dense(x)))


def test_every_option_of_mindspore_is_taken_and_others_are_refused() -> None:
    fn = cw.jit(capture_mode="trace", jit_level="O1", dynamic=0, backend="")(lambda x: x + 1)
    assert fn(tensor(2)).shape == (2,)
    with pytest.raises(TypeError, match="no option 'speed'"):
        cw.jit(lambda x: x, speed=3)
    with pytest.raises(TypeError, match="not int"):
        cw.jit(3)


def test_an_input_signature_is_checked() -> None:
    spec = cw.TensorSpec([None, 4])
    fn = cw.jit(lambda x: x * 2, input_signature=spec)
    assert fn(tensor(7, 4)).shape == (7, 4)
    with pytest.raises(ValueError, match="input_signature"):
        fn(tensor(7, 5))


def test_graph_mode_compiles_top_level_cells() -> None:
    net = nn.SequentialCell(nn.Dense(4, 8), nn.ReLU(), nn.Dense(8, 2))
    x = tensor(3, 4)
    eager = net(x)
    cw.set_context(mode=cw.GRAPH_MODE)
    try:
        close(net(x), eager)
    finally:
        cw.set_context(mode=cw.PYNATIVE_MODE)


def test_jit_inside_jit_is_one_graph() -> None:
    inner = cw.jit(ops.exp)
    outer = compiled(lambda x: inner(x) * 2)
    report = cw.jit.explain(outer)(tensor(3)).report
    assert [k.ops for k in report.kernels] == [("exp", "mul")]


# ---- guards ----------------------------------------------------------------------------------

SCALE = 2.0
SETTINGS = types.SimpleNamespace(alpha=0.5, table={"beta": 3.0})


def test_a_changed_global_gives_a_new_result(monkeypatch: pytest.MonkeyPatch) -> None:
    fn = compiled(lambda x: x * SCALE)
    assert fn(cw.Tensor([1.0])).item() == 2
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert fn(cw.Tensor([1.0])).item() == 5


def test_a_changed_attribute_or_item_gives_a_new_result(monkeypatch: pytest.MonkeyPatch) -> None:
    fn = compiled(lambda x: x * SETTINGS.alpha + SETTINGS.table["beta"])
    assert fn(cw.Tensor([1.0])).item() == 3.5
    monkeypatch.setattr(SETTINGS, "alpha", 1.0)
    assert fn(cw.Tensor([1.0])).item() == 4
    monkeypatch.setitem(SETTINGS.table, "beta", 0.0)
    assert fn(cw.Tensor([1.0])).item() == 1


def test_a_changed_closure_gives_a_new_result() -> None:
    factor = 2.0

    def change(value: float) -> None:
        nonlocal factor
        factor = value

    def helper(x: Any) -> Any:
        return x * factor

    fn = compiled(lambda x: helper(x) + 1)
    assert fn(cw.Tensor([1.0])).item() == 3
    change(10.0)
    assert fn(cw.Tensor([1.0])).item() == 11


def test_attributes_of_cells_are_guarded_also_in_loops() -> None:
    class Scale(nn.Cell):
        def __init__(self, factor: float) -> None:
            super().__init__()
            self.factor = factor

        def construct(self, x: Any) -> Any:
            return x * self.factor

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.CellList([Scale(2.0), Scale(3.0)])

        def construct(self, x: Any) -> Any:
            for part in self.parts:
                x = part(x) + part.factor
            return x

    net = Net()
    fn = compiled(net)
    one = cw.Tensor([1.0])
    assert fn(one).item() == (1 * 2 + 2) * 3 + 3
    net.parts[0].factor = 1.0
    assert fn(one).item() == (1 + 1) * 3 + 3
    net.parts[1] = Scale(5.0)
    assert fn(one).item() == (1 + 1) * 5 + 5


def test_training_mode_and_other_parameters_are_guarded() -> None:
    net = nn.Dropout(p=0.5)
    fn = compiled(net)
    x = cw.Tensor(np.ones((4, 8), F32))
    close(fn(x), x)
    net.set_train()
    assert (fn(x).asnumpy() == 0).any()
    net.set_train(False)
    close(fn(x), x)


def test_dropout_draws_anew_at_every_call() -> None:
    cw.set_seed(3)
    fn = compiled(nn.Dropout(p=0.5).set_train())
    x = cw.Tensor(np.ones((8, 32), F32))
    first, second = fn(x).asnumpy(), fn(x).asnumpy()
    assert (first != second).any()
    cw.set_seed(3)
    np.testing.assert_array_equal(fn(x).asnumpy(), first)


def test_numbers_are_taken_by_value_until_a_second_float_comes() -> None:
    fn = compiled(lambda x, rate: x * rate)
    x = cw.Tensor([2.0])
    assert [fn(x, rate).item() for rate in (0.5, 0.25, 4.0, 8.0)] == [1, 0.5, 8, 16]
    assert len(fn.situations) == 2
    power = compiled(lambda x, n: x**n)
    assert [power(x, n).item() for n in (1, 2, 3)] == [2, 4, 8]


def test_an_identity_of_shapes_is_not_enough() -> None:
    fn = compiled(lambda x: ops.sum(x) / x.shape[0])
    assert fn(cw.Tensor(np.ones(4, F32))).item() == 1
    assert fn(cw.Tensor(np.ones(6, F32))).item() == 1


def test_a_captured_tensor_is_read_at_every_call() -> None:
    weight = cw.Parameter(cw.Tensor([1.0, 2.0]))
    fn = compiled(lambda x: x + weight)
    x = cw.Tensor([0.0, 0.0])
    fn(x)
    weight.set_data(cw.Tensor([5.0, 6.0]))
    assert fn(x).asnumpy().tolist() == [5, 6]
    weight.asnumpy()[0] = 9
    assert fn(x).asnumpy().tolist() == [9, 6]


# ---- branches on values ----------------------------------------------------------------------


def test_a_branch_on_a_value_goes_both_ways() -> None:
    fn = compiled(lambda x: x * 2 if ops.sum(x) > 0 else x - 1)
    up, down = cw.Tensor([1.0, 2.0]), cw.Tensor([-1.0, -2.0])
    for _ in range(2):
        assert fn(up).asnumpy().tolist() == [2, 4]
        assert fn(down).asnumpy().tolist() == [-2, -3]
    (situation,) = fn.situations.values()
    assert len(situation.paths) == 2


def test_a_loop_whose_length_is_a_value() -> None:
    def fn(x: Any, n: Any) -> Any:
        for _ in range(int(n)):
            x = x * 2
        while ops.sum(x) < 100:
            x = x + 50
        return x

    jitted = compiled(fn)
    for n in (0, 1, 3, 1):
        close(jitted(cw.Tensor([1.0]), cw.Tensor(n)), fn(cw.Tensor([1.0]), cw.Tensor(n)))


def test_nothing_is_written_when_a_branch_goes_another_way() -> None:
    total = cw.Parameter(cw.Tensor([0.0]))

    def fn(x: Any) -> Any:
        total.set_data(total + x)
        return total * 1 if ops.sum(x) > 0 else total * -1

    jitted = compiled(fn)
    values = [jitted(cw.Tensor([x])).item() for x in (1.0, -2.0, 5.0, -1.0)]
    assert values == [1, 1, 4, -3]
    assert total.asnumpy().tolist() == [3]


def test_too_many_paths_run_eagerly_and_say_so_once() -> None:
    fn = cw.jit(lambda x: x * int(ops.sum(x)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = [fn(cw.Tensor([float(n)])).item() for n in range(MAX_PATHS + 4)]
    assert results == [float(n * n) for n in range(MAX_PATHS + 4)]
    assert sum("ways through branches" in str(w.message) for w in caught) == 1


# ---- reasons ---------------------------------------------------------------------------------


def test_fullgraph_names_file_line_and_what_to_write_instead() -> None:
    def fn(x: Any) -> Any:
        return cw.Tensor(np.tanh(x.asnumpy()))

    with pytest.raises(JitError, match=r"test_jit\.py:\d+: .*NumPy array; use Cellwire ops"):
        cw.jit(fn, fullgraph=True)(tensor(3))


def test_without_fullgraph_it_runs_eagerly_and_warns_once() -> None:
    fn = cw.jit(lambda x: cw.Tensor(x.asnumpy() * 2))
    x = cw.Tensor([3.0])
    with pytest.warns(JitWarning, match="runs eagerly") as told:
        assert fn(x).item() == 6
    assert told[0].filename == __file__  # the caller's line, not ours
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fn(x).item() == 6
    assert cw.jit.explain(fn)(x).reason is not None


def test_clocks_and_files_are_reasons(tmp_path: Path) -> None:
    file = tmp_path / "rate.txt"
    file.write_text("2")

    def reads_the_clock(x: Any) -> Any:
        return x * time.time()

    def reads_a_file(x: Any) -> Any:
        return x * float(file.read_text())

    for fn in (reads_the_clock, reads_a_file):
        with pytest.raises(JitError, match=r"test_jit\.py"):
            cw.jit(fn, fullgraph=True)(tensor(2))


def test_errors_of_the_code_itself_come_through() -> None:
    with pytest.raises(ValueError, match="matmul"):
        compiled(ops.matmul)(tensor(2, 3), tensor(2, 3))
    with pytest.raises(ZeroDivisionError):
        compiled(lambda x: x * (1 / (x.ndim - 1)))(tensor(2))


def test_pure_python_inside_is_fine() -> None:
    def fn(x: Any) -> Any:
        parts, table = [], {}
        for i in range(3):
            parts.append(x * math.sqrt(i))
            table[i] = parts[-1]
            table["last"] = i
        return ops.stack(parts) + table[1]

    x = tensor(4)
    close(compiled(fn)(x), fn(x))


def sized(parts: Iterable[Any]) -> Any:
    return sum(parts)


def test_comprehensions_are_fine_unless_they_use_up_what_is_outside() -> None:
    sizes = [1.0, 2.0]

    def fn(x: Any) -> Any:
        doubled = [x * 2 for _ in range(2)]
        return sum(part * size for part, size in zip(doubled, sizes, strict=True))

    run = compiled(fn)
    close(run(tensor(3)), fn(tensor(3)))
    sizes[0] = 5.0
    close(run(tensor(3)), fn(tensor(3)))
    assert compiled(lambda x: sized(x * size for size in (1, 2)))(tensor(3)).shape == (3,)
    numbers = iter([1.0, 2.0])
    with pytest.raises(JitError, match="list_iterator from outside would be used up"):
        compiled(lambda x, values: x * sum(values))(tensor(3), numbers)
    with pytest.raises(JitError, match="list_iterator from outside would be used up"):
        compiled(lambda x: x * sum(number for number in numbers))(tensor(3))


def test_a_garbage_collection_during_a_trace_is_no_part_of_it() -> None:
    def fn(x: Any) -> Any:
        return x * len([[number] for number in range(5000)])

    def told(phase: str, info: dict[str, int]) -> None:
        time.perf_counter()

    thresholds = gc.get_threshold()
    gc.callbacks.append(told)
    gc.set_threshold(1)  # one is due as soon as collections are allowed again
    try:
        close(compiled(fn)(tensor(3)), fn(tensor(3)))
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(told)
    assert gc.isenabled()


# ---- hooks -----------------------------------------------------------------------------------


def test_a_hook_added_later_is_seen() -> None:
    net = nn.Dense(3, 2)
    fn = compiled(net)
    x = tensor(4, 3)
    before = fn(x)
    handle = net.register_forward_hook(lambda cell, args, output: output * 2)
    close(fn(x), before * 2)
    handle.remove()
    close(fn(x), before)
