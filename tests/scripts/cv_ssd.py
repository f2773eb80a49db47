"""Boxes around things, in one shot: what MindSpore's tutorial ``cv/ssd`` calls.

MindRecord files read in shards, ``Decode``, ``RandomColorAdjust``, a lambda that makes four
columns of three, ``Normalize``; convolutions with dilation and in groups, ``BatchNorm2d`` with
every number given, ``ReLU6``, ``MaxPool2d(pad_mode="SAME")``, ``Dropout``; a focal loss of
``one_hot``, ``binary_cross_entropy_with_logits``, ``sigmoid`` and ``pow``, ``SmoothL1Loss`` with
``less``, ``tile``, ``expand_dims`` and ``sum``; ``initializer(TruncatedNormal)`` set into
Parameters, ``Momentum`` over a filter of the parameters with a tensor of rates and a loss scale;
boxes decoded by a Cell, chosen by non-maximum suppression in NumPy and compared with the true
ones.

References
----------
W. Liu et al., SSD: single shot multibox detector, ECCV 2016; T.-Y. Lin et al., Focal loss for
dense object detection, ICCV 2017.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import cellwire as ms
import numpy as np
from cellwire import Tensor, nn, ops, set_seed
from cellwire.amp import DynamicLossScaler
from cellwire.common.initializer import TruncatedNormal, initializer
from cellwire.dataset import MindDataset
from cellwire.dataset.vision import HWC2CHW, Decode, Normalize, RandomColorAdjust
from cellwire.mindrecord import FileWriter
from data import encoded, scenes
from PIL import Image

SIZE, CLASSES = 32, 2
MAPS, SHAPES = [4, 2], [4, 4]
MEAN, STD = [0.485 * 255, 0.456 * 255, 0.406 * 255], [0.229 * 255, 0.224 * 255, 0.225 * 255]


def anchors():
    """Boxes of four shapes at every place of both maps: centre, height and width in 0..1."""
    boxes = []
    for size, scale, between in zip(MAPS, (0.3, 0.45), (0.36, 0.55), strict=True):
        wide, tall = scale * math.sqrt(2), scale / math.sqrt(2)
        sizes = [(scale, scale), (wide, tall), (tall, wide), (between, between)]
        for row, column in itertools.product(range(size), repeat=2):
            boxes += [((row + 0.5) / size, (column + 0.5) / size, h, w) for w, h in sizes]
    return np.array(boxes, "float32")


ANCHORS = anchors()
CORNERS = np.concatenate(
    [ANCHORS[:, :2] - ANCHORS[:, 2:] / 2, ANCHORS[:, :2] + ANCHORS[:, 2:] / 2], 1
)


def overlap(boxes, box):
    """Shared over joint area of each box with one box, all as top, left, bottom, right."""
    inner = np.clip(np.minimum(boxes[:, 2:], box[2:]) - np.maximum(boxes[:, :2], box[:2]), 0, None)
    shared = inner[:, 0] * inner[:, 1]
    areas = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    return shared / (areas + np.prod(box[2:] - box[:2]) - shared)


def encode(boxes):
    """Targets of the anchors: offsets, labels, and how many anchors have a box."""
    best = np.zeros(len(ANCHORS), np.float32)
    offsets, labels = np.zeros((len(ANCHORS), 4), np.float32), np.zeros(len(ANCHORS), np.int64)
    for box in boxes:
        scores = overlap(CORNERS, box[:4])
        scores[np.argmax(scores)] = 2.0
        taken = (scores > 0.4) & (scores > best)
        best = np.maximum(best, scores * taken)
        labels = taken * int(box[4]) + (1 - taken) * labels
        place, size = (box[:2] + box[2:4]) / 2, box[2:4] - box[:2]
        shift = (place - ANCHORS[:, :2]) / (ANCHORS[:, 2:] * 0.1)
        growth = np.log(size / ANCHORS[:, 2:]) / 0.2
        offsets[taken] = np.concatenate([shift, growth], 1)[taken]
    count = np.array([len(np.nonzero(labels)[0])], np.int32)
    return offsets, labels.astype(np.int32), count


def prepare(img_id, image, annotation, is_training):
    """Resize; for training flip at random and encode the boxes, else keep the picture's sizes."""
    height, width, _ = image.shape
    image = np.asarray(Image.fromarray(image).resize((SIZE, SIZE), Image.Resampling.BILINEAR))
    if not is_training:
        return img_id, image, np.array((height, width), np.float32)
    boxes = annotation.astype(np.float32)
    boxes[:, [0, 2]] /= height
    boxes[:, [1, 3]] /= width
    if np.random.rand() < 0.5:
        image = image[:, ::-1].copy()
        boxes[:, [1, 3]] = 1 - boxes[:, [3, 1]]
    return image, *encode(boxes)


def write_records(path, truth):
    """Write scenes as JPEG with their boxes; ``truth`` is what they hold."""
    writer = FileWriter(str(path), shard_num=1)
    writer.add_schema(
        {
            "img_id": {"type": "int32", "shape": [1]},
            "image": {"type": "bytes"},
            "annotation": {"type": "int32", "shape": [-1, 5]},
        },
        "scenes",
    )
    rows = [
        {
            "img_id": np.array([number], np.int32),
            "image": encoded(pixels),
            "annotation": np.array([[*box, 1]], np.int32),
        }
        for number, (pixels, box, _) in enumerate(truth)
    ]
    writer.write_raw_data(rows)
    writer.commit()


def pipeline(file, batch_size, is_training=True):
    """Batches for training, with four columns, or for telling, with three."""
    rows = MindDataset(
        file, columns_list=["img_id", "image", "annotation"], num_shards=1, shard_id=0,
        num_parallel_workers=1, shuffle=is_training,
    )  # fmt: skip
    rows = rows.map(operations=Decode(), input_columns=["image"])
    after = [Normalize(mean=MEAN, std=STD), HWC2CHW()]
    if is_training:
        columns = ["image", "box", "label", "num_match"]
        after = [RandomColorAdjust(brightness=0.4, contrast=0.4, saturation=0.4), *after]
    else:
        columns = ["img_id", "image", "image_shape"]
    make = lambda img_id, image, annotation: prepare(img_id, image, annotation, is_training)  # noqa: E731
    rows = rows.map(
        operations=make, input_columns=["img_id", "image", "annotation"], output_columns=columns,
        python_multiprocessing=True, num_parallel_workers=1,
    )  # fmt: skip
    rows = rows.map(
        operations=after, input_columns=["image"], python_multiprocessing=True,
        num_parallel_workers=1,
    )  # fmt: skip
    return rows.batch(batch_size, drop_remainder=True)


def layers(channels):
    """Convolutions of 3×3, each normalised and cut at zero."""
    cells = []
    for inner, outer in itertools.pairwise(channels):
        cells.append(nn.Conv2d(in_channels=inner, out_channels=outer, kernel_size=3))
        cells.append(nn.BatchNorm2d(outer))
        cells.append(nn.ReLU())
    return nn.SequentialCell(cells)


def head(inner, outer):
    """A depthwise and a pointwise convolution."""
    return nn.SequentialCell(
        [
            nn.Conv2d(inner, inner, 3, 1, pad_mode="same", padding=0, group=inner),
            nn.BatchNorm2d(
                inner, eps=1e-3, momentum=0.9, gamma_init=1, beta_init=0, moving_mean_init=0,
                moving_var_init=1,
            ),
            nn.ReLU6(),
            nn.Conv2d(
                inner, outer, kernel_size=1, stride=1, padding=0, pad_mode="same", has_bias=True
            ),
        ]
    )  # fmt: skip


class FlattenConcat(nn.Cell):
    """What the heads of all maps say, an anchor a row."""

    def construct(self, inputs):
        output = ()
        batch = ops.shape(inputs[0])[0]
        for x in inputs:
            x = ops.transpose(x, (0, 2, 3, 1))
            output += (ops.reshape(x, (batch, -1)),)
        return ops.reshape(ops.concat(output, axis=1), (batch, len(ANCHORS), -1))


class MultiBox(nn.Cell):
    """Offsets and scores for the anchors of each map."""

    def __init__(self, channels):
        super().__init__()
        offsets, scores = [], []
        for inner, count in zip(channels, SHAPES, strict=True):
            offsets += [head(inner, 4 * count)]
            scores += [head(inner, CLASSES * count)]
        self.multi_loc_layers = nn.CellList(offsets)
        self.multi_cls_layers = nn.CellList(scores)
        self.flatten_concat = FlattenConcat()

    def construct(self, inputs):
        offsets, scores = (), ()
        for i in range(len(self.multi_loc_layers)):
            offsets += (self.multi_loc_layers[i](inputs[i]),)
            scores += (self.multi_cls_layers[i](inputs[i]),)
        return self.flatten_concat(offsets), self.flatten_concat(scores)


class Detector(nn.Cell):
    """A backbone, a dilated convolution, two maps and their heads."""

    def __init__(self):
        super().__init__()
        self.b1, self.b2, self.b3 = layers([3, 8]), layers([8, 16]), layers([16, 24])
        self.m1 = nn.MaxPool2d(kernel_size=2, stride=2, pad_mode="SAME")
        self.m2 = nn.MaxPool2d(kernel_size=2, stride=2, pad_mode="SAME")
        self.m3 = nn.MaxPool2d(kernel_size=2, stride=2, pad_mode="SAME")
        self.wide = nn.Conv2d(
            in_channels=24, out_channels=24, kernel_size=3, padding=2, dilation=2, pad_mode="pad"
        )
        self.drop = nn.Dropout(p=0.1)
        self.narrow = nn.Conv2d(
            in_channels=24, out_channels=16, kernel_size=1, padding=1, pad_mode="pad"
        )
        self.smaller = nn.Conv2d(
            in_channels=16, out_channels=24, kernel_size=3, stride=2, pad_mode="valid"
        )
        self.multi_box = MultiBox([24, 24])

    def construct(self, x):
        x = self.m3(self.b3(self.m2(self.b2(self.m1(self.b1(x))))))
        first = self.drop(self.wide(x))
        second = self.smaller(self.narrow(first))
        offsets, scores = self.multi_box((first, second))
        if not self.training:
            scores = ops.sigmoid(scores)
        return offsets.astype(ms.float32), scores.astype(ms.float32)


def focal_loss(logits, label):
    """Cross-entropy of each class by itself; what is told well counts little."""
    depth = ops.shape(logits)[-1]
    label = ops.one_hot(label, depth, Tensor(1.0, ms.float32), Tensor(0.0, ms.float32))
    weight, pos_weight = ops.ones_like(logits), ops.ones_like(logits)
    entropy = ops.binary_cross_entropy_with_logits(
        logits, label, weight.astype(ms.float32), pos_weight.astype(ms.float32), "none"
    )
    chance = ops.sigmoid(logits)
    right = label * chance + (1 - label) * (1 - chance)
    share = label * 0.75 + (1 - label) * (1 - 0.75)
    return ops.pow(1 - right, 2.0) * share * entropy


class Decoder(nn.Cell):
    """A detector with the weights of a file whose offsets become corners of boxes."""

    def __init__(self, network, default_boxes, file):
        super().__init__()
        ms.load_param_into_net(network, ms.load_checkpoint(file))
        self.network = network
        self.default_boxes = default_boxes

    def construct(self, x):
        offsets, scores = self.network(x)
        place, size = self.default_boxes[..., :2], self.default_boxes[..., 2:]
        centre = offsets[..., :2] * 0.1 * size + place
        size = ops.exp(offsets[..., 2:] * 0.2) * size
        corners = ops.concat((centre - size / 2.0, centre + size / 2.0), -1)
        return ops.minimum(ops.maximum(corners, 0), 1), scores


def suppressed(boxes, scores, threshold, most):
    """Numbers of the boxes that no better box overlaps by more than the threshold."""
    order, kept = scores.argsort()[::-1], []
    while order.size and len(kept) < most:
        kept.append(order[0])
        order = order[1:][overlap(boxes[order[1:]], boxes[order[0]]) <= threshold]
    return kept


def found(boxes, scores, sizes):
    """What is told of one picture: class, score and box in pixels."""
    things = []
    for kind in range(1, CLASSES):
        sure = scores[:, kind] > 0.1
        own, own_scores = boxes[sure] * [*sizes, *sizes], scores[sure, kind]
        for i in suppressed(own, own_scores, 0.6, 10):
            things.append((own_scores[i], kind, own[i]))
    return sorted(things, key=lambda thing: -thing[0])


def rates(steps, start, highest, warmup):
    """Rates that rise for the first steps and then follow a cosine."""
    numbers = [start + (highest - start) * i / warmup for i in range(warmup)]
    rest = steps - warmup
    numbers += [highest * (1.0 + math.cos(math.pi * i / rest)) / 2.0 for i in range(rest)]
    return np.array(numbers).astype(np.float32)


def main(folder: Path) -> None:
    set_seed(1)
    truth, epochs = scenes(16, 40), 16
    write_records(folder / "ssd.mindrecord0", truth)
    rows = pipeline(str(folder / "ssd.mindrecord0"), 4)
    steps = rows.get_dataset_size()
    image, offsets, label, matched = next(rows.create_tuple_iterator())
    assert image.shape == (4, 3, SIZE, SIZE)
    assert (offsets.shape, label.shape) == ((4, len(ANCHORS), 4), (4, len(ANCHORS)))
    assert (matched.asnumpy() > 0).all()

    net = Detector()
    for p in net.trainable_params():
        if "beta" not in p.name and "gamma" not in p.name and "bias" not in p.name:
            p.set_data(initializer(TruncatedNormal(0.2), p.data.shape, p.data.dtype))
    optimizer = nn.Momentum(
        filter(lambda x: x.requires_grad, net.get_parameters()),
        Tensor(rates(steps * epochs, 0.001, 0.06, 8)),
        0.9,
        0.00015,
        float(1024),
    )
    scaler = DynamicLossScaler(1024, 2, 1000)

    def forward(x, offsets, label, matched):
        told_offsets, told_scores = net(x)
        mask = ops.less(0, label).astype(ms.float32)
        matched = ops.sum(matched.astype(ms.float32))
        mask = ops.tile(ops.expand_dims(mask, -1), (1, 1, 4))
        place_loss = nn.SmoothL1Loss()(told_offsets, offsets) * mask
        place_loss = ops.sum(ops.sum(place_loss, -1), -1)
        class_loss = ops.sum(focal_loss(told_scores, label), (1, 2))
        return scaler.scale(ops.sum((class_loss + place_loss) / matched))

    gradient = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=False)
    iterator, means = rows.create_tuple_iterator(num_epochs=epochs), []
    for _ in range(epochs):
        net.set_train(True)
        losses = []
        for image, offsets, label, matched in iterator:
            loss, grads = gradient(image, offsets, label, matched)
            optimizer(grads)
            losses.append(float(scaler.unscale(loss)))
        means.append(sum(losses) / len(losses))
    print(f"losses {means}")
    assert means[-1] < means[0] / 3
    ms.save_checkpoint(net, str(folder / "ssd.ckpt"))

    decoder = Decoder(Detector(), Tensor(ANCHORS), str(folder / "ssd.ckpt"))
    decoder.set_train(False)
    right = 0
    told = pipeline(str(folder / "ssd.mindrecord0"), 1, is_training=False)
    for row in told.create_dict_iterator(output_numpy=True, num_epochs=1):
        corners, scores = decoder(Tensor(row["image"]))
        number = int(np.squeeze(row["img_id"][0]))
        things = found(corners.asnumpy()[0], scores.asnumpy()[0], row["image_shape"][0])
        _, box, _ = truth[number]
        if things:
            right += overlap(things[0][2][None], np.array(box, np.float64))[0] > 0.4
    print(f"{right} of {len(truth)} boxes are right")
    assert right > len(truth) * 0.5
