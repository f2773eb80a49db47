"""Train and evaluate a network: what MindSpore's tutorial ``beginner/train`` calls.

A loop over batches and epochs with ``value_and_grad`` and an optimizer, and the same by ``Model``
with a callback, as its older edition does.
"""

from __future__ import annotations

from pathlib import Path

import cellwire as ms
import numpy as np
from cellwire import Tensor, nn
from cellwire.dataset import Dataset, MnistDataset, transforms, vision
from cellwire.train import LossMonitor, Model
from data import write_mnist

EPOCHS = 3
BATCH = 32
RATE = 5e-2


def pipeline(path: Path, batch_size: int) -> Dataset:
    dataset = MnistDataset(str(path))
    scale = [vision.Rescale(1.0 / 255.0, 0), vision.Normalize((0.1307,), (0.3081,))]
    dataset = dataset.map([*scale, vision.HWC2CHW()], "image")
    dataset = dataset.map(transforms.TypeCast(ms.int32), "label")
    return dataset.batch(batch_size)


def network() -> nn.Cell:
    layers = [nn.Flatten(), nn.Dense(28 * 28, 48), nn.ReLU(), nn.Dense(48, 10)]
    return nn.SequentialCell(layers)


def accuracy(net: nn.Cell, dataset: Dataset) -> float:
    net.set_train(False)
    seen, right = 0, 0
    for image, label in dataset.create_tuple_iterator():
        seen += len(label)
        right += int((net(image).argmax(1) == label).asnumpy().sum())
    return right / seen


def by_hand(train_set: Dataset, test_set: Dataset) -> float:
    """Each step written out."""
    net = network()
    loss_fn = nn.CrossEntropyLoss()
    optimizer = nn.SGD(net.trainable_params(), learning_rate=RATE)

    def forward(image: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        scores = net(image)
        return loss_fn(scores, label), scores

    gradient = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)
    losses = []
    for epoch in range(EPOCHS):
        net.set_train()
        for image, label in train_set.create_tuple_iterator():
            (loss, _), grads = gradient(image, label)
            optimizer(grads)
            losses.append(float(loss.asnumpy()))
        print(f"epoch {epoch + 1}: accuracy {accuracy(net, test_set):.2f}")
    assert np.mean(losses[-4:]) < 0.5 * losses[0]
    return accuracy(net, test_set)


def by_model(train_set: Dataset, test_set: Dataset) -> float:
    """The same, with the loop left to Model."""
    net = network()
    loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(net.trainable_params(), learning_rate=RATE, momentum=0.9)
    model = Model(net, loss_fn=loss_fn, optimizer=optimizer, metrics={"acc"})
    model.train(2, train_set, callbacks=[LossMonitor(8)])
    predicted = model.predict(next(test_set.create_tuple_iterator())[0])
    assert predicted.shape == (BATCH, 10)
    return model.eval(test_set)["acc"]


def main(folder: Path) -> None:
    off = nn.L1Loss()(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[1.0, 4.0], [0.0, 3.0]]))
    assert np.isclose(float(off), 1.5)
    path = write_mnist(folder)
    sets = pipeline(path / "train", BATCH), pipeline(path / "test", BATCH)
    assert by_hand(*sets) > 0.7
    assert by_model(*sets) > 0.7
