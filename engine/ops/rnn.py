"""A plain recurrent layer in one direction, as one op."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.recurrent import run_forward
from ..shape import Aval
from ..tensor import Tensor
from . import activation, arithmetic, hyperbolic, linalg
from .cast import TensorLike
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
    second_gradient,
    unrolled,
    weight_gradient,
)
from .registry import OPS, Call, Composite, GradContext, Grads, Host, checked, op

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
    keep: bool = False,
) -> tuple[Aval, ...]:
    layer_rule("rnn_layer", gates, {"state": state}, weight, lengths, 1)
    output = Aval((*gates.shape[:2], weight.shape[1]), gates.dtype)
    return (output, state, *(kept_avals(output, 1) if keep else ()))


def _layer_kernel(
    gates: np.ndarray,
    state: np.ndarray,
    weight: np.ndarray,
    lengths: np.ndarray | None = None,
    *,
    nonlinearity: str,
    reverse: bool,
    keep: bool = False,
) -> tuple[np.ndarray, ...]:
    kind = f"rnn_{nonlinearity}"
    return run_forward(kind, gates, (state,), weight, None, lengths, keep=keep, reverse=reverse)


def _run(*inputs: Any, nonlinearity: str, reverse: bool) -> Tensors:
    gates, state, weight, lengths = inputs
    across = linalg.transposed(weight)
    follow = hyperbolic.tanh if nonlinearity == "tanh" else activation.relu

    def step(projected: Tensor, states: Tensors) -> Tensors:
        return (follow(arithmetic.add(projected, linalg.matmul(states[0], across))),)

    return unrolled(step, gates, (state,), lengths, reverse)


def _layer_grad(ctx: GradContext) -> Grads:
    return layer_gradient(ctx, 1, 3, OPS["rnn_layer"], OPS["rnn_layer_grad"])


@op(
    infer=_layer_rule,
    kernel=_layer_kernel,
    grad=_layer_grad,
    lowering=Host(REASON),
    category="nn",
    inputs=("gates", "state", "weight", "lengths"),
    primitive="RNNLayer",
    fast=keeping_to_itself(2),
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
    infer=lambda dout, dstate, weight, slopes, *lengths, nonlinearity, reverse: (dout, dstate),
    kernel=back_kernel("rnn", 2),
    lowering=Host(REASON),
    category="gradient",
    inputs=("dout", "dstate", "weight", "slopes", "lengths"),
    primitive="RNNLayerBack",
)
def rnn_layer_back(*inputs: Tensor, nonlinearity: str, reverse: bool) -> Call:
    """Go back through the steps of ``rnn_layer``.

    Parameters
    ----------
    *inputs : Tensor
        The gradients of its two results, its weight, what it kept, and lengths if there are any.
    nonlinearity : str
        As there.
    reverse : bool
        As there.

    Returns
    -------
    tuple of Tensor
        The gradients of gates and state at the start.
    """
    return inputs, {"nonlinearity": nonlinearity, "reverse": reverse}


def _expand_grad(
    dout: Tensor,
    dstate: Tensor,
    gates: Tensor,
    state: Tensor,
    weight: Tensor,
    slopes: Tensor,
    before: Tensor,
    *lengths: Tensor,
    **attrs: Any,
) -> Tensors:
    found = rnn_layer_back(dout, dstate, weight, slopes, *lengths, **attrs)
    return (*found, weight_gradient(found[0], before))


@op(
    infer=lambda dout, dstate, gates, state, weight, *kept, **attrs: (gates, state, weight),
    kernel=expanded(_expand_grad),
    grad=_second_grad,
    lowering=Composite(_expand_grad),
    category="gradient",
    inputs=("dout", "dstate", "gates", "state", "weight", "slopes", "before", "lengths"),
    primitive="RNNLayerGrad",
)
def rnn_layer_grad(*inputs: Tensor, nonlinearity: str, reverse: bool) -> Call:
    """Return the gradients of ``rnn_layer`` to gates, state and weight.

    Parameters
    ----------
    *inputs : Tensor
        The gradients of its two results, its three inputs, what it kept (slopes and the states
        before the steps), and lengths if there are any.
    nonlinearity : str
        As there.
    reverse : bool
        As there.

    Returns
    -------
    tuple of Tensor
        One for each of the three inputs, in their shapes.
    """
    return inputs, {"nonlinearity": nonlinearity, "reverse": reverse}
