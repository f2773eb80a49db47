"""What grows with a model and what does not, by counts: kernels, calls of them, plans."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

PATH = Path(__file__).parents[1] / "benchmarks" / "sweep.py"


@pytest.fixture(scope="module")
def sweep() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sweep", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["sweep"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", ["forward", "training"])
def test_a_deeper_model_calls_the_same_kernels(sweep: ModuleType, kind: str) -> None:
    x = sweep.numbers(4, 8)
    counts = []
    for depth in (4, 6, 8):
        report = sweep.MAKERS[kind](depth, 8).explain(x).report
        counts.append((len(report.kernels), sum(kernel.calls for kernel in report.kernels)))
    kernels, calls = zip(*counts, strict=True)
    assert len(set(kernels)) == 1
    assert calls[2] - calls[1] == calls[1] - calls[0] > 0


def test_ever_other_lengths_keep_a_bounded_number_of_plans(sweep: ModuleType) -> None:
    assert sweep.measure_lengths(30).plans <= sweep.measure_lengths(60).plans + 1
    assert sweep.measure_lengths(200).plans <= 64


def test_a_slope_is_that_of_the_larger_half(sweep: ModuleType) -> None:
    sizes = (1, 2, 4, 8, 16, 32)
    assert sweep.slope(sizes, [size**2 / 7 for size in sizes]) == pytest.approx(2)
    assert sweep.slope(sizes, [9, 9, 9, 8, 16, 32]) == pytest.approx(1)
