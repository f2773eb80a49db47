"""Train in half precision: what MindSpore's tutorial ``beginner/mixed_precision`` calls.

Types changed by level, by Cell and by hand; a loss that is scaled dynamically, in a compiled
step; and the same by ``build_train_network`` and by ``Model``.
"""

from __future__ import annotations

from pathlib import Path

import cellwire as ms
import numpy as np
from cellwire import Tensor, nn, value_and_grad
from cellwire.amp import (
    DynamicLossScaler,
    FixedLossScaleManager,
    all_finite,
    auto_mixed_precision,
    build_train_network,
)
from cellwire.dataset import Dataset, MnistDataset, transforms, vision
from cellwire.train import LossMonitor, Model
from data import write_mnist


def pipeline(path: Path, batch_size: int) -> Dataset:
    dataset = MnistDataset(str(path))
    scale = [vision.Rescale(1.0 / 255.0, 0), vision.Normalize((0.1307,), (0.3081,))]
    dataset = dataset.map([*scale, vision.HWC2CHW()], "image")
    dataset = dataset.map(transforms.TypeCast(ms.int32), "label")
    return dataset.batch(batch_size)


class Network(nn.Cell):
    """Two layers; `low` says how they come to compute in half precision."""

    def __init__(self, low: str = "not") -> None:
        super().__init__()
        first, second = nn.Dense(28 * 28, 32), nn.Dense(32, 10)
        if low == "by Cell":
            first, second = first.to_float(ms.float16), second.to_float(ms.float16)
        self.flatten = nn.Flatten()
        self.layers = nn.SequentialCell(first, nn.ReLU(), second)
        self.by_hand = low == "by hand"

    def construct(self, x: Tensor) -> Tensor:
        x = self.flatten(x)
        if self.by_hand:
            x = x.astype(ms.float16)
        scores = self.layers(x)
        return scores.astype(ms.float32) if self.by_hand else scores


def scaled_step(net: nn.Cell, loss_fn: nn.Cell, optimizer: nn.Cell, dataset: Dataset) -> None:
    """A step that is left out when a gradient overflows."""
    scaler = DynamicLossScaler(scale_value=2**16, scale_factor=2, scale_window=50)

    def forward(image: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        scores = net(image)
        return scaler.scale(loss_fn(scores, label)), scores

    gradient = value_and_grad(forward, None, net.trainable_params(), has_aux=True)

    @ms.jit
    def step(image: Tensor, label: Tensor) -> Tensor:
        (loss, _), grads = gradient(image, label)
        loss = scaler.unscale(loss)
        finite = all_finite(grads)
        if finite:
            grads = scaler.unscale(grads)
            optimizer(grads)
        scaler.adjust(finite)
        return loss

    net.set_train()
    losses = [
        float(step(image, label).asnumpy())
        for _ in range(3)
        for image, label in dataset.create_tuple_iterator()
    ]
    print(f"loss {losses[0]:.3f} became {losses[-1]:.3f} at scale {scaler.scale_value}")
    assert losses[-1] < 0.7 * losses[0]


def main(folder: Path) -> None:
    dataset = pipeline(write_mnist(folder) / "train", 64)
    image, label = next(dataset.create_tuple_iterator())
    plain = Network()
    for low in ("by Cell", "by hand"):
        net = Network(low)
        ms.load_param_into_net(net, plain.parameters_dict())
        assert np.allclose(net(image).asnumpy(), plain(image).asnumpy(), atol=0.05)

    net = auto_mixed_precision(Network(), "O2")
    assert net(image).dtype == ms.float32
    loss_fn = nn.CrossEntropyLoss()
    scaled_step(net, loss_fn, nn.SGD(net.trainable_params(), 5e-2), dataset)

    net = Network()
    optimizer = nn.SGD(net.trainable_params(), 5e-2)
    manager = FixedLossScaleManager()
    trained = build_train_network(net, optimizer, loss_fn, level="O2", loss_scale_manager=manager)
    trained.set_train()
    losses = [trained(image, label) for _ in range(8)]
    first, last = (loss[0] if isinstance(loss, tuple) else loss for loss in (losses[0], losses[-1]))
    assert float(last.asnumpy()) < float(first.asnumpy())

    net = Network()
    trainer = Model(
        net,
        loss_fn=loss_fn,
        optimizer=nn.SGD(net.trainable_params(), 5e-2),
        metrics={"accuracy"},
        amp_level="O2",
        loss_scale_manager=FixedLossScaleManager(),
    )
    trainer.train(3, dataset, callbacks=[LossMonitor(4)])
    assert trainer.eval(dataset)["accuracy"] > 0.6
