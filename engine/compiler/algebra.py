"""The algebra of ops: what equals something simpler, bit for bit as NumPy computes it.

A rule takes the walk and a node whose inputs are simplified already, and returns the value that
the node's only output equals, or None. It may write nodes by ``walk.emit``, which are simplified in
turn. Signs of zeros, NaN and infinities count: ``x - x`` and ``0 * x`` are 0 for integers alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..ops.registry import OPS, Pointwise
from ..shape import Aval
from .algebra_pieces import put_together
from .algebra_views import VIEW_RULES, without_broadcasts
from .casts import shorter_cast
from .graph import Node, Value

if TYPE_CHECKING:
    from .simplify import Rewriter

Rule = Callable[["Rewriter", Node], "Value | None"]


def rules_of(node: Node) -> Sequence[Rule]:
    """Return the rules that may apply to a node, in the order in which they are tried."""
    if len(node.outputs) != 1:
        return ()
    found = (*RULES.get(node.op.name, ()), *VIEW_RULES.get(node.op.name, ()))
    broadcasts = isinstance(node.op.lowering, Pointwise) and len(node.inputs) > 1
    return (*found, without_broadcasts) if broadcasts else found


def _is_float(value: Value) -> bool:
    return value.aval.dtype.is_float


def _is_whole(value: Value) -> bool:
    return value.aval.dtype.is_int


@dataclass(frozen=True)
class Neutral:
    """An operand that leaves the other as it is: where it may stand and what it must be.

    ``sign`` is what a zero's sign must be among floats: ``-0.0`` leaves every sum as it is, ``0.0``
    turns ``-0.0`` into itself.
    """

    positions: tuple[int, ...]
    number: float
    sign: float | None = None

    def __call__(self, walk: Rewriter, node: Node) -> Value | None:
        for position in self.positions:
            kept = node.inputs[1 - position]
            number = walk.uniform(node.inputs[position])
            if number is None or kept.aval != node.outputs[0].aval:
                continue
            if self._holds(number, _is_float(kept)):
                return kept
        return None

    def _holds(self, number: float, is_float: bool) -> bool:
        if number != self.number or isinstance(number, bool):
            return False
        return not is_float or self.sign is None or math.copysign(1.0, number) == self.sign


def _absorbed(walk: Rewriter, node: Node) -> Value | None:
    """``0 * x`` is 0 among integers, ``x and False`` is False, ``x or True`` is True."""
    wanted = node.op.name == "logical_or"
    if _is_float(node.outputs[0]):
        return None
    numbers = [number for v in node.inputs if (number := walk.uniform(v)) is not None]
    if not any(bool(number) is wanted for number in numbers):
        return None
    return _filled(walk, node, node.outputs[0].aval, int(wanted))


def _kept_truth(walk: Rewriter, node: Node) -> Value | None:
    """``x and True`` and ``x or False`` are x."""
    wanted = node.op.name == "logical_and"
    for value, other in (node.inputs, node.inputs[::-1]):
        number = walk.uniform(value)
        if number is not None and bool(number) is wanted and other.aval == node.outputs[0].aval:
            return other
    return None


def _filled(walk: Rewriter, node: Node, aval: Aval, number: float) -> Value:
    attrs = {"size": tuple(aval.shape), "fill_value": number, "dtype": aval.dtype}
    return walk.emit(OPS["full"], (), node, **attrs)


def _twice(walk: Rewriter, node: Node) -> Value | None:
    """The larger, the smaller, both and either of a value and itself are that value."""
    first, second = node.inputs
    return first if first is second and first.aval == node.outputs[0].aval else None


def _with_itself(number: int) -> Rule:
    """Return the rule of what whole numbers give with themselves; NaN equals nothing."""

    def rule(walk: Rewriter, node: Node) -> Value | None:
        first, second = node.inputs
        whole = first is second and _is_whole(first)
        return _filled(walk, node, node.outputs[0].aval, number) if whole else None

    return rule


def _again(walk: Rewriter, node: Node) -> Value | None:
    """The relu of a relu and the absolute value of an absolute value are that value."""
    inner = walk.producer(node.inputs[0], node.op.name)
    return None if inner is None else inner.outputs[0]


def _undone(walk: Rewriter, node: Node) -> Value | None:
    """Two turns of sign, or of truth, are none."""
    inner = walk.producer(node.inputs[0], node.op.name)
    same = inner is not None and inner.inputs[0].aval == node.outputs[0].aval
    return inner.inputs[0] if inner is not None and same else None


def _sign_goes(walk: Rewriter, node: Node) -> Value | None:
    """The absolute value and the square do not depend on the sign."""
    inner = walk.producer(node.inputs[0], "neg")
    return None if inner is None else walk.emit(node.op, inner.inputs, node)


def _signs_cancel(walk: Rewriter, node: Node) -> Value | None:
    first, second = (walk.producer(v, "neg") for v in node.inputs)
    if first is None or second is None:
        return None
    return walk.emit(node.op, (first.inputs[0], second.inputs[0]), node)


def _added_negative(walk: Rewriter, node: Node) -> Value | None:
    """``x + -y`` is ``x - y``, and ``x - -y`` is ``x + y``."""
    first, second = node.inputs
    negative = walk.producer(second, "neg")
    other = OPS["sub" if node.op.name == "add" else "add"]
    if negative is not None:
        return walk.emit(other, (first, negative.inputs[0]), node)
    negative = walk.producer(first, "neg") if node.op.name == "add" else None
    return None if negative is None else walk.emit(other, (second, negative.inputs[0]), node)


def _by_minus_one(walk: Rewriter, node: Node) -> Value | None:
    for position in (0, 1):
        other = node.inputs[1 - position]
        if walk.uniform(node.inputs[position]) == -1 and other.aval == node.outputs[0].aval:
            signed = _is_float(other) or other.aval.dtype.numpy.kind == "i"
            return walk.emit(OPS["neg"], (other,), node) if signed else None
    return None


def _by_power_of_two(walk: Rewriter, node: Node) -> Value | None:
    """Dividing by a power of two is multiplying by its inverse, which is exact."""
    divisor = node.inputs[1]
    number = walk.uniform(divisor)
    if not _is_float(divisor) or number is None or not math.isfinite(number):
        return None
    if abs(math.frexp(number)[0]) != 0.5 or abs(number) == 1:
        return None
    inverse, dtype = 1 / number, divisor.aval.dtype.numpy
    limits = np.finfo(dtype) if dtype.kind == "f" else None
    if limits is None or not limits.smallest_normal <= abs(inverse) <= limits.max:
        return None
    factor = _filled(walk, node, divisor.aval, inverse)
    return walk.emit(OPS["mul"], (node.inputs[0], factor), node)


def _whole_power(walk: Rewriter, node: Node) -> Value | None:
    """Powers of 1, 2 and -1 are the number, its square and its reciprocal."""
    base, exponent = node.inputs
    number = walk.uniform(exponent)
    if not _is_float(base) or base.aval != node.outputs[0].aval:
        return None
    if number == 1:
        return base
    if number in (2, -1):
        return walk.emit(OPS["square" if number == 2 else "reciprocal"], (base,), node)
    return None


def _chosen(walk: Rewriter, node: Node) -> Value | None:
    """A choice that is always the same, or between a value and itself."""
    condition, first, second = node.inputs
    truth = walk.uniform(condition)
    kept = first if first is second or truth else second
    known = truth is not None or first is second
    return kept if known and kept.aval == node.outputs[0].aval else None


def _turned_choice(walk: Rewriter, node: Node) -> Value | None:
    condition = walk.producer(node.inputs[0], "logical_not")
    if condition is None or condition.inputs[0].aval.dtype != node.inputs[0].aval.dtype:
        return None
    return walk.emit(node.op, (condition.inputs[0], node.inputs[2], node.inputs[1]), node)


def _copied(walk: Rewriter, node: Node) -> Value | None:
    """A plan's values never change, so a copy of one is as good as that value."""
    return node.inputs[0]


RULES: dict[str, tuple[Rule, ...]] = {
    "identity": (_copied,),
    "stop_gradient": (_copied,),
    "cast": (shorter_cast,),
    "add": (Neutral((0, 1), 0, -1.0), _added_negative, put_together),
    "sub": (Neutral((1,), 0, 1.0), _with_itself(0), _added_negative),
    "mul": (Neutral((0, 1), 1), _absorbed, _by_minus_one, _signs_cancel),
    "div": (Neutral((1,), 1), _by_power_of_two, _signs_cancel),
    "pow": (_whole_power,),
    "neg": (_undone,),
    "abs": (_again, _sign_goes),
    "square": (_sign_goes,),
    "relu": (_again,),
    "maximum": (_twice,),
    "minimum": (_twice,),
    "logical_not": (_undone,),
    "logical_and": (_twice, _kept_truth, _absorbed),
    "logical_or": (_twice, _kept_truth, _absorbed),
    "select": (_chosen, _turned_choice),
    **dict.fromkeys(("equal", "less_equal", "greater_equal"), (_with_itself(1),)),
    **dict.fromkeys(("not_equal", "less", "greater"), (_with_itself(0),)),
}
