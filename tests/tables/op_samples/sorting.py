"""Samples of ops that sort, mask and compare elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from cellwire.engine import ops
from cellwire.engine.ops import masking, sorting

from op_samples.sample import N, Sample, bools, distinct, integers, normal

X, CUBE, MASK = distinct(N, 4), distinct(N, 3, 4), bools(N, 4)
TIES = integers(N, 9)
NO: dict[str, Any] = {"differentiable": False}
EAGER: dict[str, Any] = {"symbolic": False}


def _falling(x: np.ndarray, axis: int) -> np.ndarray:
    return np.flip(np.sort(x, axis), axis)


def _sorted() -> list[Sample]:
    return [
        Sample("argsort", lambda x: ops.argsort(x, 1), (CUBE,), lambda x: np.argsort(x, 1), **NO),
        Sample("argsort", lambda x: ops.argsort(x, 1, True), (TIES,),
               lambda x: np.argsort(-x, 1, kind="stable"), **NO),
        Sample("sort", ops.sort, (X,), lambda x: (np.sort(x), np.argsort(x))),
        Sample("sort", lambda x: ops.sort(x, 1, True), (CUBE,),
               lambda x: (_falling(x, 1), np.argsort(-x, 1))),
        Sample("msort", ops.msort, (X,), lambda x: np.sort(x, 0)),
        Sample("top_positions", lambda x: sorting.top_positions(x, 1, 2, True), (X,),
               lambda x: np.argsort(-x, 1)[:, :2], **NO),
        Sample("topk", lambda x: ops.topk(x, 2), (X,),
               lambda x: (_falling(x, 1)[:, :2], np.argsort(-x, 1)[:, :2])),
        Sample("topk", lambda x: ops.topk(x, 3, 1, largest=False), (CUBE,),
               lambda x: (np.sort(x, 1), np.argsort(x, 1))),
        Sample("kthvalue", lambda x: ops.kthvalue(x, 3), (X,),
               lambda x: (np.sort(x)[:, 2], np.argsort(x)[:, 2])),
        Sample("kthvalue", lambda x: ops.kthvalue(x, 1, 1, True), (CUBE,),
               lambda x: (np.sort(x, 1)[:, :1], np.argsort(x, 1)[:, :1])),
        Sample("mode", ops.mode, (np.array([[2.0, 1, 3, 1], [3, 3, 2, 2]]),),
               lambda x: (np.array([1.0, 2.0]), np.array([1, 2])), **NO),
        Sample("mode", lambda x: ops.mode(x, keepdims=True), (X,),
               lambda x: (x.min(1, keepdims=True), x.argmin(1)[:, None])),
        Sample("most_frequent", lambda x: sorting.most_frequent(x, 0),
               (np.array([[2.0, 1], [4, 1], [4, 5]]),), lambda x: np.array([[1, 0]]), **NO),
        Sample("unique_with_pad", lambda x: ops.unique_with_pad(x, -1),
               (np.array([3, 1, 3, 5, 1], np.int32),),
               lambda x: (np.array([3, 1, 5, -1, -1]), np.array([0, 1, 0, 2, 1])), **NO),
    ]  # fmt: skip


def _masked() -> list[Sample]:
    def scattered(x: np.ndarray, m: np.ndarray, s: np.ndarray) -> np.ndarray:
        out = x.copy()
        out[m] = s.ravel()[: m.sum()]
        return out

    return [
        Sample("masked_fill", ops.masked_fill, (X, MASK, normal()),
               lambda x, m, v: np.where(m, v, x)),
        Sample("masked_fill", lambda x, m: ops.masked_fill(x, m, -2.0), (CUBE, bools(4)),
               lambda x, m: np.where(m, -2.0, x)),
        Sample("masked_scatter", ops.masked_scatter, (X, MASK, normal(4, 7)), scattered),
        Sample("rank_of_true", masking.rank_of_true, (MASK,),
               lambda m: (np.cumsum(m) - 1).clip(0).reshape(m.shape), **NO),
    ]  # fmt: skip


def _of_unknown_shape() -> list[Sample]:
    steps = np.array([2.0, 2, 1, 2, 2, 2])
    rows = np.array([[1.0, 2], [1, 2], [3, 2]])
    return [
        Sample("masked_select", ops.masked_select, (X, MASK), lambda x, m: x[m], **EAGER),
        Sample("masked_select", ops.masked_select, (X, MASK[:1]),
               lambda x, m: x[np.broadcast_to(m, x.shape)], **EAGER),
        Sample("argwhere", ops.argwhere, (TIES,), np.argwhere, **EAGER, **NO),
        Sample("unique", ops.unique, (X,), lambda x: np.unique(x, return_inverse=True), **EAGER),
        Sample("unique_consecutive", ops.unique_consecutive, (steps,),
               lambda x: np.array([2.0, 1, 2]), **EAGER, **NO),
        Sample("unique_consecutive", lambda x: ops.unique_consecutive(x, True, True, 0), (rows,),
               lambda x: (x[[0, 2]], np.array([0, 0, 1]), np.array([2, 1])), **EAGER, **NO),
        Sample("unique_consecutive", ops.unique_consecutive, (distinct(6),), np.copy, **EAGER),
    ]  # fmt: skip


SAMPLES = [*_sorted(), *_masked(), *_of_unknown_shape()]
