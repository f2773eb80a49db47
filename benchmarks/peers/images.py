"""A small CNN's training step, and single convolutions."""

from __future__ import annotations

from typing import Any

import cellwire as cw

from .frameworks import beside, beside_compiled, jax, jax_step, numbers, torch, torch_step
from .steps import cellwire_step
from .workload import Call, Workload

BATCH = 32
SHAPES = ((8, 64, 56, 64), (8, 128, 28, 128), (8, 256, 14, 256), (32, 32, 14, 64), (1, 64, 56, 64))
"""Batch, input channels, height and width, output channels of the 3x3 convolutions."""


def _lenet() -> Any:
    nn = cw.nn
    return nn.SequentialCell(
        nn.Conv2d(1, 6, 5, pad_mode="same", has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Flatten(), nn.Dense(400, 120), nn.ReLU(), nn.Dense(120, 84), nn.ReLU(),
        nn.Dense(84, 10),
    )  # fmt: skip


def _batch() -> tuple[Any, Any]:
    return numbers(0, BATCH, 1, 28, 28), (numbers(1, BATCH).view("int32") % 10).astype("int32")


def _cnn_ours() -> Call:
    net = _lenet()
    x, labels = (cw.Tensor(a) for a in _batch())
    return cellwire_step(net, lambda x, y: cw.ops.cross_entropy(net(x), y), "adam", (x, labels))


def _cnn_torch(compiled: bool) -> Call:
    t = torch()
    tn = t.nn
    net = tn.Sequential(
        tn.Conv2d(1, 6, 5, padding=2), tn.ReLU(), tn.MaxPool2d(2), tn.Conv2d(6, 16, 5), tn.ReLU(),
        tn.MaxPool2d(2), tn.Flatten(), tn.Linear(400, 120), tn.ReLU(), tn.Linear(120, 84),
        tn.ReLU(), tn.Linear(84, 10),
    )  # fmt: skip
    x, labels = _batch()
    x, labels = t.from_numpy(x), t.from_numpy(labels.astype("int64"))
    loss = tn.functional.cross_entropy
    return torch_step(net, lambda net: loss(net(x), labels), "adam", compiled)


def _jax_conv(x: Any, w: Any, padding: str) -> Any:
    return jax().lax.conv_general_dilated(x, w, (1, 1), padding)


def _jax_pool(x: Any) -> Any:
    j = jax()
    return j.lax.reduce_window(x, -float("inf"), j.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def _cnn_jax() -> Call:
    j = jax()
    x, labels = (j.numpy.asarray(a) for a in _batch())
    shapes = [(6, 1, 5, 5), (6,), (16, 6, 5, 5), (16,), (400, 120), (120,), (120, 84), (84,),
              (84, 10), (10,)]  # fmt: skip
    weights = [numbers(i, *shape, scale=0.1) for i, shape in enumerate(shapes)]

    def loss(w: Any) -> Any:
        h = _jax_pool(j.nn.relu(_jax_conv(x, w[0], "SAME") + w[1][:, None, None]))
        h = _jax_pool(j.nn.relu(_jax_conv(h, w[2], "VALID") + w[3][:, None, None]))
        h = h.reshape(BATCH, -1)
        for i in (4, 6):
            h = j.nn.relu(h @ w[i] + w[i + 1])
        logits = j.nn.log_softmax(h @ w[8] + w[9])
        return -logits[j.numpy.arange(BATCH), labels].mean()

    return jax_step(loss, weights, "adam")


def _conv_rows() -> list[Workload]:
    return [_conv_row(*shape) for shape in SHAPES]


def _conv_row(n: int, channels: int, size: int, outer: int) -> Workload:
    x, w = numbers(0, n, channels, size, size), numbers(1, outer, channels, 3, 3, scale=0.05)

    def ours() -> Call:
        a, b = cw.Tensor(x), cw.Tensor(w)
        run = cw.jit(lambda a, b: cw.ops.conv2d(a, b, pad_mode="same"), fullgraph=True)
        return lambda: run(a, b)

    def of_torch() -> Call:
        t = torch()
        a, b = t.from_numpy(x), t.from_numpy(w)
        return lambda: t.nn.functional.conv2d(a, b, padding=1)

    def of_jax() -> Call:
        j = jax()
        a, b = j.numpy.asarray(x), j.numpy.asarray(w)
        run = j.jit(lambda a, b: _jax_conv(a, b, "SAME"))
        return lambda: run(a, b).block_until_ready()

    found = beside(ours, of_torch, of_jax)
    name = f"conv 3x3 ({n}, {channels}, {size}, {outer})"
    return Workload(name, 1.05, found, group="conv 3x3", group_limit=0.95)


def workloads() -> list[Workload]:
    """Return the rows of this family."""
    found = beside_compiled(_cnn_ours, _cnn_torch, _cnn_jax)
    return [Workload("LeNet-like CNN, Adam step", 0.5, found), *_conv_rows()]
