"""A plain recurrent layer in one direction, as one op."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.blas_threads import matmul as multiply
from ..shape import Aval
from ..tensor import Tensor
from . import activation, arithmetic, hyperbolic, linalg
from .cast import TensorLike
from .recurrent import (
    REASON,
    Tensors,
    layer_gradient,
    layer_inputs,
    layer_rule,
    second_gradient,
    split_inputs,
    states_before,
    time_order,
    unrolled,
    valid_steps,
    weight_gradient,
)
from .registry import Call, GradContext, Grads, Host, checked, op

NONLINEARITIES = ("tanh", "relu")


def check_nonlinearity(owner: str, nonlinearity: Any) -> str:
    """Return the name of what follows each step.

    Raises
    ------
    ValueError
        If it is neither ``tanh`` nor ``relu``.
    """
    if nonlinearity not in NONLINEARITIES:
        raise ValueError(f"{owner}: nonlinearity must be 'tanh' or 'relu', not {nonlinearity!r}.")
    return nonlinearity


def _layer_rule(
    gates: Aval,
    state: Aval,
    weight: Aval,
    lengths: Aval | None = None,
    *,
    nonlinearity: str,
    reverse: bool,
) -> tuple[Aval, ...]:
    layer_rule("rnn_layer", gates, {"state": state}, weight, lengths, 1)
    return Aval((*gates.shape[:2], weight.shape[1]), gates.dtype), state


def _layer_kernel(
    gates: np.ndarray,
    state: np.ndarray,
    weight: np.ndarray,
    lengths: np.ndarray | None = None,
    *,
    nonlinearity: str,
    reverse: bool,
) -> tuple[np.ndarray, ...]:
    output = np.empty_like(gates)
    valid = valid_steps(len(gates), lengths)
    across = np.ascontiguousarray(weight.T)
    for at in time_order(len(gates), reverse):
        after = multiply(state, across)
        after += gates[at]
        if nonlinearity == "tanh":
            np.tanh(after, out=after)
        else:
            np.maximum(after, 0, out=after)
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
    output: np.ndarray,
    lengths: np.ndarray | None = None,
    *,
    nonlinearity: str,
    reverse: bool,
) -> tuple[np.ndarray, ...]:
    valid = valid_steps(len(output), lengths)
    before = states_before(output, state, valid, reverse)
    if nonlinearity == "tanh":
        dgates = 1 - output * output
    else:
        dgates = (output > 0).astype(output.dtype)
    if valid is not None:
        dgates *= valid
    for at in reversed(time_order(len(output), reverse)):
        now = dgates[at]
        now *= dout[at] + dstate
        passed = multiply(now, weight)
        dstate = passed if valid is None else np.where(valid[at], passed, dstate)
    return dgates, np.array(dstate), weight_gradient(dgates, before)


def _run(*inputs: Any, nonlinearity: str, reverse: bool) -> Tensors:
    gates, state, weight, lengths = inputs
    across = linalg.transposed(weight)
    follow = hyperbolic.tanh if nonlinearity == "tanh" else activation.relu

    def step(projected: Tensor, states: Tensors) -> Tensors:
        return (follow(arithmetic.add(projected, linalg.matmul(states[0], across))),)

    return unrolled(step, gates, (state,), lengths, reverse)


def _layer_grad(ctx: GradContext) -> Grads:
    return layer_gradient(ctx, 1, 3, rnn_layer_grad)


@op(
    infer=_layer_rule,
    kernel=_layer_kernel,
    grad=_layer_grad,
    lowering=Host(REASON),
    category="nn",
    inputs=("gates", "state", "weight", "lengths"),
    primitive="RNNLayer",
)
def rnn_layer(
    gates: TensorLike,
    state: TensorLike,
    weight: TensorLike,
    lengths: TensorLike | None = None,
    nonlinearity: str = "tanh",
    reverse: bool = False,
) -> Call:
    """Run a plain recurrent layer over a batch of sequences, in one direction.

    Parameters
    ----------
    gates : Tensor
        ``[steps, n, h]``: the inputs' share of each step's sum, biases included.
    state : Tensor
        ``[n, h]``, the state at the start.
    weight : Tensor
        ``[h, h]``, the recurrent weight.
    lengths : Tensor, optional
        ``[n]``, how many steps each sequence has. Later steps give zeros and keep the state.
    nonlinearity : {"tanh", "relu"}
        What follows the sum.
    reverse : bool
        Whether to go from the last step to the first.

    Returns
    -------
    tuple of Tensor
        The states ``[steps, n, h]``, and the last one ``[n, h]``.

    Raises
    ------
    ValueError
        If the sizes do not fit, or the nonlinearity is another one.

    References
    ----------
    Elman, Finding Structure in Time, 1990.
    """
    inputs = layer_inputs((gates, state, weight), lengths)
    follow = check_nonlinearity("rnn_layer", nonlinearity)
    return checked(_layer_rule, inputs, {"nonlinearity": follow, "reverse": bool(reverse)})


def _second_grad(ctx: GradContext) -> Grads:
    return second_gradient(ctx, 1, 3, lambda *inputs: _run(*inputs, **ctx.attrs))


@op(
    infer=lambda dout, dstate, gates, state, weight, output, *lengths, **attrs: (
        gates, state, weight,
    ),
    kernel=_grad_kernel,
    grad=_second_grad,
    lowering=Host(REASON),
    category="gradient",
    inputs=("dout", "dstate", "gates", "state", "weight", "output", "lengths"),
    primitive="RNNLayerGrad",
)  # fmt: skip
def rnn_layer_grad(
    dout: Tensor, dstate: Tensor, inputs: Tensors, output: Tensor, attrs: Any
) -> Call:
    """Return the gradients of ``rnn_layer`` to gates, state and weight.

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
    floats, lengths = split_inputs(inputs, 3)
    return (dout, dstate, *floats, output, *lengths), dict(attrs)
