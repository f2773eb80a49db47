"""Runs a graph node by node when asked to: stops on wires, steps back, runs parts again."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Self

import numpy as np

from ..dtype import dtype_of
from ..ops import add
from ..parameter import Parameter
from ..tensor import Tensor, from_numpy
from .backward import Backward
from .breakpoints import Breakpoints, Direction
from .events import Event, Failed, Noted, Stop
from .forward import Forward
from .graph import Edge, Graph, GraphError, Node, Source
from .groups import CompiledGroup
from .units import Clock, Feeds, Unit
from .walk import Walk
from .wires import Wires

DEFAULT_BUDGET = 1 << 30


class Execution:
    """A pull-driven run of a graph: nothing happens but in `advance`, and there is no thread.

    Parameters
    ----------
    graph : Graph
    feeds : mapping of node id to mapping of port to array
        The batch, for the data nodes; it stays pinned. A data node that is not fed is called.
    breakpoints : Breakpoints, optional
        Shared with other executions if their counts are to go on.
    training : bool
        Put the Cells in training mode.
    groups : iterable of CompiledGroup
        Groups of the graph that run as compiled code.
    clock : Clock, optional
        Seed and step, which with the node key random numbers: runs and reruns repeat them.
    budget_bytes : int
        Beyond this, the least recently used values on wires are spilled to a temporary file.
    """

    def __init__(
        self,
        graph: Graph,
        feeds: Feeds | None = None,
        *,
        breakpoints: Breakpoints | None = None,
        training: bool = False,
        groups: Iterable[CompiledGroup] = (),
        clock: Clock | None = None,
        budget_bytes: int = DEFAULT_BUDGET,
    ) -> None:
        self.graph = graph
        self.feeds: Feeds = feeds or {}
        self.breakpoints = breakpoints or Breakpoints()
        self.training = training
        self.groups = tuple(groups)
        self.clock = clock or Clock()
        self.watches: frozenset[Edge] = frozenset()
        self.wires = Wires(budget_bytes)
        self._begin()

    def _begin(self) -> None:
        self._forward = Forward(
            self.graph, self.feeds, self.breakpoints, self.wires, self.groups, self.clock
        )
        self._forward.training = self.training
        self._forward.watches = self.watches
        self._backward: Backward | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Forget all values and remove what was spilled."""
        self.wires.close()

    @property
    def _walk(self) -> Walk:
        return self._backward or self._forward

    @property
    def direction(self) -> Direction:
        """Whether `advance` goes on forward or over gradients."""
        return self._walk.direction

    @property
    def next_unit(self) -> Unit | None:
        """What `advance` would run first, None at the end."""
        return self._walk.next_unit

    @property
    def finished(self) -> bool:
        """Whether every node has run (or, in the backward pass, given its gradients)."""
        return self.next_unit is None

    @property
    def back_steps(self) -> int:
        """How many times `step_back` can go back."""
        return self._forward.at + (self._backward.at if self._backward else 0)

    @property
    def failure(self) -> Failed | None:
        """The error that the run stands on."""
        return self._walk.failure

    @property
    def times(self) -> dict[str, float]:
        """Node's (or group's) id → seconds of its last run in this direction."""
        return self._walk.times

    @property
    def notes(self) -> list[Noted]:
        """What breakpoints that do not stop have noted, in order."""
        return [*self._forward.notes, *(self._backward.notes if self._backward else [])]

    @property
    def snapshots(self) -> dict[tuple[Edge, Direction], np.ndarray]:
        """The last value that each snapshot breakpoint has copied."""
        return {**self._forward.snapshots, **(self._backward.snapshots if self._backward else {})}

    def advance(self, stop: Stop = "breakpoint", *, until: str | None = None) -> Event:
        """Go on to the next stop and say what it is.

        Parameters
        ----------
        stop : {"breakpoint", "node", "end"}
            Stop at a breakpoint; also after each node; or only at the end (breakpoints then
            count and log, but do not stop). An error always stops.
        until : str, optional
            Stop before this node as well.
        """
        return self._walk.advance(stop, until)

    def run_to(self, node: str) -> Event:
        """Go on until this node is next; breakpoints before it stop too."""
        return self.advance("breakpoint", until=self._known(node).id)

    def step_back(self) -> Event:
        """Walk to before the node that ran last; values are kept, nothing runs.

        From the start of the backward pass this leads back into the forward pass.

        Raises
        ------
        GraphError
            At the start there is nothing to go back to.
        """
        if self._backward is not None and self._backward.at == 0:
            self._backward = None
        return self._walk.step_back()

    def rerun_from(self, node: str) -> None:
        """Forget what this node and all downstream of it gave; the next `advance` begins there."""
        stale = {self._known(node).id} | self.graph.descendants([node])
        units = self._forward.units
        for unit in units:
            if stale.intersection(unit.nodes):
                stale.update(unit.nodes)
        self._backward = None
        self._forward.forget(stale)
        self._forward.rewind(next(at for at, unit in enumerate(units) if node in unit.nodes))

    def take_over(self, other: Execution, nodes: Iterable[str]) -> None:
        """Begin with the values that these nodes gave in another run, as after an edit elsewhere.

        The nodes must be in both graphs, compute the same there, and be fed by such nodes alone.
        """
        self._forward.take_over(other._forward, nodes)

    def restart(self, feeds: Feeds | None = None, clock: Clock | None = None) -> None:
        """Begin again, with a new batch or with the pinned one, and at another step if given."""
        if feeds is not None:
            self.feeds = feeds
        self.clock = clock or self.clock
        self.wires.clear()
        self._begin()

    def discard(self) -> None:
        """Put back the Cell statistics that this run has changed, and forget its values."""
        self._backward = None
        self._forward.forget(set(self._forward.done))
        self._forward.rewind(0)

    def watch(self, edges: Iterable[Edge]) -> None:
        """Keep the values on these wires even where they lie inside a compiled group."""
        self.watches = self._forward.watches = frozenset(edges)

    def set_training(self, training: bool) -> None:
        """Switch between training and evaluation from the next node on."""
        self.training = self._forward.training = training

    def backward(self, loss: str | None = None) -> None:
        """Turn to the gradients of a loss: `advance` then goes back over the graph node by node.

        Parameters
        ----------
        loss : str, optional
            The node whose only output is the loss; the graph's only node of kind `loss` if None.

        Raises
        ------
        GraphError
            There is no such node, it has not run, or its value is not one number.
        """
        node = self._loss_node(loss)
        source = Source(node.id, node.outputs[0])
        value = self.value(source)
        if value.size != 1 or not dtype_of(value.dtype).is_float:
            raise GraphError(
                f"{node.name}.{source.port} is {self.wires.get(source).aval}; gradients need a "
                "loss that is one floating-point number, so reduce it with a mean or a sum",
                [node.id],
            )
        self._forward.materialise(self.graph.ancestors([node.id]))
        self._backward = Backward(
            self.graph, source, self.training, self.breakpoints, self.wires, self.clock
        )

    def _loss_node(self, loss: str | None) -> Node:
        if loss is not None:
            return self._known(loss)
        losses = self.graph.losses()
        if len(losses) != 1:
            names = ", ".join(node.name for node in losses) or "none"
            raise GraphError(
                f"gradients start at one loss node; the graph has {names}: say which, or add one"
            )
        return losses[0]

    def gradient(self, where: Edge | Source) -> np.ndarray:
        """The gradient over a wire (its consumer's part), or at a port (the sum of its wires').

        Raises
        ------
        GraphError
            The backward pass has not come there, or no gradient flows there.
        """
        return self._gradients().gradient(where).data

    def has_gradient(self, edge: Edge) -> bool:
        """Whether `gradient` would give one for this wire."""
        return self._backward is not None and edge in self._backward.edges

    def parameter_gradients(self, node: str) -> dict[str, np.ndarray]:
        """Parameter's name in the node's Cell → its gradient, as far as the backward pass went."""
        return self._gradients().parameter_gradients(self._known(node))

    def gradients_of(self, parameters: Iterable[Parameter]) -> tuple[Tensor, ...]:
        """The gradients of these parameters, summed over the nodes that read them; else zeros."""
        total: dict[int, Tensor] = {}
        for pairs in self._gradients().parameters.values():
            for parameter, gradient in pairs:
                known = total.get(id(parameter))
                total[id(parameter)] = gradient if known is None else add(known, gradient)
        return tuple(
            total[id(p)] if id(p) in total else from_numpy(np.zeros_like(p.data))
            for p in parameters
        )

    def _gradients(self) -> Backward:
        if self._backward is None:
            raise GraphError("there are no gradients yet; run the graph and then its backward pass")
        return self._backward

    def inputs(self, node: str) -> dict[str, np.ndarray]:
        """The values on the wires that enter a node, by port, as far as they are there."""
        edges = self._known(node).edges
        return {edge.port: self.value(edge) for edge in edges if self.has_value(edge)}

    def value(self, where: Edge | Source) -> np.ndarray:
        """The value on a wire or at an output port.

        Raises
        ------
        GraphError
            It has not been computed, or stayed inside a compiled group.
        """
        source = self.graph.source(where) if isinstance(where, Edge) else where
        if source in self.wires:
            return self.wires.get(source).data
        node = self._known(source.node)
        if source.port not in node.outputs:
            raise GraphError(f"{node.name} has no output {source.port}; it has {node.outputs}")
        if source.node in self._forward.done:
            raise GraphError(
                f"{node.name}.{source.port} stayed inside a compiled group; set a breakpoint or "
                "a watch on its wire and run again"
            )
        raise GraphError(f"{node.name} has not run yet, so {source.port} has no value")

    def has_value(self, where: Edge | Source) -> bool:
        """Whether `value` would give one."""
        source = self.graph.source(where) if isinstance(where, Edge) else where
        return source in self.wires

    def _known(self, id_: str) -> Node:
        node = self.graph.nodes.get(id_)
        if node is None:
            raise GraphError(f"the graph has no node {id_}")
        return node
