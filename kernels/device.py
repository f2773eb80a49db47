"""Where an array lives: NumPy, or CuPy on a GPU. CuPy is optional and never imported from here."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np


def array_module(x: object) -> ModuleType:
    """Return the module whose functions take `x`: `cupy` for its arrays, else `numpy`."""
    cupy = sys.modules.get("cupy")
    return cupy if cupy is not None and isinstance(x, cupy.ndarray) else np
