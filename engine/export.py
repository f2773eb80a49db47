"""``export`` and ``load``: a network as a graph in a file, which runs without its Python class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .compiler.graph import Graph
from .compiler.simplify import eliminate_dead
from .compiler.structure import flatten, opaque_part, unflatten
from .compiler.trace import TracedCall, trace
from .compiler.traced import RandomKey, TraceBreak
from .graph_file import GraphFileError, Held, SavedGraph, read_graph, write_graph
from .nn.cell import Cell
from .ops.registry import OPS, Composite, apply, traces
from .parameter import Parameter
from .tensor import Tensor, TensorSpec

SUFFIX = ".mindir"


def export(
    net: Cell, *inputs: Any, file_name: str | Path, file_format: str = "MINDIR", **kwargs: Any
) -> None:
    """Write what a network computes, and its parameters, to a file that ``load`` reads.

    The network is traced in inference, whatever its mode. The format is Cellwire's own; only the
    ending is MindSpore's.

    Parameters
    ----------
    net : Cell
        The network.
    *inputs : Tensor, TensorSpec or nested tensors
        Arguments as of a call. ``Tensor(shape=[None, 3], dtype=...)`` leaves a size open.
        Arguments that are no tensors become part of the graph.
    file_name : str or Path
        The file; ``.mindir`` is added where it has no such ending.
    file_format : str
        ``"MINDIR"``.
    **kwargs
        MindSpore's other options, of which none is offered (``enc_key``, ``customized_func``, …).

    Raises
    ------
    TypeError
        If `net` is no Cell, or something is given besides.
    ValueError
        If the format is another one.
    GraphFileError
        If what the network does cannot be held by a graph: the reason says why.
    """
    if not isinstance(net, Cell):
        raise TypeError(f"export takes a Cell, not {type(net).__name__}.")
    if file_format != "MINDIR":
        raise ValueError(f"export: file_format must be 'MINDIR', it is {file_format!r}.")
    if kwargs:
        raise TypeError(f"export has no option {sorted(kwargs)[0]!r}.")
    path = Path(file_name)
    if not path.name.endswith(SUFFIX):
        path = path.with_name(path.name + SUFFIX)
    saved = saved_graph(net, inputs)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_graph(path, saved)


def load(file_name: str | Path) -> SavedGraph:
    """Read a graph that ``export`` wrote; ``nn.GraphCell(graph)`` runs it.

    Parameters
    ----------
    file_name : str or Path
        The file.

    Returns
    -------
    SavedGraph
        The graph with its weights.

    Raises
    ------
    GraphFileError
        If the file is missing, damaged, or of something else.
    """
    return read_graph(Path(file_name))


def saved_graph(net: Cell, inputs: tuple[Any, ...]) -> SavedGraph:
    """Trace a network in inference, with everything that it reads.

    Raises
    ------
    GraphFileError
        If a graph cannot hold what it does.
    """
    given, arguments = flatten(inputs, lambda leaf: isinstance(leaf, Tensor | TensorSpec))

    def call(tensors: Any) -> Any:
        return net(*unflatten(arguments, tensors))  # pyright: ignore[reportGeneralTypeIssues]

    modes = [(cell, cell.training) for _, cell in net.cells_and_names()]
    net.set_train(False)
    try:
        traced = trace(call, [leaf.aval for leaf in given], call=call)  # pyright: ignore
    except TraceBreak as reason:
        raise GraphFileError(f"{net.cls_name} cannot be exported: {reason}") from reason
    finally:
        for cell, mode in modes:
            cell.__dict__["training"] = mode
    _check(net, traced, arguments)
    graph = eliminate_dead(_of_table(traced.graph))
    return SavedGraph(graph, _held(net, traced), arguments, traced.structure)


def _check(net: Cell, traced: TracedCall, arguments: Any) -> None:
    if traced.writes:
        names = ", ".join(repr(getattr(tensor, "name", "a tensor")) for tensor in traced.writes)
        raise GraphFileError(
            f"{net.cls_name} cannot be exported: it writes to {names} in inference."
        )
    for what, structure in (("arguments", arguments), ("result", traced.structure)):
        part = opaque_part(structure)
        if part is not None:
            raise GraphFileError(
                f"{net.cls_name} cannot be exported: its {what} hold a {type(part).__name__}."
            )


def _of_table(graph: Graph) -> Graph:
    """Return the graph with only ops of the table: hooks, ``bprop`` and compiled calls expanded."""
    if all(OPS.get(node.op.name) is node.op for node in graph.nodes):
        return graph

    def replay(*tensors: Tensor) -> tuple[Tensor, ...]:
        values = dict(zip(graph.inputs, tensors, strict=True))
        for value, array in graph.constants.items():
            values[value] = traces[-1].literal(array)
        for node in graph.nodes:
            given = tuple(values[v] for v in node.inputs)
            if OPS.get(node.op.name) is node.op:
                result = apply(node.op, given, node.attributes)
            elif isinstance(node.op.lowering, Composite):
                result = node.op.lowering.fn(*given, **node.attributes)
            else:
                raise GraphFileError(f"the op {node.op.name} cannot be written to a file.")
            results = result if isinstance(result, tuple) else (result,)
            values.update(zip(node.outputs, results, strict=True))
        return tuple(values[v] for v in graph.outputs)

    return _of_table(trace(replay, [v.aval for v in graph.inputs]).graph)


def _held(net: Cell, traced: TracedCall) -> tuple[Held, ...]:
    names = {id(param): name for name, param in net.parameters_and_names()}
    found: list[Held] = []
    for number, tensor in enumerate(traced.captured):
        if isinstance(tensor, RandomKey):
            found.append(Held(f"key.{number}", "key", None))
            continue
        name = names.get(id(tensor), f"tensor.{number}")
        kind = "parameter" if isinstance(tensor, Parameter) else "tensor"
        trained = isinstance(tensor, Parameter) and tensor.requires_grad
        found.append(Held(name, kind, np.asarray(tensor.data), trained))
    return tuple(found)
