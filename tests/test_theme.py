"""Colours and type: every theme can be read, fonts are shipped, and themes switch at run time."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cellwire.app import theme
from PySide6.QtCore import QFile
from PySide6.QtGui import QColor, QFontInfo, QPalette
from PySide6.QtWidgets import QLabel

SURFACES = ("canvas", "panel", "field", "node")
TEXTS = ("text", "muted", "ok_text", "warn_text", "stop_text")


def luminance(color: str) -> float:
    """The relative luminance of WCAG 2."""
    parts = [channel / 255 for channel in QColor(color).getRgb()[:3]]  # type: ignore[operator]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """The contrast ratio of WCAG 2, from 1 to 21."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", theme.THEMES)
def test_text_can_be_read_on_every_surface(name: str, text: str, surface: str) -> None:
    colors = theme.THEMES[name]
    assert contrast(getattr(colors, text), getattr(colors, surface)) >= 4.5


@pytest.mark.parametrize("name", theme.THEMES)
def test_filled_buttons_and_selected_rows_can_be_read(name: str) -> None:
    colors = theme.THEMES[name]
    assert contrast(colors.button_text, colors.button) >= 4.5


@pytest.mark.parametrize("token", ["accent", "ops", "data", "control", "loss", "ok", "stop"])
@pytest.mark.parametrize("name", theme.THEMES)
def test_signs_stand_out_from_the_canvas(name: str, token: str) -> None:
    colors = theme.THEMES[name]
    assert contrast(getattr(colors, token), colors.canvas) >= 3.0


@pytest.mark.parametrize(("mono", "family"), [(False, "Inter"), (True, "JetBrains Mono")])
@pytest.mark.parametrize("weight", [400, 500, 700])
def test_the_shipped_fonts_are_used(desktop: object, mono: bool, family: str, weight: int) -> None:
    info = QFontInfo(theme.font(theme.BODY, weight, mono=mono))
    assert (info.family(), info.weight()) == (family, weight)


def test_the_fonts_come_with_their_licence() -> None:
    licence = (theme.ASSETS / "fonts" / "OFL.txt").read_text()
    assert "SIL OPEN FONT LICENSE" in licence
    assert "Inter" in licence
    assert "JetBrains Mono" in licence


def test_a_font_that_is_handed_out_can_be_changed_without_harm(desktop: object) -> None:
    theme.font(theme.BODY).setBold(True)
    assert not theme.font(theme.BODY).bold()


def test_themes_switch_while_the_program_runs(desktop: object, qtbot: object) -> None:
    label = QLabel("text")
    qtbot.addWidget(label)  # type: ignore[attr-defined]
    label.show()
    seen: list[str] = []
    theme.switch.changed.connect(lambda colors: seen.append(colors.name))
    for name in theme.THEMES:
        theme.apply(desktop, name)  # type: ignore[arg-type]
        drawn = label.palette().color(QPalette.ColorRole.WindowText)
        assert drawn == QColor(theme.THEMES[name].text)
    assert seen == list(theme.THEMES)


def test_an_unknown_theme_is_refused(desktop: object) -> None:
    with pytest.raises(ValueError, match=r"no theme 'sepia'.*dark, light"):
        theme.apply(desktop, "sepia")  # type: ignore[arg-type]


def test_colours_are_written_in_the_theme_alone() -> None:
    app = Path(theme.__file__).parent
    literal = [
        path.name
        for path in app.rglob("*.py")
        if path.name != "theme.py" and 'QColor("#' in path.read_text()
    ]
    assert literal == []


def test_icons_are_found_in_a_folder_of_any_name(
    desktop: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "my (first) ä 'net'"
    shutil.copytree(theme.ASSETS / "icons", odd / "icons")
    monkeypatch.setattr(theme, "ASSETS", odd)
    try:
        theme.apply(desktop, theme.switch.theme.name)  # type: ignore[arg-type]
        assert QFile.exists(f"{theme.ICONS}:check.svg")
        assert " " not in desktop.styleSheet().partition("url(")[2].partition(")")[0]  # type: ignore[attr-defined]
    finally:
        monkeypatch.undo()
        theme.apply(desktop, theme.switch.theme.name)  # type: ignore[arg-type]
