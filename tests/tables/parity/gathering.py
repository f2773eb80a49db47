"""Ops that read and write elements at positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from cellwire import ops

from parity.pair import Case, Draw, Pair


def _positions(draw: Draw, count: int, size: int) -> np.ndarray:
    """Return different positions, so that it does not matter which of two is written last."""
    return draw.rng.permutation(size)[:count].astype(np.int64)


def _gather(draw: Draw) -> Case:
    shape = draw.shape(1, 3)
    axis = draw.axis(shape)
    index = draw.integers(0, shape[axis], (3,))
    return Case(lambda x, i: ops.gather(x, i, axis),
                lambda x, i: torch.index_select(x, axis, i),
                (draw.normal(*shape), index))  # fmt: skip


def _select(ours: Any) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        shape = draw.shape(1, 3)
        axis = draw.axis(shape)
        index = draw.integers(0, shape[axis], (draw.size(),))
        return Case(lambda x, i: ours(x, axis, i), lambda x, i: torch.index_select(x, axis, i),
                    (draw.normal(*shape), index))  # fmt: skip

    return build


def _elements(ours: Any) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        shape = draw.shape(1, 3)
        axis = draw.axis(shape)
        sizes = list(shape)
        sizes[axis] = draw.size()
        index = draw.integers(0, shape[axis], sizes)
        return Case(lambda x, i: ours(x, axis, i), lambda x, i: torch.gather(x, axis, i),
                    (draw.normal(*shape), index))  # fmt: skip

    return build


def _take_along(draw: Draw) -> Case:
    a, b = draw.size(), draw.size()
    index = draw.integers(0, b, (draw.choice((1, a)), draw.size()))
    return Case(lambda x, i: ops.take_along_dim(x, i, 1),
                lambda x, i: torch.take_along_dim(x, i, 1), (draw.normal(a, b), index))  # fmt: skip


def _take(draw: Draw) -> Case:
    shape = draw.shape(1, 3)
    index = draw.integers(0, int(np.prod(shape)), draw.shape(0, 2))
    return Case(ops.take, torch.take, (draw.normal(*shape), index))


def _gather_nd(draw: Draw) -> Case:
    a, b = draw.size(), draw.size()
    index = np.stack([draw.integers(0, a, (3,)), draw.integers(0, b, (3,))], -1)
    return Case(ops.gather_nd, lambda x, i: x[i[:, 0], i[:, 1]], (draw.normal(a, b, 2), index))


def _select_ext(draw: Draw) -> Case:
    shape = draw.shape(1, 3)
    axis = draw.axis(shape)
    at = draw.size(-shape[axis], shape[axis] - 1)
    return Case(lambda x: ops.select_ext(x, axis, at), lambda x: torch.select(x, axis, at),
                (draw.normal(*shape),))  # fmt: skip


def _embedding(draw: Draw) -> Case:
    rows = draw.size(2, 5)
    padding = draw.choice((None, 1, -1))
    index = draw.integers(0, rows, draw.shape(1, 2))
    return Case(lambda i, w: ops.embedding(i, w, padding),
                lambda i, w: torch.nn.functional.embedding(i, w, padding),
                (index, draw.normal(rows, 3)))  # fmt: skip


def _one_hot(draw: Draw) -> Case:
    depth = draw.size(1, 4)
    index = draw.integers(0, depth, draw.shape(0, 2))
    return Case(lambda i: ops.one_hot(i, depth, dtype="int64"),
                lambda i: torch.nn.functional.one_hot(i, depth), (index,))  # fmt: skip


def _scatter(reduce: str | None) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        rows, columns, count = draw.size(), draw.size(2, 5), draw.size(1, 2)
        index = np.stack([_positions(draw, count, columns) for _ in range(rows)])
        if reduce is not None:  # several values may meet
            index[:, 0] = index[:, -1]
        arrays = (draw.positive(rows, columns), index, draw.positive(rows, count))
        if reduce is None:
            return Case(lambda x, i, s: ops.scatter(x, 1, i, s),
                        lambda x, i, s: x.scatter(1, i, s), arrays)  # fmt: skip
        peers = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
        return Case(
            lambda x, i, s: ops.scatter(x, 1, i, s, reduce),
            lambda x, i, s: x.scatter_reduce(1, i, s, peers[reduce]), arrays,
        )  # fmt: skip

    return build


def _scatter_elements(draw: Draw) -> Case:
    case = _scatter(None)(draw)
    return Case(lambda x, i, s: ops.tensor_scatter_elements(x, i, s, 1), case.theirs, case.arrays)


def _index_add(draw: Draw) -> Case:
    a, b, count = draw.size(), draw.size(), draw.size()
    arrays = (draw.normal(a, b), draw.integers(0, b, (count,)), draw.normal(a, count))
    return Case(lambda x, i, y: ops.index_add(x, i, y, 1),
                lambda x, i, y: x.index_add(1, i, y), arrays)  # fmt: skip


def _index_fill(draw: Draw) -> Case:
    a, b = draw.size(), draw.size()
    arrays = (draw.normal(a, b), draw.integers(0, b, (2,)))
    return Case(lambda x, i: ops.index_fill(x, 1, i, 2.5),
                lambda x, i: x.index_fill(1, i, 2.5), arrays)  # fmt: skip


def _index_put(draw: Draw) -> Case:
    a, b = draw.size(2, 5), draw.size(2, 5)
    add = draw.choice((True, False))
    i, j = _positions(draw, 2, a), _positions(draw, 2, b)
    arrays = (draw.normal(a, b, 2), i, j, draw.normal(2, 2))
    return Case(lambda x, i, j, v: ops.index_put(x, (i, j), v, add),
                lambda x, i, j, v: x.index_put((i, j), v, add), arrays)  # fmt: skip


def _spread(rows: Any, values: Any) -> Any:
    """Return the position of each element of rows."""
    return rows.unsqueeze(-1).expand_as(values)


_AT_ROWS = {
    "add": lambda x, i, u: x.index_put((i,), u, True),
    "sub": lambda x, i, u: x.index_put((i,), -u, True),
    "update": lambda x, i, u: x.index_put((i,), u),
    "mul": lambda x, i, u: x.scatter_reduce(0, _spread(i, u), u, "prod"),
    "max": lambda x, i, u: x.scatter_reduce(0, _spread(i, u), u, "amax"),
    "min": lambda x, i, u: x.scatter_reduce(0, _spread(i, u), u, "amin"),
}
"""PyTorch's ways to write rows at positions."""


def _rows(word: str) -> Pair:
    def build(draw: Draw) -> Case:
        rows, columns = draw.size(2, 5), draw.size()
        index = _positions(draw, 2, rows)
        if word in ("add", "sub"):
            index[0] = index[1]
        arrays = (draw.positive(rows, columns), index, draw.positive(2, columns))
        return Case(getattr(ops, f"scatter_{word}"), _AT_ROWS[word], arrays)

    return Pair(f"ops.scatter_{word}", build)


def _tensor_scatter(word: str) -> Pair:
    def build(draw: Draw) -> Case:
        case = _rows(word).build(draw)
        x, index, updates = case.arrays
        ours = getattr(ops, f"tensor_scatter_{word}")
        return Case(lambda x, i, u: ours(x, i.reshape(-1, 1), u), case.theirs, (x, index, updates))

    return Pair(f"ops.tensor_scatter_{word}", build)


def _scatter_nd(draw: Draw) -> Case:
    a, b = draw.size(), draw.size()
    i, j = draw.integers(0, a, (3,)), draw.integers(0, b, (3,))

    def theirs(i: Any, j: Any, u: Any) -> Any:
        return torch.zeros(a, b, dtype=u.dtype).index_put((i, j), u, True)

    return Case(lambda i, j, u: ops.scatter_nd(ops.stack((i, j), -1), u, (a, b)), theirs,
                (i, j, draw.normal(3)))  # fmt: skip


def _segments(word: str, reduce: str) -> Pair:
    def build(draw: Draw) -> Case:
        rows, columns, count = draw.size(3, 6), draw.size(), draw.size(1, 3)
        ids = np.concatenate([np.arange(count), draw.integers(0, count, (rows,))])

        def theirs(x: Any, i: Any) -> Any:
            start = torch.zeros(count, columns, dtype=x.dtype)
            return start.scatter_reduce(0, _spread(i, x), x, reduce, include_self=False)

        ours = getattr(ops, f"unsorted_segment_{word}")
        return Case(lambda x, i: ours(x, i, count), theirs,
                    (draw.positive(count + rows, columns), ids))  # fmt: skip

    return Pair(f"ops.unsorted_segment_{word}", build)


PAIRS: list[Pair] = [
    Pair("ops.gather", _gather), Pair("ops.index_select", _select(ops.index_select)),
    Pair("ops.gather_elements", _elements(ops.gather_elements)),
    Pair("ops.gather_d", _elements(ops.gather_d)),
    Pair("ops.take_along_dim", _take_along), Pair("ops.take", _take),
    Pair("ops.gather_nd", _gather_nd), Pair("ops.select_ext", _select_ext),
    Pair("ops.embedding", _embedding), Pair("ops.one_hot", _one_hot, grad=False),
    Pair("ops.scatter", _scatter(None)),
    *(Pair(f"ops.scatter {word}", _scatter(word)) for word in ("add", "mul", "max", "min")),
    Pair("ops.tensor_scatter_elements", _scatter_elements),
    Pair("ops.index_add", _index_add), Pair("ops.index_fill", _index_fill),
    Pair("ops.index_put", _index_put), *map(_rows, _AT_ROWS), *map(_tensor_scatter, _AT_ROWS),
    Pair("ops.scatter_nd", _scatter_nd),
    _segments("sum", "sum"), _segments("mean", "mean"), _segments("prod", "prod"),
    _segments("max", "amax"), _segments("min", "amin"),
]  # fmt: skip

WITHOUT_PEER = {
    "ops.scatter_div": "no such reduction; compared with NumPy",
    "ops.tensor_scatter_div": "no such reduction; compared with NumPy",
    **{
        f"ops.scatter_nd_{word}": f"the same expansion as ops.tensor_scatter_{word}; NumPy"
        for word in ("update", "add", "sub", "mul", "div", "max", "min")
    },
    **{
        f"ops.inplace_{word}": "rows at positions, as ops.index_add; compared with NumPy"
        for word in ("update", "add", "sub")
    },
}
