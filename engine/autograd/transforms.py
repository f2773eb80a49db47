"""Gradients of Python functions: ``grad``, ``value_and_grad`` and ``GradOperation``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..parameter import Parameter
from ..tensor import Tensor
from .backward import zeros_for
from .gradgraph import gradients
from .record import Record, require_grad_allowed, tensors_in

Position = int | tuple[int, ...] | None


def _check_position(grad_position: Any, weights: Any) -> None:
    if grad_position is None and weights is None:
        raise ValueError("grad: grad_position and weights are both None; name what to derive by.")
    if grad_position is None:
        return
    positions = grad_position if isinstance(grad_position, tuple) else (grad_position,)
    for position in positions:
        if not isinstance(position, int) or isinstance(position, bool):
            raise TypeError(
                f"grad: grad_position must be an int or a tuple of ints, it is {grad_position!r}."
            )
        if position < 0:
            raise ValueError(f"grad: grad_position must not be negative, it is {grad_position!r}.")
    if len(set(positions)) != len(positions):
        raise ValueError(f"grad: grad_position {grad_position!r} names an argument twice.")


def _check_weights(weights: Any) -> tuple[Parameter, ...] | None:
    if weights is None:
        return None
    items = (weights,) if isinstance(weights, Parameter) else tuple(weights)
    for item in items:
        if not isinstance(item, Parameter):
            raise TypeError(f"grad: weights must be Parameters, one is {type(item).__name__}.")
    return items


def _select(args: tuple[Any, ...], grad_position: Position) -> list[Tensor]:
    """Return the tensor arguments that ``grad_position`` names; others are skipped."""
    if grad_position is None:
        return []
    positions = grad_position if isinstance(grad_position, tuple) else (grad_position,)
    for position in positions:
        if position >= len(args):
            raise ValueError(
                f"grad: grad_position {position} names no argument, the call has {len(args)}."
            )
    return [args[p] for p in positions if isinstance(args[p], Tensor)]


def _pack(grads: Sequence[Tensor], inputs: int, grad_position: Position, weights: Any) -> Any:
    """Arrange gradients as MindSpore does: a tensor, a tuple, or (inputs, weights)."""
    of_inputs: Any = tuple(grads[:inputs])
    if isinstance(grad_position, int) and inputs == 1:
        of_inputs = of_inputs[0]
    of_weights: Any = tuple(grads[inputs:])
    if isinstance(weights, Parameter):
        of_weights = of_weights[0]
    if weights is None:
        return of_inputs
    return of_weights if grad_position is None else (of_inputs, of_weights)


def value_and_grad(
    fn: Callable[..., Any],
    grad_position: Position = 0,
    weights: Any = None,
    has_aux: bool = False,
) -> Callable[..., Any]:
    """Return a function that gives ``fn``'s value and its gradients.

    Parameters
    ----------
    fn : callable
        A function or Cell of tensors. Several outputs have their gradients summed.
    grad_position : int or tuple of int or None
        Which arguments to derive by; an int gives one gradient, a tuple a tuple of them.
    weights : Parameter or sequence of Parameter, optional
        Which weights to derive by.
    has_aux : bool
        Whether only the first output counts, the others being passed through.

    Returns
    -------
    callable
        Gives ``(value, gradients)``; with both positions and weights the gradients are
        ``(inputs, weights)``. A weight that does not influence the value, or is frozen
        (``requires_grad`` false), has a gradient of zeros.

    Raises
    ------
    ValueError
        If nothing is named, a position is negative or named twice, or ``has_aux`` finds one
        output only.
    TypeError
        If a position is not an int or a weight not a Parameter.
    """
    _check_position(grad_position, weights)
    parameters = _check_weights(weights)

    @functools.wraps(fn, updated=())
    def derived(*args: Any, **kwargs: Any) -> Any:
        inputs = _select(args, grad_position)
        value, grads = _derive(fn, args, kwargs, [*inputs, *(parameters or ())], has_aux, None)
        return value, _pack(grads, len(inputs), grad_position, weights)

    return derived


def _derive(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    wrt: list[Tensor],
    has_aux: bool,
    sens: Any,
) -> tuple[Any, list[Tensor]]:
    require_grad_allowed("grad")
    record = Record()
    try:
        with record:
            value = fn(*args, **kwargs)
        if has_aux and (not isinstance(value, tuple) or len(value) < 2):
            raise ValueError("grad: has_aux=True needs a function of at least two outputs.")
        outputs = tensors_in(value[0] if has_aux else value)
        douts = None if sens is None else _senses(sens, outputs)
        trained = [t for t in wrt if not (isinstance(t, Parameter) and not t.requires_grad)]
        found = iter(gradients(record, outputs, trained, douts))
        kept = {id(tensor) for tensor in trained}
        grads = [next(found) if id(t) in kept else zeros_for(t) for t in wrt]
    finally:
        record.clear()
    if has_aux:
        return (value[0], tuple(value[1:])), grads
    return value, grads


def _senses(sens: Any, outputs: list[Tensor]) -> list[Tensor | None]:
    found: list[Tensor | None] = list(tensors_in(sens))
    if len(found) != len(outputs):
        raise ValueError(
            f"grad: sens holds {len(found)} tensors, the function has {len(outputs)} outputs."
        )
    return found


def grad(
    fn: Callable[..., Any],
    grad_position: Position = 0,
    weights: Any = None,
    has_aux: bool = False,
) -> Callable[..., Any]:
    """Return a function that gives ``fn``'s gradients; see ``value_and_grad``.

    With ``has_aux`` it gives ``(gradients, (aux, ...))``.
    """
    both = value_and_grad(fn, grad_position, weights, has_aux)

    @functools.wraps(fn, updated=())
    def derived(*args: Any, **kwargs: Any) -> Any:
        value, grads = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return derived


class GradOperation:
    """Makes gradient functions of functions and Cells.

    Parameters
    ----------
    get_all : bool
        Whether to derive by all tensor inputs, else by the first.
    get_by_list : bool
        Whether to derive by weights.
    sens_param : bool
        Whether the call takes the gradient of the output, last or as ``sens=``.
    """

    def __init__(
        self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False
    ) -> None:
        for name, flag in (
            ("get_all", get_all), ("get_by_list", get_by_list), ("sens_param", sens_param),
        ):  # fmt: skip
            if not isinstance(flag, bool):
                raise TypeError(f"GradOperation: {name} must be a bool, it is {flag!r}.")
        self.get_all = get_all
        self.get_by_list = get_by_list
        self.sens_param = sens_param

    def __call__(self, fn: Callable[..., Any], weights: Any = None) -> Callable[..., Any]:
        """Return the gradient function of ``fn``."""
        if self.get_by_list and weights is None:
            if not hasattr(fn, "trainable_params"):
                raise ValueError("GradOperation: get_by_list needs weights for a plain function.")
            weights = tuple(fn.trainable_params())  # pyright: ignore[reportFunctionMemberAccess]
        parameters = (_check_weights(weights) or ()) if self.get_by_list else ()

        @functools.wraps(fn, updated=())
        def derived(*args: Any, **kwargs: Any) -> Any:
            sens = None
            if self.sens_param:
                args, sens = self._take_sens(args, kwargs)
            inputs = [arg for arg in args if isinstance(arg, Tensor)]
            if not self.get_all:
                inputs = [] if self.get_by_list else inputs[:1]
            _, grads = _derive(fn, args, kwargs, [*inputs, *parameters], False, sens)
            return self._pack(grads, len(inputs))

        return derived

    @staticmethod
    def _take_sens(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
        if "sens" in kwargs:
            return args, kwargs.pop("sens")
        if not args:
            raise TypeError("GradOperation: sens_param=True needs the output's gradient, as sens=.")
        return args[:-1], args[-1]

    def _pack(self, grads: list[Tensor], inputs: int) -> Any:
        of_inputs, of_weights = tuple(grads[:inputs]), tuple(grads[inputs:])
        if self.get_all and self.get_by_list:
            return of_inputs, of_weights
        if self.get_by_list:
            return of_weights
        return of_inputs if self.get_all else of_inputs[0]
