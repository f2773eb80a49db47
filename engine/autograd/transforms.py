"""Gradients of Python functions: ``grad`` and ``value_and_grad``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..parameter import Parameter
from ..tensor import Tensor
from .backward import zeros_for
from .gradgraph import gradients
from .positions import Position, apart, check_flag, check_position, check_weights, selected
from .record import Record, require_grad_allowed, tensors_in


def value_and_grad(
    fn: Callable[..., Any],
    grad_position: Position = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
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
    return_ids : bool
        Whether each gradient comes as ``(position, gradient)`` or ``(name, gradient)``; see
        ``get_grad``.
    sens_param : bool
        Whether the call takes the gradient of the output, last or as ``sens=``; ones otherwise.

    Returns
    -------
    callable
        Gives ``(value, gradients)``, with ``has_aux`` ``((value, aux, ...), gradients)``; with
        both positions and weights the gradients are ``(inputs, weights)``. Arguments that are no
        tensors are skipped. A weight that does not influence the value, or is frozen
        (``requires_grad`` false), has a gradient of zeros.

    Raises
    ------
    ValueError
        If nothing is named, a position is negative or named twice, or ``has_aux`` finds one
        output only.
    TypeError
        If a position is not an int, a weight not a Parameter or an option not a bool; when
        called, if the function returns no Tensor.
    RuntimeError
        If the function is called inside ``no_grad``.
    """
    check_position("grad", grad_position, weights)
    parameters = check_weights("grad", weights) or ()
    for name, flag in (
        ("has_aux", has_aux),
        ("return_ids", return_ids),
        ("sens_param", sens_param),
    ):
        check_flag("grad", name, flag)

    @functools.wraps(fn, updated=())
    def derived(*args: Any, **kwargs: Any) -> Any:
        sens = None
        if sens_param:
            args, sens = take_sens("grad", args, kwargs)
        args = apart(args)
        inputs = selected("grad", args, grad_position)
        value, grads = derive(fn, args, kwargs, [*inputs.values(), *parameters], has_aux, sens)
        found: Sequence[Any] = grads
        if return_ids:
            ids = [*inputs, *(parameter.name for parameter in parameters)]
            found = list(zip(ids, grads, strict=True))
        return value, _pack(found, len(inputs), grad_position, weights)

    return derived


def _pack(grads: Sequence[Any], inputs: int, grad_position: Position, weights: Any) -> Any:
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


def take_sens(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], Any]:
    """Return the arguments without the output's gradient, and it."""
    if "sens" in kwargs:
        return args, kwargs.pop("sens")
    if not args:
        raise TypeError(f"{name}: sens_param=True needs the output's gradient, last or as sens=.")
    return args[:-1], args[-1]


def derive(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    wrt: Sequence[Tensor],
    has_aux: bool,
    sens: Any,
) -> tuple[Any, list[Tensor]]:
    """Return ``fn``'s value and its gradients to ``wrt``; the record is freed, come what may."""
    require_grad_allowed("grad")
    record = Record()
    try:
        with record:
            value = fn(*args, **kwargs)
        if has_aux:
            require_aux("grad", value)
        derived = value[0] if has_aux else value
        outputs = tensors_in(derived)
        if wrt and not outputs:
            raise TypeError(
                f"grad: the function returned {_kind(derived)}, where a Tensor is needed; float(),"
                " item() and asnumpy() leave what is derived."
            )
        douts = None if sens is None else _senses(sens, outputs)
        trained = [t for t in wrt if not (isinstance(t, Parameter) and not t.requires_grad)]
        found = iter(gradients(record, outputs, trained, douts))
        kept = {id(tensor) for tensor in trained}
        grads = [next(found) if id(t) in kept else zeros_for(t) for t in wrt]
    finally:
        record.clear()
    return value, grads


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a value of type {type(value).__name__}"


def require_aux(name: str, value: Any) -> None:
    """Raise ValueError unless a function has more than one output."""
    if not isinstance(value, tuple) or len(value) < 2:
        raise ValueError(f"{name}: has_aux=True needs a function of at least two outputs.")


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
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., Any]:
    """Return a function that gives ``fn``'s gradients; see ``value_and_grad``.

    Parameters
    ----------
    fn : callable
        A function or Cell of tensors.
    grad_position : int or tuple of int or None
        Which arguments to derive by.
    weights : Parameter or sequence of Parameter, optional
        Which weights to derive by.
    has_aux : bool
        Whether only the first output counts.
    return_ids : bool
        Whether each gradient comes with its position or name.
    sens_param : bool
        Whether the call takes the gradient of the output.

    Returns
    -------
    callable
        Gives the gradients; with ``has_aux`` it gives ``(gradients, (aux, ...))``.
    """
    both = value_and_grad(fn, grad_position, weights, has_aux, return_ids, sens_param)

    @functools.wraps(fn, updated=())
    def derived(*args: Any, **kwargs: Any) -> Any:
        value, grads = both(*args, **kwargs)
        return (grads, value[1:]) if has_aux else grads

    return derived


def get_grad(gradients: Any, identifier: int | Parameter) -> Tensor:
    """Return one gradient out of what ``grad(..., return_ids=True)`` gave.

    Parameters
    ----------
    gradients : tuple
        ``(id, gradient)``, or nested tuples of such pairs.
    identifier : int or Parameter
        The position of an argument, or a weight.

    Returns
    -------
    Tensor
        Its gradient.

    Raises
    ------
    TypeError
        If ``identifier`` is neither, or ``gradients`` is no tuple.
    RuntimeError
        If there is no such gradient.
    """
    if isinstance(identifier, bool) or not isinstance(identifier, int | Parameter):
        raise TypeError(
            f"get_grad: identifier must be an int or a Parameter, not {type(identifier).__name__}."
        )
    if not isinstance(gradients, tuple):
        raise TypeError(f"get_grad: gradients must be a tuple, not {type(gradients).__name__}.")
    wanted = identifier.name if isinstance(identifier, Parameter) else identifier
    found = _look_for(gradients, wanted)
    if found is None:
        raise RuntimeError(
            f"get_grad: there is no gradient of {wanted!r}; was grad called with return_ids=True"
            " and this position or weight?"
        )
    return found


def _look_for(gradients: Any, wanted: int | str) -> Tensor | None:
    if not isinstance(gradients, tuple):
        return None
    if (
        len(gradients) == 2
        and isinstance(gradients[1], Tensor)
        and isinstance(gradients[0], int | str)
    ):
        return gradients[1] if gradients[0] == wanted else None
    return next((g for part in gradients if (g := _look_for(part, wanted)) is not None), None)
