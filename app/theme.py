"""The one place of colours and type: tokens, fonts, the palette, icons, and the switch of theme."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import qtawesome
from PySide6.QtCore import QDir, QObject, QSettings, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QIcon, QPalette
from PySide6.QtWidgets import QApplication

from .stylesheet import stylesheet

ASSETS = Path(__file__).parent.parent / "assets"
ICONS = "icons"
TEXT_FAMILY, MONO_FAMILY = "Inter", "JetBrains Mono"
CJK_FAMILIES = ("Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", "Source Han Sans SC")
SMALL, BODY, TITLE, HEAD, DISPLAY = 11.0, 12.5, 13.0, 14.0, 24.0
"""The type sizes, in pixels at a scale of 100 %."""

GRID = 4
"""Spacing comes in multiples of this many pixels."""


@dataclass(frozen=True)
class Theme:
    """The colours of one theme, as ``#rrggbb``."""

    name: str
    dark: bool
    window: str
    canvas: str
    dots: str
    panel: str
    field: str
    line: str
    text: str
    muted: str
    faint: str
    node: str
    outline: str
    wire: str
    accent: str
    accent_text: str
    button: str
    button_text: str
    ops: str
    data: str
    control: str
    loss: str
    ok: str
    ok_text: str
    warn: str
    warn_text: str
    stop: str
    stop_text: str
    shadow: str

    def color(self, token: str, alpha: float = 1.0) -> QColor:
        """A token as a QColor, at an opacity of 0 to 1."""
        color = QColor(getattr(self, token))
        color.setAlphaF(alpha)
        return color

    def category(self, category: str) -> QColor:
        """The colour of a node category: cell, op, data, control, view or loss."""
        return QColor(getattr(self, CATEGORY_TOKENS.get(category.lower(), "ops")))


CATEGORY_TOKENS = {
    "cell": "accent",
    "cells": "accent",
    "group": "accent",
    "op": "ops",
    "ops": "ops",
    "data": "data",
    "control": "control",
    "view": "control",
    "views": "control",
    "loss": "loss",
}

DARK = Theme(
    name="dark",
    dark=True,
    window="#15171c",
    canvas="#191c22",
    dots="#262a33",
    panel="#1d2027",
    field="#23272f",
    line="#2d323c",
    text="#e6e8ec",
    muted="#8b93a1",
    faint="#5d6573",
    node="#252a33",
    outline="#343a46",
    wire="#7b8494",
    accent="#5b8cff",
    accent_text="#6f9aff",
    button="#3767d6",
    button_text="#ffffff",
    ops="#a78bfa",
    data="#4cc9f0",
    control="#f5b64a",
    loss="#f472b6",
    ok="#3ecf8e",
    ok_text="#3ecf8e",
    warn="#f5b64a",
    warn_text="#f5b64a",
    stop="#ff5c5c",
    stop_text="#ff6b6b",
    shadow="#101216",
)

LIGHT = Theme(
    name="light",
    dark=False,
    window="#eceef2",
    canvas="#f7f8fa",
    dots="#dfe3ea",
    panel="#ffffff",
    field="#f3f5f8",
    line="#dde1e8",
    text="#1c2128",
    muted="#667085",
    faint="#98a1b0",
    node="#ffffff",
    outline="#d5dae3",
    wire="#8790a0",
    accent="#2f6bff",
    accent_text="#245be0",
    button="#2a65f6",
    button_text="#ffffff",
    ops="#7c5cf0",
    data="#0891b2",
    control="#c77700",
    loss="#d6358b",
    ok="#0f9d63",
    ok_text="#0b7a4d",
    warn="#c77700",
    warn_text="#8f5500",
    stop="#e5484d",
    stop_text="#c4343a",
    shadow="#dadee6",
)

HIGH_CONTRAST = Theme(
    name="high-contrast",
    dark=True,
    window="#000000",
    canvas="#000000",
    dots="#3a3a3a",
    panel="#000000",
    field="#0d0d0d",
    line="#8c8c8c",
    text="#ffffff",
    muted="#d0d0d0",
    faint="#9a9a9a",
    node="#0d0d0d",
    outline="#c8c8c8",
    wire="#c8c8c8",
    accent="#6cb2ff",
    accent_text="#8cc3ff",
    button="#ffd60a",
    button_text="#000000",
    ops="#c9b2ff",
    data="#5fe3ff",
    control="#ffd60a",
    loss="#ff9ed2",
    ok="#4dff9e",
    ok_text="#4dff9e",
    warn="#ffd60a",
    warn_text="#ffd60a",
    stop="#ff7a7a",
    stop_text="#ff8f8f",
    shadow="#000000",
)

THEMES = {theme.name: theme for theme in (DARK, LIGHT, HIGH_CONTRAST)}


class _Switch(QObject):
    """Holds the theme in use and tells who draws when it changes."""

    changed = Signal(object)
    theme = DARK


switch = _Switch()
"""``switch.changed`` is emitted with the new Theme after every switch."""


def current() -> Theme:
    """The theme in use."""
    return switch.theme


def apply(app: QApplication, name: str) -> None:
    """Switch the whole program to the theme called `name`, at any time."""
    if name not in THEMES:
        raise ValueError(f"There is no theme {name!r}; choose one of {', '.join(THEMES)}.")
    theme = THEMES[name]
    load_fonts()
    switch.theme = theme
    if app.style().objectName() != "fusion":
        app.setStyle("Fusion")
    app.setFont(font(BODY))
    app.setPalette(palette(theme))
    tokens = {field.name: getattr(theme, field.name) for field in fields(theme)}
    # a search path, as the url() of a style sheet takes no folder with a space in its name
    QDir.setSearchPaths(ICONS, [str(ASSETS / "icons")])
    app.setStyleSheet(stylesheet(tokens, points, ICONS))
    switch.changed.emit(theme)


def preferred() -> str:
    """The theme chosen last, else the one that the system asks for."""
    saved = str(QSettings().value("theme", ""))
    if saved in THEMES:
        return saved
    light = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Light
    return "light" if light else "dark"


def load_fonts() -> None:
    """Register the shipped fonts, so that every screen shows the same letters."""
    if TEXT_FAMILY in QFontDatabase.families() and switch.property("fonts_loaded"):
        return
    fonts = ASSETS / "fonts"
    for path in sorted((*fonts.glob("*.otf"), *fonts.glob("*.ttf"))):
        if QFontDatabase.addApplicationFont(str(path)) < 0:
            raise OSError(f"The font {path.name} could not be read; reinstall Cellwire.")
    switch.setProperty("fonts_loaded", True)


def points(pixels: float) -> float:
    """Font points for a size in logical pixels, which may be fractional."""
    screen = QGuiApplication.primaryScreen()
    return pixels * 72.0 / (screen.logicalDotsPerInchY() if screen else 96.0)


def font(size: float, weight: int = 400, *, mono: bool = False) -> QFont:
    """The program's font at `size` pixels; `weight` is 400, 500, 600 or 700."""
    return QFont(_font(size, weight, mono))


@lru_cache(maxsize=64)
def _font(size: float, weight: int, mono: bool) -> QFont:
    result = QFont()
    result.setFamilies([MONO_FAMILY if mono else TEXT_FAMILY, *CJK_FAMILIES])
    result.setPointSizeF(points(size))
    result.setWeight(QFont.Weight(weight))
    result.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    return result


def icon(name: str, token: str = "muted", **options: Any) -> QIcon:
    """A line icon of the Phosphor set (``play``, ``bug``, …) in a token's colour."""
    theme = current()
    options.setdefault("color_disabled", theme.faint)
    return qtawesome.icon(f"ph.{name}", color=getattr(theme, token), **options)


def palette(theme: Theme) -> QPalette:
    """The QPalette of a theme, for everything that Fusion draws itself."""
    role, group = QPalette.ColorRole, QPalette.ColorGroup
    result = QPalette()
    roles = {
        role.Window: theme.panel,
        role.WindowText: theme.text,
        role.Base: theme.field,
        role.AlternateBase: theme.panel,
        role.Text: theme.text,
        role.PlaceholderText: theme.muted,
        role.Button: theme.field,
        role.ButtonText: theme.text,
        role.BrightText: theme.stop,
        role.ToolTipBase: theme.node,
        role.ToolTipText: theme.text,
        role.Highlight: theme.button,
        role.HighlightedText: theme.button_text,
        role.Link: theme.accent_text,
        role.LinkVisited: theme.ops,
        role.Light: theme.outline,
        role.Midlight: theme.line,
        role.Mid: theme.line,
        role.Dark: theme.line,
        role.Shadow: theme.shadow,
        role.Accent: theme.accent,
    }
    for key, value in roles.items():
        result.setColor(key, QColor(value))
    for key in (role.WindowText, role.Text, role.ButtonText, role.HighlightedText):
        result.setColor(group.Disabled, key, QColor(theme.faint))
    return result
