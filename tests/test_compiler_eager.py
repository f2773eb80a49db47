"""Composite ops in eager mode as compiled kernels, and the compiler's debug output."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cellwire.engine import ops
from cellwire.engine.compiler import compile_graph, compiled_kernel, trace
from cellwire.engine.compiler.eager import find_kernel
from cellwire.engine.dtype import float32
from cellwire.engine.ops.registry import OPS
from cellwire.engine.shape import Aval, ShapeError
from cellwire.engine.tensor import Tensor

F32 = np.float32


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(F32)


def test_the_first_call_is_left_to_numpy_and_the_second_compiles() -> None:
    x = normal(3, 41)
    attrs = {"axis": 1}
    assert compiled_kernel(OPS["softmax"], (x,), attrs) is None
    found = compiled_kernel(OPS["softmax"], (x,), attrs)
    np.testing.assert_allclose(found, OPS["softmax"].kernel(x, **attrs), rtol=1e-5)


def test_ops_give_the_same_before_and_after_they_are_compiled() -> None:
    x, g, b = Tensor(normal(5, 23)), Tensor(normal(23)), Tensor(normal(23) + 1)
    labels = Tensor(np.arange(5, dtype=np.int32))
    calls = [
        lambda: ops.softmax(x),
        lambda: ops.layer_norm(x, (23,), g, b),
        lambda: ops.cross_entropy(x, labels),
        lambda: ops.dense(x, Tensor(normal(7, 23)), Tensor(normal(7))),
    ]
    for call in calls:
        first, *others = [call().asnumpy() for _ in range(4)]
        for other in others:
            np.testing.assert_allclose(other, first, rtol=1e-4, atol=1e-5)


def test_updates_of_several_outputs_are_one_kernel() -> None:
    arrays = tuple(normal(4, 9) ** 2 for _ in range(4))
    numbers = tuple(np.asarray(v, F32) for v in (0.1, 0.9, 0.999))
    attrs = {
        "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0, "use_nesterov": False,
    }  # fmt: skip
    op = OPS["adam_update"]
    compiled_kernel(op, (*arrays, *numbers), attrs)
    found = compiled_kernel(op, (*arrays, *numbers), attrs)
    for a, b in zip(found, op.kernel(*arrays, *numbers, **attrs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_strided_arrays_are_read_right() -> None:
    x = Tensor(normal(23, 6))
    turned = ops.transpose(x, (1, 0))
    for _ in range(3):
        found = ops.softmax(turned).asnumpy()
    np.testing.assert_allclose(found, ops.softmax(Tensor(turned.asnumpy().copy())).asnumpy())


def test_a_wrong_shape_is_the_ops_own_error_also_when_compiled() -> None:
    x, w = Tensor(normal(3, 4)), Tensor(normal(5, 6))
    for _ in range(3):
        with pytest.raises(ShapeError, match="dense"):
            ops.dense(x, w, Tensor(normal(5)))


def test_an_op_that_needs_numpy_is_left_to_it_for_good() -> None:
    arrays, attrs = (normal(2, 3),), {"axis": 0, "reverse": False}
    for _ in range(3):
        assert find_kernel(OPS["logcumsumexp"], arrays, attrs) is None
        assert compiled_kernel(OPS["logcumsumexp"], arrays, attrs) is None


@pytest.mark.parametrize("shape", [(4,), (1,), (0, 4), (2, 0, 4), (1, 1)])
def test_single_rows_and_empty_batches_are_the_same_in_every_call(shape: Any) -> None:
    x, width = Tensor(normal(*shape)), shape[-1]
    w, g, b = Tensor(normal(8, width)), Tensor(normal(width)), Tensor(normal(8))
    calls = [lambda: ops.dense(x, w, b), lambda: ops.softmax(x)]
    calls.append(lambda: ops.layer_norm(x, (width,), g, g))
    for call in calls:
        first, *others = [call().asnumpy() for _ in range(4)]
        for other in others:
            np.testing.assert_allclose(other, first, rtol=1e-4, atol=1e-5)


def test_the_debug_level_shows_the_stages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call = trace(ops.softmax, [Aval((2, 3), float32)])
    monkeypatch.setenv("CELLWIRE_DEBUG", "3")
    compile_graph(call.graph)
    shown = capsys.readouterr().err
    for stage in ("graph", "simplified", "groups", "loops", "plan"):
        assert f"--- {stage}" in shown
    monkeypatch.setenv("CELLWIRE_DEBUG", "1")
    compile_graph(call.graph)
    assert "--- loops" not in capsys.readouterr().err
