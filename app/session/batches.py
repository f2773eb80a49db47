"""Which rows of the data a run in the debugger gets: a pinned batch, or the next one each time."""

from __future__ import annotations

import numpy as np

from ...engine.run.graph import Graph
from ...engine.run.settings import TrainingSettings, batch_rows, epoch_order, steps_per_epoch
from ...nodes.build import data_sources


class Batches:
    """The batches of the training part, in the order in which training would take them."""

    def __init__(self) -> None:
        self.pinned = True
        self._next = 0

    def pin(self, on: bool) -> None:
        """Stay at the batch of the last run, or go on to the next with each run."""
        self.pinned = on

    def advance(self) -> None:
        """A run begins: go on to the next batch, unless this one is pinned."""
        if not self.pinned:
            self._next += 1

    def feeds(self, graph: Graph, settings: TrainingSettings) -> dict[str, dict[str, np.ndarray]]:
        """The present batch, by data node and port."""
        found: dict[str, dict[str, np.ndarray]] = {}
        for id, source in data_sources(graph).items():
            examples = len(source.train)
            epoch, position = divmod(self._next, steps_per_epoch(settings, examples))
            order = epoch_order(settings, examples, epoch)
            found[id] = source.take(source.train[batch_rows(settings, order, position)])
        return found
