"""Windows, norms and attention where they are MindSpore's own: sizes, modes, defaults, mistakes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops
from cellwire.engine.compiler import abstract_eval
from cellwire.engine.shape import Aval, SymDim

RNG = np.random.default_rng(3)


def tensor(*shape: int) -> cw.Tensor:
    return cw.Tensor(RNG.standard_normal(shape).astype(np.float32))


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """Return what a constructor's parameters are by default, in their order."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


CONV = {"stride": 1, "pad_mode": "same", "padding": 0, "dilation": 1, "group": 1}
REST = {"has_bias": False, "weight_init": None, "bias_init": None}
POOL = {"kernel_size": 1, "stride": 1, "pad_mode": "valid", "padding": 0}
BATCH = {"eps": 1e-5, "momentum": 0.9, "affine": True, "gamma_init": "ones", "beta_init": "zeros"}


@pytest.mark.parametrize(
    ("cell", "wanted"),
    [
        (nn.Conv1d, {**CONV, **REST}),
        (nn.Conv2d, {**CONV, **REST, "data_format": "NCHW"}),
        (nn.Conv3d, {**CONV, **REST}),
        (nn.Conv1dTranspose, {**CONV, **REST}),
        (nn.Conv2dTranspose, {**CONV, **REST, "output_padding": 0}),
        (nn.Conv3dTranspose, {**CONV, **REST, "output_padding": 0}),
        (nn.MaxPool1d, {**POOL, "dilation": 1, "return_indices": False, "ceil_mode": False}),
        (nn.MaxPool2d, {**POOL, "dilation": 1, "return_indices": False, "ceil_mode": False}),
        (nn.AvgPool2d, {**POOL, "ceil_mode": False, "count_include_pad": True}),
        (nn.AvgPool3d, {**POOL, "ceil_mode": False, "divisor_override": None}),
        (nn.BatchNorm3d, {**BATCH, "moving_mean_init": "zeros", "use_batch_statistics": None}),
        (nn.SyncBatchNorm, {**BATCH, "process_groups": None}),
        (nn.InstanceNorm2d, {**BATCH, "momentum": 0.1}),
        (nn.GroupNorm, {"eps": 1e-5, "affine": True, "gamma_init": "ones"}),
        (nn.LayerNorm, {"begin_norm_axis": -1, "begin_params_axis": -1, "epsilon": 1e-7}),
        (nn.LRN, {"depth_radius": 5, "bias": 1.0, "alpha": 1.0, "beta": 0.5}),
        (nn.Dropout, {"keep_prob": 0.5, "p": None}),
        (nn.Dense, {"weight_init": None, "bias_init": None, "has_bias": True, "activation": None}),
        (nn.Embedding, {"use_one_hot": False, "embedding_table": "normal"}),
        (ops.avg_pool2d, {"kernel_size": 1, "stride": 1, "padding": 0, "ceil_mode": False}),
        (ops.max_pool2d, {"stride": None, "padding": 0, "dilation": 1, "return_indices": False}),
        (ops.batch_norm, {"training": False, "momentum": 0.1, "eps": 1e-5}),
        (ops.LayerNorm, {"begin_norm_axis": 1, "begin_params_axis": 1, "epsilon": 1e-7}),
        (ops.MaxPool, {"kernel_size": 1, "strides": 1, "pad_mode": "valid"}),
    ],
)
def test_row_22_defaults_are_mindspores(cell: Any, wanted: dict[str, Any]) -> None:
    found = defaults(cell)
    assert {name: found[name] for name in wanted} == wanted


def test_row_22_names_come_in_mindspores_order() -> None:
    assert list(inspect.signature(nn.Embedding).parameters)[2:6] == [
        "use_one_hot", "embedding_table", "dtype", "padding_idx",
    ]  # fmt: skip
    assert list(inspect.signature(nn.Conv2dTranspose).parameters)[:7] == [
        "in_channels", "out_channels", "kernel_size", "stride", "pad_mode", "padding",
        "output_padding",
    ]  # fmt: skip


def test_row_22_same_divides_sizes_by_the_stride_and_transposed_multiplies_them() -> None:
    assert nn.Conv2d(2, 3, 4, 3)(tensor(1, 2, 7, 9)).shape == (1, 3, 3, 3)
    assert nn.Conv1d(2, 3, 2)(tensor(1, 2, 7)).shape == (1, 3, 7)
    for kernel in (1, 2, 3, 5):
        assert nn.Conv2dTranspose(2, 3, kernel, 2)(tensor(1, 2, 4, 5)).shape == (1, 3, 8, 10)
    valid = nn.Conv1dTranspose(2, 3, 2, 3, "valid")
    assert valid(tensor(1, 2, 4)).shape == (1, 3, 12)
    padded = nn.Conv3dTranspose(2, 3, 3, 2, "pad", 1, output_padding=1)
    assert padded(tensor(1, 2, 2, 3, 4)).shape == (1, 3, 4, 6, 8)


def test_one_size_in_a_tuple_is_for_all_axes() -> None:
    assert nn.Conv2d(1, 1, (3,), (2,)).kernel_size == (3, 3)
    assert nn.AvgPool3d((2,)).kernel_size == (2, 2, 2)


def test_same_padding_is_larger_at_the_end() -> None:
    out = nn.Conv1d(1, 1, 2, weight_init="ones")(cw.Tensor(np.ones((1, 1, 3), np.float32)))
    np.testing.assert_array_equal(out.data, [[[2, 2, 1]]])


def test_sides_are_padded_one_by_one() -> None:
    ones = np.ones((1, 1, 2, 2), np.float32)
    cell = nn.Conv2d(1, 1, 1, 1, "pad", (1, 0, 0, 2), weight_init="ones")
    expected = np.pad(ones, ((0, 0), (0, 0), (1, 0), (0, 2)))
    np.testing.assert_array_equal(cell(cw.Tensor(ones)).data, expected)
    volume = nn.Conv3d(1, 1, 1, 1, "pad", (1, 0, 0, 2, 0, 1), weight_init="ones")
    assert volume(cw.Tensor(np.ones((1, 1, 2, 2, 2), np.float32))).shape == (1, 1, 3, 4, 3)


@pytest.mark.parametrize("cell", [nn.Conv2d(2, 2, 3), nn.MaxPool2d(2, 2), nn.AvgPool2d(3)])
def test_channels_may_come_last(cell: nn.Cell) -> None:
    x = tensor(2, 5, 4, 2)
    wanted = cell(ops.transpose(x, (0, 3, 1, 2)))
    cell.data_format = "NHWC"  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_array_equal(ops.transpose(cell(x), (0, 3, 1, 2)).data, wanted.data)


def test_a_convolutions_second_derivative_in_a_static_graph_is_eagers() -> None:
    x, w = tensor(1, 2, 3, 4, 3), tensor(2, 1, 2, 2, 2)

    def energy(x: cw.Tensor, w: cw.Tensor) -> cw.Tensor:
        out = ops.conv3d(x, w, None, (2, 1, 1), "pad", 1, 1, 2)
        back = ops.conv_transpose3d(out, w, None, 2, 1, 1, 2)
        return ops.sum(back * back * back)

    def slope(x: cw.Tensor, w: cw.Tensor) -> cw.Tensor:
        dx, dw = cw.grad(energy, (0, 1))(x, w)
        return ops.sum(ops.square(dx)) + ops.sum(ops.square(dw))

    eager = cw.grad(slope, (0, 1))(x, w)
    compiled = cw.jit(cw.grad(slope, (0, 1)), fullgraph=True)(x, w)
    step, direction = 1e-2, (tensor(*x.shape), tensor(*w.shape))
    sides = [
        float(slope(x + direction[0] * side, w + direction[1] * side)) for side in (step, -step)
    ]
    along = sum(float(ops.sum(g * d)) for g, d in zip(eager, direction, strict=True))
    assert along == pytest.approx((sides[0] - sides[1]) / (2 * step), rel=2e-2)
    for mine, other in zip(compiled, eager, strict=True):
        close = 1e-4 * np.abs(other.data).max()
        np.testing.assert_allclose(mine.data, other.data, rtol=0, atol=close)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: ops.max_pool2d(x=x, kernel_size=2, return_indices=True)[1], (2, 4, 6)),
        (nn.MaxPool3d(2, 2), (2, 4, 4, 2)),
        (nn.AvgPool1d(3, 2), (2, 7)),
        (nn.AdaptiveAvgPool2d((1, 3)), (2, 4, 5)),
        (nn.AdaptiveMaxPool1d(2), (3, 5)),
        (nn.LPPool2d(2.0, 2), (2, 4, 4)),
        (lambda x: ops.max_unpool1d(*ops.max_pool1d(x, 2, return_indices=True), 2), (2, 6)),
    ],
)
def test_pools_take_one_example_too(function: Callable[..., Any], shape: tuple[int, ...]) -> None:
    x = tensor(*shape)
    whole = function(ops.expand_dims(x, 0))
    np.testing.assert_array_equal(function(x).data, whole.data[0])


@pytest.mark.parametrize("groups", [1, 2])
def test_a_batch_of_examples_has_a_weight_gradient_each(groups: int) -> None:
    x, w = tensor(3, 2, 2, 5, 4), tensor(4, 2 // groups, 2, 2)

    def loss(x: cw.Tensor, w: cw.Tensor) -> cw.Tensor:
        out = ops.conv2d(x, w, groups=groups)
        pooled = ops.max_pool2d(out, 2, 1) * ops.avg_pool2d(out, 2)
        return ops.sum(ops.adaptive_max_pool2d(pooled, (2, 1)) ** 2)

    derive = cw.grad(loss, (0, 1))
    dx, dw = cw.vmap(derive, (0, None))(x, w)
    both = cw.vmap(loss)(x, ops.stack([w, w * 2, w * 3]))
    for number in range(3):
        own_x, own_w = derive(x[number], w)
        np.testing.assert_allclose(dx[number].data, own_x.data, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(dw[number].data, own_w.data, rtol=1e-4, atol=1e-4)
        alone = float(loss(x[number], w * (number + 1)))
        np.testing.assert_allclose(float(both[number]), alone, rtol=1e-4)


# ---- attention -------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [False, True])
def test_a_query_that_may_look_at_nothing_gives_zeros_and_no_gradient(compiled: bool) -> None:
    q, k, v = tensor(1, 2, 3), tensor(1, 4, 3), tensor(1, 4, 2)
    truth = np.array([[True, False, True, True], [False] * 4])
    numbers = np.where(truth, 0.0, -np.inf).astype(np.float32)

    def attend(q: cw.Tensor, mask: cw.Tensor) -> Any:
        out = ops.scaled_dot_product_attention(q, k, v, mask)
        return ops.sum(out * out), out

    for mask in (truth, numbers):
        run = cw.value_and_grad(attend, 0, has_aux=True)
        run = cw.jit(run, fullgraph=True) if compiled else run
        (_, out), dq = run(q, cw.Tensor(mask))
        assert not out.data[:, 1].any()
        assert not dq.data[:, 1].any()
        assert np.isfinite(dq.data).all()
        assert dq.data[:, 0].any()


def test_attention_drops_weights_by_the_seed() -> None:
    q, k = tensor(2, 40, 8), tensor(2, 50, 8)
    ones = cw.Tensor(np.ones((2, 50, 1), np.float32))
    cw.set_seed(5)
    first = ops.scaled_dot_product_attention(q, k, ones, dropout_p=0.5)
    cw.set_seed(5)
    again = ops.scaled_dot_product_attention(q, k, ones, dropout_p=0.5)
    np.testing.assert_allclose(first.data, again.data, rtol=1e-6)  # compiled from the second on
    assert abs(first.data.mean() - 1) < 0.1
    assert first.data.std() > 0.05
    whole = ops.scaled_dot_product_attention(q, k, ones)
    np.testing.assert_allclose(whole.data, 1, rtol=1e-5)


def test_large_scores_do_not_overflow() -> None:
    q = cw.Tensor(np.full((1, 2), 1e4, np.float32))
    k = cw.Tensor(np.array([[1.0, 1.0], [1e4, 1e4]], np.float32))
    out = ops.scaled_dot_product_attention(q, k, cw.Tensor(np.array([[1.0], [2.0]], np.float32)))
    np.testing.assert_array_equal(out.data, [[2.0]])


@pytest.mark.parametrize(
    ("cell", "axes"), [(nn.Dropout1d, 1), (nn.Dropout2d, 2), (nn.Dropout3d, 3)]
)
def test_channels_are_dropped_as_a_whole_in_training_only(cell: type, axes: int) -> None:
    x = cw.Tensor(np.ones((20, 30, *(2,) * axes), np.float32))
    layer = cell(0.25)
    np.testing.assert_array_equal(layer(x).data, x.data)
    cw.set_seed(2)
    out = layer.set_train()(x).data.reshape(20, 30, -1)
    np.testing.assert_array_equal(out, np.broadcast_to(out[..., :1], out.shape))
    assert set(np.unique(out)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((out[..., 0] == 0).mean() - 0.25) < 0.06


# ---- norms and tables --------------------------------------------------------------------------


def test_instance_norm_records_statistics_that_it_does_not_use() -> None:
    cell, x = nn.InstanceNorm1d(2), tensor(3, 2, 5)
    evaluated = cell(x)
    np.testing.assert_array_equal(cell.moving_mean.data, 0)
    trained = cell.set_train()(x)
    np.testing.assert_allclose(trained.data, evaluated.data, rtol=1e-5, atol=1e-6)
    mean, var = x.data.mean(2).mean(0), x.data.var(2, ddof=1).mean(0)
    np.testing.assert_allclose(cell.moving_mean.data, 0.9 * mean, rtol=1e-5)
    np.testing.assert_allclose(cell.moving_variance.data, 0.1 + 0.9 * var, rtol=1e-5)


def test_without_affine_scale_and_shift_stay() -> None:
    for cell in (nn.GroupNorm(1, 2, affine=False), nn.InstanceNorm1d(2, affine=False)):
        assert cell.trainable_params() == []


def test_looked_up_vectors_are_kept_short() -> None:
    rows = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]], np.float32)
    cell = nn.EmbeddingLookup(3, 2, cw.Tensor(rows), max_norm=1.0)
    loss = cw.value_and_grad(lambda x: ops.sum(cell(x)), None, cell.trainable_params())
    total, (grad,) = loss(cw.Tensor(np.array([0, 1, 2])))
    np.testing.assert_allclose(float(total), 1.4 + 0.7, rtol=1e-6)
    np.testing.assert_allclose(grad.data[1:], 1, rtol=1e-6)
    np.testing.assert_allclose(grad.data[0], [0.032, -0.024], atol=1e-6)


def test_sizes_are_known_for_symbolic_batches() -> None:
    cells = {
        nn.Conv1d(2, 3, 3): ((2, 8), "N×3×8 f32"),
        nn.Conv3d(2, 3, 2, pad_mode="valid"): ((2, 4, 5, 6), "N×3×3×4×5 f32"),
        nn.Conv2dTranspose(2, 3, 3, 2): ((2, 4, 4), "N×3×8×8 f32"),
        nn.AdaptiveAvgPool2d((1, None)): ((2, 7, 5), "N×2×1×5 f32"),
        nn.AdaptiveMaxPool1d(3): ((2, 7), "N×2×3 f32"),
        nn.MaxPool3d(2, 2): ((2, 4, 4, 6), "N×2×2×2×3 f32"),
        nn.FractionalMaxPool2d(2, output_ratio=0.5): ((2, 8, 6), "N×2×4×3 f32"),
        nn.GroupNorm(2, 4): ((4, 3), "N×4×3 f32"),
    }
    for cell, (shape, wanted) in cells.items():
        assert str(abstract_eval(cell, Aval((SymDim("N"), *shape), cw.float32))) == wanted


# ---- primitives --------------------------------------------------------------------------------


def test_row_08_attributes_go_to_the_constructor_and_tensors_to_the_call() -> None:
    x, w = tensor(2, 3, 8, 8), tensor(4, 3, 3, 3)
    conv = ops.Conv2D(out_channel=4, kernel_size=3, pad_mode="same", stride=2)
    np.testing.assert_array_equal(conv(x, w).data, ops.conv2d(x, w, stride=2, pad_mode="same").data)
    back = ops.Conv2DTranspose(4, 3, "same", stride=2)(conv(x, w), w, (2, 3, 8, 8))
    dout = conv(x, w)
    expected = cw.grad(lambda x: ops.sum(conv(x, w) * dout))(x)
    np.testing.assert_allclose(back.data, expected.data, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(
        ops.MaxPool(kernel_size=2, strides=2)(x).data, ops.max_pool2d(x, 2).data
    )
    np.testing.assert_array_equal(
        ops.AvgPool(3, 1, "same")(x).data, ops.avg_pool2d(x, 3, pad_mode="same").data
    )
    out, at = ops.MaxPoolWithArgmaxV2(2)(x)
    np.testing.assert_array_equal(np.take(x.data[0, 0].ravel(), at.data[0, 0]), out.data[0, 0])


def test_row_08_primitives_of_volumes() -> None:
    x, w = tensor(1, 2, 4, 4, 4), tensor(3, 2, 2, 2, 2)
    out = ops.Conv3D(3, 2)(x, w)
    np.testing.assert_array_equal(out.data, ops.conv3d(x, w).data)
    assert ops.Conv3DTranspose(3, 2, 2)(out, w).shape == x.shape
    assert ops.MaxPool3D(2, 2)(x).shape == ops.AvgPool3D(2, 2)(x).shape == (1, 2, 2, 2, 2)


def test_row_08_norms_return_their_statistics() -> None:
    x, one, zero = tensor(5, 3), ops.ones((3,)), ops.zeros((3,))
    out, mean, variance = ops.LayerNorm(epsilon=1e-5)(x, one, zero)
    np.testing.assert_allclose(out.data, ops.layer_norm(x, 3).data, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(mean.data, x.data.mean(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(variance.data, x.data.var(1, keepdims=True), rtol=1e-5)
    found = ops.BatchNorm(is_training=True)(x, one, zero, zero, one)
    assert len(found) == 5
    np.testing.assert_allclose(found[1].data, x.data.mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[2].data, x.data.var(0), rtol=1e-5)
    out = ops.BatchNorm()(x, one, zero, zero, one)[0]
    np.testing.assert_allclose(out.data, x.data, rtol=1e-4)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ops.Conv2D(0, 3),
        lambda: ops.Conv2D(4, 3, mode=2),
        lambda: ops.Conv2D(4, 3, pad=1),
        lambda: ops.Conv2D(4, 3, data_format="NHWC"),
        lambda: ops.Conv2D(4, 3)(tensor(1, 3, 8, 8), tensor(5, 3, 3, 3)),
        lambda: ops.Conv2D(4, 3)(tensor(1, 2, 8, 8), tensor(4, 3, 3, 3)),
        lambda: ops.Conv2DTranspose(4, 3)(tensor(1, 4, 2, 2), tensor(4, 3, 3, 3), (1, 3, 5, 5)),
        lambda: ops.MaxPool(2, pad_mode="pad"),
        lambda: ops.MaxPool(kernel_size=(2, 2, 2)),
        lambda: ops.LayerNorm(epsilon=-1.0),
        lambda: ops.LayerNorm()(tensor(2, 3), ops.ones((2,)), ops.zeros((2,))),
        lambda: ops.BatchNorm(momentum=2.0),
        lambda: ops.MaxPool(9)(tensor(1, 1, 4, 4)),
    ],
)
def test_row_08_what_does_not_fit_raises_before_anything_runs(call: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: nn.Conv2dTranspose(2, 2, 3, output_padding=1)(tensor(1, 2, 3, 3)), "pad_mode"),
        (lambda: nn.Conv1dTranspose(2, 2, 3, 2, "pad", 9)(tensor(1, 2, 3)), "nothing"),
        (lambda: nn.Conv3d(2, 2, (3, 3)), "kernel_size must be one int or 3"),
        (lambda: nn.MaxPool2d(2, padding=1), "needs pad_mode 'pad'"),
        (lambda: ops.max_pool2d(tensor(1, 1, 4, 4), 2, padding=2), "as large as the window"),
        (lambda: nn.AdaptiveAvgPool2d((0, 1)), "positive"),
        (lambda: nn.FractionalMaxPool2d(2), "either output_size or output_ratio"),
        (lambda: ops.max_unpool1d(tensor(1, 1, 2), ops.zeros((1, 1, 2), cw.int64), 2,
                                  output_size=(9,)), "output_size"),
        (lambda: nn.GroupNorm(2, 3), "multiple"),
        (lambda: nn.SyncBatchNorm(2, process_groups=[[0, 1]]), "one device"),
        (lambda: nn.EmbeddingLookup(2, 2, max_norm=0.0), "max_norm"),
        (lambda: ops.lrn(tensor(1, 2, 3), -1), "depth_radius"),
        (lambda: ops.conv1d(tensor(1, 2, 3), tensor(2, 2, 2), groups=0), "groups"),
        (lambda: ops.scaled_dot_product_attention(tensor(2, 3), tensor(2, 4), tensor(2, 4)),
         "alike"),
        (lambda: ops.scaled_dot_product_attention(
            tensor(2, 3), tensor(2, 3), tensor(2, 3), tensor(4, 2, 2)), "widen"),
        (lambda: ops.bidense(tensor(2, 3), tensor(3, 3), tensor(1, 3, 3)), "equal sizes"),
    ],
)  # fmt: skip
def test_mistakes_say_what_was_expected(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_an_index_outside_its_plane_is_named() -> None:
    indices = cw.Tensor(np.array([[[7]]]))
    with pytest.raises(IndexError, match="from 0 to 1"):
        ops.max_unpool1d(tensor(1, 1, 1), indices, 2)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda x, w: ops.conv2d(x, w, groups=2), [(0, 2, 4, 4), (4, 1, 2, 2)]),
        (ops.conv3d, [(0, 2, 3, 3, 3), (2, 2, 2, 2, 2)]),
        (ops.conv_transpose1d, [(0, 2, 3), (2, 2, 2)]),
        (lambda x: ops.max_pool3d(x, 2, return_indices=True)[0], [(0, 2, 4, 4, 4)]),
        (lambda x: ops.adaptive_max_pool2d(x, 3), [(0, 2, 4, 4)]),
        (lambda x: ops.lrn(x, 1), [(0, 2, 3)]),
    ],
)
def test_a_batch_may_be_empty(function: Callable[..., Any], shapes: list[Any]) -> None:
    arrays = [tensor(*shape) for shape in shapes]
    grads = cw.grad(lambda *t: ops.sum(function(*t)), tuple(range(len(arrays))))(*arrays)
    for grad, shape in zip(grads, shapes, strict=True):
        assert grad.shape == shape
        assert not grad.data.any()


def test_power_averages_of_zeros_have_a_gradient_of_zero() -> None:
    x = cw.Tensor([[[0.0, 0.0, 3.0, 4.0]]])
    slope = cw.grad(lambda x: ops.sum(ops.lp_pool1d(x, 2.0, 2)))(x)
    np.testing.assert_allclose(slope.asnumpy(), [[[0.0, 0.0, 0.6, 0.8]]], rtol=1e-6)


@pytest.mark.parametrize("dilation", [1, 2])
def test_places_of_maxima_lie_inside_where_all_elements_are_infinitely_small(dilation: int) -> None:
    x = cw.Tensor(np.full((1, 1, 4, 4), -np.inf, np.float32))
    _, places = ops.max_pool2d(x, 2, 2, 1, dilation, return_indices=True)
    wanted = {1: [0, 1, 3, 4, 5, 7, 12, 13, 15], 2: [5, 5, 5, 5]}[dilation]
    assert places.asnumpy().ravel().tolist() == wanted
