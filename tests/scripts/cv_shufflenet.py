"""Convolutions in groups whose channels are shuffled: what ``cv/shufflenet`` calls.

``ops.split`` by size, ``astype("float32")``, ``cat``, ``ops.shape``, ``reshape`` and ``transpose``;
``CellList`` of convolutions, depthwise ``Conv2d``, ``AvgPool2d`` and ``MaxPool2d`` that pad;
``Cifar10Dataset`` mapped by position; ``CrossEntropyLoss`` with ``label_smoothing``, ``Momentum``
with a tensor as its rate, weight decay and a loss scale; ``Model`` with ``amp_level="O3"`` and
``FixedLossScaleManager``, checkpoints, ``Model.eval`` in graph mode with loss and two accuracies,
``Model.predict``.

References
----------
X. Zhang, X. Zhou, M. Lin, J. Sun, ShuffleNet, CVPR 2018.
"""

from __future__ import annotations

from pathlib import Path

import cellwire
import cellwire as ms
import numpy as np
from cellwire import Tensor, load_checkpoint, load_param_into_net, nn, ops
from cellwire.dataset import Cifar10Dataset, transforms, vision
from cellwire.train import (
    CheckpointConfig,
    LossMonitor,
    Model,
    ModelCheckpoint,
    TimeMonitor,
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
)
from data import write_cifar10


class GroupConv(nn.Cell):
    """A convolution of each group of channels, written out."""

    def __init__(self, inner, outer, kernel_size, stride, pad_mode="pad", pad=0, groups=1):
        super().__init__()
        self.groups = groups
        self.convs = nn.CellList()
        for _ in range(groups):
            self.convs.append(
                nn.Conv2d(
                    inner // groups,
                    outer // groups,
                    kernel_size=kernel_size,
                    stride=stride,
                    has_bias=False,
                    padding=pad,
                    pad_mode=pad_mode,
                    group=1,
                    weight_init="xavier_uniform",
                )
            )

    def construct(self, x):
        size = int(len(x[0]) // self.groups)
        parts = ops.split(x, split_size_or_sections=size, axis=1)
        outputs = ()
        for i in range(self.groups):
            outputs = (*outputs, self.convs[i](parts[i].astype("float32")))
        return ops.cat(outputs, axis=1)


class Unit(nn.Cell):
    """Grouped, depthwise and grouped convolution; half the size by concatenation, else added."""

    def __init__(self, inner, outer, group, first_group, middle, stride):
        super().__init__()
        self.stride, self.group = stride, group
        own = outer - inner if stride == 2 else outer
        self.relu = nn.ReLU()
        self.before = nn.SequentialCell(
            [
                GroupConv(inner, middle, 1, 1, groups=1 if first_group else group),
                nn.BatchNorm2d(middle),
                nn.ReLU(),
            ]
        )
        self.after = nn.SequentialCell(
            [
                nn.Conv2d(
                    middle, middle, kernel_size=3, stride=stride, pad_mode="pad", padding=1,
                    group=middle, weight_init="xavier_uniform", has_bias=False,
                ),
                nn.BatchNorm2d(middle),
                GroupConv(middle, own, 1, 1, groups=group),
                nn.BatchNorm2d(own),
            ]
        )  # fmt: skip
        if stride == 2:
            self.shortcut = nn.AvgPool2d(kernel_size=3, stride=2, pad_mode="same")

    def construct(self, x):
        out = x
        right = self.after(self.shuffle(self.before(x)))
        if self.stride == 1:
            out = self.relu(x + right)
        elif self.stride == 2:
            out = self.relu(ops.cat((self.shortcut(x), right), 1))
        return out

    def shuffle(self, x):
        batch, channels, height, width = ops.shape(x)
        x = ops.reshape(x, (batch, channels // self.group, self.group, height, width))
        x = ops.transpose(x, (0, 2, 1, 3, 4))
        return ops.reshape(x, (batch, channels, height, width))


class ShuffleNet(nn.Cell):
    """Two stages of units between a convolution and a dense head."""

    def __init__(self, classes=10, channels=(6, 24, 48), repeats=(2, 1), group=3):
        super().__init__()
        self.channels = channels
        self.first_conv = nn.SequentialCell(
            nn.Conv2d(3, channels[0], 3, 2, "pad", 1, weight_init="xavier_uniform", has_bias=False),
            nn.BatchNorm2d(channels[0]),
            nn.ReLU(),
        )
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, pad_mode="same")
        units, inner = [], channels[0]
        for number, count in enumerate(repeats):
            outer = channels[number + 1]
            for i in range(count):
                first, stride = number == 0 and i == 0, 2 if i == 0 else 1
                units.append(Unit(inner, outer, group, first, outer // 4, stride))
                inner = outer
        self.features = nn.SequentialCell(units)
        self.globalpool = nn.AvgPool2d(2)
        self.classifier = nn.Dense(channels[-1], classes)

    def construct(self, x):
        x = self.features(self.maxpool(self.first_conv(x)))
        x = ops.reshape(self.globalpool(x), (-1, self.channels[-1]))
        return self.classifier(x)


def pipeline(path, batch_size, usage):
    """Whole batches of one part of the data."""
    steps = [
        vision.Resize((32, 32)),
        vision.Rescale(1.0 / 255.0, 0.0),
        vision.Normalize([0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010]),
        vision.HWC2CHW(),
    ]
    if usage == "train":
        steps = [
            vision.RandomCrop((32, 32), (4, 4, 4, 4)),
            vision.RandomHorizontalFlip(prob=0.5),
            *steps,
        ]
    rows = Cifar10Dataset(path, usage=usage, shuffle=True)
    rows = rows.map(steps, "image")
    rows = rows.map(transforms.TypeCast(ms.int32), "label")
    return rows.batch(batch_size, drop_remainder=True)


def fit(folder, train_set, epochs):
    """Train in half precision with a fixed loss scale; the file of the last checkpoint."""
    batches = train_set.get_dataset_size()
    net = ShuffleNet()
    loss_fn = nn.CrossEntropyLoss(weight=None, reduction="mean", label_smoothing=0.1)
    rates = cellwire.nn.cosine_decay_lr(0.0005, 0.05, batches * 250, batches, decay_epoch=250)
    rate = Tensor(rates[0])
    optimizer = nn.Momentum(
        params=net.trainable_params(), learning_rate=rate, momentum=0.9, weight_decay=0.00004,
        loss_scale=1024,
    )  # fmt: skip
    scales = ms.amp.FixedLossScaleManager(1024, drop_overflow_update=False)
    model = Model(
        net, loss_fn=loss_fn, optimizer=optimizer, amp_level="O3", loss_scale_manager=scales
    )
    callbacks = [TimeMonitor(), LossMonitor()]
    config = CheckpointConfig(save_checkpoint_steps=batches, keep_checkpoint_max=5)
    callbacks += [ModelCheckpoint("shufflenet", directory=str(folder), config=config)]
    model.train(epochs, train_set, callbacks=callbacks)
    return str(folder / f"shufflenet-{epochs}_{batches}.ckpt")


def evaluate(test_set, file):
    """Loss and accuracies of a checkpoint, in graph mode."""
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_device(device_target="CPU")
    net = ShuffleNet()
    load_param_into_net(net, load_checkpoint(file))
    net.set_train(False)
    loss_fn = nn.CrossEntropyLoss(weight=None, reduction="mean", label_smoothing=0.1)
    metrics = {
        "Loss": nn.Loss(),
        "Top_1": Top1CategoricalAccuracy(),
        "Top_5": Top5CategoricalAccuracy(),
    }
    return Model(net, loss_fn=loss_fn, metrics=metrics).eval(test_set, dataset_sink_mode=False)


def main(folder: Path) -> None:
    path = str(write_cifar10(folder, train=90, test=30, classes=3))
    train_set, test_set = pipeline(path, 30, "train"), pipeline(path, 15, "test")
    file = fit(folder, train_set, 6)
    result = evaluate(test_set, file)
    print(result)
    assert result["Loss"] < 1.6
    assert result["Top_1"] > 0.6
    assert result["Top_5"] == 1.0

    net = ShuffleNet()
    load_param_into_net(net, load_checkpoint(file))
    rows = pipeline(path, 15, "test")
    row = next(rows.create_dict_iterator())
    told = np.argmax(Model(net).predict(ms.Tensor(row["image"])).asnumpy(), axis=1)
    assert told.shape == (15,)
    assert (told == row["label"].asnumpy()).mean() > 0.5
