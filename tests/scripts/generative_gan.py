"""Digits from noise by dense layers: what MindSpore's tutorial ``generative/gan`` calls.

``MnistDataset`` inside a ``GeneratorDataset``, a lambda that makes two columns of one,
``project``, ``batch(n, True)``; ``random.shuffle`` of a tensor; ``SequentialCell`` that grows by
``append``, ``auto_prefix``, ``update_parameters_name``, ``BatchNorm1d``, ``LeakyReLU``,
``ones_like`` and ``zeros_like``, ``BCELoss``, two ``Adam``; numbers of tensors in format strings,
checkpoints of every pass, one loaded again.

References
----------
I. Goodfellow et al., Generative adversarial nets, NIPS 2014.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import cellwire as ms
import cellwire.dataset as ds
import numpy as np
from cellwire import Tensor, dtype, nn, ops, save_checkpoint
from data import write_mnist
from PIL import Image

NOISE, SIZE = 10, 28


def pipeline(source, batch_size):
    """Batches of pictures and of noise, one vector a picture."""
    rows = ds.GeneratorDataset(
        source, ["image", "label"], shuffle=True, python_multiprocessing=False
    )
    rows = rows.map(
        operations=lambda x: (
            x.astype("float32"),
            np.random.normal(size=NOISE).astype("float32"),
        ),
        output_columns=["image", "latent_code"],
    )
    rows = rows.project(["image", "latent_code"])
    return rows.batch(batch_size, True)


class Generator(nn.Cell):
    """Noise becomes a picture in -1..1."""

    def __init__(self, noise, auto_prefix=True):
        super().__init__(auto_prefix=auto_prefix)
        self.model = nn.SequentialCell()
        self.model.append(nn.Dense(noise, 32))
        self.model.append(nn.ReLU())
        self.model.append(nn.Dense(32, 64))
        self.model.append(nn.BatchNorm1d(64))
        self.model.append(nn.ReLU())
        self.model.append(nn.Dense(64, SIZE * SIZE))
        self.model.append(nn.Tanh())

    def construct(self, x):
        return ops.reshape(self.model(x), (-1, 1, SIZE, SIZE))


class Discriminator(nn.Cell):
    """The probability that a picture is a real one."""

    def __init__(self, auto_prefix=True):
        super().__init__(auto_prefix=auto_prefix)
        self.model = nn.SequentialCell()
        self.model.append(nn.Dense(SIZE * SIZE, 32))
        self.model.append(nn.LeakyReLU())
        self.model.append(nn.Dense(32, 16))
        self.model.append(nn.LeakyReLU())
        self.model.append(nn.Dense(16, 1))
        self.model.append(nn.Sigmoid())

    def construct(self, x):
        return self.model(ops.reshape(x, (-1, SIZE * SIZE)))


def save_pictures(pictures, path):
    """All pictures side by side in one file."""
    row = np.concatenate([picture[0] / 2 + 0.5 for picture in pictures], 1)
    Image.fromarray((row * 255).astype(np.uint8)).save(path)


def training_step(net_g, net_d, rate):
    """A function of real pictures and noise: it trains both networks and gives their losses."""
    loss_fn = nn.BCELoss(reduction="mean")
    optimizer_d = nn.Adam(net_d.trainable_params(), learning_rate=rate, beta1=0.5, beta2=0.999)
    optimizer_g = nn.Adam(net_g.trainable_params(), learning_rate=rate, beta1=0.5, beta2=0.999)
    optimizer_g.update_parameters_name("optim_g")
    optimizer_d.update_parameters_name("optim_d")

    def generator_forward(noise):
        told = net_d(net_g(noise))
        return loss_fn(told, ops.ones_like(told))

    def discriminator_forward(real, noise):
        told_fake = net_d(net_g(noise))
        told_real = net_d(real)
        real_loss = loss_fn(told_real, ops.ones_like(told_real))
        return real_loss + loss_fn(told_fake, ops.zeros_like(told_fake))

    grad_g = ms.value_and_grad(generator_forward, None, net_g.trainable_params())
    grad_d = ms.value_and_grad(discriminator_forward, None, net_d.trainable_params())

    def step(real, noise):
        loss_d, grads_d = grad_d(real, noise)
        optimizer_d(grads_d)
        loss_g, grads_g = grad_g(noise)
        optimizer_g(grads_g)
        return loss_d, loss_g

    return step


def fit(net_g, net_d, rows, epochs, fixed, folder):
    """Train; after each pass keep both networks and what the first makes of the same noise."""
    checkpoints, images = folder / "checkpoints", folder / "images"
    os.makedirs(checkpoints, exist_ok=True)
    os.makedirs(images, exist_ok=True)
    step, steps, losses = training_step(net_g, net_d, 0.002), rows.get_dataset_size(), []
    net_g.set_train()
    net_d.set_train()
    for epoch in range(epochs):
        for number, row in enumerate(rows):
            image, noise = row
            image = (image - 127.5) / 127.5
            image = image.reshape(image.shape[0], 1, image.shape[1], image.shape[2])
            loss_d, loss_g = step(image, noise)
            if number % 10 == 0:
                print(
                    f"Epoch:[{int(epoch):>3d}], step:[{int(number):>4d}/{int(steps):>4d}], "
                    f"loss_d:{loss_d.asnumpy():>4f} , loss_g:{loss_g.asnumpy():>4f}"
                )
        losses.append((float(loss_d), float(loss_g)))
        save_pictures(net_g(fixed).asnumpy(), images / f"test_{epoch}.png")
        save_checkpoint(net_g, str(checkpoints / f"Generator{epoch}.ckpt"))
        save_checkpoint(net_d, str(checkpoints / f"Discriminator{epoch}.ckpt"))
    assert len(list(images.iterdir())) == epochs
    return losses


def main(folder: Path) -> None:
    path = write_mnist(folder, train=160, test=32)
    rows = pipeline(ds.MnistDataset(dataset_dir=str(path / "train")), 32)
    print("Iter size: %d" % rows.get_dataset_size())  # noqa: UP031
    assert rows.get_dataset_size() == 5
    row = next(rows.create_dict_iterator(output_numpy=True))
    assert row["image"].shape == (32, 28, 28, 1)
    assert row["latent_code"].shape == (32, NOISE)

    np.random.seed(2323)
    fixed = Tensor(np.random.normal(size=(6, NOISE)), dtype.float32)
    random.seed(3)
    random.shuffle(fixed)
    assert fixed.shape == (6, NOISE)

    net_g, net_d = Generator(NOISE), Discriminator()
    net_g.update_parameters_name("generator")
    net_d.update_parameters_name("discriminator")
    assert all(p.name.startswith("generator") for p in net_g.get_parameters())
    assert all(p.name.startswith("discriminator") for p in net_d.get_parameters())
    losses = fit(net_g, net_d, rows, 10, fixed, folder / "result")
    assert all(0.2 < loss < 2.5 for pair in losses for loss in pair)

    net_g.set_train(False)
    border = np.ones((SIZE, SIZE), bool)
    border[2:-2, 2:-2] = False
    drawn = net_g(fixed).asnumpy()[:, 0, border].mean()
    print(f"the black border is drawn with {drawn:.2f}")
    assert drawn < -0.3

    again = Generator(NOISE)
    again.update_parameters_name("generator")
    saved = ms.load_checkpoint(str(folder / "result" / "checkpoints" / "Generator9.ckpt"))
    missing, _ = ms.load_param_into_net(again, saved)
    assert missing == []
    again.set_train(False)
    noise = Tensor(np.random.normal(0, 1, (5, NOISE)).astype(np.float32))
    assert again(noise).transpose(0, 2, 3, 1).asnumpy().shape == (5, SIZE, SIZE, 1)
    np.testing.assert_allclose(again(fixed).asnumpy(), net_g(fixed).asnumpy(), rtol=1e-5, atol=1e-6)
