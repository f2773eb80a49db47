"""The graph IR: immutable SSA over the op table, with its verifier, interpreter and printer.

Values and nodes compare by identity, so a pass keeps what it does not change and a value that
was tapped, reported or drawn can be followed through every pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ops.registry import run_kernel
from ..shape import Aval, SymDim, deciders

if TYPE_CHECKING:
    from ..ops.registry import Op
    from ..origin import Origin

Attrs = tuple[tuple[str, object], ...]


class GraphError(ValueError):
    """A graph that breaks the rules of the IR."""


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """One SSA value: its number in the trace, its shape and dtype, and where it comes from."""

    index: int
    aval: Aval
    origin: Origin | None = None
    _sizes: list[tuple[int, ...]] = field(default_factory=list, init=False, repr=False)
    """The sizes, once they were asked for: passes ask many thousand times."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape as numbers; a symbol raises ``GraphError`` where nobody answers for it."""
        known = self._sizes
        if known:
            return known[0]
        sizes = tuple(d for d in self.aval.shape if isinstance(d, int))
        if len(sizes) != len(self.aval.shape):
            if deciders:
                return self.aval.shape  # pyright: ignore[reportReturnType]
            raise GraphError(f"{self!r} is {self.aval}: plans need sizes that are numbers")
        known.append(sizes)
        return sizes

    @property
    def is_open(self) -> bool:
        """Whether a size is a symbol."""
        return not self._sizes and any(isinstance(dim, SymDim) for dim in self.aval.shape)

    def __repr__(self) -> str:
        return f"%{self.index}"


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One application of an op to values."""

    op: Op
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    attrs: Attrs = ()
    origin: Origin | None = None

    @property
    def attributes(self) -> dict[str, object]:
        """The attributes as a new dictionary, ready to be passed as keywords."""
        return dict(self.attrs)


@dataclass(frozen=True, eq=False, slots=True)
class Graph:
    """A list of nodes in execution order between inputs and outputs."""

    inputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]
    constants: dict[Value, np.ndarray] = field(default_factory=dict)

    def __str__(self) -> str:
        return format_graph(self)


def freeze_attrs(attrs: dict[str, object]) -> Attrs:
    """Return attributes as the sorted tuple of pairs that a node holds."""
    return tuple(sorted(attrs.items()))


def reduced_axes(node: Node) -> tuple[int, ...]:
    """Return the axes of the input that a reduce node runs over, non-negative."""
    rank = len(node.inputs[0].aval.shape)
    axis: Any = node.attributes.get("axis")
    if axis is None:
        return tuple(range(rank))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted(a % rank for a in axes))


def verify(graph: Graph, *, infer: bool = True) -> None:
    """Raise ``GraphError`` unless every value is defined once and before use.

    With ``infer`` each node's outputs must also be what its op's shape rule says.
    """
    defined: set[Value] = set()

    def define(value: Value, by: str) -> None:
        if value in defined:
            raise GraphError(f"{value!r} is defined a second time by {by}")
        defined.add(value)

    for value in graph.inputs:
        define(value, "the inputs")
    for value, array in graph.constants.items():
        define(value, "the constants")
        if tuple(array.shape) != tuple(value.aval.shape) or array.dtype != value.aval.dtype.numpy:
            raise GraphError(f"constant {value!r} is {array.dtype}{array.shape}, not {value.aval}")
    for node in graph.nodes:
        for value in node.inputs:
            if value not in defined:
                raise GraphError(f"{node.op.name} reads {value!r} before it is defined")
        declared = tuple(v.aval for v in node.outputs)
        inferred = declared
        if infer:
            inferred = infer_outputs(node.op, [v.aval for v in node.inputs], node.attributes)
        if inferred != declared:
            raise GraphError(f"{node.op.name} gives {inferred}, but its node says {declared}")
        for value in node.outputs:
            define(value, node.op.name)
    for value in graph.outputs:
        if value not in defined:
            raise GraphError(f"output {value!r} is never defined")


def infer_outputs(op: Op, avals: Iterable[Aval], attrs: dict[str, object]) -> tuple[Aval, ...]:
    """Apply the op's shape rule and return its outputs' avals as a tuple."""
    inferred = op.infer(*avals, **attrs)
    return inferred if isinstance(inferred, tuple) else (inferred,)


def last_uses(graph: Graph) -> dict[Value, int]:
    """Map every value to the position of the last node that reads it (outputs live for ever)."""
    last = {value: len(graph.nodes) for value in graph.outputs}
    for position in range(len(graph.nodes) - 1, -1, -1):
        for value in graph.nodes[position].inputs:
            last.setdefault(value, position)
    return last


def run_node(node: Node, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Run one node's NumPy kernel."""
    out = run_kernel(node.op, tuple(arrays), dict(node.attrs))
    results = tuple(np.asarray(r) for r in (out if isinstance(out, tuple) else (out,)))
    for result, value in zip(results, node.outputs, strict=True):
        if result.dtype != value.aval.dtype.numpy:
            raise GraphError(
                f"the kernel of {node.op.name} gave {result.dtype}, its rule says {value.aval}"
            )
    return results


def interpret(
    graph: Graph,
    arrays: Sequence[np.ndarray],
    callback: Callable[[Node, tuple[np.ndarray, ...]], None] | None = None,
) -> tuple[np.ndarray, ...]:
    """Run the graph node by node with the ops' NumPy kernels.

    ``callback(node, outputs)`` is called after each node. A value is dropped after its last use.
    """
    if len(arrays) != len(graph.inputs):
        raise GraphError(f"the graph takes {len(graph.inputs)} arrays, {len(arrays)} were given")
    values: dict[Value, np.ndarray] = dict(graph.constants)
    values.update(zip(graph.inputs, arrays, strict=True))
    last = last_uses(graph)
    for position, node in enumerate(graph.nodes):
        results = run_node(node, [values[v] for v in node.inputs])
        values.update(zip(node.outputs, results, strict=True))
        if callback is not None:
            callback(node, results)
        for value in (*node.inputs, *node.outputs):
            if last.get(value, -1) <= position:
                values.pop(value, None)
    return tuple(values[v] for v in graph.outputs)


def fingerprint(graph: Graph) -> tuple[object, ...]:
    """Return a hashable key, equal for graphs of equal structure, shapes and constants."""
    number: dict[Value, int] = {}
    for value in (*graph.inputs, *graph.constants):
        number[value] = len(number)
    rows: list[object] = []
    for node in graph.nodes:
        reads = tuple(number[v] for v in node.inputs)
        for value in node.outputs:
            number[value] = len(number)
        rows.append((node.op.name, reads, node.attrs, len(node.outputs)))
    return (
        tuple(v.aval for v in graph.inputs),
        tuple((a.shape, a.dtype.str, a.tobytes()) for a in graph.constants.values()),
        tuple(rows),
        tuple(number[v] for v in graph.outputs),
    )


def format_graph(graph: Graph) -> str:
    """Return the graph as text, one node a line."""
    lines = [f"inputs ({', '.join(f'{v!r}: {v.aval}' for v in graph.inputs)})"]
    for value, array in graph.constants.items():
        text = repr(array.item()) if array.size == 1 else f"array of {array.size}"
        lines.append(f"  {value!r}: {value.aval} = constant {text}")
    for node in graph.nodes:
        left = ", ".join(f"{v!r}: {v.aval}" for v in node.outputs)
        attrs = "".join(f", {name}={value!r}" for name, value in node.attrs)
        reads = ", ".join(map(repr, node.inputs))
        where = f"  # {node.origin}" if node.origin is not None else ""
        lines.append(f"  {left} = {node.op.name}({reads}{attrs}){where}")
    lines.append(f"outputs ({', '.join(map(repr, graph.outputs))})")
    return "\n".join(lines)


def all_values(graph: Graph) -> list[Value]:
    """Return every value of the graph."""
    values = [*graph.inputs, *graph.constants]
    for node in graph.nodes:
        values.extend(node.outputs)
    return values
