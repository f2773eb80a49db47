"""Rows on modes and speed: what the articles measure is measured here, too."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest


def benchmark(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parent.parent))
    return importlib.import_module(f"benchmarks.{name}")


def test_row_60_the_shapes_of_the_articles_are_benchmarked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    families = benchmark("peers.__main__", monkeypatch).FAMILIES
    workloads = {work.name: work for family in families for work in family.workloads()}
    for name in (
        "LeNet-like CNN, Adam step",  # whole training steps in graph mode
        "transformer layer, Adam step",  # BERT's layers
        "GELU over 2^20 floats",  # many small ops in a row
    ):
        assert "cellwire" in workloads[name].contenders, name


def test_row_60_compiling_by_module_is_benchmarked(monkeypatch: pytest.MonkeyPatch) -> None:
    found = benchmark("modules", monkeypatch).measure(blocks=1)
    assert set(found) == {"one graph", "module by module"}
    for row in found.values():
        assert set(row) == {"first", "later", "arena bytes", "after an edit"}
        assert all(value > 0 for value in row.values())
