"""An array as small plain data for a probe: statistics, histogram, pictures, a page of a table."""

from __future__ import annotations

import math
import re

import msgspec
import numpy as np

from ..dtype import dtype_of

QUARTILE_SAMPLES = 1 << 18
FENCE = 3.0  # Tukey's outer fences: three interquartile ranges beyond the quartiles


class SliceError(ValueError):
    """A slice text that cannot be read or does not fit the array."""


class Statistics(msgspec.Struct, frozen=True):
    """What the numbers of an array look like.

    `mean` and `std` are over the finite elements; `min`, `max` and `absmax` over all but NaN;
    `zeros` is in percent. They are `None` where no element counts.
    """

    shape: tuple[int, ...]
    dtype: str
    size: int
    mean: float | None
    std: float | None
    min: float | None
    max: float | None
    absmax: float | None
    zeros: float
    nan: int
    inf: int


class Histogram(msgspec.Struct, frozen=True):
    """Counts of the finite elements between `low` and `high`; `below`, `above` are outliers."""

    low: float
    high: float
    counts: list[int]
    below: int
    above: int
    nan: int
    inf: int


class HeatMap(msgspec.Struct, frozen=True):
    """A plane of float32 (`values`, row by row), downsampled by means; a NaN inside stays NaN."""

    rows: int
    columns: int
    values: bytes
    low: float
    high: float
    source_shape: tuple[int, ...]


class ImageGrid(msgspec.Struct, frozen=True):
    """Tiles of 8-bit pixels (`height × width × channels`), scaled from `low..high`."""

    height: int
    width: int
    channels: int
    pixels: bytes
    tiles: int
    tile_height: int
    tile_width: int
    columns: int
    low: float
    high: float
    source_shape: tuple[int, ...]


class Table(msgspec.Struct, frozen=True):
    """One page of values as text, with the first row and column shown and how many there are."""

    cells: list[list[str]]
    row: int
    column: int
    rows: int
    columns: int
    row_labels: list[str]
    slice: str
    shape: tuple[int, ...]


def statistics(array: np.ndarray) -> Statistics:
    """The statistics of an array of any shape and numeric or bool dtype, empty ones included."""
    dtype = array.dtype.name
    if array.size == 0:
        return Statistics(array.shape, dtype, 0, None, None, None, None, None, 0.0, 0, 0)
    nan = inf = 0
    known = finite = array
    if dtype_of(array.dtype).is_float and not _all_finite(array):
        is_nan = np.isnan(array)
        nan = int(np.count_nonzero(is_nan))
        known = array[~is_nan]
        finite = known[np.isfinite(known)]
        inf = known.size - finite.size
    zeros = 100.0 * (array.size - int(np.count_nonzero(array))) / array.size
    mean = std = low = high = absmax = None
    if finite.size:
        mean = float(finite.mean(dtype=np.float64))
        std = float(finite.std(dtype=np.float64))
    if known.size:
        low, high = float(known.min()), float(known.max())
        absmax = max(abs(low), abs(high))
    return Statistics(array.shape, dtype, array.size, mean, std, low, high, absmax, zeros, nan, inf)


def _all_finite(array: np.ndarray) -> bool:
    """One pass: a sum in float64 is finite only if no float16 or float32 element is not."""
    if array.dtype.itemsize < 8:
        with np.errstate(invalid="ignore", over="ignore"):
            return bool(np.isfinite(array.sum(dtype=np.float64)))
    return bool(np.isfinite(array).all())


def _finite(array: np.ndarray) -> np.ndarray:
    flat = array.reshape(-1)
    if dtype_of(array.dtype).is_float:
        return flat[np.isfinite(flat)].astype(np.float64)
    return flat.astype(np.float64)


def histogram(array: np.ndarray, bins: int = 40) -> Histogram:
    """Count the finite elements in `bins` equal bins, with far outliers counted apart.

    Elements beyond Tukey's outer fences are outliers, so that one huge value does not squeeze
    all others into one bin. Where the quartiles coincide the whole range is shown.
    """
    if bins < 1:
        raise ValueError(f"a histogram needs at least one bin, not {bins}")
    stats = statistics(array)
    values = _finite(array)
    if values.size == 0:
        return Histogram(0.0, 0.0, [0] * bins, 0, 0, stats.nan, stats.inf)
    low, high = float(values.min()), float(values.max())
    stride = max(1, values.size // QUARTILE_SAMPLES)
    first, third = np.percentile(values[::stride], [25, 75])
    spread = float(third - first)
    if spread > 0:
        low = max(low, float(first) - FENCE * spread)
        high = min(high, float(third) + FENCE * spread)
    inside = values[(values >= low) & (values <= high)]
    width = (high - low) or 1.0
    places = np.minimum(((inside - low) / width * bins).astype(np.int64), bins - 1)
    counts = np.bincount(places, minlength=bins)
    below = int(np.count_nonzero(values < low))
    above = int(np.count_nonzero(values > high))
    return Histogram(low, high, counts.tolist(), below, above, stats.nan, stats.inf)


_PART = re.compile(r"(?P<start>-?\d+)?(?P<first>:)?(?P<stop>-?\d+)?(?::(?P<step>-?\d+)?)?")


def parse_slice(text: str, shape: tuple[int, ...]) -> tuple[int | slice, ...]:
    """Parse `0, :, 3`, `1:5`, `::2`, `-1` or `...` as an index for an array of this shape.

    Axes that are not named are taken whole.

    Raises
    ------
    SliceError
        Naming the part, the axis and what is allowed.
    """
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if parts.count("...") > 1:
        raise SliceError(f"{text!r} has more than one '...'; one is enough")
    named = len(parts) - parts.count("...")
    if named > len(shape):
        raise SliceError(
            f"{text!r} names {named} axes, but the tensor has {len(shape)} ({_show(shape)})"
        )
    rest = ["" for _ in range(len(shape) - named)]
    at = parts.index("...") if "..." in parts else len(parts)
    whole = [*parts[:at], *[":"] * len(rest), *parts[at + 1 :]]
    return tuple(_axis(part, axis, shape[axis], text) for axis, part in enumerate(whole))


def _axis(part: str, axis: int, size: int, text: str) -> int | slice:
    match = _PART.fullmatch(part)
    if match is None or not part or (match["start"] and match["stop"] and not match["first"]):
        raise SliceError(
            f"{part!r} in {text!r} is no index; write a number, ':', 'start:stop', "
            "'start:stop:step' or '...', with commas between axes"
        )
    if match["first"] is None:
        index = int(part)
        if not -size <= index < size:
            raise SliceError(f"index {index} is outside axis {axis}, which has size {size}")
        return index
    step = int(match["step"]) if match["step"] else None
    if step == 0:
        raise SliceError(f"the step in {part!r} is zero; use 1 or more, or a negative one")
    start, stop = (int(match[key]) if match[key] else None for key in ("start", "stop"))
    return slice(start, stop, step)


def _show(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape)) or "a scalar"


def _plane(array: np.ndarray) -> np.ndarray:
    """Any array as rows and columns: the last axis is the columns."""
    if array.ndim == 0:
        return array.reshape(1, 1)
    return array.reshape(1, -1) if array.ndim == 1 else array.reshape(-1, array.shape[-1])


def heat_map(array: np.ndarray, slice_text: str = "", side: int = 64) -> HeatMap:
    """The sliced array as a plane of at most `side × side` means, for a picture of its values.

    Axes before the last become rows. Low and high are over the finite values.
    """
    chosen = array[parse_slice(slice_text, array.shape)]
    plane = _plane(np.asarray(chosen))
    small = _shrink(_shrink(plane.astype(np.float32), side, 0), side, 1)
    finite = small[np.isfinite(small)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    rows, columns = small.shape
    return HeatMap(rows, columns, small.tobytes(), low, high, array.shape)


def _shrink(plane: np.ndarray, side: int, axis: int) -> np.ndarray:
    size = plane.shape[axis]
    if size <= side:
        return plane
    starts = np.arange(side) * size // side
    counts = np.diff(np.append(starts, size))
    with np.errstate(invalid="ignore", over="ignore"):
        sums = np.add.reduceat(plane, starts, axis=axis, dtype=np.float64)
        means = sums / np.expand_dims(counts, 1 - axis)
        return means.astype(np.float32)


def image_grid(array: np.ndarray, tiles: int = 64) -> ImageGrid:
    """Show images as a grid of tiles with one dark pixel between, scaled to their own range.

    Parameters
    ----------
    array : ndarray
        N×C×H×W, C×H×W or H×W. With one or three channels each item is a tile (gray or colour);
        with any other number each channel of each item is a gray tile.
    tiles : int
        The most tiles shown.

    Raises
    ------
    ValueError
        The array has fewer than two or more than four axes, or is empty.
    """
    if not 2 <= array.ndim <= 4 or array.size == 0:
        raise ValueError(
            f"an image grid needs N×C×H×W, C×H×W or H×W with pixels in it, not {_show(array.shape)}"
        )
    images = array.reshape((1,) * (4 - array.ndim) + array.shape)
    if images.shape[1] == 3:
        images = images[:tiles].transpose(0, 2, 3, 1)
    else:
        images = images.reshape(-1, *images.shape[2:], 1)[:tiles]
    pixels, low, high = _scale(images)
    count, height, width, channels = pixels.shape
    columns = math.ceil(math.sqrt(count))
    rows = math.ceil(count / columns)
    tall, wide = rows * (height + 1) - 1, columns * (width + 1) - 1
    sheet = np.zeros((tall, wide, channels), np.uint8)
    for at in range(count):
        top, left = at // columns * (height + 1), at % columns * (width + 1)
        sheet[top : top + height, left : left + width] = pixels[at]
    return ImageGrid(
        height=tall,
        width=wide,
        channels=channels,
        pixels=sheet.tobytes(),
        tiles=count,
        tile_height=height,
        tile_width=width,
        columns=columns,
        low=low,
        high=high,
        source_shape=array.shape,
    )


def _scale(images: np.ndarray) -> tuple[np.ndarray, float, float]:
    """To 0..255 over the finite range; what is not finite goes to the end that it is nearest."""
    values = images.astype(np.float64)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    values = np.nan_to_num(values, nan=low, posinf=high, neginf=low)
    factor = 255.0 / (high - low) if high > low else 0.0
    return ((values - low) * factor).round().astype(np.uint8), low, high


def table(
    array: np.ndarray,
    slice_text: str = "",
    row: int = 0,
    column: int = 0,
    rows: int = 50,
    columns: int = 20,
) -> Table:
    """One page of the sliced array's values as text, from this row and column on.

    Axes before the last are rows, labelled with their indices in the slice.
    """
    chosen = np.asarray(array[parse_slice(slice_text, array.shape)])
    plane = _plane(chosen)
    page = plane[row : row + rows, column : column + columns]
    leading = chosen.shape[:-1]
    labels = [
        ", ".join(map(str, np.unravel_index(at, leading))) if leading else ""
        for at in range(row, row + page.shape[0])
    ]
    cells = [[format_value(value) for value in line] for line in page]
    total_rows, total_columns = plane.shape
    return Table(cells, row, column, total_rows, total_columns, labels, slice_text, chosen.shape)


def format_value(value: np.generic) -> str:
    """One element as text: six significant digits for floats."""
    if dtype_of(value.dtype).is_float:
        return f"{float(value):.6g}"
    return str(value.item())
