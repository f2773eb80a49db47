"""Shapes, positions, padding, sizes: what the op table's samples and PyTorch do not say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops
from cellwire.engine.compiler.jitted import JitError, JitWarning
from cellwire.engine.compiler.trace import abstract_eval
from cellwire.engine.shape import Aval, ShapeError, SymDim

X = cw.Tensor(np.arange(12.0, dtype=np.float32).reshape(3, 4))


def test_questions_about_a_tensor() -> None:
    assert ops.shape(X) == (3, 4)
    assert ops.size(X) == ops.numel(X) == 12
    assert ops.rank(X).item() == 2
    assert ops.dtype(X) is cw.float32
    assert ops.is_tensor(X)
    assert ops.is_tensor(cw.Parameter(X))
    assert not ops.is_tensor(X.asnumpy())
    assert ops.tensor_shape(X).tolist() == [3, 4]


def test_new_tensors() -> None:
    assert ops.empty(2, 3).shape == ops.empty((2, 3)).shape == (2, 3)
    assert ops.empty_like(X, dtype=cw.int32).dtype is cw.int32
    assert ops.fill(cw.int32, (2,), 7).tolist() == [7, 7]
    assert ops.range(cw.Tensor(1), cw.Tensor(8), cw.Tensor(3)).tolist() == [1, 4, 7]
    with pytest.raises(ValueError, match="maxlen"):
        ops.range(0, 9, 1, 3)


def test_primitives_are_called_as_mindspores() -> None:
    assert ops.Shape()(X) == (3, 4)
    assert ops.Rank()(X).item() == 2
    assert ops.Size()(X) == 12
    assert ops.DType()(X) is cw.float32
    assert ops.Fill()(cw.float32, (2,), 1.5).tolist() == [1.5, 1.5]
    assert ops.Zeros()((2,), cw.int32).tolist() == [0, 0]
    assert ops.Ones()((2,)).tolist() == [1, 1]
    assert ops.Range()(0, 6, 2).tolist() == [0, 2, 4]
    assert ops.NonZero()(cw.Tensor([0, 3])).tolist() == [[1]]
    assert [part.shape for part in ops.Split(1, 2)(X)] == [(3, 2), (3, 2)]
    assert ops.Pad(((1, 0), (0, 2)))(X).shape == (4, 6)
    assert ops.MirrorPad("REFLECT")(X, ((0, 0), (1, 1))).tolist()[0] == [1, 0, 1, 2, 3, 2]
    assert ops.GatherD()(X, 1, cw.Tensor([[3], [0], [1]])).tolist() == [[3], [4], [9]]
    assert ops.TopK()(X, 1)[1].tolist() == [[3], [3], [3]]
    assert ops.OneHot()(cw.Tensor([1]), 2, cw.Tensor(5), cw.Tensor(0)).tolist() == [[0, 5]]
    assert ops.ReverseV2([0])(X).tolist()[0] == [8, 9, 10, 11]
    with pytest.raises(ValueError, match="does not divide"):
        ops.Split(1, 3)(X)


def test_random_primitives_with_seeds_go_on_from_call_to_call() -> None:
    normal = ops.StandardNormal(seed=2)
    first, second = normal((3,)).asnumpy(), normal((3,)).asnumpy()
    assert (first != second).all()
    np.testing.assert_array_equal(ops.StandardNormal(seed=2)((3,)).asnumpy(), first)
    assert ops.UniformInt(seed=1)((4,), 0, 2).dtype is cw.int32
    for drawn in (
        ops.UniformReal()((4,)), ops.StandardLaplace(1)((4,)), ops.Gamma()((4,), 1.0, 2.0),
        ops.Poisson()((4,), cw.Tensor(1.0)), ops.Multinomial()(cw.Tensor([1.0, 2.0]), 4),
    ):  # fmt: skip
        assert drawn.shape == (4,)


def test_dropout_primitives_give_their_masks() -> None:
    cw.set_seed(1)
    for primitive in (ops.Dropout(0.5), ops.Dropout2D(0.5), ops.Dropout3D(0.5)):
        shape = (4, 5, 2, 2, 2) if isinstance(primitive, ops.Dropout3D) else (4, 5, 2, 2)
        x = ops.ones(shape)
        out, mask = primitive(x)
        np.testing.assert_array_equal(out.asnumpy(), mask.asnumpy() * 2.0)
        assert 0 < mask.asnumpy().mean() < 1


def test_scatter_into_a_parameter_writes_it() -> None:
    indices, updates = cw.Tensor([0, 0]), ops.ones((2, 4))
    for function, at in ((ops.scatter_add, indices), (ops.scatter_nd_add, indices.reshape(2, 1))):
        weight = cw.Parameter(ops.zeros((3, 4)), name="w")
        out = function(weight, at, updates)
        np.testing.assert_array_equal(weight.asnumpy()[0], [2] * 4)
        np.testing.assert_array_equal(out.asnumpy(), weight.asnumpy())
    plain = ops.zeros((3, 4))
    ops.scatter_add(plain, indices, updates)
    assert not plain.asnumpy().any()


def test_the_last_of_several_values_stays_and_has_the_gradient() -> None:
    x, values = ops.zeros(3), cw.Tensor([1.0, 2.0, 3.0])
    at = cw.Tensor([1, 1, 0])
    out = ops.scatter(x, 0, at, values)
    assert out.tolist() == [3, 2, 0]
    gradient = cw.grad(lambda v: ops.scatter(x, 0, at, v).sum())(values)
    assert gradient.tolist() == [0, 1, 1]


def test_equal_elements_keep_their_order() -> None:
    ties = cw.Tensor([2, 1, 2, 1])
    assert ops.argsort(ties).tolist() == [1, 3, 0, 2]
    assert ops.argsort(ties, descending=True).tolist() == [0, 2, 1, 3]
    assert ops.topk(ties, 3)[1].tolist() == [0, 2, 1]
    nan = cw.Tensor([1.0, np.nan, 2.0])
    assert ops.argsort(nan).tolist() == [0, 2, 1]
    assert ops.sort(nan, descending=True)[1].tolist() == [1, 2, 0]


def test_infinite_pixels_stay_where_they_are() -> None:
    image = np.zeros((1, 1, 4, 4), np.float32)
    image[0, 0, 1, 1] = np.inf
    for mode in ("nearest", "bilinear", "area"):
        out = ops.interpolate(cw.Tensor(image), (8, 8), mode=mode).asnumpy()[0, 0]
        assert np.isfinite(out[6:, 6:]).all()


VALUES: dict[str, Callable[[Any], Any]] = {
    "nonzero": ops.nonzero, "argwhere": ops.argwhere, "unique": ops.unique,
    "unique_consecutive": ops.unique_consecutive,
    "masked_select": lambda x: ops.masked_select(x, x > 3),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_what_has_no_known_shape_ends_a_trace_with_the_reason(name: str) -> None:
    function = VALUES[name]

    def asked(x: cw.Tensor) -> Any:
        return function(x)

    with pytest.raises(JitError, match="depends on values"):
        cw.jit(asked, fullgraph=True)(X)
    with pytest.warns(JitWarning, match="depends on values"):
        found = cw.jit(asked)(X)
    expected = function(X)
    for ours, other in zip(_leaves(found), _leaves(expected), strict=True):
        np.testing.assert_array_equal(ours.asnumpy(), other.asnumpy())


def _leaves(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("pick", [ops.masked_select, lambda x, mask: x[mask]], ids=["op", "index"])
def test_values_of_a_tensor_from_outside_are_not_baked_in(pick: Any) -> None:
    mask = cw.Tensor([True, False, False, True])

    def chosen(x: cw.Tensor) -> cw.Tensor:
        return pick(x, mask)

    compiled = cw.jit(chosen)
    row = cw.Tensor([1.0, 2.0, 3.0, 4.0])
    with pytest.warns(JitWarning):
        assert compiled(row).tolist() == [1, 4]
    mask[1] = True
    assert compiled(row).tolist() == [1, 2, 4]


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "gather": (lambda: ops.gather(X, cw.Tensor([0, 3]), 0), "position 3, axis 0 has size 3"),
    "negative": (lambda: ops.gather(X, cw.Tensor([-4]), 0), "use -3 to 2"),
    "elements": (lambda: ops.gather_elements(X, 1, cw.Tensor([[4]])), "position 4, axis 1"),
    "nd": (lambda: ops.gather_nd(X, cw.Tensor([[0, 9]])), "position 9, axis 1"),
    "scatter": (lambda: ops.scatter(X, 1, cw.Tensor([[-5]]), 1.0), "scatter: the indices hold"),
    "scatter_nd": (
        lambda: ops.tensor_scatter_add(X, cw.Tensor([[3]]), ops.ones((1, 4))), "position 3"
    ),
    "segment": (
        lambda: ops.unsorted_segment_sum(X, cw.Tensor([0, 1, 9]), 2), "position 9, axis 0"
    ),
    "select_ext": (lambda: ops.select_ext(X, 1, 4), "position 4 does not exist"),
    "take": (lambda: ops.take(X, cw.Tensor([12]), mode="raise"), "position 12"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_positions_that_do_not_exist_are_named(name: str) -> None:
    call, words = MISTAKES[name]
    with pytest.raises(IndexError, match=words):
        call()


SHAPES: dict[str, tuple[Callable[[], Any], str]] = {
    "movedim": (lambda: ops.movedim(X, (0, 0), (0, 1)), "each once"),
    "rot90": (lambda: ops.rot90(X, 1, (0, 0)), "two different axes"),
    "roll": (lambda: ops.roll(X, (1, 2), 0), "as many"),
    "unflatten": (lambda: ops.unflatten(X, 1, (3, -1)), "multiply"),
    "narrow": (lambda: ops.narrow(X, 1, 2, 3), "do not lie within axis 1 of size 4"),
    "slice": (lambda: ops.slice(X, (0, 0), (4, 1)), "do not lie within axis 0"),
    "split": (lambda: ops.split(X, (1, 1), 1), "add up to 2"),
    "chunk": (lambda: ops.chunk(X, 0), "positive"),
    "block_diag": (lambda: ops.block_diag(ops.ones((1, 1, 1))), "more than two axes"),
    "meshgrid": (lambda: ops.meshgrid(X, X), "one axis"),
    "topk": (lambda: ops.topk(X, 5), "1..4|0..4"),
    "kthvalue": (lambda: ops.kthvalue(X, 0), "k must be in"),
    "scatter": (lambda: ops.scatter(X, 0, cw.Tensor([0]), 1.0), "as many axes"),
    "reduce": (lambda: ops.scatter(X, 0, cw.Tensor([[0]]), 1.0, "xor"), "no reduction 'xor'"),
    "updates": (lambda: ops.scatter_add(X, cw.Tensor([0]), ops.ones(3)), "must be"),
    "mode": (lambda: ops.pad(X, (1, 1), "round"), "mode must be one of"),
    "value": (lambda: ops.pad(X, (1, 1), "reflect", 2.0), "belongs to mode 'constant'"),
    "reflect": (lambda: ops.pad(X, (4, 0), "reflect"), "at most 3 elements"),
    "cut": (lambda: ops.pad(X, (-3, -2)), "cuts more"),
    "interpolate": (lambda: ops.interpolate(X, 2), "does not fit"),
    "both": (lambda: ops.interpolate(ops.ones((1, 1, 2)), 2, 2.0), "either size or scale_factor"),
    "corners": (
        lambda: ops.interpolate(ops.ones((1, 1, 2)), 2, align_corners=True), "no meaning"
    ),
    "grid": (lambda: ops.grid_sample(ops.ones((1, 1, 2, 2)), X), "must be"),
    "pixels": (lambda: ops.pixel_shuffle(ops.ones((1, 3, 2, 2)), 2), "multiple of 4"),
    "unfold": (lambda: ops.unfold(ops.ones((1, 1, 2, 2)), 3), "no window"),
    "fold": (lambda: ops.fold(ops.ones((1, 4, 5)), 4, 2), "must be"),
    "eye": (lambda: ops.eye(-1), "negative"),
    "linspace": (lambda: ops.linspace(0, 1, 0), "positive"),
    "diag_embed": (lambda: ops.diag_embed(X, 0, 1, 1), "two axes"),
    "window": (lambda: ops.hann_window(-1), "negative"),
    "cell": (lambda: nn.ReflectionPad2d((1, 2, 3)), "two an axis"),
    "pad cell": (lambda: nn.Pad(((1,),)), "two numbers"),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_mistakes_are_told(name: str) -> None:
    call, words = SHAPES[name]
    with pytest.raises(ValueError, match=words):
        call()


def test_masks_are_bool_and_positions_whole_numbers() -> None:
    with pytest.raises(TypeError, match="mask must be Bool"):
        ops.masked_fill(X, X, 0)
    with pytest.raises(TypeError, match="integer type"):
        ops.gather_nd(X, X)
    with pytest.raises(TypeError, match="int or a tuple of ints"):
        nn.ZeroPad2d(1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("call", [
    lambda x: ops.interpolate(x, (8, 6), mode="bilinear"),
    lambda x: ops.pad(x, (1, 2, 2, 1), "reflect"),
    lambda x: ops.unfold(x, 3, padding=1), lambda x: ops.pixel_unshuffle(x, 2),
    lambda x: ops.grid_sample(x, ops.affine_grid(x[:, 0, :2, :3], (x.shape[0], 2, 3, 3))),
], ids=["interpolate", "pad", "unfold", "unshuffle", "grid"])  # fmt: skip
def test_batches_of_any_size(call: Any) -> None:
    found = abstract_eval(call, Aval((SymDim("N"), 2, 4, 6), cw.float32))
    assert found.shape[0] == SymDim("N")
    assert call(ops.ones((7, 2, 4, 6))).shape == (7, *found.shape[1:])


def test_an_unknown_axis_cannot_be_taken_apart() -> None:
    with pytest.raises(ShapeError, match="not known yet"):
        abstract_eval(lambda x: ops.unbind(x)[0], Aval((SymDim("N"), 2), cw.float32))
    with pytest.raises(ShapeError, match="not known yet"):
        abstract_eval(
            lambda x: ops.interpolate(x, scale_factor=2.0),
            Aval((2, 2, SymDim("W")), cw.float32),
        )


CELLS = {
    "Pad": nn.Pad(((0, 0), (1, 2)), "REFLECT"), "ConstantPad1d": nn.ConstantPad1d(1, 2.0),
    "ReplicationPad2d": nn.ReplicationPad2d((1, 2, 3, 4)), "Upsample": nn.Upsample((2, 2)),
    "ResizeBilinear": nn.ResizeBilinear(True), "PixelShuffle": nn.PixelShuffle(2),
    "PixelUnshuffle": nn.PixelUnshuffle(2), "ChannelShuffle": nn.ChannelShuffle(2),
    "Unflatten": nn.Unflatten(1, (2, 2)), "OneHot": nn.OneHot(depth=3), "Roll": nn.Roll(1, 0),
    "ClipByNorm": nn.ClipByNorm(),
}  # fmt: skip


@pytest.mark.parametrize("name", CELLS)
def test_cells_show_how_they_were_made(name: str) -> None:
    text = str(CELLS[name])
    assert name in text
    assert "=" in text


def test_resize_bilinear_by_a_factor() -> None:
    image = ops.ones((1, 1, 2, 3))
    assert nn.ResizeBilinear()(image, scale_factor=2).shape == (1, 1, 4, 6)
    with pytest.raises(ValueError, match="either size or scale_factor"):
        nn.ResizeBilinear()(image)


def test_clip_by_norm_of_zeros_has_a_gradient() -> None:
    gradient = cw.grad(lambda x: nn.ClipByNorm()(x, cw.Tensor(1.0)).sum())(ops.zeros(3))
    np.testing.assert_array_equal(gradient.asnumpy(), [1, 1, 1])
