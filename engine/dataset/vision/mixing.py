"""Random choices of transforms, and mixtures of the images of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..columns import positive
from ..randomness import stream
from ..transforms.base import Transform, callables, chained, probability
from .images import number
from .options import ImageBatchFormat


class UniformAugment(Transform):
    """Apply some transforms of a list, each of the chosen ones with a chance of one half.

    Parameters
    ----------
    transforms : list of callable
        What is chosen from.
    num_ops : int
        How many are chosen.
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]], num_ops: int = 2) -> None:
        self.transforms = callables("UniformAugment", transforms)
        self.num_ops = positive("UniformAugment", "num_ops", num_ops)
        if num_ops > len(self.transforms):
            raise ValueError(
                f"UniformAugment: {num_ops} of {len(self.transforms)} transforms cannot be chosen."
            )

    def __call__(self, *values: Any) -> Any:
        """Apply those that are drawn."""
        random = stream()
        chosen = random.permutation(len(self.transforms))[: self.num_ops].tolist()
        kept = [self.transforms[at] for at in chosen if random.random() < 0.5]
        return chained(kept, values)


class RandomSelectSubpolicy(Transform):
    """Choose one of several lists, and apply each transform in it by its own chance.

    Parameters
    ----------
    policy : list of list of (callable, float)
        The lists, of transforms with their chance in 0..1.
    """

    def __init__(self, policy: Sequence[Sequence[tuple[Callable[..., Any], float]]]) -> None:
        where = "RandomSelectSubpolicy"
        if not policy or not all(policy):
            raise ValueError(f"{where}: give at least one list, and none that is empty.")
        for part in policy:
            callables(where, [transform for transform, _ in part])
        self.policy = [[(op, probability(where, chance)) for op, chance in p] for p in policy]

    def __call__(self, *values: Any) -> Any:
        """Apply what is drawn."""
        random = stream()
        part = self.policy[int(random.integers(len(self.policy)))]
        return chained([op for op, chance in part if random.random() < chance], values)


class MixUpBatch(Transform):
    """Blend each image of a batch, and its label, with another's (Zhang et al., 2017).

    Used on a dataset after ``batch``, with the columns of images and of one-hot labels.

    Parameters
    ----------
    alpha : float
        Both parameters of the beta distribution that the share is drawn from, above zero.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = number("MixUpBatch", "alpha", alpha, 1e-9)

    def __call__(self, images: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Blended images, float32 (N×H×W×C or N×C×H×W), and labels, float32 (N×classes)."""
        _require_batch("MixUpBatch", images, labels)
        random = stream()
        share = np.float32(random.beta(self.alpha, self.alpha))
        other = random.permutation(len(images))
        return _blend(images, images[other], share), _blend(labels, labels[other], share)


class CutMixBatch(Transform):
    """Put a rectangle of another image into each image of a batch (Yun et al., 2019).

    Labels are blended by the rectangle's share of the area. Used on a dataset after ``batch``, with
    the columns of images and of one-hot labels.

    Parameters
    ----------
    image_batch_format : ImageBatchFormat
        Order of the axes of the images.
    alpha : float
        Both parameters of the beta distribution that the kept share is drawn from, above zero.
    prob : float
        The chance for each image, in 0..1.
    """

    def __init__(
        self, image_batch_format: ImageBatchFormat, alpha: float = 1.0, prob: float = 1.0
    ) -> None:
        self.image_batch_format = ImageBatchFormat(image_batch_format)
        self.alpha = number("CutMixBatch", "alpha", alpha, 1e-9)
        self.prob = probability("CutMixBatch", prob)

    def __call__(self, images: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mixed images of their element type, and labels, float32 (N×classes)."""
        _require_batch("CutMixBatch", images, labels)
        random = stream()
        other = random.permutation(len(images))
        mixed, blended = images.copy(), labels.astype(np.float32)
        first = 1 if self.image_batch_format is ImageBatchFormat.NHWC else 2
        height, width = images.shape[first : first + 2]
        for number_, source in enumerate(other.tolist()):
            if random.random() >= self.prob:
                continue
            side = np.sqrt(1 - random.beta(self.alpha, self.alpha))
            rows = _range(random, height, side)
            columns = _range(random, width, side)
            place = (slice(None),) * (first - 1) + (rows, columns)
            mixed[number_][place] = images[source][place]
            cut = (rows.stop - rows.start) * (columns.stop - columns.start) / (height * width)
            blended[number_] = (1 - cut) * labels[number_] + cut * labels[source]
        return mixed, blended


def _range(random: np.random.Generator, size: int, share: float) -> slice:
    """A range of that share of the size around a random middle, cut at the ends."""
    middle, half = int(random.integers(size)), int(size * share / 2)
    return slice(max(0, middle - half), min(size, middle + half))


def _blend(a: np.ndarray, b: np.ndarray, share: np.float32) -> np.ndarray:
    return share * a.astype(np.float32) + (1 - share) * b.astype(np.float32)


def _require_batch(where: str, images: Any, labels: Any) -> None:
    if images.ndim != 4 or len(images) != len(labels):
        raise ValueError(
            f"{where}: needs a batch of images with 4 axes and as many labels, not"
            f" {images.shape} and {labels.shape}. Use it after batch."
        )
    if labels.ndim != 2:
        raise ValueError(
            f"{where}: labels must be one-hot, N×classes, not {labels.shape}; use"
            " transforms.OneHot before batch."
        )
