"""Samples of losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from cellwire.engine import ops
from cellwire.engine.ops import ctc
from cellwire.engine.ops.cross_entropy import require_labels
from scipy import special

from op_samples.sample import N, Sample, bools, integers, normal, positive

X, Y, P = normal(N, 3), normal(N, 3, seed=1), positive(N, 3)
SHARES = special.softmax(Y, 1)
SIGNS = np.where(bools(N, 3), 1.0, -1.0)
SIGN = SIGNS[:, 0]
LABELS = integers(N)


def _reduced(name: str, arrays: tuple[np.ndarray, ...], losses: Any, *, constant: int = 0,
             **attrs: Any) -> list[Sample]:  # fmt: skip
    """Return samples of a loss with each reduction; the last ``constant`` arrays are no floats."""
    function = getattr(ops, name)
    words = {"none": np.asarray, "mean": np.mean, "sum": np.sum}
    held = tuple(arrays[len(arrays) - constant :])
    given = arrays[: len(arrays) - constant]
    return [
        Sample(
            name,
            lambda *t, w=word: function(*t, *held, reduction=w, **attrs),
            given,
            lambda *t, r=reduce: r(losses(*t, *held)),
            symbolic=not constant,
        )
        for word, reduce in words.items()
    ]


def _differences() -> list[Sample]:
    def smooth(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        d = abs(x - y)
        return np.where(d < 0.5, d * d, d - 0.25)

    def huber(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        d = abs(x - y)
        return np.where(d < 0.7, d * d / 2, 0.7 * (d - 0.35))

    def kl(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return special.xlogy(y, y) - y * x

    def binary(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        return -w * (y * np.log(x) + (1 - y) * np.log1p(-x))

    def gaussian(x: np.ndarray, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        return (np.log(v) + (x - y) ** 2 / v + np.log(2 * np.pi)) / 2

    def poisson(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x - y * np.log(x + 1e-8)

    unit = special.expit(X)
    return [
        *_reduced("smooth_l1_loss", (X, Y), smooth, beta=0.5),
        *_reduced("huber_loss", (X, Y), huber, delta=0.7), *_reduced("kl_div", (X, SHARES), kl),
        Sample("kl_div", lambda x, y: ops.kl_div(x, y, "batchmean"), (X, SHARES),
               lambda x, y: kl(x, y).sum() / N),
        Sample("kl_div", lambda x: ops.kl_div(x, np.eye(N, 3), "sum"), (X,),
               lambda x: -x[[0, 1, 2], [0, 1, 2]].sum(), symbolic=False),
        *_reduced("binary_cross_entropy", (unit, SHARES), lambda x, y: binary(x, y, np.ones(1))),
        Sample("binary_cross_entropy", ops.binary_cross_entropy, (unit, SHARES, P[0]),
               lambda *t: binary(*t).mean()),
        *_reduced("gaussian_nll_loss", (X, Y, P), gaussian, full=True),
        Sample("gaussian_nll_loss", ops.gaussian_nll_loss, (X, Y, P[:, 0]),
               lambda x, y, v: (gaussian(x, y, v[:, None]) - np.log(2 * np.pi) / 2).mean()),
        *_reduced("poisson_nll_loss", (P, P + 1), poisson, log_input=False),
        Sample("poisson_nll_loss", ops.poisson_nll_loss, (X, P),
               lambda x, y: (np.exp(x) - y * x).mean()),
        Sample("poisson_nll_loss", lambda x: ops.poisson_nll_loss(x, 5.0, full=True), (X,),
               lambda x: (np.exp(x) - 5 * x).mean() + 5 * np.log(5) - 5 + np.log(10 * np.pi) / 2),
    ]  # fmt: skip


def _margins() -> list[Sample]:
    def cosine(x: np.ndarray, y: np.ndarray, t: np.ndarray) -> np.ndarray:
        cos = (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
        return np.where(t > 0, 1 - cos, (cos - 0.1).clip(0))

    def triplet(a: np.ndarray, p: np.ndarray, n: np.ndarray) -> np.ndarray:
        return (
            np.linalg.norm(a - p + 1e-6, axis=1) - np.linalg.norm(a - n + 1e-6, axis=1) + 1
        ).clip(0)

    def multi(x: np.ndarray, t: np.ndarray) -> np.ndarray:
        gaps = (x - x[np.arange(N), t][:, None] + 1).clip(0)
        gaps[np.arange(N), t] = 0
        return gaps.sum(1) / 3

    def labelled(x: np.ndarray) -> np.ndarray:
        # The labels of each row are 2 and 0; class 1 has none.
        return ((x[:, 1] - x[:, 2] + 1).clip(0) + (x[:, 1] - x[:, 0] + 1).clip(0)) / 3

    many = np.tile(np.array([2, 0, -1]), (N, 1))
    yes = bools(N, 3).astype(float)

    def soft(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        return -(w * np.where(yes > 0, special.log_expit(x), special.log_expit(-x))).mean(1)

    return [
        *_reduced("soft_margin_loss", (X, SIGNS), lambda x, y: np.logaddexp(0, -x * y), constant=1),
        *_reduced("margin_ranking_loss", (X, Y, SIGNS),
                  lambda a, b, t: (-t * (a - b) + 0.2).clip(0), constant=1, margin=0.2),
        *_reduced("hinge_embedding_loss", (P, SIGNS),
                  lambda x, t: np.where(t > 0, x, (1.3 - x).clip(0)), constant=1, margin=1.3),
        *_reduced("cosine_embedding_loss", (X, Y, SIGN), cosine, constant=1, margin=0.1),
        *_reduced("triplet_margin_loss", (X, Y, P), triplet),
        Sample("triplet_margin_loss", lambda *t: ops.triplet_margin_loss(*t, swap=True, p=1.0),
               (X, Y, P)),
        *_reduced("multi_margin_loss", (X, LABELS), multi, constant=1),
        Sample("multi_margin_loss", lambda x, w: ops.multi_margin_loss(x, LABELS, 2, weight=w),
               (X, P[0]), symbolic=False),
        *_reduced("multilabel_margin_loss", (X, many), lambda x, _: labelled(x), constant=1),
        Sample("multilabel_soft_margin_loss",
               lambda x, w: ops.multilabel_soft_margin_loss(x, yes, w), (X, P[0]),
               lambda x, w: soft(x, w).mean(), symbolic=False),
    ]  # fmt: skip


def _sequences() -> list[Sample]:
    labels = np.array([[1, 2], [1, 1], [2, 0], [1, 0], [2, 1]])
    lengths, counts = np.array([4, 4, 3, 4, 2]), np.array([2, 2, 1, 0, 2])
    logs = special.log_softmax(normal(4, N, 3), 2)

    def alone(x: np.ndarray) -> np.ndarray:
        """Sum over every path of classes, for the sequences of this sample."""
        found = []
        for row in range(N):
            total = -np.inf
            for path in np.ndindex(*([3] * lengths[row])):
                merged = [c for i, c in enumerate(path) if c and (not i or path[i - 1] != c)]
                if merged == list(labels[row, : counts[row]]):
                    total = np.logaddexp(total, x[np.arange(lengths[row]), row, path].sum())
            found.append(-total)
        return np.array(found)

    return [
        Sample("ctc_loss", lambda x: ops.ctc_loss(x, labels, lengths, counts, reduction="none")[0],
               (logs,), alone, symbolic=False),
        Sample("ctc_loss", lambda x: ops.ctc_loss(x, labels, lengths, counts)[0], (logs,),
               lambda x: (alone(x) / counts.clip(1)).mean(), symbolic=False),
        Sample("ctc_losses", lambda x: ctc.ctc_losses(
            x, *(ops.cast(t, "int64") for t in (labels, lengths, counts)), 0)[0], (logs,), alone,
               symbolic=False),
        Sample("ctc_slope", lambda d, x: ctc.ctc_slope(
            d, x, *(ops.cast(t, "int64") for t in (labels, lengths, counts)), 0),
               (np.ones(N), logs), symbolic=False, differentiable=False),
    ]  # fmt: skip


SAMPLES: list[Sample] = [
    *_differences(),
    *_margins(),
    *_sequences(),
    Sample("require_labels", lambda t: require_labels(t, 3, -1, "the label {}"),
           (integers(N),), lambda t: t, differentiable=False),
]  # fmt: skip
