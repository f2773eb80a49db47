"""Pictures out of noise, step by step: what MindSpore's tutorial ``generative/diffusion`` calls.

``ImageFolderDataset`` with extensions and shards, ``Resize`` by ``Inter.BILINEAR``,
``RandomHorizontalFlip``, ``CenterCrop``, ``ToTensor``, ``ToPIL``; ``FashionMnistDataset``;
sinusoids of the time by ``x[:, None]``, ``GroupNorm``, ``SiLU``, ``GELU``, ``Identity``,
depthwise convolutions; attention by ``chunk``, ``ops.Map``, ``ops.Partial``, ``swapaxes`` and
``ops.bmm`` of four axes, both the full and the linear one; a normalisation of ``var`` and
``mean`` by hand; lists of ``CellList``; noise by ``standard_normal`` and times by
``ops.uniform``, ``gather`` by time; ``SmoothL1Loss``, ``cosine_decay_lr``, ``Adam``, Parameters
named anew; sampling back from noise.

References
----------
J. Ho, A. Jain, P. Abbeel, Denoising diffusion probabilistic models, NeurIPS 2020.
"""

from __future__ import annotations

import itertools
import math
from functools import partial
from pathlib import Path

import cellwire as ms
import numpy as np
from cellwire import Parameter, Tensor, nn, ops
from cellwire import dtype as mstype
from cellwire.amp import DynamicLossScaler
from cellwire.common.initializer import initializer
from cellwire.dataset import FashionMnistDataset, ImageFolderDataset
from cellwire.dataset.vision import (
    CenterCrop,
    Inter,
    RandomHorizontalFlip,
    Resize,
    ToPIL,
    ToTensor,
)
from data import write_image_folder, write_mnist

STEPS = 12
BETAS = np.linspace(0.01, 0.4, STEPS).astype(np.float32)
ALPHAS = 1.0 - BETAS
PRODUCTS = np.cumprod(ALPHAS, axis=0)
BEFORE = np.pad(PRODUCTS[:-1], (1, 0), constant_values=1)
VARIANCES = BETAS * (1.0 - BEFORE) / (1.0 - PRODUCTS)
WEIGHTS = Tensor((1 + PRODUCTS / (1 - PRODUCTS)) ** -0.0)


def noise_like(x, dtype=None):
    return ops.standard_normal(x.shape).astype(x.dtype if dtype is None else dtype)


def times(low, high, size, dtype=ms.int32):
    return ops.uniform(size, Tensor(low, dtype), Tensor(high, dtype), dtype=dtype)


def heads_apart(heads, x):
    batch, channels, height, width = x.shape
    return x.reshape((batch, heads, channels // heads, height * width))


def at_time(values, t, shape):
    """The number of each time, with axes to broadcast against pictures."""
    found = Tensor(values).gather(t, -1)
    return found.reshape(t.shape[0], *((1,) * (len(shape) - 1)))


class Residual(nn.Cell):
    """A Cell beside a shortcut."""

    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def construct(self, x, *args, **kwargs):
        return self.fn(x, *args, **kwargs) + x


class Sinusoids(nn.Cell):
    """Sines and cosines of the time."""

    def __init__(self, size):
        super().__init__()
        half = size // 2
        self.rates = Tensor(np.exp(np.arange(half) * -math.log(100) / (half - 1)), ms.float32)

    def construct(self, t):
        angles = t[:, None] * self.rates[None, :]
        return ops.concat((ops.sin(angles), ops.cos(angles)), axis=-1)


class Scaled(nn.Cell):
    """A convolution, its normalisation, perhaps scaled and shifted, and SiLU."""

    def __init__(self, inner, outer, groups=1):
        super().__init__()
        self.proj = nn.Conv2d(inner, outer, 3, pad_mode="pad", padding=1)
        self.norm = nn.GroupNorm(groups, outer)
        self.act = nn.SiLU()

    def construct(self, x, scale_shift=None):
        x = self.norm(self.proj(x))
        if scale_shift is not None:
            scale, shift = scale_shift
            x = x * (scale + 1) + shift
        return self.act(x)


class Block(nn.Cell):
    """Depthwise and full convolutions that know the time, beside a shortcut."""

    def __init__(self, inner, outer, *, time_size=None, mult=2, norm=True):
        super().__init__()
        self.mlp = None
        if time_size is not None:
            self.mlp = nn.SequentialCell(nn.GELU(), nn.Dense(time_size, inner))
        self.ds_conv = nn.Conv2d(inner, inner, 3, padding=1, group=inner, pad_mode="pad")
        self.net = nn.SequentialCell(
            nn.GroupNorm(1, inner) if norm else nn.Identity(),
            nn.Conv2d(inner, outer * mult, 3, padding=1, pad_mode="pad"),
            nn.GELU(),
            nn.GroupNorm(1, outer * mult),
            nn.Conv2d(outer * mult, outer, 3, padding=1, pad_mode="pad"),
        )
        self.res_conv = nn.Conv2d(inner, outer, 1) if inner != outer else nn.Identity()

    def construct(self, x, time=None):
        h = self.ds_conv(x)
        if self.mlp is not None and time is not None:
            h = h + self.mlp(time).expand_dims(-1).expand_dims(-1)
        return self.net(h) + self.res_conv(x)


class Attention(nn.Cell):
    """Every pixel looks at every other."""

    def __init__(self, size, heads=2, head_size=4):
        super().__init__()
        self.scale, self.heads = head_size**-0.5, heads
        hidden = head_size * heads
        self.to_qkv = nn.Conv2d(size, hidden * 3, 1, pad_mode="valid", has_bias=False)
        self.to_out = nn.Conv2d(hidden, size, 1, pad_mode="valid", has_bias=True)
        self.map, self.partial = ops.Map(), ops.Partial()

    def apart(self, x):
        return self.map(self.partial(heads_apart, self.heads), self.to_qkv(x).chunk(3, 1))

    def construct(self, x):
        batch, _, height, width = x.shape
        q, k, v = self.apart(x)
        weights = ops.softmax(ops.bmm((q * self.scale).swapaxes(2, 3), k), axis=-1)
        out = ops.bmm(weights, v.swapaxes(2, 3))
        return self.to_out(out.swapaxes(-1, -2).reshape((batch, -1, height, width)))


class ChannelNorm(nn.Cell):
    """Each pixel's channels with mean 0 and variance 1, times what is learnt."""

    def __init__(self, size):
        super().__init__()
        self.g = Parameter(initializer("ones", (1, size, 1, 1)), name="g")

    def construct(self, x):
        variance = x.var(1, keepdims=True)
        mean = x.mean(1, keep_dims=True)
        return (x - mean) * ops.inv(ops.sqrt(variance + 1e-5)) * self.g


class LinearAttention(Attention):
    """Attention whose cost grows with the pixels, not with their square."""

    def __init__(self, size, heads=2, head_size=4):
        super().__init__(size, heads, head_size)
        self.to_out = nn.SequentialCell(self.to_out, ChannelNorm(size))

    def construct(self, x):
        batch, _, height, width = x.shape
        q, k, v = self.apart(x)
        q, k = ops.softmax(q, -2) * self.scale, ops.softmax(k, -1)
        context = ops.bmm(k, (v / (height * width)).swapaxes(2, 3))
        out = ops.bmm(context.swapaxes(2, 3), q)
        return self.to_out(out.reshape((batch, -1, height, width)))


class PreNorm(nn.Cell):
    """A Cell over normalised values."""

    def __init__(self, size, fn):
        super().__init__()
        self.fn, self.norm = fn, nn.GroupNorm(1, size)

    def construct(self, x):
        return self.fn(self.norm(x))


class Unet(nn.Cell):
    """Tells the noise in pictures: down to half the size, up again, with skips."""

    def __init__(self, size, channels=1, mults=(1, 2)):
        super().__init__()
        self.init_conv = nn.Conv2d(channels, size, 3, padding=1, pad_mode="pad", has_bias=True)
        sizes = [size, *(size * m for m in mults)]
        pairs = list(itertools.pairwise(sizes))
        time_size = size * 2
        make = partial(Block, mult=1, time_size=time_size)
        self.time_mlp = nn.SequentialCell(
            Sinusoids(size), nn.Dense(size, time_size), nn.GELU(), nn.Dense(time_size, time_size)
        )
        self.downs, self.ups = nn.CellList([]), nn.CellList([])
        for number, (inner, outer) in enumerate(pairs):
            last = number >= len(pairs) - 1
            self.downs.append(
                nn.CellList(
                    [
                        make(inner, outer),
                        Residual(PreNorm(outer, LinearAttention(outer))),
                        nn.Identity()
                        if last
                        else nn.Conv2d(outer, outer, 4, 2, pad_mode="pad", padding=1),
                    ]
                )
            )
        middle = sizes[-1]
        self.mid_block = make(middle, middle)
        self.mid_attn = Residual(PreNorm(middle, Attention(middle)))
        for inner, outer in reversed(pairs[1:]):
            self.ups.append(
                nn.CellList(
                    [
                        make(outer * 2, inner),
                        Residual(PreNorm(inner, LinearAttention(inner))),
                        nn.Conv2dTranspose(inner, inner, 4, 2, pad_mode="pad", padding=1),
                    ]
                )
            )
        self.final_conv = nn.SequentialCell(Scaled(size, size), nn.Conv2d(size, channels, 1))

    def construct(self, x, time):
        x = self.init_conv(x)
        t = self.time_mlp(time)
        kept = []
        for block, attention, smaller in self.downs:
            x = attention(block(x, t))
            kept.append(x)
            x = smaller(x)
        x = self.mid_attn(self.mid_block(x, t))
        last = len(kept) - 1
        for block, attention, larger in self.ups:
            x = ops.concat((x, kept[last]), 1)
            last -= 1
            x = larger(attention(block(x, t)))
        return self.final_conv(x)


def noisy(x, t, noise=None):
    """Pictures after so many steps of noise, at once."""
    if noise is None:
        noise = noise_like(x)
    kept = at_time(Tensor(np.sqrt(PRODUCTS)), t, x.shape)
    return kept * x + at_time(Tensor(np.sqrt(1.0 - PRODUCTS)), t, x.shape) * noise


def loss_of(net, x, t, noise):
    """How wrongly the noise is told."""
    told = net(noisy(x, t, noise), t)
    loss = nn.SmoothL1Loss()(noise, told)
    loss = loss.reshape(loss.shape[0], -1)
    return (loss * at_time(WEIGHTS, t, loss.shape)).mean()


def sampled(net, shape):
    """Pictures out of pure noise, after each step back."""
    image, images = ops.standard_normal(shape).astype(ms.float32), []
    for number in reversed(range(STEPS)):
        t = ms.numpy.full((shape[0],), number, dtype=mstype.int32)
        beta = at_time(BETAS, t, shape)
        rest = at_time(np.sqrt(1.0 - PRODUCTS), t, shape)
        image = at_time(np.sqrt(1.0 / ALPHAS), t, shape) * (image - beta * net(image, t) / rest)
        if number:
            image = image + ops.sqrt(at_time(VARIANCES, t, shape)) * noise_like(image)
        images.append(image.asnumpy())
    return images


def check_noise_on_one_picture(folder):
    """A picture becomes a tensor in -1..1 and noise, and a picture again."""
    write_image_folder(folder / "cats", {"jpg": 1}, size=40)
    steps = [Resize(32, Inter.BILINEAR), CenterCrop(32), ToTensor(), lambda t: (t * 2) - 1]
    steps.insert(1, RandomHorizontalFlip())
    rows = ImageFolderDataset(
        dataset_dir=str(folder / "cats"), num_parallel_workers=1,
        extensions=[".jpg", ".jpeg", ".png", ".tiff"], num_shards=1, shard_id=0, shuffle=False,
        decode=True,
    )  # fmt: skip
    rows = rows.project("image").map(steps, "image").batch(1, drop_remainder=True)
    x = next(rows.create_tuple_iterator())[0]
    assert (x.shape, x.dtype) == ((1, 3, 32, 32), ms.float32)
    back = [
        lambda t: (t + 1) / 2,
        lambda t: ops.permute(t, (1, 2, 0)),
        lambda t: t * 255.0,
        lambda t: t.asnumpy().clip(0, 255).astype(np.uint8),
        ToPIL(),
    ]
    distances = []
    for t in (0, STEPS // 2, STEPS - 1):
        picture = noisy(x, t=Tensor([t]))[0]
        distances.append(float((picture - x[0]).abs().mean()))
        for step in back:
            picture = step(picture)
        assert (picture.mode, picture.size) == ("RGB", (32, 32))
    assert distances == sorted(distances)


def pipeline(path, batch_size):
    rows = FashionMnistDataset(
        dataset_dir=path, usage="train", num_parallel_workers=1, shuffle=True, num_shards=1,
        shard_id=0,
    )  # fmt: skip
    rows = rows.project("image").shuffle(64)
    rows = rows.map([RandomHorizontalFlip(), ToTensor(), lambda t: (t * 2) - 1], "image")
    return rows.batch(batch_size, drop_remainder=True)


def main(folder: Path) -> None:
    check_noise_on_one_picture(folder)
    rows = pipeline(str(write_mnist(folder, train=128, test=8) / "train"), 8)
    assert list(next(rows.create_dict_iterator())) == ["image"]
    steps, epochs = rows.get_dataset_size(), 3
    rate = nn.cosine_decay_lr(
        min_lr=1e-3,
        max_lr=2e-2,
        total_step=epochs * steps,
        step_per_epoch=steps,
        decay_epoch=epochs,
    )
    net = Unet(4)
    names = [name for name, _ in net.parameters_and_names()]
    for name, parameter in zip(names, list(net.trainable_params()), strict=True):
        parameter.name = name
    optimizer = nn.Adam(net.trainable_params(), learning_rate=rate)
    scaler = DynamicLossScaler(65536, 2, 1000)

    def forward(x, t, noise):
        return loss_of(net, x, t, noise)

    gradient = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=False)

    def step(x, t, noise):
        loss, grads = gradient(x, t, noise)
        optimizer(grads)
        return loss

    losses, iterator = [], rows.create_tuple_iterator(num_epochs=epochs)
    for epoch in range(epochs):
        net.set_train()
        for batch in iterator:
            t = times(0, STEPS, (batch[0].shape[0],), dtype=ms.int32)
            assert t.dtype == ms.int32
            losses.append(float(step(batch[0], t, noise_like(batch[0]))))
        print(" epoch: ", epoch, " Loss: ", losses[-1])
    assert np.mean(losses[-4:]) < losses[0] * 0.9
    assert float(scaler.unscale(scaler.scale(Tensor(1.0)))) == 1.0

    net.set_train(False)
    images = sampled(net, (2, 1, 28, 28))
    assert len(images) == STEPS
    assert images[-1].shape == (2, 1, 28, 28)
    border = images[-1][:, 0, :2].mean()
    print(f"the black border is drawn with {border:.2f}")
    assert border < images[0][:, 0, :2].mean()
