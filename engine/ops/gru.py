"""GRU: one step as a composite, and a whole layer in one direction as one op."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.blas_threads import matmul as multiply
from ..shape import Aval, ShapeError, shape_text
from ..tensor import Tensor
from . import arithmetic, creation, hyperbolic, linalg, math
from .cast import TensorLike, as_float, cast_to
from .expansion import expanded
from .recurrent import (
    REASON,
    Tensors,
    blocks_of,
    layer_gradient,
    layer_inputs,
    layer_rule,
    parts_of,
    projected,
    second_gradient,
    split_inputs,
    states_before,
    time_order,
    unrolled,
    valid_steps,
    weight_gradient,
)
from .registry import Call, Composite, GradContext, Grads, Host, checked, op
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
) -> tuple[Aval, ...]:
    layer_rule("gru_layer", gates, {"state": state}, weight, lengths, 3)
    require_same_dtype("gru_layer", gates=gates, bias=bias)
    if bias.shape != (weight.shape[0],):
        raise ShapeError(
            f"gru_layer: bias {shape_text(bias.shape)} must have the shape [{weight.shape[0]}]."
        )
    return Aval((*gates.shape[:2], weight.shape[1]), gates.dtype), state


def _sigmoid(gates: np.ndarray) -> None:
    """Activate in place; sigmoid is tanh of the half, which cannot overflow."""
    gates *= 0.5
    np.tanh(gates, out=gates)
    gates *= 0.5
    gates += 0.5


def _layer_kernel(
    gates: np.ndarray,
    state: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    lengths: np.ndarray | None = None,
    *,
    reverse: bool,
) -> tuple[np.ndarray, ...]:
    steps, batch, size = *gates.shape[:2], weight.shape[1]
    output = np.empty((steps, batch, size), gates.dtype)
    valid = valid_steps(steps, lengths)
    across = np.ascontiguousarray(weight.T)
    for at in time_order(steps, reverse):
        hidden = multiply(state, across)
        hidden += bias
        both = hidden[:, : 2 * size]
        both += gates[at, :, : 2 * size]
        _sigmoid(both)
        new = hidden[:, 2 * size :]
        new *= both[:, :size]
        new += gates[at, :, 2 * size :]
        np.tanh(new, out=new)
        after = state - new
        after *= both[:, size:]
        after += new
        if valid is None:
            output[at], state = after, after
        else:
            output[at] = np.where(valid[at], after, 0)
            state = np.where(valid[at], after, state)
    return output, np.array(state)


def _grad_kernel(
    dout: np.ndarray,
    dstate: np.ndarray,
    gates: np.ndarray,
    state: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    output: np.ndarray,
    lengths: np.ndarray | None = None,
    *,
    reverse: bool,
) -> tuple[np.ndarray, ...]:
    steps, batch, size = output.shape
    valid = valid_steps(steps, lengths)
    before = states_before(output, state, valid, reverse)
    hidden = projected(before, weight)
    hidden += bias
    both = hidden[..., : 2 * size] + gates[..., : 2 * size]
    _sigmoid(both)
    r, z = blocks_of(both, 2)
    hidden_n = hidden[..., 2 * size :]
    n = np.tanh(r * hidden_n + gates[..., 2 * size :])
    # What the state's gradient is multiplied by: for each gate, and on the straight way.
    into_n = (1 - z) * (1 - n * n)
    grads = np.empty((steps, batch, 3, size), gates.dtype)
    grads[:, :, 0] = into_n * hidden_n * r * (1 - r)
    grads[:, :, 1] = (before - n) * z * (1 - z)
    grads[:, :, 2] = into_n * r
    if valid is not None:
        grads *= valid[:, :, None]
        into_n *= valid
    dhere = np.empty_like(output)
    for at in reversed(time_order(steps, reverse)):
        total = np.add(dout[at], dstate, out=dhere[at])
        now = grads[at]
        now *= total[:, None]
        passed = multiply(now.reshape(batch, 3 * size), weight)
        passed += total * z[at]
        dstate = passed if valid is None else np.where(valid[at], passed, dstate)
    dhidden = grads.reshape(steps, batch, 3 * size)
    dgates = dhidden.copy()
    dgates[..., 2 * size :] = into_n * dhere
    dbias = dhidden.sum((0, 1))
    return dgates, np.array(dstate), weight_gradient(dhidden, before), dbias


def _run(*inputs: Any, reverse: bool) -> Tensors:
    gates, state, weight, bias, lengths = inputs

    def step(projected: Tensor, states: Tensors) -> Tensors:
        return (_expand_step(projected, linalg.dense(states[0], weight, bias), states[0]),)

    return unrolled(step, gates, (state,), lengths, reverse)


def _layer_grad(ctx: GradContext) -> Grads:
    return layer_gradient(ctx, 1, 4, gru_layer_grad)


@op(
    infer=_layer_rule,
    kernel=_layer_kernel,
    grad=_layer_grad,
    lowering=Host(REASON),
    category="nn",
    inputs=("gates", "state", "weight", "bias", "lengths"),
    primitive="GRULayer",
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


@op(
    infer=lambda dout, dstate, gates, state, weight, bias, output, *lengths, reverse: (
        gates, state, weight, bias,
    ),
    kernel=_grad_kernel,
    grad=_second_grad,
    lowering=Host(REASON),
    category="gradient",
    inputs=("dout", "dstate", "gates", "state", "weight", "bias", "output", "lengths"),
    primitive="GRULayerGrad",
)  # fmt: skip
def gru_layer_grad(
    dout: Tensor, dstate: Tensor, inputs: Tensors, output: Tensor, attrs: Any
) -> Call:
    """Return the gradients of ``gru_layer`` to gates, state, weight and bias.

    Parameters
    ----------
    dout, dstate : Tensor
        The gradients of its two results.
    inputs : tuple of Tensor
        Its inputs.
    output : Tensor
        Its first result.
    attrs : dict
        Its attributes.

    Returns
    -------
    tuple of Tensor
        One for each, in their shapes.
    """
    floats, lengths = split_inputs(inputs, 4)
    return (dout, dstate, *floats, output, *lengths), dict(attrs)
