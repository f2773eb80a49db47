"""Every folder of the package is listed in `pyproject.toml`, else the wheel would lack it."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = {"tests", "benchmarks", "docs", "build", "out"}


def test_packages_are_listed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed = settings["tool"]["setuptools"]["packages"]
    folders = [path.parent.relative_to(ROOT) for path in ROOT.rglob("__init__.py")]
    found = {
        ".".join(("cellwire", *folder.parts))
        for folder in folders
        if not OUTSIDE & set(folder.parts) and not any(p.startswith(".") for p in folder.parts)
    }
    assert sorted(listed) == sorted(found)
