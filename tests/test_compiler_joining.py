"""Joined arrays and gradients of pieces run natively, and are NumPy's."""

from __future__ import annotations

from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops

RNG = np.random.default_rng(8)


def native(fn: Any, *tensors: cw.Tensor) -> Any:
    """Run compiled code that has no host step."""
    report = cw.jit.explain(fn)(*tensors).report
    assert report is not None
    assert report.host_steps == ()
    return cw.jit(fn, fullgraph=True)(*tensors)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool", "float16"])
@pytest.mark.parametrize(
    ("shapes", "axis"),
    [
        ([(2, 3), (2, 35)], 1),
        ([(4, 3), (1, 3), (2, 3)], 0),
        ([(2, 1, 4), (2, 3, 4)], -2),
        ([(40, 33), (40, 70)], 1),
    ],
)
def test_arrays_are_joined(shapes: list[tuple[int, ...]], axis: int, dtype: str) -> None:
    arrays = [(RNG.standard_normal(shape) * 9).astype(dtype) for shape in shapes]
    found = native(lambda *parts: ops.concat(parts, axis), *map(cw.Tensor, arrays))
    np.testing.assert_array_equal(found.asnumpy(), np.concatenate(arrays, axis))


@pytest.mark.parametrize(
    "key",
    [
        (slice(None), slice(1, 3)),
        (slice(1, None, 2),),
        (0,),
        (slice(None), slice(None), slice(0, 5, 3)),
        (slice(0, 1), slice(1, 3), slice(2, 5)),
        (slice(None), slice(0, 6, 2), slice(None)),
    ],
)
def test_the_gradient_of_a_piece_lies_in_zeros(key: tuple[Any, ...]) -> None:
    x = cw.Tensor(RNG.standard_normal((4, 6, 7)).astype(np.float32))
    expected = np.zeros(x.shape, np.float32)
    expected[key] = 2 * x.asnumpy()[key]
    found = native(cw.grad(lambda x: ops.sum(x[key] ** 2)), x)
    np.testing.assert_array_equal(found.asnumpy(), expected)


def test_reversed_pieces_and_empty_ones_are_right_too() -> None:
    x = cw.Tensor(RNG.standard_normal((4, 6)).astype(np.float32))
    for key in ((slice(None, None, -1),), (slice(2, 2),)):
        run = cw.jit(cw.grad(lambda x, key=key: ops.sum(x[key] * 3.0)), fullgraph=True)
        expected = np.zeros((4, 6), np.float32)
        expected[key] = 3.0
        np.testing.assert_array_equal(run(x).asnumpy(), expected)


def test_layers_in_both_directions_are_one_native_run() -> None:
    net = nn.GRU(5, 4, num_layers=2, bidirectional=True)
    x = cw.Tensor(RNG.standard_normal((3, 2, 5)).astype(np.float32))
    derive = cw.value_and_grad(lambda x: ops.sum(net(x)[0]), None, net.trainable_params())
    report = cw.jit.explain(derive)(x).report
    assert report is not None
    assert (report.host_steps, report.native_runs) == ((), 1)
