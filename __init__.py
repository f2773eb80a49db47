"""Cellwire: build, debug and compile neural networks by wiring Cells and ops."""

from __future__ import annotations

import sys

from .engine import dataset, nn, ops
from .engine.autograd import GradOperation, grad, value_and_grad
from .engine.checkpoint import load_checkpoint, load_param_into_net, save_checkpoint
from .engine.compiler.jit import jit
from .engine.context import GRAPH_MODE, PYNATIVE_MODE, get_context, set_context
from .engine.dtype import (
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .engine.nn import initializer
from .engine.parameter import Parameter, ParameterTuple
from .engine.random import get_seed, set_seed
from .engine.tensor import Tensor, TensorSpec, from_numpy, tensor
from .engine.vectorize import VmapWarning, vmap

__version__ = "0.1.0"

# MindSpore's module paths, `import cellwire.nn` and `from cellwire.ops import relu` among them,
# although the modules live in the engine.
_MODULES = {
    "nn": nn,
    "ops": ops,
    "dataset": dataset,
    "common.initializer": initializer,
}
for _path, _module in _MODULES.items():
    sys.modules[f"{__name__}.{_path}"] = _module

__all__ = [
    "GRAPH_MODE",
    "PYNATIVE_MODE",
    "GradOperation",
    "Parameter",
    "ParameterTuple",
    "Tensor",
    "TensorSpec",
    "VmapWarning",
    "__version__",
    "bfloat16",
    "bool_",
    "dataset",
    "float16",
    "float32",
    "float64",
    "from_numpy",
    "get_context",
    "get_seed",
    "grad",
    "initializer",
    "int8",
    "int16",
    "int32",
    "int64",
    "jit",
    "load_checkpoint",
    "load_param_into_net",
    "nn",
    "ops",
    "save_checkpoint",
    "set_context",
    "set_seed",
    "tensor",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "value_and_grad",
    "vmap",
]
