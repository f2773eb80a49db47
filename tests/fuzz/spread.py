"""How far rounding alone may move a result: graphs run with every inexact op slightly disturbed.

A plan adds in another order than NumPy and contracts products with sums. What that may change is
not one number for all graphs: a difference of near numbers, or a branch at a threshold, makes much
of a little. So the graph is run some times more, operands and results of inexact ops moved by a few
units in the last place, and what moves then may differ.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from cellwire.engine.compiler.expansion import expand
from cellwire.engine.compiler.graph import Graph, Node, Value, last_uses, reduced_axes
from cellwire.engine.dtype import bfloat16, float16
from cellwire.engine.ops.registry import View, run_kernel
from ml_dtypes import finfo

ULPS = 3.0
"""How far an operand or a result is moved, at most."""
EXACT = frozenset((
    "neg", "abs", "maximum", "minimum", "amax", "amin", "max", "min", "select", "relu", "floor",
    "ceil", "round", "trunc", "sign", "identity", "stop_gradient", "cast", "gather", "concat",
    "roll", "tile", "full", "full_like", "zeros_like", "ones_like", "relu6", "copysign", "index",
    "put", "pad_constant", "bitwise_not", "isnan", "isinf", "isfinite", "clamp", "nan_to_num",
))  # fmt: skip
"""Ops that give the same bits from the same operands however they are computed."""
PRODUCTS = ("matmul", "bmm")
CONTRACTIONS = frozenset(("matmul", "bmm", "dense", "conv2d"))
"""Where a BLAS takes zero times infinity for zero, and another one does not."""

HALVES = frozenset((float16, bfloat16))


@dataclass(frozen=True)
class Spread:
    """One result: what undisturbed kernels give, and how far disturbed ones go from it."""

    base: np.ndarray
    far: np.ndarray
    """Of floats the distance, infinite where NaN or infinities come or go; else 0 or 1."""


def spread(
    graph: Graph,
    arrays: Sequence[np.ndarray],
    runs: int = 2,
    ulps: float = ULPS,
    winograd: bool = False,
) -> list[Spread]:
    """Return for each output of the graph how far rounding may move it.

    With ``winograd`` convolutions round by the largest pixels and weights of a window.
    """
    whole = expand(graph)
    written = {v for node in graph.nodes if node.op.name == "cast" for v in node.outputs}
    base = _run(whole, arrays, None, 0.0, written)
    far = [np.zeros(array.shape) for array in base]
    for seed in range(runs):
        try:
            moved = _run(whole, arrays, np.random.default_rng(seed), ulps, written, winograd)
        except IndexError:  # a position moved out of its range
            continue
        for at, (one, other) in enumerate(zip(base, moved, strict=True)):
            far[at] = np.maximum(far[at], distance(one, other))
    return [Spread(one, other) for one, other in zip(base, far, strict=True)]


@np.errstate(all="ignore")
def distance(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return how far two arrays are from each other, element by element."""
    if not is_float(one):
        return (one != other).astype(np.float64)
    first, second = one.astype(np.float64), other.astype(np.float64)
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    apart = np.abs(first - second)
    return np.where(same, 0.0, np.where(np.isfinite(apart), apart, np.inf))


def _run(
    graph: Graph,
    arrays: Sequence[np.ndarray],
    rng: np.random.Generator | None,
    ulps: float,
    written: Collection[Value],
    winograd: bool = False,
) -> list[np.ndarray]:
    values = dict(graph.constants)
    values.update(zip(graph.inputs, arrays, strict=True))
    last = last_uses(graph)
    for position, node in enumerate(graph.nodes):
        given = [values[v] for v in node.inputs]
        # A plan rounds to half precision where an op ends; NumPy rounds at steps inside it too.
        rounds = node.outputs[0] not in written and node.outputs[0].aval.dtype in HALVES
        inexact = rng is not None and (not is_exact(node) or (rounds and node.op.name == "cast"))
        if inexact and rng is not None:
            zeros = node.op.name in CONTRACTIONS
            given = [_reordered(node, _moved(array, rng, ulps, zeros), rng) for array in given]
        if inexact and node.op.name in PRODUCTS and min(a.ndim for a in given) > 1:
            found = np.einsum("...ij,...jk->...ik", *given)  # zero times infinity is NaN here
        else:
            found = run_kernel(node.op, tuple(given), node.attributes)
        results = [np.asarray(r) for r in (found if isinstance(found, tuple) else (found,))]
        if inexact and rng is not None:
            results = [_moved(array, rng, ulps) for array in results]
            if winograd and _is_of_windows(node):
                results = [_moved_by_window(node, given, results[0], rng, ulps)]
        values.update(zip(node.outputs, results, strict=True))
        for value in (*node.inputs, *node.outputs):
            if last.get(value, -1) <= position:
                values.pop(value, None)
    return [values[v] for v in graph.outputs]


def is_exact(node: Node) -> bool:
    """Return whether a node gives the same bits however it is computed."""
    return isinstance(node.op.lowering, View) or node.op.name in EXACT


@np.errstate(all="ignore")
def _moved(
    array: np.ndarray, rng: np.random.Generator, ulps: float, zeros: bool = False
) -> np.ndarray:
    """Return floats moved a little; zeros only where asked for."""
    if not is_float(array) or not array.size:
        return array
    limits = finfo(array.dtype)
    wide = array.astype(np.float64)
    factors = 1.0 + float(limits.eps) * ulps * rng.uniform(-1, 1, array.shape)
    tiny = float(limits.smallest_subnormal)
    steps = np.where(np.abs(wide) < 1e4 * tiny, rng.integers(-1, 2, array.shape) * tiny, 0.0)
    moved = wide * factors + np.where((wide == 0) & (not zeros), 0.0, steps)
    either = rng.choice([-1.0, 1.0], array.shape)  # the sign of NaN means nothing
    return np.asarray(np.where(np.isnan(wide), np.copysign(np.nan, either), moved), array.dtype)


def _is_of_windows(node: Node) -> bool:
    """Return whether a node may be computed by Winograd's algorithm."""
    named = node.op.name in ("conv2d", "conv2d_input_grad")
    return named and node.inputs[1].sizes[2:] == (3, 3)


@np.errstate(all="ignore")
def _moved_by_window(
    node: Node,
    given: Sequence[np.ndarray],
    result: np.ndarray,
    rng: np.random.Generator,
    ulps: float,
) -> np.ndarray:
    """Return a convolution moved in units of its pixels times the largest weight of each filter."""
    sizes = [np.abs(array) for array in given]
    sizes[1] = np.broadcast_to(sizes[1].max((2, 3), keepdims=True), sizes[1].shape).copy()
    far = np.asarray(run_kernel(node.op, tuple(sizes), node.attributes)).astype(np.float64)
    far = float(finfo(result.dtype).eps) * ulps * np.where(np.isfinite(far), far, 0.0)
    return np.asarray(result + far * rng.uniform(-1, 1, far.shape), result.dtype)


def _reordered(node: Node, array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return what a reduction reads in another order, over which it may overflow elsewhere."""
    if node.op.name not in ("sum", "prod", "mean"):
        return array
    for axis in reduced_axes(node):
        array = np.take(array, rng.permutation(array.shape[axis]), axis)
    return array


def is_float(array: np.ndarray) -> bool:
    """Return whether an array holds floats, BFloat16 among them."""
    return array.dtype.kind == "f" or array.dtype == bfloat16.numpy


@np.errstate(all="ignore")
def mismatch(found: np.ndarray, wanted: Spread, *, signs: bool = False) -> str:
    """Return what is wrong with a compiled result; empty if it is what eager may give."""
    base = wanted.base
    if found.dtype != base.dtype or found.shape != base.shape:
        return f"{found.dtype}{list(found.shape)} instead of {base.dtype}{list(base.shape)}"
    apart = distance(base, found)
    if is_float(base):
        limits = finfo(base.dtype)
        finite = wanted.far[np.isfinite(wanted.far)]
        usual = float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0
        size = np.where(np.isfinite(base), np.abs(base.astype(np.float64)), 0.0)
        # Halves are computed in float32 here and there: what moves those may not move the result.
        most = 16 if wanted.far.any() else 4 if base.dtype.itemsize == 2 else 0
        rounding = float(limits.eps) * size + float(limits.smallest_subnormal) / 4
        allowed = 6 * wanted.far + 2 * usual + most * rounding
        wrong = apart > allowed
        if signs:
            zero = (base == 0) & (found == 0) & (wanted.far == 0)
            wrong |= zero & (np.signbit(base) != np.signbit(found))
    else:
        # Where rounding decides a third of the answers, it may decide the others as well.
        shaky = wanted.far.size > 0 and float(wanted.far.mean()) > 1 / 3
        wrong = (apart > 0) & (wanted.far == 0) & (not shaky)
    if not wrong.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"at {list(at)} of {list(base.shape)} compiled gives {found[at]!r}, eager {base[at]!r}"
        f" ({int(wrong.sum())} of {base.size} differ)"
    )
