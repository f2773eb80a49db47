"""What transforms have in common: they are called with the values of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class Transform:
    """One step that ``Dataset.map`` applies; it can be called by hand as well."""

    takes_blocks = False
    """Whether ``block`` gives for stacked rows what calls give for each."""

    __call__: Callable[..., Any]
    """Takes the values of a row's columns, and gives as many as there are output columns."""

    def __repr__(self) -> str:
        given = ", ".join(
            f"{name}={value!r}" for name, value in vars(self).items() if not name.startswith("_")
        )
        return f"{type(self).__name__}({given})"


class ArrayTransform(Transform):
    """A step on one array that works on rows stacked along a first axis just as well."""

    takes_blocks = True

    def __call__(self, value: Any) -> np.ndarray:
        """Apply the step to one array."""
        return self.apply(np.asarray(value), 0)

    def block(self, block: np.ndarray) -> np.ndarray:
        """Apply the step to stacked arrays at once."""
        return self.apply(block, 1)

    def apply(self, array: np.ndarray, leading: int) -> np.ndarray:
        """Apply the step; `leading` axes in front count rows."""
        raise NotImplementedError


def probability(where: str, value: Any) -> float:
    """A number in 0..1; TypeError or ValueError where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{where}: prob must be a number, it is {value!r}.")
    if not 0 <= value <= 1:
        raise ValueError(f"{where}: prob must be in 0..1, it is {value}.")
    return float(value)


def callables(where: str, transforms: Any) -> list[Callable[..., Any]]:
    """A list of callables that is not empty; TypeError or ValueError where it is none."""
    if not isinstance(transforms, Sequence) or isinstance(transforms, str):
        raise TypeError(f"{where}: give a list of transforms, not {transforms!r}.")
    for transform in transforms:
        if not callable(transform):
            raise TypeError(f"{where}: {transform!r} is not callable.")
    if not transforms:
        raise ValueError(f"{where}: give at least one transform.")
    return list(transforms)


def chained(transforms: Sequence[Callable[..., Any]], values: tuple[Any, ...]) -> Any:
    """What transforms make of values one after the other; one value is not wrapped."""
    for transform in transforms:
        found = transform(*values)
        values = found if isinstance(found, tuple) else (found,)
    return values[0] if len(values) == 1 else values
