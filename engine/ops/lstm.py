"""LSTM: one step as a composite, and a whole layer in one direction as one op."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.recurrent import run_forward
from ..shape import Aval, ShapeError, shape_text
from ..tensor import Tensor
from . import arithmetic, hyperbolic, linalg, math
from .cast import TensorLike, as_float, cast_to
from .expansion import expanded
from .recurrent import (
    REASON,
    Tensors,
    back_kernel,
    keeping_to_itself,
    kept_avals,
    layer_gradient,
    layer_inputs,
    layer_rule,
    parts_of,
    second_gradient,
    unrolled,
    weight_gradient,
)
from .registry import OPS, Call, Composite, GradContext, Grads, Host, checked, op
from .rules import require_float, require_same_dtype

# ---- one step --------------------------------------------------------------------------------


def _step_rule(gates: Aval, cell: Aval) -> tuple[Aval, Aval]:
    require_float("lstm_step", "gates", gates)
    require_same_dtype("lstm_step", gates=gates, cell=cell)
    wanted = (*cell.shape[:-1], cell.shape[-1] * 4) if cell.ndim else ()
    if not cell.ndim or gates.shape != wanted:
        raise ShapeError(
            f"lstm_step: gates {shape_text(gates.shape)} must be four times as wide as cell"
            f" {shape_text(cell.shape)}."
        )
    return cell, cell


def _expand_step(gates: Tensor, cell: Tensor) -> Tensors:
    i, f, g, o = parts_of(gates, 4)
    kept = arithmetic.mul(math.sigmoid(f), cell)
    after = arithmetic.add(kept, arithmetic.mul(math.sigmoid(i), hyperbolic.tanh(g)))
    return arithmetic.mul(math.sigmoid(o), hyperbolic.tanh(after)), after


@op(
    infer=_step_rule,
    kernel=expanded(_expand_step),
    lowering=Composite(_expand_step),
    category="nn",
    inputs=("gates", "cell"),
    primitive="LSTMStep",
)
def lstm_step(gates: TensorLike, cell: TensorLike) -> Call:
    """Take one step of an LSTM from its four gates before their activations.

    Parameters
    ----------
    gates : Tensor
        ``[..., 4 * h]``: input gate, forget gate, candidate and output gate.
    cell : Tensor
        ``[..., h]``, the cell state before.

    Returns
    -------
    tuple of Tensor
        The hidden state and the cell state after, ``[..., h]`` each.

    Raises
    ------
    ValueError
        If the sizes do not fit.

    References
    ----------
    Hochreiter and Schmidhuber, Long Short-Term Memory, 1997; forget gates of Gers et al., 2000.
    """
    first = as_float(gates)
    return checked(_step_rule, (first, cast_to(as_float(cell), first.dtype)), {})


# ---- a layer ---------------------------------------------------------------------------------


def _layer_rule(
    gates: Aval,
    state: Aval,
    cell: Aval,
    weight: Aval,
    lengths: Aval | None = None,
    *,
    reverse: bool,
    keep: bool = False,
) -> tuple[Aval, ...]:
    layer_rule("lstm_layer", gates, {"state": state, "cell": cell}, weight, lengths, 4)
    output = Aval((*gates.shape[:2], weight.shape[1]), gates.dtype)
    return (output, state, cell, *(kept_avals(output, 6) if keep else ()))


def _layer_kernel(
    gates: np.ndarray,
    state: np.ndarray,
    cell: np.ndarray,
    weight: np.ndarray,
    lengths: np.ndarray | None = None,
    *,
    reverse: bool,
    keep: bool = False,
) -> tuple[np.ndarray, ...]:
    states = state, cell
    return run_forward("lstm", gates, states, weight, None, lengths, keep=keep, reverse=reverse)


def _run(*inputs: Any, reverse: bool) -> Tensors:
    gates, state, cell, weight, lengths = inputs
    across = linalg.transposed(weight)

    def step(projected: Tensor, states: Tensors) -> Tensors:
        both = arithmetic.add(projected, linalg.matmul(states[0], across))
        return _expand_step(both, states[1])

    return unrolled(step, gates, (state, cell), lengths, reverse)


def _layer_grad(ctx: GradContext) -> Grads:
    return layer_gradient(ctx, 2, 4, OPS["lstm_layer"], OPS["lstm_layer_grad"])


@op(
    infer=_layer_rule,
    kernel=_layer_kernel,
    grad=_layer_grad,
    lowering=Host(REASON),
    category="nn",
    inputs=("gates", "state", "cell", "weight", "lengths"),
    primitive="LSTMLayer",
    fast=keeping_to_itself(3),
)
def lstm_layer(
    gates: TensorLike,
    state: TensorLike,
    cell: TensorLike,
    weight: TensorLike,
    lengths: TensorLike | None = None,
    reverse: bool = False,
) -> Call:
    """Run an LSTM over a batch of sequences, in one direction.

    Parameters
    ----------
    gates : Tensor
        ``[steps, n, 4 * h]``: the inputs' share of the four gates (input, forget, candidate,
        output) before their activations, biases included.
    state, cell : Tensor
        ``[n, h]``, hidden state and cell state at the start.
    weight : Tensor
        ``[4 * h, h]``, the recurrent weight.
    lengths : Tensor, optional
        ``[n]``, how many steps each sequence has. Later steps give zeros and keep the states.
    reverse : bool
        Whether to go from the last step to the first.

    Returns
    -------
    tuple of Tensor
        The hidden states ``[steps, n, h]``, and the last hidden and cell states ``[n, h]``.

    Raises
    ------
    ValueError
        If the sizes do not fit.

    References
    ----------
    Hochreiter and Schmidhuber, Long Short-Term Memory, 1997; forget gates of Gers et al., 2000.
    """
    inputs = layer_inputs((gates, state, cell, weight), lengths)
    return checked(_layer_rule, inputs, {"reverse": bool(reverse)})


def _second_grad(ctx: GradContext) -> Grads:
    reverse = ctx.attrs["reverse"]
    return second_gradient(ctx, 2, 4, lambda *inputs: _run(*inputs, reverse=reverse))


@op(
    infer=lambda dout, dstate, dcell, weight, slopes, *lengths, reverse: (
        Aval((*dout.shape[:2], weight.shape[0]), dout.dtype), dstate, dcell,
    ),
    kernel=back_kernel("lstm", 3),
    lowering=Host(REASON),
    category="gradient",
    inputs=("dout", "dstate", "dcell", "weight", "slopes", "lengths"),
    primitive="LSTMLayerBack",
)  # fmt: skip
def lstm_layer_back(*inputs: Tensor, reverse: bool) -> Call:
    """Go back through the steps of ``lstm_layer``.

    Parameters
    ----------
    *inputs : Tensor
        The gradients of its three results, its weight, what it kept, and lengths if there are any.
    reverse : bool
        As there.

    Returns
    -------
    tuple of Tensor
        The gradients of gates and states at the start.
    """
    return inputs, {"reverse": reverse}


def _expand_grad(
    dout: Tensor,
    dstate: Tensor,
    dcell: Tensor,
    gates: Tensor,
    state: Tensor,
    cell: Tensor,
    weight: Tensor,
    slopes: Tensor,
    before: Tensor,
    *lengths: Tensor,
    reverse: bool,
) -> Tensors:
    found = lstm_layer_back(dout, dstate, dcell, weight, slopes, *lengths, reverse=reverse)
    return (*found, weight_gradient(found[0], before))


@op(
    infer=lambda dout, dstate, dcell, gates, state, cell, weight, *kept, reverse: (
        gates, state, cell, weight,
    ),
    kernel=expanded(_expand_grad),
    grad=_second_grad,
    lowering=Composite(_expand_grad),
    category="gradient",
    inputs=(
        "dout", "dstate", "dcell", "gates", "state", "cell", "weight", "slopes", "before",
        "lengths",
    ),
    primitive="LSTMLayerGrad",
)  # fmt: skip
def lstm_layer_grad(*inputs: Tensor, reverse: bool) -> Call:
    """Return the gradients of ``lstm_layer`` to gates, states and weight.

    Parameters
    ----------
    *inputs : Tensor
        The gradients of its three results, its four inputs, what it kept (slopes and the states
        before the steps), and lengths if there are any.
    reverse : bool
        As there.

    Returns
    -------
    tuple of Tensor
        One for each of the four inputs, in their shapes.
    """
    return inputs, {"reverse": reverse}
