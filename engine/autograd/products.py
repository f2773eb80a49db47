"""Products with a function's Jacobian: ``vjp`` from the left, ``jvp`` and ``linearize`` from right.

The product from the right is found by deriving the one from the left twice: ``u -> u J`` is
linear, and its own product from the left with ``v`` is ``J v``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ops import array, creation
from ..parameter import Parameter
from ..shape import shape_text
from ..tensor import Tensor
from .backward import zeros_for
from .gradgraph import gradients
from .positions import check_flag, check_weights
from .record import Record, require_grad_allowed, tensors_in
from .transforms import require_aux

Function = Callable[..., Any]


def as_inputs(name: str, inputs: Any) -> tuple[Tensor, ...]:
    """Return a tensor, or a tuple or list of tensors, as a tuple of tensors of their own."""
    items = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    for item in items:
        if not isinstance(item, Tensor):
            raise TypeError(f"{name}: inputs must be tensors, one is {type(item).__name__}.")
    # Handles and values of their own: the caller may give one twice, or write to it later.
    return tuple(array.identity(item) for item in items)


class Recorded:
    """One run of a function under a record that is kept, so that it can be derived repeatedly."""

    def __init__(self, name: str, fn: Function, inputs: tuple[Tensor, ...], has_aux: bool) -> None:
        require_grad_allowed(name)
        check_flag(name, "has_aux", has_aux)
        self.name = name
        self.inputs = inputs
        self.record = Record()
        with self.record:
            value = fn(*inputs)
        if has_aux:
            require_aux(name, value)
        self.value = value[0] if has_aux else value
        self.aux = _aux(value) if has_aux else None
        self.outputs = tensors_in(self.value)
        tensors = [tensor for entry in self.record.entries for tensor in entry.inputs]
        read = {id(t): t for t in tensors if isinstance(t, Parameter)}
        self._versions = [(parameter, parameter.version) for parameter in read.values()]

    def gradients(self, wrt: Sequence[Tensor], douts: Sequence[Tensor | None]) -> list[Tensor]:
        """Return the gradients of the outputs, weighted by ``douts``."""
        for parameter, version in self._versions:
            if parameter.version != version:
                raise RuntimeError(
                    f"{self.name}: parameter {parameter.name!r} was written to since the function"
                    f" ran, so its gradient would be wrong; call {self.name} again."
                )
        return gradients(self.record, self.outputs, wrt, douts)

    def arranged(self, tensors: Sequence[Tensor]) -> Any:
        """Return one tensor for each output in the place of the outputs."""
        rest = iter(tensors)
        return _in_place_of(self.value, rest)


def _aux(value: tuple[Any, ...]) -> Any:
    return value[1] if len(value) == 2 else tuple(value[1:])


def _in_place_of(value: Any, tensors: Any) -> Any:
    if isinstance(value, Tensor):
        return next(tensors)
    if isinstance(value, dict):
        return {key: _in_place_of(item, tensors) for key, item in value.items()}
    if isinstance(value, tuple | list):
        items = [_in_place_of(item, tensors) for item in value]
        return items if isinstance(value, list) else tuple(items)
    return value


def matching(name: str, what: str, given: Any, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the given tensors as a list.

    Raises
    ------
    TypeError
        If they are no tensors.
    ValueError
        If their number or a shape is not that of ``tensors``.
    """
    items = tensors_in(given)
    if not isinstance(given, Tensor | tuple | list):
        raise TypeError(f"{name}: {what} must be tensors, it is {type(given).__name__}.")
    if len(items) != len(tensors):
        raise ValueError(f"{name}: {what} holds {len(items)} tensors, {len(tensors)} are needed.")
    for item, tensor in zip(items, tensors, strict=True):
        if tuple(item.shape) != tuple(tensor.shape):
            raise ValueError(
                f"{name}: {what} has a tensor of shape {shape_text(item.shape)} for one of"
                f" {shape_text(tensor.shape)}; they must be equal."
            )
    return items


def vjp(fn: Function, *inputs: Any, weights: Any = None, has_aux: bool = False) -> Any:
    """Return a function's value and the product of a vector with its Jacobian.

    Parameters
    ----------
    fn : callable
        A function or Cell of tensors.
    *inputs : Tensor
        Its arguments; all are derived by.
    weights : Parameter or sequence of Parameter, optional
        Weights to derive by as well.
    has_aux : bool
        Whether only the first output counts.

    Returns
    -------
    outputs : Tensor or tuple of Tensor
        ``fn(*inputs)``, or with ``has_aux`` its first output.
    vjp_fn : callable
        Takes one tensor for each output and gives a tuple with the gradient to each input; with
        weights ``(of inputs, of weights)``. It may be called repeatedly.
    aux
        With ``has_aux`` only: the other outputs.

    Raises
    ------
    TypeError
        If inputs or vectors are no tensors.
    ValueError
        If a vector has not the shape of its output.
    RuntimeError
        If ``vjp_fn`` is called after a Parameter that ``fn`` read was written to.
    """
    parameters = check_weights("vjp", weights)
    run = Recorded("vjp", fn, as_inputs("vjp", inputs), has_aux)

    def vjp_fn(*vectors: Any) -> Any:
        douts = matching("vjp", "the vector", vectors, run.outputs)
        wrt = [*run.inputs, *(parameters or ())]
        found = run.gradients(wrt, douts)
        for number, tensor in enumerate(wrt):
            if isinstance(tensor, Parameter) and not tensor.requires_grad:
                found[number] = zeros_for(tensor)
        count = len(run.inputs)
        of_inputs = tuple(found[:count])
        return of_inputs if parameters is None else (of_inputs, tuple(found[count:]))

    return (run.value, vjp_fn, run.aux) if has_aux else (run.value, vjp_fn)


class Linear:
    """A function near one point: its value there, and ``J v`` for any ``v``."""

    def __init__(self, name: str, fn: Function, inputs: Any, has_aux: bool = False) -> None:
        self.name = name
        with Record() as self._twice:
            self.run = Recorded(name, fn, as_inputs(name, inputs), has_aux)
            self.derived = [t for t in self.run.inputs if t.dtype.is_float]
            # Any values would do where everything is linear in them; ones are away from kinks.
            self._seeds = [creation.ones_like(output) for output in self.run.outputs]
            floats = [s if s.dtype.is_float else None for s in self._seeds]
            self._products = self.run.gradients(self.derived, floats)

    def tangents(self, directions: Sequence[Tensor]) -> list[Tensor]:
        """Return ``J v`` for each output; ``v`` has a tensor for each float input."""
        seeds = [seed for seed in self._seeds if seed.dtype.is_float]
        if not seeds or not self.derived:
            return [zeros_for(output) for output in self.run.outputs]
        found = iter(gradients(self._twice, self._products, seeds, directions))
        return [next(found) if s.dtype.is_float else zeros_for(s) for s in self._seeds]

    def product(self, v: Any) -> Any:
        """Return ``J v`` in the structure of the outputs, checked."""
        given = matching(self.name, "v", v, self.run.inputs)
        pairs = zip(self.run.inputs, given, strict=True)
        directions = [item for tensor, item in pairs if tensor.dtype.is_float]
        return self.run.arranged(self.tangents(directions))


def jvp(fn: Function, inputs: Any, v: Any, has_aux: bool = False) -> Any:
    """Return a function's value and the product of its Jacobian with a vector.

    Parameters
    ----------
    fn : callable
        A function or Cell of tensors.
    inputs : Tensor or tuple or list of Tensor
        Its arguments.
    v : Tensor or tuple or list of Tensor
        The vector: a tensor of the same shape for each argument.
    has_aux : bool
        Whether only the first output counts.

    Returns
    -------
    outputs : Tensor or tuple of Tensor
        ``fn(*inputs)``, or with ``has_aux`` its first output.
    product : Tensor or tuple of Tensor
        How each output changes along ``v``.
    aux
        With ``has_aux`` only: the other outputs.

    Raises
    ------
    TypeError
        If inputs or vectors are no tensors.
    ValueError
        If ``v`` does not fit the inputs.

    Notes
    -----
    The product is the gradient of ``u J`` to ``u``, weighted by ``v``.
    """
    linear = Linear("jvp", fn, inputs, has_aux)
    product = linear.product(v)
    run = linear.run
    return (run.value, product, run.aux) if has_aux else (run.value, product)


def linearize(fn: Function, inputs: Any) -> tuple[Any, Function]:
    """Return a function's value and the function of its Jacobian's products with vectors.

    Parameters
    ----------
    fn : callable
        A function or Cell of tensors.
    inputs : Tensor or tuple or list of Tensor
        Its arguments.

    Returns
    -------
    outputs : Tensor or tuple of Tensor
        ``fn(*inputs)``.
    jvp_fn : callable
        Takes ``v`` as ``jvp`` does and gives the product; ``fn`` does not run again.

    Raises
    ------
    TypeError
        If inputs or vectors are no tensors.
    """
    linear = Linear("linearize", fn, inputs)
    return linear.run.value, linear.product
