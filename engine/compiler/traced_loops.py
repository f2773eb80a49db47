"""Loops of traced code: the body is traced once and becomes a node.

``ops.while_loop`` and ``ops.scan`` in a trace; `looping.py` has the nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ops import registry
from ..shape import Aval, ShapeError
from ..tensor import Tensor
from .graph import Graph
from .looping import Scan, While
from .structure import flatten, unflatten
from .subgraph import Part, SubGraph, draws, outside_of, trace_part, written_by
from .trace import Trace, is_tensor
from .traced import TraceBreak


def traced_while(
    tracer: Trace, name: str, test: Callable[..., Any], body: Callable[..., Any], carry: Any
) -> Any:
    """Emit a node that runs ``carry = body(carry)`` as long as ``test(carry)``."""
    leaves, structure = flatten(carry, is_tensor)
    tensors: list[Any] = leaves
    asked, done = trace_part(name, test, (carry,)), trace_part(name, body, (carry,))
    if len(asked.avals) != 1 or asked.avals[0].shape not in ((), (1,)):
        raise TypeError(f"{name}: cond_fn must give one truth value, it gives {asked.avals}.")
    check_carried(name, structure, tensors, done, len(tensors))
    if draws(asked) or draws(done):
        raise TraceBreak(
            f"{name}: random numbers are drawn in a loop whose length is known only when it runs",
            "draw them before the loop, or loop a fixed number of times",
        )
    if asked.call.writes:
        raise TraceBreak(f"{name}: cond_fn writes to a tensor", "write in the body")
    written = written_by(done)
    same = _apart(outside_of(asked, done), written)
    loop = While(
        SubGraph(asked.on([*written, *same])), SubGraph(done.on([*written, *same], written))
    )
    outputs = registry.apply(loop.op, (*tensors, *written, *same), {})
    _write(tracer, written, outputs[len(tensors) :])
    return unflatten(structure, outputs[: len(tensors)])


def traced_scan(
    tracer: Trace, name: str, fn: Callable[..., Any], carry: Any, xs: Any, length: int
) -> tuple[Any, Any] | None:
    """Emit a node that runs ``carry, y = fn(carry, x)`` for each ``x``.

    Returns None where the body draws random numbers, which are others in each run.
    """
    leaves, structure = flatten(carry, is_tensor)
    tensors: list[Any] = leaves
    scanned: list[Any] = flatten(xs, is_tensor)[0]
    part = trace_part(name, fn, (carry, _elements(xs)))
    if draws(part):
        return None
    result = part.call.structure
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(f"{name}: f must give (carry, y), it gives {result!r} (* is a tensor).")
    check_carried(name, structure, tensors, part, len(tensors), result[0])
    written = written_by(part)
    same = _apart(outside_of(part), written)
    graph = _for_scan(part, len(tensors), len(scanned), written, same)
    loop = Scan(SubGraph(graph), len(tensors) + len(written), len(scanned), length)
    outputs = registry.apply(loop.op, (*tensors, *written, *scanned, *same), {})
    ends = len(tensors), len(tensors) + len(written)
    _write(tracer, written, outputs[ends[0] : ends[1]])
    return unflatten(structure, outputs[: ends[0]]), unflatten(result[1], outputs[ends[1] :])


def _elements(xs: Any) -> Any:
    """Return what stands for one element of each scanned tensor."""
    leaves, structure = flatten(xs, is_tensor)
    tensors: list[Any] = leaves
    return unflatten(structure, [tensor[0] for tensor in tensors])


def _for_scan(
    part: Part, carried: int, scanned: int, written: Sequence[Tensor], same: Sequence[Tensor]
) -> Graph:
    """Return the part's graph in the order of a scan: what is written is carried too."""
    graph = part.on([*written, *same], written)
    given, outside = graph.inputs[: carried + scanned], graph.inputs[carried + scanned :]
    inputs = (
        *given[:carried], *outside[: len(written)], *given[carried:], *outside[len(written) :],
    )  # fmt: skip
    results = len(graph.outputs) - len(written)
    outputs = (
        *graph.outputs[:carried], *graph.outputs[results:], *graph.outputs[carried:results],
    )  # fmt: skip
    return Graph(inputs, graph.nodes, outputs, graph.constants)


def _apart(tensors: Sequence[Tensor], written: Sequence[Tensor]) -> list[Tensor]:
    known = {id(tensor) for tensor in written}
    return [tensor for tensor in tensors if id(tensor) not in known]


def _write(tracer: Trace, written: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    for tensor, value in zip(written, values, strict=True):
        tracer.write(tensor, value)


def check_carried(
    name: str,
    structure: object,
    tensors: Sequence[Tensor],
    part: Part,
    count: int,
    found: object | None = None,
) -> None:
    """Raise unless the body gives what is carried as it took it."""
    found = part.call.structure if found is None else found
    if repr(found) != repr(structure):
        raise TypeError(
            f"{name}: the body gives {found!r} and was given {structure!r} (* is a tensor); what"
            " is carried must keep its structure."
        )
    for number, (tensor, aval) in enumerate(zip(tensors, part.avals[:count], strict=True)):
        check_kind(name, number, tensor.aval, aval)


def check_kind(name: str, number: int, given: Aval, found: Aval) -> None:
    """Raise TypeError or ShapeError unless a carried tensor keeps its shape and dtype."""
    if given == found:
        return
    kind = TypeError if given.dtype is not found.dtype else ShapeError
    raise kind(
        f"{name}: carried tensor {number} is {given} before and {found} after a run of the body;"
        " it must keep its shape and dtype (cast what the loop starts with, or the result)."
    )
