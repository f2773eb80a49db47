"""What is trained and by what: the loss with its labels, and the optimizer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from ..nn.optim import SGD, Adam, Momentum, Optimizer
from ..parameter import Parameter
from ..tensor import Tensor
from .graph import Graph, Node, Source, schedule
from .groups import CompiledGroup, Piece
from .settings import Columns, TrainingError, TrainingSettings
from .units import Clock, Feeds, NodeUnit, Unit, run_units, set_mode


@dataclass(frozen=True)
class Objective:
    """What is trained: the loss, and the logits and labels that its accuracy is taken from.

    Groups run as compiled code, with a forward and a backward plan each.
    """

    graph: Graph
    loss: Source
    logits: Source | None = None
    labels: Source | None = None
    groups: tuple[CompiledGroup, ...] = ()

    def __call__(self, feeds: Feeds, clock: Clock, *, training: bool) -> tuple[Tensor, ...]:
        """The loss, then logits and labels if there are any."""
        self.set_training(training)
        values = run_units(self.graph, self._units, feeds, clock)
        return tuple(values[source] for source in self._wanted)

    def set_training(self, training: bool) -> None:
        """Switch all Cells, and the groups."""
        for node in self.graph.nodes.values():
            set_mode(node, training)
        for unit in self._units:
            if isinstance(unit, Piece):
                unit.training = training

    def without_groups(self) -> Objective:
        """The same, run node by node."""
        return replace(self, groups=())

    @property
    def _wanted(self) -> tuple[Source, ...]:
        judged = self.logits is not None and self.labels is not None
        extra = (self.logits, self.labels) if judged else ()
        return (self.loss, *(source for source in extra if source is not None))

    @cached_property
    def _units(self) -> list[Unit]:
        compiled = {group.group: group for group in self.groups if group.usable}
        units: list[Unit] = []
        for part in schedule(self.graph, compiled):
            if isinstance(part, str):
                units.append(NodeUnit(self.graph.nodes[part]))
            else:
                units += compiled[part].pieces(kept=self._wanted)
        return units


def optimizer_of(settings: TrainingSettings, trained: list[Parameter]) -> Optimizer:
    """The optimizer of the settings over these parameters."""
    rate, decay = settings.learning_rate, settings.weight_decay
    match settings.optimizer:
        case "SGD":
            return SGD(trained, learning_rate=rate, weight_decay=decay)
        case "Momentum":
            return Momentum(trained, rate, settings.momentum, weight_decay=decay)
        case "Adam":
            return Adam(trained, learning_rate=rate, weight_decay=decay)


def objective_of(
    graph: Graph,
    columns: Columns,
    settings: TrainingSettings,
    groups: Iterable[CompiledGroup] = (),
) -> Objective:
    """What the settings train: the loss, and where accuracy applies its logits and labels.

    Raises
    ------
    TrainingError
        There is no loss, or more than one and none chosen; or the dataset feeds unknown nodes.
    """
    node = _loss_node(graph, settings)
    unfed = [id_ for id_ in columns if id_ not in graph.nodes]
    if unfed:
        raise TrainingError(f"the dataset feeds {', '.join(unfed)}, which the graph does not have")
    whole = Objective(graph, Source(node.id, node.outputs[0]), groups=tuple(groups))
    if settings.metric == "none" or len(node.edges) < 2:
        return whole
    logits, labels = (graph.source(edge) for edge in node.edges[:2])
    if settings.metric == "accuracy" or _are_classes(columns, labels):
        return replace(whole, logits=logits, labels=labels)
    return whole


def _are_classes(columns: Columns, labels: Source) -> bool:
    """Whether the labels come from the dataset as whole numbers, one an example."""
    array = columns.get(labels.node, {}).get(labels.port)
    return array is not None and array.ndim == 1 and array.dtype.kind in "iu"


def _loss_node(graph: Graph, settings: TrainingSettings) -> Node:
    if settings.loss is not None:
        return graph.node(settings.loss)
    losses = graph.losses()
    if len(losses) == 1:
        return losses[0]
    names = ", ".join(node.name for node in losses)
    raise TrainingError(
        f"the graph has several losses ({names}); choose one in the training settings"
        if losses
        else "the graph has no loss; add one, as CrossEntropyLoss, and wire logits and labels to it"
    )
