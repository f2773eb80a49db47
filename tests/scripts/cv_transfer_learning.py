"""Tell two kinds of pictures with trained features: what ``cv/transfer_learning`` calls.

``ImageFolderDataset`` of JPEG files, ``RandomCropDecodeResize``, ``RandomHorizontalFlip``,
``Decode``, ``Resize``, ``CenterCrop``, ``Normalize``, ``HWC2CHW``; a trained network whose head and
pooling are exchanged, once trained as a whole and once with every parameter but the head's frozen
(``requires_grad = False``); checkpoints loaded in part; ``Momentum``, ``Model.eval`` with
``Accuracy``, ``Model.predict``.
"""

from __future__ import annotations

import os
from pathlib import Path

import cellwire as ms
import cellwire.dataset as ds
import numpy as np
from cellwire import load_checkpoint, load_param_into_net, nn, train
from cellwire.common.initializer import Normal
from cellwire.dataset import vision
from data import write_image_folder

MEAN, STD = [0.485 * 255, 0.456 * 255, 0.406 * 255], [0.229 * 255, 0.224 * 255, 0.225 * 255]
weight_init = Normal(mean=0, sigma=0.1)


class Residual(nn.Cell):
    """A convolution of stride 2 beside a shortcut of the same size."""

    def __init__(self, inner, outer):
        super().__init__()
        self.conv = nn.Conv2d(inner, outer, kernel_size=3, stride=2, weight_init=weight_init)
        self.norm = nn.BatchNorm2d(outer)
        self.relu = nn.ReLU()
        self.down_sample = nn.SequentialCell(
            [
                nn.Conv2d(inner, outer, kernel_size=1, stride=2, weight_init=weight_init),
                nn.BatchNorm2d(outer),
            ]
        )

    def construct(self, x):
        out = self.norm(self.conv(x))
        out += self.down_sample(x)
        return self.relu(out)


class Network(nn.Cell):
    """Two residual blocks, pooling, a dense head."""

    def __init__(self, classes):
        super().__init__()
        self.layer1 = Residual(3, 8)
        self.layer2 = Residual(8, 16)
        self.avg_pool = nn.AvgPool2d()
        self.flatten = nn.Flatten()
        self.fc = nn.Dense(in_channels=16, out_channels=classes)

    def construct(self, x):
        x = self.layer2(self.layer1(x))
        x = self.flatten(self.avg_pool(x))
        return self.fc(x)


def network(file=None, classes=2):
    """The trained network with a head of its own and pooling over 8×8."""
    net = Network(10)
    if file:
        load_param_into_net(net, load_checkpoint(file))
    net.fc = nn.Dense(net.fc.in_channels, classes)
    net.avg_pool = nn.AvgPool2d(kernel_size=8)
    return net


def pipeline(path, usage, batch_size=8):
    """Batches of the pictures in a folder of folders, cropped at random for training."""
    rows = ds.ImageFolderDataset(path, num_parallel_workers=1, shuffle=True)
    if usage == "train":
        steps = [
            vision.RandomCropDecodeResize(size=32, scale=(0.5, 1.0), ratio=(0.75, 1.333)),
            vision.RandomHorizontalFlip(prob=0.5),
            vision.Normalize(mean=MEAN, std=STD),
            vision.HWC2CHW(),
        ]
    else:
        steps = [
            vision.Decode(),
            vision.Resize(32 + 4),
            vision.CenterCrop(32),
            vision.Normalize(mean=MEAN, std=STD),
            vision.HWC2CHW(),
        ]
    rows = rows.map(operations=steps, input_columns="image", num_parallel_workers=1)
    return rows.batch(batch_size)


def fit(net, train_set, test_set, momentum, epochs, file):
    """Train what requires gradients; keep the best checkpoint. Mean losses and best accuracy."""
    optimizer = nn.Momentum(params=net.trainable_params(), learning_rate=0.05, momentum=momentum)
    loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    model = train.Model(net, loss_fn, optimizer, metrics={"Accuracy": train.Accuracy()})

    def forward(images, labels):
        return loss_fn(net(images), labels)

    gradient = ms.value_and_grad(forward, None, optimizer.parameters)

    def step(images, labels):
        loss, grads = gradient(images, labels)
        optimizer(grads)
        return loss

    batches, best, means = train_set.create_tuple_iterator(num_epochs=epochs), -1, []
    for _ in range(epochs):
        net.set_train()
        losses = [step(images, labels.astype(ms.int32)) for images, labels in batches]
        means.append(float(sum(losses) / len(losses)))
        accuracy = model.eval(test_set)["Accuracy"]
        if accuracy > best:
            best = accuracy
            if not os.path.exists(file.parent):
                os.mkdir(file.parent)
            ms.save_checkpoint(net, str(file))
    print(f"losses {means}, best accuracy {best: 5.3f}")
    return means, best


def main(folder: Path) -> None:
    counts = {"dogs": 12, "wolves": 12}
    train_path = write_image_folder(folder / "Canidae" / "train", counts)
    test_path = write_image_folder(folder / "Canidae" / "val", {"dogs": 6, "wolves": 6}, seed=7)
    train_set = pipeline(str(train_path), "train")
    test_set = pipeline(str(test_path), "val")
    assert (train_set.get_dataset_size(), test_set.get_dataset_size()) == (3, 2)
    row = next(train_set.create_dict_iterator())
    assert row["image"].shape == (8, 3, 32, 32)
    assert set(row["label"].asnumpy()) <= {0, 1}

    pretrained = str(folder / "pretrained.ckpt")
    ms.save_checkpoint(Network(10), pretrained)
    best_file = folder / "BestCheckpoint" / "best.ckpt"
    net = network(pretrained)
    means, best = fit(net, train_set, test_set, 0.9, 4, best_file)
    assert means[-1] < means[0]
    assert best > 0.8

    again = network()
    kept = {name: value for name, value in load_checkpoint(str(best_file)).items() if "fc" in name}
    missing, _ = load_param_into_net(again, kept)
    assert "layer1.conv.weight" in missing
    load_param_into_net(again, load_checkpoint(str(best_file)))
    model = train.Model(again)
    row = next(test_set.create_dict_iterator())
    told = np.argmax(model.predict(ms.Tensor(row["image"])).asnumpy(), axis=1)
    assert (told == row["label"].asnumpy()).mean() > 0.7

    frozen = network()
    features = load_checkpoint(str(best_file))
    for name in ("fc.weight", "fc.bias"):
        del features[name]
    missing, unused = load_param_into_net(frozen, features)
    assert (missing, unused) == (["fc.weight", "fc.bias"], [])
    for parameter in frozen.get_parameters():
        if parameter.name not in ["fc.weight", "fc.bias"]:
            parameter.requires_grad = False
    assert [parameter.name for parameter in frozen.trainable_params()] == ["fc.weight", "fc.bias"]
    before = {parameter.name: parameter.asnumpy().copy() for parameter in frozen.get_parameters()}
    means, best = fit(frozen, train_set, test_set, 0.5, 4, folder / "BestCheckpoint" / "head.ckpt")
    assert means[-1] < means[0]
    assert best > 0.8
    changed = {
        parameter.name
        for parameter in frozen.get_parameters()
        if (parameter.asnumpy() != before[parameter.name]).any()
    }
    learnt = {name for name in changed if "moving" not in name}
    assert learnt == {"fc.weight", "fc.bias"}
