"""Compiled code called beside eager code, which it must be like."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine.compiler import JitError, JitWarning


def one(*values: float) -> Any:
    return cw.Tensor(np.array(values or (1.0,), np.float32))


def alike(function: Callable[..., Any], *changes: Callable[[], object], at: Any = None) -> None:
    """Call a function twice after each change, compiled without an exception, and compare."""
    compiled, at = cw.jit(function, fullgraph=True), one(2.0) if at is None else at
    for change in (lambda: None, *changes):
        change()
        for _ in range(2):
            assert compiled(at).tolist() == function(at).tolist()


def told_and_right(function: Callable[..., Any], *changes: Callable[[], object]) -> None:
    """Call a function that cannot be compiled: it is told, and what it gives is right."""
    with pytest.raises(JitError):
        cw.jit(function, fullgraph=True)(one(2.0))
    compiled = cw.jit(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JitWarning)
        for change in (lambda: None, *changes):
            change()
            for _ in range(2):
                assert compiled(one(2.0)).tolist() == function(one(2.0)).tolist()


def quiet(call: Callable[..., Any], *args: Any) -> Any:
    """Call where running eagerly is a right answer too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JitWarning)
        return call(*args)
