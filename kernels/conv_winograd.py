"""Convolution with 3x3 filters by fewer multiplications: Winograd's F(2x2, 3x3).

The algorithm is that of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015),
section 4.1: 4x4 pixels of an image and a filter of 3x3 are transformed to 16 numbers each, whose
products, added up over channels, are transformed to 2x2 pixels of the output: 16 multiplications
in place of 36. Here the halves of the filter's transform are in the output's instead:

    pixels   d0 - d2, d1 + d2, d2 - d1, d1 - d3        filter   g0, g0 + g1 + g2, g0 - g1 + g2, g2
    output   m0 + (m1 + m2) / 2, (m1 - m2) / 2 - m3    along rows, and then along columns

so that small whole numbers are computed exactly, and denormal weights keep their last bits.

Each output depends on its own 3x3 pixels alone, as no larger tile has it: an output whose window is
zero is zero, and a large or special number reaches no output that does not see it.

Errors in units of eps = 2**-24, swept against float64 over 1 to 512 channels, of normal, uniform,
positive and widely spread numbers: at most 5 (typically 0.05 to 0.5) of `9 * max|x| * max|w|`,
each over the window, added up over channels. Of the sum of `|x| |w|` itself, from 16 channels on:
2.7 for normal numbers (typically 0.2 to 0.3; the direct sum 6 and 0.33), 12 to 43 for positive ones
(the direct sum 14 to 73, as its sums are nine times as long). That is larger where large pixels
meet small weights in a window: 27 for magnitudes spread over 10**3, 80,000 over 10**12.

Sums of differences make NaN of an infinity, and may overflow before a sum of products does. So the
transforms look for what is not below 2**52, and strips of rows in which they find some, or all if
the weights have some, are done by the direct convolution, in the same call.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from .conv_account import account_of_transform, account_of_winograd
from .conv_direct import DirectConv, is_direct
from .conv_ending import Ending
from .conv_strip import Strip
from .conv_tiling import Tiling, choose_tiling
from .conv_weights import Filters
from .conv_winograd_code import WinogradPrinter
from .conv_winograd_transforms import POINTS, WeightsPrinter
from .expressions import FLOAT32, DType
from .loops import LoopError
from .target import Target, host
from .windows import Window

MOST_CHANNELS: Final = 1 << 16
"""With more, sums of products of numbers below 2**52 might overflow."""


def is_winograd(
    kind: str, window: Window, channels: int, filters: int, groups: int, dtype: DType
) -> bool:
    """Return whether a convolution or gradient can be computed so at all."""
    w = window
    simple = w.kernel == (3, 3) and w.stride == w.dilation == (1, 1)
    known = is_direct(kind, window) and max(channels, filters) <= MOST_CHANNELS
    return simple and known and groups == 1 and dtype == FLOAT32


@dataclass(frozen=True)
class StripConv(DirectConv):
    """The direct convolution of a given strip: lanes are pixels, weights are read as they lie."""

    lines: int = 1

    @cached_property
    def tiling(self) -> Tiling:
        """The tiles."""
        outputs, width = self.weights.outputs, self.size[1]
        depth = self.weights.inputs * self.taps
        return choose_tiling(outputs, width, depth, self.lanes, self.target.registers, "pixels")

    @cached_property
    def strip(self) -> Strip:
        """The rows; an odd width has one more column of padding, for whole tiles of 2x2."""
        view = self.view
        top, bottom, left, right = view.padding
        view = replace(view, padding=(top, bottom, left, right + view.out_width % 2))
        return Strip(view, self.weights.inputs, self.lines, self.lanes, True, self.dtype)


@dataclass(frozen=True)
class WinogradConv:
    """`void name(image, weight, out, workspace, the ending's buffers..., first, n)`.

    As `DirectConv`; units `first` to `first + n` are computed, `strips` of which are an image. With
    `packed` the weights come transformed by `TransformWeights` in one more buffer, after out.
    """

    name: str
    kind: str
    window: Window
    channels: int
    filters: int
    tile_rows: int
    packed: bool = False
    ending: Ending | None = None
    target: Target = field(default_factory=host)

    def __post_init__(self) -> None:
        sizes = (self.channels, self.filters)
        if not is_winograd(self.kind, self.window, *sizes, 1, FLOAT32):
            raise LoopError(
                f"{self.kind} over {self.window} with {sizes} channels and filters is not for this "
                "algorithm; it takes filters of 3x3 with stride 1 and dilation 1"
            )

    @cached_property
    def direct(self) -> StripConv:
        """The direct convolution, for strips with special numbers in them."""
        args = (self.name, self.kind, self.window, self.channels, self.filters, FLOAT32)
        found = StripConv(*args, ending=self.ending, target=self.target)
        return replace(found, lines=2 * self.tile_rows)

    @property
    def weights(self) -> Filters:
        """The weights as the sum takes them."""
        return self.direct.weights

    @property
    def lanes(self) -> int:
        """Elements in a vector."""
        return self.direct.lanes

    @cached_property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of tiles of an image."""
        rows, columns = self.direct.size
        return -(-rows // 2), -(-columns // 2)

    @property
    def beside(self) -> int:
        """Tiles that lie side by side in the vectors in which pixels are transformed."""
        lanes = self.lanes
        while lanes > 4 and lanes // 2 >= self.grid[1]:
            lanes //= 2
        return lanes

    @property
    def strips(self) -> int:
        """Strips of an image."""
        return -(-self.grid[0] // self.tile_rows)

    @property
    def tiles(self) -> int:
        """Tiles of a strip."""
        return self.tile_rows * self.grid[1]

    @cached_property
    def tiling(self) -> Tiling:
        """The tiles of the products: rows are tiles of pixels, lanes are filters."""
        sizes = (self.weights.outputs, self.tiles, self.weights.inputs)
        return choose_tiling(*sizes, self.lanes, self.target.registers, "filters")

    @property
    def block(self) -> int:
        """Filters in a block."""
        return self.tiling.vectors * self.lanes

    @property
    def blocks(self) -> int:
        """Blocks of filters."""
        return math.ceil(self.weights.outputs / self.block)

    @property
    def pitch(self) -> int:
        """Elements from one channel of transformed pixels to the next; a store may overrun it.

        An odd number of vectors, as in a `Strip`, and so is what a point takes.
        """
        whole = -(-self.tiles // self.tiling.rows) * self.tiling.rows
        return (max(whole, self.tiles + self.beside) // self.lanes + 1 | 1) * self.lanes

    @property
    def point(self) -> int:
        """Elements from one point of transformed pixels to the next."""
        return (self.weights.inputs * self.pitch // self.lanes | 1) * self.lanes

    @property
    def product(self) -> int:
        """Elements from one tile's products to the next's."""
        return POINTS * self.block + self.lanes

    @property
    def packed_size(self) -> int:
        """Elements of the transformed weights, and a sum of squares for each filter."""
        return self.blocks * self.block * (POINTS * self.weights.inputs + 1)

    @property
    def places(self) -> tuple[int, int, int]:
        """Where in the workspace transformed pixels and products begin, and its elements."""
        strip = -(-self.direct.strip.size // self.lanes) * self.lanes
        pixels = POINTS * self.point
        tiles = -(-self.tiles // self.tiling.rows) * self.tiling.rows + self.lanes
        return strip, strip + pixels, strip + pixels + tiles * self.product

    @property
    def room(self) -> int:
        """Elements that a strip needs, or a block of weights that is transformed before."""
        return max(self.places[2], 9 * self.weights.inputs * self.block)

    @property
    def workspace(self) -> int:
        """Elements of one thread's workspace; its own weights lie at the end."""
        return self.room + (0 if self.packed else self.packed_size)

    @property
    def dtype(self) -> DType:
        """Of all numbers."""
        return FLOAT32

    @property
    def account(self) -> str:
        """What it does, for people."""
        return account_of_winograd(self)

    @property
    def text(self) -> str:
        """A canonical description."""
        how = f"{self.tile_rows} {self.packed} {self.tiling} {self.direct.text}"
        return f"winograd conv {self.name} {how}"

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        return WinogradPrinter(self, declarations).text()


@dataclass(frozen=True)
class TransformWeights:
    """`void name(weight, packed, workspace, first, n)`: transform blocks of filters.

    A block lies as points, inputs, filters; behind all blocks are the sums of squares by filter.
    """

    name: str
    conv: WinogradConv

    @property
    def workspace(self) -> int:
        """Elements of one thread's workspace: a block as it is."""
        return 9 * self.conv.weights.inputs * self.conv.block

    @property
    def dtype(self) -> DType:
        """Of all numbers."""
        return FLOAT32

    @property
    def account(self) -> str:
        """What it does, for people."""
        return account_of_transform(self)

    @property
    def text(self) -> str:
        """A canonical description."""
        c = self.conv
        return f"winograd weights {self.name} {c.weights} {c.block} {c.lanes}"

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        return WeightsPrinter(self.name, self.conv, declarations).text()
