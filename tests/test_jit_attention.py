"""Attention in plans: one kernel forward and one backward, equal to eager and to PyTorch."""

from __future__ import annotations

from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine.compiler import Plan, compile_graph, trace

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(5)


def operands(
    lead: tuple[int, ...], queries: int, keys: int, width: int, deep: int, dtype: Any = np.float32
) -> list[np.ndarray]:
    sizes = ((queries, width), (keys, width), (keys, deep), (queries, deep))
    return [RNG.standard_normal((*lead, *size)).astype(dtype) for size in sizes]


def step(mask: np.ndarray | None, **attrs: Any) -> Any:
    given = None if mask is None else cw.Tensor(mask)

    def loss(q: cw.Tensor, k: cw.Tensor, v: cw.Tensor, w: cw.Tensor) -> cw.Tensor:
        return cw.ops.sum(cw.ops.scaled_dot_product_attention(q, k, v, given, **attrs) * w)

    return cw.value_and_grad(loss, (0, 1, 2))


def compiled(fn: Any, *arrays: np.ndarray) -> Plan:
    avals = [cw.Tensor(a).aval for a in arrays]
    return compile_graph(trace(fn, avals).graph)


def native(plan: Plan) -> list[str]:
    return [op for kernel in plan.report.kernels if kernel.kind == "native" for op in kernel.ops]


def causal(queries: int, keys: int) -> np.ndarray:
    return np.arange(keys) <= np.arange(queries)[:, None]


CASES = {
    "one block": ((2, 3), 40, 40, 16, 16, None, {}),
    "odd lengths and widths": ((3,), 65, 130, 5, 3, None, {}),
    "causal": ((1, 2), 130, 150, 7, 4, None, {"is_causal": True}),
    "hidden keys": ((2, 2), 33, 140, 8, 8, "padding", {}),
    "nothing to look at": ((2,), 33, 140, 8, 8, "bool", {}),
    "numbers to add": ((2, 2), 70, 40, 8, 8, "numbers", {"scale": 0.3}),
    "few heads, blocks of queries": ((2,), 256, 140, 8, 6, "bool", {}),
    "one head, causal": ((), 256, 300, 8, 6, None, {"is_causal": True}),
    "float64": ((2,), 70, 140, 6, 9, "bool", {}),
}


def masked(kind: str | None, lead: tuple[int, ...], queries: int, keys: int) -> np.ndarray | None:
    if kind == "bool":
        mask = RNG.random((queries, keys)) > 0.4
        mask[3] = False
        return mask
    if kind == "padding":
        mask = RNG.random((lead[0], 1, 1, keys)) > 0.4
        mask[..., 0] = True
        return mask
    if kind == "numbers":
        return RNG.standard_normal((lead[0], 1, queries, keys)).astype(np.float32)
    return None


@pytest.mark.parametrize("name", CASES)
def test_it_equals_eager_and_torch(name: str) -> None:
    lead, queries, keys, width, deep, kind, attrs = CASES[name]
    dtype = np.float64 if name == "float64" else np.float32
    arrays = operands(lead, queries, keys, width, deep, dtype)
    mask = masked(kind, lead, queries, keys)
    run = step(mask, **attrs)
    value, grads = cw.jit(fullgraph=True)(run)(*map(cw.Tensor, arrays))
    expected, expected_grads = run(*map(cw.Tensor, arrays))
    rtol, atol = (1e-10, 1e-12) if dtype == np.float64 else (2e-5, 2e-6)
    np.testing.assert_allclose(value.asnumpy(), expected.asnumpy(), rtol=1e-4)
    for found, wanted in zip(grads, expected_grads, strict=True):
        np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=rtol, atol=atol)
    q, k, v = (torch.tensor(a, requires_grad=True) for a in arrays[:3])
    seen = causal(queries, keys) if attrs.get("is_causal") else mask
    given = None if seen is None else torch.tensor(seen)
    attend = torch.nn.functional.scaled_dot_product_attention
    out = attend(q, k, v, given, scale=attrs.get("scale"))
    (out * torch.tensor(arrays[3])).sum().backward()
    for found, tensor in zip(grads, (q, k, v), strict=True):
        wanted = tensor.grad.nan_to_num(0.0).numpy()
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=rtol, atol=atol)
    report = str(cw.jit.explain(run)(*map(cw.Tensor, arrays)))
    assert "attention_block" in report
    assert "attention_block_grad" in report


@pytest.mark.parametrize("name", ["whole", "masked and causal"])
def test_dropout_draws_as_eager_does(name: str) -> None:
    arrays = operands((2, 3), 70, 133, 8, 4)
    attrs: dict[str, Any] = {"dropout_p": 0.3}
    mask = None
    if name == "masked and causal":
        mask, attrs["is_causal"] = RNG.random((70, 133)) > 0.2, True
    run = step(mask, **attrs)
    draw = cw.jit(fullgraph=True)(run)
    for seed in (1, 2):
        cw.set_seed(seed)
        _, grads = draw(*map(cw.Tensor, arrays))
        cw.set_seed(seed)
        _, expected = run(*map(cw.Tensor, arrays))
        for found, wanted in zip(grads, expected, strict=True):
            np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-4, atol=3e-6)


def test_groups_of_heads_share_keys() -> None:
    q, _, _, w = operands((2, 4), 40, 40, 8, 8)
    _, k, v, _ = operands((2, 2), 40, 40, 8, 8)
    mask = RNG.standard_normal((4, 40, 40)).astype(np.float32)
    run = step(mask, enable_gqa=True)
    _, grads = cw.jit(fullgraph=True)(run)(*map(cw.Tensor, (q, k, v, w)))
    spread = [np.repeat(a, 2, 1) for a in (k, v)]
    _, whole = step(mask)(*map(cw.Tensor, (q, *spread, w)))
    np.testing.assert_allclose(grads[0].asnumpy(), whole[0].asnumpy(), rtol=1e-4, atol=1e-5)
    for found, wanted in zip(grads[1:], whole[1:], strict=True):
        summed = wanted.asnumpy().reshape(2, 2, 2, 40, 8).sum(2)
        np.testing.assert_allclose(found.asnumpy(), summed, rtol=1e-4, atol=1e-5)


def test_heads_are_read_where_a_projection_left_them() -> None:
    def heads(x: cw.Tensor, at: int) -> cw.Tensor:
        part = x[..., 16 * at : 16 * (at + 1)]
        return cw.ops.transpose(cw.ops.reshape(part, (2, 40, 2, 8)), (0, 2, 1, 3))

    def attend(x: cw.Tensor) -> cw.Tensor:
        return cw.ops.scaled_dot_product_attention(*(heads(x, at) for at in range(3)))

    x = RNG.standard_normal((2, 40, 48)).astype(np.float32)
    plan = compiled(attend, x)
    assert native(plan) == ["attention_block"]
    assert len(plan.report.kernels) == 1
    np.testing.assert_allclose(plan(x)[0], attend(cw.Tensor(x)).asnumpy(), rtol=1e-5, atol=1e-6)


def test_it_takes_memory_for_rows_not_for_scores() -> None:
    arrays = operands((1, 2), 2048, 2048, 16, 16)
    run = step(None, is_causal=True)

    def grads(*given: cw.Tensor) -> Any:
        return run(*given)[1]

    plan = compiled(grads, *arrays)
    assert native(plan) == ["attention_block", "attention_block_grad"]
    rows = sum(a.nbytes for a in arrays)
    assert plan.report.arena_bytes < 3 * rows
    assert plan.report.arena_bytes < 2 * 2048 * 2048 * 4 / 10


def test_masks_that_are_trained_have_a_gradient() -> None:
    q, k, v, _ = map(cw.Tensor, operands((2,), 40, 40, 8, 8))
    mask = cw.Tensor(RNG.standard_normal((40, 40)).astype(np.float32))

    def loss(mask: cw.Tensor) -> cw.Tensor:
        return cw.ops.sum(cw.ops.square(cw.ops.scaled_dot_product_attention(q, k, v, mask)))

    derive = cw.grad(loss)
    found = cw.jit(derive)(mask)
    np.testing.assert_allclose(found.asnumpy(), derive(mask).asnumpy(), rtol=1e-4, atol=1e-5)


def test_few_scores_stay_with_products() -> None:
    arrays = operands((2,), 8, 8, 4, 4)[:3]
    plan = compiled(cw.ops.scaled_dot_product_attention, *arrays)
    assert native(plan) == []
    assert not plan.report.host_steps


def test_the_kernel_is_kept_by_what_it_is_made_for() -> None:
    arrays = operands((2,), 40, 40, 8, 8)[:3]
    first = compiled(cw.ops.scaled_dot_product_attention, *arrays)
    longer = [np.concatenate([a, a], 0) for a in arrays]
    second = compiled(cw.ops.scaled_dot_product_attention, *longer)
    assert [k.name for k in first.report.kernels] == [k.name for k in second.report.kernels]
