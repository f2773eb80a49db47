"""A compiled function gives what eager gives, whatever changed meanwhile, or runs eagerly."""

from __future__ import annotations

import collections
import contextlib
import functools
import io
import random
import sys
import types
from time import perf_counter
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from alike import one, quiet
from cellwire import nn, ops
from cellwire.engine.compiler.jit import JitError, JitWarning
from cellwire.kernels.loops import Function

F32 = np.float32


# ---- what is read from outside ---------------------------------------------------------------


def test_defaults_and_code_of_functions_are_guarded() -> None:
    def inner(x: Any, factor: float = 2.0) -> Any:
        return x * factor

    def other(x: Any, factor: float = 2.0) -> Any:
        return x - factor

    def outer(x: Any, *, added: Any = 1.0) -> Any:
        return inner(x) + added

    fn = cw.jit(outer, fullgraph=True)
    assert fn(one()).item() == 3
    inner.__defaults__ = (5.0,)
    assert fn(one()).item() == 6
    outer.__kwdefaults__ = {"added": 2.0}
    assert fn(one()).item() == 7
    inner.__code__ = other.__code__
    assert fn(one()).item() == -2


def test_deep_large_and_unusual_containers_are_guarded() -> None:
    deep, large, chosen = [[[[1.0]]]], dict.fromkeys(range(500), 1.0), {1.0, 2.0}
    queue = collections.deque([1.0])

    def fn(x: Any) -> Any:
        for value in (*deep[0][0][0], sum(large.values()), sum(chosen), *queue):
            x = x + value
        return x

    run = cw.jit(fn, fullgraph=True)
    assert run(one()).item() == fn(one()).item()
    deep[0][0][0][0] = 7.0
    assert run(one()).item() == fn(one()).item()
    large[3] = 9.0
    assert run(one()).item() == fn(one()).item()
    chosen.add(4.0)
    assert run(one()).item() == fn(one()).item()
    queue.append(8.0)
    assert run(one()).item() == fn(one()).item()


def test_a_container_too_large_to_watch_is_a_reason() -> None:
    table = dict.fromkeys(range(5000), 1.0)
    run = cw.jit(lambda x: x + sum(table.values()))
    with pytest.warns(JitWarning, match="table is too large"):
        assert run(one(0.0)).item() == 5000
    table[0] = 2.0
    assert run(one(0.0)).item() == 5001


def test_a_long_tuple_of_what_cannot_change_is_watched_as_a_whole() -> None:
    scales: tuple[Any, ...] = tuple(float(i) for i in range(5000))
    weights: tuple[Any, ...] = tuple(cw.Parameter(np.float32(i), f"w{i}") for i in range(2000))

    def fn(x: Any) -> Any:
        return x * scales[3] + weights[2]

    run = cw.jit(fn, fullgraph=True)
    assert run(one()).item() == 5
    weights[2].set_data(np.float32(7))
    assert run(one()).item() == 10
    scales = (*scales[:3], 30.0)
    assert run(one()).item() == 37
    weights = weights[5:]
    assert run(one()).item() == 37
    scales = tuple([float(i)] for i in range(5000))
    with pytest.raises(JitError, match="scales is too large"):
        run(one())


def test_keys_that_are_equal_are_told_apart() -> None:
    weight = cw.Parameter(np.float32(2), "w")
    table: dict[Any, Any] = {1: weight, 2: weight}

    def fn(x: Any) -> Any:
        for key, value in table.items():
            x = x * value + (5 if key is True else 0) + len(str(key))
        return x

    run = cw.jit(fn, fullgraph=True)
    for other in ({1: weight, 2: weight}, {True: weight, 2: weight}, {1.0: weight, 2: weight},
                  {2: weight, 1: weight}):  # fmt: skip
        assert run(one()).item() == fn(one()).item()
        table.clear()
        table.update(other)
        for _ in range(3):
            assert run(one()).item() == fn(one()).item()


def test_getattr_and_hasattr_are_guarded() -> None:
    setting = types.SimpleNamespace(factor=1.0)

    def fn(x: Any) -> Any:
        name = "factor"
        found = x * getattr(setting, "factor") + getattr(setting, name)  # noqa: B009
        return found * 2 if hasattr(setting, "late") else found

    run = cw.jit(fn, fullgraph=True)
    for factor in (1.0, 3.0):
        setting.factor = factor
        assert run(one()).item() == fn(one()).item()
    setting.late = True
    assert run(one()).item() == fn(one()).item()


def test_partial_functions_and_imports_inside_are_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("cellwire_settings_of_a_test")
    module.FACTOR = 2.0
    monkeypatch.setitem(sys.modules, module.__name__, module)

    def scale(x: Any, by: Any) -> Function:
        from cellwire_settings_of_a_test import FACTOR

        return x * by * FACTOR

    bound = functools.partial(scale, by=3.0)
    for run in (cw.jit(bound, fullgraph=True), cw.jit(lambda x: bound(x) * 1, fullgraph=True)):
        module.FACTOR = 2.0
        bound.keywords["by"] = 3.0
        assert run(one()).item() == 6
        bound.keywords["by"] = 5.0
        assert run(one()).item() == 10
        module.FACTOR = 1.0
        assert run(one()).item() == 5


def test_signed_zeros_are_different_values() -> None:
    setting = [0.0]
    runs = (cw.jit(lambda x: x * setting[0]), cw.jit(lambda x, by: x * by))
    for value in (0.0, -0.0, 0.0):
        setting[0] = value
        results = runs[0](one()), runs[1](one(), value)
        assert [bool(np.signbit(r.asnumpy()[0])) for r in results] == [str(value) == "-0.0"] * 2


def test_what_is_trained_is_guarded() -> None:
    net, x = nn.Dense(2, 1), cw.Tensor(np.ones((1, 2), F32))
    outside = cw.jit(cw.grad(lambda x: net(x).sum(), None, weights=net.trainable_params()))

    def fn(x: Any) -> Any:
        return cw.grad(lambda x: net(x).sum(), None, weights=net.trainable_params())(x)

    inside = cw.jit(fn)
    assert outside(x)[0].asnumpy().all()
    assert len(inside(x)) == 2
    net.weight.requires_grad = False
    assert not outside(x)[0].asnumpy().any()
    assert len(inside(x)) == 1


def test_variables_that_comprehensions_use_are_local_and_guarded() -> None:
    setting = types.SimpleNamespace(outer=2.0, inner=1.0)

    def fn(x: cw.Tensor, given: types.SimpleNamespace) -> cw.Tensor:
        values = [x]
        for _ in range(2):
            values.append(sum([value * given.inner for value in values]) + len(values))
        return values[-1] * given.outer

    run = cw.jit(fn, fullgraph=True)
    assert run(one(), setting).item() == fn(one(), setting).item()
    setting.outer = 5.0
    assert run(one(), setting).item() == fn(one(), setting).item()
    setting.inner = 3.0
    assert run(one(), setting).item() == fn(one(), setting).item()


# ---- arguments -------------------------------------------------------------------------------


def test_arrays_sets_and_slices_are_arguments_by_value() -> None:
    added = cw.jit(lambda x, a: x + cw.Tensor(a))
    array = np.array([1.0], F32)
    assert added(one(), array).item() == 2
    array[0] = 5.0
    assert added(one(), array).item() == 6
    summed, numbers = cw.jit(lambda x, s: x + sum(s)), {1.0}
    assert summed(one(), numbers).item() == 2
    numbers.add(4.0)
    assert summed(one(), numbers).item() == 6
    part = cw.jit(lambda x, s: x[s])
    x = cw.Tensor([0.0, 1.0, 2.0])
    for start in (0, 1, 2, 0):
        assert part(x, slice(start, start + 1)).item() == start
    assert len(part.situations) == 3


def test_a_list_given_is_changed_once_at_each_call() -> None:
    def fn(x: Any, found: Any) -> Any:
        found.append(x * 2)
        return x

    run, found = cw.jit(fn), []
    for n in range(3):
        quiet(run, one(float(n)), found)
    assert [t.item() for t in found] == [0, 2, 4]


def test_floats_stay_floats_where_the_code_needs_them() -> None:
    table = {0.5: 1.0, 0.25: 2.0, 0.125: 3.0}
    functions = (
        lambda x, z: x * round(z, 1),
        lambda x, z: x + table[z],
        lambda x, z: ops.full((3,), z) * x,
        lambda x, z: x + (1 if isinstance(z, float) else 2),
        lambda x, z: x * cw.Tensor(np.ones(1)) * z,
    )
    for fn in functions:
        run = cw.jit(fn, fullgraph=True)
        for z in (0.5, 0.25, 0.125, 0.5):
            got, wanted = run(one(3.0), z), fn(one(3.0), z)
            assert got.dtype == wanted.dtype
            np.testing.assert_array_equal(got.asnumpy(), wanted.asnumpy())
    run = cw.jit(lambda x, z: (x, z), fullgraph=True)
    assert [run(one(), z)[1] for z in (0.5, 0.3, 0.2)] == [0.5, 0.3, 0.2]


# ---- effects ---------------------------------------------------------------------------------


def test_effects_happen_once_at_each_call() -> None:
    found, alias_of, table, queue = [], [], collections.defaultdict(int), collections.deque()
    append = alias_of.append
    text = io.StringIO()

    def increase(x: Any) -> Any:
        same = found
        same += [1]
        return x

    def counts(x: Any) -> Any:
        table["n"] += 1
        return x

    functions = (
        increase, counts, lambda x: (append(1), x)[1], lambda x: (queue.append(1), x)[1],
        lambda x: (text.write("1"), x)[1], lambda x: (ops.Print()(x), x)[1],
    )  # fmt: skip
    printed = io.StringIO()
    for fn in functions:
        run = cw.jit(fn)
        with contextlib.redirect_stdout(printed):
            for _ in range(3):
                quiet(run, one())
    assert found == alias_of == list(queue) == [1, 1, 1]
    assert table["n"] == 3
    assert text.getvalue() == "111"
    assert printed.getvalue().count("Tensor(shape=[1]") == 3


def test_what_differs_at_every_call_is_not_kept() -> None:
    numbers, generator, drawn = iter([1.0, 2.0, 3.0]), (n for n in range(5)), random.Random(0)
    rng = np.random.default_rng(0)

    def takes(x: Any) -> Any:
        for value in numbers:
            return x * value
        return x

    functions = (
        takes, lambda x: x * generator.send(None), lambda x: x * drawn.random(),
        lambda x: x * float(rng.random()), lambda x: x * (perf_counter() % 0.01),
    )  # fmt: skip
    for fn in functions:
        run = cw.jit(fn)
        assert len({quiet(run, one()).item() for _ in range(3)}) == 3


def test_a_reason_that_the_code_catches_is_still_a_reason() -> None:
    def fn(x: Any) -> Any:
        try:
            value = float(x.asnumpy()[0])
        except Exception:
            value = -1.0
        return x + value

    run = cw.jit(fn)
    assert [quiet(run, one(v)).item() for v in (1.0, 2.0)] == [2, 4]


def test_random_numbers_are_those_of_eager_whichever_branch_is_taken() -> None:
    def fn(x: Any) -> Any:
        y = x * ops.standard_normal((1,))
        return y * 2 + ops.standard_normal((1,)) if y.sum() > 0 else y - 1

    for run, plain in ((cw.jit(fn), fn), (cw.grad(cw.jit(fn)), cw.grad(fn))):
        found = []
        for call in (plain, run):
            cw.set_seed(4)
            found.append([call(one()).item() for _ in range(20)])
        np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


def test_a_backward_hook_with_effects_runs_at_every_call() -> None:
    net, x, seen = nn.Dense(2, 2), cw.Tensor(np.ones((1, 2), F32)), []
    run = cw.jit(net)
    run(x)
    net.register_backward_hook(lambda c, ins, outs: seen.append(outs[0].asnumpy().copy()))
    for n in range(3):
        quiet(cw.grad(lambda x: run(x).sum()), x)
        assert len(seen) == n + 1


def test_methods_that_python_itself_calls_may_be_replaced() -> None:
    class Scale:
        @property
        def factor(self) -> float:
            return 2.0

        def __len__(self) -> int:
            return 3

        def __call__(self, x: cw.Tensor) -> cw.Tensor:
            return x + 1

    scale = Scale()
    run = cw.jit(lambda x: scale(x) * scale.factor * len(scale), fullgraph=True)
    x = cw.Tensor(np.ones(2, F32))
    assert run(x).asnumpy().tolist() == run(x).asnumpy().tolist() == [12, 12]
    Scale.factor = property(lambda self: 5.0)  # pyright: ignore[reportAttributeAccessIssue]
    assert run(x).asnumpy().tolist() == [30, 30]
    Scale.__len__ = lambda self: 1
    assert run(x).asnumpy().tolist() == [10, 10]
    Scale.__call__ = lambda self, x: x + 3
    assert run(x).asnumpy().tolist() == [20, 20]
