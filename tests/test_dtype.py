"""Element types: names, promotion, weak scalars."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from cellwire.engine import dtype as dt
from cellwire.engine.dtype import DTYPES, dtype_of, promote, promote_scalar


def test_names_are_mindspores() -> None:
    names = [str(dtype) for dtype in DTYPES]
    assert names == [
        "Bool", "UInt8", "Int8", "Int16", "Int32", "Int64", "Float16", "Float32", "Float64",
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


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        (dt.int32, dt.float32, dt.float32), (dt.int64, dt.float16, dt.float16),
        (dt.float16, dt.float32, dt.float32), (dt.uint8, dt.int8, dt.int16),
        (dt.uint8, dt.int32, dt.int32), (dt.bool_, dt.uint8, dt.uint8),
        (dt.float64, dt.int64, dt.float64),
    ],
)  # fmt: skip
def test_promotion_table(a: dt.DType, b: dt.DType, result: dt.DType) -> None:
    assert promote(a, b) is promote(b, a) is result


@pytest.mark.parametrize(
    ("dtype", "value", "result"),
    [
        (dt.float16, 2.5, dt.float16), (dt.int32, 2.5, dt.float32), (dt.uint8, 300, dt.uint8),
        (dt.bool_, 1, dt.int64), (dt.bool_, True, dt.bool_), (dt.float64, 1, dt.float64),
    ],
)  # fmt: skip
def test_python_scalars_are_weak(dtype: dt.DType, value: float, result: dt.DType) -> None:
    assert promote_scalar(dtype, value) is result
