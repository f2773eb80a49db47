"""Six blocks of add, layer norm, dense and ReLU: forward and training; one wide layer."""

from __future__ import annotations

from typing import Any

import cellwire as cw

from .frameworks import beside_compiled, jax, jax_step, numbers, torch, torch_step
from .steps import cellwire_step
from .workload import Call, Workload

BLOCKS, WIDTH, BATCH = 6, 64, 32


class Net(cw.nn.Cell):
    """The blocks as a Cell."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = cw.nn.CellList(
            [cw.nn.LayerNorm((WIDTH,), epsilon=1e-5) for _ in range(BLOCKS)]
        )
        self.dense = cw.nn.CellList([cw.nn.Dense(WIDTH, WIDTH) for _ in range(BLOCKS)])

    def construct(self, x: Any, y: Any) -> Any:
        for norm, dense in zip(self.norms, self.dense, strict=True):
            x = cw.ops.relu(dense(norm(x + y)))
        return x


def _torch_net() -> Any:
    t = torch()

    class TorchNet(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norms = t.nn.ModuleList([t.nn.LayerNorm(WIDTH) for _ in range(BLOCKS)])
            self.dense = t.nn.ModuleList([t.nn.Linear(WIDTH, WIDTH) for _ in range(BLOCKS)])

        def forward(self, x: Any, y: Any) -> Any:
            for norm, dense in zip(self.norms, self.dense, strict=True):
                x = t.relu(dense(norm(x + y)))
            return x

    return TorchNet()


def _arrays() -> tuple[Any, ...]:
    return tuple(numbers(seed, BATCH, WIDTH) for seed in range(3))


def _forward_ours() -> Call:
    net = Net()
    run = cw.jit(net, fullgraph=True)
    x, y, _ = (cw.Tensor(a) for a in _arrays())
    return lambda: run(x, y)


def _forward_torch(compiled: bool) -> Call:
    t = torch()
    net = _torch_net()
    run = t.compile(net) if compiled else net
    x, y, _ = (t.from_numpy(a) for a in _arrays())

    def call() -> Any:
        with t.no_grad():
            return run(x, y)

    return call


def _jax_weights() -> list[Any]:
    rows = [
        (numbers(9, WIDTH) * 0 + 1, numbers(9, WIDTH) * 0, numbers(i, WIDTH, WIDTH, scale=0.1),
         numbers(i, WIDTH, scale=0.1))
        for i in range(BLOCKS)
    ]  # fmt: skip
    return [w for row in rows for w in row]


def _jax_forward(weights: Any, x: Any, y: Any) -> Any:
    j = jax()
    for i in range(0, len(weights), 4):
        scale, shift, weight, bias = weights[i : i + 4]
        h = x + y
        centred = h - h.mean(-1, keepdims=True)
        var = (centred * centred).mean(-1, keepdims=True)
        x = centred * j.lax.rsqrt(var + 1e-5) * scale + shift
        x = j.nn.relu(x @ weight.T + bias)
    return x


def _forward_jax() -> Call:
    j = jax()
    weights = [j.numpy.asarray(w) for w in _jax_weights()]
    x, y, _ = (j.numpy.asarray(a) for a in _arrays())
    run = j.jit(_jax_forward)
    return lambda: run(weights, x, y).block_until_ready()


def _train_ours() -> Call:
    net = Net()
    inputs = tuple(cw.Tensor(a) for a in _arrays())
    return cellwire_step(net, lambda x, y, t: cw.ops.mse_loss(net(x, y), t), "adam", inputs)


def _train_torch(compiled: bool) -> Call:
    t = torch()
    x, y, target = (t.from_numpy(a) for a in _arrays())
    mse = t.nn.functional.mse_loss
    return torch_step(_torch_net(), lambda net: mse(net(x, y), target), "adam", compiled)


def _train_jax() -> Call:
    x, y, target = (jax().numpy.asarray(a) for a in _arrays())
    return jax_step(
        lambda w: ((_jax_forward(w, x, y) - target) ** 2).mean(), _jax_weights(), "adam"
    )


WIDE = 1024


def _wide_ours() -> Call:
    net = cw.nn.Dense(WIDE, WIDE, activation="relu")
    x, target = (cw.Tensor(numbers(seed, BATCH, WIDE)) for seed in range(2))
    return cellwire_step(net, lambda x, t: cw.ops.mse_loss(net(x), t), "momentum", (x, target))


def _wide_torch(compiled: bool) -> Call:
    t = torch()
    x, target = (t.from_numpy(numbers(seed, BATCH, WIDE)) for seed in range(2))
    mse, relu = t.nn.functional.mse_loss, t.relu
    net = t.nn.Linear(WIDE, WIDE)
    return torch_step(net, lambda net: mse(relu(net(x)), target), "momentum", compiled)


def _wide_jax() -> Call:
    j = jax()
    x, target = (j.numpy.asarray(numbers(seed, BATCH, WIDE)) for seed in range(2))
    weights = [numbers(2, WIDE, WIDE, scale=0.03), numbers(3, WIDE, scale=0.03)]

    def loss(w: Any) -> Any:
        return ((j.nn.relu(x @ w[0].T + w[1]) - target) ** 2).mean()

    return jax_step(loss, weights, "momentum")


def _row(name: str, limit: float, ours: Any, of_torch: Any, of_jax: Any) -> Workload:
    return Workload(name, limit, beside_compiled(ours, of_torch, of_jax))


def workloads() -> list[Workload]:
    """Return the rows of this family."""
    return [
        _row("six-block MLP, forward", 0.7, _forward_ours, _forward_torch, _forward_jax),
        _row("six-block MLP, Adam step", 0.6, _train_ours, _train_torch, _train_jax),
        _row("Dense 1024, Momentum step", 0.9, _wide_ours, _wide_torch, _wide_jax),
    ]
