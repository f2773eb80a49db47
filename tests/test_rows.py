"""Each behaviour and each complaint that the engine answers to has a test named after it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROWS = range(1, 62)
COMPLAINTS = range(1, 16)


@pytest.mark.parametrize(("kind", "numbers"), [("row", ROWS), ("complaint", COMPLAINTS)])
def test_each_has_a_test(kind: str, numbers: range) -> None:
    found: set[int] = set()
    for file in Path(__file__).parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = node.name if isinstance(node, ast.FunctionDef) else ""
            if named := re.match(rf"test_{kind}_(\d\d)_", name):
                found.add(int(named[1]))
    assert sorted(found) == list(numbers)
