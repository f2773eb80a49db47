"""Residual networks for photographs: what MindSpore's tutorial ``cv/resnet50`` calls.

``Cifar10Dataset`` with workers, ``RandomCrop``, ``RandomHorizontalFlip``, ``Resize``, ``Rescale``,
``Normalize``, ``HWC2CHW``, ``TypeCast``; blocks of two and of three convolutions with
``BatchNorm2d``, shortcuts that change the size, ``MaxPool2d``, ``AvgPool2d``, ``SequentialCell`` of
a list, ``Normal`` weights; a head that is exchanged after loading; ``cosine_decay_lr``,
``Momentum``, ``SoftmaxCrossEntropyWithLogits``, iterators over several passes, the best checkpoint.

References
----------
K. He, X. Zhang, S. Ren, J. Sun, Deep residual learning for image recognition, CVPR 2016.
"""

from __future__ import annotations

from pathlib import Path

import cellwire as ms
import cellwire.dataset as ds
import numpy as np
from cellwire import dtype as mstype
from cellwire import load_checkpoint, load_param_into_net, nn, ops
from cellwire.common.initializer import Normal
from cellwire.dataset import transforms, vision
from data import write_cifar10

MEAN, STD = [0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010]
weight_init = Normal(mean=0, sigma=0.02)
gamma_init = Normal(mean=1, sigma=0.02)


class Basic(nn.Cell):
    """Two 3×3 convolutions beside a shortcut; one normalisation may be shared."""

    expansion: int = 1

    def __init__(self, inner, channels, stride=1, norm=None, down_sample=None):
        super().__init__()
        if not norm:
            self.norm = nn.BatchNorm2d(channels)
        else:
            self.norm = norm
        self.conv1 = nn.Conv2d(
            inner, channels, kernel_size=3, stride=stride, weight_init=weight_init
        )
        self.conv2 = nn.Conv2d(channels, channels, kernel_size=3, weight_init=weight_init)
        self.relu = nn.ReLU()
        self.down_sample = down_sample

    def construct(self, x):
        out = self.relu(self.norm(self.conv1(x)))
        out = self.norm(self.conv2(out))
        out += x if self.down_sample is None else self.down_sample(x)
        return self.relu(out)


class Bottleneck(nn.Cell):
    """Convolutions of 1×1, 3×3 and 1×1 beside a shortcut; the last has four times the channels."""

    expansion = 4

    def __init__(self, inner, channels, stride=1, down_sample=None):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, channels, kernel_size=1, weight_init=weight_init)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(
            channels, channels, kernel_size=3, stride=stride, weight_init=weight_init
        )
        self.norm2 = nn.BatchNorm2d(channels)
        outer = channels * self.expansion
        self.conv3 = nn.Conv2d(channels, outer, kernel_size=1, weight_init=weight_init)
        self.norm3 = nn.BatchNorm2d(outer)
        self.relu = nn.ReLU()
        self.down_sample = down_sample

    def construct(self, x):
        identity = x
        out = self.relu(self.norm1(self.conv1(x)))
        out = self.relu(self.norm2(self.conv2(out)))
        out = self.norm3(self.conv3(out))
        if self.down_sample is not None:
            identity = self.down_sample(x)
        out += identity
        return self.relu(out)


def stage(inner, block, channels, count, stride=1):
    """Blocks one after another; the first may change size and channels."""
    outer = channels * block.expansion
    down_sample = None
    if stride != 1 or inner != outer:
        down_sample = nn.SequentialCell(
            [
                nn.Conv2d(inner, outer, kernel_size=1, stride=stride, weight_init=weight_init),
                nn.BatchNorm2d(outer, gamma_init=gamma_init),
            ]
        )
    blocks = [block(inner, channels, stride=stride, down_sample=down_sample)]
    for _ in range(1, count):
        blocks.append(block(outer, channels))
    return nn.SequentialCell(blocks)


class ResNet(nn.Cell):
    """Convolution and pooling, two stages, the mean over what is left, a dense head."""

    def __init__(self, block, counts, classes, features):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(3, 8, kernel_size=7, stride=2, weight_init=weight_init)
        self.norm = nn.BatchNorm2d(8)
        self.max_pool = nn.MaxPool2d(kernel_size=3, stride=2, pad_mode="same")
        self.layer1 = stage(8, block, 8, counts[0])
        self.layer2 = stage(8 * block.expansion, block, 16, counts[1], stride=2)
        self.layer3 = stage(16 * block.expansion, block, 16, counts[2], stride=4)
        self.avg_pool = nn.AvgPool2d()
        self.flatten = nn.Flatten()
        self.fc = nn.Dense(in_channels=features, out_channels=classes)

    def construct(self, x):
        x = self.max_pool(self.relu(self.norm(self.conv1(x))))
        x = self.layer3(self.layer2(self.layer1(x)))
        x = self.flatten(self.avg_pool(x))
        return self.fc(x)


def resnet(classes=100, file=None):
    """A small residual network of bottlenecks, with the weights of a file if there is one."""
    net = ResNet(Bottleneck, [1, 2, 1], classes, 64)
    if file:
        load_param_into_net(net, load_checkpoint(file))
    return net


def pipeline(path, usage, batch_size, workers=2):
    """Batches of one part of the data; training pictures are cropped and flipped."""
    rows = ds.Cifar10Dataset(
        dataset_dir=path, usage=usage, num_parallel_workers=workers, shuffle=True
    )
    steps = []
    if usage == "train":
        steps += [
            vision.RandomCrop((32, 32), (4, 4, 4, 4)),
            vision.RandomHorizontalFlip(prob=0.5),
        ]
    steps += [
        vision.Resize(32),
        vision.Rescale(1.0 / 255.0, 0.0),
        vision.Normalize(MEAN, STD),
        vision.HWC2CHW(),
    ]
    rows = rows.map(operations=steps, input_columns="image", num_parallel_workers=workers)
    number = transforms.TypeCast(mstype.int32)
    rows = rows.map(operations=number, input_columns="label", num_parallel_workers=workers)
    return rows.batch(batch_size)


def evaluate(net, batches):
    """Share of the pictures that are told right."""
    net.set_train(False)
    right, seen = 0.0, 0.0
    for images, labels in batches:
        told = net(images).argmax(axis=1)
        correct = ops.equal(told, labels).reshape((-1,))
        right += correct.sum().asnumpy()
        seen += correct.shape[0]
    return right / seen


def main(folder: Path) -> None:
    path = str(write_cifar10(folder, train=60, test=30, classes=3))
    train_set, test_set = pipeline(path, "train", 20), pipeline(path, "test", 15)
    steps = train_set.get_dataset_size()
    assert (steps, test_set.get_dataset_size()) == (3, 2)
    row = next(train_set.create_dict_iterator())
    images, labels = row["image"].asnumpy(), row["label"].asnumpy()
    assert (images.shape, labels.shape) == ((20, 3, 32, 32), (20,))
    names = (folder / "cifar-10-batches-bin" / "batches.meta.txt").read_text("utf-8").split()
    assert names[labels[0]].startswith("kind")

    plain = ResNet(Basic, [1, 1, 1], 3, 16)
    assert plain(row["image"]).shape == (20, 3)
    trained = str(folder / "pretrained.ckpt")
    ms.save_checkpoint(resnet(), trained)
    net = resnet(file=trained)
    net.fc = nn.Dense(in_channels=net.fc.in_channels, out_channels=3)
    assert net.fc.weight.name == "fc.weight"

    epochs = 5
    rate = nn.cosine_decay_lr(
        min_lr=0.001, max_lr=0.02, total_step=steps * epochs, step_per_epoch=steps,
        decay_epoch=epochs,
    )  # fmt: skip
    assert len(rate) == steps * epochs
    optimizer = nn.Momentum(params=net.trainable_params(), learning_rate=rate, momentum=0.9)
    loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def forward(images, labels):
        return loss_fn(net(images), labels)

    gradient = ms.value_and_grad(forward, None, optimizer.parameters)

    def step(images, labels):
        loss, grads = gradient(images, labels)
        optimizer(grads)
        return loss

    train_batches = train_set.create_tuple_iterator(num_epochs=epochs)
    test_batches = test_set.create_tuple_iterator(num_epochs=epochs)
    best, means, best_file = 0, [], folder / "BestCheckpoint" / "best.ckpt"
    best_file.parent.mkdir()
    for epoch in range(epochs):
        net.set_train(True)
        losses = []
        for number, (images, labels) in enumerate(train_batches):
            losses.append(step(images, labels))
            print("Epoch %d, step %d: %5.3f" % (epoch, number + 1, losses[-1]))  # noqa: UP031
        means.append(float(sum(losses) / len(losses)))
        share = evaluate(net, test_batches)
        if share >= best:
            best = share
            ms.save_checkpoint(net, str(best_file))
    print(f"losses {means}, best accuracy {best: 5.3f}")
    assert means[-1] < means[0] / 3
    assert best > 0.6

    again = resnet(3)
    load_param_into_net(again, ms.load_checkpoint(str(best_file)))
    again.set_train(False)
    row = next(test_set.create_dict_iterator())
    told = np.argmax(again(row["image"]).asnumpy(), axis=1)
    assert (told == row["label"].asnumpy()).mean() > 0.5
