"""Pictures from noise by convolutions: what MindSpore's tutorial ``generative/dcgan`` calls.

``ImageFolderDataset(decode=True)``, ``project``, ``Resize``, ``CenterCrop``, ``HWC2CHW`` and a
lambda in one ``map``; ``Conv2dTranspose`` and ``Conv2d`` with their numbers by position,
``BatchNorm2d`` with ``gamma_init``, ``LeakyReLU``, ``Sigmoid``, ``Tanh``, ``reshape(n, -1)``;
``BCELoss``, two ``Adam`` with ``update_parameters_name``; ``value_and_grad`` with and without an
auxiliary result inside a function under ``jit``, where ``standard_normal`` is drawn and both
optimizers step; checkpoints.

References
----------
A. Radford, L. Metz, S. Chintala, Unsupervised representation learning with deep convolutional
generative adversarial networks, ICLR 2016.
"""

from __future__ import annotations

from pathlib import Path

import cellwire
import cellwire as ms
import cellwire.dataset as ds
import numpy as np
from cellwire import nn, ops
from cellwire.common.initializer import Normal
from cellwire.dataset import vision
from data import write_image_folder

SIZE, CHANNELS, NOISE, WIDTH = 16, 3, 8, 6
weight_init = Normal(mean=0, sigma=0.05)
gamma_init = Normal(mean=1, sigma=0.02)


class Generator(nn.Cell):
    """Noise becomes 4×4, 8×8 and 16×16 pixels."""

    def __init__(self):
        super().__init__()
        self.generator = nn.SequentialCell(
            nn.Conv2dTranspose(NOISE, WIDTH * 2, 4, 1, "valid", weight_init=weight_init),
            nn.BatchNorm2d(WIDTH * 2, gamma_init=gamma_init),
            nn.ReLU(),
            nn.Conv2dTranspose(WIDTH * 2, WIDTH, 4, 2, "pad", 1, weight_init=weight_init),
            nn.BatchNorm2d(WIDTH, gamma_init=gamma_init),
            nn.ReLU(),
            nn.Conv2dTranspose(WIDTH, CHANNELS, 4, 2, "pad", 1, weight_init=weight_init),
            nn.Tanh(),
        )

    def construct(self, x):
        return self.generator(x)


class Discriminator(nn.Cell):
    """The probability that a picture is a real one."""

    def __init__(self):
        super().__init__()
        self.discriminator = nn.SequentialCell(
            nn.Conv2d(CHANNELS, WIDTH, 4, 2, "pad", 1, weight_init=weight_init),
            nn.LeakyReLU(0.2),
            nn.Conv2d(WIDTH, WIDTH * 2, 4, 2, "pad", 1, weight_init=weight_init),
            nn.BatchNorm2d(WIDTH * 2, gamma_init=gamma_init),
            nn.LeakyReLU(0.2),
            nn.Conv2d(WIDTH * 2, 1, 4, 1, "valid", weight_init=weight_init),
        )
        self.adv_layer = nn.Sigmoid()

    def construct(self, x):
        out = self.discriminator(x)
        out = out.reshape(out.shape[0], -1)
        return self.adv_layer(out)


def pipeline(path, batch_size):
    """Batches of pictures in 0..1, channels first."""
    rows = ds.ImageFolderDataset(path, num_parallel_workers=1, shuffle=True, decode=True)
    steps = [
        vision.Resize(SIZE),
        vision.CenterCrop(SIZE),
        vision.HWC2CHW(),
        lambda x: (x / 255).astype("float32"),
    ]
    rows = rows.project("image")
    rows = rows.map(steps, "image")
    return rows.batch(batch_size)


def main(folder: Path) -> None:
    write_image_folder(folder / "faces", {"faces": 40}, size=20)
    rows = pipeline(str(folder / "faces"), 20)
    (sample,) = next(rows.create_tuple_iterator(output_numpy=True))
    assert (sample.shape, sample.dtype) == ((20, CHANNELS, SIZE, SIZE), np.float32)

    generator, discriminator = Generator(), Discriminator()
    loss_fn = nn.BCELoss(reduction="mean")
    optimizer_d = nn.Adam(discriminator.trainable_params(), learning_rate=0.003, beta1=0.5)
    optimizer_g = nn.Adam(generator.trainable_params(), learning_rate=0.01, beta1=0.5)
    optimizer_g.update_parameters_name("optim_g.")
    optimizer_d.update_parameters_name("optim_d.")

    def generator_forward(real, valid):
        noise = ops.standard_normal((real.shape[0], NOISE, 1, 1))
        made = generator(noise)
        return loss_fn(discriminator(made), valid), made

    def discriminator_forward(real, made, valid, fake):
        real_loss = loss_fn(discriminator(real), valid)
        fake_loss = loss_fn(discriminator(made), fake)
        return (real_loss + fake_loss) / 2

    generator_gradient = ms.value_and_grad(
        generator_forward, None, optimizer_g.parameters, has_aux=True
    )
    discriminator_gradient = ms.value_and_grad(discriminator_forward, None, optimizer_d.parameters)

    @ms.jit
    def step(pictures):
        valid = ops.ones((pictures.shape[0], 1), cellwire.float32)
        fake = ops.zeros((pictures.shape[0], 1), cellwire.float32)
        (g_loss, made), g_grads = generator_gradient(pictures, valid)
        optimizer_g(g_grads)
        d_loss, d_grads = discriminator_gradient(pictures, made, valid, fake)
        optimizer_d(d_grads)
        return g_loss, d_loss, made

    fixed = ops.standard_normal((16, NOISE, 1, 1))
    epochs, pictures, d_losses = 12, [], []
    iterator = rows.create_tuple_iterator(num_epochs=epochs)
    for epoch in range(epochs):
        generator.set_train()
        discriminator.set_train()
        for number, (real,) in enumerate(iterator):
            g_loss, d_loss, made = step(real)
            d_losses.append(float(d_loss.asnumpy()))
            told = (epoch + 1, number + 1, d_loss.asnumpy(), g_loss.asnumpy())
            print("[%2d][%d] Loss_D:%7.4f Loss_G:%7.4f" % told)  # noqa: UP031
        assert made.shape == (20, CHANNELS, SIZE, SIZE)
        generator.set_train(False)
        pictures.append(generator(fixed).transpose(0, 2, 3, 1).asnumpy())
        cellwire.save_checkpoint(generator, str(folder / "generator.ckpt"))
        cellwire.save_checkpoint(discriminator, str(folder / "discriminator.ckpt"))

    assert min(d_losses) < d_losses[0]
    colour = sample.mean((0, 2, 3))
    first, last = (
        np.abs(made.mean((0, 1, 2)) - colour).mean() for made in (pictures[0], pictures[-1])
    )
    print(f"distance of the mean colour {first:.3f} -> {last:.3f}")
    assert last < first

    again = Generator()
    cellwire.load_checkpoint(str(folder / "generator.ckpt"), again)
    again.set_train(False)
    made = again(fixed).transpose(0, 2, 3, 1).asnumpy()
    np.testing.assert_allclose(made, pictures[-1], rtol=1e-5, atol=1e-6)
