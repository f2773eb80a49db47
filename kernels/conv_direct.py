"""Direct convolution: images are multiplied with the taps of a window in place, strip by strip.

`DirectConv` reads images and weights as they lie and writes images: forward, and as the same sum
over turned filters the gradient of the input where the stride is 1. A strip of rows is copied with
its padding where there is any, so that it stays in the second-level cache for all filters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from .conv_account import account_of_direct, account_of_packing
from .conv_direct_code import DirectPrinter
from .conv_ending import Ending
from .conv_strip import Strip, fitting_rows
from .conv_tiling import Lanes, Tiling, choose_tiling
from .conv_weights import Filters, print_pack
from .expressions import DType
from .loops import LoopError
from .target import Target, host
from .windows import Padding, Window

STRIP_BYTES: Final = 384 * 1024
"""Of padded rows, so that they and a block of weights stay in the second-level cache."""


def is_direct(kind: str, window: Window) -> bool:
    """Return whether a convolution or gradient is a sum over taps of images."""
    if kind == "forward":
        return True
    turned = window.stride == (1, 1) and min(_turned_padding(window)) >= 0
    return kind == "input_grad" and turned


def _turned_padding(w: Window) -> Padding:
    """Return the padding of an output's gradient, as the input's gradient needs it."""
    down, right = ((k - 1) * d for k, d in zip(w.kernel, w.dilation, strict=True))
    top, bottom, left, across = w.padding
    return down - top, down - bottom, right - left, right - across


@dataclass(frozen=True)
class DirectConv:
    """`void name(image, weight, out, workspace, the ending's buffers..., first, n)`.

    Forward writes out; the gradient of the input writes the image, from the weight and out's
    gradient. Pieces `first` to `first + n` are computed, `pieces` of which are an image: strips of
    its rows. With `packed` the weights come packed by `PackWeights`.
    """

    name: str
    kind: str
    window: Window
    channels: int
    filters: int
    dtype: DType
    groups: int = 1
    pieces: int = 1
    packed: bool = False
    ending: Ending | None = None
    target: Target = field(default_factory=host)

    def __post_init__(self) -> None:
        if not is_direct(self.kind, self.window):
            raise LoopError(
                f"{self.kind} is no direct convolution over {self.window}; the input's gradient is "
                "one for stride 1 and no more padding than the filter reaches"
            )
        if self.ending is not None and self.kind != "forward":
            raise LoopError(f"a convolution's {self.kind} takes no ending")

    @cached_property
    def view(self) -> Window:
        """The window that moves over what is read."""
        w = self.window
        if self.kind == "forward":
            return w
        padding = _turned_padding(w)
        return replace(w, height=w.out_height, width=w.out_width, padding=padding)

    @cached_property
    def weights(self) -> Filters:
        """The weights of one group as the sum takes them."""
        ins, outs, taps = self.channels // self.groups, self.filters // self.groups, self.taps
        rows, columns = self.window.kernel
        if self.kind == "forward":
            return Filters(outs, ins, (rows, columns), (ins * taps, taps, columns, 1), 0)
        steps = (taps, ins * taps, -columns, -1)
        return Filters(ins, outs, (rows, columns), steps, taps - 1)

    @property
    def taps(self) -> int:
        """Numbers in one filter of one channel."""
        return self.window.kernel[0] * self.window.kernel[1]

    @cached_property
    def lanes(self) -> int:
        """Elements in a vector."""
        return self.target.lanes(self.dtype)

    @cached_property
    def flat(self) -> bool:
        """Whether the pixels of an image are one long row: a window of one pixel sees no rows."""
        return self.view.is_pointwise and self.pieces == 1

    @cached_property
    def size(self) -> tuple[int, int]:
        """Rows and columns of what is written."""
        rows, columns = self.view.out_height, self.view.out_width
        return (1, rows * columns) if self.flat else (rows, columns)

    @cached_property
    def tiling(self) -> Tiling:
        """The tiles."""
        only: Lanes | None = "filters" if self.packed else None
        depth = self.weights.inputs * self.taps
        outputs, width = self.weights.outputs, self.size[1]
        registers = self.target.registers
        return choose_tiling(outputs, width, depth, self.lanes, registers, only)

    @cached_property
    def strip(self) -> Strip:
        """The rows that are copied at a time."""
        view = self.view
        if self.flat:
            view = replace(view, height=1, width=view.height * view.width)
        by_pixels = self.tiling.over == "pixels"
        strip = Strip(view, self.weights.inputs, view.out_height, self.lanes, by_pixels, self.dtype)
        if not strip.is_copied:
            return replace(strip, rows=math.ceil(view.out_height / self.pieces))
        most = fitting_rows(
            view.out_height, lambda rows: replace(strip, rows=rows).bytes > STRIP_BYTES
        )
        count = self.pieces * math.ceil(view.out_height / (most * self.pieces))
        return replace(strip, rows=math.ceil(view.out_height / count))

    @cached_property
    def strips(self) -> int:
        """Strips of a piece."""
        return math.ceil(self.size[0] / (self.strip.rows * self.pieces))

    @cached_property
    def blocks(self) -> int:
        """Blocks of filters in a group."""
        return math.ceil(self.weights.outputs / self.block)

    @property
    def block(self) -> int:
        """Filters in a block."""
        tiling = self.tiling
        return tiling.rows if tiling.over == "pixels" else tiling.vectors * self.lanes

    @property
    def packed_size(self) -> int:
        """Elements of all packed weights; 0 where they are read as they lie."""
        if self.tiling.over == "pixels":
            return 0
        return self.groups * self.blocks * self.weights.inputs * self.taps * self.block

    @property
    def workspace(self) -> int:
        """Elements of one thread's workspace."""
        own = 0 if self.packed else -(-self.packed_size // self.lanes) * self.lanes
        return max(1, own + (self.strip.size if self.strip.is_copied else 0))

    @property
    def account(self) -> str:
        """What it does, for people."""
        return account_of_direct(self)

    @property
    def text(self) -> str:
        """A canonical description."""
        sizes = f"{self.channels} to {self.filters} in {self.groups} {self.dtype} {self.window}"
        how = f"{self.pieces} {self.packed} {self.tiling} {self.strip.rows} {self.lanes}"
        how += f" {self.ending.text}" if self.ending else ""
        return f"direct conv {self.name} {self.kind} {sizes} {how}"

    def packing(self, name: str) -> PackWeights:
        """Return the kernel that packs its weights."""
        return PackWeights(name, self)

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        return DirectPrinter(self, declarations).text()


@dataclass(frozen=True)
class PackWeights:
    """`void name(weight, packed, first, n)`: pack blocks `first` to `first + n` of filters."""

    name: str
    conv: DirectConv

    @property
    def account(self) -> str:
        """What it does, for people."""
        return account_of_packing(self)

    @property
    def text(self) -> str:
        """A canonical description."""
        c = self.conv
        return f"pack {self.name} {c.weights} {c.groups} {c.block} {c.dtype} {c.lanes}"

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        c = self.conv
        return print_pack(self.name, c.weights, c.blocks, c.block, c.dtype, c.lanes, declarations)
