"""How far an update moves each Cell's weights: the update-to-weight ratio."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..nn.optim import Optimizer
from ..parameter import Parameter
from ..tensor import from_numpy
from .executor import Execution
from .weights import Weights


def changes(
    before: Mapping[str, np.ndarray], parameters: Mapping[str, Parameter]
) -> dict[str, float]:
    """Norm of each parameter's change over the norm that it had; zero for one that was zero."""
    ratios: dict[str, float] = {}
    for key, old in before.items():
        with np.errstate(over="ignore", invalid="ignore"):
            size = float(np.linalg.norm(old))
            change = float(np.linalg.norm(parameters[key].data - old))
        ratios[key] = change / size if size > 0 else 0.0
    return ratios


def largest_per_node(weights: Weights, values: Mapping[str, float]) -> dict[str, float]:
    """The largest of the values of each node's parameters."""
    largest: dict[str, float] = {}
    for key, value in values.items():
        node = weights.node_of[key]
        largest[node] = max(value, largest.get(node, 0.0))
    return largest


def update_ratios(execution: Execution, optimizer: Optimizer) -> dict[str, float]:
    """Node's id → update-to-weight ratio of the step that this optimizer would now make.

    After the execution's backward pass. Weights and moments are left as they are.
    """
    weights = Weights(execution.graph)
    trained = weights.trained
    held = {id(p): p for p in (*optimizer.get_parameters(), *trained.values())}
    saved = [(p, p.data.copy()) for p in held.values()]
    before = {key: p.data.copy() for key, p in trained.items()}
    try:
        optimizer(execution.gradients_of(optimizer.parameters))
        return largest_per_node(weights, changes(before, trained))
    finally:
        for parameter, data in saved:
            parameter.set_data(from_numpy(data))
