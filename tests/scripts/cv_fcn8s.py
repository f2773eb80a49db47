"""A class for every pixel: what MindSpore's tutorial ``cv/fcn8s`` calls.

Pictures and masks as bytes in a MindRecord file, ``MindDataset`` with chosen columns, one Python
method mapped over two columns, ``shuffle``, ``config.set_numa_enable``; a fully convolutional
network of ``Conv2d``, ``BatchNorm2d``, ``MaxPool2d`` and ``Conv2dTranspose`` with
``"xavier_uniform"`` weights and skips; a part of its weights from a file;
``CrossEntropyLoss(ignore_index=255)``; metrics of its own over ``train.Metric``;
``DynamicLossScaleManager``, ``Model.train`` with callbacks, ``Model.eval``.

References
----------
J. Long, E. Shelhamer, T. Darrell, Fully convolutional networks for semantic segmentation,
CVPR 2015.
"""

from __future__ import annotations

import io
from pathlib import Path

import cellwire as ms
import cellwire.dataset as ds
import numpy as np
from cellwire import Tensor, load_checkpoint, load_param_into_net, nn, train
from cellwire.mindrecord import FileWriter
from cellwire.train import CheckpointConfig, LossMonitor, Model, ModelCheckpoint, TimeMonitor
from data import encoded, scenes
from PIL import Image

CROP, CLASSES, IGNORED = 32, 3, 255
MEAN = np.array([103.53, 116.28, 123.675], np.float32)
STD = np.array([57.375, 57.120, 58.395], np.float32)


def write_records(path, count):
    """Write scenes and their masks; a strip of each mask counts for nothing."""
    writer = FileWriter(str(path))
    writer.add_schema({"data": {"type": "bytes"}, "label": {"type": "bytes"}}, "scenes")
    rows = []
    for pixels, (top, left, bottom, right), kind in scenes(count, 40):
        mask = np.zeros((40, 40), np.uint8)
        mask[top:bottom, left:right] = kind
        mask[:1] = IGNORED
        rows.append({"data": encoded(pixels), "label": encoded(mask, "PNG")})
    writer.write_raw_data(rows)
    writer.commit()


class Scenes:
    """Rows of the records: scaled, padded, cropped and flipped at random."""

    def __init__(self, file, batch_size, scales=(0.7, 1.2)):
        self.file, self.batch_size, self.scales = file, batch_size, scales

    def prepare(self, image, label):
        picture = Image.open(io.BytesIO(image.tobytes())).convert("RGB")
        mask = Image.open(io.BytesIO(label.tobytes()))
        scale = np.random.uniform(*self.scales)
        width, height = int(scale * picture.width), int(scale * picture.height)
        pixels = np.asarray(picture.resize((width, height), Image.Resampling.BICUBIC))
        mask = np.asarray(mask.resize((width, height), Image.Resampling.NEAREST))
        pixels = (pixels - MEAN) / STD
        missing = (0, max(CROP - height, 0)), (0, max(CROP - width, 0))
        pixels = np.pad(pixels, (*missing, (0, 0)))
        mask = np.pad(mask, missing, constant_values=IGNORED)
        top = np.random.randint(0, len(pixels) - CROP + 1)
        left = np.random.randint(0, len(pixels[0]) - CROP + 1)
        cut = slice(top, top + CROP), slice(left, left + CROP)
        pixels, mask = pixels[cut], mask[cut]
        if np.random.uniform(0.0, 1.0) > 0.5:
            pixels, mask = pixels[:, ::-1], mask[:, ::-1]
        return pixels.transpose((2, 0, 1)).copy(), mask.copy().astype("int32")

    def rows(self):
        ds.config.set_numa_enable(True)
        rows = ds.MindDataset(
            self.file, columns_list=["data", "label"], shuffle=True, num_parallel_workers=1
        )
        rows = rows.map(
            operations=self.prepare, input_columns=["data", "label"],
            output_columns=["data", "label"], num_parallel_workers=1,
        )  # fmt: skip
        rows = rows.shuffle(buffer_size=self.batch_size * 10)
        return rows.batch(self.batch_size, drop_remainder=True)


def convolutions(inner, outer, count, kernel_size=3):
    """Convolutions of the same size, each normalised and cut at zero."""
    layers = []
    for _ in range(count):
        layers += [
            nn.Conv2d(
                in_channels=inner, out_channels=outer, kernel_size=kernel_size,
                weight_init="xavier_uniform",
            ),
            nn.BatchNorm2d(outer),
            nn.ReLU(),
        ]  # fmt: skip
        inner = outer
    return nn.SequentialCell(*layers)


def scores(inner):
    return nn.Conv2d(
        in_channels=inner, out_channels=CLASSES, kernel_size=1, weight_init="xavier_uniform"
    )


def larger(factor):
    return nn.Conv2dTranspose(
        in_channels=CLASSES, out_channels=CLASSES, kernel_size=2 * factor, stride=factor,
        weight_init="xavier_uniform",
    )  # fmt: skip


class FCN(nn.Cell):
    """Four sizes of feature maps; the scores of three of them are enlarged and added."""

    def __init__(self):
        super().__init__()
        self.conv1 = convolutions(3, 8, 1)
        self.pool1 = nn.MaxPool2d(kernel_size=2, stride=2)
        self.conv2 = convolutions(8, 12, 1)
        self.pool2 = nn.MaxPool2d(kernel_size=2, stride=2)
        self.conv3 = convolutions(12, 16, 2)
        self.pool3 = nn.MaxPool2d(kernel_size=2, stride=2)
        self.conv4 = convolutions(16, 16, 1, kernel_size=5)
        self.score_fr, self.upscore2 = scores(16), larger(2)
        self.score_pool2, self.upscore_pool2 = scores(12), larger(2)
        self.score_pool1, self.upscore = scores(8), larger(2)

    def construct(self, x):
        p1 = self.pool1(self.conv1(x))
        p2 = self.pool2(self.conv2(p1))
        x = self.conv4(self.pool3(self.conv3(p2)))
        fused = self.score_pool2(p2) + self.upscore2(self.score_fr(x))
        fused = self.score_pool1(p1) + self.upscore_pool2(fused)
        return self.upscore(fused)


class Counts(train.Metric):
    """Pixels by class and by the class they are told to be."""

    def __init__(self, num_class=CLASSES):
        super().__init__()
        self.num_class = num_class
        self.clear()

    def clear(self):
        self.matrix = np.zeros((self.num_class,) * 2)

    def update(self, *inputs):
        told = inputs[0].asnumpy().argmax(axis=1)
        true = inputs[1].asnumpy().reshape(told.shape)
        valid = (true >= 0) & (true < self.num_class)
        pairs = self.num_class * true[valid].astype("int") + told[valid]
        self.matrix += np.bincount(pairs, minlength=self.num_class**2).reshape(self.matrix.shape)

    def eval(self):
        return self.matrix


class PixelAccuracy(Counts):
    """Share of the pixels that are told right."""

    def eval(self):
        return np.diag(self.matrix).sum() / self.matrix.sum()


class MeanIntersectionOverUnion(Counts):
    """Shared over joint pixels, the mean of the classes."""

    def eval(self):
        right = np.diag(self.matrix)
        return np.nanmean(right / (self.matrix.sum(axis=1) + self.matrix.sum(axis=0) - right))


def main(folder: Path) -> None:
    file = str(folder / "scenes.mindrecord")
    write_records(folder / "scenes.mindrecord", 24)
    rows = Scenes(file, 6).rows()
    row = next(rows.create_dict_iterator())
    assert (row["data"].shape, row["data"].dtype) == ((6, 3, CROP, CROP), ms.float32)
    assert (row["label"].shape, row["label"].dtype) == ((6, CROP, CROP), ms.int32)

    ms.set_context(device_target="CPU")
    pretrained = str(folder / "backbone.ckpt")
    ms.save_checkpoint(convolutions(3, 8, 1), pretrained)
    net = FCN()
    renamed = {f"conv1.{name}": value for name, value in load_checkpoint(pretrained).items()}
    missing, unused = load_param_into_net(net, renamed)
    assert unused == []
    assert all(not name.startswith("conv1.") for name in missing)

    steps, epochs = rows.get_dataset_size(), 6
    assert steps == 4
    rates = nn.cosine_decay_lr(0.0005, 0.05, steps * 2, steps, decay_epoch=2)
    loss_fn = nn.CrossEntropyLoss(ignore_index=IGNORED)
    optimizer = nn.Momentum(
        params=net.trainable_params(), learning_rate=Tensor(rates[0]), momentum=0.9,
        weight_decay=0.0001,
    )  # fmt: skip
    metrics = {"pixel accuracy": PixelAccuracy(), "mean IoU": MeanIntersectionOverUnion()}
    scales = ms.amp.DynamicLossScaleManager(4, 3000)
    model = Model(
        net, loss_fn=loss_fn, optimizer=optimizer, loss_scale_manager=scales, metrics=metrics
    )
    before = model.eval(rows)
    callbacks = [TimeMonitor(data_size=steps), LossMonitor()]
    config = CheckpointConfig(save_checkpoint_steps=10, keep_checkpoint_max=5)
    callbacks.append(ModelCheckpoint(prefix="FCN8s", directory=str(folder / "ckpt"), config=config))
    model.train(epochs, rows, callbacks=callbacks)

    net = FCN()
    last = max((folder / "ckpt").glob("*.ckpt"), key=lambda path: path.stat().st_mtime_ns)
    load_param_into_net(net, load_checkpoint(str(last)))
    model = Model(net, loss_fn=loss_fn, optimizer=optimizer, metrics=metrics)
    result = model.eval(rows)
    print(before, result)
    assert result["pixel accuracy"] > max(0.8, before["pixel accuracy"])
    assert result["mean IoU"] > max(0.4, before["mean IoU"])

    row = next(rows.create_dict_iterator())
    masks = row["label"].reshape([6, CROP, CROP])
    told = net(row["data"]).asnumpy().argmax(axis=1)
    assert (told == masks.asnumpy()).mean() > 0.7
