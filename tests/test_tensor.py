"""Tensor and Parameter: making, printing, indexing, writing, errors of calls."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from cellwire.engine import dtype as dt
from cellwire.engine import ops, random
from cellwire.engine.parameter import Parameter, ParameterTuple
from cellwire.engine.tensor import Tensor, TensorSpec, from_numpy, syncs
from hypothesis import given
from hypothesis import strategies as st


def counted(*shape: int) -> Tensor:
    return Tensor(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


# ---- making ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([1.0, 2.0], dt.float32), ([1, 2], dt.int64), (True, dt.bool_), (3, dt.int64),
        (np.float64([1]), dt.float64), (np.uint8([1]), dt.uint8), ([[1, 2.5]], dt.float32),
        (np.float16(1), dt.float16), ([Tensor([1.0]), Tensor([2.0])], dt.float32),
    ],
)  # fmt: skip
def test_default_dtypes(data: Any, dtype: dt.DType) -> None:
    assert Tensor(data).dtype is dtype


def test_data_is_copied_but_from_numpy_shares() -> None:
    array = np.zeros(3, np.float32)
    copied, shared = Tensor(array), from_numpy(array)
    array[0] = 5
    assert copied.asnumpy()[0] == 0
    assert shared.asnumpy()[0] == 5
    assert np.asarray(shared) is array


def test_initial_data_is_made_at_the_first_read() -> None:
    calls: list[tuple[int, ...]] = []

    def init(shape: tuple[int, ...], dtype: dt.DType) -> np.ndarray:
        calls.append(shape)
        return np.ones(shape)

    lazy = Tensor(shape=(2, 3), dtype=dt.float16, init=init)
    parameter = Parameter(lazy, "w")
    assert (lazy.shape, parameter.shape, parameter.dtype) == ((2, 3), (2, 3), dt.float16)
    assert not calls
    assert not parameter.is_made
    assert float((parameter + 1).sum()) == 12
    assert calls == [(2, 3)]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (Tensor, ValueError), (lambda: Tensor("text"), TypeError),
        (lambda: Tensor([[1], [1, 2]]), ValueError), (lambda: Tensor(object()), TypeError),
        (lambda: Tensor([1.0], shape=(1,)), ValueError), (lambda: from_numpy([1]), TypeError),
        (lambda: Tensor(shape=(2,), dtype=dt.float32), ValueError),
    ],
)  # fmt: skip
def test_what_is_no_tensor_is_refused(call: Any, error: type) -> None:
    with pytest.raises(error):
        call()


def test_specs_name_unknown_sizes() -> None:
    spec = TensorSpec([None, 3, "T"], dt.float16)
    assert str(spec.aval) == "N×3×T f16"
    same = Tensor(shape=[3, None], dtype=dt.int32)
    assert isinstance(same, TensorSpec)
    assert str(same.aval) == "3×D1 i32"


# ---- reading ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ([1.0, 2.0],
         "Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.00000000e+00])"),
        (0.1, "Tensor(shape=[], dtype=Float32, value= 0.1)"),
        (2, "Tensor(shape=[], dtype=Int64, value= 2)"),
        ([[1, 20], [3, 4]],
         "Tensor(shape=[2, 2], dtype=Int64, value=\n[[ 1, 20],\n [ 3,  4]])"),
        ([True, False], "Tensor(shape=[2], dtype=Bool, value= [ True, False])"),
        (np.float16([-1]), "Tensor(shape=[1], dtype=Float16, value= [-1.0000e+00])"),
        (np.zeros((1, 7), np.int32),
         "Tensor(shape=[1, 7], dtype=Int32, value=\n[[0, 0, 0 ... 0, 0, 0]])"),
        (np.zeros(0, np.int32), "Tensor(shape=[0], dtype=Int32, value= )"),
        (np.zeros((0, 3)), "Tensor(shape=[0, 3], dtype=Float64, value= )"),
        (np.arange(1001), "Tensor(shape=[1001], dtype=Int64, value= [   0,    1,    2 ..."
         "  998,  999, 1000])"),
        (np.arange(24) - 100, "Tensor(shape=[24], dtype=Int64, value= ["
         + ", ".join(f"{n:4}" for n in range(-100, -76)) + "\n ])"),
        ([True] * 13, "Tensor(shape=[13], dtype=Bool, value= [" + " True, " * 12 + "\n  True])"),
        ([[[1, 200], [3, 4]], [[5, 6], [7, 8]]],
         "Tensor(shape=[2, 2, 2], dtype=Int64, value=\n[[[  1, 200],\n  [  3,   4]],\n"
         " [[  5,   6],\n  [  7,   8]]])"),
        (np.eye(8, 1, dtype=np.int8) * 100,
         "Tensor(shape=[8, 1], dtype=Int8, value=\n[[100],\n [  0],\n [  0],\n ...\n [  0],\n"
         " [  0],\n [  0]])"),
        ([np.nan, -np.inf], "Tensor(shape=[2], dtype=Float32, value= [            nan,"
         "            -inf])"),
        (True, "Tensor(shape=[], dtype=Bool, value= True)"),
    ],
)  # fmt: skip
def test_repr_is_mindspores(data: Any, text: str) -> None:
    assert repr(Tensor(data)) == text


def test_str_is_numpys() -> None:
    assert str(Tensor([1.0, 2.0])) == "[1. 2.]"
    assert f"{Tensor(0.5):.2f}" == "0.50"


def test_sizes() -> None:
    tensor = counted(2, 3)
    assert (tensor.ndim, tensor.size, tensor.itemsize, tensor.nbytes) == (2, 6, 4, 24)
    assert tensor.strides == (12, 4)
    assert str(tensor.aval) == "2×3 f32"
    assert len(tensor) == 2
    assert [float(row.sum()) for row in tensor] == [3, 12]


def test_reading_back_is_counted() -> None:
    before = syncs.count
    tensor = Tensor([2.0])
    float(tensor), int(tensor), bool(tensor), tensor.item(), tensor.asnumpy(), tensor.tolist()
    assert syncs.count - before == 6


def test_ambiguous_reads_are_refused() -> None:
    with pytest.raises(ValueError, match="ambiguous"):
        bool(counted(2))
    with pytest.raises(ValueError, match="one element"):
        float(counted(2))
    with pytest.raises(TypeError):
        len(Tensor(1.0))
    with pytest.raises(TypeError, match="cast it to int64"):
        [1, 2][Tensor(1.0)]  # pyright: ignore[reportCallIssue, reportArgumentType]
    assert [1, 2][Tensor(1)] == 2


def test_copies_and_pickles() -> None:
    tensor, parameter = counted(3), Parameter([1.0, 2.0], "w", requires_grad=False)
    assert copy.deepcopy(tensor).data is not tensor.data
    for twin in (copy.deepcopy(parameter), pickle.loads(pickle.dumps(parameter))):
        assert isinstance(twin, Parameter)
        assert (twin.name, twin.requires_grad) == ("w", False)
        assert twin.data is not parameter.data
        assert twin.tolist() == [1, 2]


# ---- operators -------------------------------------------------------------------------------


def test_operators_and_their_dtypes() -> None:
    whole, real = Tensor(np.int32([7, -3])), Tensor(np.float32([2, 2]))
    assert (whole + real).dtype is dt.float32
    assert (whole * 2.5).dtype is dt.float32
    assert (whole + 1).dtype is dt.int32
    assert (whole / 2).tolist() == [3.5, -1.5]
    assert (whole // 2).tolist() == [3, -2]
    assert (whole % 4).tolist() == [3, 1]
    assert (2 - real).tolist() == [0, 0]
    assert (2**real).tolist() == [4, 4]
    assert (-whole).tolist() == [-7, 3]
    assert abs(whole).tolist() == [7, 3]
    assert (whole > 0).tolist() == [True, False]
    assert ((whole > 0) & ~(whole > 9)).tolist() == [True, False]
    assert (Tensor(np.uint8([255])) * (1 / 255)).tolist() == [1]
    assert (np.ones(2, np.float32) + real).tolist() == [3, 3]
    assert isinstance(np.ones(2, np.float32) * real, Tensor)


def test_comparison_with_what_is_no_number_is_pythons() -> None:
    tensor = counted(2)
    assert (tensor == None) is False  # noqa: E711
    assert (tensor != "text") is True
    assert tensor not in [None]


def test_numbers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="300 does not fit UInt8"):
        Tensor(np.uint8([1])) + 300
    with pytest.raises(ValueError, match="64 bits"):
        Tensor([1]) + 2**70


def test_division_by_zero_is_a_number_not_a_warning() -> None:
    result = Tensor([1.0, 0.0]) / 0
    assert np.isinf(result.asnumpy()[0])
    assert np.isnan(result.asnumpy()[1])
    assert np.isneginf(ops.log(Tensor(0.0)).asnumpy())
    assert np.isnan(ops.relu(Tensor([np.nan])).asnumpy()).all()
    assert np.isnan(ops.amax(Tensor([1.0, np.nan])).asnumpy())


def test_in_place_operators_replace_tensors_and_write_parameters() -> None:
    tensor = view = counted(2)
    tensor += 1
    assert view.tolist() == [0, 1]
    parameter = same = Parameter([1.0, 2.0])
    parameter *= 2
    assert parameter is same
    assert same.tolist() == [2, 4]


def test_methods_of_shape() -> None:
    tensor = counted(2, 3)
    assert tensor.T.shape == (3, 2)
    assert tensor.reshape(3, 2).shape == tensor.view((-1, 2)).shape == (3, 2)
    assert tensor.transpose(1, 0).shape == (3, 2)
    assert tensor.flatten().shape == (6,)
    assert tensor.astype("int32").dtype is tensor.to(dt.int32).dtype is dt.int32
    assert tensor.max() == 5
    values, positions = tensor.max(1, return_indices=True)
    assert values.tolist() == [2, 5]
    assert positions.tolist() == [2, 2]
    assert ops.split(tensor, 2, 1)[1].tolist() == [[2], [5]]


# ---- errors of calls -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: counted(2) + counted(3), "add: input \\[2\\] and other \\[3\\]"),
        (lambda: counted(2, 3) @ counted(2, 3), "matmul: input .* has 3.* other 2"),
        (lambda: ops.dense(counted(2, 3), counted(4, 5)), "dense: .*must have 5"),
        (lambda: counted(2, 3).reshape(4), "reshape: .*6 elements"),
        (lambda: counted(2, 3).sum(2), "sum: axis 2 does not exist"),
        (lambda: ops.concat([]), "concat: tensors is empty"),
        (lambda: ops.concat([counted(2, 3), counted(2, 2)], 0), "concat: .*axis 0 only"),
        (lambda: ops.squeeze(counted(2, 3), 0), "squeeze: axis 0"),
        (lambda: ops.amax(Tensor(np.zeros((0,)))), "amax: .*empty"),
        (lambda: ops.cross_entropy(counted(2, 3), Tensor([0, 3])), "label 3.*0 to 2"),
        (lambda: ops.cross_entropy(counted(2, 3), Tensor([0])), "one integer label"),
        (lambda: ops.mse_loss(counted(2), counted(2), "avg"), "'none', 'mean' or 'sum'"),
        (lambda: ops.conv2d(counted(1, 3, 4, 4), counted(2, 1, 3, 3)), "3 channels"),
        (lambda: ops.conv2d(counted(1, 1, 2, 2), counted(2, 1, 3, 3)), "does not fit"),
        (lambda: ops.layer_norm(counted(2, 3), 4), "must end with normalized_shape"),
        (lambda: ops.dropout(counted(2), 1.5), "p must be in 0..1"),
        (lambda: ops.gelu(counted(2), approximate="erf"), "'none' or 'tanh'"),
        (lambda: ops.clamp(counted(2)), "min, max or both"),
    ],
)
def test_mistakes_are_explained(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_wrong_kinds_are_type_errors() -> None:
    with pytest.raises(TypeError, match="integer type"):
        ops.one_hot(Tensor([1.0]), 3)
    with pytest.raises(TypeError, match="no attribute 'axes'"):
        ops.Softmax(axes=1)
    with pytest.raises(AttributeError):
        ops.NoSuchOp  # noqa: B018


def test_primitives_hold_attributes_and_take_tensors() -> None:
    x = counted(2, 3)
    assert ops.Softmax(axis=0)(x).tolist() == ops.softmax(x, 0).tolist()
    assert ops.ReduceSum(keep_dims=True)(x, 1).shape == (2, 1)
    assert ops.ReduceMean(True)(x, axis=0).shape == (1, *x.shape[1:])
    assert ops.ReduceMax()(x, ()).shape == ()
    assert ops.Concat(1)([x, x]).shape == (2, 6)
    assert ops.Reshape()(x, (3, 2)).shape == (3, 2)
    assert ops.MatMul()(x, x.T).shape == (2, 2)
    assert ops.Cast()(x, dt.int32).dtype is dt.int32
    assert repr(ops.Softmax(axis=0)) == "Softmax(axis=0)"


# ---- square brackets -------------------------------------------------------------------------

KEYS = [
    1, -1, slice(None, None, 2), slice(3, 0, -1), None, Ellipsis, (1, 2), (slice(1), None, 2),
    (Ellipsis, 0), (0, Ellipsis, slice(1, 3)), [2, 0], ([0, 1], [1, 2]), (slice(None), [1, 0]),
    (0, [1, 0]), ([1, 0], slice(None), [0, 3]), ([[0, 1]], 2), (None, [0, 1], Ellipsis),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_reading_and_writing_parts_is_numpys(key: Any) -> None:
    tensor = counted(4, 3, 5)
    array = tensor.asnumpy().copy()
    np.testing.assert_array_equal(tensor[key].asnumpy(), array[key])
    tensor[key] = 7
    array[key] = 7
    np.testing.assert_array_equal(tensor.asnumpy(), array)


def test_masks_and_tensor_keys() -> None:
    tensor = counted(3, 2)
    assert tensor[tensor > 2].tolist() == [3, 4, 5]
    assert tensor[Tensor([2, 0])].tolist() == [[4, 5], [0, 1]]
    tensor[tensor > 2] = 0
    assert tensor.tolist() == [[0, 1], [2, 0], [0, 0]]
    tensor[1:] = Tensor([9.0, 8.0])
    assert tensor.tolist() == [[0, 1], [9, 8], [9, 8]]


@pytest.mark.parametrize("key", [3, (0, 5), (0, 0, 0), [4], "a", 1.5])
def test_wrong_keys_are_index_errors(key: Any) -> None:
    with pytest.raises(IndexError):
        counted(3, 2)[key]


bounds = st.none() | st.integers(-5, 5)


@given(bounds, bounds, st.sampled_from([None, 1, 2, -1, -2]))
def test_any_range_is_numpys(start: int | None, stop: int | None, step: int | None) -> None:
    tensor = counted(4, 2)
    part = slice(start, stop, step)
    np.testing.assert_array_equal(tensor[part].asnumpy(), tensor.asnumpy()[part])


# ---- parameters and random numbers -----------------------------------------------------------


def test_parameters_keep_buffer_and_shape() -> None:
    parameter = Parameter(np.zeros((2,), np.float32), "w")
    with pytest.raises(ValueError, match="'w' has shape \\[2\\]"):
        parameter.set_data(Tensor([1.0]))
    parameter.set_data(np.array([1, 2]))
    assert parameter.tolist() == [1, 2]
    assert parameter.dtype is dt.float32
    assert repr(parameter) == ("Parameter (name=w, shape=(2,), dtype=Float32, requires_grad=True)")
    with pytest.raises(TypeError):
        ParameterTuple([Tensor([1.0])])


def test_random_ops_depend_on_seed_and_step_alone() -> None:
    x = Tensor(np.ones((64,), np.float32))
    with random.using(random.RandomState(7)) as stream:
        first = [ops.dropout(x).tolist() for _ in range(2)]
        saved = stream.save()
        later = ops.randn(3).tolist()
        stream.restore(saved)
        assert ops.randn(3).tolist() == later
    assert first[0] != first[1]
    with random.using(random.RandomState(7)):
        assert [ops.dropout(x).tolist() for _ in range(2)] == first
    assert set(first[0]) == {0, 2}
    assert ops.dropout(x, training=False).tolist() == x.tolist()


def test_uniform_numbers_stay_in_range() -> None:
    with random.using(random.RandomState(1)):
        drawn = ops.uniform((1000,), -2.0, 3.0).asnumpy()
        order = random.permutation(100)
    assert -2 <= drawn.min() < -1.9
    assert 2.9 < drawn.max() < 3
    assert sorted(order) == list(range(100))
    for wrong, error in ((-1, ValueError), (1.5, TypeError)):
        with pytest.raises(error):
            random.set_seed(wrong)  # pyright: ignore[reportArgumentType]
