"""Which kernels compute a convolution, on which buffers, and how they are cut for threads."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from .conv_direct import DirectConv, PackWeights, is_direct
from .conv_ending import Ending
from .conv_strided import StridedGrad
from .conv_weight_grad import UnpackSums, WeightGrad
from .conv_winograd import TransformWeights, WinogradConv
from .conv_winograd_choice import strip_rows
from .expressions import DType
from .naming import kernel_name
from .native import Kernel
from .runtime import Rows
from .windows import Window

Role = Literal["image", "weight", "out", "packed", "workspace", "blas"]

OWN_PACKED: Final = 1 << 16
"""Up to this many packed weights, before a transform of them, each thread packs them for itself,
rather than meet for them."""


@dataclass(frozen=True)
class ConvCall:
    """One kernel call: its buffers by role, its ints, and how it is cut."""

    kernel: Kernel
    buffers: tuple[Role, ...]
    ints: tuple[int, ...]
    writes: Role
    rows: Rows | None = None
    others: int = 0
    """Buffers of the ending, which come after those with roles."""


@dataclass(frozen=True)
class Convolution:
    """A convolution, or one of its gradients, of so many images.

    Of image, weight and out, "forward" writes out, "input_grad" the image from out's gradient, and
    "weight_grad" the weight from those of the images.
    """

    kind: str
    window: Window
    images: int
    channels: int
    filters: int
    groups: int
    dtype: DType

    @property
    def products(self) -> int:
        """Multiplications in all."""
        pixels = self.images * self.window.out_height * self.window.out_width
        taps = self.window.kernel[0] * self.window.kernel[1]
        return pixels * self.filters * self.channels // self.groups * taps


@dataclass
class ConvCalls:
    """Calls in order, and the elements of what they need beside image, weight and out."""

    calls: list[ConvCall] = field(default_factory=list)
    temporaries: dict[Role, int] = field(default_factory=dict)


def conv_calls(conv: Convolution, threads: int, ending: Ending | None = None) -> ConvCalls:
    """Return the calls for so many threads; an ending, for forward only, is done by the last."""
    if conv.kind == "weight_grad":
        return _weight_grad(conv, threads)
    if not is_direct(conv.kind, conv.window):
        return _strided_grad(conv, threads)
    sizes = (conv.images, conv.channels, conv.filters, conv.groups)
    rows = strip_rows(conv.kind, conv.window, sizes, conv.dtype, threads)
    if rows is not None:
        return _winograd(conv, rows, threads, ending)
    return _direct(conv, threads, ending)


def _direct(conv: Convolution, threads: int, ending: Ending | None) -> ConvCalls:
    args = (conv.kind, conv.window, conv.channels, conv.filters, conv.dtype, conv.groups)
    pieces = _pieces(conv, threads)
    found = ConvCalls()
    packed = DirectConv("", *args, pieces).packed_size > OWN_PACKED
    kernel = DirectConv("", *args, pieces, packed, ending)
    kernel = replace(kernel, name=kernel_name("conv", kernel.text))
    if kernel.packed:
        pack = PackWeights(kernel_name("pack", *args), DirectConv("", *args))
        rows = Rows(1, (0, 0), first=0)
        blocks = kernel.groups * kernel.blocks
        found.calls.append(ConvCall(pack, ("weight", "packed"), (0, blocks), "packed", rows))
        found.temporaries["packed"] = kernel.packed_size
    size = conv.dtype.itemsize
    reaches = ending.reaches if ending else ()
    apart = (0, 0, 0, kernel.workspace * size, *(0 for _ in reaches))
    image, out = (size * n for n in _image_sizes(conv))
    if pieces == 1:
        others = (out if reach == "image" else 0 for reach in reaches)
        rows = Rows(1, (image, 0, out, 0, *others), apart)
    else:
        rows = Rows(1, (0,) * len(apart), apart, first=0)
    weight: Role = "packed" if kernel.packed else "weight"
    buffers: tuple[Role, ...] = ("image", weight, "out", "workspace")
    writes: Role = "image" if conv.kind == "input_grad" else "out"
    ints = (0, conv.images * pieces)
    found.calls.append(ConvCall(kernel, buffers, ints, writes, rows, len(reaches)))
    found.temporaries["workspace"] = threads * kernel.workspace
    return found


def _pieces(conv: Convolution, threads: int) -> int:
    """Return into how many strips of rows an image is cut, so that all threads have work."""
    if threads == 1 or conv.images >= 4 * threads or conv.images % (2 * threads) == 0:
        return 1
    rows = conv.window.out_height if conv.kind == "forward" else conv.window.height
    enough = [p for p in range(1, rows + 1) if conv.images * p >= 2 * threads]
    if not enough:
        return 1

    def waste(pieces: int) -> float:
        """Return the rows that the busiest thread computes, as a share of its part of all."""
        busiest = math.ceil(conv.images * pieces / threads) * math.ceil(rows / pieces)
        return busiest * threads / (conv.images * rows)

    best = min(map(waste, enough))
    return next(p for p in enough if waste(p) <= best * 1.01)


def _winograd(conv: Convolution, rows: int, threads: int, ending: Ending | None) -> ConvCalls:
    args = (conv.kind, conv.window, conv.channels, conv.filters, rows)
    found = ConvCalls()
    kernel = WinogradConv("", *args, 9 * conv.channels * conv.filters > OWN_PACKED, ending)
    kernel = replace(kernel, name=kernel_name("winograd", kernel.text))
    step = kernel.workspace * conv.dtype.itemsize
    if kernel.packed:
        transform = TransformWeights(kernel_name("transform", *args[:4], kernel.tiling), kernel)
        cut = Rows(1, (0, 0, 0), (0, 0, step), first=0)
        roles: tuple[Role, ...] = ("weight", "packed", "workspace")
        found.calls.append(ConvCall(transform, roles, (0, kernel.blocks), "packed", cut))
        found.temporaries["packed"] = kernel.packed_size
    others = (0,) * (len(ending.reaches) if ending else 0)
    writes: Role = "image" if conv.kind == "input_grad" else "out"
    packed: tuple[Role, ...] = ("packed",) if kernel.packed else ()
    buffers: tuple[Role, ...] = ("image", "weight", "out", *packed, "workspace")
    shared = (0,) * (len(buffers) - 1)
    units = Rows(1, (*shared, 0, *others), (*shared, step, *others), first=0)
    ints = (0, conv.images * kernel.strips)
    found.calls.append(ConvCall(kernel, buffers, ints, writes, units, len(others)))
    found.temporaries["workspace"] = threads * kernel.workspace
    return found


def _weight_grad(conv: Convolution, threads: int) -> ConvCalls:
    args = (conv.window, conv.channels, conv.filters, conv.dtype, conv.groups)
    kernel = WeightGrad(kernel_name("weight_grad", *args), *args)
    unpack = UnpackSums(kernel_name("unpack", *args), kernel)
    apart = (0, 0, 0, kernel.workspace * conv.dtype.itemsize)
    buffers: tuple[Role, ...] = ("image", "packed", "out", "workspace")
    ints = (conv.images, 0, kernel.units)
    rows = Rows(2, (0, 0, 0, 0), apart, first=1)
    blocks = (0, kernel.groups * kernel.blocks)
    calls = [
        ConvCall(kernel, buffers, ints, "packed", rows),
        ConvCall(unpack, ("packed", "weight"), blocks, "weight", Rows(1, (0, 0), first=0)),
    ]
    return ConvCalls(calls, {"packed": kernel.sums, "workspace": threads * kernel.workspace})


def _strided_grad(conv: Convolution, threads: int) -> ConvCalls:
    args = (conv.window, conv.channels, conv.filters, conv.dtype, conv.groups)
    kernel = StridedGrad(kernel_name("strided_grad", *args), *args)
    size = conv.dtype.itemsize
    buffers: tuple[Role, ...] = ("image", "weight", "out", "workspace")
    buffers += ("blas",) if kernel.needs_blas else ()
    image, out = (size * n for n in _image_sizes(conv))
    pad = (0,) * (len(buffers) - 4)
    rows = Rows(0, (image, 0, out, 0, *pad), (0, 0, 0, kernel.workspace * size, *pad))
    call = ConvCall(kernel, buffers, (conv.images,), "image", rows)
    return ConvCalls([call], {"workspace": threads * kernel.workspace})


def _image_sizes(conv: Convolution) -> tuple[int, int]:
    """Return the elements of one image and of one output."""
    w = conv.window
    return conv.channels * w.height * w.width, conv.filters * w.out_height * w.out_width
