"""Sequences of tensors, which are lists here, and optional values, which may be None."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....engine import ops
from .....engine.tensor import wrap
from ..call import Call
from ..registry import operator
from .shaping import pieces


@operator("SequenceEmpty")
def sequence_empty(_: Call) -> Any:
    """Return a sequence of nothing."""
    return ([],)


@operator("SequenceConstruct")
def sequence_construct(_: Call, *inputs: Any) -> Any:
    """Return a sequence of the inputs."""
    return (list(inputs),)


@operator("SequenceInsert")
def sequence_insert(call: Call, sequence: list[Any], item: Any, *_: Any) -> Any:
    """Return the sequence with one more item, by default at its end."""
    made, at = list(sequence), call.number(2, len(sequence))
    made.insert(at if at >= 0 else at + len(sequence), item)
    return (made,)


@operator("SequenceErase")
def sequence_erase(call: Call, sequence: list[Any], *_: Any) -> Any:
    """Return the sequence without one item, by default the last."""
    made = list(sequence)
    del made[call.number(1, -1)]
    return (made,)


@operator("SequenceAt")
def sequence_at(call: Call, sequence: list[Any], *_: Any) -> Any:
    """Return one item."""
    return (sequence[call.number(1)],)


@operator("SequenceLength")
def sequence_length(_: Call, sequence: list[Any]) -> Any:
    """Return how many items there are."""
    return wrap(np.asarray(len(sequence), np.int64))


@operator("SplitToSequence", reads=(1,))
def split_to_sequence(call: Call, x: Any, *_: Any) -> Any:
    """Cut along an axis into a sequence."""
    axis, size = call.attr("axis", 0) % x.ndim, None
    size = x.shape[axis]
    if not call.given(1):
        parts = pieces(x, [1] * size, axis)
        keep = call.attr("keepdims", 1)
        return ([part if keep else ops.squeeze(part, axis) for part in parts],)
    sizes = call.ints(1)
    if call.array(1).ndim == 0:
        sizes = [min(sizes[0], size - at) for at in range(0, size, sizes[0])]
    return (list(pieces(x, sizes, axis)),)


@operator("ConcatFromSequence")
def concat_from_sequence(call: Call, sequence: list[Any]) -> Any:
    """Join the items along an axis, an old one or a new one."""
    join = ops.stack if call.attr("new_axis", 0) else ops.concat
    return join(sequence, call.attr("axis"))


@operator("Optional")
def optional(_: Call, value: Any = None) -> Any:
    """Return the value, or nothing."""
    return (value,)


@operator("OptionalHasElement")
def optional_has_element(_: Call, value: Any = None) -> Any:
    """Return whether there is a value."""
    return wrap(np.asarray(value is not None))


@operator("OptionalGetElement")
def optional_get_element(call: Call, value: Any) -> Any:
    """Return the value that must be there."""
    if value is None:
        raise call.refuse("the optional value is not there.")
    return (value,)
