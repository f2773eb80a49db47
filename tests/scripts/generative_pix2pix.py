"""Pictures from their contours, in pairs: what MindSpore's tutorial ``generative/pix2pix`` calls.

``MindDataset`` with chosen columns, read as arrays and made tensors; a U-shaped network of blocks
in blocks with ``concat``, ``Conv2dTranspose``, ``Dropout`` and ``Tanh``; a discriminator of two
inputs; weights set anew by ``cells_and_names``, ``isinstance``, ``set_data`` and ``initializer``;
``BCEWithLogitsLoss`` and ``L1Loss`` without arguments, ``Adam`` with a tensor of rates and a loss
scale, ``value_and_grad`` for both networks, checkpoints.

References
----------
P. Isola, J.-Y. Zhu, T. Zhou, A. Efros, Image-to-image translation with conditional adversarial
networks, CVPR 2017.
"""

from __future__ import annotations

from pathlib import Path

import cellwire
import numpy as np
from cellwire import Tensor, load_checkpoint, load_param_into_net, nn, ops, value_and_grad
from cellwire import dataset as ds
from cellwire.common import initializer as init
from cellwire.mindrecord import FileWriter
from data import scenes

SIZE = 16


class SkipBlock(nn.Cell):
    """Half the size, a block inside, the size again; what came in is set beside what goes out."""

    def __init__(
        self, outer, inner, in_planes=None, submodule=None, outermost=False, innermost=False,
        dropout=False, alpha=0.2, norm_mode="batch",
    ):  # fmt: skip
        super().__init__()
        affine, has_bias = norm_mode != "instance", norm_mode == "instance"
        down_norm = nn.BatchNorm2d(inner, affine=affine)
        up_norm = nn.BatchNorm2d(outer, affine=affine)
        if in_planes is None:
            in_planes = outer
        down_conv = nn.Conv2d(
            in_planes, inner, kernel_size=4, stride=2, padding=1, has_bias=has_bias, pad_mode="pad"
        )
        sizes = {"kernel_size": 4, "stride": 2, "padding": 1, "pad_mode": "pad"}
        down_relu, up_relu = nn.LeakyReLU(alpha), nn.ReLU()
        if outermost:
            up_conv = nn.Conv2dTranspose(inner * 2, outer, **sizes)
            model = [down_conv, submodule, up_relu, up_conv, nn.Tanh()]
        elif innermost:
            up_conv = nn.Conv2dTranspose(inner, outer, has_bias=has_bias, **sizes)
            model = [down_relu, down_conv, up_relu, up_conv, up_norm]
        else:
            up_conv = nn.Conv2dTranspose(inner * 2, outer, has_bias=has_bias, **sizes)
            model = [down_relu, down_conv, down_norm, submodule, up_relu, up_conv, up_norm]
            if dropout:
                model.append(nn.Dropout(p=0.5))
        self.model = nn.SequentialCell(model)
        self.skip_connections = not outermost

    def construct(self, x):
        out = self.model(x)
        if self.skip_connections:
            out = ops.concat((out, x), axis=1)
        return out


class Generator(nn.Cell):
    """Three blocks in each other."""

    def __init__(self, in_planes, out_planes, width=8, norm_mode="bn", dropout=False):
        super().__init__()
        inside = SkipBlock(width * 2, width * 2, norm_mode=norm_mode, innermost=True)
        inside = SkipBlock(width, width * 2, submodule=inside, norm_mode=norm_mode, dropout=dropout)
        self.model = SkipBlock(
            out_planes, width, in_planes=in_planes, submodule=inside, outermost=True,
            norm_mode=norm_mode,
        )  # fmt: skip

    def construct(self, x):
        return self.model(x)


class Discriminator(nn.Cell):
    """For each patch, whether the second picture belongs to the first."""

    def __init__(self, in_planes=6, width=8, alpha=0.2):
        super().__init__()
        self.features = nn.SequentialCell(
            [
                nn.Conv2d(in_planes, width, 4, 2, pad_mode="pad", padding=1),
                nn.LeakyReLU(alpha),
                nn.Conv2d(width, width * 2, 4, 2, pad_mode="pad", padding=1, has_bias=False),
                nn.BatchNorm2d(width * 2),
                nn.LeakyReLU(alpha),
                nn.Conv2d(width * 2, 1, 4, 1, pad_mode="pad", padding=1),
            ]
        )

    def construct(self, x, y):
        return self.features(ops.concat((x, y), axis=1))


class Pix2Pix(nn.Cell):
    """Both networks; calling it makes pictures."""

    def __init__(self, discriminator, generator):
        super().__init__(auto_prefix=True)
        self.net_discriminator = discriminator
        self.net_generator = generator

    def construct(self, given):
        return self.net_generator(given)


def set_weights(net, kind="normal", gain=0.05):
    """Draw the weights of every convolution anew, and reset every normalisation."""
    for _, cell in net.cells_and_names():
        if isinstance(cell, nn.Conv2d | nn.Conv2dTranspose):
            if kind == "normal":
                cell.weight.set_data(init.initializer(init.Normal(gain), cell.weight.shape))
            elif kind == "xavier":
                cell.weight.set_data(init.initializer(init.XavierUniform(gain), cell.weight.shape))
            else:
                cell.weight.set_data(init.initializer(0.001, cell.weight.shape))
        elif isinstance(cell, nn.BatchNorm2d):
            cell.gamma.set_data(init.initializer("ones", cell.gamma.shape))
            cell.beta.set_data(init.initializer("zeros", cell.beta.shape))


def write_records(path, count):
    """Scenes and the contours of what is in them, both in -1..1."""
    field = {"type": "float32", "shape": [3, SIZE, SIZE]}
    writer = FileWriter(str(path))
    writer.add_schema({"input_images": field, "target_images": field})
    rows = []
    for pixels, (top, left, bottom, right), _ in scenes(count, SIZE):
        contours = -np.ones((3, SIZE, SIZE), np.float32)
        contours[:, top:bottom, left:right] = 1
        contours[:, top + 1 : bottom - 1, left + 1 : right - 1] = -1
        target = (pixels.transpose(2, 0, 1) / 127.5 - 1).astype(np.float32)
        rows.append({"input_images": contours, "target_images": target})
    writer.write_raw_data(rows)
    writer.commit()


def rates(steps, decaying, rate=0.01):
    """A rate for each step: constant, then falling to nothing."""
    numbers = [rate] * steps + [rate * (decaying - i) / decaying for i in range(decaying)]
    return Tensor(np.array(numbers).astype(np.float32))


def training_step(generator, discriminator):
    """A function of contours and pictures: it trains both networks and gives their losses."""
    loss_fn, l1_loss = nn.BCEWithLogitsLoss(), nn.L1Loss()

    def discriminator_forward(given, real):
        told_fake = discriminator(given, generator(given))
        told_real = discriminator(given, real)
        loss = loss_fn(told_real, ops.ones_like(told_real))
        return (loss + loss_fn(told_fake, ops.zeros_like(told_fake))) * 0.5

    def generator_forward(given, real):
        fake = generator(given)
        told = discriminator(given, fake)
        return loss_fn(told, ops.ones_like(told)) * 0.5 + l1_loss(fake, real) * 100

    options = {"beta1": 0.5, "beta2": 0.999, "loss_scale": 1}
    d_optimizer, g_optimizer = (
        nn.Adam(net.trainable_params(), learning_rate=rates(20, 10), **options)
        for net in (discriminator, generator)
    )
    d_gradient = value_and_grad(discriminator_forward, None, discriminator.trainable_params())
    g_gradient = value_and_grad(generator_forward, None, generator.trainable_params())

    def step(given, real):
        d_loss, d_grads = d_gradient(given, real)
        g_loss, g_grads = g_gradient(given, real)
        d_optimizer(d_grads)
        g_optimizer(g_grads)
        return d_loss, g_loss

    return step


def main(folder: Path) -> None:
    write_records(folder / "train.mindrecord", 12)
    columns = ["input_images", "target_images"]
    rows = ds.MindDataset(str(folder / "train.mindrecord"), columns_list=columns, shuffle=True)
    row = next(rows.create_dict_iterator(output_numpy=True))
    assert row["input_images"].shape == (3, SIZE, SIZE)
    rows = rows.batch(4)
    generator, discriminator = Generator(3, 3, dropout=True), Discriminator()
    for kind in ("constant", "xavier", "normal"):
        set_weights(generator, kind)
        set_weights(discriminator, kind)
    both = Pix2Pix(discriminator, generator)
    assert len(both.trainable_params()) == len(generator.trainable_params()) + len(
        discriminator.trainable_params()
    )

    step = training_step(generator, discriminator)
    epochs, steps = 10, rows.get_dataset_size()
    assert steps == 3
    d_losses, g_losses = [], []
    loader = rows.create_dict_iterator(output_numpy=True, num_epochs=epochs)
    for epoch in range(epochs):
        for row in loader:
            given, real = Tensor(row["input_images"]), Tensor(row["target_images"])
            d_loss, g_loss = step(given, real)
            d_losses.append(d_loss.asnumpy())
            g_losses.append(g_loss.asnumpy())
        print(f"epoch:{epoch + 1}/{epochs} Dloss:{float(d_loss):.4f} Gloss:{float(g_loss):.4f}")
    assert len(g_losses) == epochs * steps
    assert g_losses[-1] < g_losses[0] / 2
    assert np.isfinite(d_losses).all()
    cellwire.save_checkpoint(generator, str(folder / "Generator.ckpt"))

    again = Generator(3, 3, dropout=True)
    missing, _ = load_param_into_net(again, load_checkpoint(str(folder / "Generator.ckpt")))
    assert missing == []
    rows = ds.MindDataset(
        str(folder / "train.mindrecord"), columns_list=columns, shuffle=True
    ).batch(6)
    row = next(rows.create_dict_iterator())
    for net in (again, generator):
        net.set_train(False)
    made = again(row["input_images"])
    np.testing.assert_allclose(made.asnumpy(), generator(row["input_images"]).asnumpy(), atol=1e-5)
    picture = (made[0].asnumpy().transpose(1, 2, 0) + 1) / 2
    assert picture.shape == (SIZE, SIZE, 3)
    assert 0 <= picture.min() <= picture.max() <= 1
