"""A graph and the tensors it reads in a file: the IR as JSON beside the arrays.

The file is safetensors; its metadata holds the graph. Reading it runs no code: a node names an op
of the table, and every shape is inferred anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .array_file import ArrayFileError, read_arrays, write_arrays
from .compiler.graph import Graph, Node, Value, freeze_attrs, infer_outputs
from .compiler.structure import LEAF, Leaf
from .dtype import DType, dtype_of
from .ops.registry import OPS
from .shape import Aval, Dim, Quotient, SymDim, evaluate

KEY, VERSION = "cellwire.graph", 1


class GraphFileError(ValueError, RuntimeError):
    """A file of a graph that cannot be written or read."""


@dataclass(frozen=True)
class Held:
    """A tensor that the graph reads besides its arguments."""

    name: str
    kind: str
    """``parameter``, ``tensor``, or ``key`` for a random key that each call draws."""
    array: np.ndarray | None
    trained: bool = False


@dataclass(frozen=True)
class SavedGraph:
    """A graph with what it reads: its inputs are the arguments' tensors, then those of `held`."""

    graph: Graph
    held: tuple[Held, ...]
    arguments: Any
    """How the arguments are nested, with leaves for tensors."""
    result: Any
    """How the result is nested."""
    runs: dict[Graph, Any] = field(default_factory=dict, compare=False, repr=False)
    """What was made to run it, by the graph of each shape."""
    _bound: dict[Any, Graph] = field(default_factory=dict, compare=False, repr=False)

    def __deepcopy__(self, memo: dict[int, Any]) -> SavedGraph:
        return self  # nothing in it changes

    @property
    def avals(self) -> tuple[Aval, ...]:
        """Shapes and dtypes of the arguments' tensors."""
        return tuple(v.aval for v in self.graph.inputs[: len(self.graph.inputs) - len(self.held)])

    def bound(self, given: Sequence[Aval]) -> Graph:
        """Return the graph for arguments of these shapes.

        Raises
        ------
        ValueError
            If they do not fit.
        """
        key = tuple(given)
        if key not in self._bound:
            sizes = _sizes(self.avals, key)
            self._bound[key] = _substituted(self.graph, sizes) if sizes else self.graph
        return self._bound[key]


def _sizes(wanted: Sequence[Aval], given: Sequence[Aval]) -> dict[str, Dim]:
    """Return what the symbols of the graph's sizes are for these arguments."""
    sizes: dict[str, Dim] = {}
    for number, (aval, other) in enumerate(zip(wanted, given, strict=True)):
        fits = aval.ndim == other.ndim and aval.dtype is other.dtype
        for want, have in zip(aval.shape, other.shape, strict=False):
            if isinstance(want, SymDim) and str(want) in want.symbols:
                fits = fits and sizes.setdefault(str(want), have) == have
            else:
                fits = fits and evaluate(want, sizes) == have
        if not fits:
            raise ValueError(f"the graph takes {aval} as tensor {number}, it was given {other}.")
    return sizes


def _substituted(graph: Graph, sizes: dict[str, Dim]) -> Graph:
    def put(value: Any) -> Any:
        if isinstance(value, SymDim):
            return evaluate(value, sizes)
        return tuple(map(put, value)) if isinstance(value, tuple) else value

    avals = [Aval(put(v.aval.shape), v.aval.dtype) for v in graph.inputs]
    nodes = [
        (node.op.name, node.inputs, node.outputs, {k: put(v) for k, v in node.attrs})
        for node in graph.nodes
    ]
    return _built(avals, graph.inputs, graph.constants, nodes, graph.outputs)


def _built(
    avals: Sequence[Aval],
    inputs: Sequence[Any],
    constants: dict[Any, np.ndarray],
    nodes: Sequence[tuple[str, Sequence[Any], Sequence[Any], dict[str, Any]]],
    outputs: Sequence[Any],
) -> Graph:
    """Make a graph of named values; the shapes of all nodes are inferred."""
    values: dict[Any, Value] = {}

    def value(name: Any, aval: Aval) -> Value:
        values[name] = Value(len(values), aval)
        return values[name]

    ins = tuple(value(name, aval) for name, aval in zip(inputs, avals, strict=True))
    fixed = {
        value(name, Aval(array.shape, dtype_of(array.dtype))): array
        for name, array in constants.items()
    }
    made: list[Node] = []
    for op_name, reads, names, attrs in nodes:
        op = OPS.get(op_name)
        if op is None:
            raise GraphFileError(
                f"the graph needs the op {op_name!r}, which this version does not have; update"
                " Cellwire, or export the network with this version."
            )
        given = tuple(values[name] for name in reads)
        found = infer_outputs(op, [v.aval for v in given], attrs)
        outs = tuple(value(name, aval) for name, aval in zip(names, found, strict=True))
        made.append(Node(op, given, outs, freeze_attrs(attrs)))
    return Graph(ins, tuple(made), tuple(values[name] for name in outputs), fixed)


# ---- writing ---------------------------------------------------------------------------------


def write_graph(path: Path, saved: SavedGraph) -> None:
    """Write a graph and its tensors to a file, in one step.

    Raises
    ------
    GraphFileError
        If an attribute or a part of the result cannot be written.
    """
    graph = saved.graph
    number = {value: n for n, value in enumerate((*graph.inputs, *graph.constants))}
    arrays = {f"constant.{n}": array for n, array in enumerate(graph.constants.values())}
    for held in saved.held:
        if held.array is not None:
            arrays[f"held.{held.name}"] = held.array
    nodes: list[Any] = []
    for node in graph.nodes:
        reads = [number[v] for v in node.inputs]
        number.update({v: len(number) + n for n, v in enumerate(node.outputs)})
        attrs = {name: _encode(value) for name, value in node.attrs}
        nodes.append([node.op.name, reads, len(node.outputs), attrs])
    text = {
        "version": VERSION,
        "inputs": [[_encode(a.shape), a.dtype.name] for a in saved.avals],
        "held": [[h.name, h.kind, h.trained] for h in saved.held],
        "constants": len(graph.constants),
        "nodes": nodes,
        "outputs": [number[v] for v in graph.outputs],
        "arguments": _encode(saved.arguments),
        "result": _encode(saved.result),
    }
    write_arrays(path, arrays, {KEY: json.dumps(text)})


def _encode(value: Any) -> Any:
    """Return an attribute, or a nesting of results, as JSON: plain values, or a tag with parts."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if type(value) in (tuple, list):
        return [type(value).__name__, *[_encode(item) for item in value]]
    if type(value) is dict:
        return ["dict", *[[_encode(k), _encode(v)] for k, v in value.items()]]
    if isinstance(value, DType):
        return ["dtype", value.name]
    if isinstance(value, Leaf):
        return ["leaf"]
    if isinstance(value, slice):
        return ["slice", *map(_encode, (value.start, value.stop, value.step))]
    if value is Ellipsis:
        return ["ellipsis"]
    if isinstance(value, SymDim):
        return ["size", *[[factor, *map(_atom, atoms)] for atoms, factor in value.terms]]
    raise GraphFileError(f"a {type(value).__name__} in a graph cannot be written to a file.")


def _atom(atom: Any) -> Any:
    if isinstance(atom, Quotient):
        return [_encode(atom.numerator), _encode(atom.denominator)]
    return atom


# ---- reading ---------------------------------------------------------------------------------


def read_graph(path: Path) -> SavedGraph:
    """Read a graph from a file.

    Raises
    ------
    GraphFileError
        If the file is missing, damaged, of something else, or of a newer version.
    """
    try:
        arrays, metadata = read_arrays(path)
    except ArrayFileError as error:
        raise GraphFileError(f"{error}; cw.load takes what cw.export wrote") from error
    if KEY not in metadata:
        raise GraphFileError(
            f"{path} holds no graph; cw.load takes what cw.export wrote, a checkpoint is read by"
            " cw.load_checkpoint."
        )
    try:
        text = json.loads(metadata[KEY])
        if text["version"] > VERSION:
            raise GraphFileError(f"{path} is of a newer version of Cellwire; update Cellwire.")
        return _read(text, arrays)
    except GraphFileError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise GraphFileError(
            f"{path} is damaged ({type(error).__name__}: {error}); export the network anew."
        ) from error


def _read(text: dict[str, Any], arrays: dict[str, np.ndarray]) -> SavedGraph:
    held = tuple(
        Held(name, kind, arrays[f"held.{name}"] if kind != "key" else None, trained)
        for name, kind, trained in text["held"]
    )
    avals = [Aval(_decode(shape), dtype_of(dtype)) for shape, dtype in text["inputs"]]
    for item in held:
        array = np.zeros(2, np.int64) if item.array is None else item.array
        avals.append(Aval(array.shape, dtype_of(array.dtype)))
    count = len(avals)
    constants = {count + n: arrays[f"constant.{n}"] for n in range(text["constants"])}
    count += len(constants)
    nodes = []
    for op, reads, results, attrs in text["nodes"]:
        decoded = {name: _decode(value) for name, value in attrs.items()}
        nodes.append((op, reads, range(count, count + results), decoded))
        count += results
    graph = _built(avals, range(len(avals)), constants, nodes, text["outputs"])
    return SavedGraph(graph, held, _decode(text["arguments"]), _decode(text["result"]))


def _decode(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    tag, *parts = value
    return _DECODERS[tag](parts)


def _size(parts: list[Any]) -> Dim:
    total: Dim = 0
    for factor, *atoms in parts:
        product: Dim = factor
        for atom in atoms:
            if isinstance(atom, str):
                product = product * SymDim(atom)
            else:
                above, below = map(_decode, atom)
                product = product * (above // below)
        total = total + product
    return total


_DECODERS: dict[str, Callable[[list[Any]], Any]] = {
    "tuple": lambda parts: tuple(map(_decode, parts)),
    "list": lambda parts: list(map(_decode, parts)),
    "dict": lambda parts: {_decode(key): _decode(item) for key, item in parts},
    "dtype": lambda parts: dtype_of(parts[0]),
    "leaf": lambda parts: LEAF,
    "slice": lambda parts: slice(*map(_decode, parts)),
    "ellipsis": lambda parts: ...,
    "size": _size,
}
