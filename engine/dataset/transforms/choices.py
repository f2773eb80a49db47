"""Transforms made of others: in turn, by chance, or in random order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..randomness import stream
from .base import Transform, callables, chained, probability


class Compose(Transform):
    """Apply transforms one after the other.

    Parameters
    ----------
    transforms : list of callable
        Each takes as many values as the one before gives.
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms = callables("Compose", transforms)

    def __call__(self, *values: Any) -> Any:
        """Apply all."""
        return chained(self.transforms, values)

    @property
    def takes_blocks(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether all of them do."""
        return all(getattr(transform, "takes_blocks", False) for transform in self.transforms)

    def block(self, block: np.ndarray) -> np.ndarray:
        """Apply all to stacked rows."""
        for transform in self.transforms:
            block = transform.block(block)  # pyright: ignore[reportFunctionMemberAccess]
        return block


class RandomApply(Transform):
    """Apply transforms one after the other, or none of them.

    Parameters
    ----------
    transforms : list of callable
        Each takes as many values as the one before gives.
    prob : float
        The chance that they are applied, in 0..1.
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]], prob: float = 0.5) -> None:
        self.transforms = callables("RandomApply", transforms)
        self.prob = probability("RandomApply", prob)

    def __call__(self, *values: Any) -> Any:
        """Apply all, or give the values as they are."""
        return chained(self.transforms if stream().random() < self.prob else (), values)


class RandomChoice(Transform):
    """Apply one transform of a list, each with the same chance.

    Parameters
    ----------
    transforms : list of callable
        What is chosen from.
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms = callables("RandomChoice", transforms)

    def __call__(self, *values: Any) -> Any:
        """Apply the one that is drawn."""
        return chained([self.transforms[int(stream().integers(len(self.transforms)))]], values)


class RandomOrder(Transform):
    """Apply all transforms of a list, in random order.

    Parameters
    ----------
    transforms : list of callable
        Each takes what any of the others gives.
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms = callables("RandomOrder", transforms)

    def __call__(self, *values: Any) -> Any:
        """Apply all in the order that is drawn."""
        order = stream().permutation(len(self.transforms)).tolist()
        return chained([self.transforms[at] for at in order], values)
