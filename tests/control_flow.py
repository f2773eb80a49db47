"""Branches and loops as functions, in tests: how they are run, and their derivatives checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire.engine.compiler  # noqa: F401 - installs the eager compiler, as users have it
import numpy as np
import pytest
from cellwire.engine.autograd import grad
from cellwire.engine.compiler import jit
from cellwire.engine.tensor import Tensor


def x_of(*values: float) -> Tensor:
    return Tensor(np.array(values, np.float32))


def eager(fn: Callable[..., Any]) -> Callable[..., Any]:
    return fn


def compiled(fn: Callable[..., Any]) -> Any:
    return jit(fn, fullgraph=True)


HOW = pytest.mark.parametrize("how", [eager, compiled], ids=["eager", "jit"])


def slope(fn: Callable[[Tensor], Tensor], x: Tensor, step: float = 1e-6) -> np.ndarray:
    """Return a gradient by finite differences."""
    found = np.zeros(x.shape)
    for at in np.ndindex(*x.shape):
        sides = []
        for sign in (1, -1):
            moved = x.asnumpy().copy()
            moved[at] += sign * step
            sides.append(float(fn(Tensor(moved)).sum()))
        found[at] = (sides[0] - sides[1]) / (2 * step)
    return found


def check_derivatives(fn: Callable[[Tensor], Tensor], *points: Tensor) -> None:
    """Compare first and second derivatives in all ways with finite differences."""
    first_jit, outside, second_jit = (
        compiled(grad(fn)), compiled(fn), compiled(grad(lambda x: grad(fn)(x).sum())),
    )  # fmt: skip
    for x in points:
        expected = slope(fn, x)
        for derived in (grad(fn), first_jit, grad(outside)):
            np.testing.assert_allclose(derived(x).asnumpy(), expected, 1e-6, 1e-7)
        second = slope(grad(fn), x)
        for derived in (grad(lambda x: grad(fn)(x).sum()), second_jit):
            np.testing.assert_allclose(derived(x).asnumpy(), second, 1e-5, 1e-6)
        twice = grad(lambda x: grad(outside)(x).sum())
        np.testing.assert_allclose(twice(x).asnumpy(), second, 1e-5, 1e-6)
