"""The gradients of a loss, node by node against the order of the forward pass.

A node's part is computed when its turn comes: the node runs once more under a record, from the
values on its wires and with the same random numbers, and the gradient rules of the recorded ops
run backwards. So nothing is fused, a gradient is known on every wire, and a forward pass that is
only looked at records nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .. import ops
from ..autograd.backward import run_backward
from ..autograd.record import Record
from ..ops.registry import Entry
from ..parameter import Parameter
from ..tensor import Tensor, wrap
from .breakpoints import Breakpoints, Direction
from .graph import Edge, Graph, GraphError, Node, Source
from .units import CellState, Clock, NodeUnit, Unit, call_node, cell_of, set_mode
from .walk import Walk
from .wires import Wires


class Backward(Walk):
    """The walk over the nodes that a loss depends on, from the loss to the data.

    Gradients enter a node over the wires that leave it, so a gradient breakpoint is hit when the
    consumer's contribution is about to be added up at the wire's source.
    """

    direction: Direction = "gradient"

    def __init__(
        self,
        graph: Graph,
        loss: Source,
        training: bool,
        breakpoints: Breakpoints,
        wires: Wires,
        clock: Clock,
    ) -> None:
        needed = graph.ancestors([loss.node]) | {loss.node}
        order = [id_ for id_ in reversed(graph.order) if id_ in needed]
        super().__init__([NodeUnit(graph.nodes[id_]) for id_ in order], breakpoints)
        self.graph = graph
        self.loss = loss
        self.training = training
        self.wires = wires
        self.clock = clock
        self.edges: dict[Edge, Tensor] = {}
        self.parameters: dict[str, list[tuple[Parameter, Tensor]]] = {}

    def arriving(self, unit: Unit) -> Sequence[Edge]:
        """The wires out of the unit over which a gradient has come."""
        readers = [edge for source in unit.outputs for edge in self.graph.readers[source]]
        return [edge for edge in readers if edge in self.edges]

    def tensor(self, edge: Edge) -> Tensor:
        """The gradient that the wire's consumer gave."""
        return self.edges[edge]

    def compute(self, unit: Unit) -> None:
        """Run the node's gradient rules; one without incoming gradients gives none."""
        node = self.graph.nodes[unit.id]
        douts = {source: dout for source in unit.outputs if (dout := self._sum(source)) is not None}
        if not douts or (not node.edges and cell_of(node) is None):
            return
        inputs, outputs, entries = self._rerun(node)
        wires = [(edge, tensor) for edge, tensor in inputs.items() if tensor.dtype.is_float]
        parameters = _trained(entries)
        given = [douts.get(source) for source in unit.outputs]
        wrt = [*(tensor for _, tensor in wires), *parameters]
        found = run_backward(entries, outputs, given, wrt)
        for (edge, _), gradient in zip(wires, found, strict=False):
            if gradient is not None:
                self.edges[edge] = gradient
        self.parameters[node.id] = [
            (parameter, gradient)
            for parameter, gradient in zip(parameters, found[len(wires) :], strict=True)
            if gradient is not None
        ]

    def results(self, unit: Unit) -> Mapping[str, str]:
        """Input port → shape and dtype of its gradient."""
        found = [edge for edge in unit.edges if edge in self.edges]
        return {edge.port: str(self.edges[edge].aval) for edge in found}

    def gradient(self, where: Edge | Source) -> Tensor:
        """The gradient over a wire, or the sum at a port."""
        found = self.edges.get(where) if isinstance(where, Edge) else self._sum(where)
        if found is not None:
            return found
        node = self.graph.nodes[where.node]
        passed = node.id in self.done
        raise GraphError(
            f"no gradient flows over {node.name}.{where.port}: its dtype has none, or the loss "
            "does not depend on it"
            if passed
            else f"the backward pass has not come to {node.name}.{where.port} yet"
        )

    def parameter_gradients(self, node: Node) -> dict[str, np.ndarray]:
        """Parameter's name in the Cell → gradient."""
        cell = cell_of(node)
        names = {id(p): name for name, p in cell.parameters_and_names()} if cell else {}
        found = self.parameters.get(node.id, [])
        return {names.get(id(p), p.name): gradient.data for p, gradient in found}

    def _sum(self, source: Source) -> Tensor | None:
        parts = [self.edges[edge] for edge in self.graph.readers[source] if edge in self.edges]
        if source == self.loss:
            value = self.wires.get(source).data
            parts.append(wrap(np.ones(value.shape, value.dtype)))
        return _added(parts)

    def _rerun(self, node: Node) -> tuple[dict[Edge, Tensor], tuple[Tensor, ...], list[Entry]]:
        """Run the node under a record on handles of its own, so that each wire has its own part."""
        inputs = {e: wrap(self.wires.get(self.graph.source(e)).data) for e in node.edges}
        state = CellState(node)
        set_mode(node, self.training)
        try:
            with Record() as record:
                outputs = call_node(node, list(inputs.values()), self.clock)
        finally:
            state.restore()
        return inputs, outputs, record.entries


def _added(parts: Sequence[Tensor]) -> Tensor | None:
    total: Tensor | None = None
    for part in parts:
        total = part if total is None else ops.add(total, part)
    return total


def _trained(entries: Sequence[Entry]) -> list[Parameter]:
    """The trained parameters that were read, each once."""
    read = [tensor for entry in entries for tensor in entry.inputs]
    found = [t for t in read if isinstance(t, Parameter) and t.requires_grad]
    return list({id(parameter): parameter for parameter in found}.values())
