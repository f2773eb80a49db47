"""The wheel holds every module and every asset, and imports from outside of the checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("kernels", "engine", "nodes", "app", "assets")
FILES = ("pyproject.toml", "README.md", "LICENSE", "__init__.py", "__main__.py")

BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
IMPORT_ALL = """
import importlib, pkgutil, sys
import cellwire
assert cellwire.__file__.startswith(sys.argv[1]), cellwire.__file__
names = [m.name for m in pkgutil.walk_packages(cellwire.__path__, "cellwire.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(*names, sep="\\n")
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds what the wheel installs."""
    source = tmp_path_factory.mktemp("source")
    ignore = shutil.ignore_patterns("__pycache__", "*.cellwire~")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, source / folder, ignore=ignore)
    for file in FILES:
        shutil.copy(ROOT / file, source / file)
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-c", BUILD, str(out)], cwd=source, check=True,
                   capture_output=True)  # fmt: skip
    (wheel,) = out.glob("*.whl")
    target = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def source_files(*patterns: str) -> set[str]:
    """Paths in the checkout, relative to it, of files below the package's folders."""
    found = (p for folder in FOLDERS for pattern in patterns for p in (ROOT / folder).rglob(pattern))
    return {str(p.relative_to(ROOT)) for p in found if "__pycache__" not in p.parts}


def test_every_module_is_in_the_wheel(installed: Path) -> None:
    packed = {str(p.relative_to(installed / "cellwire")) for p in installed.rglob("*.py")}
    assert source_files("*.py") <= packed


def test_every_asset_is_in_the_wheel(installed: Path) -> None:
    wanted = {p for p in source_files("*") if p.startswith("assets") and (ROOT / p).is_file()}
    packed = {str(p.relative_to(installed / "cellwire")) for p in (installed / "cellwire").rglob("*")}
    assert {p for p in wanted if not p.endswith("~")} <= packed


def test_every_module_imports_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    env_path = {"PYTHONPATH": str(installed), "QT_QPA_PLATFORM": "offscreen"}
    import os

    result = subprocess.run(
        [sys.executable, "-P", "-c", IMPORT_ALL, str(installed)],
        cwd=tmp_path, env={**os.environ, **env_path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "cellwire.engine.tensor" in result.stdout.split()
