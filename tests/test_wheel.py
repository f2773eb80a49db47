"""The wheel holds every module and every asset, and imports from outside of the checkout."""

from __future__ import annotations

import os
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


def files_below(root: Path, *folders: str) -> set[str]:
    """Paths relative to `root` of the files in these folders, but for what running leaves there."""
    found = (path for folder in folders for path in (root / folder).rglob("*") if path.is_file())
    left = ("~", ".safetensors")
    names = (path.relative_to(root).as_posix() for path in found)
    return {name for name in names if "__pycache__" not in name and not name.endswith(left)}


def test_every_module_is_in_the_wheel(installed: Path) -> None:
    modules = {name for name in files_below(ROOT, *FOLDERS) if name.endswith(".py")}
    assert modules <= files_below(installed / "cellwire", *FOLDERS)


def test_every_asset_is_in_the_wheel(installed: Path) -> None:
    assert files_below(ROOT, "assets") <= files_below(installed / "cellwire", "assets")


def test_every_module_imports_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    env_path = {"PYTHONPATH": str(installed), "QT_QPA_PLATFORM": "offscreen"}
    result = subprocess.run(
        [sys.executable, "-P", "-c", IMPORT_ALL, str(installed)],
        cwd=tmp_path, env={**os.environ, **env_path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "cellwire.engine.tensor" in result.stdout.split()
