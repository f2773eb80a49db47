"""The examples of the page on `jit` run and print what the page shows."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture
def examples() -> Iterator[Any]:
    spec = importlib.util.spec_from_file_location("examples", DOCS / "examples.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_examples_print_what_the_page_shows(examples: Any) -> None:
    advice = "look at what it prints now and run `python docs/examples.py`"
    for path in examples.PAGES:
        count = 0
        for found, printed in examples.ran(path.read_text(encoding="utf-8")):
            assert (found[2] or "") == printed, f"{path.name}: {advice}"
            count += 1
        assert count == path.read_text(encoding="utf-8").count("<!-- run -->")
