"""Short declarations for ops that come in families, and shape rules read off expansions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtype import bool_
from ..shape import Aval
from ..tensor import Tensor
from . import arithmetic, unbroadcast
from .expansion import expanded
from .registry import Call, Composite, GradContext, Grads, Host, Lowering, op
from .rules import broadcast, require_float, require_same_dtype

Declare = Callable[[Callable[..., Call]], Callable[..., Any]]
Slope = Callable[[GradContext], Tensor | float]

SCIPY = Host("a special function of SciPy")
NUMPY = Host("runs in NumPy as a whole")


def in_dtype(function: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """Return a kernel that gives the dtype of its first array, whatever ``function`` gives."""

    @functools.wraps(function)
    def kernel(first: np.ndarray, *arrays: np.ndarray, **attrs: Any) -> np.ndarray:
        return np.asarray(function(first, *arrays, **attrs)).astype(first.dtype, copy=False)

    return kernel


def widened(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that computes half precision in float32, which LAPACK does not know."""

    @functools.wraps(function)
    def kernel(*arrays: np.ndarray, **attrs: Any) -> Any:
        if not any(array.dtype == np.float16 for array in arrays):
            return function(*arrays, **attrs)
        wide = [a.astype(np.float32) if a.dtype == np.float16 else a for a in arrays]
        result = function(*wide, **attrs)
        if isinstance(result, tuple):
            return tuple(_narrow(part) for part in result)
        return _narrow(result)

    return kernel


def _narrow(array: Any) -> np.ndarray:
    found = np.asarray(array)
    return found.astype(np.float16) if found.dtype == np.float32 else found


def scalar(
    kernel: Callable[..., Any],
    slope: Slope | None = None,
    lowering: Lowering = SCIPY,
    *,
    category: str = "math",
    primitive: str | None = None,
    method: bool = True,
) -> Declare:
    """Declare a function of one float tensor, element by element, from its slope in ops."""

    def grad(ctx: GradContext) -> Grads:
        assert slope is not None
        return (arithmetic.mul(ctx.dout, slope(ctx)),)

    def infer(input: Aval, **_: Any) -> Aval:
        require_float(primitive or "this function", "input", input)
        return input

    return op(
        infer=infer, kernel=in_dtype(kernel), grad=grad if slope else None, lowering=lowering,
        category=category, primitive=primitive, method=method,
    )  # fmt: skip


def pair(
    name: str,
    kernel: Callable[..., Any],
    slopes: tuple[Slope | None, Slope | None] | None = None,
    lowering: Lowering = SCIPY,
    *,
    floats: bool = False,
    category: str = "math",
    primitive: str | None = None,
    method: bool = True,
) -> Declare:
    """Declare a function of two tensors that broadcast, from its slopes to each of them."""

    def infer(input: Aval, other: Aval) -> Aval:
        if floats:
            require_float(name, "input", input)
        dtype = require_same_dtype(name, input=input, other=other)
        return Aval(broadcast(name, input=input, other=other), dtype)

    def grad(ctx: GradContext) -> Grads:
        assert slopes is not None
        parts = [
            arithmetic.mul(ctx.dout, slope(ctx)) if slope is not None and need else None
            for slope, need in zip(slopes, ctx.needs, strict=True)
        ]
        return unbroadcast.fit(ctx, *parts)

    return op(
        infer=infer, kernel=in_dtype(kernel), grad=grad if slopes else None, lowering=lowering,
        category=category, primitive=primitive, method=method,
    )  # fmt: skip


def truth(input: Aval, *_: Aval, **__: Any) -> Aval:
    """Return the first input's shape with Bool: the rule of predicates."""
    return Aval(input.shape, bool_)


@functools.lru_cache(maxsize=4096)
def _expansion_avals(
    fn: Callable[..., Any], avals: tuple[Aval, ...], attrs: tuple[tuple[str, Any], ...]
) -> Any:
    # The compiler imports the ops, so it can be asked only once they are all there.
    from ..compiler.trace import abstract_eval

    return abstract_eval(lambda *tensors: fn(*tensors, **dict(attrs)), *avals)


def derived(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the shape rule of a composite op: its expansion, run on shapes alone."""

    def infer(*avals: Aval, **attrs: Any) -> Any:
        return _expansion_avals(fn, avals, tuple(attrs.items()))

    return infer


def composite(
    fn: Callable[..., Any],
    *,
    category: str,
    infer: Callable[..., Any] | None = None,
    kernel: Callable[..., Any] | None = None,
    grad: Callable[..., Any] | None = None,
    primitive: str | None = None,
    inputs: tuple[str, ...] | None = None,
    variadic: bool = False,
    method: bool = False,
    fast: Callable[..., Any] | None = None,
) -> Declare:
    """Declare an op made of others; its kernel and shape rule come from the expansion."""
    return op(
        infer=infer or derived(fn), kernel=kernel or expanded(fn), grad=grad,
        lowering=Composite(fn), category=category, primitive=primitive, inputs=inputs,
        variadic=variadic, method=method, fast=fast,
    )  # fmt: skip
