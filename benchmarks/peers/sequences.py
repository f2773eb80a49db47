"""A transformer encoder layer and an LSTM, one training step each."""

from __future__ import annotations

from typing import Any

import cellwire as cw

from .frameworks import beside, beside_compiled, jax, jax_step, numbers, torch, torch_step
from .steps import cellwire_step
from .workload import Call, Workload

BATCH, TOKENS, WIDTH, HEADS, INNER = 8, 64, 256, 4, 1024
STEPS, LSTM_BATCH, LSTM_IN, LSTM_OUT = 32, 16, 64, 128


def _tokens() -> tuple[Any, Any]:
    return numbers(0, BATCH, TOKENS, WIDTH), numbers(1, BATCH, TOKENS, WIDTH)


def _layer_ours() -> Call:
    net = cw.nn.TransformerEncoderLayer(
        WIDTH, HEADS, INNER, dropout=0.0, batch_first=True, norm_first=True
    )
    x, target = (cw.Tensor(a) for a in _tokens())
    return cellwire_step(net, lambda x, t: cw.ops.mse_loss(net(x), t), "adam", (x, target))


def _layer_torch(compiled: bool) -> Call:
    t = torch()
    net = t.nn.TransformerEncoderLayer(
        WIDTH, HEADS, INNER, dropout=0.0, batch_first=True, norm_first=True
    )
    x, target = (t.from_numpy(a) for a in _tokens())
    mse = t.nn.functional.mse_loss
    return torch_step(net, lambda net: mse(net(x), target), "adam", compiled)


def _layer_jax() -> Call:
    j = jax()
    np_ = j.numpy
    x, target = (np_.asarray(a) for a in _tokens())
    shapes = [(WIDTH,), (WIDTH,), (WIDTH, 3 * WIDTH), (3 * WIDTH,), (WIDTH, WIDTH), (WIDTH,),
              (WIDTH,), (WIDTH,), (WIDTH, INNER), (INNER,), (INNER, WIDTH), (WIDTH,)]  # fmt: skip
    weights = [numbers(i, *shape, scale=0.05) for i, shape in enumerate(shapes)]

    def norm(x: Any, scale: Any, shift: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        var = (centred * centred).mean(-1, keepdims=True)
        return centred * j.lax.rsqrt(var + 1e-5) * scale + shift

    def heads(x: Any) -> Any:
        return x.reshape(BATCH, TOKENS, HEADS, -1).transpose(0, 2, 1, 3)

    def loss(w: Any) -> Any:
        q, k, v = (heads(p) for p in np_.split(norm(x, w[0], w[1]) @ w[2] + w[3], 3, -1))
        share = j.nn.softmax(q @ k.swapaxes(-1, -2) * (WIDTH // HEADS) ** -0.5)
        mixed = (share @ v).transpose(0, 2, 1, 3).reshape(BATCH, TOKENS, WIDTH)
        h = x + mixed @ w[4] + w[5]
        h = h + j.nn.relu(norm(h, w[6], w[7]) @ w[8] + w[9]) @ w[10] + w[11]
        return ((h - target) ** 2).mean()

    return jax_step(loss, weights, "adam")


def _frames() -> tuple[Any, Any]:
    return numbers(0, STEPS, LSTM_BATCH, LSTM_IN), numbers(1, STEPS, LSTM_BATCH, LSTM_OUT)


def _lstm_ours() -> Call:
    net = cw.nn.LSTM(LSTM_IN, LSTM_OUT)
    x, target = (cw.Tensor(a) for a in _frames())
    return cellwire_step(net, lambda x, t: cw.ops.mse_loss(net(x)[0], t), "adam", (x, target))


def _lstm_torch() -> Call:
    t = torch()
    net = t.nn.LSTM(LSTM_IN, LSTM_OUT)
    x, target = (t.from_numpy(a) for a in _frames())
    mse = t.nn.functional.mse_loss
    return torch_step(net, lambda net: mse(net(x)[0], target), "adam", compiled=False)


def workloads() -> list[Workload]:
    """Return the rows of this family."""
    layer = beside_compiled(_layer_ours, _layer_torch, _layer_jax)
    lstm = beside(_lstm_ours, _lstm_torch, None)
    return [
        Workload("transformer layer, Adam step", 0.85, layer),
        Workload("LSTM 64-128, training step", 0.7, lstm),
    ]
