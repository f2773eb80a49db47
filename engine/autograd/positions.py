"""What a gradient function derives by: positions of arguments, and weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ops import array
from ..parameter import Parameter
from ..tensor import Tensor

Position = int | tuple[int, ...] | None


def check_position(name: str, grad_position: Any, weights: Any = None) -> None:
    """Raise ValueError or TypeError unless something is named, each argument once."""
    if grad_position is None and weights is None:
        raise ValueError(
            f"{name}: grad_position and weights are both None; name what to derive by."
        )
    if grad_position is None:
        return
    positions = grad_position if isinstance(grad_position, tuple) else (grad_position,)
    for position in positions:
        if not isinstance(position, int) or isinstance(position, bool):
            raise TypeError(
                f"{name}: grad_position must be an int or a tuple of ints, it is {grad_position!r}."
            )
        if position < 0:
            raise ValueError(
                f"{name}: grad_position must not be negative, it is {grad_position!r}."
            )
    if len(set(positions)) != len(positions):
        raise ValueError(f"{name}: grad_position {grad_position!r} names an argument twice.")


def check_weights(name: str, weights: Any) -> tuple[Parameter, ...] | None:
    """Return the weights as a tuple; None where there are none to derive by."""
    if weights is None:
        return None
    items = (weights,) if isinstance(weights, Parameter) else tuple(weights)
    for item in items:
        if not isinstance(item, Parameter):
            raise TypeError(f"{name}: weights must be Parameters, one is {type(item).__name__}.")
    return items


def check_flag(name: str, flag: str, value: Any) -> None:
    """Raise TypeError unless an option is a bool."""
    if not isinstance(value, bool):
        raise TypeError(f"{name}: {flag} must be a bool, it is {value!r}.")


def selected(name: str, args: Sequence[Any], grad_position: Position) -> dict[int, Tensor]:
    """Return the tensor arguments that ``grad_position`` names; others are skipped."""
    if grad_position is None:
        return {}
    positions = grad_position if isinstance(grad_position, tuple) else (grad_position,)
    for position in positions:
        if position >= len(args):
            raise ValueError(
                f"{name}: grad_position {position} names no argument, the call has {len(args)}."
            )
    return {p: args[p] for p in positions if isinstance(args[p], Tensor)}


def apart(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments with a tensor that is given twice as two tensors.

    The gradient by one argument is not that by the other.
    """
    tensors = [id(arg) for arg in args if isinstance(arg, Tensor)]
    if len(set(tensors)) == len(tensors):
        return args
    seen: set[int] = set()
    parted: list[Any] = []
    for arg in args:
        again = isinstance(arg, Tensor) and id(arg) in seen
        seen.add(id(arg))
        parted.append(array.identity(arg) if again else arg)
    return tuple(parted)
