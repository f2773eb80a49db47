"""Pictures of a tensor: a heat map, a grid of images, a histogram."""

from __future__ import annotations

import functools

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from ...engine.run.inspect import HeatMap, Histogram, ImageGrid
from .. import theme

NOT_FINITE = (255, 92, 92)
CELL_GAP_FROM = 6


@functools.cache
def _colors() -> np.ndarray:
    """256×3 uint8 from low to high; perceptually uniform, and readable without colour vision."""
    table = pg.colormap.get("inferno").getLookupTable(0.12, 0.92, 256)  # type: ignore[union-attr]
    return np.asarray(table)[:, :3].astype(np.uint8)


def heat_image(heat: HeatMap) -> QImage:
    """The map's values as colours, one pixel each; what is not finite is red."""
    values = np.frombuffer(heat.values, np.float32).reshape(heat.rows, heat.columns)
    finite = np.isfinite(values)
    span = (heat.high - heat.low) or 1.0
    places = np.where(finite, (values - heat.low) / span * 255.0, 0.0).clip(0, 255)
    pixels = _colors()[places.astype(np.uint8)]
    pixels[~finite] = NOT_FINITE
    return rgb_image(np.ascontiguousarray(pixels))


def rgb_image(pixels: np.ndarray) -> QImage:
    """An H×W×3 uint8 array as an image that owns its pixels."""
    height, width, _ = pixels.shape
    return QImage(pixels.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888).copy()


def grid_image(grid: ImageGrid) -> QImage:
    """The grid's pixels as an image; gray tiles stay gray."""
    pixels = np.frombuffer(grid.pixels, np.uint8).reshape(grid.height, grid.width, grid.channels)
    if grid.channels == 1:
        pixels = np.repeat(pixels, 3, axis=2)
    return rgb_image(np.ascontiguousarray(pixels))


class Picture(QWidget):
    """Shows an image as large as fits, in whole square pixels, with gaps between large cells."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._image: QImage | None = None
        self._gaps = False
        self.setMinimumHeight(128)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def show_heat(self, heat: HeatMap) -> None:
        """Show a heat map."""
        self._show(heat_image(heat), gaps=True)
        self.setToolTip(f"{heat.rows} × {heat.columns} cells, {heat.low:.4g} to {heat.high:.4g}")

    def show_grid(self, grid: ImageGrid) -> None:
        """Show a grid of images."""
        self._show(grid_image(grid), gaps=False)
        self.setToolTip(f"{grid.tiles} images of {grid.tile_height} × {grid.tile_width}")

    def clear(self) -> None:
        """Show nothing."""
        self._image = None
        self.setToolTip("")
        self.update()

    @property
    def image(self) -> QImage | None:
        """The image that is shown, at one pixel a value."""
        return self._image

    def sizeHint(self) -> QSize:
        """Wide enough for the panel."""
        return QSize(256, 148)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the image, centred."""
        if self._image is None:
            return
        painter = QPainter(self)
        wide, tall = self._image.width(), self._image.height()
        if self._gaps:
            self._paint_cells(painter, wide, tall)
        else:
            scale = min(self.width() / wide, self.height() / tall)
            scale = max(1, int(scale)) if scale >= 1 else scale
            target = QRectF(0, 0, wide * scale, tall * scale)
            target.moveCenter(QRectF(self.rect()).center())
            painter.drawImage(target.toRect(), self._image)
        painter.end()

    def _show(self, image: QImage, *, gaps: bool) -> None:
        self._image, self._gaps = image, gaps
        self.update()

    def _paint_cells(self, painter: QPainter, wide: int, tall: int) -> None:
        """Fill the whole width; cells may be longer than wide, as a matrix's entries may."""
        assert self._image is not None
        cell = min(self.width() / wide, max(self.height() / tall, 2.0))
        height = min(self.height(), max(cell * tall, min(self.height(), 8.0 * tall)))
        area = QRect(0, int(self.height() - height) // 2, self.width(), int(height))
        painter.drawImage(area, self._image)
        across, down = area.width() / wide, area.height() / tall
        painter.setPen(theme.current().color("panel"))
        if across >= CELL_GAP_FROM:
            for at in range(1, wide):
                x = area.left() + round(at * across)
                painter.drawLine(x, area.top(), x, area.bottom())
        if down >= CELL_GAP_FROM:
            for at in range(1, tall):
                y = area.top() + round(at * down)
                painter.drawLine(area.left(), y, area.right(), y)


class HistogramView(QWidget):
    """Bars of a histogram; what lies far outside is one red bar at the end where it lies."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._histogram: Histogram | None = None
        self.setFixedHeight(84)

    def show_histogram(self, histogram: Histogram | None) -> None:
        """Show this histogram, or nothing."""
        self._histogram = histogram
        self.setToolTip(_describe(histogram) if histogram else "")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw bars, the base line and the ends of the range."""
        histogram, colors = self._histogram, theme.current()
        if histogram is None or not any((*histogram.counts, histogram.below, histogram.above)):
            return
        painter = QPainter(self)
        painter.setFont(theme.font(10, mono=True))
        painter.setPen(colors.color("muted"))
        text = QRectF(0, self.height() - 14, self.width(), 14)
        painter.drawText(text, Qt.AlignmentFlag.AlignLeft, f"{histogram.low:.3g}")
        painter.drawText(text, Qt.AlignmentFlag.AlignRight, f"{histogram.high:.3g}")
        painter.setPen(Qt.PenStyle.NoPen)
        bars = [(histogram.below, "stop"), *((n, "accent") for n in histogram.counts)]
        bars.append((histogram.above, "stop"))
        base, top = self.height() - 18, 2
        peak = max(n for n, _ in bars)
        width = self.width() / len(bars)
        for at, (number, token) in enumerate(bars):
            if number == 0:
                continue
            height = max(1.5, (base - top) * number / peak)
            painter.setBrush(colors.color(token))
            painter.drawRect(QRectF(at * width, base - height, max(1.0, width - 1), height))
        painter.end()


def _describe(histogram: Histogram) -> str:
    parts = [f"{sum(histogram.counts):,} values from {histogram.low:.4g} to {histogram.high:.4g}"]
    for number, where in ((histogram.below, "below"), (histogram.above, "above")):
        if number:
            parts.append(f"{number:,} far {where}")
    if histogram.nan or histogram.inf:
        parts.append(f"{histogram.nan:,} NaN, {histogram.inf:,} Inf")
    return "; ".join(parts)
