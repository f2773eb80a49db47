"""The ops: functions on tensors by MindSpore's names, each one row of the op table."""

from __future__ import annotations

from typing import Any

# The modules' gradient rules use each other; arithmetic opens the ring. The others act on Tensor.
from . import arithmetic as _arithmetic  # noqa: F401  # isort: skip
from . import brackets as _brackets  # noqa: F401
from . import methods as _methods  # noqa: F401
from .activation import elu, gelu, hardtanh, leaky_relu, relu, silu, softplus
from .arithmetic import add, div, floor_div, maximum, minimum, mod, mul, pow, sub
from .array import (
    broadcast_to,
    expand_dims,
    flatten,
    identity,
    permute,
    reshape,
    squeeze,
    stop_gradient,
    swapaxes,
    transpose,
)
from .cast import cast
from .conv import conv2d
from .creation import arange, full, ones, ones_like, zeros, zeros_like
from .cross_entropy import cross_entropy, nll_loss
from .index import gather, one_hot
from .joining import cat, concat, pad, stack, tile
from .linalg import bias_add, bmm, dense, matmul
from .logic import (
    equal,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
    select,
    where,
)
from .loss import binary_cross_entropy_with_logits, l1_loss, mse_loss
from .math import (
    abs,
    erf,
    exp,
    log,
    log1p,
    neg,
    reciprocal,
    rsqrt,
    sigmoid,
    sign,
    sqrt,
    square,
)
from .norm import batch_norm, layer_norm
from .pool import avg_pool2d, max_pool2d
from .primitives import Primitive, Print, make_primitives
from .random import dropout, rand, randn, standard_normal, uniform
from .reduce import all, amax, amin, any, mean, prod, sum
from .registry import OPS, Op, apply
from .rounding import ceil, clamp, floor, round
from .slicing import split, strided_slice
from .softmax import log_softmax, softmax
from .statistics import argmax, argmin, max, min, std, var
from .trigonometry import cos, sin, tanh
from .update import adam_update, momentum_update, sgd_update

__all__ = [
    "OPS",
    "Op",
    "Primitive",
    "Print",
    "abs",
    "adam_update",
    "add",
    "all",
    "amax",
    "amin",
    "any",
    "apply",
    "arange",
    "argmax",
    "argmin",
    "avg_pool2d",
    "batch_norm",
    "bias_add",
    "binary_cross_entropy_with_logits",
    "bmm",
    "broadcast_to",
    "cast",
    "cat",
    "ceil",
    "clamp",
    "concat",
    "conv2d",
    "cos",
    "cross_entropy",
    "dense",
    "div",
    "dropout",
    "elu",
    "equal",
    "erf",
    "exp",
    "expand_dims",
    "flatten",
    "floor",
    "floor_div",
    "full",
    "gather",
    "gelu",
    "greater",
    "greater_equal",
    "hardtanh",
    "identity",
    "isfinite",
    "isinf",
    "isnan",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "matmul",
    "max",
    "max_pool2d",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mod",
    "momentum_update",
    "mse_loss",
    "mul",
    "neg",
    "nll_loss",
    "not_equal",
    "one_hot",
    "ones",
    "ones_like",
    "pad",
    "permute",
    "pow",
    "prod",
    "rand",
    "randn",
    "reciprocal",
    "relu",
    "reshape",
    "round",
    "rsqrt",
    "select",
    "sgd_update",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "softmax",
    "softplus",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "standard_normal",
    "std",
    "stop_gradient",
    "strided_slice",
    "sub",
    "sum",
    "swapaxes",
    "tanh",
    "tile",
    "transpose",
    "uniform",
    "var",
    "where",
    "zeros",
    "zeros_like",
]

_PRIMITIVES = make_primitives()


def __getattr__(name: str) -> Any:
    """Return the primitive class of that name, made from the op table."""
    found = _PRIMITIVES.get(name)
    if found is None:
        raise AttributeError(f"cellwire.ops has no {name!r}.")
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PRIMITIVES})
