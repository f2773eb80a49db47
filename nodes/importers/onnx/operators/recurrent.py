"""RNN, LSTM and GRU over whole sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .....engine import ops
from .....engine.tensor import Tensor, wrap
from ..call import Call
from ..registry import operator

_DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
Step = Callable[..., tuple[Tensor, ...]]


@operator("RNN", "GRU", "LSTM")
def recurrent(call: Call, x: Tensor, w: Tensor, r: Tensor, *_: Any) -> tuple[Any, ...]:
    """Run over time, in one direction or both; the outputs are all states and the last ones."""
    if call.attr("layout", 0):
        x = ops.swapaxes(x, 0, 1)
    steps, batch = x.shape[:2]
    directions = w.shape[0]
    lengths = call.array(4)
    outputs, last, cells = [], [], []
    for d in range(directions):
        backward = d == 1 or call.attr("direction", "forward") == "reverse"
        states = [_initial(call, 5, d, batch, r)]
        if call.op_type == "LSTM":
            states.append(_initial(call, 6, d, batch, r))
        order = range(steps)[::-1] if backward else range(steps)
        rows: dict[int, Tensor] = {}
        step = _step_of(call, w[d], r[d], d)
        for t in order:
            new = step(x[t], *states)
            if lengths is not None:
                new = tuple(
                    _kept(fresh, old, lengths, t) for fresh, old in zip(new, states, strict=True)
                )
            states = list(new)
            rows[t] = states[0] if lengths is None else _masked(states[0], lengths, t)
        outputs.append(ops.stack([rows[t] for t in range(steps)], 0))
        last.append(states[0])
        cells.append(states[-1])
    y = ops.stack(outputs, 1)
    ends = [ops.stack(last, 0)]
    if call.op_type == "LSTM":
        ends.append(ops.stack(cells, 0))
    if call.attr("layout", 0):
        y = ops.transpose(y, (2, 0, 1, 3))
        ends = [ops.swapaxes(end, 0, 1) for end in ends]
    return (y, *ends)


def _initial(call: Call, position: int, d: int, batch: int, r: Tensor) -> Tensor:
    if not call.given(position):
        return ops.zeros((batch, r.shape[-1]), r.dtype)
    state = call.inputs[position]
    return state[:, d] if call.attr("layout", 0) else state[d]


def _alive(lengths: np.ndarray, t: int) -> Tensor:
    return wrap((t < lengths).reshape(-1, 1))


def _kept(new: Tensor, old: Tensor, lengths: np.ndarray, t: int) -> Tensor:
    return ops.where(_alive(lengths, t), new, old)


def _masked(state: Tensor, lengths: np.ndarray, t: int) -> Tensor:
    return ops.where(_alive(lengths, t), state, ops.zeros_like(state))


def _activations(call: Call, d: int) -> list[Callable[[Tensor], Tensor]]:
    names = call.attr("activations") or _DEFAULTS[call.op_type] * 2
    count = len(_DEFAULTS[call.op_type])
    alphas, betas = call.attr("activation_alpha") or [], call.attr("activation_beta") or []
    found = []
    for i, name in enumerate(names[d * count : (d + 1) * count]):
        place = d * count + i
        alpha = alphas[place] if place < len(alphas) else None
        beta = betas[place] if place < len(betas) else None
        found.append(_activation(call, name, alpha, beta))
    return found


def _activation(call: Call, name: str, alpha: Any, beta: Any) -> Callable[[Tensor], Tensor]:
    def or_default(value: Any, default: float) -> float:
        return default if value is None else value

    table: dict[str, Callable[[Tensor], Tensor]] = {
        "tanh": ops.tanh,
        "sigmoid": ops.sigmoid,
        "relu": ops.relu,
        "softsign": lambda x: x / (ops.abs(x) + 1.0),
        "softplus": ops.softplus,
        "affine": lambda x: x * or_default(alpha, 1.0) + or_default(beta, 0.0),
        "leakyrelu": lambda x: ops.leaky_relu(x, or_default(alpha, 0.01)),
        "thresholdedrelu": lambda x: ops.where(x > or_default(alpha, 1.0), x, ops.zeros_like(x)),
        "scaledtanh": lambda x: ops.tanh(x * or_default(beta, 1.0)) * or_default(alpha, 1.0),
        "hardsigmoid": lambda x: ops.clamp(
            x * or_default(alpha, 0.2) + or_default(beta, 0.5), 0.0, 1.0
        ),
        "elu": lambda x: ops.where(
            x < 0, (ops.exp(ops.minimum(x, 0.0)) - 1.0) * or_default(alpha, 1.0), x
        ),
    }
    if name.lower() not in table:
        raise call.refuse(f"the activation {name!r} is not known.")
    return table[name.lower()]


def _step_of(call: Call, w: Tensor, r: Tensor, d: int) -> Step:
    """Return the function of one time step of one direction."""
    hidden, gates = r.shape[-1], _GATES[call.op_type]
    functions = _activations(call, d)
    clip = call.attr("clip")
    bias = call.inputs[3][d] if call.given(3) else ops.zeros((2 * gates * hidden,), w.dtype)
    wb, rb = bias[: gates * hidden], bias[gates * hidden :]

    def bounded(value: Tensor) -> Tensor:
        return value if clip is None else ops.clamp(value, -clip, clip)

    def part(value: Tensor, i: int) -> Tensor:
        return value[..., i * hidden : (i + 1) * hidden]

    def rnn(x: Tensor, h: Tensor) -> tuple[Tensor, ...]:
        total = ops.matmul(x, w.T) + ops.matmul(h, r.T) + wb + rb
        return (functions[0](bounded(total)),)

    def gru(x: Tensor, h: Tensor) -> tuple[Tensor, ...]:
        f, g = functions
        left, right = ops.matmul(x, w.T) + wb, ops.matmul(h, r.T) + rb
        z = f(bounded(part(left, 0) + part(right, 0)))
        reset = f(bounded(part(left, 1) + part(right, 1)))
        if call.attr("linear_before_reset", 0):
            new = part(left, 2) + reset * part(right, 2)
        else:
            new = part(left, 2) + ops.matmul(reset * h, r[2 * hidden :].T) + rb[2 * hidden :]
        n = g(bounded(new))
        return ((1.0 - z) * n + z * h,)

    def lstm(x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, ...]:
        f, g, k = functions
        total = ops.matmul(x, w.T) + ops.matmul(h, r.T) + wb + rb
        peep = call.inputs[7][d] if call.given(7) else None
        i, o, forget, new = (part(total, n) for n in range(4))
        if peep is not None:
            i, forget = i + part(peep, 0) * c, forget + part(peep, 2) * c
        gate_i = f(bounded(i))
        gate_f = 1.0 - gate_i if call.attr("input_forget", 0) else f(bounded(forget))
        state = gate_f * c + gate_i * g(bounded(new))
        o = o if peep is None else o + part(peep, 1) * state
        return f(bounded(o)) * k(state), state

    return {"RNN": rnn, "GRU": gru, "LSTM": lstm}[call.op_type]
