"""The layers import downward only, and only the drawing part of `app` knows Qt."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ORDER = ("kernels", "engine", "nodes", "app")
QT = ("PySide6", "shiboken6", "pyqtgraph", "superqt", "qtawesome")
FREE_OF_QT = ("app/cli", "app/session")
FILES = sorted(path for layer in ORDER for path in (ROOT / layer).rglob("*.py"))
FOLDERS = sorted({path.parent for path in FILES})


@functools.cache
def imports(path: Path) -> tuple[tuple[int, str, bool], ...]:
    """Line, absolute module and whether it was written relative, of every import in a file."""
    return tuple(_found(path))


def _found(path: Path) -> Iterator[tuple[int, str, bool]]:
    package = ("cellwire", *path.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, False
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            stem = ".".join((*base, *(node.module.split(".") if node.module else ())))
            yield node.lineno, stem, bool(node.level)
            for alias in node.names if node.level else ():
                yield node.lineno, f"{stem}.{alias.name}", True


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_imports_go_downward_and_are_relative(folder: Path) -> None:
    own = ORDER.index(folder.relative_to(ROOT).parts[0])
    for path in sorted(folder.glob("*.py")):
        for line, module, relative in imports(path):
            parts = module.split(".")
            if parts[0] != "cellwire":
                continue
            where = f"{name(path)}:{line} imports {module}"
            assert relative, f"{where}: write it relative"
            if len(parts) > 1 and parts[1] in ORDER:
                assert ORDER.index(parts[1]) <= own, f"{where}, a layer above its own"


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_only_the_drawing_part_knows_qt(folder: Path) -> None:
    draws = name(folder).startswith("app") and not name(folder).startswith(FREE_OF_QT)
    found = [
        f"{name(path)}:{line}"
        for path in folder.glob("*.py")
        for line, module, _ in imports(path)
        if module.startswith(QT) and not draws
    ]
    assert not found
