"""LSTM: one step as a composite, and a whole layer in one direction as one op."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.blas_threads import matmul as multiply
from ..shape import Aval, ShapeError, shape_text
from ..tensor import Tensor
from . import arithmetic, hyperbolic, linalg, math
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
) -> tuple[Aval, ...]:
    layer_rule("lstm_layer", gates, {"state": state, "cell": cell}, weight, lengths, 4)
    return Aval((*gates.shape[:2], weight.shape[1]), gates.dtype), state, cell


def _scales(size: int, dtype: np.dtype[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return factors and summands by which tanh becomes sigmoid, but for the candidate's gate."""
    scale, shift = np.full(4 * size, 0.5, dtype), np.full(4 * size, 0.5, dtype)
    scale[2 * size : 3 * size], shift[2 * size : 3 * size] = 1.0, 0.0
    return scale, shift


def _activate(gates: np.ndarray, scales: tuple[np.ndarray, np.ndarray]) -> None:
    """Activate the four gates in place: three sigmoids, as tanh of the half, and one tanh."""
    gates *= scales[0]
    np.tanh(gates, out=gates)
    gates *= scales[0]
    gates += scales[1]


def _layer_kernel(
    gates: np.ndarray,
    state: np.ndarray,
    cell: np.ndarray,
    weight: np.ndarray,
    lengths: np.ndarray | None = None,
    *,
    reverse: bool,
) -> tuple[np.ndarray, ...]:
    steps = gates.shape[0]
    output = np.empty((*gates.shape[:2], weight.shape[1]), gates.dtype)
    valid = valid_steps(steps, lengths)
    across = np.ascontiguousarray(weight.T)
    scales = _scales(weight.shape[1], gates.dtype)
    for at in time_order(steps, reverse):
        now = multiply(state, across)
        now += gates[at]
        _activate(now, scales)
        i, f, g, o = blocks_of(now, 4)
        g *= i
        after = f * cell
        after += g
        new = np.tanh(after)
        new *= o
        if valid is None:
            output[at], state, cell = new, new, after
        else:
            output[at] = np.where(valid[at], new, 0)
            state = np.where(valid[at], new, state)
            cell = np.where(valid[at], after, cell)
    return output, np.array(state), np.array(cell)


def _cells_before(
    gates: np.ndarray, cell: np.ndarray, valid: np.ndarray | None, reverse: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cell state before each step, and tanh of it after."""
    i, f, g, _ = blocks_of(gates, 4)
    added = i * g
    before, after = np.empty_like(added), np.empty_like(added)
    for at in time_order(len(gates), reverse):
        before[at] = cell
        np.multiply(f[at], cell, out=after[at])
        after[at] += added[at]
        cell = after[at] if valid is None else np.where(valid[at], after[at], cell)
    return before, np.tanh(after, out=after)


def _grad_kernel(
    dout: np.ndarray,
    dstate: np.ndarray,
    dcell: np.ndarray,
    gates: np.ndarray,
    state: np.ndarray,
    cell: np.ndarray,
    weight: np.ndarray,
    output: np.ndarray,
    lengths: np.ndarray | None = None,
    *,
    reverse: bool,
) -> tuple[np.ndarray, ...]:
    steps, batch, size = output.shape
    valid = valid_steps(steps, lengths)
    before = states_before(output, state, valid, reverse)
    active = projected(before, weight)
    active += gates
    _activate(active, _scales(size, gates.dtype))
    cells, slope = _cells_before(active, cell, valid, reverse)
    i, f, g, o = blocks_of(active, 4)
    # What each gate's gradient is multiplied by: the first three by dcell, the last by dstate.
    grads = np.empty((steps, batch, 4, size), gates.dtype)
    grads[:, :, 0] = g * i * (1 - i)
    grads[:, :, 1] = cells * f * (1 - f)
    grads[:, :, 2] = i * (1 - g * g)
    grads[:, :, 3] = slope * o * (1 - o)
    into_cell = o * (1 - slope * slope)
    keeps = f
    if valid is not None:
        grads *= valid[:, :, None]
        into_cell *= valid
        keeps = np.where(valid, f, 1)
    for at in reversed(time_order(steps, reverse)):
        dhere = dout[at] + dstate if valid is None else np.where(valid[at], dout[at] + dstate, 0)
        dcell = dcell + dhere * into_cell[at]
        now = grads[at]
        now[:, :3] *= dcell[:, None]
        now[:, 3] *= dhere
        passed = multiply(now.reshape(batch, 4 * size), weight)
        dstate = passed if valid is None else np.where(valid[at], passed, dstate)
        dcell = dcell * keeps[at]
    dgates = grads.reshape(steps, batch, 4 * size)
    return dgates, np.array(dstate), dcell, weight_gradient(dgates, before)


def _run(*inputs: Any, reverse: bool) -> Tensors:
    gates, state, cell, weight, lengths = inputs
    across = linalg.transposed(weight)

    def step(projected: Tensor, states: Tensors) -> Tensors:
        both = arithmetic.add(projected, linalg.matmul(states[0], across))
        return _expand_step(both, states[1])

    return unrolled(step, gates, (state, cell), lengths, reverse)


def _layer_grad(ctx: GradContext) -> Grads:
    return layer_gradient(ctx, 2, 4, lstm_layer_grad)


@op(
    infer=_layer_rule,
    kernel=_layer_kernel,
    grad=_layer_grad,
    lowering=Host(REASON),
    category="nn",
    inputs=("gates", "state", "cell", "weight", "lengths"),
    primitive="LSTMLayer",
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
    infer=lambda dout, dstate, dcell, gates, state, cell, weight, output, *lengths, reverse: (
        gates, state, cell, weight,
    ),
    kernel=_grad_kernel,
    grad=_second_grad,
    lowering=Host(REASON),
    category="gradient",
    inputs=(
        "dout", "dstate", "dcell", "gates", "state", "cell", "weight", "output", "lengths",
    ),
    primitive="LSTMLayerGrad",
)  # fmt: skip
def lstm_layer_grad(
    dout: Tensor, dstate: Tensor, dcell: Tensor, inputs: Tensors, output: Tensor, attrs: Any
) -> Call:
    """Return the gradients of ``lstm_layer`` to gates, states and weight.

    Parameters
    ----------
    dout, dstate, dcell : Tensor
        The gradients of its three results.
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
    return (dout, dstate, dcell, *floats, output, *lengths), dict(attrs)
