"""Loops and branches in LLVM text, with the values they carry."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .emitter import Emitter, Value, literal, type_text
from .expressions import INT64

Carried = dict[str, Value]
"""Values that change from one iteration to the next, by name."""


def is_constant(x: Value) -> bool:
    """Whether a scalar is a number in the text, not a computed value."""
    return not x.text.startswith("%")


def repeat(
    emit: Emitter,
    stop: Value,
    step: int,
    carried: Mapping[str, Value],
    body: Callable[[Value, Carried], Carried],
) -> Carried:
    """Print `for i in range(0, stop, step)`, stop being a multiple of step; return what it carries.

    A loop that runs never or once, by constants, is printed without a loop.
    """
    constant = is_constant(stop)
    if constant and int(stop.text) <= 0:
        return dict(carried)
    if constant and int(stop.text) == step:
        return body(literal(0, INT64), dict(carried))
    head, done = emit.label("loop"), emit.label("done")
    before = emit.block_name
    if constant:
        emit.branch(head)
    else:
        emit.branch_if(emit.compare("gt", stop, 0), head, done)
    emit.block(head)
    at = len(emit.lines)
    index = Value(emit.fresh("i"), INT64)
    inside = {name: Value(emit.fresh("a"), v.dtype, v.lanes) for name, v in carried.items()}
    after = body(index, dict(inside))
    following = emit.binary("add nuw nsw", index, step)
    more = emit.compare("lt", following, stop)
    latch = emit.block_name
    emit.branch_if(more, head, done)
    pairs = [(index, "0", following)]
    pairs += [(inside[name], v.text, after[name]) for name, v in carried.items()]
    emit.lines[at:at] = [
        f"  {phi.text} = phi {type_text(phi.dtype, phi.lanes)} "
        f"[ {start}, %{before} ], [ {new.text}, %{latch} ]"
        for phi, start, new in pairs
    ]
    emit.block(done)
    return after if constant else _merge(emit, carried, before, after, latch)


def when(
    emit: Emitter,
    condition: Value,
    carried: Mapping[str, Value],
    body: Callable[[Carried], Carried],
) -> Carried:
    """Print `if condition: body`; return what it carries."""
    then, done = emit.label("then"), emit.label("done")
    before = emit.block_name
    emit.branch_if(condition, then, done)
    emit.block(then)
    after = body(dict(carried))
    last = emit.block_name
    emit.branch(done)
    emit.block(done)
    return _merge(emit, carried, before, after, last)


def _merge(
    emit: Emitter, old: Mapping[str, Value], skipped: str, new: Carried, last: str
) -> Carried:
    """Choose at the top of a block between the values before and after."""
    return {
        name: emit.phi(emit.fresh(), v.dtype, v.lanes, [(old[name].text, skipped), (v.text, last)])
        for name, v in new.items()
    }
