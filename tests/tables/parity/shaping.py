"""Ops that arrange, join, cut and repeat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from cellwire import nn, ops

from parity.pair import Case, Draw, Pair


def _whole(name: str, ours: Any, theirs: Any, low: int = 0, high: int = 3) -> Pair:
    """Return the pair of a function of one tensor of ``low`` to ``high`` axes."""
    return Pair(name, lambda draw: Case(ours, theirs, (draw.normal(*draw.shape(low, high)),)))


def _along(
    name: str, ours: Callable[..., Any], theirs: Callable[..., Any], low: int = 1, high: int = 3
) -> Pair:
    """Return the pair of a function of a tensor and one of its axes."""

    def build(draw: Draw) -> Case:
        shape = draw.shape(low, high)
        axis = draw.axis(shape)
        return Case(lambda x: ours(x, axis), lambda x: theirs(x, axis), (draw.normal(*shape),))

    return Pair(name, build)


def _several(name: str, ours: Any, theirs: Any, low: int = 0, high: int = 3) -> Pair:
    """Return the pair of a function of two or three tensors of one shape."""

    def build(draw: Draw) -> Case:
        shape = draw.shape(low, high)
        arrays = tuple(draw.normal(*shape) for _ in range(draw.size(2, 3)))
        return Case(lambda *t: ours(t), theirs, arrays)

    return Pair(name, build)


def _rows(*tensors: Any) -> Any:
    return torch.vstack(tensors)


def _reshape(draw: Draw) -> Case:
    a, b, c = draw.size(), draw.size(), draw.size()
    return Case(lambda x: ops.reshape(x, (c, -1, a)), lambda x: x.reshape(c, -1, a),
                (draw.normal(a, b, c),))  # fmt: skip


def _order(draw: Draw) -> tuple[tuple[int, ...], tuple[int, ...]]:
    shape = draw.shape(2, 4)
    return shape, tuple(int(i) for i in draw.rng.permutation(len(shape)))


def _transpose(function: Any) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        shape, order = _order(draw)
        return Case(
            lambda x: function(x, order), lambda x: x.permute(order), (draw.normal(*shape),)
        )

    return build


def _two_axes(ours: Any, theirs: Any) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        shape, order = _order(draw)
        a, b = order[0] - len(shape), order[1]
        return Case(lambda x: ours(x, a, b), lambda x: theirs(x, a, b), (draw.normal(*shape),))

    return build


def _movedim(draw: Draw) -> Case:
    shape, order = _order(draw)
    to = order[::-1]
    return Case(lambda x: ops.movedim(x, order, to), lambda x: torch.movedim(x, order, to),
                (draw.normal(*shape),))  # fmt: skip


def _flip(draw: Draw) -> Case:
    shape, order = _order(draw)
    dims = order[:2]
    return Case(lambda x: ops.flip(x, dims), lambda x: torch.flip(x, dims),
                (draw.normal(*shape),))  # fmt: skip


def _rot90(draw: Draw) -> Case:
    shape, order = _order(draw)
    k, dims = draw.size(-2, 5), order[:2]
    return Case(lambda x: ops.rot90(x, k, dims), lambda x: torch.rot90(x, k, dims),
                (draw.normal(*shape),))  # fmt: skip


def _roll(function: Any) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        shape, order = _order(draw)
        shifts = (draw.size(-4, 4), draw.size(-4, 4))
        return Case(
            lambda x: function(x, shifts, order[:2]),
            lambda x: torch.roll(x, shifts, order[:2]),
            (draw.normal(*shape),),
        )

    return build


def _broadcast(draw: Draw) -> Case:
    whole, part = draw.two_shapes()
    return Case(lambda x: ops.broadcast_to(x, whole), lambda x: x.broadcast_to(whole),
                (draw.normal(*part),))  # fmt: skip


def _squeeze(draw: Draw) -> Case:
    shape = draw.shape(1, 3)
    at = draw.axis(shape)
    sizes = tuple(1 if axis == at % len(shape) else n for axis, n in enumerate(shape))
    return Case(lambda x: ops.squeeze(x, at), lambda x: x.squeeze(at), (draw.normal(*sizes),))


def _flatten(draw: Draw) -> Case:
    shape = draw.shape(2, 4)
    first = draw.size(0, len(shape) - 1)
    return Case(lambda x: ops.flatten(x, start_dim=first), lambda x: x.flatten(first),
                (draw.normal(*shape),))  # fmt: skip


def _unflatten(function: Any) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        a, b, c = draw.size(), draw.size(), draw.size()
        return Case(lambda x: function(x, -1, (a, -1)), lambda x: x.unflatten(-1, (a, b)),
                    (draw.normal(c, a * b),))  # fmt: skip

    return build


def _narrow(draw: Draw) -> Case:
    shape = draw.shape(1, 3)
    axis = draw.axis(shape)
    start = draw.size(0, shape[axis] - 1)
    length = draw.size(0, shape[axis] - start)
    return Case(lambda x: ops.narrow(x, axis, start, length),
                lambda x: x.narrow(axis, start, length), (draw.normal(*shape),))  # fmt: skip


def _slice(draw: Draw) -> Case:
    h, w = draw.size(2, 5), draw.size(2, 5)
    return Case(lambda x: ops.slice(x, (1, 0), (-1, w - 1)), lambda x: x[1:, : w - 1],
                (draw.normal(h, w),))  # fmt: skip


def _strided_slice(draw: Draw) -> Case:
    h, w = draw.size(3, 6), draw.size(3, 6)
    step = draw.size(1, 3)
    return Case(lambda x: ops.strided_slice(x, (1, 0), (h, w - 1), (step, 2)),
                lambda x: x[1::step, 0 : w - 1 : 2], (draw.normal(h, w),))  # fmt: skip


def _joined(draw: Draw) -> Case:
    shape = draw.shape(1, 3)
    axis = draw.axis(shape)
    others = [(*shape[: axis % len(shape)], n, *shape[axis % len(shape) + 1 :]) for n in (1, 3)]
    return Case(lambda *t: ops.concat(t, axis), lambda *t: torch.cat(t, axis),
                tuple(draw.normal(*s) for s in (shape, *others)))  # fmt: skip


def _stack(draw: Draw) -> Case:
    shape = draw.shape(0, 3)
    axis = draw.size(-len(shape) - 1, len(shape))
    return Case(lambda *t: ops.stack(t, axis), lambda *t: torch.stack(t, axis),
                (draw.normal(*shape), draw.normal(*shape)))  # fmt: skip


def _tile(draw: Draw) -> Case:
    dims = tuple(draw.size(1, 3) for _ in range(draw.size(1, 4)))
    return Case(lambda x: ops.tile(x, dims), lambda x: x.tile(dims),
                (draw.normal(*draw.shape(0, 3)),))  # fmt: skip


def _block_diag(draw: Draw) -> Case:
    arrays = tuple(draw.normal(*draw.shape(0, 2)) for _ in range(3))
    return Case(ops.block_diag, torch.block_diag, arrays)


def _broadcast_tensors(draw: Draw) -> Case:
    arrays = tuple(draw.normal(*shape) for shape in draw.two_shapes())
    return Case(ops.broadcast_tensors, torch.broadcast_tensors, arrays)


def _meshgrid(draw: Draw) -> Case:
    arrays = tuple(draw.normal(draw.size()) for _ in range(draw.size(2, 3)))
    how = draw.choice(("xy", "ij"))
    return Case(lambda *t: ops.meshgrid(*t, indexing=how),
                lambda *t: torch.meshgrid(*t, indexing=how), arrays)  # fmt: skip


def _cartesian(draw: Draw) -> Case:
    arrays = tuple(draw.normal(draw.size()) for _ in range(draw.size(1, 3)))
    return Case(ops.cartesian_prod, torch.cartesian_prod, arrays)


def _combinations(draw: Draw) -> Case:
    r, again = draw.size(1, 3), draw.choice((False, True))
    return Case(lambda x: ops.combinations(x, r, again),
                lambda x: torch.combinations(x, r, again),
                (draw.normal(draw.size(3, 5)),))  # fmt: skip


def _split(draw: Draw) -> Case:
    sizes = (draw.size(), draw.size(), draw.size())
    given = draw.choice((sizes, 2))
    return Case(lambda x: ops.split(x, given, 1), lambda x: torch.split(x, given, 1),
                (draw.normal(2, sum(sizes)),))  # fmt: skip


def _sections(
    ours: Any, theirs: Any, axes: int, options: tuple[Any, ...] = (1, 2, (1, 3))
) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        given = draw.choice(options)
        return Case(lambda x: ours(x, given), lambda x: theirs(x, given),
                    (draw.normal(*[4] * axes),))  # fmt: skip

    return build


def _tensor_split(draw: Draw) -> Case:
    given = draw.choice((1, 3, (2, 3), (1, -1)))
    return Case(lambda x: ops.tensor_split(x, given, -1),
                lambda x: torch.tensor_split(x, given, -1),
                (draw.normal(2, draw.size(3, 6)),))  # fmt: skip


def _chunk(draw: Draw) -> Case:
    chunks = draw.size(1, 4)
    return Case(lambda x: ops.chunk(x, chunks, 1), lambda x: torch.chunk(x, chunks, 1),
                (draw.normal(2, draw.size(1, 7)),))  # fmt: skip


def _repeated(draw: Draw) -> Case:
    shape = draw.shape(1, 3)
    axis = draw.axis(shape)
    each = tuple(int(n) for n in draw.rng.integers(0, 3, shape[axis]))
    given = draw.choice((2, each))
    theirs = given if isinstance(given, int) else torch.tensor(each)
    return Case(lambda x: ops.repeat_interleave(x, given, axis),
                lambda x: torch.repeat_interleave(x, theirs, axis),
                (draw.normal(*shape),))  # fmt: skip


def _cast(draw: Draw) -> Case:
    return Case(lambda x: ops.cast(x, "int32"), lambda x: x.to(torch.int32),
                (draw.normal(*draw.shape()) * 9,))  # fmt: skip


PAIRS: list[Pair] = [
    Pair("ops.reshape", _reshape), Pair("ops.transpose", _transpose(ops.transpose)),
    Pair("ops.permute", _transpose(ops.permute)),
    Pair("ops.swapaxes", _two_axes(ops.swapaxes, torch.swapaxes)),
    Pair("ops.movedim", _movedim), Pair("ops.flip", _flip), Pair("ops.rot90", _rot90),
    _along("ops.reverse", ops.reverse, lambda x, axis: torch.flip(x, (axis,))),
    _whole("ops.fliplr", ops.fliplr, torch.fliplr, 2),
    _whole("ops.flipud", ops.flipud, torch.flipud, 1),
    Pair("ops.roll", _roll(ops.roll)), Pair("nn.Roll", _roll(lambda x, s, d: nn.Roll(s, d)(x))),
    _whole("ops.ravel", ops.ravel, torch.ravel),
    Pair("ops.broadcast_to", _broadcast), Pair("ops.squeeze", _squeeze),
    _along("ops.expand_dims", ops.expand_dims, torch.unsqueeze),
    _along("ops.unsqueeze", ops.unsqueeze, torch.unsqueeze),
    Pair("ops.flatten", _flatten),
    Pair("ops.unflatten", _unflatten(ops.unflatten)),
    Pair("nn.Unflatten", _unflatten(lambda x, axis, sizes: nn.Unflatten(axis, sizes)(x))),
    Pair("ops.narrow", _narrow), Pair("ops.slice", _slice),
    Pair("ops.strided_slice", _strided_slice),
    Pair("ops.concat", _joined), Pair("ops.stack", _stack), Pair("ops.tile", _tile),
    _several("ops.hstack", ops.hstack, lambda *t: torch.hstack(t)),
    _several("ops.vstack", ops.vstack, _rows),
    _several("ops.dstack", ops.dstack, lambda *t: torch.dstack(t)),
    _several("ops.column_stack", ops.column_stack, lambda *t: torch.column_stack(t)),
    _whole("ops.atleast_1d", ops.atleast_1d, torch.atleast_1d),
    _whole("ops.atleast_2d", ops.atleast_2d, torch.atleast_2d),
    _whole("ops.atleast_3d", ops.atleast_3d, torch.atleast_3d),
    Pair("ops.block_diag", _block_diag), Pair("ops.broadcast_tensors", _broadcast_tensors),
    Pair("ops.meshgrid", _meshgrid), Pair("ops.cartesian_prod", _cartesian),
    Pair("ops.combinations", _combinations), Pair("ops.split", _split),
    Pair("ops.tensor_split", _tensor_split), Pair("ops.chunk", _chunk),
    Pair("ops.hsplit", _sections(ops.hsplit, torch.hsplit, 2)),
    Pair("ops.vsplit", _sections(ops.vsplit, torch.vsplit, 2)),
    Pair("ops.dsplit", _sections(ops.dsplit, torch.dsplit, 3)),
    _along("ops.unbind", ops.unbind, torch.unbind),
    _along("ops.unstack", ops.unstack, torch.unbind),
    Pair("ops.repeat_interleave", _repeated),
    _along("ops.repeat_elements", lambda x, axis: ops.repeat_elements(x, 3, axis),
           lambda x, axis: torch.repeat_interleave(x, 3, axis)),
    _whole("ops.identity", ops.identity, torch.nn.Identity()),
    Pair("ops.cast", _cast, grad=False),
    _whole("ops.stop_gradient", lambda x: ops.stop_gradient(x) * x, lambda x: x.detach() * x),
]  # fmt: skip

WITHOUT_PEER = {
    "ops.cat": "another name of ops.concat",
    "ops.expand": "another name of ops.broadcast_to",
    "ops.moveaxis": "another name of ops.movedim",
    "ops.row_stack": "another name of ops.vstack",
    "ops.swapdims": "another name of ops.swapaxes",
    "ops.reverse_sequence": "rows turned round up to their lengths; compared with NumPy",
    "ops.shape": "gives the sizes; tests/test_arrays.py",
    "ops.rank": "gives the number of axes; tests/test_arrays.py",
    "ops.size": "gives the number of elements; tests/test_arrays.py",
    "ops.numel": "gives the number of elements; tests/test_arrays.py",
    "ops.dtype": "gives the element type; tests/test_arrays.py",
    "ops.is_tensor": "gives a bool; tests/test_arrays.py",
    "ops.tensor_shape": "gives the sizes; compared with NumPy",
}
