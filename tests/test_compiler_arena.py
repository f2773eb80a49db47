"""The arena: values that die where another is made leave it their memory, and no others do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine import ops
from cellwire.engine.compiler.memory import Lifetime, place
from cellwire.engine.compiler.plan import compile_graph
from cellwire.engine.compiler.trace import trace
from cellwire.engine.dtype import float32
from cellwire.engine.shape import Aval

F32 = np.float32
PLANES = 2 * 4 * 16 * 16 * 4
"""Bytes of what the convolution gives."""


def arena(fn: Callable[..., Any]) -> int:
    """Compare a function of images and weights with eager runs; return its plan's arena bytes."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 3, 16, 16)).astype(F32), rng.normal(size=(4, 3, 3, 3)).astype(F32)
    plan = compile_graph(trace(fn, [Aval(x.shape, float32), Aval(w.shape, float32)]).graph)
    wanted = fn(cw.Tensor(x), cw.Tensor(w)).asnumpy()
    for _ in range(2):
        np.testing.assert_allclose(plan(x, w)[0], wanted, rtol=1e-4, atol=1e-4)
    assert plan.report.host_steps == ()
    return plan.report.arena_bytes


def conv(x: Any, w: Any) -> Any:
    return ops.conv2d(x, w, pad_mode="same")


def test_an_activation_takes_the_place_of_what_it_was_made_of() -> None:
    def fn(x: Any, w: Any) -> Any:
        return ops.max_pool2d(ops.relu(conv(x, w) + 1.0), 2)

    def twice(x: Any, w: Any) -> Any:
        h = conv(x, w)
        return ops.max_pool2d(ops.relu(h + 1.0), 2) + ops.max_pool2d(h, 2)

    both = arena(twice)
    assert both - arena(fn) >= PLANES // 2
    assert both >= 2 * PLANES


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, w: ops.max_pool2d(ops.softmax(conv(x, w)), 2),
        lambda x, w: ops.max_pool2d(
            ops.layer_norm(conv(x, w), (16,), ops.ones(16), ops.zeros(16)), 2
        ),
        lambda x, w: ops.max_pool2d(ops.transpose(conv(x, w), (0, 1, 3, 2)) * 2.0, 2),
        lambda x, w: ops.max_pool2d(ops.flip(conv(x, w), (3,)) + conv(x, w), 2),
        lambda x, w: ops.max_pool2d(conv(x, w) * ops.sum(conv(x, w), (0, 2, 3), True), 2),
    ],
    ids=["rows", "norm", "other order", "two orders", "sums first"],
)
def test_what_is_read_otherwise_than_it_is_written_keeps_its_memory(fn: Any) -> None:
    arena(fn)


def test_a_block_goes_into_the_gap_that_it_fits_best() -> None:
    blocks = [
        Lifetime(640, 0, 9), Lifetime(512, 0, 3), Lifetime(448, 0, 9), Lifetime(320, 0, 3),
        Lifetime(192, 0, 9), Lifetime(128, 4, 9),
    ]  # fmt: skip
    offsets, total = place(blocks)
    assert total == 640 + 512 + 448 + 320 + 192
    assert offsets[5] == offsets[3]


def _written(step: Callable[..., Any], shapes: Sequence[tuple[int, ...]], size: int) -> Any:
    """Compile a function that writes a parameter; compare with eager, return the plan's report."""
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=shape).astype(F32) for shape in shapes]
    found, wanted = (cw.Parameter(np.linspace(1, 2, size, dtype=F32)) for _ in range(2))
    run = cw.jit(lambda *tensors: step(found, *tensors), fullgraph=True)
    given = [cw.Tensor(a) for a in arrays]
    for _ in range(2):
        result, direct = run(*given), step(wanted, *given)
        np.testing.assert_allclose(result.asnumpy(), direct.asnumpy(), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-5, atol=1e-5)
    return str(cw.jit.explain(run)(*given))  # pyright: ignore[reportFunctionMemberAccess]


def _set(parameter: Any, value: Any) -> Any:
    parameter.set_data(value)
    return value


def _updated_by_sums(p: Any, x: Any) -> Any:
    return ops.sum(_set(p, p - ops.sum(x, 0) * 0.1))


def _updated_in_a_tail(p: Any, x: Any) -> Any:
    y = ops.softmax(x)
    new = _set(p, p - ops.sum(y, 0) * 0.1)
    return ops.sum(y, 1) + ops.sum(new) * 0


def _updated_by_rows(p: Any, x: Any) -> Any:
    _set(p, p * 0.5 + ops.sum(x, 1))
    return x + 1.0


@pytest.mark.parametrize(
    ("step", "size"),
    [(_updated_by_sums, 8), (_updated_in_a_tail, 8), (_updated_by_rows, 6)],
    ids=["columns", "tail", "rows"],
)
def test_what_is_updated_by_a_sum_is_written_in_place(step: Any, size: int) -> None:
    assert "write back" not in _written(step, [(6, 8)], size)


def _read_by_all_rows(p: Any, x: Any) -> Any:
    y = ops.softmax(x * p)
    return ops.sum(_set(p, p - ops.sum(y, 0) * 0.1)) + ops.sum(y * y, 1)


def _read_by_other_rows(p: Any, x: Any) -> Any:
    _set(p, ops.flip(p, (0,)) * 0.5 + ops.sum(x, 1))
    return x + 1.0


@pytest.mark.parametrize(
    ("step", "size"), [(_read_by_all_rows, 8), (_read_by_other_rows, 6)], ids=["rows", "flipped"]
)
def test_what_other_places_still_read_is_not_written_over(step: Any, size: int) -> None:
    _written(step, [(6, 8)], size)


def test_blocks_alive_together_never_overlap() -> None:
    blocks = [Lifetime(100 * (i % 5 + 1), i // 2, i // 2 + i % 4) for i in range(30)]
    offsets, total = place(blocks)
    for i, a in enumerate(blocks):
        assert offsets[i] % 64 == 0
        assert offsets[i] + a.size <= total
        for j in range(i):
            b = blocks[j]
            if a.first <= b.last and b.first <= a.last:
                apart = offsets[i] + a.size <= offsets[j] or offsets[j] + b.size <= offsets[i]
                assert apart
    assert total < sum(block.size for block in blocks)
