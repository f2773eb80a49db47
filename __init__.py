"""Cellwire: build, debug and compile neural networks by wiring Cells and ops."""

from __future__ import annotations

import sys
import types

from .engine import (
    amp,
    checkpoint,
    context,
    dataset,
    mindrecord,
    nn,
    numpy,
    ops,
    profiler,
    runtime,
    train,
)
from .engine.amp import (
    DynamicLossScaleManager,
    FixedLossScaleManager,
    LossScaleManager,
    build_train_network,
)
from .engine.autograd import (
    GradOperation,
    get_grad,
    grad,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    no_grad,
    recompute,
    value_and_grad,
    vjp,
)
from .engine.checkpoint import load_checkpoint, load_param_into_net, save_checkpoint
from .engine.compiler.jit import jit
from .engine.context import GRAPH_MODE, PYNATIVE_MODE, get_context, set_context, set_device
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
from .engine.markers import jit_class, lazy_inline, ms_memory_recycle, mutable
from .engine.nn import initializer
from .engine.parameter import Parameter, ParameterTuple
from .engine.profiler import Profiler
from .engine.random import (
    Generator,
    get_rng_state,
    get_seed,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
    set_seed,
)
from .engine.tensor import Tensor, TensorSpec, from_numpy, tensor
from .engine.train import (
    Callback,
    CheckpointConfig,
    EarlyStopping,
    History,
    LambdaCallback,
    LearningRateScheduler,
    LossMonitor,
    Model,
    ModelCheckpoint,
    ReduceLROnPlateau,
    RunContext,
    TimeMonitor,
)
from .engine.vectorize import VmapWarning, vmap

_no_grad = no_grad  # MindSpore's name of it
__version__ = "0.1.0"

# MindSpore's module paths, `import cellwire.nn` and `from cellwire.ops import relu` among them,
# although the modules live in the engine.
_MODULES = {
    "amp": amp,
    "nn": nn,
    "ops": ops,
    "numpy": numpy,
    "numpy.linalg": numpy.linalg,
    "context": context,
    "dataset": dataset,
    "dataset.config": dataset.config,
    "dataset.debug": dataset.debug,
    "dataset.text": dataset.text,
    "dataset.transforms": dataset.transforms,
    "dataset.transforms.c_transforms": dataset.transforms,
    "dataset.transforms.py_transforms": dataset.transforms,
    "dataset.vision": dataset.vision,
    "dataset.vision.c_transforms": dataset.vision,
    "dataset.vision.py_transforms": dataset.vision.py_transforms,
    "dataset.vision.transforms": dataset.vision,
    "dataset.vision.utils": dataset.vision,
    "mindrecord": mindrecord,
    "profiler": profiler,
    "profiler.mstx": profiler.mstx,
    "profiler.profiler": profiler,
    "runtime": runtime,
    "nn.dynamic_lr": nn.learning_rate,
    "nn.learning_rate_schedule": nn.schedule,
    "nn.optim": nn.optim,
    "nn.wrap": nn.wrap,
    "train": train,
    "train.amp": amp,
    "train.callback": train.callback,
    "train.loss_scale_manager": amp,
    "train.metrics": train.metrics,
    "train.model": train.model,
    "train.serialization": checkpoint,
    "common.initializer": initializer,
}
for _path, _module in _MODULES.items():
    sys.modules[f"{__name__}.{_path}"] = _module
    _parent, _, _name = _path.rpartition(".")
    if _parent:  # `from cellwire.common import initializer`
        _folder = sys.modules.setdefault(
            f"{__name__}.{_parent}", types.ModuleType(f"{__name__}.{_parent}")
        )
        setattr(_folder, _name, _module)
        setattr(sys.modules[__name__], _parent, _folder)

__all__ = [
    "GRAPH_MODE",
    "PYNATIVE_MODE",
    "Callback",
    "CheckpointConfig",
    "DynamicLossScaleManager",
    "EarlyStopping",
    "FixedLossScaleManager",
    "Generator",
    "GradOperation",
    "History",
    "LambdaCallback",
    "LearningRateScheduler",
    "LossMonitor",
    "LossScaleManager",
    "Model",
    "ModelCheckpoint",
    "Parameter",
    "ParameterTuple",
    "Profiler",
    "ReduceLROnPlateau",
    "RunContext",
    "Tensor",
    "TensorSpec",
    "TimeMonitor",
    "VmapWarning",
    "__version__",
    "amp",
    "bfloat16",
    "bool_",
    "build_train_network",
    "context",
    "dataset",
    "float16",
    "float32",
    "float64",
    "from_numpy",
    "get_context",
    "get_grad",
    "get_rng_state",
    "get_seed",
    "grad",
    "initial_seed",
    "initializer",
    "int8",
    "int16",
    "int32",
    "int64",
    "jacfwd",
    "jacrev",
    "jit",
    "jit_class",
    "jvp",
    "lazy_inline",
    "linearize",
    "load_checkpoint",
    "load_param_into_net",
    "manual_seed",
    "mindrecord",
    "ms_memory_recycle",
    "mutable",
    "nn",
    "no_grad",
    "numpy",
    "ops",
    "profiler",
    "recompute",
    "runtime",
    "save_checkpoint",
    "seed",
    "set_context",
    "set_device",
    "set_rng_state",
    "set_seed",
    "tensor",
    "train",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "value_and_grad",
    "vjp",
    "vmap",
]
