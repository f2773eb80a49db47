"""Pictures of one kind as pictures of another, unpaired: what ``generative/cyclegan`` calls.

A MindRecord file through ``MindDataset(dataset_files=...)``; generators of ``Conv2d``, ``Pad`` that
mirrors, ``BatchNorm2d(affine=False)``, ``Conv2dTranspose``, one residual block that occurs several
times in a ``SequentialCell``; patch discriminators; ``update_parameters_name``, ``set_grad``;
``L1Loss``, ``MSELoss`` against ``ones_like`` times a bool tensor; four ``Adam``, four functions of
``value_and_grad``, a pool of pictures as a tensor from a list; a ``GeneratorDataset`` of pictures
and names, ``astype(np.uint8)`` of tensors.

References
----------
J.-Y. Zhu, T. Park, P. Isola, A. Efros, Unpaired image-to-image translation using cycle-consistent
adversarial networks, ICCV 2017.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import cellwire as ms
import cellwire.dataset as ds
import numpy as np
from cellwire import (
    Tensor,
    dtype,
    load_checkpoint,
    load_param_into_net,
    nn,
    ops,
    save_checkpoint,
    value_and_grad,
)
from cellwire.common.initializer import Normal
from cellwire.dataset import MindDataset, vision
from cellwire.mindrecord import FileWriter
from data import striped_pictures, write_image_folder
from PIL import Image

SIZE, MEAN, STD = 16, 0.5 * 255, 0.5 * 255
weight_init = Normal(sigma=0.1)


def block(
    inner, outer, kernel_size=4, stride=2, alpha=0.2, norm_mode="instance", pad_mode="CONSTANT",
    use_relu=True, padding=None, transpose=False,
):  # fmt: skip
    """Padding, a convolution, its normalisation and a rectifier."""
    norm = nn.BatchNorm2d(outer)
    if norm_mode == "instance":
        norm = nn.BatchNorm2d(outer, affine=False)
    has_bias = norm_mode == "instance"
    if padding is None:
        padding = (kernel_size - 1) // 2
    options = {"has_bias": has_bias, "weight_init": weight_init}
    if transpose:
        conv = nn.Conv2dTranspose(inner, outer, kernel_size, stride, pad_mode="same", **options)
        layers = [conv, norm]
    elif pad_mode == "CONSTANT":
        conv = nn.Conv2d(
            inner, outer, kernel_size, stride, pad_mode="pad", padding=padding, **options
        )
        layers = [conv, norm]
    else:
        paddings = ((0, 0), (0, 0), (padding, padding), (padding, padding))
        conv = nn.Conv2d(inner, outer, kernel_size, stride, pad_mode="pad", **options)
        layers = [nn.Pad(paddings=paddings, mode=pad_mode), conv, norm]
    if use_relu:
        layers.append(nn.LeakyReLU(alpha) if alpha > 0 else nn.ReLU())
    return nn.SequentialCell(layers)


class Residual(nn.Cell):
    """Two convolutions beside a shortcut."""

    def __init__(self, size, norm_mode="instance", dropout=False, pad_mode="CONSTANT"):
        super().__init__()
        self.conv1 = block(size, size, 3, 1, 0, norm_mode, pad_mode)
        self.conv2 = block(size, size, 3, 1, 0, norm_mode, pad_mode, use_relu=False)
        self.dropout = dropout
        if dropout:
            self.dropout = nn.Dropout(p=0.5)

    def construct(self, x):
        out = self.conv1(x)
        if self.dropout:
            out = self.dropout(out)
        return x + self.conv2(out)


class Generator(nn.Cell):
    """Half the size, residual blocks, the whole size again."""

    def __init__(self, width=4, count=2, pad_mode="CONSTANT"):
        super().__init__()
        self.conv_in = block(3, width, 3, 1, 0.2, pad_mode=pad_mode)
        self.down = block(width, width * 2, 3, 2, 0.2)
        self.residuals = nn.SequentialCell([Residual(width * 2, pad_mode=pad_mode)] * count)
        self.up = block(width * 2, width, 3, 2, 0.2, transpose=True)
        self.conv_out = nn.Conv2d(
            width, 3, kernel_size=3, stride=1, pad_mode="pad", padding=1, weight_init=weight_init
        )

    def construct(self, x):
        x = self.up(self.residuals(self.down(self.conv_in(x))))
        return ops.tanh(self.conv_out(x))


class Discriminator(nn.Cell):
    """One number a patch: whether it is a real one's."""

    def __init__(self, width=4):
        super().__init__()
        self.features = nn.SequentialCell(
            [
                nn.Conv2d(3, width, 4, 2, pad_mode="pad", padding=1, weight_init=weight_init),
                nn.LeakyReLU(0.2),
                block(width, width * 2, 4, 2, 0.2, padding=1),
                nn.Conv2d(width * 2, 1, 4, 1, pad_mode="pad", padding=1, weight_init=weight_init),
            ]
        )

    def construct(self, x):
        return self.features(x)


def write_records(path, count):
    """Pairs of pictures of both kinds in -1..1; they have nothing to do with each other."""
    field = {"type": "float32", "shape": [3, SIZE, SIZE]}
    writer = FileWriter(str(path))
    writer.add_schema({"image_A": field, "image_B": field})
    kinds = [striped_pictures([label] * count, SIZE, label) for label in (0, 3)]
    scaled = [((kind - MEAN) / STD).astype(np.float32).transpose(0, 3, 1, 2) for kind in kinds]
    writer.write_raw_data([{"image_A": a, "image_B": b} for a, b in zip(*scaled, strict=True)])
    writer.commit()


def image_pool(images, pool, size=4):
    """Pictures from earlier steps in the place of some of these."""
    if isinstance(images, Tensor):
        images = images.asnumpy()
    chosen = []
    for image in images:
        if len(pool) < size:
            pool.append(image)
            chosen.append(image)
        elif random.uniform(0, 1) > 0.5:
            number = random.randint(0, size - 1)
            chosen.append(pool[number].copy())
            pool[number] = image
        else:
            chosen.append(image)
    output = Tensor(chosen, ms.float32)
    assert output.ndim == 4
    return output


class Game:
    """Both generators, both discriminators, their losses and steps."""

    def __init__(self):
        self.nets = {"g_a": Generator(), "g_b": Generator(pad_mode="REFLECT")}
        self.nets |= {"d_a": Discriminator(), "d_b": Discriminator()}
        for name, net in self.nets.items():
            net.update_parameters_name(f"net_{name}.")
        self.optimizers = {
            name: nn.Adam(net.trainable_params(), learning_rate=0.01, beta1=0.5)
            for name, net in self.nets.items()
        }
        self.mse, self.l1 = nn.MSELoss(reduction="mean"), nn.L1Loss("mean")
        forward = {
            "g_a": self.generator_loss,
            "g_b": self.generator_loss,
            "d_a": lambda real, fake: self.discriminator_loss("d_a", real, fake),
            "d_b": lambda real, fake: self.discriminator_loss("d_b", real, fake),
        }
        self.gradients = {
            name: value_and_grad(forward[name], None, net.trainable_params())
            for name, net in self.nets.items()
        }
        self.pools = {"a": [], "b": []}

    def gan_loss(self, told, target):
        return self.mse(told, ops.ones_like(told) * target)

    def generators(self, a, b):
        """What both make, and all the losses; their sum comes third."""
        true = Tensor(True, dtype.bool_)
        to_b, to_a = self.nets["g_a"], self.nets["g_b"]
        fake_a, fake_b = to_a(b), to_b(a)
        loss_g = self.gan_loss(self.nets["d_b"](fake_b), true)
        loss_g += self.gan_loss(self.nets["d_a"](fake_a), true)
        cycle = (self.l1(to_a(fake_b), a) + self.l1(to_b(fake_a), b)) * 10.0
        same = (self.l1(to_a(a), a) + self.l1(to_b(b), b)) * 10.0 * 0.5
        return fake_a, fake_b, loss_g + cycle + same, loss_g, cycle, same

    def generator_loss(self, a, b):
        _, _, loss, _, _, _ = self.generators(a, b)
        return loss

    def discriminator_loss(self, name, real, fake):
        false, true = Tensor(False, dtype.bool_), Tensor(True, dtype.bool_)
        net = self.nets[name]
        return self.gan_loss(net(fake), false) + self.gan_loss(net(real), true)

    def step(self, a, b):
        """Train the generators, then the discriminators: losses of both."""
        for name in ("d_a", "d_b"):
            self.nets[name].set_grad(False)
        fake_a, fake_b, *losses = self.generators(a, b)
        grads = {name: self.gradients[name](a, b)[1] for name in ("g_a", "g_b")}
        for name, found in grads.items():
            self.optimizers[name](found)
        loss_d = 0
        fakes = {"a": image_pool(fake_a, self.pools["a"]), "b": image_pool(fake_b, self.pools["b"])}
        for side, real in (("a", a), ("b", b)):
            self.nets[f"d_{side}"].set_grad(True)
            loss, found = self.gradients[f"d_{side}"](real, fakes[side])
            self.optimizers[f"d_{side}"](found)
            loss_d += loss * 0.5
        return losses, loss_d


def translated(folder, net):
    """Pictures of a folder and what a network makes of them, as bytes."""

    def read():
        for name in sorted(os.listdir(folder)):
            yield Image.open(os.path.join(folder, name)).convert("RGB"), name

    rows = ds.GeneratorDataset(read, column_names=["image", "image_name"])
    steps = [
        vision.Resize((SIZE, SIZE)),
        vision.Normalize(mean=[MEAN] * 3, std=[STD] * 3),
        vision.HWC2CHW(),
    ]
    rows = rows.map(operations=steps, input_columns=["image"]).batch(1)
    for row in rows.create_dict_iterator():
        image, name = row["image"], row["image_name"]
        fake = net(image)
        fake = (fake[0] * STD + MEAN).astype(np.uint8).transpose((1, 2, 0))
        image = (image[0] * STD + MEAN).astype(np.uint8).transpose((1, 2, 0))
        yield str(name.asnumpy()[0]), image.asnumpy(), fake.asnumpy()


def main(folder: Path) -> None:
    random.seed(1)
    write_records(folder / "apple2orange.mindrecord", 6)
    rows = MindDataset(dataset_files=str(folder / "apple2orange.mindrecord"))
    assert rows.get_dataset_size() == 6
    rows = rows.batch(1)
    game, epochs = Game(), 4
    assert game.nets["g_a"].trainable_params()[0].name.startswith("net_g_a.")
    iterator, means = rows.create_dict_iterator(num_epochs=epochs), []
    for epoch in range(epochs):
        totals = []
        for row in iterator:
            losses, loss_d = game.step(row["image_A"], row["image_B"])
            totals.append([float(item.asnumpy()) for item in (*losses, loss_d)])
        means.append(np.mean(totals, 0))
        print(f"epoch {epoch}: generators {means[-1][0]:.2f}, discriminators {means[-1][-1]:.2f}")
        for name, net in game.nets.items():
            save_checkpoint(net, os.path.join(str(folder), f"{name}_{epoch}.ckpt"))
    assert means[-1][0] < means[0][0] / 1.5
    assert means[-1][2] < means[0][2]

    again = Generator()
    again.update_parameters_name("net_g_a.")
    load_param_into_net(again, load_checkpoint(str(folder / f"g_a_{epochs - 1}.ckpt")))
    write_image_folder(folder, {"apple": 2}, size=20, suffix=".png")
    made = list(translated(str(folder / "apple"), again))
    assert [name for name, _, _ in made] == ["000.png", "001.png"]
    for _, image, fake in made:
        assert (image.shape, image.dtype) == ((SIZE, SIZE, 3), np.uint8)
        assert (fake.shape, fake.dtype) == ((SIZE, SIZE, 3), np.uint8)
