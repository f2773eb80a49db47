"""A transformer over patches of pictures: what MindSpore's tutorial ``cv/vit`` calls.

``ImageFolderDataset``, ``RandomCropDecodeResize`` and the usual transforms; attention by
``ops.BatchMatMul``, ``reshape``, ``transpose``, ``unstack`` and ``Softmax``, ``LayerNorm``,
``GELU``, ``Dropout``, patches by ``Conv2d``, Parameters from ``initializer(...).init_data()``,
``tile``, ``concat``; a loss over ``LossBase`` with ``OneHot`` and smoothed labels,
``cosine_decay_lr``, ``Adam`` with its numbers by position, ``Model.train`` with
``ModelCheckpoint``, ``CheckpointConfig``, ``LossMonitor``, ``TimeMonitor``; ``Model.eval`` with two
accuracies, ``Model.predict``.

References
----------
A. Dosovitskiy et al., An image is worth 16x16 words, ICLR 2021.
"""

from __future__ import annotations

import os
from pathlib import Path

import cellwire as ms
import numpy as np
from cellwire import Parameter, nn, ops, train
from cellwire.common.initializer import Normal, initializer
from cellwire.dataset import ImageFolderDataset
from cellwire.dataset import vision as transforms
from cellwire.nn import LossBase
from cellwire.train import CheckpointConfig, LossMonitor, ModelCheckpoint, TimeMonitor
from data import write_image_folder
from PIL import Image

SIZE = 32
NAMES = ["beagle", "collie", "doberman"]


class Attention(nn.Cell):
    """Each patch looks at every other, in several heads at once."""

    def __init__(self, size, heads, keep=1.0):
        super().__init__()
        self.heads = heads
        self.scale = ms.Tensor((size // heads) ** -0.5)
        self.qkv = nn.Dense(size, size * 3)
        self.attention_drop = nn.Dropout(p=1.0 - keep)
        self.out = nn.Dense(size, size)
        self.out_drop = nn.Dropout(p=1.0 - keep)
        self.weigh = ops.BatchMatMul()
        self.compare = ops.BatchMatMul(transpose_b=True)
        self.softmax = nn.Softmax(axis=-1)

    def construct(self, x):
        batch, patches, size = x.shape
        qkv = ops.reshape(self.qkv(x), (batch, patches, 3, self.heads, size // self.heads))
        q, k, v = ops.unstack(ops.transpose(qkv, (2, 0, 3, 1, 4)), axis=0)
        weights = self.softmax(ops.mul(self.compare(q, k), self.scale))
        out = self.weigh(self.attention_drop(weights), v)
        out = ops.reshape(ops.transpose(out, (0, 2, 1, 3)), (batch, patches, size))
        return self.out_drop(self.out(out))


class FeedForward(nn.Cell):
    """Two dense layers over each patch."""

    def __init__(self, size, hidden, activation=nn.GELU, keep=1.0):
        super().__init__()
        self.dense1 = nn.Dense(size, hidden)
        self.activation = activation()
        self.dense2 = nn.Dense(hidden, size)
        self.dropout = nn.Dropout(p=1.0 - keep)

    def construct(self, x):
        x = self.dropout(self.activation(self.dense1(x)))
        return self.dropout(self.dense2(x))


class Residual(nn.Cell):
    """A Cell beside a shortcut."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def construct(self, x):
        return self.cell(x) + x


class PatchEmbedding(nn.Cell):
    """Patches as vectors, by a convolution whose stride is its kernel."""

    def __init__(self, image_size, patch_size, size, channels=3):
        super().__init__()
        self.count = (image_size // patch_size) ** 2
        self.conv = nn.Conv2d(
            channels, size, kernel_size=patch_size, stride=patch_size, has_bias=True
        )

    def construct(self, x):
        x = self.conv(x)
        batch, size, height, width = x.shape
        return ops.transpose(ops.reshape(x, (batch, size, height * width)), (0, 2, 1))


def learnt(shape, name):
    """A Parameter whose numbers are drawn at once."""
    return Parameter(
        initializer(Normal(sigma=0.1), shape, ms.float32).init_data(), name=name, requires_grad=True
    )


class ViT(nn.Cell):
    """Patches and a class token through layers of attention; the token tells the class."""

    def __init__(self, classes, size=16, layers=2, heads=2, keep=1.0, norm=nn.LayerNorm):
        super().__init__()
        self.patch_embedding = PatchEmbedding(SIZE, 8, size)
        self.cls_token = learnt((1, 1, size), "cls")
        self.pos_embedding = learnt((1, self.patch_embedding.count + 1, size), "pos_embedding")
        self.pos_dropout = nn.Dropout(p=1.0 - keep)
        blocks = []
        for _ in range(layers):
            attention = nn.SequentialCell([norm((size,)), Attention(size, heads, keep)])
            forward = nn.SequentialCell([norm((size,)), FeedForward(size, 2 * size, keep=keep)])
            blocks.append(nn.SequentialCell([Residual(attention), Residual(forward)]))
        self.transformer = nn.SequentialCell(blocks)
        self.norm = norm((size,))
        self.dropout = nn.Dropout(p=1.0 - keep)
        self.dense = nn.Dense(size, classes)

    def construct(self, x):
        x = self.patch_embedding(x)
        token = ops.tile(self.cls_token.astype(x.dtype), (x.shape[0], 1, 1))
        x = ops.concat((token, x), axis=1)
        x += self.pos_embedding
        x = self.norm(self.transformer(self.pos_dropout(x)))[:, 0]
        if self.training:
            x = self.dropout(x)
        return self.dense(x)


class SmoothCrossEntropy(LossBase):
    """Cross-entropy whose labels leave something to the other classes."""

    def __init__(self, sparse=True, reduction="mean", smooth_factor=0.0, num_classes=10):
        super().__init__()
        self.onehot = ops.OneHot()
        self.sparse = sparse
        self.on_value = ms.Tensor(1.0 - smooth_factor, ms.float32)
        self.off_value = ms.Tensor(1.0 * smooth_factor / (num_classes - 1), ms.float32)
        self.ce = nn.SoftmaxCrossEntropyWithLogits(reduction=reduction)

    def construct(self, logit, label):
        if self.sparse:
            label = self.onehot(label, ops.shape(logit)[1], self.on_value, self.off_value)
        return self.ce(logit, label)


def pipeline(path, steps, batch_size):
    """Whole batches of the pictures of a folder."""
    mean, std = [0.485 * 255, 0.456 * 255, 0.406 * 255], [0.229 * 255, 0.224 * 255, 0.225 * 255]
    steps = [*steps, transforms.Normalize(mean=mean, std=std), transforms.HWC2CHW()]
    rows = ImageFolderDataset(str(path), shuffle=True).map(
        operations=steps, input_columns=["image"]
    )
    return rows.batch(batch_size=batch_size, drop_remainder=True)


def datasets(folder):
    """Training pictures cut at random, pictures for the accuracy, and one to tell."""
    write_image_folder(folder / "train", dict.fromkeys(NAMES, 10))
    write_image_folder(folder / "val", dict.fromkeys(NAMES, 5), seed=8)
    write_image_folder(folder / "infer", {"unknown": 1}, seed=9, suffix=".png")
    cut = transforms.RandomCropDecodeResize(size=SIZE, scale=(0.6, 1.0), ratio=(0.75, 1.333))
    flip = transforms.RandomHorizontalFlip(prob=0.5)
    middle = [transforms.Decode(), transforms.Resize(SIZE + 4), transforms.CenterCrop(SIZE)]
    whole = [transforms.Decode(), transforms.Resize([SIZE, SIZE])]
    return (
        pipeline(folder / "train", [cut, flip], 10),
        pipeline(folder / "val", middle, 5),
        pipeline(folder / "infer", whole, 1),
    )


def main(folder: Path) -> None:
    train_set, test_set, one_set = datasets(folder)
    steps, epochs = train_set.get_dataset_size(), 8
    assert steps == 3
    ms.save_checkpoint(ViT(3), str(folder / "vit.ckpt"))
    net = ViT(3)
    assert net.cls_token.name == "cls"
    missing, _ = ms.load_param_into_net(net, ms.load_checkpoint(str(folder / "vit.ckpt")))
    assert missing == []
    rate = nn.cosine_decay_lr(
        min_lr=float(0),
        max_lr=0.02,
        total_step=epochs * steps,
        step_per_epoch=steps,
        decay_epoch=10,
    )
    optimizer = nn.Adam(net.trainable_params(), rate, 0.9)
    loss_fn = SmoothCrossEntropy(sparse=True, reduction="mean", smooth_factor=0.1, num_classes=3)
    config = CheckpointConfig(save_checkpoint_steps=steps, keep_checkpoint_max=100)
    saving = ModelCheckpoint(prefix="vit", directory=str(folder / "ViT"), config=config)
    level = "O2" if ms.get_context("device_target") == "Ascend" else "O0"
    model = train.Model(net, loss_fn=loss_fn, optimizer=optimizer, metrics={"acc"}, amp_level=level)
    before = model.eval(test_set)["acc"]
    model.train(
        epochs, train_set, callbacks=[saving, LossMonitor(3), TimeMonitor(3)],
        dataset_sink_mode=False,
    )  # fmt: skip
    saved = sorted(name for name in os.listdir(folder / "ViT") if name.endswith(".ckpt"))
    assert f"vit-{epochs}_{steps}.ckpt" in saved
    assert len(saved) == epochs

    net = ViT(3)
    ms.load_param_into_net(
        net, ms.load_checkpoint(str(folder / "ViT" / f"vit-{epochs}_{steps}.ckpt"))
    )
    metrics = {
        "Top_1_Accuracy": train.Top1CategoricalAccuracy(),
        "Top_2_Accuracy": train.TopKCategoricalAccuracy(2),
    }
    model = train.Model(net, loss_fn=loss_fn, optimizer=optimizer, metrics=metrics, amp_level=level)
    result = model.eval(test_set)
    print(before, result)
    assert result["Top_2_Accuracy"] >= result["Top_1_Accuracy"] > 0.7

    for row in one_set.create_dict_iterator(output_numpy=True):
        scores = model.predict(ms.Tensor(row["image"]))
        told = np.argmax(scores.asnumpy(), axis=1)
        assert NAMES[int(told[0])] == "beagle"
        picture = np.asarray(Image.open(folder / "infer" / "unknown" / "000.png").convert("RGB"))
        assert picture.shape == (40, 40, 3)
