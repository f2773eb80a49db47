"""Arguments of compiled calls: which are inputs of the graph, what tells two calls apart.

`jitted.py` takes the arguments apart by it, `making.py` checks that code left them alone.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from ..parameter import Parameter
from ..shape import Shape
from ..tensor import Symbol, Tensor, TensorSpec, wrap
from .chains import Held, TooLargeError, snapshot
from .effects import check_lasting
from .structure import flatten, has_attributes
from .trace import TracedCall
from .traced import TraceBreak


def argument_key(leaf: Any) -> object:
    """Return what must be equal for an argument that is no tensor and no number."""
    check_lasting(leaf)
    if isinstance(leaf, tuple | list | dict):
        raise TraceBreak(
            f"an argument is a {type(leaf).__name__} with attributes beside its items",
            "pass what they are as further arguments",
        )
    if isinstance(leaf, slice):
        return (slice, leaf.start, leaf.stop, leaf.step)
    try:
        return snapshot(leaf)
    except TooLargeError:
        return Held(leaf)


def check_unchanged(arguments: Any, leaves: list[Any], structure: object) -> None:
    """Refuse a function that changes a list or dictionary it is given."""
    now, shape = flatten(arguments, is_argument)
    same = len(now) == len(leaves) and all(a is b for a, b in zip(now, leaves, strict=True))
    if not same or frozen(shape) != frozen(structure):
        raise TraceBreak(
            "a list or dictionary given as an argument is changed", "return the value instead"
        )


def is_argument(value: object) -> bool:
    """Whether this is an argument by itself, no list, tuple or dictionary of some alone."""
    return not isinstance(value, tuple | list | dict) or has_attributes(value)


def is_input(leaf: object, position: int, promoted: tuple[int, ...]) -> bool:
    """Whether an argument is an input of the graph: a tensor, or a promoted float."""
    if position in promoted:
        return True
    return isinstance(leaf, Tensor) and not isinstance(leaf, Parameter)


def inputs_among(leaves: list[Any], promoted: tuple[int, ...]) -> list[int]:
    """Return which of the arguments are inputs of the graph."""
    return [i for i, leaf in enumerate(leaves) if is_input(leaf, i, promoted)]


def input_tensors(leaves: list[Any], promoted: tuple[int, ...]) -> list[Tensor]:
    """Return the tensors that are inputs of the graph, promoted floats among them."""
    return [
        wrap(np.asarray(leaves[i], np.float32)) if i in promoted else leaves[i]
        for i in inputs_among(leaves, promoted)
    ]


def check_promoted(call: TracedCall, promoted: list[bool]) -> None:
    """Refuse a float as a float32 input where the float itself would give something else."""
    if not any(promoted):
        return
    graph = call.graph
    numbers = {v for v, is_number in zip(graph.inputs, promoted, strict=False) if is_number}
    derived = set(numbers)
    for node in graph.nodes:  # what is made of numbers alone is a number to eager code
        if derived.intersection(node.inputs) and node.op.name != "broadcast_to":
            alone = all(v in derived or v in graph.constants for v in node.inputs)
            derived.update(node.outputs if alone else ())
    if derived.intersection(graph.outputs[: call.results]):
        raise TraceBreak("a number that was given is returned")
    values = [v for node in graph.nodes for v in (*node.inputs, *node.outputs)]
    if any(v.aval.dtype.is_float and v.aval.dtype.short != "f32" for v in values):
        raise TraceBreak("a number meets tensors of other dtypes than float32")


def frozen(structure: object) -> object:
    """Return a structure of arguments as something hashable."""
    if isinstance(structure, dict):
        # Keys that are equal are not alike: 1, 1.0 and True.
        return (type(structure), tuple((type(k), k, frozen(v)) for k, v in structure.items()))
    if isinstance(structure, tuple | list):
        return (type(structure), tuple(frozen(part) for part in structure))
    return structure


Signature: TypeAlias = "tuple[Tensor | TensorSpec, ...]"
"""What tensor arguments must be like, one by one."""


def signature_of(given: Any) -> Signature | None:
    """Return an ``input_signature``'s tensors and specs, None if there is none."""
    if given is None:
        return None
    return tuple(given) if isinstance(given, tuple | list) else (given,)


def check_signature(signature: Signature, args: tuple[Any, ...]) -> None:
    """Raise ValueError where the tensors are not those of the ``input_signature``."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    if len(tensors) != len(signature):
        raise ValueError(
            f"input_signature names {len(signature)} tensors, the call has {len(tensors)}"
        )
    same: dict[Symbol, int] = {}
    for position, (tensor, item) in enumerate(zip(tensors, signature, strict=True)):
        aval = item.aval
        fits = len(tensor.shape) == len(aval.shape) and all(
            not isinstance(want, int) or size == want
            for size, want in zip(tensor.shape, aval.shape, strict=True)
        )
        if not fits or tensor.dtype is not aval.dtype:
            raise ValueError(
                f"tensor argument {position} is {tensor.aval}, input_signature says {aval}"
            )
        if isinstance(item, TensorSpec):
            _check_symbols(position, tensor.shape, item.symbols, same)


def _check_symbols(
    position: int, shape: Shape, symbols: dict[int, Symbol], same: dict[Symbol, int]
) -> None:
    for axis, symbol in symbols.items():
        size: Any = shape[axis]
        if not symbol.allows(size):
            raise ValueError(
                f"tensor argument {position} has the size {size} on axis {axis}, which"
                f" {symbol} does not allow"
            )
        if symbol.unique and same.setdefault(symbol, size) != size:
            raise ValueError(
                f"tensor argument {position} has the size {size} on axis {axis}, but another"
                f" axis of the same unique symbol has {same[symbol]}"
            )
