"""Marks by which MindSpore's scripts tell its compiler what Cellwire's finds by itself."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, TypeVar

from .nn.cell import Cell
from .tensor import Tensor

Value = TypeVar("Value")
Kind = TypeVar("Kind")


def mutable(input_data: Value, dynamic_len: bool = False) -> Value:
    """Say that an argument of a compiled function changes from call to call.

    In Cellwire tensors are inputs of a graph wherever they stand in an argument, and a float is
    from the second value on that is seen; so the data is returned as it is.

    Parameters
    ----------
    input_data : Tensor, number, tuple, list or dict
        The argument, nested as deep as needed.
    dynamic_len : bool
        Whether the length of a tuple or list changes too; each length is compiled by itself.

    Returns
    -------
    Tensor, number, tuple, list or dict
        `input_data`.

    Raises
    ------
    TypeError
        If something in it is of another type, or `dynamic_len` is given for no tuple or list.
    """
    if dynamic_len and not isinstance(input_data, tuple | list):
        raise TypeError(
            f"mutable: dynamic_len is for a tuple or list, not {type(input_data).__name__}."
        )
    _check_mutable(input_data)
    return input_data


def _check_mutable(value: Any) -> None:
    if isinstance(value, tuple | list):
        for item in value:
            _check_mutable(item)
    elif isinstance(value, dict):
        _check_mutable(list(value.values()))
    elif not isinstance(value, Tensor | int | float):
        raise TypeError(
            "mutable takes tensors, numbers, and tuples, lists and dicts of them, not"
            f" {type(value).__name__}."
        )


def jit_class(cls: type[Kind]) -> type[Kind]:
    """Mark a class whose objects compiled functions may use.

    Cellwire's compiled functions may use objects of any class and watch what they read of them,
    so the class is returned as it is, with the mark ``__ms_class__``.

    Parameters
    ----------
    cls : type
        A class that is no Cell.

    Returns
    -------
    type
        `cls`.

    Raises
    ------
    TypeError
        If it is no class, or a Cell.
    """
    if not isinstance(cls, type):
        raise TypeError(f"jit_class is for classes, not {type(cls).__name__}.")
    if issubclass(cls, Cell):
        raise TypeError(f"jit_class: {cls.__name__} is a Cell, which needs no mark.")
    setattr(cls, "__ms_class__", True)  # noqa: B010 - a mark that the class does not declare
    return cls


def lazy_inline(
    fn: Callable[..., Any] | None = None,
    attrs: str | list[str] | None = None,
    policy: str | None = None,
) -> Any:
    """Mark the ``__init__`` of a Cell of which a network has many.

    MindSpore compiles such a Cell once. Cellwire compiles kernels once for all places where they
    are the same, with or without the mark, so the function is returned as it is.

    Parameters
    ----------
    fn : callable, optional
        The ``__init__``; without it, ``lazy_inline(...)`` is a decorator.
    attrs : str or list of str, optional
        Names of arguments that tell the Cells apart.
    policy : {"front"}, optional
        Which part is inlined.

    Returns
    -------
    callable
        `fn`.

    Raises
    ------
    ValueError
        If `policy` is not known.
    """
    if policy not in (None, "front"):
        raise ValueError(f'lazy_inline: policy must be None or "front", not {policy!r}.')
    return (lambda function: function) if fn is None else fn


def ms_memory_recycle() -> None:
    """Free memory that nothing refers to any more: one pass of Python's garbage collector."""
    gc.collect()
