"""Ops that sort, mask and compare, pad and make tensors from sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from cellwire import nn, ops

from parity.pair import Case, Draw, Pair

VALUES = "the shape of the result depends on values"


def _sorted(ours: Any, theirs: Any) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        shape = draw.shape(1, 3)
        axis, falling = draw.axis(shape), draw.choice((False, True))
        return Case(lambda x: ours(x, axis, falling),
                    lambda x: theirs(x, dim=axis, descending=falling),
                    (draw.normal(*shape),))  # fmt: skip

    return build


def _topk(draw: Draw) -> Case:
    shape = draw.shape(1, 3)
    axis, largest = draw.axis(shape), draw.choice((False, True))
    k = draw.size(1, shape[axis])
    return Case(lambda x: ops.topk(x, k, axis, largest),
                lambda x: torch.topk(x, k, axis, largest), (draw.normal(*shape),))  # fmt: skip


def _kthvalue(draw: Draw) -> Case:
    shape = draw.shape(1, 3)
    axis, keep = draw.axis(shape), draw.choice((False, True))
    k = draw.size(1, shape[axis])
    return Case(lambda x: ops.kthvalue(x, k, axis, keep),
                lambda x: torch.kthvalue(x, k, axis, keep), (draw.normal(*shape),))  # fmt: skip


def _mode(draw: Draw) -> Case:
    values = draw.integers(0, 3, (3, draw.size()))
    return Case(lambda x: ops.mode(x)[0], lambda x: torch.mode(x)[0], (values,))


def _masked(ours: Any, theirs: Any) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        shape, other = draw.two_shapes()
        return Case(ours, theirs, (draw.normal(*shape), draw.bools(*other)))

    return build


def _masked_scatter(draw: Draw) -> Case:
    shape = draw.shape(1, 3)
    arrays = (draw.normal(*shape), draw.bools(*shape), draw.normal(*shape))
    return Case(ops.masked_scatter, torch.masked_scatter, arrays)


def _of_few(ours: Any, theirs: Any) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        return Case(ours, theirs, (draw.integers(0, 3, draw.shape(1, 2)),))

    return build


def _unique_consecutive(draw: Draw) -> Case:
    axis = draw.choice((None, 0))
    return Case(lambda x: ops.unique_consecutive(x, True, True, axis),
                lambda x: torch.unique_consecutive(x, True, True, axis),
                (draw.integers(0, 2, (draw.size(), 2)),))  # fmt: skip


def _padded(
    ours: Callable[[Any, tuple[int, ...], str], Any], axes: int, modes: tuple[str, ...]
) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        shape = (draw.size(1, 2), draw.size(1, 2), *(draw.size(3, 4) for _ in range(axes)))
        mode = draw.choice(modes)
        low = -1 if mode == "constant" else 0
        padding = tuple(draw.size(low, 2) for _ in range(2 * axes))
        return Case(lambda x: ours(x, padding, mode),
                    lambda x: torch.nn.functional.pad(x, padding, mode),
                    (draw.normal(*shape),))  # fmt: skip

    return build


def _pad_cell(name: str, axes: int, mode: str, *args: Any) -> Pair:
    cell = getattr(nn, name)
    return Pair(f"nn.{name}", _padded(lambda x, p, _: cell(p, *args)(x), axes, (mode,)))


def _pad_pairs(draw: Draw) -> Case:
    a, b, c, d = (draw.size(0, 2) for _ in range(4))
    mode = draw.choice(("CONSTANT", "REFLECT"))
    return Case(nn.Pad(((0, 0), (a, b), (c, d)), mode),
                lambda x: torch.nn.functional.pad(x, (c, d, a, b), mode.lower()),
                (draw.normal(2, 3, 4),))  # fmt: skip


def _diag_embed(draw: Draw) -> Case:
    shape = draw.shape(1, 3)
    offset = draw.size(-2, 2)
    return Case(lambda x: ops.diag_embed(x, offset, 0, -1),
                lambda x: torch.diag_embed(x, offset, 0, -1), (draw.normal(*shape),))  # fmt: skip


def _fill_diagonal(draw: Draw) -> Case:
    wrap = draw.choice((False, True))
    return Case(lambda x: ops.fill_diagonal(x, 2.0, wrap),
                lambda x: (x + 0).fill_diagonal_(2.0, wrap),
                (draw.normal(draw.size(2, 7), draw.size(2, 4)),))  # fmt: skip


def _like(ours: Any, theirs: Any) -> Callable[[Draw], Case]:
    return lambda draw: Case(ours, theirs, (draw.normal(*draw.shape()),))


def _made(
    name: str, theirs: Callable[..., Any], arguments: Callable[[Draw], tuple[Any, ...]]
) -> Pair:
    """Return the pair of a function of plain numbers, beside a tensor that plays no part."""
    ours = getattr(ops, name)

    def build(draw: Draw) -> Case:
        args = arguments(draw)
        return Case(lambda _: ours(*args), lambda _: theirs(*args), (np.zeros(1),))

    return Pair(f"ops.{name}", build, grad=False)


def _sizes(draw: Draw) -> tuple[Any, ...]:
    return (draw.shape(1, 3),)


def _window(name: str) -> Pair:
    ours, theirs = getattr(ops, name), getattr(torch, name)

    def build(draw: Draw) -> Case:
        length, periodic = draw.size(1, 9), draw.choice((True, False))
        return Case(
            lambda _: ours(length, periodic, dtype="float64"),
            lambda _: theirs(length, periodic, dtype=torch.float64),
            (np.zeros(1),),
        )

    return Pair(f"ops.{name}", build, grad=False)


def _linspace(draw: Draw) -> Case:
    steps = draw.size(1, 7)
    return Case(lambda a, b: ops.linspace(a[0], b[0], steps),
                lambda a, b: torch.linspace(0, 1, steps, dtype=a.dtype) * (b - a) + a,
                (draw.normal(1), draw.normal(1)))  # fmt: skip


def _logspace(draw: Draw) -> Case:
    steps, base = draw.size(1, 7), draw.choice((2.0, 10.0))
    return Case(lambda a, b: ops.logspace(a[0], b[0], steps, base, dtype=a.dtype),
                lambda a, b: base ** (torch.linspace(0, 1, steps, dtype=a.dtype) * (b - a) + a),
                (draw.uniform(-1, 1, (1,)), draw.uniform(-1, 1, (1,))))  # fmt: skip


def _triangle(draw: Draw) -> tuple[Any, ...]:
    return draw.size(), draw.size(), draw.size(-3, 3)


PAIRS: list[Pair] = [
    Pair("ops.sort", _sorted(ops.sort, torch.sort)),
    Pair("ops.argsort", _sorted(ops.argsort, torch.argsort), grad=False),
    Pair("ops.msort", lambda draw: Case(ops.msort, torch.msort, (draw.normal(*draw.shape(1)),))),
    Pair("ops.topk", _topk), Pair("ops.kthvalue", _kthvalue), Pair("ops.mode", _mode, grad=False),
    Pair("ops.masked_fill", _masked(lambda x, m: ops.masked_fill(x, m, 1.5),
                                    lambda x, m: x.masked_fill(m, 1.5))),
    Pair("ops.masked_select", _masked(ops.masked_select, torch.masked_select), eager_only=VALUES),
    Pair("ops.masked_scatter", _masked_scatter),
    Pair("ops.nonzero", _of_few(ops.nonzero, torch.nonzero), grad=False, eager_only=VALUES),
    Pair("ops.argwhere", _of_few(ops.argwhere, torch.argwhere), grad=False, eager_only=VALUES),
    Pair("ops.unique", _of_few(ops.unique, lambda x: torch.unique(x, return_inverse=True)),
         grad=False, eager_only=VALUES),
    Pair("ops.unique_consecutive", _unique_consecutive, grad=False, eager_only=VALUES),
    Pair("ops.pad", _padded(ops.pad, 2, ("constant", "reflect", "replicate", "circular"))),
    Pair("nn.Pad", _pad_pairs),
    *(_pad_cell(f"ConstantPad{n}d", n, "constant", 0.0) for n in (1, 2, 3)),
    _pad_cell("ZeroPad2d", 2, "constant"),
    *(_pad_cell(f"ReflectionPad{n}d", n, "reflect") for n in (1, 2, 3)),
    *(_pad_cell(f"ReplicationPad{n}d", n, "replicate") for n in (1, 2, 3)),
    Pair("ops.diag_embed", _diag_embed), Pair("ops.fill_diagonal", _fill_diagonal),
    Pair("ops.full_like", _like(lambda x: ops.full_like(x, 2.5), lambda x: torch.full_like(x, 2.5)),
         grad=False),
    Pair("ops.zeros_like", _like(ops.zeros_like, torch.zeros_like), grad=False),
    Pair("ops.ones_like", _like(ops.ones_like, torch.ones_like), grad=False),
    _made("zeros", torch.zeros, _sizes), _made("ones", torch.ones, _sizes),
    _made("full", torch.full, lambda draw: (draw.shape(1, 3), 2.5)),
    _made("eye", torch.eye, lambda draw: (draw.size(), draw.size())),
    _made("arange", torch.arange, lambda draw: (draw.size(-3, 0), draw.size(1, 5), 2)),
    _made("tril_indices", torch.tril_indices, _triangle),
    _made("triu_indices", torch.triu_indices, _triangle),
    *map(_window, ("bartlett_window", "blackman_window", "hamming_window", "hann_window",
                   "kaiser_window")),
    Pair("ops.linspace", _linspace), Pair("ops.logspace", _logspace),
]  # fmt: skip

WITHOUT_PEER = {
    "ops.unique_with_pad": "a fixed length, filled up; compared with NumPy",
    "ops.empty": "values that mean nothing; tests/test_arrays.py",
    "ops.empty_like": "values that mean nothing; tests/test_arrays.py",
    "ops.fill": "ops.full with its arguments in another order; tests/test_arrays.py",
    "ops.range": "ops.arange of tensors or numbers; tests/test_arrays.py",
}
