"""``jit`` and graph mode, row by row: what code may do in a compiled function."""

from __future__ import annotations

import importlib
import re
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops
from cellwire.engine.compiler import JitError, JitWarning

F32 = np.float32


def ones(*shape: int) -> cw.Tensor:
    return cw.Tensor(np.ones(shape, F32))


def drawn(*shape: int, seed: int = 0) -> cw.Tensor:
    return cw.Tensor(np.random.default_rng(seed).normal(size=shape).astype(F32))


def close(a: Any, b: Any, rtol: float = 1e-4) -> None:
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=rtol, atol=1e-5)


@pytest.fixture
def graph_mode() -> Iterator[None]:
    cw.set_context(mode=cw.GRAPH_MODE)
    yield
    cw.set_context(mode=cw.PYNATIVE_MODE)


# ---- control flow and types ------------------------------------------------------------------


def test_row_32_constants_are_pruned_and_loops_unrolled() -> None:
    def fn(x: cw.Tensor, wanted: bool) -> cw.Tensor:
        if wanted:
            x = ops.exp(x)
        for i in range(3):
            x = x + i
        x = x * 2
        return x

    graph = cw.jit.explain(cw.jit(fn))(ones(2), False).graph
    assert [node.op.name for node in graph.nodes] == ["add", "add", "add", "mul"]
    close(cw.jit(fn, fullgraph=True)(ones(2), True), fn(ones(2), True))


@pytest.mark.parametrize("given", [lambda n: n, cw.Tensor], ids=["int", "tensor"])
def test_row_32_a_range_compiles_for_each_value(given: Callable[[int], Any]) -> None:
    def fn(x: cw.Tensor, n: Any) -> cw.Tensor:
        for _ in range(int(n)):
            x = x * 2
        return x

    run = cw.jit(fn, fullgraph=True)
    assert [run(ones(1), given(n)).item() for n in (1, 3, 1, 0, 3)] == [2, 8, 2, 1, 8]


def test_row_32_branches_on_values_in_graph_mode(graph_mode: None) -> None:
    class Chooses(nn.Cell):
        def construct(self, x: cw.Tensor) -> cw.Tensor:
            while x.sum() < 10:
                x = x * 2
            return x - 1 if x.max() > 6 else x

    net = Chooses()
    for value in (3.0, 0.5, 7.0, 3.0):
        x = cw.Tensor([value, 1.0])
        close(net(x), net.eager_call(x))


def test_row_32_branches_of_cond_must_match() -> None:
    fn = cw.jit(lambda x: ops.cond(x.sum() > 0, lambda: ops.ones((2,)), lambda: ops.ones((3,))))
    with pytest.raises(ValueError, match="both branches must give the same shapes and dtypes"):
        fn(ones(2))


def test_row_33_python_values_and_statements_are_no_matter() -> None:
    def fn(x: cw.Tensor, options: dict[str, Any]) -> Any:
        names, number = {"a", "b"}, 2j
        try:
            y = x * len(names)
        finally:
            del names
        match options["kind"]:
            case "add":
                z = (n := y + 1) * abs(number)
            case _:
                z = n = y
        return {"z": z, "rest": [n, None, options["kind"], number]}

    run = cw.jit(fn, fullgraph=True)
    for kind in ("add", "none", "add"):
        got, wanted = run(ones(2), {"kind": kind}), fn(ones(2), {"kind": kind})
        close(got["z"], wanted["z"])
        assert got["rest"][1:] == wanted["rest"][1:]


def test_row_33_names_that_are_made_when_asked_for_are_no_matter() -> None:
    run = cw.jit(lambda x: x * 2 if nn.Accuracy is not None else x, fullgraph=True)
    assert run(ones(1)).item() == 2


def test_row_33_results_that_a_graph_cannot_hold_are_a_reason() -> None:
    def yields(x: cw.Tensor) -> Iterator[cw.Tensor]:
        yield x * 2

    with pytest.warns(JitWarning, match="the result holds a generator"):
        assert next(cw.jit(yields)(ones(1))).item() == 2
    with pytest.raises(JitError, match="the result holds a set"):
        cw.jit(lambda x: {x}, fullgraph=True)(ones(1))


def test_row_34_numpy_inside_is_a_reason_and_no_baked_value() -> None:
    def fn(x: cw.Tensor) -> cw.Tensor:
        return x + cw.Tensor(np.sin(x.asnumpy()))

    run = cw.jit(fn)
    with pytest.warns(JitWarning, match=r"rows_code\.py:\d+: .* used as a NumPy array; use Cell"):
        run(ones(2))
    for value in (2.0, 3.0):
        close(run(ones(2) * value), fn(ones(2) * value))
    with pytest.raises(JitError, match="NumPy array"):
        cw.jit(fn, fullgraph=True)(ones(2))


# ---- errors ----------------------------------------------------------------------------------


def undefined(x: cw.Tensor) -> cw.Tensor:
    return x + a_name_that_is_not_there  # noqa: F821 # pyright: ignore[reportUndefinedVariable]


EMPTY = types.SimpleNamespace()


def endless(x: cw.Tensor) -> cw.Tensor:
    return endless(x) + 1


@pytest.mark.parametrize(
    ("fn", "error", "message", "hint"),
    [
        (undefined, NameError, "'a_name_that_is_not_there' is not defined", "define it before"),
        (lambda x: x + EMPTY.y, AttributeError, "has no attribute 'y'", "set it before the call"),
        (endless, RecursionError, "recursion depth", "needs an end"),
        (lambda x: x + object(), TypeError, "not object", ""),
        (lambda x: x @ ones(3, 3), ValueError, "matmul: input .2. and other .3, 3. do not fit", ""),
    ],
    ids=["name", "attribute", "recursion", "type", "shape"],
)
def test_row_35_errors_keep_their_class_and_say_where(
    fn: Callable[..., Any], error: type[Exception], message: str, hint: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        cw.jit(fn)(ones(2))
    (note,) = caught.value.__notes__
    assert re.search(rf"while .* was compiled, at .*test_jit_rows_code\.py:\d+.*{hint}", note)


def test_row_35_code_without_a_file_compiles() -> None:
    scope: dict[str, Any] = {}
    exec("def doubled(x): return x * 2", scope)
    assert cw.jit(scope["doubled"], fullgraph=True)(ones(1)).item() == 2


def test_row_36_classes_of_errors() -> None:
    assert issubclass(JitError, RuntimeError)
    with pytest.raises(TypeError, match="jit compiles functions and Cells, not int"):
        cw.jit(3)
    with pytest.raises(ValueError, match="reshape"):
        cw.jit(lambda x: x.reshape(5, 5))(ones(2))
    with pytest.raises(ZeroDivisionError):
        cw.jit(lambda x, n: x * (1 / n))(ones(2), 0)


# ---- effects ---------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["jit", "graph mode"])
def test_row_37_writes_keep_their_order_and_wait_for_success(how: str) -> None:
    class Counter(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.total = cw.Parameter([0.0, 0.0], requires_grad=False)

        def construct(self, x: cw.Tensor, width: int) -> cw.Tensor:
            ops.assign(self.total, x)
            before = self.total * 2
            self.total.set_data(before + x)
            return (before + self.total).reshape(width)

    net = Counter()
    run: Any = cw.jit(net, fullgraph=True) if how == "jit" else net
    cw.set_context(mode=cw.PYNATIVE_MODE if how == "jit" else cw.GRAPH_MODE)
    try:
        assert run(ones(2), 2).tolist() == [5, 5]
        assert net.total.tolist() == [3, 3]
        with pytest.raises(ValueError, match="reshape"):
            run(ones(2) * 7, 3)
        assert net.total.tolist() == [3, 3]
    finally:
        cw.set_context(mode=cw.PYNATIVE_MODE)


def test_row_37_attributes_are_set_each_time() -> None:
    class Keeps(nn.Cell):
        last: Any = None

        def construct(self, x: cw.Tensor) -> cw.Tensor:
            self.last = x.sum()
            return x

    net = Keeps()
    run = cw.jit(net, fullgraph=True)
    for size in (2, 3, 2):
        run(ones(size))
        assert net.last.item() == size


def test_row_38_prints_come_at_each_call_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    def fn(x: cw.Tensor) -> cw.Tensor:
        print("first", x)
        y = x * 2
        ops.Print()("second", y)
        return y

    run = cw.jit(fn, fullgraph=True)
    run(cw.Tensor([1.0]))
    run(cw.Tensor([3.0]))
    text = capsys.readouterr().out
    places = [text.index(part) for part in ("first [1.]", "second", "first [3.]")]
    assert places == sorted(places)
    assert text.count("Tensor(shape=[1], dtype=Float32") == 2


def test_row_39_fused_code_equals_eager_and_launches_less() -> None:
    def fn(x: cw.Tensor) -> cw.Tensor:
        y = ops.tanh(x * 2 + 1)
        return ops.softmax(y * ops.sigmoid(x))

    x = drawn(16, 32)
    close(cw.jit(fn, fullgraph=True)(x), fn(x))
    report = cw.jit.explain(fn)(x).report
    assert len(report.kernels) == report.native_runs == 1
    assert {"tanh", "sigmoid", "exp"} <= set(report.kernels[0].ops)


def test_row_60_the_articles_shapes_have_a_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parent.parent))
    blocks = importlib.import_module("benchmarks.mlp_blocks")
    monkeypatch.setattr(blocks, "BLOCKS", 2)
    forward = blocks.cellwire_forward(blocks.make_weights(np.random.default_rng(0)))
    x, y = (drawn(blocks.BATCH, blocks.WIDTH, seed=seed) for seed in range(2))
    close(cw.jit(forward, fullgraph=True)(x, y), forward(x, y))
    report = cw.jit.explain(forward)(x, y).report
    assert report.native_runs == 1
    assert len(report.kernels) < 4 * blocks.BLOCKS  # fewer than the ops, many and small
