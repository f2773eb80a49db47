"""Samples of ops that write elements at positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from cellwire.engine import ops
from cellwire.engine.ops import indexed_put
from cellwire.engine.ops.indexed_put import REDUCTIONS

from op_samples.sample import N, Sample, distinct, normal, positive

X, CUBE = distinct(N, 4) + 1, distinct(N, 3, 4) + 1
ROWS = np.array([3, 0, 3], np.int32)
COORDINATES = np.array([[0, 1], [2, 0], [0, 1]], np.int32)
ELEMENTS = np.array([[0, 2, 2], [1, 1, 3]], np.int32)


def _put(reduction: str, x: np.ndarray, key: Any, updates: np.ndarray) -> np.ndarray:
    out = x.copy()
    if reduction == "none":
        out[key] = updates
    else:
        REDUCTIONS[reduction].at(out, key, updates)
    return out


def _once(word: str, positions: np.ndarray) -> np.ndarray:
    """Return positions each named once where the last of several would win."""
    return positions[:2] if word == "update" else positions


def _family(word: str) -> list[Sample]:
    reduction = "none" if word == "update" else word
    rows, coordinates = _once(word, ROWS), _once(word, COORDINATES)
    values = distinct(len(rows), 4, seed=7) + 1.3
    cubes = distinct(len(coordinates), 4, seed=7) + 1.3

    def by_rows(x: np.ndarray, i: np.ndarray, u: np.ndarray) -> np.ndarray:
        return _put(reduction, x, i.astype(int), u)

    def by_coordinates(x: np.ndarray, i: np.ndarray, u: np.ndarray) -> np.ndarray:
        return _put(reduction, x, tuple(i.astype(int).T), u)

    return [
        Sample(f"scatter_{word}", getattr(ops, f"scatter_{word}"), (X, rows, values), by_rows),
        *(
            Sample(f"{name}_{word}", getattr(ops, f"{name}_{word}"),
                   (CUBE, coordinates, cubes), by_coordinates)
            for name in ("scatter_nd", "tensor_scatter")
        ),
    ]  # fmt: skip


def _elements(reduction: str) -> Sample:
    i = ELEMENTS.T[:2].T if reduction == "none" else ELEMENTS
    values = distinct(*i.shape, seed=3) + 1.3

    def reference(x: np.ndarray, i: np.ndarray, u: np.ndarray) -> np.ndarray:
        return _put(reduction, x, (np.arange(len(i))[:, None], i.astype(int)), u)

    def call(x: Any, i: Any, u: Any) -> Any:
        return ops.tensor_scatter_elements(x, i, u, 1, reduction)

    return Sample("tensor_scatter_elements", call, (X, i, values), reference)


def _segment(word: str, reduction: str, start: float) -> list[Sample]:
    name = f"unsorted_segment_{word}"
    function = getattr(ops, name)
    ids = np.array([1, 0, -1, 1, 3], np.int32)
    kept = ids >= 0

    def reference(x: np.ndarray, i: np.ndarray) -> np.ndarray:
        return _put(reduction, np.full((4, 4), start), i.astype(int)[kept], x[kept])

    finite = word in ("sum", "prod")  # a segment without rows has an infinite extremum
    return [
        Sample(name, lambda x, i: function(x, i, 4), (X, ids), reference, differentiable=finite),
        Sample(name, lambda x, i: function(x, i, 3), (X, ids.clip(0, 2))),
    ]


def _segments() -> list[Sample]:
    ids = np.array([1, 0, -1, 1, 3], np.int32)
    mean = Sample(
        "unsorted_segment_mean",
        lambda x, i: ops.unsorted_segment_mean(x, i, 4),
        (X, ids),
        lambda x, i: np.stack([x[1], (x[0] + x[3]) / 2, 0 * x[0], x[4]]),
    )
    return [
        *_segment("sum", "add", 0.0), *_segment("prod", "mul", 1.0),
        *_segment("max", "max", -np.inf), *_segment("min", "min", np.inf), mean,
    ]  # fmt: skip


def _others() -> list[Sample]:
    some = np.array([0.0, 0.7, 1.3])
    return [
        Sample("scatter", lambda x, i, u: ops.scatter(x, 1, i, u, "add"),
               (X, ELEMENTS, normal(2, 3)),
               lambda x, i, u: _put("add", x, (np.arange(2)[:, None], i.astype(int)), u)),
        Sample("scatter", lambda x, i: ops.scatter(x, 0, i, 2.5), (X, ELEMENTS),
               lambda x, i: _put("none", x, (i.astype(int), np.arange(3)), 2.5)),
        Sample("scatter_nd", lambda i, u: ops.scatter_nd(i, u, (3, 4)),
               (COORDINATES, normal(3)),
               lambda i, u: _put("add", np.zeros((3, 4)), tuple(i.astype(int).T), u)),
        Sample("index_add", lambda x, i, y: ops.index_add(x, i, y, 1), (X, ROWS, normal(N, 3)),
               lambda x, i, y: _put("add", x, (slice(None), i.astype(int)), y)),
        Sample("index_fill", lambda x, i: ops.index_fill(x, 1, i, 7.0), (X, ROWS),
               lambda x, i: _put("none", x, (slice(None), i.astype(int)), 7.0)),
        Sample("index_fill", lambda x, i, v: ops.index_fill(x, 0, i, v), (X, ROWS, normal()),
               lambda x, i, v: _put("none", x, i.astype(int), v)),
        Sample("index_put", lambda x, i, j, v: ops.index_put(x, (i, j), v, True),
               (CUBE, ROWS, ROWS // 2, normal(3, 4)),
               lambda x, i, j, v: _put("add", x, (i.astype(int), j.astype(int)), v)),
        Sample("index_put", lambda x, i, v: ops.index_put(x, (i,), v), (X, ROWS[:2], normal(4)),
               lambda x, i, v: _put("none", x, i.astype(int), v)),
        Sample("inplace_update", lambda x, v: ops.inplace_update(x, v, (0, 2)),
               (X, normal(2, 4)), lambda x, v: _put("none", x, [0, 2], v)),
        Sample("inplace_add", lambda x, v: ops.inplace_add(x, v, (0, 2)),
               (X, normal(2, 4)), lambda x, v: _put("add", x, [0, 2], v)),
        Sample("inplace_sub", lambda x, v: ops.inplace_sub(x, v, 1),
               (X, normal(1, 4)), lambda x, v: _put("sub", x, [1], v)),
        Sample("last_at", lambda x: indexed_put.last_at(x, (_tensor(ROWS),), (0, -1)), (X,),
               lambda x: np.stack([0 * x[0], x[0], x[3]])),
        Sample("put", lambda x, u: indexed_put.put(x, u, (_tensor(ROWS),), (0,), "mul"),
               (positive(N), some), lambda x, u: _put("mul", x, ROWS, u)),
        Sample("put", lambda x, u: indexed_put.put(x, u, (_tensor(ROWS * 0),), (0,), "mul"),
               (positive(N), some), lambda x, u: _put("mul", x, ROWS * 0, u)),
    ]  # fmt: skip


def _tensor(array: np.ndarray) -> Any:
    from cellwire.engine.tensor import Tensor

    return Tensor(array)


WORDS = ("update", "add", "sub", "mul", "div", "max", "min")
SAMPLES = [
    *(sample for word in WORDS for sample in _family(word)),
    *(_elements(reduction) for reduction in REDUCTIONS),
    *_segments(), *_others(),
]  # fmt: skip
