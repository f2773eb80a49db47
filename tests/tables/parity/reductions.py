"""Reductions, running folds, order statistics, histograms, distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from cellwire import ops

from parity.pair import Case, Draw, Pair

Fn = Callable[..., Any]


def _along(name: str, ours: Fn, theirs: Fn, low: float | None = None, **more: Any) -> Pair:
    """Return the pair of a reduction along one axis: both take ``(x, axis, keepdims)``."""

    def build(draw: Draw) -> Case:
        shape = (draw.size(2, 4), draw.size(2, 4), draw.size(2, 4))
        x = draw.normal(*shape) if low is None else draw.uniform(low, low + 2, shape)
        axis, keep = draw.axis(shape), draw.choice((False, True))
        return Case(lambda x: ours(x, axis, keep), lambda x: theirs(x, axis, keep), (x,))

    return Pair(name, build, **more)


def _named(name: str, theirs: Fn, low: float | None = None, **more: Any) -> Pair:
    return _along(f"ops.{name}", getattr(ops, name), theirs, low, **more)


def _running(name: str, theirs: Fn, low: float | None = None) -> Pair:
    function = getattr(ops, name)
    return _along(f"ops.{name}", lambda x, a, _: function(x, a), lambda x, a, _: theirs(x, a), low)


def _on(name: str, ours: Fn, theirs: Fn, *shapes: tuple[int, ...], **more: Any) -> Pair:
    """Return a pair on normal numbers of given shapes, the first axis drawn."""

    def build(draw: Draw) -> Case:
        rows = draw.size(2, 4)
        return Case(ours, theirs, tuple(draw.normal(rows, *shape[1:]) for shape in shapes))

    return Pair(name, build, **more)


def _holes(name: str, theirs: Fn) -> Pair:
    def build(draw: Draw) -> Case:
        x = np.where(np.arange(12).reshape(3, 4) % 5 == 1, np.nan, draw.normal(3, 4))
        axis = draw.axis((3, 4))
        return Case(lambda x: getattr(ops, name)(x, axis), lambda x: theirs(x, axis), (x,))

    return Pair(f"ops.{name} holes", build, grad=False)


def _first(found: Any) -> tuple[Any, Any]:
    """Return values and positions as ours are: positions in 32 bits."""
    return found.values, found.indices.int()


def _counts(draw: Draw) -> Case:
    numbers = draw.integers(0, 6, (draw.size(1, 8),))
    return Case(
        lambda x: ops.bincount(x, minlength=3),
        lambda x: torch.bincount(x, minlength=3).int(),
        (numbers,),
    )


def _searched(draw: Draw) -> Case:
    rows = draw.size(1, 3)
    right = draw.choice((False, True))
    return Case(
        lambda s, v: ops.searchsorted(s, v, right=right),
        lambda s, v: torch.searchsorted(s, v, right=right),
        (np.sort(draw.normal(rows, 5), 1), draw.normal(rows, 3)),
    )


def _buckets(draw: Draw) -> Case:
    right = draw.choice((False, True))
    edges = [-1.0, 0.0, 0.5]
    return Case(
        lambda x: ops.bucketize(x, edges, right=right),
        lambda x: torch.bucketize(x, torch.tensor(edges, dtype=x.dtype), right=right).int(),
        (draw.normal(3, 4),),
    )


PAIRS: list[Pair] = [
    _named("sum", torch.sum), _named("mean", torch.mean), _named("amax", torch.amax),
    _named("amin", torch.amin), _named("prod", torch.prod), _named("logsumexp", torch.logsumexp),
    _named("nansum", torch.nansum), _named("nanmean", torch.nanmean),
    _along("ops.any", lambda x, a, k: ops.any(x > 1, a, k), lambda x, a, k: torch.any(x > 1, a, k),
           grad=False),
    _along("ops.var", lambda x, a, k: ops.var(x, a, 1, k),
           lambda x, a, k: torch.var(x, a, correction=1, keepdim=k)),
    _along("ops.std", lambda x, a, k: ops.std(x, a, 0, k),
           lambda x, a, k: torch.std(x, a, correction=0, keepdim=k)),
    _along("ops.var_mean", lambda x, a, k: ops.var_mean(x, a, 1, k),
           lambda x, a, k: torch.var_mean(x, a, correction=1, keepdim=k)),
    _along("ops.std_mean", lambda x, a, k: ops.std_mean(x, a, 1, k),
           lambda x, a, k: torch.std_mean(x, a, correction=1, keepdim=k)),
    _along("ops.aminmax", lambda x, a, k: ops.aminmax(x, axis=a, keepdims=k),
           lambda x, a, k: tuple(torch.aminmax(x, dim=a, keepdim=k))),
    _along("ops.max", ops.max, lambda x, a, k: _first(torch.max(x, a, k))),
    _along("ops.min", ops.min, lambda x, a, k: _first(torch.min(x, a, k))),
    _along("ops.median", ops.median, lambda x, a, k: tuple(torch.median(x, a, k))),
    _along("ops.nanmedian", ops.nanmedian, lambda x, a, k: tuple(torch.nanmedian(x, a, k))),
    _along("ops.argmax", ops.argmax, lambda x, a, k: torch.argmax(x, a, k).int(), grad=False),
    _along("ops.argmin", ops.argmin, lambda x, a, k: torch.argmin(x, a, k).int(), grad=False),
    _along("ops.count_nonzero", lambda x, a, _: ops.count_nonzero(x, a, dtype="int64"),
           lambda x, a, _: torch.count_nonzero(x, a), grad=False),
    _along("ops.quantile", lambda x, a, k: ops.quantile(x, [0.1, 0.6], a, k),
           lambda x, a, k: torch.quantile(x, torch.tensor([0.1, 0.6], dtype=x.dtype), a, k)),
    _along("ops.nanquantile", lambda x, a, k: ops.nanquantile(x, 0.3, a, k),
           lambda x, a, k: torch.nanquantile(x, 0.3, a, k)),
    _holes("nansum", torch.nansum), _holes("nanmean", torch.nanmean),
    _holes("nanmedian", lambda x, a: tuple(torch.nanmedian(x, a))),
    _running("cumsum", torch.cumsum),
    _running("cumprod", torch.cumprod, 0.4), _running("logcumsumexp", torch.logcumsumexp),
    _running("cummax", lambda x, a: tuple(torch.cummax(x, a))),
    _running("cummin", lambda x, a: tuple(torch.cummin(x, a))),
    _along("ops.diff", lambda x, a, _: ops.diff(x, 1, a), lambda x, a, _: torch.diff(x, 1, a)),
    _along("ops.trapz", lambda x, a, _: ops.trapz(x, dx=0.5, dim=a),
           lambda x, a, _: torch.trapz(x, dx=0.5, dim=a)),
    _along("ops.vector_norm", lambda x, a, k: ops.vector_norm(x, 3, a, k),
           lambda x, a, k: torch.linalg.vector_norm(x, 3, a, k)),
    _along("ops.normalize", lambda x, a, _: ops.normalize(x, 2.0, a),
           lambda x, a, _: torch.nn.functional.normalize(x, 2.0, a)),
    _along("ops.l2_normalize", lambda x, a, _: ops.l2_normalize(x, a),
           lambda x, a, _: x / torch.sqrt((x * x).sum(a, True).clamp(min=1e-4))),
    _on("ops.all", lambda x: ops.all(x > -2, 1), lambda x: torch.all(x > -2, 1), (0, 4),
        grad=False),
    _on("ops.histc", lambda x: ops.histc(x, 5, -1, 1), lambda x: torch.histc(x, 5, -1, 1), (0, 4),
        grad=False),
    _on("ops.cov", ops.cov, torch.cov, (0, 4)),
    _on("ops.corrcoef", ops.corrcoef, torch.corrcoef, (0, 5)),
    _on("ops.cosine_similarity", ops.cosine_similarity, torch.cosine_similarity, (0, 4), (0, 4)),
    _on("ops.cdist", ops.cdist, torch.cdist, (0, 2, 3), (0, 4, 3)),
    _on("ops.pdist", lambda x: ops.pdist(x, 3.0), lambda x: torch.pdist(x, 3.0), (0, 3)),
    _on("ops.pairwise_distance", ops.pairwise_distance, torch.pairwise_distance, (0, 4), (0, 4)),
    Pair("ops.bincount", _counts, grad=False, eager_only="the length depends on the numbers"),
    Pair("ops.searchsorted", _searched, grad=False), Pair("ops.bucketize", _buckets, grad=False),
]  # fmt: skip
