"""The page that follows a model through the compiler shows what the compiler really makes."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture
def stages() -> Iterator[Any]:
    spec = importlib.util.spec_from_file_location("stages", DOCS / "stages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_every_block_is_what_its_stage_gives(stages: Any) -> None:
    text = stages.PAGE.read_text(encoding="utf-8")
    shown = {name: block for _, name, block, _ in stages.BLOCK.findall(text)}
    made = stages.blocks()
    assert shown.keys() == made.keys()
    advice = "the compiler changed; look at what it makes now and run `python docs/stages.py`"
    for name, block in made.items():
        assert shown[name] == block, f"{name}: {advice}"
