"""What the sweeps measure: counts that grow with a model or do not, errors of the vector math."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from cellwire.kernels.vecmath import MAX_ULP
from files import module_at

FOLDER = Path(__file__).parents[1] / "benchmarks"


def benchmark(name: str) -> ModuleType:
    return module_at(FOLDER / f"{name}.py", f"benchmark_{name}")


@pytest.fixture(scope="module")
def sweep() -> ModuleType:
    return benchmark("sweep")


@pytest.fixture(scope="module")
def vecmath() -> ModuleType:
    return benchmark("vecmath")


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


STRIDE = 16411


@pytest.mark.parametrize("name", sorted(set(MAX_ULP) - {"pow"}))
def test_errors_over_all_floats_are_within_their_bound(vecmath: ModuleType, name: str) -> None:
    worst, at = vecmath.sweep(name, STRIDE, 1)
    assert 0 < worst <= MAX_ULP[name][0], at


@np.errstate(all="ignore")
def test_an_error_of_another_kind_is_infinite(vecmath: ModuleType) -> None:
    exact = np.array([1.0, np.inf, np.nan, 1e300, 2.0, 0.0])
    right = exact.astype(np.float32)
    assert vecmath.errors(right, exact).tolist() == [0] * 6
    for place, wrong in enumerate([np.nan, 1e38, 0.0, 3e38, np.inf, np.nan]):
        got = right.copy()
        got[place] = wrong
        assert vecmath.errors(got, exact)[place] == np.inf
    assert vecmath.errors(right + np.spacing(right), exact)[0] == 1
