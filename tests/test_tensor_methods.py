"""Tensor's operators and methods, and what MindSpore's pages promise of Tensor."""

from __future__ import annotations

from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import ops
from cellwire.engine.tensor import syncs


def ints(*values: int) -> cw.Tensor:
    return cw.Tensor(np.array(values, np.int32))


def counted(*shape: int) -> cw.Tensor:
    return cw.Tensor(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


# ---- operators -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fn",
    [
        lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a ^ b, lambda a, b: a << (b & 3),
        lambda a, b: a >> (b & 3), lambda a, b: ~a, lambda a, b: +a, lambda a, b: 6 & a,
        lambda a, b: 6 | a, lambda a, b: 6 ^ a, lambda a, b: 1 << (a & 7), lambda a, b: a // b,
        lambda a, b: divmod(a, b)[0], lambda a, b: divmod(a, b)[1], lambda a, b: divmod(7, b)[1],
        lambda a, b: (a > 3) & (b > 3), lambda a, b: (a > 3) ^ (b > 3), lambda a, b: ~(a > 3),
        lambda a, b: (a > 3) | True,
    ],
)  # fmt: skip
def test_operators_on_bits_and_quotients_are_numpys(fn: Any) -> None:
    a, b = np.array([1, 6, -9, 100], np.int32), np.array([3, -4, 5, 7], np.int32)
    wanted = fn(a, b)
    for found in (fn(cw.Tensor(a), cw.Tensor(b)), cw.jit(fn)(cw.Tensor(a), cw.Tensor(b))):
        np.testing.assert_array_equal(found.asnumpy(), wanted)
        assert found.asnumpy().dtype == wanted.dtype


def test_round_takes_digits() -> None:
    x = cw.Tensor([1.26, -2.5, 3.5])
    np.testing.assert_allclose(round(x, 1).asnumpy(), [1.3, -2.5, 3.5], rtol=1e-6)
    assert round(x).tolist() == [1, -2, 4]


def test_in_place_operators_give_a_new_tensor_and_write_parameters() -> None:
    tensor = view = ints(6, 3)
    tensor &= 2
    tensor <<= 1
    assert tensor.tolist() == [4, 4]
    assert view.tolist() == [6, 3]
    parameter = kept = cw.Parameter(ints(6, 3))
    parameter |= 8
    assert parameter is kept
    assert kept.tolist() == [14, 11]


@pytest.mark.parametrize("number", [np.float32(2), np.float64(2), np.int64(2), np.array(2.0)])
def test_numpy_numbers_before_a_tensor_give_a_tensor(number: Any) -> None:
    x = cw.Tensor([1.0, 2.0])
    for found, wanted in (
        (number * x, [2, 4]), (number - x, [1, 0]), (number / x, [2, 1]), (number**x, [2, 4]),
        (number > x, [True, False]), (np.ones(2) * number + x, [3, 4]),
    ):  # fmt: skip
        assert isinstance(found, cw.Tensor)
        assert found.tolist() == wanted


# ---- methods ---------------------------------------------------------------------------------


def test_copies_carry_gradients_and_have_memory_of_their_own() -> None:
    x = counted(3)
    twin = x.copy()
    twin[0] = 9
    assert x.tolist() == [0, 1, 2]
    assert cw.grad(lambda x: (x.copy() * x).sum())(x).tolist() == [0, 2, 4]


def test_types_by_method() -> None:
    x = cw.Tensor([1.5, 0.0])
    kinds = [x.half(), x.float(), x.double(), x.bfloat16(), x.byte(), x.short(), x.int(), x.long()]
    assert [str(kind.dtype) for kind in kinds] == [
        "Float16", "Float32", "Float64", "BFloat16", "UInt8", "Int16", "Int32", "Int64",
    ]  # fmt: skip
    assert x.bool().tolist() == [True, False]
    assert x.type() == "Float32"
    assert x.type(cw.int32).tolist() == x.type_as(ints(1)).tolist() == [1, 0]
    assert (x.is_floating_point(), x.is_signed(), x.byte().is_signed()) == (True, True, False)


def test_sizes_by_method() -> None:
    x = counted(2, 3)
    assert (x.numel(), x.dim(), x.ndimension(), x.element_size()) == (6, 2, 2, 4)
    assert x.is_contiguous()
    assert not x.T.is_contiguous()
    assert x.T.contiguous().is_contiguous()
    assert x.contiguous() is x.value() is x.init_data() is x
    assert x[0].view_as(counted(3, 1)).shape == (3, 1)
    assert x[0].expand_as(x).shape == (2, 3)
    assert x.reshape_as(counted(6)).shape == (6,)


def test_new_tensors_by_method() -> None:
    x = cw.Tensor([1, 2], cw.int32)
    assert x.new_zeros((2, 1)).tolist() == [[0], [0]]
    assert x.new_ones(2).dtype is x.new_full(2, 7).dtype is x.fill(5).dtype is cw.int32
    assert x.new_full((1,), 2.5, cw.float32).tolist() == [2.5]
    assert x.fill(5).tolist() == [5, 5]
    drawn = counted(1000).uniform(2, 3)
    assert 2 <= drawn.min() < drawn.max() < 3


def test_itemset_and_resize() -> None:
    x = counted(2, 3)
    assert x.itemset(4, 9).tolist() == x.itemset((1, 1), 9).tolist() == [[0, 1, 2], [3, 9, 5]]
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert cw.Tensor(3.0).itemset(4).item() == 4
    with pytest.raises(ValueError, match="takes an index and a value"):
        x.itemset(9)
    assert x.resize(2, 2).tolist() == [[0, 1], [2, 3]]
    assert x.resize((2, 4)).tolist() == [[0, 1, 2, 3], [4, 5, 0, 0]]
    assert cw.grad(lambda x: (x.resize(8) ** 2).sum())(x).tolist() == [[0, 2, 4], [6, 8, 10]]


def test_clip_takes_tensors_as_bounds() -> None:
    x = counted(4)
    assert x.clip(1, 2).tolist() == [1, 1, 2, 2]
    assert x.clip(cw.Tensor([1.0]), cw.Tensor([9.0, 0.5, 9.0, 2.0])).tolist() == [1, 0.5, 2, 2]
    assert x.clip(max=cw.Tensor(2.0)).tolist() == [0, 1, 2, 2]


def test_choices_repeats_and_extremes_by_method() -> None:
    x = counted(2, 3)
    assert x.where(x > 2, -1.0).tolist() == x.select(x > 2, -1.0).tolist() == [
        [-1, -1, -1], [3, 4, 5],
    ]  # fmt: skip
    assert ints(1, 0).choose([cw.Tensor([7, 8]), 9]).tolist() == [9, 8]
    assert x[0].repeat(2).tolist() == [0, 0, 1, 1, 2, 2]
    assert x.repeat([0, 2], 0).tolist() == [[3, 4, 5], [3, 4, 5]]
    assert x.ptp() == 5
    assert x.t().shape == (3, 2)
    with pytest.raises(ValueError, match="at most two axes"):
        counted(1, 1, 1).t()
    position, value = x.argmax_with_value(1)
    assert (position.tolist(), value.tolist()) == ([2, 2], [2, 5])
    assert [part.tolist() for part in x.argmin_with_value()] == [[0, 0, 0], [0, 1, 2]]
    assert x.sum_to_size(1, 3).tolist() == [[3, 5, 7]]


def test_functions_are_methods_by_all_their_names() -> None:
    x = cw.Tensor([0.5, -2.0])
    assert x.absolute().tolist() == [0.5, 2]
    assert x.inv().tolist() == [2, -0.5]
    assert (x.eq(0.5).tolist(), x.ge(0).tolist()) == ([True, False], [True, False])
    assert x.nonzero().tolist() == [[0], [1]]
    assert x.flip((0,)).tolist() == x.reverse([0]).tolist() == [-2, 0.5]
    assert [part.tolist() for part in x.split(1)] == [[0.5], [-2]]
    assert counted(2, 3).moveaxis(0, 1).shape == (3, 2)


TUTORIALS = """
abs all any argmax asnumpy astype bmm clip copy cumprod equal expand_dims fill flatten flip
from_numpy init_data inv isnan max mean min nanmean nonzero norm permute qr repeat reshape resize
reverse shape softmax split squeeze sum swapaxes tolist transpose uniform value view
"""
"""Methods of tensors in MindSpore's tutorials, by how often pages name them."""


@pytest.mark.parametrize("name", TUTORIALS.split())
def test_methods_that_tutorials_name_are_there(name: str) -> None:
    assert hasattr(cw.Tensor, name)


def test_tensors_hash_by_identity() -> None:
    x, y = counted(2), counted(2)
    assert {x: 1, y: 2}[x] == 1
    assert hash(x) != hash(y)


# ---- what MindSpore's pages say --------------------------------------------------------------


def test_row_04_tensor_keeps_numpys_dtype_and_makes_specs_and_lazy_data() -> None:
    assert cw.Tensor([1.0, 2.0]).dtype is cw.float32
    assert cw.Tensor([1, 2]).dtype is cw.int64
    assert cw.Tensor(np.ones(2)).dtype is cw.float64
    assert cw.tensor(np.ones(2, np.int8)).dtype is cw.int8
    assert cw.tensor([1, 2], dtype=cw.float16).dtype is cw.float16
    lazy = cw.Tensor(shape=(2, 2), dtype=cw.float32, init=cw.initializer.One())
    assert lazy.init_data().tolist() == [[1, 1], [1, 1]]
    assert isinstance(cw.Tensor(shape=[3, None], dtype=cw.float32), cw.TensorSpec)


def test_row_05_float64_data_meets_float32_weights() -> None:
    dense = cw.nn.Dense(32, 10)
    out = dense(cw.Tensor(np.random.default_rng(0).standard_normal((2, 32))))
    assert (out.shape, out.dtype) == ((2, 10), cw.float64)


def test_row_06_asnumpy_shares_memory_and_counts_as_a_sync() -> None:
    before = syncs.count
    x = cw.Tensor([1.0, 2.0])
    x.asnumpy()[0] = 5
    assert x.numpy()[0] == 5
    array = np.zeros(2, np.float32)
    shared = cw.Tensor.from_numpy(array)
    array[1] = 3
    assert shared[1] == 3
    for read in (repr, str, np.asarray, list, bool):
        before = syncs.count
        read(shared[1:])
        assert syncs.count > before or read is list


def test_row_07_prints_values_and_reprs_shape_dtype_value(capsys: Any) -> None:
    x = cw.Tensor([1.0, 2.0])
    print(x)
    assert capsys.readouterr().out == "[1. 2.]\n"
    assert repr(x) == (
        "Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.00000000e+00])"
    )


def test_row_48_ints_divide_as_in_python_in_graphs_too() -> None:
    halves = cw.jit(lambda x: x / 2, fullgraph=True)
    assert halves(cw.Tensor([3, 4])).tolist() == (cw.Tensor([3, 4]) / 2).tolist() == [1.5, 2]
    assert cw.jit(lambda x: x * (3 / 2))(cw.Tensor([2.0])).tolist() == [3]


def test_row_56_any_shape_runs_without_declaration() -> None:
    for size in (1, 7, 3):
        assert (counted(size) + 1).sum() == size * (size + 1) / 2


def test_row_58_pytorch_map() -> None:
    assert cw.grad(lambda x: (ops.stop_gradient(x) * x).sum())(counted(3)).tolist() == [0, 1, 2]
    first, second = (cw.grad(lambda x: (x * x).sum())(counted(2)).tolist() for _ in range(2))
    assert first == second  # nothing accumulates
    assert cw.nn.Dense(1, 1).set_train(False).training is False


KEPT = ("keepdims", "keep_dims", "keepdim")


@pytest.mark.parametrize(
    "name", ["sum", "mean", "prod", "amax", "any", "logsumexp", "argmax", "var"]
)
@pytest.mark.parametrize("kept", KEPT)
def test_reductions_take_every_spelling_of_their_parameters(name: str, kept: str) -> None:
    x = cw.Tensor(np.arange(6.0).reshape(2, 3))
    function = getattr(ops, name)
    expected = function(x, 1, keepdims=True)
    assert expected.shape == (2, 1)
    for given in ({"axis": 1, kept: True}, {"dim": 1, kept: True}):
        np.testing.assert_array_equal(function(x, **given).asnumpy(), expected.asnumpy())


@pytest.mark.parametrize("name", ["sum", "prod", "argmax"])
def test_a_parameter_named_twice_is_told(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name}: axis, dim name a parameter twice"):
        getattr(ops, name)(cw.Tensor([1.0, 2.0]), axis=0, dim=0)


def test_inv_is_the_reciprocal() -> None:
    assert ops.inv(cw.Tensor([2.0, 4.0])).tolist() == ops.Inv()(cw.Tensor([2.0, 4.0])).tolist()
    assert ops.inv(cw.Tensor([2.0, 4.0])).tolist() == [0.5, 0.25]
