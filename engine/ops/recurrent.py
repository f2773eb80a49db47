"""What the recurrent layers share: shapes, what they keep, gradients by unrolled steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...kernels.recurrent import run_backward as run_back
from ..dtype import int64
from ..shape import Aval, ShapeError, shape_text
from ..tensor import Tensor
from . import array, creation, joining, linalg, logic
from .cast import TensorLike, as_float, as_tensor, cast_to
from .registry import Call, GradContext, Grads, Op, active_records, apply
from .rules import require_float, require_int, require_same_dtype

REASON = "recurrent layers have kernels for float32 and float64 alone"

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


def kept_avals(output: Aval, slopes: int) -> tuple[Aval, Aval]:
    """Return the shapes of what a layer keeps: slopes of its gates, states before the steps."""
    *ends, size = output.shape
    return Aval((*ends, size * slopes), output.dtype), output


def keeping_to_itself(results: int) -> Callable[[Op, Callable[..., Call]], Callable[..., Any]]:
    """Return the maker of a layer's public function, which gives the first ``results`` alone.

    What a gradient needs is kept where one may be asked for, that is, under a record.
    """

    def make(entry: Op, prepare: Callable[..., Call]) -> Callable[..., Tensors]:
        def run(*args: Any, **kwargs: Any) -> Tensors:
            inputs, attrs = prepare(*args, **kwargs)
            return apply(entry, inputs, {**attrs, "keep": bool(active_records())})[:results]

        return run

    return make


def back_kernel(kind: str, results: int) -> Callable[..., tuple[np.ndarray, ...]]:
    """Return the kernel of the way back through the steps of a layer with so many results.

    It takes their gradients, the weight, what was kept, and lengths if there are any.
    """

    def kernel(
        *arrays: np.ndarray, reverse: bool, nonlinearity: str = ""
    ) -> tuple[np.ndarray, ...]:
        weight, slopes, *lengths = arrays[results:]
        name = f"{kind}_{nonlinearity}" if nonlinearity else kind
        known = lengths[0] if lengths else None
        return run_back(name, arrays[:results], weight, slopes, known, reverse=reverse)

    return kernel


def weight_gradient(dhidden: Tensor, before: Tensor) -> Tensor:
    """Return the gradient of the recurrent weight, summed over all steps, as one product."""
    rows, states = (array.reshape(t, (-1, t.shape[-1])) for t in (dhidden, before))
    return linalg.matmul(linalg.transposed(rows), states)


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


def layer_gradient(ctx: GradContext, states: int, floats: int, layer: Op, rule: Op) -> Grads:
    """Return a layer's gradients by its gradient op.

    That takes the gradients of output and last states, the layer's inputs, and what it kept. A
    layer that kept nothing, since nobody recorded it, is run once more.
    """
    ends, outputs, attrs = 1 + states, ctx.outputs, dict(ctx.attrs)
    if not attrs.pop("keep", False):
        outputs = apply(layer, ctx.inputs, {**attrs, "keep": True})
    douts = filled(ctx.douts[:ends], ctx.outputs[:ends])
    inputs = (*douts, *ctx.inputs[:floats], *outputs[ends:], *ctx.inputs[floats:])
    return (*apply(rule, inputs, attrs), *([None] * (len(ctx.inputs) - floats)))


def second_gradient(
    ctx: GradContext, states: int, floats: int, fn: Callable[..., Tensors]
) -> Grads:
    """Return the gradients of a layer's gradient op, through the steps unrolled.

    The op's inputs are the ``1 + states`` gradients, the ``floats`` inputs of the layer, the two
    it kept, and lengths if there are any; ``fn(*inputs, lengths)`` runs the layer step by step.
    """
    ends = 1 + states
    lengths = ctx.inputs[ends + floats + 2 :]

    def once(*tensors: Tensor) -> Tensors:
        inputs = tensors[ends:]

        def run(*given: Tensor) -> Tensors:
            return fn(*given, *(lengths or (None,)))

        return filled(derived(run, inputs, tensors[:ends]), inputs)

    grads = derived(once, ctx.inputs[: ends + floats], ctx.douts)
    return (*grads, None, None, *([None] * len(lengths)))


def parts_of(tensor: Tensor, count: int) -> Tensors:
    """Return the equal parts of the last axis."""
    size: Any = tensor.shape[-1] // count
    return tuple(tensor[..., number * size : (number + 1) * size] for number in range(count))
