"""What is trained and by what: the loss with its labels, and the optimizer."""

from __future__ import annotations

from dataclasses import dataclass

from ..nn.optim import SGD, Adam, Momentum, Optimizer
from ..parameter import Parameter
from ..tensor import Tensor
from .graph import Graph, Node, Source
from .settings import Columns, TrainingError, TrainingSettings
from .units import Clock, Feeds, run_graph, set_mode


@dataclass(frozen=True)
class Objective:
    """What is trained: the loss, and the logits and labels that its accuracy is taken from."""

    graph: Graph
    loss: Source
    logits: Source | None = None
    labels: Source | None = None

    def __call__(self, feeds: Feeds, clock: Clock) -> tuple[Tensor, ...]:
        """The loss, then logits and labels if there are any."""
        values = run_graph(self.graph, feeds, clock)
        extra = () if self.logits is None or self.labels is None else (self.logits, self.labels)
        return (values[self.loss], *(values[source] for source in extra))

    def set_training(self, training: bool) -> None:
        """Switch all Cells."""
        for node in self.graph.nodes.values():
            set_mode(node, training)


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


def objective_of(graph: Graph, columns: Columns, settings: TrainingSettings) -> Objective:
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
    loss = Source(node.id, node.outputs[0])
    if settings.metric == "none" or len(node.edges) < 2:
        return Objective(graph, loss)
    logits, labels = (graph.source(edge) for edge in node.edges[:2])
    wanted = settings.metric == "accuracy" or _are_classes(columns, labels)
    return Objective(graph, loss, logits, labels) if wanted else Objective(graph, loss)


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
