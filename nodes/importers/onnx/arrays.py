"""Arrays and element types: from ONNX's protobufs to Cellwire's."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto
from onnx.numpy_helper import to_array

from ....engine import dtype as dtypes
from ....engine.dtype import DType
from .errors import OnnxError

_DTYPES: dict[int, DType] = {
    TensorProto.BOOL: dtypes.bool_,
    TensorProto.UINT8: dtypes.uint8,
    TensorProto.UINT16: dtypes.uint16,
    TensorProto.UINT32: dtypes.uint32,
    TensorProto.UINT64: dtypes.uint64,
    TensorProto.INT8: dtypes.int8,
    TensorProto.INT16: dtypes.int16,
    TensorProto.INT32: dtypes.int32,
    TensorProto.INT64: dtypes.int64,
    TensorProto.FLOAT16: dtypes.float16,
    TensorProto.BFLOAT16: dtypes.bfloat16,
    TensorProto.FLOAT: dtypes.float32,
    TensorProto.DOUBLE: dtypes.float64,
}


def dtype_named(number: int) -> DType:
    """Return the element type of ONNX's number.

    Raises
    ------
    OnnxError
        If Cellwire has no such type.
    """
    found = _DTYPES.get(number)
    if found is None:
        name = TensorProto.DataType.Name(number)
        raise OnnxError(f"the element type {name} is not known; cast the model to another one.")
    return found


def is_known(number: int) -> bool:
    """Return whether Cellwire has the element type of ONNX's number."""
    return number in _DTYPES


def array_of(tensor: Any, folder: str = "") -> np.ndarray:
    """Return the array of a TensorProto; data kept in other files are looked for in ``folder``."""
    dtype = dtype_named(tensor.data_type)
    try:
        return np.asarray(to_array(tensor, folder), dtype.numpy)
    except ValueError as error:
        where = " in another file" if tensor.external_data else ""
        raise OnnxError(f"the data of {tensor.name!r}{where} are damaged: {error}") from error
