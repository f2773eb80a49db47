"""Cells with a gradient of their own: ``bprop(self, *inputs, out, dout)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ops.registry import Composite, GradContext, Grads, Op, apply, log, traces
from ..shape import shape_text
from ..tensor import Tensor, wrap
from .backward import zeros_for
from .record import no_grad

Rule = Callable[[GradContext], Grads]


def custom_bprop(cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run ``cell.construct`` as one op whose gradient is ``cell.bprop``.

    ``construct`` itself runs outside every record, so nothing in it is derived.

    Raises
    ------
    TypeError
        If ``bprop`` does not take the inputs, ``out`` and ``dout``, or ``construct`` gives
        anything but tensors; or, on the way back, if ``bprop`` gives anything but tensors of the
        inputs' dtypes.
    ValueError
        On the way back, if ``bprop`` gives another number of gradients or other shapes.
    """
    name = type(cell).__name__
    _check_signature(name, cell.bprop, len(args))
    rule = _rule(name, cell.bprop, args)
    if traces:
        return _traced(name, cell, args, kwargs, rule)
    with no_grad():
        result = cell.construct(*args, **kwargs)
    # Handles of their own, so that a gradient is never added to that of an input given back.
    outputs = tuple(wrap(tensor.data) for tensor in _tensors(name, result))
    inputs = tuple(arg for arg in args if isinstance(arg, Tensor))
    avals = tuple(tensor.aval for tensor in outputs)
    op = _op(name, rule, lambda *_: avals, lambda *_: tuple(t.data for t in outputs), None)
    log(op, inputs, outputs, {})
    return outputs if isinstance(result, tuple) else outputs[0]


def _tensors(name: str, result: Any) -> tuple[Tensor, ...]:
    outputs = result if isinstance(result, tuple) else (result,)
    for output in outputs:
        if not isinstance(output, Tensor):
            raise TypeError(
                f"{name}: construct must return a Tensor or a tuple of them where bprop is"
                f" defined; it returned {type(output).__name__}."
            )
    return outputs


def _op(
    name: str,
    rule: Rule,
    infer: Callable[..., Any],
    kernel: Callable[..., Any],
    expand: Callable[..., Any] | None,
) -> Op:
    return Op(
        name=f"{name}_bprop",
        inputs=("inputs",),
        attrs={},
        category="custom",
        infer=infer,
        kernel=kernel,
        grad=rule,
        lowering=Composite(expand or kernel),
        primitive=name,
        doc="A Cell with a gradient of its own.",
        function=kernel,
        variadic=True,
    )


def _traced(name: str, cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any], rule: Rule) -> Any:
    """Emit one node that expands into what ``construct`` does."""
    from ..compiler.graph import interpret
    from ..compiler.graph_op import replay
    from ..compiler.trace import trace

    positions = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]

    def construct(*tensors: Tensor) -> Any:
        filled = list(args)
        for position, tensor in zip(positions, tensors, strict=True):
            filled[position] = tensor
        return cell.construct(*filled, **kwargs)

    inputs = tuple(args[i] for i in positions)
    called = trace(construct, [tensor.aval for tensor in inputs])
    graph = called.graph
    avals = tuple(value.aval for value in graph.outputs)

    def kernel(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        return interpret(graph, arrays)

    op = _op(name, rule, lambda *_: avals, kernel, lambda *tensors: replay(graph, tensors))
    outputs = apply(op, (*inputs, *called.captured), {})
    return outputs if isinstance(called.structure, tuple) else outputs[0]


def _check_signature(name: str, bprop: Callable[..., Any], inputs: int) -> None:
    parameters = list(inspect.signature(bprop).parameters.values())
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return
    if len(parameters) != inputs + 2:
        raise TypeError(
            f"The params of function 'bprop' of {name} must be the {inputs} inputs of 'construct',"
            f" then 'out' and 'dout'; it takes {len(parameters)}."
        )


def _rule(name: str, bprop: Callable[..., Any], args: tuple[Any, ...]) -> Rule:
    # The arguments' data would be kept alive by the rule; only their places are needed.
    fixed = tuple(None if isinstance(arg, Tensor) else (arg,) for arg in args)

    def grad(ctx: GradContext) -> Grads:
        tensors = iter(ctx.inputs)
        inputs = [next(tensors) if item is None else item[0] for item in fixed]
        douts = tuple(
            zeros_for(out) if dout is None else dout
            for out, dout in zip(ctx.outputs, ctx.douts, strict=True)
        )
        single = len(ctx.outputs) == 1
        out = ctx.outputs[0] if single else ctx.outputs
        found = bprop(*inputs, out, douts[0] if single else douts)
        grads = _checked(name, found, inputs)
        # Parameters that construct read, if any, get no gradient from bprop.
        return *grads, *([None] * (len(ctx.inputs) - len(grads)))

    return grad


def _checked(name: str, found: Any, inputs: Sequence[Any]) -> list[Tensor]:
    grads = found if isinstance(found, tuple) else (found,)
    if len(grads) != len(inputs):
        raise ValueError(
            f"{name}: bprop must return one gradient for each of the {len(inputs)} inputs of"
            f" construct, it returned {len(grads)}."
        )
    kept: list[Tensor] = []
    for number, (grad, tensor) in enumerate(zip(grads, inputs, strict=True)):
        if not isinstance(tensor, Tensor):
            continue
        if not isinstance(grad, Tensor):
            raise TypeError(
                f"{name}: bprop must return a Tensor for input {number}, it returned"
                f" {type(grad).__name__}."
            )
        if tuple(grad.shape) != tuple(tensor.shape):
            raise ValueError(
                f"{name}: bprop returned a gradient of shape {shape_text(grad.shape)} for input"
                f" {number} of shape {shape_text(tensor.shape)}."
            )
        if grad.dtype is not tensor.dtype:
            raise TypeError(
                f"{name}: bprop returned a gradient of {grad.dtype} for input {number} of"
                f" {tensor.dtype}."
            )
        kept.append(grad)
    return kept
