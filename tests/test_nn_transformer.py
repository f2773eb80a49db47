"""Attention and transformers where parity with PyTorch does not look: names, shapes, mistakes."""

from __future__ import annotations

from collections.abc import Callable

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops
from cellwire.engine.compiler import abstract_eval
from cellwire.engine.shape import Aval, SymDim

RNG = np.random.default_rng(5)
X = cw.Tensor(RNG.standard_normal((3, 2, 4)).astype(np.float32))


def test_parameters_are_named_as_mindspores() -> None:
    names = [p.name for p in nn.MultiheadAttention(4, 2, add_bias_kv=True).get_parameters()]
    assert names == [
        "in_proj_weight", "in_proj_bias", "bias_k", "bias_v", "out_proj.weight", "out_proj.bias",
    ]  # fmt: skip
    names = [p.name for p in nn.MultiheadAttention(4, 2, kdim=3, has_bias=False).get_parameters()]
    assert names == ["q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight"]
    layer = nn.TransformerDecoderLayer(4, 2, 8)
    assert list(layer.name_cells()) == [
        "self_attn", "multihead_attn", "linear1", "dropout", "linear2", "norm1", "dropout1",
        "norm2", "dropout2", "norm3", "dropout3",
    ]  # fmt: skip


def test_copies_of_a_layer_are_its_own() -> None:
    layer = nn.TransformerEncoderLayer(4, 2, 8)
    stack = nn.TransformerEncoder(layer, 2, nn.LayerNorm((4,)))
    first, second = stack.layers
    np.testing.assert_array_equal(first.linear1.weight.data, layer.linear1.weight.data)
    first.linear1.weight.set_data(np.zeros((8, 4), np.float32))
    assert second.linear1.weight.data.any()
    assert second.linear1.weight.name == "layers.1.linear1.weight"
    drawn = nn.Transformer(4, 2, 2, 1, 8).encoder.layers
    assert not np.array_equal(drawn[0].linear1.weight.data, drawn[1].linear1.weight.data)
    assert drawn[1].linear1.weight.name == "encoder.layers.1.linear1.weight"


def test_stacks_run_their_layers_in_turn() -> None:
    stack = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 2)
    stack.layers[1].linear1.weight.set_data(np.ones((8, 4), np.float32))
    mask = cw.Tensor(np.triu(np.ones((3, 3), bool), 1))
    one = stack.layers[0](X, X, tgt_mask=mask)
    both = stack.layers[1](one, X, tgt_mask=mask)
    np.testing.assert_allclose(stack(X, X, tgt_mask=mask).data, both.data, atol=1e-5)


def test_one_sequence_needs_no_batch() -> None:
    attention = nn.MultiheadAttention(4, 2)
    out, weights = attention(X[:, 0], X[:, 0], X[:, 0])
    whole, all_weights = attention(X, X, X)
    np.testing.assert_allclose(out.data, whole.data[:, 0], atol=1e-6)
    np.testing.assert_allclose(weights.data, all_weights.data[0], atol=1e-6)


def test_weights_are_left_out_on_request() -> None:
    attention = nn.MultiheadAttention(4, 2, batch_first=True)
    out, weights = attention(X, X, X)
    fast, none = attention(X, X, X, need_weights=False)
    assert none is None
    assert weights.shape == (3, 2, 2)
    np.testing.assert_allclose(fast.data, out.data, atol=1e-6)
    assert attention(X, X, X, average_attn_weights=False)[1].shape == (3, 2, 2, 2)


def test_masks_of_both_kinds_meet() -> None:
    attention = nn.MultiheadAttention(4, 2)
    hidden = np.array([[False, True, False]] * 2)
    numbers = np.where(np.triu(np.ones((3, 3), bool), 1), -np.inf, 0.0).astype(np.float32)
    _, weights = attention(X, X, X, cw.Tensor(hidden), attn_mask=cw.Tensor(numbers))
    assert not weights.data[:, :, 1].any()
    assert not np.triu(weights.data[0], 1).any()
    np.testing.assert_allclose(weights.data.sum(-1), 1, atol=1e-6)


def test_a_query_that_sees_nothing_gives_no_nan() -> None:
    attention = nn.MultiheadAttention(4, 2, has_bias=False)
    hidden = cw.Tensor(np.ones((2, 3), bool))
    for need_weights in (True, False):
        out, _ = attention(X, X, X, hidden, need_weights)
        np.testing.assert_array_equal(out.data, 0)


def test_dropout_is_for_training() -> None:
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.5)
    np.testing.assert_allclose(layer(X).data, layer(X).data, atol=1e-5)
    layer.set_train()
    cw.set_seed(0)
    first = layer(X).data
    cw.set_seed(0)
    np.testing.assert_allclose(layer(X).data, first, atol=1e-5)
    assert np.abs(layer(X).data - first).max() > 1e-3


def test_what_stands_inside_may_be_any_function() -> None:
    layer = nn.TransformerEncoderLayer(4, 2, 8, activation=nn.Tanh())
    other = nn.TransformerEncoderLayer(4, 2, 8, activation=ops.tanh)
    other.load_state_dict(layer.state_dict())
    np.testing.assert_allclose(layer(X).data, other(X).data, atol=1e-5)


def test_sizes_of_batch_and_sequence_may_be_symbols() -> None:
    x = Aval((SymDim("N"), SymDim("L"), 4), cw.float32)
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    assert str(abstract_eval(layer, x)) == "N×L×4 f32"
    assert not layer.linear1.weight.is_made


def test_own_stacks_can_be_given() -> None:
    class Same(nn.Cell):
        def construct(self, src: cw.Tensor, *masks: object) -> cw.Tensor:
            return src

    net = nn.Transformer(4, 2, 1, 1, 8, custom_encoder=Same())
    assert net(X, X).shape == (3, 2, 4)


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: nn.MultiheadAttention(4, 3), ValueError, "multiple"),
        (lambda: nn.MultiheadAttention(4, 2, dropout=1.0), ValueError, "dropout"),
        (lambda: nn.MultiheadAttention(4, 2, kdim=3)(X, X, X), ValueError, "key must have"),
        (
            lambda: nn.MultiheadAttention(4, 2)(X, X, X, attn_mask=ops.zeros((2, 3))),
            ValueError,
            "attn_mask",
        ),
        (
            lambda: nn.MultiheadAttention(4, 2)(X, X, X, ops.zeros((2, 9))),
            ValueError,
            "key_padding_mask",
        ),
        (lambda: nn.TransformerEncoderLayer(4, 2, activation="sin"), ValueError, "activation"),
        (lambda: nn.TransformerEncoder(3, 2), TypeError, "Cell"),  # pyright: ignore
        (lambda: nn.Transformer(8, 2, 1, 1, 8)(X, X), ValueError, "src must have 8"),
    ],
)
def test_mistakes_are_named(make: Callable[[], object], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        make()
