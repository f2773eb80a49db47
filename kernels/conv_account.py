"""What the kernels of convolutions do, for people: the loops that they are printed as, in outline.

Reports show it in the place of a kernel's text, which is a key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .loop_text import expression_text

if TYPE_CHECKING:
    from .conv_direct import DirectConv, PackWeights
    from .conv_ending import Ending
    from .conv_strided import StridedGrad
    from .conv_weight_grad import UnpackSums, WeightGrad
    from .conv_winograd import TransformWeights, WinogradConv
    from .windows import Pair, Window

KINDS = {"forward": "", "input_grad": "the input's gradient, "}


def account_of_direct(conv: DirectConv) -> str:
    """Outline a direct convolution."""
    tiling, lanes = conv.tiling, conv.lanes
    read, made = ("channels", "filters") if conv.kind == "forward" else ("filters", "channels")
    sizes = (tiling.rows, tiling.vectors * lanes)
    pixels, outputs = sizes if tiling.over == "filters" else reversed(sizes)
    lines = [
        _head(conv, KINDS[conv.kind]),
        "  for image:",
        f"    for {_strip(conv.strip.rows, conv.strip.is_copied)}:",
        f"      for tile of {pixels} pixels by {outputs} {made}, in vectors of {lanes}:",
        f"        sum over {conv.weights.inputs} {read} and {_by(conv.window.kernel)} taps",
        f"        store {_ended(conv.ending)}",
    ]
    return "\n".join(lines) + "\n"


def account_of_winograd(conv: WinogradConv) -> str:
    """Outline a convolution by Winograd's algorithm."""
    read = "channels" if conv.kind == "forward" else "filters"
    lines = [
        _head(conv, f"winograd F(2×2, 3×3), {KINDS[conv.kind]}"),
        "  for image:",
        f"    for {_strip(2 * conv.tile_rows, True)}:",
        "      transform tiles of 4×4 pixels to 16 points",
        f"      for block of {conv.block} outputs, in vectors of {conv.lanes}:",
        f"        for point, tile: sum over {conv.weights.inputs} {read}",
        f"        transform back to tiles of 2×2 pixels, store {_ended(conv.ending)}",
        "      where a number is NaN or from 2⁵² on: the direct convolution",
    ]
    return "\n".join(lines) + "\n"


def account_of_transform(transform: TransformWeights) -> str:
    """Outline the transform of weights."""
    conv = transform.conv
    return f"{transform.name}: transform filters of 3×3 to 16 points, by blocks of {conv.block}\n"


def account_of_weight_grad(grad: WeightGrad) -> str:
    """Outline the gradient of a convolution's weight."""
    tiling = grad.tiling
    channels, rows, columns = tiling.taps
    taps = f"{channels} channels of {rows}×{columns} taps"
    lines = [
        _head(grad, "the weight's gradient, "),
        "  for image:",
        f"    for {_strip(grad.strip.rows, grad.strip.is_copied)}:",
        f"      for tile of {grad.block} filters by {taps}, in vectors of {grad.lanes}"
        f" {tiling.over}:",
        "        sum over the strip's pixels",
    ]
    return "\n".join(lines) + "\n"


def account_of_strided(grad: StridedGrad) -> str:
    """Outline the gradient of a strided convolution's input."""
    product = grad.gemm.product
    lines = [
        _head(grad, "the input's gradient, "),
        "  for image:",
        f"    patches[{product.m}×{product.n}] = weight · out, over {product.k} filters",
        "    add the patches into the padded image, take the padding off",
    ]
    return "\n".join(lines) + "\n"


def account_of_packing(packing: PackWeights) -> str:
    """Outline the packing of weights."""
    conv = packing.conv
    return f"{packing.name}: pack {conv.dtype} weights by blocks of {conv.block} filters\n"


def account_of_unpacking(unpacking: UnpackSums) -> str:
    """Outline what puts a weight's gradient in order."""
    grad = unpacking.grad
    return f"{unpacking.name}: put {grad.dtype} sums of blocks of {grad.block} filters in order\n"


def _head(kernel: DirectConv | WeightGrad | StridedGrad | WinogradConv, kind: str) -> str:
    count = getattr(kernel, "groups", 1)
    groups = f" in {count} groups" if count > 1 else ""
    sizes = f"{kernel.channels} channels to {kernel.filters} filters{groups}"
    return f"{kernel.name}: {kernel.dtype}, {kind}{sizes}\n  {_window(kernel.window)}"


def _window(w: Window) -> str:
    parts = [f"images of {w.height}×{w.width} to {w.out_height}×{w.out_width}"]
    parts.append(f"kernel {_by(w.kernel)}")
    if w.stride != (1, 1):
        parts.append(f"stride {_by(w.stride)}")
    if any(w.padding):
        parts.append("padding " + " ".join(map(str, w.padding)))
    if w.dilation != (1, 1):
        parts.append(f"dilation {_by(w.dilation)}")
    return ", ".join(parts)


def _by(pair: Pair) -> str:
    return "×".join(map(str, pair))


def _strip(rows: int, copied: bool) -> str:
    lines = "1 row" if rows == 1 else f"{rows} rows"
    return f"strip of {lines}, copied with padding" if copied else f"strip of {lines}"


def _ended(ending: Ending | None) -> str:
    if ending is None:
        return "sum"
    shared, value = expression_text(ending.expr)
    return "; ".join([*shared, value])
