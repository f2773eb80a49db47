"""Learning rates of all steps as lists, computed before a training begins."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

__all__ = [
    "cosine_decay_lr",
    "exponential_decay_lr",
    "inverse_decay_lr",
    "natural_exp_decay_lr",
    "piecewise_constant_lr",
    "polynomial_decay_lr",
    "warmup_lr",
]


def piecewise_constant_lr(milestone: Sequence[int], learning_rates: Sequence[float]) -> list[float]:
    """Return rates that stay the same up to each milestone.

    Parameters
    ----------
    milestone : list of int
        Rising numbers of steps; the last one is the length of the result.
    learning_rates : list of float
        The rate up to each milestone.

    Returns
    -------
    list of float
        A rate for each step.

    Raises
    ------
    ValueError
        If the lists differ in length or are empty, or milestones do not rise.
    """
    if not milestone or len(milestone) != len(learning_rates):
        raise ValueError(
            f"piecewise_constant_lr: {len(milestone)} milestones need as many learning_rates, not"
            f" {len(learning_rates)}, and at least one."
        )
    rates: list[float] = []
    last = 0
    for end, rate in zip(milestone, learning_rates, strict=True):
        _positive("piecewise_constant_lr", milestone=end, learning_rates=rate)
        if end <= last:
            raise ValueError(f"piecewise_constant_lr: milestones must rise, not {list(milestone)}.")
        rates += [float(rate)] * (end - last)
        last = end
    return rates


def exponential_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """Return rates that fall by a factor each `decay_epoch` epochs.

    Parameters
    ----------
    learning_rate : float
        The first rate.
    decay_rate : float
        The factor.
    total_step, step_per_epoch : int
        Steps in all, and in an epoch.
    decay_epoch : int
        Epochs in which the rate falls by the factor.
    is_stair : bool
        Whether it falls only at whole multiples of `decay_epoch`.

    Returns
    -------
    list of float
        A rate for each step: ``learning_rate * decay_rate ** (epoch / decay_epoch)``.

    Raises
    ------
    ValueError
        If a number is not positive.
    """
    _positive("exponential_decay_lr", learning_rate=learning_rate, decay_rate=decay_rate)
    return _by_epoch(
        "exponential_decay_lr", total_step, step_per_epoch, decay_epoch,
        lambda epoch: learning_rate * decay_rate ** _passed(epoch, decay_epoch, is_stair),
    )  # fmt: skip


def natural_exp_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """Return rates that fall by a power of e with each epoch.

    Parameters
    ----------
    learning_rate : float
        The first rate.
    decay_rate : float
        By how much the exponent falls in an epoch.
    total_step, step_per_epoch : int
        Steps in all, and in an epoch.
    decay_epoch : int
        Epochs between two falls, where `is_stair`.
    is_stair : bool
        Whether the rate falls only at whole multiples of `decay_epoch`.

    Returns
    -------
    list of float
        A rate for each step: ``learning_rate * exp(-decay_rate * epoch)``.

    Raises
    ------
    ValueError
        If a number is not positive.
    """
    _positive("natural_exp_decay_lr", learning_rate=learning_rate, decay_rate=decay_rate)

    def rate(epoch: int) -> float:
        passed = epoch // decay_epoch * decay_epoch if is_stair else epoch
        return learning_rate * math.exp(-decay_rate * passed)

    return _by_epoch("natural_exp_decay_lr", total_step, step_per_epoch, decay_epoch, rate)


def inverse_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """Return rates that fall as one over the time passed.

    Parameters
    ----------
    learning_rate : float
        The first rate.
    decay_rate : float
        What the divisor grows by in `decay_epoch` epochs.
    total_step, step_per_epoch : int
        Steps in all, and in an epoch.
    decay_epoch : int
        Epochs in which the divisor grows by `decay_rate`.
    is_stair : bool
        Whether the rate falls only at whole multiples of `decay_epoch`.

    Returns
    -------
    list of float
        A rate for each step: ``learning_rate / (1 + decay_rate * epoch / decay_epoch)``.

    Raises
    ------
    ValueError
        If a number is not positive.
    """
    _positive("inverse_decay_lr", learning_rate=learning_rate, decay_rate=decay_rate)
    return _by_epoch(
        "inverse_decay_lr", total_step, step_per_epoch, decay_epoch,
        lambda epoch: learning_rate / (1.0 + decay_rate * _passed(epoch, decay_epoch, is_stair)),
    )  # fmt: skip


def cosine_decay_lr(
    min_lr: float, max_lr: float, total_step: int, step_per_epoch: int, decay_epoch: int
) -> list[float]:
    """Return rates that fall along half a cosine.

    Parameters
    ----------
    min_lr, max_lr : float
        The last rate and the first.
    total_step, step_per_epoch : int
        Steps in all, and in an epoch.
    decay_epoch : int
        Epochs after which the last rate is reached.

    Returns
    -------
    list of float
        A rate for each step.

    Raises
    ------
    ValueError
        If a number is not positive (`min_lr` may be zero), or `max_lr` not above `min_lr`.

    References
    ----------
    Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, 2016.
    """
    _rising("cosine_decay_lr", min_lr, max_lr)

    def rate(epoch: int) -> float:
        passed = min(epoch, decay_epoch) / decay_epoch
        return min_lr + 0.5 * (max_lr - min_lr) * (1.0 + math.cos(math.pi * passed))

    return _by_epoch("cosine_decay_lr", total_step, step_per_epoch, decay_epoch, rate)


def polynomial_decay_lr(
    learning_rate: float,
    end_learning_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    power: float,
    update_decay_epoch: bool = False,
) -> list[float]:
    """Return rates that fall along a power of the time left.

    Parameters
    ----------
    learning_rate, end_learning_rate : float
        The first rate and the last.
    total_step, step_per_epoch : int
        Steps in all, and in an epoch.
    decay_epoch : int
        Epochs after which the last rate is reached.
    power : float
        The power.
    update_decay_epoch : bool
        Whether, when they have passed, the fall goes on over a whole multiple of `decay_epoch`.

    Returns
    -------
    list of float
        A rate for each step.

    Raises
    ------
    ValueError
        If a number is not positive (`end_learning_rate` may be zero).
    """
    _positive("polynomial_decay_lr", learning_rate=learning_rate, power=power)
    if end_learning_rate < 0:
        raise ValueError(
            f"polynomial_decay_lr: end_learning_rate must not be negative: {end_learning_rate}."
        )

    def rate(epoch: int) -> float:
        whole = decay_epoch
        if update_decay_epoch:
            whole *= max(math.ceil(epoch / decay_epoch), 1)
        left = 1.0 - min(epoch, whole) / whole
        return (learning_rate - end_learning_rate) * left**power + end_learning_rate

    return _by_epoch("polynomial_decay_lr", total_step, step_per_epoch, decay_epoch, rate)


def warmup_lr(
    learning_rate: float, total_step: int, step_per_epoch: int, warmup_epoch: int
) -> list[float]:
    """Return rates that rise evenly from zero.

    Parameters
    ----------
    learning_rate : float
        The rate that is reached.
    total_step, step_per_epoch : int
        Steps in all, and in an epoch.
    warmup_epoch : int
        Epochs after which it is reached; 0 is at once.

    Returns
    -------
    list of float
        A rate for each step.

    Raises
    ------
    ValueError
        If a number is not positive (`warmup_epoch` may be zero).
    """
    _positive("warmup_lr", learning_rate=learning_rate)
    if warmup_epoch < 0:
        raise ValueError(f"warmup_lr: warmup_epoch must not be negative: {warmup_epoch}.")

    def rate(epoch: int) -> float:
        return (
            learning_rate * min(epoch, warmup_epoch) / warmup_epoch
            if warmup_epoch
            else (learning_rate)
        )

    return _by_epoch("warmup_lr", total_step, step_per_epoch, 1, rate)


def _by_epoch(
    owner: str,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    rate: Callable[[int], float],
) -> list[float]:
    """The rate of each step; it changes from epoch to epoch."""
    counts = {"total_step": total_step, "step_per_epoch": step_per_epoch,
              "decay_epoch": decay_epoch}  # fmt: skip
    for name, value in counts.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{owner}: {name} must be an int, not {type(value).__name__}.")
    _positive(owner, **counts)
    return [rate(step // step_per_epoch) for step in range(total_step)]


def _passed(epoch: int, decay_epoch: int, is_stair: bool) -> float:
    return float(epoch // decay_epoch) if is_stair else epoch / decay_epoch


def _positive(owner: str, **values: Any) -> None:
    for name, value in values.items():
        if value <= 0:
            raise ValueError(f"{owner}: {name} must be positive, it is {value}.")


def _rising(owner: str, low: float, high: float) -> None:
    if low < 0 or high <= low:
        raise ValueError(f"{owner}: min_lr {low} must not be negative and max_lr {high} above it.")
