"""Mixed precision: which parts compute in which type, and how losses are scaled."""

from __future__ import annotations

import copy
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import amp, nn, ops
from cellwire.engine.amp.lists import AUTO_BLACK, AUTO_WHITE
from cellwire.engine.ops.registry import OPS

X = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
Y = np.array([0, 1, 2, 0, 1, 2], np.int32)


class Net(nn.Cell):
    """A white Cell, a black Cell, and ops of both lists."""

    def __init__(self) -> None:
        super().__init__()
        cw.set_seed(3)
        self.dense = nn.Dense(4, 5)
        self.norm = nn.LayerNorm((5,))
        self.weight = cw.Parameter(np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3), "weight")

    def construct(self, x: Any) -> Any:
        hidden = self.norm(self.dense(x))
        product = ops.matmul(hidden, self.weight)
        return product, ops.exp(product)


def types_in(net: nn.Cell) -> dict[str, str]:
    """The types of the parts' results, seen by hooks."""
    found: dict[str, str] = {}

    def note(name: str) -> Any:
        def hook(cell: Any, args: Any, output: Any) -> None:
            found[name] = output.dtype.short

        return hook

    handles = [net.dense.register_forward_hook(note("dense")),
               net.norm.register_forward_hook(note("norm"))]  # fmt: skip
    product, exp = net(cw.Tensor(X))
    for handle in handles:
        handle.remove()
    return {**found, "product": product.dtype.short, "exp": exp.dtype.short}


@pytest.mark.parametrize(("dtype", "low"), [(cw.float16, "f16"), (cw.bfloat16, "bf16")])
def test_row_41_levels_decide_what_computes_low(dtype: Any, low: str) -> None:
    def at(level: str) -> dict[str, str]:
        return types_in(amp.auto_mixed_precision(Net(), level, dtype))

    high = {"dense": "f32", "norm": "f32", "product": "f32", "exp": "f32"}
    assert at("O0") == high
    assert at("O1") == high  # what is white computes low inside, and gives float32
    assert at("auto") == {"dense": low, "norm": "f32", "product": low, "exp": "f32"}
    for level in ("O2", "O3"):  # the outputs are float32 again
        assert at(level) == {"dense": low, "norm": low, "product": "f32", "exp": "f32"}


def test_row_41_values_are_those_of_the_lists() -> None:
    plain = Net()
    plain(cw.Tensor(X))  # NumPy's, whose last digits differ from those of the kernel made next
    exact = [t.asnumpy() for t in plain(cw.Tensor(X))]

    def rounded(a: np.ndarray) -> np.ndarray:
        return a.astype(np.float16)

    weight, bias = plain.dense.weight.data, plain.dense.bias.data
    low = (rounded(X).astype(np.float32) @ rounded(weight).astype(np.float32).T) + rounded(bias)
    hidden = rounded(plain.norm(cw.Tensor(rounded(low).astype(np.float32))).asnumpy())
    product = hidden.astype(np.float32) @ rounded(plain.weight.data).astype(np.float32)
    for level in ("O1", "O2", "auto"):
        found = amp.auto_mixed_precision(Net(), level)(cw.Tensor(X))[0].asnumpy()
        np.testing.assert_allclose(found, product, rtol=4e-3, atol=4e-3)
        assert not np.array_equal(found, exact[0])
    again = amp.auto_mixed_precision(Net(), "O0")(cw.Tensor(X))[0].asnumpy()
    np.testing.assert_array_equal(again, exact[0])


@pytest.mark.parametrize("level", ["O1", "O2", "O3", "auto"])
def test_gradients_are_float32_and_compile(level: str) -> None:
    net = amp.auto_mixed_precision(Net(), level)
    derived = cw.value_and_grad(lambda x: ops.sum(net(x)[0]), None, net.trainable_params())
    value, grads = derived(cw.Tensor(X))
    compiled_value, compiled = cw.jit(derived, fullgraph=True)(cw.Tensor(X))
    plain = Net()
    _, exact = cw.value_and_grad(lambda x: ops.sum(plain(x)[0]), None, plain.trainable_params())(
        cw.Tensor(X)
    )
    np.testing.assert_allclose(float(value), float(compiled_value), rtol=2e-2, atol=2e-2)
    for grad, other, near in zip(grads, compiled, exact, strict=True):
        assert grad.dtype is cw.float32
        np.testing.assert_allclose(grad.asnumpy(), other.asnumpy(), rtol=2e-2, atol=2e-2)
        np.testing.assert_allclose(grad.asnumpy(), near.asnumpy(), rtol=5e-2, atol=5e-2)


def test_parameters_keep_their_names_type_and_identity() -> None:
    net = Net()
    before = dict(net.parameters_and_names())
    amp.auto_mixed_precision(net, "O2")
    amp.auto_mixed_precision(net, "auto")
    after = dict(net.parameters_and_names())
    assert list(before) == list(after)
    assert all(before[name] is after[name] for name in before)
    assert all(param.dtype is cw.float32 for param in after.values())
    assert isinstance(net, Net)
    twin = copy.deepcopy(net)
    np.testing.assert_array_equal(twin(cw.Tensor(X))[0].asnumpy(), net(cw.Tensor(X))[0].asnumpy())


def test_lists_name_what_there_is() -> None:
    assert len(amp.get_white_list()) == len(set(amp.get_white_list())) >= 18
    assert cw.nn.LayerNorm in amp.get_black_list()
    assert set(OPS) >= AUTO_WHITE | AUTO_BLACK
    assert not AUTO_WHITE & AUTO_BLACK


def test_lists_of_ones_own() -> None:
    white = amp.custom_mixed_precision(Net(), white_list=[ops.MatMul])
    assert types_in(white) == dict.fromkeys(("dense", "norm", "product", "exp"), "f32")
    exact, cast = Net()(cw.Tensor(X))[0].asnumpy(), white(cw.Tensor(X))[0].asnumpy()
    assert not np.array_equal(exact, cast)
    np.testing.assert_allclose(exact, cast, rtol=1e-2, atol=1e-2)
    black = amp.custom_mixed_precision(Net(), black_list=[nn.Dense, ops.Exp], dtype=cw.bfloat16)
    assert types_in(black) == dict.fromkeys(("dense", "norm", "product", "exp"), "bf16")
    assert nn.Dense in amp.get_white_list()
    assert nn.LayerNorm in amp.get_black_list()
    amp.get_white_list().clear()
    assert amp.get_white_list()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: amp.auto_mixed_precision(Net(), "O4"), ValueError),
        (lambda: amp.auto_mixed_precision(Net(), "O2", cw.float32), ValueError),
        (lambda: amp.auto_mixed_precision(lambda x: x, "O2"), TypeError),
        (lambda: amp.custom_mixed_precision(Net()), ValueError),
        (lambda: amp.custom_mixed_precision(Net(), white_list=[np.exp]), TypeError),
        (lambda: amp.StaticLossScaler(0.5), ValueError),
        (lambda: amp.DynamicLossScaler(2, 0, 10), ValueError),
        (lambda: amp.all_finite([]), ValueError),
    ],
)
def test_mistakes_are_named(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def optimizer_of(net: nn.Cell) -> nn.Optimizer:
    return nn.SGD(net.trainable_params(), 0.1)


class Logits(Net):
    def construct(self, x: Any) -> Any:
        return super().construct(x)[0]


@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3", "auto"])
def test_row_42_a_training_network_runs_on_the_cpu(level: str) -> None:
    net = Logits()
    train = amp.build_train_network(net, optimizer_of(net), nn.CrossEntropyLoss(), level)
    results = [train(cw.Tensor(X), cw.Tensor(Y)) for _ in range(30)]
    if level == "O2":  # whose scale begins at 2 ** 24 and moves
        assert all(len(result) == 3 for result in results)
        assert bool(results[0][1])
        assert float(results[-1][2]) < 2.0**24
        results = [result[0] for result in results]
    losses = [float(result) for result in results]
    assert losses[-1] < losses[0] * 0.8


def test_row_42_without_a_loss_the_network_gives_it() -> None:
    class Whole(Net):
        def construct(self, x: Any) -> Any:
            return ops.mean(ops.square(super().construct(x)[0]))

    net = Whole()
    train = amp.build_train_network(
        net, optimizer_of(net), level="O1", loss_scale_manager=amp.FixedLossScaleManager(64.0)
    )
    losses = [float(train(cw.Tensor(X))[0]) for _ in range(5)]
    assert losses[-1] < losses[0]
    with pytest.raises(ValueError, match="level"):
        amp.build_train_network(net, optimizer_of(net), level="O9")
    with pytest.raises(ValueError, match="option"):
        amp.build_train_network(net, optimizer_of(net), speed=1)


def test_row_43_scalers_scale_unscale_and_adjust() -> None:
    scaler = amp.DynamicLossScaler(scale_value=8, scale_factor=2, scale_window=3)
    assert float(scaler.scale(cw.Tensor(2.0))) == 16.0
    first, (second,) = scaler.unscale((cw.Tensor([8.0]), [cw.Tensor([16.0], cw.float16)]))
    assert float(first) == 1.0
    assert float(second) == 2.0
    assert second.dtype is cw.float16
    yes, no = cw.Tensor(True), cw.Tensor(False)
    seen = []
    for finite in (yes, yes, yes, no, yes, no, no, no, no):
        assert scaler.adjust(finite) is True
        seen.append(float(scaler.scale_value))
    assert seen == [8, 8, 16, 8, 8, 4, 2, 1, 1]
    static = amp.StaticLossScaler(4)
    assert static.adjust(no) is False
    assert float(static.unscale(static.scale(cw.Tensor(3.0)))) == 3.0


@pytest.mark.parametrize("dtype", [cw.float16, cw.bfloat16, cw.float64])
def test_scales_may_lie_outside_of_what_float16_holds(dtype: Any) -> None:
    values = np.array([2.0**-10, -(2.0**-12)], np.float32)
    scaler = amp.DynamicLossScaler(2.0**17, 2, 10)
    scaled = scaler.scale(cw.Tensor(values, dtype))
    assert scaled.dtype is dtype
    np.testing.assert_array_equal(scaled.astype(cw.float32).asnumpy(), values * 2**17)
    scaler = amp.DynamicLossScaler(2.0**26, 2, 10)
    back = scaler.unscale(cw.Tensor(values * 2**20, dtype))
    assert back.dtype is dtype
    np.testing.assert_array_equal(back.astype(cw.float32).asnumpy(), values / 2**6)


@pytest.mark.parametrize("compiled", [False, True])
def test_row_43_a_step_that_overflows_is_left_out(compiled: bool) -> None:
    net = amp.auto_mixed_precision(Logits(), "O2")
    optimizer = optimizer_of(net)
    scaler = amp.DynamicLossScaler(scale_value=2**20, scale_factor=16, scale_window=1000)
    loss_fn = nn.CrossEntropyLoss()

    def forward(x: Any, y: Any) -> Any:
        loss = loss_fn(net(x), y)
        return scaler.scale(loss), loss

    derived = cw.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

    def step(x: Any, y: Any) -> Any:
        (_, loss), grads = derived(x, y)
        grads = scaler.unscale(grads)
        is_finite = amp.all_finite(grads)
        if is_finite:
            optimizer(grads)
        scaler.adjust(is_finite)
        return loss

    run = cw.jit(step, fullgraph=True) if compiled else step
    held = net.weight.asnumpy().copy()
    losses = [float(run(cw.Tensor(X), cw.Tensor(Y)))]
    assert np.array_equal(held, net.weight.asnumpy())
    assert float(scaler.scale_value) == 2**16
    losses += [float(run(cw.Tensor(X), cw.Tensor(Y))) for _ in range(20)]
    assert 0 < int(optimizer.global_step) < 21
    assert losses[-1] < losses[0]
    assert np.isfinite(net.weight.asnumpy()).all()


def test_managers_move_their_scale() -> None:
    manager = amp.DynamicLossScaleManager(8, 2, 2)
    seen = []
    for overflow in (False, False, True, True, True, True, True):
        manager.update_loss_scale(overflow)
        seen.append(manager.get_loss_scale())
    assert seen == [8, 16, 8, 4, 2, 1, 1]
    fixed = amp.FixedLossScaleManager(32.0, drop_overflow_update=False)
    fixed.update_loss_scale(True)
    assert fixed.get_loss_scale() == 32.0
    assert fixed.get_update_cell() is None
    assert isinstance(manager.get_update_cell(), nn.DynamicLossScaleUpdateCell)


def test_infinities_and_nan_are_found() -> None:
    good, bad = cw.Tensor(X), cw.Tensor(np.array([1, np.nan], np.float16))
    assert bool(amp.all_finite([good, cw.Tensor([1.0], cw.float16)], amp.init_status()))
    assert not bool(amp.all_finite((good, bad)))
    assert not bool(amp.all_finite(cw.Tensor([np.inf])))


@pytest.mark.parametrize("dtype", [cw.float16, cw.bfloat16])
def test_complaint_15_compiled_code_rounds_where_eager_code_does(dtype: Any) -> None:
    def chain(x: Any, y: Any) -> Any:
        z = ops.mul(ops.add(x, y), y)
        z = ops.sub(z, ops.mul(x, x))
        return ops.div(z, ops.add(ops.abs(y), 1.0))

    rng = np.random.default_rng(5)
    x, y = (cw.Tensor(rng.standard_normal(500).astype(np.float32)).astype(dtype) for _ in "xy")
    eager, compiled = chain(x, y), cw.jit(chain, fullgraph=True)(x, y)
    assert compiled.dtype is dtype
    np.testing.assert_array_equal(
        eager.asnumpy().astype(np.float32), compiled.asnumpy().astype(np.float32)
    )


@pytest.mark.parametrize("level", ["O1", "auto"])
def test_hooks_and_gradients_of_ones_own_run_once(level: str) -> None:
    class Doubling(nn.Cell):
        def construct(self, x: Any) -> Any:
            return ops.exp(x)

        def bprop(self, x: Any, out: Any, dout: Any) -> Any:
            return (dout * out * 2.0,)

    class Hooked(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            cw.set_seed(6)
            self.dense = nn.Dense(4, 3)
            self.own = Doubling()

        def construct(self, x: Any) -> Any:
            return ops.sum(self.own(self.dense(x)))

    found = []
    for chosen in ("O0", level):
        net, calls = amp.auto_mixed_precision(Hooked(), chosen), []
        net.dense.register_backward_hook(lambda *given, c=calls: c.append(len(given)))
        grad = cw.grad(net)(cw.Tensor(X))
        assert calls == [3]
        found.append(grad.asnumpy())
    np.testing.assert_allclose(found[0], found[1], rtol=2e-2, atol=2e-2)


class Recomputed(Net):
    """A network one block of which is computed again on the way back; it tells its types."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def block(self, x: Any) -> Any:
        hidden = self.dense(x)
        self.seen.append(hidden.dtype.short)
        return hidden

    def construct(self, x: Any) -> Any:
        return ops.matmul(self.norm(cw.recompute(self.block, x)), self.weight).sum()


def test_a_block_is_recomputed_in_the_types_it_had() -> None:
    net = amp.auto_mixed_precision(Recomputed(), "auto")
    gradients = cw.grad(net, None, net.trainable_params())(cw.Tensor(X))
    assert isinstance(net, Recomputed)
    assert net.seen == ["f16", "f16"]
    assert {g.dtype.short for g in gradients} == {"f32"}


def written(x: cw.Tensor) -> cw.Tensor:
    """Assign parts: numbers, a view's sum, where a mask holds."""
    marks = ops.zeros(3)
    marks[0] = 5.0
    marks[1:] += 1
    copy = x * 1
    copy[0] = 9.0
    copy[:, 1] = marks[0]
    return copy + marks


def chosen(x: cw.Tensor) -> cw.Tensor:
    """Branch and loop by values."""
    once = ops.cond(x.sum() > 0, lambda a: ops.matmul(a, a.T), lambda a: ops.matmul(-a, a.T), x)
    return ops.while_loop(lambda a: a.sum() < 100, lambda a: a + a, ops.cast(once, cw.float32))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("function", [written, chosen])
def test_casts_are_no_trace_of_their_own(function: Any, compiled: bool) -> None:
    class Calls(nn.Cell):
        def construct(self, x: cw.Tensor) -> cw.Tensor:
            return function(x)

    x = cw.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    plain, cast = (
        cw.value_and_grad(Calls()),
        cw.value_and_grad(amp.auto_mixed_precision(Calls(), "auto")),
    )
    if compiled:
        cast = cw.jit(cast, fullgraph=True)
    for found, expected in zip(cast(x), plain(x), strict=True):
        np.testing.assert_array_equal(found.asnumpy(), expected.asnumpy())


def test_branches_cast_as_what_is_around_them() -> None:
    class Chooses(nn.Cell):
        def construct(self, x: cw.Tensor) -> cw.Tensor:
            return ops.cond(x.sum() > 0, lambda a: ops.matmul(a, a.T), lambda a: -a @ a.T, x)

    net = amp.auto_mixed_precision(Chooses(), "auto")
    eager, compiled = net(cw.Tensor(X)), cw.jit(net, fullgraph=True)(cw.Tensor(X))
    assert eager.dtype is compiled.dtype is cw.float16
    np.testing.assert_allclose(eager.asnumpy(), compiled.asnumpy(), rtol=1e-2)


def test_shapes_that_depend_on_values_are_computed_under_casts() -> None:
    class Picks(nn.Cell):
        def construct(self, x: cw.Tensor) -> Any:
            return ops.nonzero(x > 3), ops.masked_select(x, x > 3), ops.unique(x)[0], x[x > 3]

    x = cw.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    for found, expected in zip(
        amp.auto_mixed_precision(Picks(), "auto")(x), Picks()(x), strict=True
    ):
        np.testing.assert_array_equal(found.asnumpy(), expected.asnumpy())
