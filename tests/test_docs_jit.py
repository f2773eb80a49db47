"""The examples of the page on `jit` run and print what the page shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from files import module_at

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture(scope="module")
def examples() -> Any:
    return module_at(DOCS / "examples.py", "docs_examples")


def test_examples_print_what_the_page_shows(examples: Any) -> None:
    advice = "look at what it prints now and run `python docs/examples.py`"
    for path in examples.PAGES:
        count = 0
        for found, printed in examples.ran(path.read_text(encoding="utf-8")):
            assert (found[2] or "") == printed, f"{path.name}: {advice}"
            count += 1
        assert count == path.read_text(encoding="utf-8").count("<!-- run -->")
