"""Sorting in plans: the positions that NumPy's stable sort gives, NaN last and ties in order."""

from __future__ import annotations

from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine.compiler.jit import explain
from cellwire.engine.ops.registry import OPS

ops = cw.ops
RNG = np.random.default_rng(5)


def elements(shape: tuple[int, ...], name: str) -> np.ndarray:
    """Return elements with equal ones among them, and the ends of what the dtype holds."""
    dtype = np.dtype(name)
    if dtype.kind == "b":
        return RNG.random(shape) > 0.5
    if dtype.kind == "f":
        found = RNG.standard_normal(shape).astype(dtype)
        special = (np.nan, 0.0, -0.0, np.inf, -np.inf, 1.5, -np.nan, 5e-324)
    else:
        ends = np.iinfo(dtype)
        found = RNG.integers(ends.min, ends.max, shape, dtype=dtype, endpoint=True)
        special = (ends.min, ends.max, 0, 1)
    for number, value in enumerate(special):
        found.reshape(-1)[number :: 11 + number] = value
    return found


def native(fn: Any, *given: cw.Tensor) -> Any:
    assert "host" not in str(explain(fn)(*given))
    return cw.jit(fn, fullgraph=True)(*given)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u2", "u4", "i8", "?"])
@pytest.mark.parametrize("descending", [False, True])
def test_positions_are_those_of_a_stable_sort(dtype: str, descending: bool) -> None:
    for shape, axis in (((3, 64), 1), ((3, 65), 1), ((2, 300, 2), 1)):
        check(elements(shape, dtype), axis, descending)


def check(x: np.ndarray, axis: int, descending: bool) -> None:
    wanted = OPS["argsort"].kernel(x, axis, descending)
    given = cw.Tensor(x)

    def both(x: cw.Tensor) -> tuple[cw.Tensor, ...]:
        return (ops.argsort(x, axis, descending), *ops.topk(x, 7, axis, descending))

    found, values, order = native(both, given)
    np.testing.assert_array_equal(found.asnumpy(), wanted)
    first = wanted.take(range(7), axis)
    np.testing.assert_array_equal(order.asnumpy(), first)
    np.testing.assert_array_equal(values.asnumpy(), np.take_along_axis(x, first, axis))


@pytest.mark.parametrize("k", [1, 2, 65, 90])
def test_any_number_of_elements_may_be_the_largest(k: int) -> None:
    x = elements((4, 90), "f4")
    found = native(lambda x: ops.topk(x, k, -1), cw.Tensor(x))[1].asnumpy()
    np.testing.assert_array_equal(found, OPS["argsort"].kernel(x, 1, True)[:, :k])


def test_nan_at_the_first_place_is_found_by_every_search() -> None:
    x = np.array([[np.nan, 1, np.nan, -np.inf, np.inf]], np.float32)
    values, order = native(lambda x: ops.topk(x, 4), cw.Tensor(x))
    assert order.tolist() == [[0, 2, 4, 1]]
    np.testing.assert_array_equal(values.asnumpy(), [[np.nan, np.nan, np.inf, 1]])


def test_half_precision_and_gradients() -> None:
    x = cw.Tensor(RNG.standard_normal((5, 12)).astype(np.float16))
    for one, other in zip(native(ops.sort, x), ops.sort(x), strict=True):
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())
        assert one.dtype is other.dtype
    derive = cw.grad(lambda x: ops.sum(ops.square(ops.topk(x, 3)[0])))
    wide = x.astype(cw.float32)
    found = native(lambda x: derive(x), wide)  # noqa: PLW0108 - a trace enters functions
    np.testing.assert_array_equal(found.asnumpy(), derive(wide).asnumpy())


def test_what_is_made_of_sorting_is_native_too() -> None:
    x = cw.Tensor(RNG.standard_normal((5, 70)).astype(np.float32))
    for fn in (lambda x: ops.median(x, 1), lambda x: ops.kthvalue(x, 9, 1), ops.msort):
        wanted, found = fn(x), native(fn, x)
        pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
        for one, other in pairs:
            np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())
