"""Element types: names, promotion, weak scalars."""

from __future__ import annotations

import importlib
import pickle
from pathlib import Path

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine import dtype as dt
from cellwire.engine.dtype import DTYPES, dtype_of, promote, promote_scalar
from cellwire.engine.ops.registry import OPS
from op_samples import SAMPLES


def test_names_are_mindspores() -> None:
    names = [str(dtype) for dtype in DTYPES]
    assert names == [
        "Bool", "UInt8", "UInt16", "UInt32", "UInt64", "Int8", "Int16", "Int32", "Int64",
        "Float16", "BFloat16", "Float32", "Float64",
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_spelling_names_one_object(dtype: dt.DType) -> None:
    for spelling in (dtype, dtype.name, dtype.short, dtype.numpy, dtype.numpy.type):
        assert dtype_of(spelling) is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert dtype.itemsize == dtype.numpy.itemsize


def test_python_types_and_foreign_byte_order() -> None:
    assert [dtype_of(kind) for kind in (bool, int, float)] == [dt.bool_, dt.int64, dt.float32]
    assert dtype_of(np.dtype(">f4")) is dt.float32


@pytest.mark.parametrize("wrong", ["float31", object, "U3", np.complex64])
def test_unknown_types_are_named(wrong: object) -> None:
    with pytest.raises(TypeError, match="use one of"):
        dtype_of(wrong)


ORDER = [
    dt.bool_, dt.uint8, dt.int8, dt.int16, dt.int32, dt.int64, dt.float16, dt.bfloat16, dt.float32,
    dt.float64,
]  # fmt: skip
MEETINGS = """
b1  u8  i8  i16 i32 i64 f16 bf  f32 f64
    u8  i16 i16 i32 i64 f16 bf  f32 f64
        i8  i16 i32 i64 f16 bf  f32 f64
            i16 i32 i64 f16 bf  f32 f64
                i32 i64 f16 bf  f32 f64
                    i64 f16 bf  f32 f64
                        f16 f32 f32 f64
                            bf  f32 f64
                                f32 f64
                                    f64
"""
"""MindSpore's table (core/ops, implicit conversion between tensors), its upper half."""


def test_promotion_table_is_mindspores() -> None:
    names = MEETINGS.split()[: len(ORDER)]
    short = dict(zip(names, ORDER, strict=True))
    for row, line in enumerate(MEETINGS.strip().splitlines()):
        for column, name in enumerate(line.split(), row):
            a, b = ORDER[row], ORDER[column]
            assert promote(a, b) is promote(b, a) is short[name], (a, b)


@pytest.mark.parametrize("dtype", [dt.uint16, dt.uint32, dt.uint64], ids=str)
def test_wide_unsigned_types_meet_their_own_and_bool_only(dtype: dt.DType) -> None:
    for other in DTYPES:
        if other in (dtype, dt.bool_):
            assert promote(dtype, other) is promote(other, dtype) is dtype
        else:
            with pytest.raises(TypeError, match="cast one of them"):
                promote(dtype, other)
    assert promote_scalar(dtype, True) is dtype
    for number in (1, 0.5):
        with pytest.raises(TypeError, match="cast the tensor"):
            promote_scalar(dtype, number)


@pytest.mark.parametrize(
    ("dtype", "value", "result"),
    [
        (dt.float16, 2.5, dt.float16), (dt.int32, 2.5, dt.float32), (dt.uint8, 300, dt.uint8),
        (dt.bool_, 1, dt.int64), (dt.bool_, True, dt.bool_), (dt.float64, 1, dt.float64),
        (dt.bfloat16, 2.5, dt.bfloat16), (dt.bool_, 0.5, dt.float32), (dt.int64, True, dt.int64),
    ],
)  # fmt: skip
def test_python_scalars_are_weak(dtype: dt.DType, value: float, result: dt.DType) -> None:
    assert promote_scalar(dtype, value) is result


def test_types_have_mindspores_other_names() -> None:
    mstype = importlib.import_module("cellwire.common.dtype")
    assert mstype is cw.dtype is dt
    assert (cw.half, cw.single, cw.double) == (cw.float16, cw.float32, cw.float64)
    assert (cw.byte, cw.short, cw.intc, cw.intp) == (cw.int8, cw.int16, cw.int32, cw.int64)
    assert (cw.ubyte, cw.uintp) == (cw.uint8, cw.uint64)
    assert cw.dtype_to_nptype(cw.int8) is np.int8
    assert [cw.dtype_to_pytype(t) for t in (cw.bfloat16, cw.uint8, cw.bool_)] == [float, int, bool]
    assert cw.pytype_to_dtype(float) is cw.float32
    with pytest.raises(TypeError, match="use one of"):
        cw.pytype_to_dtype(object)


# ---- bfloat16 --------------------------------------------------------------------------------


def brain(*values: float) -> cw.Tensor:
    return cw.Tensor(list(values), cw.bfloat16)


def test_bfloat16_rounds_once_and_prints() -> None:
    x = brain(1, 2.5, 3.3)
    assert repr(x) == "Tensor(shape=[3], dtype=BFloat16, value= [      1,     2.5, 3.29688])"
    assert (x.dtype, x.itemsize, x.nbytes) == (dt.bfloat16, 2, 6)
    many = cw.Tensor(np.full(1000, 1.0), cw.bfloat16)
    assert float(many.sum()) == 1000  # summed in BFloat16 it would stop at 256
    assert cw.Tensor([x, x]).dtype is dt.bfloat16
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()


def test_bfloat16_meets_other_types() -> None:
    x = brain(1.5)
    assert (x + cw.Tensor([1.0], cw.float16)).dtype is dt.float32
    assert (x + cw.Tensor([1])).dtype is (x * 2.5).dtype is (x > 1).astype(x.dtype).dtype
    assert x.astype(cw.int32).tolist() == [1]


FIRST = {sample.op: sample for sample in reversed(SAMPLES)}
ROUNDED = [name for name in FIRST if OPS[name].category != "random" and name != "nextafter"]


def test_neighbours_of_bfloat16_are_refused() -> None:
    with pytest.raises(TypeError, match="BFloat16 is computed in Float32"):
        cw.ops.nextafter(brain(1.0), 2.0)


@pytest.mark.parametrize("name", ROUNDED)
def test_every_op_computes_bfloat16_as_float32_rounded(name: str) -> None:
    sample = FIRST[name]
    narrow = [cw.Tensor(array) for array in sample.arrays]
    narrow = [x.astype(cw.bfloat16) if x.dtype.is_float else x for x in narrow]
    wide = [x.astype(cw.float32) if x.dtype.is_float else x for x in narrow]
    wanted, found = sample.call(*wide), sample.call(*narrow)
    if not isinstance(wanted, tuple):
        wanted, found = (wanted,), (found,)
    for exact, rounded in zip(wanted, found, strict=True):
        assert rounded.shape == exact.shape
        kept = rounded.dtype is exact.dtype
        assert kept == (exact.dtype is not cw.float32) or "dtype" in OPS[name].attrs
        a, b = (x.asnumpy().astype(np.float64) for x in (exact, rounded))
        finite = np.isfinite(a)
        scale = max(1.0, np.abs(a[finite]).max(initial=0))
        np.testing.assert_allclose(b[finite], a[finite], rtol=0, atol=0.06 * scale)


@pytest.mark.parametrize("dtype", [dt.bfloat16, dt.uint16, dt.uint32, dt.uint64], ids=str)
def test_checkpoints_keep_the_new_types(dtype: dt.DType, tmp_path: Path) -> None:
    values = cw.Tensor([[1, 2, 3]], dtype)
    path = tmp_path / "weights.safetensors"
    cw.save_checkpoint({"w": values}, path)
    loaded = cw.load_checkpoint(path)["w"]
    assert loaded.dtype is dtype
    assert loaded.tolist() == [[1, 2, 3]]


@pytest.mark.parametrize("dtype", [dt.uint16, dt.uint32, dt.uint64], ids=str)
def test_wide_unsigned_types_compile_as_they_run(dtype: dt.DType) -> None:
    a, b = cw.Tensor([3, 200, 40000], dtype), cw.Tensor([5, 7, 50000], dtype)

    def several(a: cw.Tensor, b: cw.Tensor) -> tuple[cw.Tensor, ...]:
        return a - b, a // b, a % b, a < b, a.astype(cw.float32), a * b, a.max()

    for ours, other in zip(several(a, b), cw.jit(several, fullgraph=True)(a, b), strict=True):
        assert ours.dtype is other.dtype
        np.testing.assert_array_equal(ours.asnumpy(), other.asnumpy())
