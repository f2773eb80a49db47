"""Tensors and objects that a compiled function makes, and what it gives back of them."""

from __future__ import annotations

import collections
import dataclasses
import types
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from alike import one, quiet
from cellwire import nn, ops
from cellwire.engine.compiler.jit import JitError
from cellwire.kernels import conv


@dataclasses.dataclass
class Pair:
    value: object


def test_results_that_a_graph_cannot_make_are_made_eagerly() -> None:
    def generate(x: Any) -> Any:
        for n in range(3):
            yield x * n

    for fn, read in (
        (lambda x: Pair(x * 2), lambda r: r.value.item()),
        (generate, lambda r: [t.item() for t in r]),
        (lambda x: collections.OrderedDict(a=x + 1), lambda r: (type(r), r["a"].item())),
    ):
        run = cw.jit(fn)
        for value in (1.0, 2.0):
            assert read(quiet(run, one(value))) == read(fn(one(value)))


def test_tensors_made_inside_are_new_at_each_call() -> None:
    def fn(x: Any) -> Any:
        total = cw.Tensor([0.0, 1.0])
        total[0] = x.sum()
        return total, cw.Tensor([5.0])

    run = cw.jit(fn, fullgraph=True)
    for value in (1.0, 2.0):
        total, constant = run(one(value))
        assert total.asnumpy().tolist() == [value, 1]
        assert constant.item() == 5
        total.asnumpy()[:] = 77
        constant.asnumpy()[:] = 77


def test_tensors_are_made_of_traced_ones() -> None:
    def fn(x: Any) -> Any:
        half = cw.tensor(x * 3, dtype=cw.float16)
        same = cw.tensor(x)
        same[0] = 9.0
        return half, same, x + 1

    for run in (fn, cw.jit(fn, fullgraph=True)):
        half, same, more = run(cw.Tensor([1.0, 2.0]))
        assert (half.tolist(), half.dtype) == ([3, 6], cw.float16)
        assert (same.tolist(), more.tolist()) == ([9, 2], [2, 3])
        assert cw.grad(lambda x: cw.tensor(x) * x)(cw.Tensor([2.0])).tolist() == [2]


class Scaled:
    """A class of one's own, with a setting of the class and one of the object."""

    shift = 1.0

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, x: Any) -> Any:
        return x * self.factor + self.shift


def test_objects_made_inside_are_read_without_a_name() -> None:
    def fn(x: Any) -> Any:
        scaled = Scaled(3.0)
        return scaled(x) * scaled.factor

    run = cw.jit(fn, fullgraph=True)
    for value in (1.0, 2.0):
        assert run(one(value)).item() == 3 * (3 * value + 1)


def test_the_type_of_a_tensor_is_the_same_in_compiled_code() -> None:
    def fn(x: Any) -> Any:
        y = x + 1
        return type(x), type(y) is cw.Tensor, type(x.shape)

    run = cw.jit(fn)
    assert quiet(run, one()) == (cw.Tensor, True, tuple)
    with pytest.raises(JitError, match="type of the tensor 'x'"):
        cw.jit(fn, fullgraph=True)(one())


def test_what_a_class_holds_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def fn(x: Any) -> Any:
        scaled, other = Scaled(2.0), Scaled(0.0)
        other.shift = other.shift + 1
        return scaled(x) + scaled.shift + other.shift

    run = cw.jit(fn, fullgraph=True)
    assert run(one(1.0)).item() == 6
    monkeypatch.setattr(Scaled, "shift", 10.0)
    assert run(one(1.0)).item() == 33


@pytest.mark.parametrize("dtype", [cw.int32, cw.float32])
def test_integers_are_derived_in_compiled_code_as_in_eager(dtype: Any) -> None:
    def fn(x: Any) -> Any:
        return x * x, (x * 3, 1)

    x = cw.Tensor([2, 5], dtype)
    run = cw.jit(fn, fullgraph=True)
    for derived in (cw.grad(run), cw.jit(cw.grad(fn), fullgraph=True), cw.grad(fn)):
        assert derived(x).tolist() == [7, 13]
        assert derived(x).dtype is dtype


def test_limits_of_a_float_type_that_are_asked_for_first_inside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ml_dtypes.finfo._finfo_cache", {})
    loss = nn.BCELoss()
    run = cw.jit(loss, fullgraph=True)
    half, ones = (cw.Tensor(np.full((2, 1), value, np.float32)) for value in (0.5, 1.0))
    assert run(half, ones).item() == pytest.approx(np.log(2.0))


def test_what_a_kernel_does_to_settle_a_branch_is_no_code_of_the_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = types.SimpleNamespace(count=0)
    native = conv._native

    def counted(*args: Any) -> Any:
        made.count += 1
        return native(*args)

    monkeypatch.setattr(conv, "_native", counted)
    weight = cw.Parameter(np.ones((2, 1, 3, 3), np.float32))

    @cw.jit(fullgraph=True)
    def step(x: cw.Tensor) -> cw.Tensor:
        return x * 2 if ops.conv2d(x, weight).sum() > 0 else -x

    ones = cw.Tensor(np.ones((1, 1, 4, 4), np.float32))
    for x in (ones, -ones, ones):
        np.testing.assert_array_equal(step(x), 2 * x.asnumpy() if x is ones else 1)
    assert made.count
