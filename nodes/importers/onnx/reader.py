"""Reads a model from a file, bytes or a ModelProto, and checks that it is one."""

from __future__ import annotations

from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto

from .errors import OnnxError


def read_model(source: str | Path | bytes | ModelProto) -> tuple[ModelProto, str]:
    """Return the checked model and the folder of its file, where there is one.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    OnnxError
        If it is no ONNX model, or a damaged one.
    """
    if isinstance(source, ModelProto):
        model, folder, name = source, "", "the model"
    elif isinstance(source, bytes):
        model, folder, name = _parsed(source, "these bytes"), "", "these bytes"
    else:
        path = Path(source)
        model, folder, name = _parsed(path.read_bytes(), str(path)), str(path.parent), str(path)
    try:
        # By its path a file's external data are looked for beside it, not in the working folder.
        onnx.checker.check_model(str(source) if folder else model)
    except onnx.checker.ValidationError as error:
        raise OnnxError(f"{name} is no valid ONNX model: {error}") from error
    return model, folder


def _parsed(content: bytes, name: str) -> ModelProto:
    try:
        model = ModelProto.FromString(content)
    except DecodeError as error:
        raise OnnxError(f"{name} is no ONNX model, or a damaged one: {error}") from error
    if not model.HasField("graph"):
        raise OnnxError(f"{name} is no ONNX model: it has no graph.")
    return model
