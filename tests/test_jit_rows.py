"""``jit`` and graph mode, row by row: how it is called and when it compiles again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops
from cellwire.engine.compiler import making

F32 = np.float32
Traces = list[Any]


def ones(*shape: int) -> cw.Tensor:
    return cw.Tensor(np.ones(shape, F32))


def drawn(*shape: int, seed: int = 0) -> cw.Tensor:
    return cw.Tensor(np.random.default_rng(seed).normal(size=shape).astype(F32))


def close(a: Any, b: Any, rtol: float = 1e-4) -> None:
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=rtol, atol=1e-5)


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> Traces:
    """One item for each time that code is traced."""
    found: Traces = []
    plain = making.trace

    def counted(*args: Any, **kwargs: Any) -> Any:
        found.append(args)
        return plain(*args, **kwargs)

    monkeypatch.setattr(making, "trace", counted)
    return found


@pytest.fixture
def graph_mode() -> Iterator[None]:
    cw.set_context(mode=cw.GRAPH_MODE)
    yield
    cw.set_context(mode=cw.PYNATIVE_MODE)


class Net(nn.Cell):
    """Two layers with a setting."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Dense(4, 3), nn.Dense(3, 1)
        self.scale = 2.0

    def construct(self, x: cw.Tensor) -> cw.Tensor:
        return self.second(ops.relu(self.first(x))) * self.scale


# ---- how it is called ------------------------------------------------------------------------


def test_row_26_ms_function_is_another_name() -> None:
    assert cw.ms_function is cw.jit

    @cw.ms_function
    def doubled(x: cw.Tensor) -> cw.Tensor:
        return x * 2

    assert doubled(ones(2)).tolist() == [2, 2]


@pytest.mark.parametrize(
    "options",
    [
        {"capture_mode": "ast", "jit_level": "O0", "dynamic": 0, "fullgraph": True, "backend": ""},
        {"capture_mode": "bytecode", "jit_level": "O1", "dynamic": 1, "backend": "ms_backend"},
        {"capture_mode": "trace", "backend": "GE", "exec_order": "dfs", "infer_boost": "off"},
        {"mode": "PSJit", "hash_args": None, "jit_config": None, "compile_once": True},
        {"mode": "PIJit", "input_signature": cw.TensorSpec([None, 3])},
    ],
)
def test_row_27_options_of_both_eras_are_taken(options: dict[str, Any]) -> None:
    assert cw.jit(lambda x: x + 1, **options)(ones(2, 3)).tolist() == [[2, 2, 2]] * 2


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ({"capture_mode": "magic"}, ValueError),
        ({"jit_level": "O9"}, ValueError),
        ({"dynamic": 2}, ValueError),
        ({"dynamic": True}, ValueError),
        ({"backend": "torch"}, ValueError),
        ({"mode": "JIT"}, ValueError),
        ({"fullgraph": 1}, TypeError),
        ({"compile_once": "yes"}, TypeError),
        ({"speed": 3}, TypeError),
    ],
)
def test_row_27_wrong_values_are_refused(option: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=f"^jit.*{next(iter(option))}"):
        cw.jit(lambda x: x, **option)


def test_row_27_an_input_signature_is_honoured() -> None:
    spec = cw.Tensor(shape=[None, 4], dtype=cw.float32)
    fn = cw.jit(lambda x: x * 2, input_signature=(spec,))
    assert fn(ones(7, 4)).shape == (7, 4)
    for wrong in (ones(7, 5), ones(4), cw.Tensor(np.ones((7, 4), np.int32))):
        with pytest.raises(ValueError, match=r"argument 0 is .*, input_signature says N×4 f32"):
            fn(wrong)


def _forms() -> dict[str, Callable[[Net], Callable[..., Any]]]:
    def decorated(net: Net) -> Callable[..., Any]:
        @cw.jit(fullgraph=True)
        def call(x: cw.Tensor) -> cw.Tensor:
            return net(x)

        return call

    def nested(net: Net) -> Callable[..., Any]:
        def outer(x: cw.Tensor) -> cw.Tensor:
            def inner(y: cw.Tensor) -> cw.Tensor:
                return net(y) + 0 * x.sum()

            return inner(x)

        return cw.jit(outer, fullgraph=True)

    def of_class(net: Net) -> Callable[..., Any]:
        made = cw.jit(Net)()
        cw.load_param_into_net(made, net.parameters_dict())
        return made

    class WithMethod:
        def __init__(self, net: Net) -> None:
            self.net = net

        @cw.jit(fullgraph=True)
        def run(self, x: cw.Tensor) -> cw.Tensor:
            return self.net(x)

    class Decorated(Net):
        @cw.jit(fullgraph=True)
        def construct(self, x: cw.Tensor) -> cw.Tensor:
            return super().construct(x)

    def of_construct(net: Net) -> Callable[..., Any]:
        made = Decorated()
        cw.load_param_into_net(made, net.parameters_dict())
        return made

    return {
        "decorator": decorated,
        "function": lambda net: cw.jit(lambda x: net(x) * 1, fullgraph=True),
        "cell": lambda net: cw.jit(net, fullgraph=True),
        "bound construct": lambda net: cw.jit(net.construct, fullgraph=True),
        "method": lambda net: WithMethod(net).run,
        "nested": nested,
        "class": of_class,
        "construct": of_construct,
    }


@pytest.mark.parametrize("form", list(_forms()))
def test_row_28_every_form_gives_what_eager_gives(form: str) -> None:
    net, x = Net(), drawn(5, 4)
    compiled = _forms()[form](net)
    for _ in range(2):
        close(compiled(x), net(x))
    slopes = cw.grad(lambda x: compiled(x).sum())(x), cw.grad(lambda x: net(x).sum())(x)
    close(*slopes)


def test_row_28_gradient_and_optimizer_inside() -> None:
    nets = Net(), Net()
    cw.load_param_into_net(nets[1], nets[0].parameters_dict())
    losses: list[list[float]] = []
    for net, wrap in zip(nets, (lambda f: f, lambda f: cw.jit(f, fullgraph=True)), strict=True):
        optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)
        derive = cw.value_and_grad(lambda x: (net(x) ** 2).mean(), None, optimizer.parameters)  # noqa: B023

        def step(x: cw.Tensor) -> cw.Tensor:
            loss, grads = derive(x)  # noqa: B023
            optimizer(grads)  # noqa: B023
            return loss

        run = wrap(step)
        losses.append([run(drawn(6, 4, seed=n)).item() for n in range(4)])
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-3)


# ---- when it is compiled again ---------------------------------------------------------------


def test_row_29_what_tells_two_calls_apart(traces: Traces) -> None:
    fn = cw.jit(lambda x, n, names: x * n + len(names), fullgraph=True)
    x = ones(2, 3)
    for call in ((x, 2, ("a",)), (x, 3, ("a",)), (x, 2, ("a", "b")), (x.astype(cw.float64), 2, ())):
        before = len(traces)
        for _ in range(3):
            close(fn(*call), call[0] * call[1] + len(call[2]))
        assert len(traces) == before + 1
    values = cw.jit(lambda parts: parts[0] * parts[1], fullgraph=True)
    before = len(traces)
    for factor in (0.5, 0.25, 4.0, 8.0):
        assert values(cw.mutable([ones(1), factor])).item() == factor
    assert len(traces) == before + 2  # by value, then as an input


def test_row_29_two_parameters_are_two_calls() -> None:
    fn = cw.jit(lambda x, w: x * w, fullgraph=True)
    first, second = cw.Parameter([2.0]), cw.Parameter([5.0])
    assert [fn(ones(1), w).item() for w in (first, second, first)] == [2, 5, 2]


RATE = 2.0


@pytest.mark.parametrize("how", ["jit", "graph mode"])
def test_row_30_nothing_read_from_outside_is_stale(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Scaled(nn.Cell):
        factors: Any = {"x": 3.0}  # noqa: RUF012

        def construct(self, x: cw.Tensor) -> cw.Tensor:
            return x * RATE * self.factors["x"]

    net = Scaled()
    run: Any = cw.jit(net, fullgraph=True) if how == "jit" else net
    cw.set_context(mode=cw.PYNATIVE_MODE if how == "jit" else cw.GRAPH_MODE)
    try:
        assert run(ones(1)).item() == 6
        monkeypatch.setitem(globals(), "RATE", 5.0)
        assert run(ones(1)).item() == 15
        net.factors["x"] = 1.0
        assert run(ones(1)).item() == 5
        net.factors = {"x": 7.0}
        assert run(ones(1)).item() == 35
    finally:
        cw.set_context(mode=cw.PYNATIVE_MODE)


# ---- shapes that vary ------------------------------------------------------------------------


def weighed(x: cw.Tensor) -> cw.Tensor:
    scores = ops.softmax(ops.matmul(x, x.transpose(0, 2, 1)))
    return ops.matmul(scores, x).reshape(x.shape[0], -1) + x.shape[1] * 0


@cw.enable_dynamic(x=cw.Tensor(shape=[None, None, 4], dtype=cw.float32))
def declared(x: cw.Tensor) -> cw.Tensor:
    return weighed(x)


def test_row_31_a_second_size_opens_the_axis(traces: Traces) -> None:
    fn = cw.jit(weighed, fullgraph=True)
    for batch, length in ((2, 5), (2, 7), (3, 4), (4, 9), (2, 6)):
        x = drawn(batch, length, 4, seed=length)
        close(fn(x), weighed(x))
    assert len(traces) == 3  # 2 x 5, 2 x any, any x any


@pytest.mark.parametrize(
    "declare",
    [
        lambda: cw.jit(weighed, dynamic=1, fullgraph=True),
        lambda: cw.jit(weighed, input_signature=cw.TensorSpec([None, None, 4]), fullgraph=True),
        lambda: cw.jit(declared, fullgraph=True),
    ],
    ids=["dynamic", "input_signature", "enable_dynamic"],
)
def test_row_31_declared_sizes_are_traced_once(declare: Callable[[], Any], traces: Traces) -> None:
    fn = declare()
    for batch, length in ((2, 5), (3, 7), (4, 9)):
        x = drawn(batch, length, 4)
        close(fn(x), weighed(x))
    assert len(traces) == 1


def test_row_31_set_inputs_opens_sizes_in_graph_mode(traces: Traces, graph_mode: None) -> None:
    net = nn.SequentialCell(nn.Dense(4, 3), nn.ReLU())
    net.set_inputs(cw.Tensor(shape=[None, 4], dtype=cw.float32))
    for batch in (3, 5, 8):
        x = drawn(batch, 4)
        wanted = np.maximum(x.data @ net[0].weight.data.T + net[0].bias.data, 0)
        np.testing.assert_allclose(net(x).data, wanted, rtol=1e-4, atol=1e-5)
    assert len(traces) == 1
    with pytest.raises(ValueError, match="input_signature says N×4"):
        net(ones(2, 5))


@pytest.mark.parametrize(
    "specs",
    [{}, {"y": cw.TensorSpec([None])}, {"x": 3}],
    ids=["nothing", "unknown name", "no spec"],
)
def test_row_31_enable_dynamic_checks_what_it_is_given(specs: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match="enable_dynamic"):
        cw.enable_dynamic(**specs)(lambda x: x)


def asks(x: cw.Tensor) -> Any:
    return x * 2 if x.shape[0] > 6 else x + 1


TABLE = {5: 2.0, 7: 3.0}


@pytest.mark.parametrize(
    "fn",
    [
        asks,
        lambda x: x * 2 if x.shape == (7,) else x,
        lambda x: x * TABLE.get(x.shape[0], 1.0),
        lambda x: x * int(f"{x.shape[0]}"),
        lambda x: x * (2 if isinstance(x.shape[0], int) else 3),
        lambda x: x / x.shape[0],
        lambda x: x * len(x),
        lambda x: sum([x[i] for i in range(x.shape[0])]),
        lambda x: x * (2 if x.sum() > 6 else 3),
        lambda x: x * float(np.sqrt(x.shape[0])),
        lambda x: ops.ones((x.shape[0] // 2,)),
        lambda x: x * max(x.shape[0], 6),
        lambda x: x.reshape(x.shape[0], 1) + x,
    ],
)
def test_row_31_what_code_asks_of_sizes_is_answered_for_each(fn: Callable[..., Any]) -> None:
    run = cw.jit(fn, fullgraph=True)
    for size in (5, 7, 6, 9, 1, 7, 5, 2):
        close(run(ones(size)), fn(ones(size)))


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x[3],
        lambda x: x.narrow(0, 2, 2),
        lambda x: x.reshape(-1, 2),
        lambda x: ops.slice(x, (1,), (3,)),
        lambda x: ops.topk(x, 4)[0],
    ],
)
def test_row_31_sizes_that_do_not_fit_are_errors_at_each_call(fn: Callable[..., Any]) -> None:
    run = cw.jit(fn, fullgraph=True)
    for size in (6, 8, 10, 3, 6, 1, 8):
        x = ones(size)
        try:
            wanted = fn(x)
        except (ValueError, IndexError) as error:
            with pytest.raises(type(error)):
                run(x)
        else:
            close(run(x), wanted)


def test_row_31_sizes_may_be_computed_with(traces: Traces) -> None:
    def fn(x: cw.Tensor) -> cw.Tensor:
        half = ops.zeros((x.shape[0], x.shape[1] // 2))
        return x.sum(1) / x.shape[1] + half.sum(1) + ops.sqrt(x.mean()) * x.shape[0]

    derive = cw.jit(cw.value_and_grad(lambda x: fn(x).sum()), fullgraph=True)
    for rows, columns in ((3, 4), (5, 6), (2, 8)):
        x = ones(rows, columns) * 2
        value, slope = derive(x)
        close(value, fn(x).sum())
        close(slope, cw.grad(lambda x: fn(x).sum())(x))
    assert len(traces) == 2


def test_row_31_the_number_of_plans_is_bounded() -> None:
    fn = cw.jit(lambda x: x + 1)
    for size in range(1, 80):
        fn(ones(size))
    assert len(fn.situations) == 64
    assert fn(ones(79)).shape == (79,)


def test_sizes_that_open_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    fn = cw.jit(ops.exp)
    with caplog.at_level(logging.INFO, "cellwire.jit"):
        fn(ones(2, 3))
        fn(ones(2, 5))
    assert "axis 1 of input 0 was 3, now 5: it is open from here on" in caplog.text
