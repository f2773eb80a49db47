"""GRU: one step as a composite, and a whole layer in one direction as one op."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.recurrent import run_forward
from ..shape import Aval, ShapeError, shape_text
from ..tensor import Tensor
from . import arithmetic, creation, hyperbolic, linalg, math, reduce
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


def _step_rule(gates: Aval, hidden_gates: Aval, state: Aval) -> Aval:
    require_float("gru_step", "gates", gates)
    require_same_dtype("gru_step", gates=gates, hidden_gates=hidden_gates, state=state)
    wanted = (*state.shape[:-1], state.shape[-1] * 3) if state.ndim else ()
    if not state.ndim or gates.shape != wanted or hidden_gates.shape != wanted:
        raise ShapeError(
            f"gru_step: gates {shape_text(gates.shape)} and hidden_gates"
            f" {shape_text(hidden_gates.shape)} must be three times as wide as state"
            f" {shape_text(state.shape)}."
        )
    return state


def _expand_step(gates: Tensor, hidden_gates: Tensor, state: Tensor) -> Tensor:
    r, z, n = parts_of(gates, 3)
    hidden_r, hidden_z, hidden_n = parts_of(hidden_gates, 3)
    reset = math.sigmoid(arithmetic.add(r, hidden_r))
    update = math.sigmoid(arithmetic.add(z, hidden_z))
    new = hyperbolic.tanh(arithmetic.add(n, arithmetic.mul(reset, hidden_n)))
    return arithmetic.add(new, arithmetic.mul(update, arithmetic.sub(state, new)))


@op(
    infer=_step_rule,
    kernel=expanded(_expand_step),
    lowering=Composite(_expand_step),
    category="nn",
    inputs=("gates", "hidden_gates", "state"),
    primitive="GRUStep",
)
def gru_step(gates: TensorLike, hidden_gates: TensorLike, state: TensorLike) -> Call:
    """Take one step of a GRU from its gates before their activations.

    Parameters
    ----------
    gates : Tensor
        ``[..., 3 * h]``: the input's share of reset gate, update gate and candidate.
    hidden_gates : Tensor
        ``[..., 3 * h]``: the state's share of the same.
    state : Tensor
        ``[..., h]``, the state before.

    Returns
    -------
    Tensor
        ``[..., h]``, the state after.

    Raises
    ------
    ValueError
        If the sizes do not fit.

    References
    ----------
    Cho et al., Learning Phrase Representations using RNN Encoder-Decoder, 2014.
    """
    first = as_float(gates)
    rest = [cast_to(as_float(item), first.dtype) for item in (hidden_gates, state)]
    return checked(_step_rule, (first, *rest), {})


# ---- a layer ---------------------------------------------------------------------------------


def _layer_rule(
    gates: Aval,
    state: Aval,
    weight: Aval,
    bias: Aval,
    lengths: Aval | None = None,
    *,
    reverse: bool,
    keep: bool = False,
) -> tuple[Aval, ...]:
    layer_rule("gru_layer", gates, {"state": state}, weight, lengths, 3)
    require_same_dtype("gru_layer", gates=gates, bias=bias)
    if bias.shape != (weight.shape[0],):
        raise ShapeError(
            f"gru_layer: bias {shape_text(bias.shape)} must have the shape [{weight.shape[0]}]."
        )
    output = Aval((*gates.shape[:2], weight.shape[1]), gates.dtype)
    return (output, state, *(kept_avals(output, 5) if keep else ()))


def _layer_kernel(
    gates: np.ndarray,
    state: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    lengths: np.ndarray | None = None,
    *,
    reverse: bool,
    keep: bool = False,
) -> tuple[np.ndarray, ...]:
    return run_forward("gru", gates, (state,), weight, bias, lengths, keep=keep, reverse=reverse)


def _run(*inputs: Any, reverse: bool) -> Tensors:
    gates, state, weight, bias, lengths = inputs

    def step(projected: Tensor, states: Tensors) -> Tensors:
        return (_expand_step(projected, linalg.dense(states[0], weight, bias), states[0]),)

    return unrolled(step, gates, (state,), lengths, reverse)


def _layer_grad(ctx: GradContext) -> Grads:
    return layer_gradient(ctx, 1, 4, OPS["gru_layer"], OPS["gru_layer_grad"])


@op(
    infer=_layer_rule,
    kernel=_layer_kernel,
    grad=_layer_grad,
    lowering=Host(REASON),
    category="nn",
    inputs=("gates", "state", "weight", "bias", "lengths"),
    primitive="GRULayer",
    fast=keeping_to_itself(2),
)
def gru_layer(
    gates: TensorLike,
    state: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None = None,
    lengths: TensorLike | None = None,
    reverse: bool = False,
) -> Call:
    """Run a GRU over a batch of sequences, in one direction.

    Parameters
    ----------
    gates : Tensor
        ``[steps, n, 3 * h]``: the inputs' share of reset gate, update gate and candidate before
        their activations, the inputs' biases included.
    state : Tensor
        ``[n, h]``, the state at the start.
    weight : Tensor
        ``[3 * h, h]``, the recurrent weight.
    bias : Tensor, optional
        ``[3 * h]``, added to the state's share.
    lengths : Tensor, optional
        ``[n]``, how many steps each sequence has. Later steps give zeros and keep the state.
    reverse : bool
        Whether to go from the last step to the first.

    Returns
    -------
    tuple of Tensor
        The states ``[steps, n, h]``, and the last one ``[n, h]``.

    Raises
    ------
    ValueError
        If the sizes do not fit.

    References
    ----------
    Cho et al., Learning Phrase Representations using RNN Encoder-Decoder, 2014.
    """
    if bias is None:
        recurrent = as_float(weight)
        bias = creation.zeros(recurrent.shape[:1], recurrent.dtype)
    inputs = layer_inputs((gates, state, weight, bias), lengths)
    return checked(_layer_rule, inputs, {"reverse": bool(reverse)})


def _second_grad(ctx: GradContext) -> Grads:
    reverse = ctx.attrs["reverse"]
    return second_gradient(ctx, 1, 4, lambda *inputs: _run(*inputs, reverse=reverse))


def _back_rule(
    dout: Aval, dstate: Aval, weight: Aval, slopes: Aval, *lengths: Aval, reverse: bool
) -> tuple[Aval, ...]:
    gates = Aval((*dout.shape[:2], weight.shape[0]), dout.dtype)
    return gates, gates, dstate


@op(
    infer=_back_rule,
    kernel=back_kernel("gru", 2),
    lowering=Host(REASON),
    category="gradient",
    inputs=("dout", "dstate", "weight", "slopes", "lengths"),
    primitive="GRULayerBack",
)
def gru_layer_back(*inputs: Tensor, reverse: bool) -> Call:
    """Go back through the steps of ``gru_layer``.

    Parameters
    ----------
    *inputs : Tensor
        The gradients of its two results, its weight, what it kept, and lengths if there are any.
    reverse : bool
        As there.

    Returns
    -------
    tuple of Tensor
        The gradients of the gates, of the state's share of them, and of the state at the start.
    """
    return inputs, {"reverse": reverse}


def _expand_grad(
    dout: Tensor,
    dstate: Tensor,
    gates: Tensor,
    state: Tensor,
    weight: Tensor,
    bias: Tensor,
    slopes: Tensor,
    before: Tensor,
    *lengths: Tensor,
    reverse: bool,
) -> Tensors:
    found = gru_layer_back(dout, dstate, weight, slopes, *lengths, reverse=reverse)
    dgates, dhidden, dstate = found
    return dgates, dstate, weight_gradient(dhidden, before), reduce.sum(dhidden, (0, 1))


@op(
    infer=lambda dout, dstate, gates, state, weight, bias, *kept, reverse: (
        gates, state, weight, bias,
    ),
    kernel=expanded(_expand_grad),
    grad=_second_grad,
    lowering=Composite(_expand_grad),
    category="gradient",
    inputs=("dout", "dstate", "gates", "state", "weight", "bias", "slopes", "before", "lengths"),
    primitive="GRULayerGrad",
)  # fmt: skip
def gru_layer_grad(*inputs: Tensor, reverse: bool) -> Call:
    """Return the gradients of ``gru_layer`` to gates, state, weight and bias.

    Parameters
    ----------
    *inputs : Tensor
        The gradients of its two results, its four inputs, what it kept (slopes and the states
        before the steps), and lengths if there are any.
    reverse : bool
        As there.

    Returns
    -------
    tuple of Tensor
        One for each of the four inputs, in their shapes.
    """
    return inputs, {"reverse": reverse}
