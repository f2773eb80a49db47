"""Plots in the program's looks."""

from __future__ import annotations

from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QPen
from PySide6.QtWidgets import QWidget

from .. import theme


class Plot(pg.PlotWidget):
    """An empty plot: quiet axes, dotted grid, no menus, the theme's colours also after a switch."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent, enableMenu=False)
        self._curves: list[tuple[pg.PlotDataItem, str, bool]] = []
        self._drop_menus()
        self.hideButtons()
        self.setMouseEnabled(x=False, y=False)
        self.setFrameShape(pg.PlotWidget.Shape.NoFrame)
        self.setAccessibleName(title)
        self.setToolTip(title)
        self.setMinimumHeight(80)
        for name in ("left", "bottom"):
            axis = self._axes_item.getAxis(name)
            axis.setStyle(tickLength=0, tickTextOffset=6, maxTickLevel=0)
            axis.setTickFont(theme.font(10, mono=True))
        self.show_axes(False)
        self.recolor()
        theme.switch.changed.connect(self.recolor)

    @property
    def _axes_item(self) -> pg.PlotItem:
        item: Any = self.getPlotItem()  # checkers take it for None, which it is before __init__
        return item

    def _drop_menus(self) -> None:
        """End the menus that pyqtgraph makes without a parent, which would outlive the plot."""
        self.setMenuEnabled(False)
        menu = self._axes_item.ctrlMenu
        if menu is not None:
            menu.setParent(self, menu.windowFlags())

    def sizeHint(self) -> QSize:
        """Small: a plot takes what room there is, and asks for none."""
        return QSize(240, self.minimumHeight())

    def add_curve(self, token: str, *, dashed: bool = False) -> pg.PlotDataItem:
        """A new curve in a token's colour; dashes tell two apart without colour."""
        curve = self.plot([], [], pen=_pen(token, dashed))
        self._curves.append((curve, token, dashed))
        return curve

    def show_axes(self, shown: bool) -> None:
        """Show axes and grid, or nothing while there is nothing to read off them."""
        for name in ("left", "bottom"):
            axis = self._axes_item.getAxis(name)
            axis.setStyle(showValues=shown)
            axis.setVisible(shown)
        self._axes_item.showGrid(x=False, y=shown, alpha=0.25)

    def recolor(self, _: object = None) -> None:
        """Take the colours of the current theme."""
        colors = theme.current()
        self.setBackground(QColor(colors.panel))
        for name in ("left", "bottom"):
            axis = self._axes_item.getAxis(name)
            axis.setPen(pg.mkPen(colors.line))
            axis.setTextPen(pg.mkPen(colors.muted))
        for curve, token, dashed in self._curves:
            curve.setPen(_pen(token, dashed))


def _pen(token: str, dashed: bool) -> QPen:
    style = Qt.PenStyle.DashLine if dashed else Qt.PenStyle.SolidLine
    return pg.mkPen(getattr(theme.current(), token), width=1.8, style=style)
