"""Operators that ONNX defines by others: their bodies run where the table has no function."""

from __future__ import annotations

from typing import Any

from onnx import FunctionProto, TensorProto, TypeProto, defs
from onnx.helper import np_dtype_to_tensor_dtype

from ....engine.tensor import Tensor
from .call import Call


def body_of(call: Call) -> FunctionProto | None:
    """Return the operator's definition in other operators, or None where ONNX has none."""
    schema = _schema(call.op_type, call.version, call.domain)
    if schema is None:
        return None
    for name, attribute in schema.attributes.items():
        if name not in call.attributes and attribute.default_value.name:
            call.attributes[name] = attribute.default_value
    if schema.has_function:
        return _parsed(_static_body(schema, call.version))
    if schema.has_context_dependent_function:
        types = [_type_of(value).SerializeToString() for value in call.inputs]
        node = call.resolved_node().SerializeToString()
        versions = schema.context_dependent_function_opset_versions
        usable = [number for number in versions if number <= call.version] or versions
        text = schema.get_context_dependent_function_with_opset_version(max(usable), node, types)
        return _parsed(text)
    return None


def has_body(op_type: str, version: int, domain: str) -> bool:
    """Return whether ONNX defines the operator by others."""
    schema = _schema(op_type, version, domain)
    if schema is None:
        return False
    return schema.has_function or schema.has_context_dependent_function


def _schema(op_type: str, version: int, domain: str) -> Any:
    """Return ONNX's description of an operator, or None where it has none."""
    try:
        return defs.get_schema(op_type, version, domain)
    except defs.SchemaError:
        return None


def _static_body(schema: Any, version: int) -> bytes:
    usable = [number for number in schema.function_opset_versions if number <= version]
    number = max(usable) if usable else min(schema.function_opset_versions)
    return schema.get_function_with_opset_version(number)


def _parsed(text: bytes) -> FunctionProto:
    body = FunctionProto()
    body.ParseFromString(text)
    return body


def _type_of(value: Any) -> TypeProto:
    made = TypeProto()
    if isinstance(value, list):
        first = value[0] if value else None
        made.sequence_type.elem_type.CopyFrom(_type_of(first))
        if first is None:
            made.sequence_type.elem_type.tensor_type.elem_type = TensorProto.FLOAT
    if isinstance(value, Tensor):
        made.tensor_type.elem_type = np_dtype_to_tensor_dtype(value.dtype.numpy)
        for size in value.shape:
            made.tensor_type.shape.dim.add().dim_value = int(size)
    return made
