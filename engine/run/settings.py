"""How a graph is trained: the settings, the learning rate's schedule, the batches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec
import numpy as np

Columns = Mapping[str, Mapping[str, np.ndarray]]
"""Data node's id → port → array whose first axis counts examples."""

STEP_FACTOR = 0.1  # what the `step` schedule multiplies the rate by
STEPS_DOWN = 3  # how many equal parts of the training the `step` schedule has


class TrainingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The training settings of a graph.

    `overfit_one_batch` repeats the first batch, to see whether the model can learn at all.
    `loss` is the loss node's id where the graph has several. `metric` `auto` is accuracy when
    the labels are integers. `compile_step` makes the whole step one plan; `None` does so when it
    compiles and agrees with eager. `watch_every` is how often, in steps, gradient norms and
    update ratios are taken (0: never).
    """

    optimizer: Literal["SGD", "Momentum", "Adam"] = "Adam"
    learning_rate: float = 0.001
    momentum: float = 0.9
    weight_decay: float = 0.0
    schedule: Literal["constant", "cosine", "step"] = "constant"
    batch_size: int = 32
    epochs: int = 10
    seed: int = 0
    shuffle: bool = True
    overfit_one_batch: bool = False
    loss: str | None = None
    metric: Literal["auto", "accuracy", "none"] = "auto"
    compile_step: bool | None = None
    watch_every: int = 50


class TrainingError(ValueError):
    """A training that cannot start or go on, and what to change."""


def rate_at(settings: TrainingSettings, step: int, steps: int) -> float:
    """The learning rate of one step out of `steps`."""
    done = step / max(steps, 1)
    match settings.schedule:
        case "constant":
            return settings.learning_rate
        case "cosine":
            return settings.learning_rate * 0.5 * (1.0 + math.cos(math.pi * done))
        case "step":
            return settings.learning_rate * STEP_FACTOR ** int(done * STEPS_DOWN)


@dataclass(frozen=True)
class TrainingData:
    """The examples to train on, and those held out that nothing is selected on.

    Raises
    ------
    TrainingError
        Columns of different length, or none to train on.
    """

    train: Columns
    held_out: Columns = field(default_factory=dict)

    def __post_init__(self) -> None:
        if count(self.train) == 0:
            raise TrainingError(
                "the dataset has no examples to train on; give it more rows, or hold out fewer"
            )
        count(self.held_out)


def count(columns: Columns) -> int:
    """The number of examples in columns of equal length."""
    lengths = {
        f"{node}.{port}": len(array)
        for node, ports in columns.items()
        for port, array in ports.items()
    }
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise TrainingError(f"the dataset's columns differ in length: {listed}")
    return next(iter(lengths.values()), 0)


def take(columns: Columns, rows: np.ndarray | slice) -> dict[str, dict[str, np.ndarray]]:
    """The batch of these examples, as feeds for an execution."""
    return {
        node: {port: array[rows] for port, array in ports.items()}
        for node, ports in columns.items()
    }


def steps_per_epoch(settings: TrainingSettings, examples: int) -> int:
    """Batches in an epoch; the last one may be smaller."""
    return 1 if settings.overfit_one_batch else math.ceil(examples / settings.batch_size)


def epoch_order(settings: TrainingSettings, examples: int, epoch: int) -> np.ndarray:
    """The order of the examples in an epoch, by seed and epoch alone, so that a run can resume."""
    order = np.arange(examples)
    if settings.shuffle:
        key = [settings.seed, 0 if settings.overfit_one_batch else epoch]
        np.random.Generator(np.random.Philox(key=key)).shuffle(order)
    return order


def batch_rows(settings: TrainingSettings, order: np.ndarray, position: int) -> np.ndarray:
    """Which examples make the batch at this position of an epoch."""
    start = 0 if settings.overfit_one_batch else position * settings.batch_size
    return order[start : start + settings.batch_size]
