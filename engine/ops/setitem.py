"""Python's square brackets on tensors: writing parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtype import bool_
from ..shape import Aval, ShapeError, broadcast_shapes, shape_text
from ..tensor import Tensor
from . import array, creation, unbroadcast
from .cast import TensorLike, as_tensor, cast_to
from .protocols import Tracer
from .registry import (
    OPS,
    Call,
    Gemm,
    GradContext,
    Grads,
    Host,
    Op,
    Pointwise,
    Reduce,
    active_records,
    log,
    note_write,
    op,
    own_trace,
    records,
    traces,
)
from .subscripts import Key, decode, encode, explain, items_of, numpy_key, part_shape


def _put_kernel(input: np.ndarray, value: np.ndarray, *indices: np.ndarray, key: Key) -> np.ndarray:
    out = input.copy()
    out[decode(key, indices)] = value
    return out


def _put_grad(ctx: GradContext) -> Grads:
    input, value, *indices = ctx.inputs
    key = ctx.attrs["key"]
    rest = taken = None
    if ctx.needs[0]:
        rest = put_part(ctx.dout, creation.zeros((), input.dtype), indices, key)
    if ctx.needs[1]:
        taken = unbroadcast.sum_to(last_put(ctx.dout, indices, key), value.shape)
    return rest, taken, *([None] * len(indices))


def _put_rule(input: Aval, value: Aval, *indices: Aval, key: Key) -> Aval:
    if value.dtype is not input.dtype:
        raise TypeError(f"put_part: value is {value.dtype}, input is {input.dtype}.")
    part = part_shape(input.shape, key, [aval.shape for aval in indices])
    try:
        fits = broadcast_shapes(part, value.shape) == part
    except ShapeError:
        fits = False
    if not fits:
        raise ShapeError(
            f"a value of shape {shape_text(value.shape)} does not broadcast to the part of shape"
            f" {shape_text(part)} that is written."
        )
    return input


@op(
    infer=_put_rule,
    kernel=_put_kernel,
    grad=_put_grad,
    lowering=Host("writes a part of an array"),
    category="gradient",
    inputs=("input", "value", "indices"),
)
def put_part(input: TensorLike, value: TensorLike, indices: Sequence[TensorLike], key: Key) -> Call:
    """Return a copy with the part that ``key`` names set to ``value``.

    Parameters
    ----------
    input : Tensor
        Any shape.
    value : Tensor
        Broadcasts to the part; where a position is named twice, the last element stays.
    indices : sequence of Tensor
        The integer tensors of the key.
    key : tuple
        The index, as ``keys.encode`` writes it.

    Returns
    -------
    Tensor
        The changed copy.
    """
    return (as_tensor(input), as_tensor(value), *indices), {"key": key}


def _last_kernel(dout: np.ndarray, *indices: np.ndarray, key: Key) -> np.ndarray:
    at = decode(key, indices)
    part = dout[at]
    if not indices:
        return part
    numbers = np.arange(part.size).reshape(part.shape)
    places = np.zeros(dout.shape, np.int64)
    places[at] = numbers
    return np.where(places[at] == numbers, part, np.zeros((), dout.dtype))


def _last_grad(ctx: GradContext) -> Grads:
    dout, *indices = ctx.inputs
    zeros = creation.zeros_like(dout)
    grad = put_part(zeros, ctx.dout, indices, ctx.attrs["key"])
    return grad, *([None] * len(indices))


def _last_rule(dout: Aval, *indices: Aval, key: Key) -> Aval:
    return Aval(part_shape(dout.shape, key, [aval.shape for aval in indices]), dout.dtype)


@op(
    infer=_last_rule,
    kernel=_last_kernel,
    grad=_last_grad,
    lowering=Host("reads a part of an array"),
    category="gradient",
    inputs=("dout", "indices"),
)
def last_put(dout: TensorLike, indices: Sequence[TensorLike], key: Key) -> Call:
    """Read the part that ``key`` names, with zeros where ``put_part`` would be overwritten.

    Parameters
    ----------
    dout : Tensor
        The gradient of what ``put_part`` gave.
    indices : sequence of Tensor
        The integer tensors of the key.
    key : tuple
        As given to ``put_part``.

    Returns
    -------
    Tensor
        The gradient of the value: an element that was overwritten has none.
    """
    return (as_tensor(dout), *indices), {"key": key}


PUT = OPS["put_part"]


# ---- the brackets ----------------------------------------------------------------------------


def setitem(self: Tensor, key: Any, value: Any) -> None:
    """Write ``value`` into the part of this tensor's memory that ``key`` names.

    Under a record the gradient of what was overwritten is zero.

    Raises
    ------
    IndexError
        If a position does not exist.
    ValueError
        If the value does not broadcast to the part.
    """
    tracer = own_trace() if traces else None
    if tracer is None and not records and _is_plain(self, value):
        _write(self, numpy_key(key), getattr(value, "data", value), key)
        return
    dtype = self.dtype
    item = cast_to(as_tensor(value, dtype), dtype)
    if tracer is None and not records:
        _write(self, numpy_key(key), item.data, key)
        return
    if tracer is not None and _is_choice(self, key, item):
        wide = array.reshape(key, (*key.shape, *[1] * (len(self.shape) - len(key.shape))))
        _write_traced(tracer, self, OPS["select"].function(wide, item, self), None)
        return
    written, tensors = encode(items_of(key, tuple(self.shape)))
    item = _without_leading_ones(item, self, written, tensors)
    if tracer is not None:
        changed = put_part(self, item, tensors, written)
        _write_traced(tracer, self, changed, None if tensors else written)
        return
    PUT.infer(self.aval, item.aval, *[tensor.aval for tensor in tensors], key=written)
    if not self.data.flags.writeable:
        self.data = self.data.copy()
    note_write(self, self.data.copy(), None if tensors else self.data[(*decode(written), ...)])
    _write(self, decode(written, [tensor.data for tensor in tensors]), item.data, key)
    log(PUT, (self, item, *tensors), (self,), {"key": written})


def _is_choice(tensor: Tensor, key: Any, item: Tensor) -> bool:
    """Whether a mask of the first axes chooses where one and the same value is written."""
    if not isinstance(key, Tensor) or key.dtype is not bool_:
        return False
    axes = len(key.shape)
    fits = bool(axes) and tuple(key.shape) == tuple(tensor.shape[:axes])
    return fits and len(item.shape) <= len(tensor.shape) - axes


def _is_plain(tensor: Tensor, value: Any) -> bool:
    """Whether NumPy may write a value as it is: of the tensor's dtype, or a number into floats."""
    kind = value.__class__
    if kind is Tensor:
        return value.data.dtype is tensor.data.dtype
    return (kind is float or kind is int) and tensor.data.dtype.kind == "f"


def _write(tensor: Tensor, place: Any, values: Any, key: Any) -> None:
    if not tensor.data.flags.writeable:
        tensor.data = tensor.data.copy()
    parameter: Any = tensor
    if tensor.__class__ is not Tensor and hasattr(parameter, "version"):
        parameter.version += 1
    try:
        tensor.data[place] = values
    except IndexError as error:
        explain(key, tensor.shape)
        raise IndexError(f"the index does not fit: {error}.") from error
    except ValueError as error:
        part = tensor.data[place]
        raise ShapeError(
            f"a value of shape {list(np.shape(values))} does not broadcast to the part of shape"
            f" {list(np.shape(part))} that is written."
        ) from error


def _without_leading_ones(
    item: Tensor, tensor: Tensor, key: Key, indices: Sequence[Tensor]
) -> Tensor:
    """Return the value with as many axes as the part has at most, as NumPy takes it."""
    part = part_shape(tuple(tensor.shape), key, [tuple(index.shape) for index in indices])
    more = len(item.shape) - len(part)
    if more <= 0 or any(size != 1 for size in item.shape[:more]):
        return item
    return array.reshape(item, tuple(item.shape[more:]))


# ---- in a trace ------------------------------------------------------------------------------


def _write_traced(tracer: Tracer, tensor: Tensor, changed: Tensor, key: Key | None) -> None:
    """Let a trace write: a tensor from outside, or one of its own that nothing else shares."""
    from ..compiler.traced import TraceBreak, Traced

    if not isinstance(tensor, Traced):
        if active_records():
            raise TraceBreak(
                "a tensor from outside was written to while a gradient is taken",
                "write to it outside of what is derived, or return the new value",
            )
        tracer.write(tensor, changed)
        return
    if not (isinstance(changed, Traced) and tensor.tracer is tracer and _is_own(tensor)):
        raise TraceBreak(
            "an element was assigned of a traced tensor that shares memory with one from outside",
            "write to a copy (x + 0), choose with ops.where, or assign outside the function",
        )
    views = views_of(tensor.tracer, tensor.ssa, tuple(tensor.shape), key)
    tell_records(tensor, Traced(tensor.tracer, tensor.ssa), changed, views)
    tensor.tracer.stale.update(views)
    tensor.ssa = changed.ssa


def tell_records(tensor: Tensor, before: Any, changed: Tensor | None, views: list[Any]) -> None:
    """Let the handle mean the changed tensor from now on, and others what it and its views were."""
    if not active_records():
        return
    tracer, kind = before.tracer, type(before)
    identity = OPS["identity"]
    aliases = {view: tracer.emit(identity, (kind(tracer, view),), {}) for view in views}

    def was(read: Tensor) -> Tensor:
        return before if read is tensor else aliases.get(getattr(read, "ssa", None), read)

    for record in active_records():
        for position, entry in enumerate(record.entries):
            outputs = [tensor if made is changed else was(made) for made in entry.outputs]
            record.entries[position] = entry._replace(
                inputs=tuple([was(read) for read in entry.inputs]), outputs=tuple(outputs)
            )


def _is_own(tensor: Any) -> bool:
    """Whether a traced tensor was made here, in memory of its own."""
    producer = tensor.tracer.producer.get(tensor.ssa)
    if producer is None or not makes_memory(producer.op):
        return False
    return all(
        any(made is tensor for entry in record.entries for made in entry.outputs)
        for record in active_records()
    )


def views_of(
    tracer: Any, ssa: Any, shape: tuple[Any, ...], key: Key | None, *, graphs: bool = True
) -> list[Any]:
    """Return a trace's values that show, or may show, the part of a value that is written.

    ``key`` names the part, None all of it. States that writes into parts made count as one.
    Without ``graphs`` what branches and loops give counts as new: they hand on their own writes.
    """
    states = {ssa}
    producer = tracer.producer.get(ssa)
    while producer is not None and producer.op is PUT:
        states.add(producer.inputs[0])
        producer = tracer.producer.get(producer.inputs[0])
    views: dict[Any, None] = {}
    waiting = [*states]
    while waiting:
        value = waiting.pop()
        for node in tracer.arranging.get(value, ()):
            if not graphs and node.op.category == "graph":
                continue
            if value in views or _shows(node, shape, key):
                waiting += [output for output in node.outputs if output not in views]
                views.update(dict.fromkeys(node.outputs))
    return [view for view in views if view not in tracer.stale]


def _shows(reader: Any, shape: tuple[Any, ...], key: Key | None) -> bool:
    """Whether a node's result is, or may be, a view of the part that a key names."""
    if reader.op.name != "strided_slice" or key is None:
        return True
    attrs = reader.attributes
    ranges = zip(attrs["begin"], attrs["end"], attrs["strides"], strict=True)
    try:
        memory = np.empty(shape, np.bool_)
        return np.shares_memory(
            memory[tuple(slice(*part) for part in ranges)], memory[(*decode(key), ...)],
            max_work=1000,  # pyright: ignore[reportArgumentType] - a bound is allowed
        )  # fmt: skip
    except (TypeError, np.exceptions.TooHardError):  # a size that is not known, or hard to say
        return True


_ARRANGING = ("array", "linalg", "gradient", "graph", "custom")
"""Categories of ops that may give back what they were given, or a view of it."""
_NEVER = ("rnn_layer_grad", "gru_layer_grad", "lstm_layer_grad")
"""Ops of these categories that take weights and never do: optimizers write to the weights next."""


def makes_memory(entry: Op) -> bool:
    """Whether an op's results never share memory with its inputs, in eager mode."""
    if isinstance(entry.lowering, Pointwise | Reduce | Gemm):
        return True
    if entry is PUT or not entry.inputs or entry.name in _NEVER:
        return True
    return entry.category not in _ARRANGING


setattr(Tensor, "__setitem__", setitem)  # noqa: B010 - a type checker knows the declared one
