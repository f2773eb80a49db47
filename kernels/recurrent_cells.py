"""What recurrent layers do after each step's product, and before each step's on the way back.

Loop functions over the rows of a batch. On the way forward, ``sums`` holds the state's share of the
gates. What the way back needs is kept as *slopes*: each gate's derivative times what it multiplies,
so that going back is a few products, and no gate is computed twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .expressions import BOOL, INT64, DType, Expr, Var, affine, call, const, select
from .loops import Buffer, Function, Let, Loop, Statement, Store, load


@dataclass(frozen=True)
class CellKind:
    """A kind of recurrent layer: gates a unit, and slopes a unit that are kept."""

    gates: int
    slopes: int
    has_cell: bool = False
    has_bias: bool = False


KINDS: Final[Mapping[str, CellKind]] = {
    "rnn_tanh": CellKind(1, 1),
    "rnn_relu": CellKind(1, 1),
    "gru": CellKind(3, 5, has_bias=True),
    "lstm": CellKind(4, 6, has_cell=True),
}


class _Step:
    """Builds the body of one step: loads, named values and stores at unit ``j`` of row ``r``."""

    def __init__(self, dtype: DType, size: int, widths: Mapping[str, int]) -> None:
        self.dtype, self.size, self.widths = dtype, size, widths
        self.body: list[Statement] = []

    def load(self, buffer: str, block: int = 0) -> Expr:
        row, offset = self.widths[buffer], block * self.size
        index = affine(("r", row), "j", offset=offset) if row else affine("j", offset=offset)
        return load(Buffer(buffer, self.dtype), index)

    def let(self, name: str, value: Expr) -> Expr:
        self.body.append(Let(name, value))
        return Var(name, value.dtype)

    def store(self, buffer: str, value: Expr, block: int = 0) -> None:
        index = affine(("r", self.widths[buffer]), "j", offset=block * self.size)
        self.body.append(Store(buffer, index, value))


def _function(
    name: str, step: _Step, buffers: Sequence[str], ragged: bool, outer: Sequence[Statement] = ()
) -> Function:
    """Return the function of (buffers..., lengths?, rows, time) around a step's body."""
    row: list[Statement] = list(outer)
    given = [Buffer(buffer, step.dtype) for buffer in buffers]
    if ragged:
        lengths = Buffer("lengths", INT64)
        given.append(lengths)
        row.append(Let("goes_on", load(lengths, affine("r")) > Var("time")))
    row.append(Loop("j", step.size, tuple(step.body), vector=True))
    return Function(name, tuple(given), ("rows", "time"), (Loop("r", "rows", tuple(row)),))


def forward_widths(kind: str, size: int) -> dict[str, int]:
    """Return how many elements a row of each buffer of a forward step has, 0 if rows share it."""
    cell = KINDS[kind]
    return {
        "sums": cell.gates * size, "gates": cell.gates * size, "bias": 0, "output": size,
        "state": size, "cell": size, "slopes": cell.slopes * size, "before": size,
    }  # fmt: skip


def forward_step(
    name: str, kind: str, size: int, dtype: DType, ragged: bool, keep: bool
) -> Function:
    """Build (sums, gates, bias?, output, state, cell?, slopes?, before?, lengths?)."""
    step = _Step(dtype, size, forward_widths(kind, size))
    {"lstm": _lstm, "gru": _gru}.get(kind, _rnn)(step, kind, ragged, keep)
    buffers = ["sums", "gates", *(["bias"] if KINDS[kind].has_bias else []), "output", "state"]
    buffers += ["cell"] if KINDS[kind].has_cell else []
    buffers += ["slopes", "before"] if keep else []
    return _function(name, step, buffers, ragged)


def _finish(step: _Step, new: Expr, ragged: bool) -> None:
    """Store a new state: after a sequence's end its output is zero and its state stays."""
    if not ragged:
        step.store("output", new)
        step.store("state", new)
        return
    goes_on = Var("goes_on", BOOL)
    kept = step.let("kept", select(goes_on, new, Var("old", step.dtype)))
    step.store("output", select(goes_on, new, const(0, step.dtype)))
    step.store("state", kept)


def _begin(step: _Step, keep: bool) -> Expr:
    """Read the state before the step."""
    old = step.let("old", step.load("state"))
    if keep:
        step.store("before", old)
    return old


def _rest(x: Expr) -> Expr:
    """1 - x."""
    return call("sub", const(1, x.dtype), x)


def _rnn(step: _Step, kind: str, ragged: bool, keep: bool) -> None:
    _begin(step, keep)
    total = step.let("total", step.load("sums") + step.load("gates"))
    zero, one = const(0, step.dtype), const(1, step.dtype)
    if kind == "rnn_tanh":
        new = step.let("new", call("tanh", total))
        slope = _rest(new * new)
    else:
        new = step.let("new", call("maximum", total, zero))
        slope = select(new > zero, one, zero)
    if keep:
        step.store("slopes", slope)
    _finish(step, new, ragged)


def _lstm(step: _Step, kind: str, ragged: bool, keep: bool) -> None:
    _begin(step, keep)
    total = [step.load("sums", b) + step.load("gates", b) for b in range(4)]
    i = step.let("i", call("sigmoid", total[0]))
    f = step.let("f", call("sigmoid", total[1]))
    g = step.let("g", call("tanh", total[2]))
    o = step.let("o", call("sigmoid", total[3]))
    cell = step.let("held", step.load("cell"))
    added = step.let("added", i * g)
    after = step.let("after", f * cell + added)
    seen = step.let("seen", call("tanh", after))
    new = step.let("new", o * seen)
    if keep:
        slopes = (
            added * _rest(i), f * cell * _rest(f), i * _rest(g * g), new * _rest(o),
            o * _rest(seen * seen), f,
        )  # fmt: skip
        for block, slope in enumerate(slopes):
            step.store("slopes", slope, block)
    step.store("cell", select(Var("goes_on", BOOL), after, cell) if ragged else after)
    _finish(step, new, ragged)


def _gru(step: _Step, kind: str, ragged: bool, keep: bool) -> None:
    old = _begin(step, keep)
    hidden = [step.load("sums", b) + step.load("bias", b) for b in range(3)]
    r = step.let("reset", call("sigmoid", hidden[0] + step.load("gates", 0)))
    z = step.let("update", call("sigmoid", hidden[1] + step.load("gates", 1)))
    own = step.let("own", hidden[2])
    n = step.let("candidate", call("tanh", r * own + step.load("gates", 2)))
    away = step.let("away", z * (old - n))
    if keep:
        slope = step.let("slope", _rest(z) * _rest(n * n))
        slopes = (slope * own * r * _rest(r), away * _rest(z), slope, r, z)
        for block, value in enumerate(slopes):
            step.store("slopes", value, block)
    _finish(step, step.let("new", n + away), ragged)


def backward_widths(kind: str, size: int) -> dict[str, int]:
    """Return how many elements a row of each buffer of a step back has."""
    cell = KINDS[kind]
    gates = cell.gates * size
    return {
        "dout": size, "slopes": cell.slopes * size, "dgates": gates, "dhidden": gates,
        "dstate": size, "dcell": size,
    }  # fmt: skip


def backward_step(name: str, kind: str, size: int, dtype: DType, ragged: bool) -> Function:
    """Build (dout, slopes, dgates, dhidden?, dstate, dcell?, lengths?).

    The state's gradient is left as far as it does not come through the product: the product of
    ``dhidden`` (else ``dgates``) with the weight is to be added.
    """
    step = _Step(dtype, size, backward_widths(kind, size))
    total = step.let("total", step.load("dout") + step.load("dstate"))
    zero = const(0, dtype)

    def chosen(value: Expr, otherwise: Expr) -> Expr:
        return select(Var("goes_on", BOOL), value, otherwise) if ragged else value

    buffers = ["dout", "slopes", "dgates", "dstate"]
    left: Expr = zero
    if kind == "lstm":
        buffers.append("dcell")
        old = step.load("dcell")
        into = step.let("into", old + total * step.load("slopes", 4))
        parts = [into, into, into, total]
        grads = [part * step.load("slopes", b) for b, part in enumerate(parts)]
        step.store("dcell", chosen(into * step.load("slopes", 5), old))
    elif kind == "gru":
        buffers.insert(3, "dhidden")
        grads = [step.let(f"grad{b}", total * step.load("slopes", b)) for b in range(3)]
        hidden = [*grads[:2], grads[2] * step.load("slopes", 3)]
        for block, grad in enumerate(hidden):
            step.store("dhidden", chosen(grad, zero), block)
        left = total * step.load("slopes", 4)
    else:
        grads = [total * step.load("slopes")]
    for block, grad in enumerate(grads):
        step.store("dgates", chosen(grad, zero), block)
    step.store("dstate", chosen(left, step.load("dstate")))
    return _function(name, step, buffers, ragged)
