"""Groups of parameters: what an optimizer is given, and what each group has of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...parameter import Parameter
from ...tensor import Tensor
from ..cell import Cell

Rate = float | Sequence[float] | np.ndarray | Tensor | Cell | Callable[[Tensor], Tensor]
"""A number, a number a step, or a function (or Cell) of the step's number."""
KEYS = {"params", "lr", "weight_decay", "grad_centralization"}


@dataclass(frozen=True)
class Group:
    """Parameters with settings of their own; `None` stands for the common learning rate."""

    params: tuple[Parameter, ...]
    rate: Rate | None
    weight_decay: float | Cell
    centralised: bool
    """Whether each gradient's mean, over all axes but the first, is taken from it."""


def groups_of(
    owner: str, parameters: Any, weight_decay: float | Cell
) -> tuple[list[Group], tuple[Parameter, ...], bool]:
    """Return the groups, all parameters in their order, and whether groups were given.

    Raises
    ------
    ValueError
        If there are no parameters, one comes twice, or a group has an unknown key.
    TypeError
        If something is no Parameter.
    """
    given = [parameters] if isinstance(parameters, Parameter) else list(parameters)
    if not given:
        raise ValueError(f"{owner}: there are no parameters to train.")
    grouped = isinstance(given[0], dict)
    order = None
    if grouped:
        groups = list(_groups(owner, given, weight_decay))
        order = next((entry["order_params"] for entry in given if "order_params" in entry), None)
    else:
        groups = [Group(_checked(owner, given), None, weight_decay, False)]
    params = tuple(param for group in groups for param in group.params)
    if len({id(param) for param in params}) != len(params):
        raise ValueError(f"{owner}: a parameter is given twice.")
    return groups, params if order is None else _ordered(owner, params, order), grouped


def _groups(owner: str, given: list[Any], weight_decay: float | Cell) -> Iterator[Group]:
    for entry in given:
        if isinstance(entry, dict) and set(entry) == {"order_params"}:
            continue
        if not isinstance(entry, dict) or "params" not in entry:
            raise ValueError(f"{owner}: each group is a dictionary with 'params'.")
        unknown = entry.keys() - KEYS
        if unknown:
            raise ValueError(f"{owner}: a group has no {', '.join(sorted(unknown))}.")
        decay = entry.get("weight_decay", weight_decay)
        params = _checked(owner, list(entry["params"]))
        yield Group(params, entry.get("lr"), decay, bool(entry.get("grad_centralization", False)))


def _ordered(
    owner: str, params: tuple[Parameter, ...], order: Iterable[Any]
) -> tuple[Parameter, ...]:
    wanted = _checked(owner, list(order))
    if {id(p) for p in wanted} != {id(p) for p in params} or len(wanted) != len(params):
        raise ValueError(f"{owner}: order_params must hold the groups' parameters, each once.")
    return wanted


def _checked(owner: str, params: list[Any]) -> tuple[Parameter, ...]:
    if not params:
        raise ValueError(f"{owner}: a group has no parameters.")
    for param in params:
        if not isinstance(param, Parameter):
            raise TypeError(f"{owner}: it trains Parameters, not {type(param).__name__}.")
    return tuple(params)


def first_rate(owner: str, rate: Any) -> np.ndarray:
    """Return a fixed rate as a float32 scalar, or the rates of the steps as a row.

    Raises
    ------
    ValueError
        If there are none, or one is negative.
    """
    values = np.asarray(rate.asnumpy() if isinstance(rate, Tensor) else rate, np.float32)
    if values.ndim > 1 or values.size == 0:
        raise ValueError(f"{owner}: learning rates are a number or a row of numbers.")
    if not (values >= 0).all():
        raise ValueError(
            f"{owner}: the learning rate must not be negative, it is {values.min():g}."
        )
    return values
