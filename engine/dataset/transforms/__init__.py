"""Transforms of any data, for ``Dataset.map``."""

import sys

from .arrays import (
    Concatenate,
    Duplicate,
    Fill,
    Mask,
    OneHot,
    PadEnd,
    RelationalOp,
    Slice,
    TypeCast,
    Unique,
)
from .base import ArrayTransform, Transform
from .choices import Compose, RandomApply, RandomChoice, RandomOrder

c_transforms = py_transforms = sys.modules[__name__]
"""The paths of older scripts."""

__all__ = [
    "ArrayTransform",
    "Compose",
    "Concatenate",
    "Duplicate",
    "Fill",
    "Mask",
    "OneHot",
    "PadEnd",
    "RandomApply",
    "RandomChoice",
    "RandomOrder",
    "RelationalOp",
    "Slice",
    "Transform",
    "TypeCast",
    "Unique",
    "c_transforms",
    "py_transforms",
]
