"""Losses, functions and Cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from cellwire import nn, ops
from torch.nn import functional

from parity.pair import Case, Draw, Pair

Make = Callable[[Draw], tuple[np.ndarray, ...]]
WORDS = ("mean", "sum", "none")


def _two(draw: Draw) -> tuple[np.ndarray, ...]:
    shape = (draw.size(), 3)
    return draw.normal(*shape), draw.normal(*shape)


def _signed(draw: Draw) -> tuple[np.ndarray, ...]:
    shape = (draw.size(), 3)
    return draw.normal(*shape), draw.integers(0, 2, shape) * 2.0 - 1


def _marked(draw: Draw) -> tuple[np.ndarray, ...]:
    x, signs = _signed(draw)
    return x, signs.astype(np.int64)


def _soft_margin(x: Any, y: Any, reduction: str) -> Any:
    return functional.soft_margin_loss(x, y.to(x), reduction=reduction)


def _divergence(x: Any, y: Any, reduction: str) -> Any:
    # PyTorch warns of its own mean.
    losses = functional.kl_div(x, y, reduction="none")
    return losses if reduction == "none" else getattr(losses, reduction)()


def _probabilities(draw: Draw) -> tuple[np.ndarray, ...]:
    shape = (draw.size(), 3)
    return draw.uniform(0.1, 0.9, shape), draw.uniform(0.1, 0.9, shape)


def _counts(draw: Draw) -> tuple[np.ndarray, ...]:
    shape = (draw.size(), 3)
    return draw.normal(*shape), draw.integers(2, 6, shape) * 1.0


def _variances(draw: Draw) -> tuple[np.ndarray, ...]:
    return (*_two(draw), draw.uniform(0.3, 2.0, (1, 3)))


def _ranked(draw: Draw) -> tuple[np.ndarray, ...]:
    a, b = _two(draw)
    return a, b, draw.integers(0, 2, a.shape) * 2 - 1


def _cosines(draw: Draw) -> tuple[np.ndarray, ...]:
    a, b = _two(draw)
    return a, b, draw.integers(0, 2, a.shape[:1]) * 2 - 1


def _triplets(draw: Draw) -> tuple[np.ndarray, ...]:
    return _two(draw)[0], draw.normal(1, 3), draw.normal(1, 3)


def _labels(draw: Draw) -> tuple[np.ndarray, ...]:
    rows = draw.size()
    return draw.normal(rows, 4), draw.integers(0, 4, (rows,))


def _places(draw: Draw) -> tuple[np.ndarray, ...]:
    rows = draw.size()
    return draw.normal(rows, 4, 2), draw.integers(0, 4, (rows, 2))


def _sets(draw: Draw) -> tuple[np.ndarray, ...]:
    rows = draw.size()
    labels = np.full((rows, 4), -1)
    labels[:, 0] = draw.integers(0, 2, (rows,))
    labels[:, 1] = draw.integers(2, 4, (rows,))
    return draw.normal(rows, 4), labels


def _both(name: str, cell: str, make: Make, **options: Any) -> list[Pair]:
    """Return the pairs of a function and its Cell, with a drawn reduction."""
    renamed = options.pop("theirs", {})
    tolerance = options.pop("tolerance", 1.0)
    own_cell, own = getattr(nn, cell), getattr(ops, name)
    peer = options.pop("peer", None) or getattr(functional, name)

    def case(draw: Draw, ours: Callable[..., Any]) -> Case:
        word = draw.choice(WORDS)
        theirs = {**options, **renamed, "reduction": word}
        return Case(ours(word), lambda *t: peer(*t, **theirs), make(draw))

    return [
        Pair(f"ops.{name}",
             lambda draw: case(draw, lambda w: lambda *t: own(*t, reduction=w, **options)),
             tolerance),
        Pair(f"nn.{cell}", lambda draw: case(draw, lambda w: own_cell(reduction=w, **options)),
             tolerance),
    ]  # fmt: skip


def _weighed(name: str, ours: Callable[..., Any], theirs: Callable[..., Any]) -> Pair:
    """Return the pair of a loss of class labels with weights, smoothing and a label ignored."""

    def build(draw: Draw) -> Case:
        x, labels = _places(draw)
        labels[0, 0] = 1
        weight = draw.uniform(0.5, 2.0, (4,))
        word = draw.choice(WORDS)
        return Case(
            lambda x, y: ours(x, y, ops.cast(weight, x.dtype), 2, word),
            lambda x, y: theirs(x, y, torch.tensor(weight).to(x), word),
            (x, labels),
        )  # fmt: skip

    return Pair(name, build)


def _shares(draw: Draw) -> Case:
    x = draw.normal(draw.size(), 4)
    shares = np.exp(draw.normal(*x.shape))
    shares /= shares.sum(1, keepdims=True)
    return Case(
        lambda x, y: ops.cross_entropy(x, y, label_smoothing=0.1),
        lambda x, y: functional.cross_entropy(x, y, label_smoothing=0.1), (x, shares),
    )  # fmt: skip


def _logits(draw: Draw) -> Case:
    x, y = draw.normal(4, 3), draw.uniform(0, 1, (4, 3))
    weight, yes = draw.uniform(0.5, 2.0, (3,)), draw.uniform(0.5, 2.0, (3,))
    word = draw.choice(WORDS)
    return Case(
        lambda x, y: ops.binary_cross_entropy_with_logits(
            x, y, ops.cast(weight, x.dtype), ops.cast(yes, x.dtype), word),
        lambda x, y: functional.binary_cross_entropy_with_logits(
            x, y, torch.tensor(weight).to(x), pos_weight=torch.tensor(yes).to(x), reduction=word),
        (x, y),
    )  # fmt: skip


def _alone(name: str, ours: Any, theirs: Any, make: Make) -> Pair:
    return Pair(name, lambda draw: Case(ours, theirs, make(draw)))


def _sequences(name: str, ours: Callable[..., Any]) -> Pair:
    def build(draw: Draw) -> Case:
        steps, rows = draw.size(4, 7), draw.size(1, 3)
        labels = draw.integers(1, 4, (rows, 2))
        lengths, counts = np.full(rows, steps), draw.integers(1, 3, (rows,))
        word = draw.choice(WORDS)

        def peer(x: Any) -> Any:
            return functional.ctc_loss(
                torch.log_softmax(x, 2), torch.tensor(labels), torch.tensor(lengths),
                torch.tensor(counts), reduction=word)  # fmt: skip

        arrays = (draw.normal(steps, rows, 4),)
        return Case(lambda x: ours(x, labels, lengths, counts, word), peer, arrays)

    return Pair(name, build)


def _our_ctc(x: Any, labels: Any, lengths: Any, counts: Any, word: str) -> Any:
    return ops.ctc_loss(ops.log_softmax(x, 2), labels, lengths, counts, reduction=word)[0]


def _our_ctc_cell(x: Any, labels: Any, lengths: Any, counts: Any, word: Any) -> Any:
    parts = (ops.cast(part, "int64") for part in (labels, lengths, counts))
    return nn.CTCLoss(reduction=word)(ops.log_softmax(x, 2), *parts)


PAIRS: list[Pair] = [
    *_both("mse_loss", "MSELoss", _two), *_both("l1_loss", "L1Loss", _two),
    *_both("smooth_l1_loss", "SmoothL1Loss", _two, beta=0.5),
    *_both("huber_loss", "HuberLoss", _two, delta=0.7),
    *_both("soft_margin_loss", "SoftMarginLoss", _marked, peer=_soft_margin),
    *_both("hinge_embedding_loss", "HingeEmbeddingLoss", _signed, margin=1.3),
    *_both("margin_ranking_loss", "MarginRankingLoss", _ranked, margin=0.2),
    *_both("cosine_embedding_loss", "CosineEmbeddingLoss", _cosines, margin=0.1),
    *_both("triplet_margin_loss", "TripletMarginLoss", _triplets, swap=True),
    *_both("multi_margin_loss", "MultiMarginLoss", _labels, p=2),
    *_both("multilabel_margin_loss", "MultilabelMarginLoss", _sets),
    *_both("multilabel_soft_margin_loss", "MultiLabelSoftMarginLoss", _probabilities),
    *_both("binary_cross_entropy", "BCELoss", _probabilities),
    *_both("binary_cross_entropy_with_logits", "BCEWithLogitsLoss", _probabilities),
    *_both("kl_div", "KLDivLoss", _probabilities, peer=_divergence),
    *_both("gaussian_nll_loss", "GaussianNLLLoss", _variances, full=True),
    *_both("poisson_nll_loss", "PoissonNLLLoss", _counts, full=True),
    *_both("cross_entropy", "CrossEntropyLoss", _labels), *_both("nll_loss", "NLLLoss", _places),
    _weighed("ops.cross_entropy weighed",
             lambda x, y, w, i, r: ops.cross_entropy(x, y, w, i, r, 0.1),
             lambda x, y, w, r: functional.cross_entropy(
                 x, y, w, ignore_index=2, reduction=r, label_smoothing=0.1)),
    _weighed("ops.nll_loss weighed", ops.nll_loss,
             lambda x, y, w, r: functional.nll_loss(x, y, w, ignore_index=2, reduction=r)),
    Pair("ops.cross_entropy shares", _shares),
    Pair("ops.binary_cross_entropy_with_logits weighed", _logits),
    _alone("nn.MAELoss", nn.MAELoss(), functional.l1_loss, _two),
    _alone("nn.RMSELoss", nn.RMSELoss(), lambda x, y: torch.sqrt(functional.mse_loss(x, y)), _two),
    _alone("nn.SoftmaxCrossEntropyWithLogits", nn.SoftmaxCrossEntropyWithLogits(sparse=True),
           lambda x, y: functional.cross_entropy(x, y, reduction="none"), _labels),
    _alone("nn.DiceLoss", nn.DiceLoss(),
           lambda x, y: 1 - 2 * (x * y).sum() / ((x * x).sum() + (y * y).sum() + 1e-5), _two),
    _sequences("ops.ctc_loss", _our_ctc), _sequences("nn.CTCLoss", _our_ctc_cell),
]  # fmt: skip
WITHOUT_PEER = {
    "nn.LossBase": "the base of losses, computes nothing",
    "nn.FocalLoss": "not in PyTorch; tested against its formula",
    "nn.SampledSoftmaxLoss": "not in PyTorch; tested against softmax over all classes",
    "ops.log_uniform_candidate_sampler": "not in PyTorch; tested by its distribution",
    "nn.MultiClassDiceLoss": "not in PyTorch; tested against its formula",
}
