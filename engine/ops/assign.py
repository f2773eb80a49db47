"""Writing new values into Parameters: effects, in the order in which the code has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from . import arithmetic
from .cast import TensorLike, as_tensor


def _write(name: str, variable: Tensor, value: TensorLike) -> Tensor:
    take = getattr(variable, "set_data", None)
    if take is None:
        kind = "Tensor" if isinstance(variable, Tensor) else type(variable).__name__
        raise TypeError(
            f"{name}: variable must be a Parameter, not {kind}; write into a"
            " tensor by x[...] = value."
        )
    return take(as_tensor(value, variable.dtype))


def assign(variable: Tensor, value: TensorLike) -> Tensor:
    """Write a value into a Parameter.

    Inside ``jit`` the write is part of the graph: what reads the Parameter afterwards sees the
    new value, and the Parameter holds it when the call is done. No gradient flows through it.

    Parameters
    ----------
    variable : Parameter
        Any shape.
    value : Tensor or number
        The Parameter's shape; it is converted to its dtype.

    Returns
    -------
    Parameter
        ``variable``.

    Raises
    ------
    TypeError
        If ``variable`` is no Parameter.
    ValueError
        If the shapes differ.
    """
    return _write("assign", variable, value)


def assign_add(variable: Tensor, value: TensorLike) -> Tensor:
    """Add a value to a Parameter, in its place.

    Parameters
    ----------
    variable : Parameter
        Any shape.
    value : Tensor or number
        A shape that broadcasts to the Parameter's.

    Returns
    -------
    Parameter
        ``variable``.

    Raises
    ------
    TypeError
        If ``variable`` is no Parameter.
    ValueError
        If the shapes do not fit.
    """
    return _write("assign_add", variable, arithmetic.add(variable, value))


def assign_sub(variable: Tensor, value: TensorLike) -> Tensor:
    """Subtract a value from a Parameter, in its place.

    Parameters
    ----------
    variable : Parameter
        Any shape.
    value : Tensor or number
        A shape that broadcasts to the Parameter's.

    Returns
    -------
    Parameter
        ``variable``.

    Raises
    ------
    TypeError
        If ``variable`` is no Parameter.
    ValueError
        If the shapes do not fit.
    """
    return _write("assign_sub", variable, arithmetic.sub(variable, value))


class _Writer:
    """A write into a Parameter as an object that is called."""

    function: Callable[[Any, Any], Tensor]

    def __call__(self, variable: Tensor, value: TensorLike) -> Tensor:
        """Write the value and return the Parameter."""
        return type(self).function(variable, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Assign(_Writer):
    """Writes a value into a Parameter; see ``ops.assign``."""

    function = staticmethod(assign)


class AssignAdd(_Writer):
    """Adds a value to a Parameter, in its place; see ``ops.assign_add``."""

    function = staticmethod(assign_add)


class AssignSub(_Writer):
    """Subtracts a value from a Parameter, in its place; see ``ops.assign_sub``."""

    function = staticmethod(assign_sub)
