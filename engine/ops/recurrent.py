"""What the recurrent layers share: shapes, masks of ragged batches, gradients by unrolled steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...kernels.blas_threads import matmul as multiply
from ..dtype import int64
from ..shape import Aval, ShapeError, shape_text
from ..tensor import Tensor
from . import array, creation, joining, logic
from .cast import TensorLike, as_float, as_tensor, cast_to
from .registry import GradContext, Grads
from .rules import require_float, require_int, require_same_dtype

REASON = "each step of a recurrent layer needs the one before; its loop runs in NumPy"

Tensors = tuple[Tensor, ...]


def layer_rule(
    op: str, gates: Aval, states: dict[str, Aval], weight: Aval, lengths: Aval | None, blocks: int
) -> None:
    """Check the shapes and dtypes of a recurrent layer's inputs.

    Raises
    ------
    ShapeError, TypeError
        If they do not fit.
    """
    require_float(op, "gates", gates)
    require_same_dtype(op, gates=gates, weight=weight, **states)
    if gates.ndim != 3:
        raise ShapeError(
            f"{op}: gates {shape_text(gates.shape)} must have three axes: [steps, n, features]."
        )
    batch, width = gates.shape[1:]
    if weight.ndim != 2 or weight.shape[0] != width or weight.shape[1] * blocks != width:
        raise ShapeError(
            f"{op}: weight {shape_text(weight.shape)} must have the shape [{blocks}*h, h], where"
            f" the last axis of gates {shape_text(gates.shape)} has {blocks}*h elements."
        )
    for name, state in states.items():
        wanted = (batch, weight.shape[1])
        if state.shape != wanted:
            raise ShapeError(
                f"{op}: {name} {shape_text(state.shape)} must have the shape {shape_text(wanted)}."
            )
    if lengths is not None:
        require_int(op, "lengths", lengths)
        if lengths.shape != (batch,):
            raise ShapeError(
                f"{op}: lengths {shape_text(lengths.shape)} must have one number for each of the"
                f" {batch} sequences."
            )


def layer_inputs(floats: Sequence[TensorLike], lengths: TensorLike | None) -> Tensors:
    """Return a layer's inputs as tensors of the first one's dtype, the lengths as int64."""
    first = as_float(floats[0])
    found = [first, *(cast_to(as_float(item), first.dtype) for item in floats[1:])]
    if lengths is not None:
        tensor = as_tensor(lengths)
        require_int("recurrent layer", "lengths", tensor.aval)
        found.append(cast_to(tensor, int64))
    return tuple(found)


def time_order(steps: int, reverse: bool) -> range:
    """Return the steps in the order in which the layer goes through them."""
    return range(steps - 1, -1, -1) if reverse else range(steps)


def valid_steps(steps: int, lengths: np.ndarray | None) -> np.ndarray | None:
    """Return which sequences still go on at each step, ``[steps, n, 1]``; None where all do."""
    if lengths is None:
        return None
    return (np.arange(steps)[:, None] < lengths[None, :])[..., None]


def states_before(
    output: np.ndarray, state: np.ndarray, valid: np.ndarray | None, reverse: bool
) -> np.ndarray:
    """Return the state that each step began with, from the states after the steps."""
    before = np.empty_like(output)
    if not reverse:
        before[:1] = state
        before[1:] = output[:-1]
        return before
    before[-1:] = state
    before[:-1] = output[1:]
    if valid is not None:
        before[:-1] = np.where(valid[1:], output[1:], state)
    return before


def projected(states: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return ``states @ weight.T`` for all steps at once."""
    steps, batch, size = states.shape
    rows = multiply(states.reshape(steps * batch, size), weight.T)
    return rows.reshape(steps, batch, weight.shape[0])


def weight_gradient(dgates: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return the gradient of the recurrent weight, summed over all steps."""
    rows = dgates.reshape(-1, dgates.shape[-1])
    return multiply(rows.T, before.reshape(-1, before.shape[-1]))


# ---- step by step in ops ---------------------------------------------------------------------

Step = Callable[[Tensor, Tensors], Tensors]
"""One step: the projected input ``[n, k]`` and the states give the next states."""


def unrolled(
    step: Step, gates: Tensor, states: Tensors, lengths: Tensor | None, reverse: bool
) -> Tensors:
    """Run a layer step by step in ops: the output, then the last states."""
    steps: Any = gates.shape[0]
    outputs: list[Tensor] = [gates] * steps
    for at in time_order(steps, reverse):
        after = step(gates[at], states)
        out = after[0]
        if lengths is not None:
            goes_on = array.expand_dims(logic.greater(lengths, at), -1)
            out = logic.where(goes_on, out, creation.zeros_like(out))
            after = tuple(
                logic.where(goes_on, new, old) for new, old in zip(after, states, strict=True)
            )
        outputs[at], states = out, after
    return (joining.stack(outputs, 0), *states)


def derived(fn: Callable[..., Tensors], inputs: Tensors, douts: Sequence[Tensor | None]) -> Grads:
    """Return the gradients of ``fn``'s outputs, weighted by ``douts``, to all inputs, in ops."""
    from ..autograd.backward import run_backward
    from ..autograd.record import Record

    with Record() as record:
        handles = tuple(array.identity(tensor) for tensor in inputs)
        outputs = fn(*handles)
    return tuple(run_backward(record.entries, outputs, douts, handles))


def filled(grads: Grads, tensors: Sequence[Tensor]) -> Tensors:
    """Return the gradients with zeros where none flows."""
    pairs = zip(grads, tensors, strict=True)
    return tuple(creation.zeros_like(t) if grad is None else grad for grad, t in pairs)


def layer_gradient(
    ctx: GradContext, states: int, floats: int, rule: Callable[..., Tensors]
) -> Grads:
    """Return a layer's gradients by its gradient op.

    ``rule`` takes the gradients of output and last states, the layer's inputs and its output.
    """
    douts = filled(ctx.douts, ctx.outputs)
    found = rule(*douts[: 1 + states], ctx.inputs, ctx.outputs[0], ctx.attrs)
    return (*found, *([None] * (len(ctx.inputs) - floats)))


def second_gradient(
    ctx: GradContext, states: int, floats: int, fn: Callable[..., Tensors]
) -> Grads:
    """Return the gradients of a layer's gradient op, through the steps unrolled.

    The op's inputs are the ``1 + states`` gradients, the ``floats`` inputs of the layer, its
    output, and lengths if there are any; ``fn(*inputs, lengths)`` runs the layer step by step.
    """
    ends = 1 + states
    lengths = ctx.inputs[ends + floats + 1 :]

    def once(*tensors: Tensor) -> Tensors:
        inputs = tensors[ends:]

        def run(*given: Tensor) -> Tensors:
            return fn(*given, *(lengths or (None,)))

        return filled(derived(run, inputs, tensors[:ends]), inputs)

    grads = derived(once, ctx.inputs[: ends + floats], ctx.douts)
    return (*grads, None, *([None] * len(lengths)))


def split_inputs(inputs: Tensors, floats: int) -> tuple[Tensors, Tensors]:
    """Return the float inputs of a layer, and the lengths if there are any."""
    return inputs[:floats], inputs[floats:]


def blocks_of(tensor: np.ndarray, count: int) -> Iterator[np.ndarray]:
    """Yield the equal parts of the last axis, as views."""
    size = tensor.shape[-1] // count
    for number in range(count):
        yield tensor[..., number * size : (number + 1) * size]


def parts_of(tensor: Tensor, count: int) -> Tensors:
    """Return the equal parts of the last axis."""
    size: Any = tensor.shape[-1] // count
    return tuple(tensor[..., number * size : (number + 1) * size] for number in range(count))
