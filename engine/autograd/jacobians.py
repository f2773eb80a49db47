"""Whole Jacobians: row by row from ``vjp``, or column by column from ``jvp``, all at once."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ops import array, creation
from ..ops.registry import active_trace
from ..tensor import Tensor, wrap
from .positions import Position, check_flag, check_position, selected
from .products import Linear, Recorded

Function = Callable[..., Any]


def _units(tensor: Tensor) -> Tensor:
    """Return ``[n, *shape]``: for each element of a tensor the array that is one there."""
    size = math.prod(tensor.shape)
    eye = np.eye(size, dtype=tensor.dtype.numpy).reshape(size, *tensor.shape)
    trace = active_trace()
    return wrap(eye) if trace is None else trace.literal(eye)


def _for_each(fn: Callable[[Tensor], Any], units: Tensor) -> Any:
    from ..vectorize.vmap import for_each

    return for_each(fn, units)


def _arrange(rows: Sequence[Sequence[Tensor]]) -> Any:
    """Return Jacobians by output and input as MindSpore arranges them: flat where it can."""
    if len(rows) == 1 or len(rows[0]) == 1:
        flat = tuple(item for row in rows for item in row)
        return flat[0] if len(flat) == 1 else flat
    return tuple(tuple(row) for row in rows)


def _partly(
    fn: Function, args: tuple[Any, ...], kwargs: dict[str, Any], positions: Sequence[int]
) -> Function:
    """Return ``fn`` as a function of the arguments at some positions."""

    def part(*inputs: Tensor) -> Any:
        filled = list(args)
        for position, tensor in zip(positions, inputs, strict=True):
            filled[position] = tensor
        return fn(*filled, **kwargs)

    return part


def jacrev(fn: Function, grad_position: Position = 0, has_aux: bool = False) -> Function:
    """Return a function that gives the Jacobian of ``fn``, one row for each output element.

    It is the faster one where outputs have fewer elements than inputs.

    Parameters
    ----------
    fn : callable
        A function or Cell of tensors.
    grad_position : int or tuple of int
        Which arguments to derive by.
    has_aux : bool
        Whether only the first output counts.

    Returns
    -------
    callable
        Gives a tensor of shape ``output shape + input shape``; a tuple of them for several
        inputs or outputs, and for several of both a tuple for each output of tuples. With
        ``has_aux`` it gives ``(jacobian, aux)``.

    Raises
    ------
    TypeError
        If ``grad_position`` or ``has_aux`` is of another type.
    ValueError
        If a position is negative, named twice, or names no argument.
    """
    check_position("jacrev", grad_position)
    check_flag("jacrev", "has_aux", has_aux)

    @functools.wraps(fn, updated=())
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        inputs = selected("jacrev", args, grad_position)
        tensors = tuple(array.identity(tensor) for tensor in inputs.values())
        run = Recorded("jacrev", _partly(fn, args, kwargs, list(inputs)), tensors, has_aux)
        rows = [_rows(run, number) for number in range(len(run.outputs))]
        found = _arrange(rows)
        return (found, run.aux) if has_aux else found

    return jacobian


def _rows(run: Recorded, number: int) -> list[Tensor]:
    output = run.outputs[number]

    def row(unit: Tensor) -> tuple[Tensor, ...]:
        douts: list[Tensor | None] = [None] * len(run.outputs)
        douts[number] = unit
        return tuple(run.gradients(run.inputs, douts))

    found = _for_each(row, _units(output))
    return [
        array.reshape(grads, (*output.shape, *tensor.shape))
        for grads, tensor in zip(found, run.inputs, strict=True)
    ]


def jacfwd(fn: Function, grad_position: Position = 0, has_aux: bool = False) -> Function:
    """Return a function that gives the Jacobian of ``fn``, one column for each input element.

    It is the faster one where inputs have fewer elements than outputs; ``jacfwd(jacrev(fn))``
    gives second derivatives.

    Parameters
    ----------
    fn : callable
        A function or Cell of tensors.
    grad_position : int or tuple of int
        Which arguments to derive by.
    has_aux : bool
        Whether only the first output counts.

    Returns
    -------
    callable
        Gives what ``jacrev(fn)`` gives.

    Raises
    ------
    TypeError
        If ``grad_position`` or ``has_aux`` is of another type.
    ValueError
        If a position is negative, named twice, or names no argument.
    """
    check_position("jacfwd", grad_position)
    check_flag("jacfwd", "has_aux", has_aux)

    @functools.wraps(fn, updated=())
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        inputs = selected("jacfwd", args, grad_position)
        part = _partly(fn, args, kwargs, list(inputs))
        linear = Linear("jacfwd", part, tuple(inputs.values()), has_aux)
        columns = [_columns(linear, number) for number in range(len(linear.run.inputs))]
        found = _arrange(list(zip(*columns, strict=True)))
        return (found, linear.run.aux) if has_aux else found

    return jacobian


def _columns(linear: Linear, number: int) -> list[Tensor]:
    """Return the Jacobians of all outputs by one input."""
    tensor = linear.run.inputs[number]
    outputs = linear.run.outputs
    if not tensor.dtype.is_float:
        return [creation.zeros((*o.shape, *tensor.shape), o.dtype) for o in outputs]

    def column(unit: Tensor) -> tuple[Tensor, ...]:
        directions = [unit if t is tensor else creation.zeros_like(t) for t in linear.derived]
        return tuple(linear.tangents(directions))

    found = _for_each(column, _units(tensor))
    return [
        array.reshape(_last(parts), (*output.shape, *tensor.shape))
        for parts, output in zip(found, outputs, strict=True)
    ]


def _last(tensor: Tensor) -> Tensor:
    """Return the tensor with its first axis put last."""
    return array.transpose(tensor, (*range(1, len(tensor.shape)), 0))
