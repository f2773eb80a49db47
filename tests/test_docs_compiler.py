"""The page that follows a model through the compiler shows what the compiler really makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from files import module_at

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture(scope="module")
def stages() -> Any:
    return module_at(DOCS / "stages.py", "docs_stages")


def test_every_block_is_what_its_stage_gives(stages: Any) -> None:
    text = stages.PAGE.read_text(encoding="utf-8")
    shown = {name: block for _, name, block, _ in stages.BLOCK.findall(text)}
    made = stages.blocks()
    assert shown.keys() == made.keys()
    advice = "the compiler changed; look at what it makes now and run `python docs/stages.py`"
    for name, block in made.items():
        assert shown[name] == block, f"{name}: {advice}"
