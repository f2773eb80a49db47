"""Attention and transformers of ragged lengths: one plan for all of them, equal to eager."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops

LENGTHS = (9, 33, 130, 4)
"""Within one block of keys, over its end, and over the end of a block of queries."""


def array(*shape: int, seed: int = 0) -> cw.Tensor:
    numbers = np.random.default_rng(seed).standard_normal(shape)
    return cw.Tensor(numbers.astype(np.float32))


def flat(value: Any) -> list[np.ndarray]:
    if isinstance(value, tuple | list):
        return [part for item in value for part in flat(item)]
    return [value.data.copy()]


def plans(run: Any) -> int:
    """Return how many plans the lengths needed, none of which may be one length's own."""
    (family,) = run.families.values()
    assert family.reason is None
    assert [trace.reason for trace in family.traces] == [None] * len(family.traces)
    return sum(len(trace.plans) for trace in family.traces)


def agrees(fn: Callable[..., Any], calls: Sequence[Sequence[cw.Tensor]]) -> Any:
    run = cw.jit(fn, fullgraph=True)
    for arguments in calls:
        cw.set_seed(5)
        wanted = flat(fn(*arguments))
        cw.set_seed(5)
        for found, expected in zip(flat(run(*arguments)), wanted, strict=True):
            np.testing.assert_allclose(found, expected, rtol=3e-4, atol=1e-4)
    return run


def slopes(**attrs: Any) -> Callable[..., Any]:
    def loss(q: cw.Tensor, k: cw.Tensor, v: cw.Tensor, *given: Any) -> cw.Tensor:
        found = ops.scaled_dot_product_attention(q, k, v, *given, **attrs)
        return ops.sum(found * found)

    return cw.value_and_grad(loss, (0, 1, 2))


def operands(queries: int, keys: int, lead: int = 2) -> list[cw.Tensor]:
    sizes = ((queries, 8), (keys, 8), (keys, 6))
    return [array(lead, 3, *size, seed=queries + i) for i, size in enumerate(sizes)]


def test_attention_of_any_length() -> None:
    calls = [operands(n, m) for n, m in zip(LENGTHS, LENGTHS[::-1], strict=True)]
    run = agrees(slopes(is_causal=True, dropout_p=0.4), calls)
    assert plans(run) <= 2  # all keys in one block, or not


def test_masks_of_any_length() -> None:
    calls = []
    for n in LENGTHS:
        hidden = np.random.default_rng(n).random((2, 1, n, n)) > 0.4
        calls.append((*operands(n, n), cw.Tensor(hidden)))
    assert plans(agrees(slopes(), calls)) <= 2


def test_any_batch_and_length() -> None:
    def fn(*given: Any) -> cw.Tensor:
        return ops.scaled_dot_product_attention(*given, dropout_p=0.3)

    calls = [operands(n, n, lead) for n, lead in zip((9, 12, 33, 5), (2, 3, 4, 7), strict=True)]
    assert plans(agrees(fn, calls)) == 1


def _encoder() -> nn.Cell:
    return nn.TransformerEncoderLayer(8, 2, 12, dropout=0.2, batch_first=True)


class Decoder(nn.Cell):
    """A decoder layer, whose targets look at nothing that comes after them."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(8, 2, 12, dropout=0.0, batch_first=True)

    def construct(self, target: Any, memory: Any, mask: Any) -> Any:
        """Return the layer's output."""
        return self.layer(target, memory, tgt_mask=mask)


def _sequences(batch: int, length: int) -> list[cw.Tensor]:
    return [array(batch, length, 8, seed=length)]


def _pairs(batch: int, length: int) -> list[cw.Tensor]:
    hidden = np.triu(np.full((length, length), -np.inf, np.float32), 1)
    memory = array(batch, length + 3, 8, seed=length + 1)
    return [*_sequences(batch, length), memory, cw.Tensor(hidden)]


MODELS = {"encoder": (_encoder, _sequences), "decoder": (Decoder, _pairs)}
SIZES = ((2, 5), (3, 8), (4, 13), (2, 20))


@pytest.mark.parametrize("name", MODELS)
def test_training_steps_of_any_length_agree_with_eager(name: str) -> None:
    make, arguments = MODELS[name]

    def trained(jit: bool) -> tuple[list[np.ndarray], Any]:
        cw.set_seed(1)
        net = make().set_train()
        for i, p in enumerate(net.trainable_params()):
            p.set_data(array(*p.shape, seed=i) * 0.3)
        optimizer = nn.SGD(net.trainable_params(), 0.01)
        derive = cw.value_and_grad(
            lambda *given: ops.mean(ops.square(net(*given))), None, optimizer.parameters
        )

        def step(*given: Any) -> Any:
            loss, grads = derive(*given)
            optimizer(grads)
            return loss

        run = cw.jit(step, fullgraph=True) if jit else step
        losses = [flat(run(*arguments(*size)))[0] for size in SIZES]
        return [*losses, *(p.data.copy() for p in net.trainable_params())], run

    (found, run), (wanted, _) = trained(True), trained(False)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)
    assert plans(run) == 1


def test_inference_of_any_length_agrees_with_eager() -> None:
    net = _encoder().set_train(False)
    assert plans(agrees(net, [_sequences(*size) for size in SIZES])) == 1
