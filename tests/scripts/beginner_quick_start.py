"""Recognise handwritten digits: what MindSpore's tutorial ``beginner/quick_start`` calls.

MNIST files, a pipeline of ``map`` and ``batch``, a Cell, ``value_and_grad`` with an auxiliary
result, ``SGD``, training and test passes, a checkpoint that is saved and loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cellwire as ms
from cellwire import Tensor, nn
from cellwire.dataset import Dataset, MnistDataset, transforms, vision
from data import write_mnist


class Perceptron(nn.Cell):
    """Two layers over the pixels of an image."""

    def __init__(self) -> None:
        super().__init__()
        self.flatten = nn.Flatten()
        self.layers = nn.SequentialCell(nn.Dense(28 * 28, 64), nn.ReLU(), nn.Dense(64, 10))

    def construct(self, x: Tensor) -> Tensor:
        x = self.flatten(x)
        return self.layers(x)


def pipeline(dataset: Dataset, batch_size: int) -> Dataset:
    """Scale, normalise and batch images; labels become int32."""
    images = [
        vision.Rescale(1.0 / 255.0, 0),
        vision.Normalize(mean=(0.1307,), std=(0.3081,)),
        vision.HWC2CHW(),
    ]
    dataset = dataset.map(images, "image")
    dataset = dataset.map(transforms.TypeCast(ms.int32), "label")
    return dataset.batch(batch_size)


def train_epoch(net: nn.Cell, step: Callable[..., Tensor], dataset: Dataset) -> list[float]:
    """One pass over the training data; the loss of each batch."""
    batches = dataset.get_dataset_size()
    net.set_train()
    losses = []
    for number, (image, label) in enumerate(dataset.create_tuple_iterator()):
        loss = step(image, label)
        losses.append(float(loss.asnumpy()))
        if number % 4 == 0:
            print(f"loss: {loss.asnumpy():>7f}  [{number:>3d}/{batches:>3d}]")
    return losses


def evaluate(net: nn.Cell, dataset: Dataset, loss_fn: nn.Cell) -> tuple[float, float]:
    """Share of digits that are told right, and the mean loss."""
    net.set_train(False)
    seen, right, loss = 0, 0, 0
    for image, label in dataset.create_tuple_iterator():
        scores = net(image)
        seen += len(image)
        loss += loss_fn(scores, label).asnumpy()
        right += (scores.argmax(1) == label).asnumpy().sum()
    return right / seen, loss / dataset.get_dataset_size()


def main(folder: Path) -> None:
    path = write_mnist(folder)
    train_set = MnistDataset(str(path / "train"))
    test_set = MnistDataset(str(path / "test"))
    assert train_set.get_col_names() == ["image", "label"]
    train_set, test_set = pipeline(train_set, 64), pipeline(test_set, 64)
    for image, label in test_set.create_tuple_iterator():
        assert (image.shape, image.dtype) == ((64, 1, 28, 28), ms.float32)
        assert (label.shape, label.dtype) == ((64,), ms.int32)
        break
    for row in test_set.create_dict_iterator():
        assert row["image"].shape == (64, 1, 28, 28)
        break

    net = Perceptron()
    print(net)
    loss_fn = nn.CrossEntropyLoss()
    optimizer = nn.SGD(net.trainable_params(), 5e-2)

    def forward(image: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        scores = net(image)
        return loss_fn(scores, label), scores

    gradient = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

    def step(image: Tensor, label: Tensor) -> Tensor:
        (loss, _), grads = gradient(image, label)
        optimizer(grads)
        return loss

    before, _ = evaluate(net, test_set, loss_fn)
    for _ in range(4):
        losses = train_epoch(net, step, train_set)
    accuracy, loss = evaluate(net, test_set, loss_fn)
    print(f"accuracy {100 * accuracy:>0.1f}%, mean loss {loss:>8f}")
    assert accuracy > max(before, 0.7)
    assert sum(losses) / len(losses) < 1.0

    ms.save_checkpoint(net, str(folder / "digits.ckpt"))
    again = Perceptron()
    missing, _ = ms.load_param_into_net(again, ms.load_checkpoint(str(folder / "digits.ckpt")))
    assert missing == []
    again.set_train(False)
    for image, label in test_set:
        told = again(image).argmax(1)
        print(f'predicted: "{told[:10]}", actual: "{label[:10]}"')
        assert (told == net(image).argmax(1)).all()
        break
