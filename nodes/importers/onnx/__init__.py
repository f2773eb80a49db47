"""ONNX models as Cells: ``import_onnx(path)`` reads a model and runs it by Cellwire's ops."""

from .cell import OnnxCell, import_onnx
from .errors import OnnxError
from .registry import OPERATORS, operators_known

__all__ = ["OPERATORS", "OnnxCell", "OnnxError", "import_onnx", "operators_known"]
