"""The gradient of a convolution's weights: sums over all pixels of all images.

Weights are cut into *units*, a block of filters by a block of taps, whose sums stay in registers
for a strip of pixels. Threads share the units out, so that nothing has to be added up afterwards
and the result does not depend on their number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from .conv_account import account_of_unpacking, account_of_weight_grad
from .conv_grad_code import GradPrinter
from .conv_strip import Strip, fitting_rows
from .conv_tiling import GradTiling, choose_grad_tiling
from .conv_weights import print_unpack
from .expressions import DType
from .target import Target, host
from .windows import Window

STRIP_BYTES: Final = 128 * 1024
"""Of padded rows."""
TURNED_BYTES: Final = 64 * 1024
"""Of a block of filters' gradients, turned so that the filters are adjacent."""


@dataclass(frozen=True)
class WeightGrad:
    """`void name(image, sums, out, workspace, images, first, n)`: units `first` to `first + n`.

    `sums` gets the weights' gradient as `UnpackSums` reads it: by blocks of filters (the lanes)
    or, with pixels as lanes, a vector of sums for each weight.
    """

    name: str
    window: Window
    channels: int
    filters: int
    dtype: DType
    groups: int = 1
    target: Target = field(default_factory=host)

    @property
    def inputs(self) -> int:
        """Channels of a group."""
        return self.channels // self.groups

    @property
    def outputs(self) -> int:
        """Filters of a group."""
        return self.filters // self.groups

    @property
    def taps(self) -> int:
        """Numbers in one filter of one channel."""
        return self.window.kernel[0] * self.window.kernel[1]

    @property
    def depth(self) -> int:
        """Numbers in one filter."""
        return self.inputs * self.taps

    @property
    def pixels(self) -> int:
        """Pixels of one output image."""
        return self.window.out_height * self.window.out_width

    @cached_property
    def lanes(self) -> int:
        """Elements in a vector."""
        return self.target.lanes(self.dtype)

    @cached_property
    def tiling(self) -> GradTiling:
        """The tiles."""
        w = self.window
        return choose_grad_tiling(
            self.outputs, self.inputs, w.kernel, w.out_width, w.stride[1], self.lanes,
            self.target.registers,
        )  # fmt: skip

    @cached_property
    def strip(self) -> Strip:
        """The rows that are copied at a time."""
        w, by_pixels = self.window, self.tiling.over == "pixels"
        strip = Strip(w, self.inputs, w.out_height, self.lanes, by_pixels, self.dtype)

        def too_large(rows: int) -> bool:
            copied = replace(strip, rows=rows).bytes if strip.is_copied else 0
            turned = 0 if by_pixels else rows * w.out_width * self.block * self.dtype.itemsize
            return copied > STRIP_BYTES or turned > TURNED_BYTES

        most = fitting_rows(w.out_height, too_large)
        return replace(strip, rows=math.ceil(w.out_height / math.ceil(w.out_height / most)))

    @property
    def block(self) -> int:
        """Filters in a block."""
        return self.tiling.filters * (1 if self.tiling.over == "pixels" else self.lanes)

    @property
    def blocks(self) -> int:
        """Blocks of filters in a group."""
        return math.ceil(self.outputs / self.block)

    @property
    def tap_blocks(self) -> int:
        """Blocks of taps of a filter."""
        return self.depth // math.prod(self.tiling.taps)

    @property
    def units(self) -> int:
        """Units in all."""
        return self.groups * self.blocks * self.tap_blocks

    @property
    def sums(self) -> int:
        """Elements of `sums`."""
        lanes = self.lanes if self.tiling.over == "pixels" else 1
        return self.groups * self.blocks * self.block * self.depth * lanes

    @property
    def turned_size(self) -> int:
        """Elements of one strip's turned gradients."""
        if self.tiling.over == "pixels":
            return 0
        return (self.strip.rows * self.window.out_width + self.lanes) * self.block

    @property
    def workspace(self) -> int:
        """Elements of one thread's workspace."""
        return max(1, self.turned_size + (self.strip.size if self.strip.is_copied else 0))

    @property
    def account(self) -> str:
        """What it does, for people."""
        return account_of_weight_grad(self)

    @property
    def text(self) -> str:
        """A canonical description."""
        sizes = f"{self.channels} to {self.filters} in {self.groups} {self.dtype} {self.window}"
        return f"weight grad {self.name} {sizes} {self.tiling} {self.strip.rows} {self.lanes}"

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        return GradPrinter(self, declarations).text()


@dataclass(frozen=True)
class UnpackSums:
    """`void name(sums, weight, first, n)`: put blocks `first` to `first + n` of sums in order."""

    name: str
    grad: WeightGrad

    @property
    def account(self) -> str:
        """What it does, for people."""
        return account_of_unpacking(self)

    @property
    def text(self) -> str:
        """A canonical description."""
        g = self.grad
        sizes = (g.groups, g.outputs, g.depth, g.tiling, g.dtype, g.lanes)
        return f"unpack {self.name} {sizes}"

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        return print_unpack(self.name, self.grad, declarations)
