"""When a convolution is computed by Winograd's algorithm, and in strips of how many rows.

Both are costs in cycles of one core, as `conv_tiling.py` has them: products in tiles of registers,
and what is done around them by what was measured on a Zen 4. There, over images of 7 to 112 pixels,
16 to 512 channels and batches of 1 to 32, on one thread and on two, what it chooses takes 0.46 to
0.85 of the direct convolution's time. Most of what it leaves has few pixels for its weights: one
image of 7x7 with 512 channels would take 1.0 to 1.2.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from .conv_direct import DirectConv
from .conv_tiling import LATENCY, LOADS
from .conv_winograd import WinogradConv, is_winograd
from .conv_winograd_transforms import POINTS
from .expressions import DType
from .windows import Window

STRIP_BYTES: Final = 256 * 1024
"""Of transformed pixels, so that they stay in the second-level cache for all filters."""
FEWEST_TILES, MOST_TILES = 14, 64
"""Tiles of a strip that may take more bytes, as weights are fetched for each strip; and tiles of
one that takes fewer. With more, two threads were found hardly faster than one where channels
are few."""
GAIN: Final = 0.9
"""The share of the direct convolution's cost that this one may take at most."""
WORTH_COMPILING: Final = 1 << 24
"""Multiplications of a direct convolution, 0.15 ms on two cores, from which it is chosen: its code,
which is that of both algorithms, takes some 50 ms more to make."""
FEWEST: Final = 16
"""Channels from which it is chosen: added up over fewer, its errors are larger than direct ones."""
PACK, TRANSFORM = 160, 200
"""Cycles to pack nine weights of a vector of filters, and then to transform them."""
PRODUCTS: Final = 1.08
"""Cycles of products, of which more begin and end than in a direct convolution, to those of one."""
COPY: Final = 20
"""Cycles to copy a vector of pixels with its padding."""
PIXELS: Final = 60
"""Cycles to transform a vector of tiles of a channel, and to store it."""
OUTPUTS: Final = 440
"""Cycles to transform the products of half a vector of tiles and a vector of filters, and turn
them to lie as two rows of pixels."""
STREAM: Final = 2
"""Cycles to fetch a vector of transformed weights again for each strip."""


def strip_rows(
    kind: str, window: Window, sizes: tuple[int, int, int, int], dtype: DType, threads: int
) -> int | None:
    """Return the rows of tiles of a strip; None where the direct convolution is as fast.

    `sizes` are those of images, channels, filters and groups.
    """
    images, channels, filters, groups = sizes
    if not is_winograd(kind, window, channels, filters, groups, dtype):
        return None
    direct = DirectConv("", kind, window, channels, filters, dtype)
    if direct.weights.inputs < FEWEST:
        return None
    height, width = direct.size
    if images * height * width * channels * filters * 9 < WORTH_COMPILING:
        return None
    conv = _best(WinogradConv("", kind, window, channels, filters, 1), images, threads)
    each = images / threads
    weights = channels * filters / conv.lanes / threads
    cost = each * image_cost(conv) + weights * (PACK + TRANSFORM)
    known = each * height * direct.tiling.cost + weights * PACK
    return conv.tile_rows if cost <= GAIN * known else None


def _best(conv: WinogradConv, images: int, threads: int) -> WinogradConv:
    """Return it in strips with which the busiest thread has least to do.

    Of many images the number does not matter, so that the code is the same for all of them.
    """
    height, width = conv.grid
    tile = POINTS * conv.weights.inputs * conv.dtype.itemsize
    tiles = min(max(STRIP_BYTES // tile, FEWEST_TILES), MOST_TILES)
    most = min(height, max(tiles // width, -(-FEWEST_TILES // width)))
    sizes = {-(-height // count): None for count in range(-(-height // most), height + 1)}
    found = [replace(conv, tile_rows=rows) for rows in sizes]
    even = threads == 1 or images >= 4 * threads or images % (2 * threads) == 0

    def cost(conv: WinogradConv) -> float:
        units = images * conv.strips
        waste = 1 if even else math.ceil(units / threads) * threads / units
        return image_cost(conv) * waste

    return min(found, key=cost)


def image_cost(conv: WinogradConv) -> float:
    """Return the cycles that an image takes."""
    (height, width), (rows, vectors) = conv.grid, (conv.tiling.rows, conv.tiling.vectors)
    inputs, lanes = conv.weights.inputs, conv.lanes
    term = max(rows * vectors + LOADS * (rows + vectors), LATENCY)
    whole, rest = divmod(height, conv.tile_rows)
    blocks = whole * -(-conv.tiles // rows) + -(-rest * width // rows)
    products = POINTS * blocks * conv.blocks * inputs * term
    fetched = conv.strips * POINTS * inputs * conv.blocks * vectors
    strip = conv.direct.strip
    copied = conv.strips * inputs * strip.height * strip.pitch / lanes
    pixels = conv.strips * conv.tile_rows * inputs * -(-width // conv.beside)
    outputs = height * -(-2 * width // lanes) * conv.blocks * vectors
    moved = STREAM * fetched + COPY * copied + PIXELS * pixels + OUTPUTS * outputs
    return PRODUCTS * products + moved
