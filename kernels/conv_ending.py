"""What follows a convolution pixel by pixel, done while its sums are in registers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from .emitter import Emitter, Value, literal
from .expressions import Call, Const, Expr, Var, walk
from .loop_text import expression_text
from .loops import LoopError
from .scalar_ops import HEAVY, scalar_op

Reach = Literal["image", "filter", "one"]
"""Whether a number belongs to a pixel of the output, to a filter, or to all of them."""

SUM: Final = "sum"
"""The variable that stands for the convolution's result."""
MOST_CALLS: Final = 12
"""Operations of an ending: it is printed for every vector of a tile."""


@dataclass(frozen=True)
class Ending:
    """An expression of `SUM` and of variables `x0`, `x1`, …, which are buffers of that reach."""

    expr: Expr
    reaches: tuple[Reach, ...]

    @property
    def text(self) -> str:
        """A canonical description."""
        return f"{expression_text(self.expr)} of {self.reaches}"


def is_short(expr: Expr) -> bool:
    """Return whether an expression is worth printing for every vector of a tile."""
    calls = [node.op for node in walk(expr) if isinstance(node, Call)]
    return len(calls) <= MOST_CALLS and not HEAVY.intersection(calls)


def print_ending(emit: Emitter, ending: Ending, names: Mapping[str, Value]) -> Value:
    """Print an ending, given the values of its variables."""
    known: dict[int, Value] = {}
    for node in walk(ending.expr):
        match node:
            case Const(value, dtype):
                found = literal(value, dtype)
            case Var(name):
                found = names[name]
            case Call(op, args, dtype):
                found = scalar_op(emit, op, [known[id(a)] for a in args], dtype)
            case _:
                raise LoopError(f"{type(node).__name__} has no place in a convolution's ending")
        known[id(node)] = found
    return known[id(ending.expr)]
