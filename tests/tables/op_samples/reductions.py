"""Samples of reductions, running folds, order statistics, histograms and distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from cellwire.engine import ops
from cellwire.engine.ops import cumulative
from scipy import special

from op_samples.sample import N, Sample, bools, distinct, integers, normal, positive

X, CUBE = normal(N, 3), distinct(N, 2, 3)
HOLES = np.where(np.arange(15).reshape(N, 3) % 4 == 1, np.nan, normal(N, 3))
ZEROS = np.array([[1.0, 2.0, 3.0], [0.0, 2.0, 3.0], [2.0, 0.0, 0.0]])
NO: dict[str, Any] = {"differentiable": False}


def _over_axes(name: str, reference: Any, keep: str = "keepdims", **more: Any) -> list[Sample]:
    """Return samples of a reduction over all axes, one axis, and two that stay."""
    function = getattr(ops, name)
    return [
        Sample(
            name,
            lambda x, a=axis, k=keepdims: function(x, a, **{keep: k}),
            (CUBE,),
            lambda x, a=axis, k=keepdims: reference(x, axis=a, keepdims=k),
            **more,
        )
        for axis, keepdims in ((None, False), (1, False), ((0, 2), True))
    ]


def _sums() -> list[Sample]:
    truth = bools(N, 3)
    norms = [
        Sample("vector_norm", lambda x, p=p: ops.vector_norm(x, p, 1), (X,),
               lambda x, p=p: np.linalg.norm(x, p, 1), differentiable=p != 0)
        for p in (2, 1, 3, 0.5, -2, np.inf, -np.inf, 0)
    ]  # fmt: skip
    return [
        *_over_axes("logsumexp", special.logsumexp, "keep_dims"),
        Sample("logsumexp", lambda x: ops.logsumexp(x, 0),
               (np.array([[np.inf, -np.inf, 1e3], [1.0, -np.inf, 999.0]]),),
               lambda x: special.logsumexp(x, 0), symbolic=False, **NO),
        Sample("any", lambda x: ops.any(x, 1), (truth,), lambda x: x.any(1), **NO),
        Sample("any", lambda x: ops.any(x, keep_dims=True), (truth,),
               lambda x: x.any(keepdims=True), **NO),
        Sample("all", lambda x: ops.all(x, 1), (truth,), lambda x: x.all(1), **NO),
        Sample("all", ops.all, (X,), np.all, **NO), *norms,
        Sample("vector_norm", ops.vector_norm, (CUBE,), lambda x: np.linalg.norm(x.reshape(-1))),
        *_over_axes("nansum", np.nansum), *_over_axes("nanmean", np.nanmean),
        Sample("nansum", lambda x: ops.nansum(x, 1), (HOLES,), lambda x: np.nansum(x, 1), **NO),
        Sample("nanmean", lambda x: ops.nanmean(x, 0), (HOLES,), lambda x: np.nanmean(x, 0), **NO),
        Sample("count_nonzero", lambda x: ops.count_nonzero(x, 1), (ZEROS,),
               lambda x: np.count_nonzero(x, 1), **NO),
        Sample("count_nonzero", ops.count_nonzero, (ZEROS,), np.count_nonzero, **NO),
    ]  # fmt: skip


def _pairs() -> list[Sample]:
    return [
        Sample("var_mean", lambda x: ops.var_mean(x, 1, 1), (X,),
               lambda x: (x.var(1, ddof=1), x.mean(1))),
        Sample("std_mean", lambda x: ops.std_mean(x, (0, 1)), (X,),
               lambda x: (x.std(), x.mean())),
        Sample("aminmax", lambda x: ops.aminmax(x, axis=1), (X,),
               lambda x: (x.min(1), x.max(1))),
        Sample("max", lambda x: ops.max(x, 1), (X,), lambda x: (x.max(1), x.argmax(1))),
        Sample("max", ops.max, (X,), lambda x: (x.max(), x.argmax())),
        Sample("min", lambda x: ops.min(x, 1, True), (X,),
               lambda x: (x.min(1, keepdims=True), x.argmin(1, keepdims=True))),
    ]  # fmt: skip


def _running() -> list[Sample]:
    def exclusive(x: np.ndarray) -> np.ndarray:
        return np.cumsum(x[:, ::-1], 1)[:, ::-1] - x

    return [
        Sample("cumsum", lambda x: ops.cumsum(x, 1), (X,), lambda x: x.cumsum(1)),
        Sample("cumsum", lambda x: ops.cumsum(x, 1, exclusive=True, reverse=True), (X,), exclusive),
        Sample("cumsum", lambda x: ops.cumsum(x, 0), (integers(N, 2),), lambda x: x.cumsum(0),
               **NO),
        Sample("cumprod", lambda x: ops.cumprod(x, 1), (X,), lambda x: x.cumprod(1)),
        Sample("cumprod", lambda x: ops.cumprod(x, 1), (ZEROS,), lambda x: x.cumprod(1)),
        Sample("cumprod", lambda x: ops.cumprod(x, 0, reverse=True), (X,),
               lambda x: x[::-1].cumprod(0)[::-1]),
        Sample("logcumsumexp", lambda x: ops.logcumsumexp(x, 1), (X,),
               lambda x: np.log(np.exp(x).cumsum(1))),
        Sample("record_positions", lambda x: cumulative.record_positions(x, 1, True), (X,), **NO),
        Sample("cummax", lambda x: ops.cummax(x, 1)[0], (CUBE,),
               lambda x: np.maximum.accumulate(x, 1)),
        Sample("cummin", lambda x: ops.cummin(x, 0)[0], (CUBE,),
               lambda x: np.minimum.accumulate(x, 0)),
        Sample("diff", lambda x: ops.diff(x, 2, 1), (X,), lambda x: np.diff(x, 2, 1)),
        Sample("diff", lambda x, p: ops.diff(x, 1, 1, p), (X, X[:, :1]),
               lambda x, p: np.diff(x, 1, 1, p)),
        Sample("trapz", lambda x: ops.trapz(x, dx=0.5, dim=1), (X,),
               lambda x: np.trapezoid(x, dx=0.5, axis=1)),
        Sample("trapz", ops.trapz, (X, normal(3, seed=3)), np.trapezoid),
        Sample("trapz", ops.trapz, (X, normal(N, 3, seed=3)), np.trapezoid),
    ]  # fmt: skip


def _ordered() -> list[Sample]:
    def lower(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(x, 1)
        return np.sort(x, 1)[:, 1], order[:, 1]

    return [
        Sample("median", lambda x: ops.median(x, 1), (X,), lower),
        Sample("median", lambda x: ops.median(x, 1)[0], (CUBE,), lambda x: x.min(1)),
        Sample("nanmedian", lambda x: ops.nanmedian(x, 0, True)[0], (HOLES,),
               lambda x: np.nanquantile(x, 0.5, 0, keepdims=True, method="lower"), **NO),
        Sample("quantile", lambda x: ops.quantile(x, 0.3, 1), (X,),
               lambda x: np.quantile(x, 0.3, 1)),
        Sample("quantile", lambda x: ops.quantile(x, [0.0, 0.6, 1.0]), (X,),
               lambda x: np.quantile(x, [0.0, 0.6, 1.0])),
        Sample("quantile", lambda x: ops.quantile(x, 0.5, 0), (HOLES,),
               lambda x: np.quantile(x, 0.5, 0), **NO),
        Sample("nanquantile", lambda x: ops.nanquantile(x, 0.3, 1, True), (HOLES,),
               lambda x: np.nanquantile(x, 0.3, 1, keepdims=True), **NO),
    ]  # fmt: skip


def _counted() -> list[Sample]:
    edges = np.array([-0.3, 0.0, 0.2, 0.5])
    rows = np.sort(normal(N, 4, seed=4), 1)
    return [
        Sample("histc", lambda x: ops.histc(x, 4, -1.0, 1.0), (X,),
               lambda x: np.histogram(x, 4, (-1, 1))[0], **NO),
        Sample("histc", lambda x: ops.histc(x, 3), (X,), lambda x: np.histogram(x, 3)[0], **NO),
        Sample("searchsorted", lambda v: ops.searchsorted(edges, v), (X,),
               lambda v: np.searchsorted(edges, v), **NO),
        Sample("searchsorted", lambda s, v: ops.searchsorted(s, v, right=True), (rows, X),
               lambda s, v: (s[:, None, :] <= v[..., None]).sum(-1), **NO),
        Sample("bucketize", lambda x: ops.bucketize(x, [-0.5, 0.0, 0.5]), (X,),
               lambda x: np.searchsorted([-0.5, 0.0, 0.5], x), **NO),
    ]  # fmt: skip


def _spread_and_distance() -> list[Sample]:
    y, w = normal(N, 3, seed=1), positive(3)
    a, b = normal(N, 2, 3), normal(N, 4, 3, seed=1)

    def cdist(x: np.ndarray, y: np.ndarray, p: float) -> np.ndarray:
        return np.linalg.norm(x[..., :, None, :] - y[..., None, :, :], p, -1)

    def pdist(x: np.ndarray) -> np.ndarray:
        return np.stack(
            [
                np.linalg.norm(x[:, i] - x[:, j], axis=-1)
                for i, j in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
            ],
            1,
        )

    return [
        Sample("cov", ops.cov, (X,), np.cov),
        Sample("cov", lambda x, w: ops.cov(x, aweights=w), (X, w),
               lambda x, w: np.cov(x, aweights=w)),
        Sample("cov", lambda x, w: ops.cov(x, correction=0, fweights=w), (X, integers(3, low=1)),
               lambda x, w: np.cov(x, ddof=0, fweights=w.astype(int))),
        Sample("cov", ops.cov, (X[0],), np.cov),
        Sample("corrcoef", ops.corrcoef, (X,), np.corrcoef),
        Sample("cosine_similarity", ops.cosine_similarity, (X, y),
               lambda x, y: (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)),
        *(Sample("cdist", lambda x, y, p=p: ops.cdist(x, y, p), (a, b),
                 lambda x, y, p=p: cdist(x, y, p)) for p in (2.0, 1.0, np.inf)),
        Sample("pdist", ops.pdist, (b,), pdist),
        Sample("pairwise_distance", ops.pairwise_distance, (X, y),
               lambda x, y: np.linalg.norm(x - y + 1e-6, axis=1)),
        Sample("normalize", lambda x: ops.normalize(x, 3.0, 1), (X,),
               lambda x: x / np.linalg.norm(x, 3, 1, keepdims=True)),
        Sample("l2_normalize", lambda x: ops.l2_normalize(x, 1), (X,),
               lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)),
    ]  # fmt: skip


SAMPLES: list[Sample] = [
    *_sums(), *_pairs(), *_running(), *_ordered(), *_counted(), *_spread_and_distance(),
]  # fmt: skip
