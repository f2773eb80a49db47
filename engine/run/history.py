"""What a training has been through: losses, epochs, and samples of how its Cells change."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

Samples = dict[str, list[tuple[int, float]]]
"""Node's id → (step, value), taken every some steps."""


class Evaluation(msgspec.Struct, frozen=True):
    """Means over examples that are not trained on."""

    loss: float
    accuracy: float | None
    examples: int


class EpochResult(msgspec.Struct, frozen=True, tag=True):
    """One epoch: means over its training steps, and the held-out part after it."""

    epoch: int
    step: int
    loss: float
    accuracy: float | None
    held_out: Evaluation | None
    seconds: float


class StepResult(msgspec.Struct, frozen=True, tag=True):
    """One step: `step` counts from 1 to `steps`, `epoch` from 1 to `epochs`."""

    step: int
    steps: int
    epoch: int
    epochs: int
    loss: float
    accuracy: float | None
    learning_rate: float
    seconds: float
    epoch_end: EpochResult | None = None


class _Rows(msgspec.Struct):
    epochs: list[EpochResult]
    update_ratios: Samples
    gradient_norms: Samples


class History:
    """Losses and accuracies of every step, results of every epoch, samples per node."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.accuracies: list[float | None] = []
        self.epochs: list[EpochResult] = []
        self.update_ratios: Samples = {}
        self.gradient_norms: Samples = {}

    def add(self, loss: float, accuracy: float | None) -> None:
        """Note a step."""
        self.losses.append(loss)
        self.accuracies.append(accuracy)

    def sample(self, step: int, ratios: Mapping[str, float], norms: Mapping[str, float]) -> None:
        """Note update-to-weight ratios and gradient norms of a step."""
        for found, kept in ((ratios, self.update_ratios), (norms, self.gradient_norms)):
            for node, value in found.items():
                kept.setdefault(node, []).append((step, value))

    def close_epoch(self, steps: int, held_out: Evaluation | None, seconds: float) -> EpochResult:
        """Note the end of an epoch of so many steps."""
        losses = self.losses[-steps:]
        shares = [share for share in self.accuracies[-steps:] if share is not None]
        result = EpochResult(
            len(self.epochs) + 1,
            len(self.losses),
            float(np.mean(losses)),
            float(np.mean(shares)) if shares else None,
            held_out,
            seconds,
        )
        self.epochs.append(result)
        return result

    def arrays(self) -> dict[str, np.ndarray]:
        """The long parts, for a state file."""
        shares = [np.nan if share is None else share for share in self.accuracies]
        return {
            "history.losses": np.array(self.losses, np.float64),
            "history.accuracies": np.array(shares, np.float64),
        }

    def text(self) -> str:
        """The rest, as JSON."""
        rows = _Rows(self.epochs, self.update_ratios, self.gradient_norms)
        return msgspec.json.encode(rows).decode()

    def restore(self, arrays: Mapping[str, np.ndarray], text: str) -> None:
        """Become the history that was saved as these."""
        rows = msgspec.json.decode(text, type=_Rows)
        self.losses = arrays["history.losses"].tolist()
        shares = arrays["history.accuracies"].tolist()
        self.accuracies = [None if np.isnan(share) else share for share in shares]
        self.epochs = rows.epochs
        self.update_ratios = rows.update_ratios
        self.gradient_norms = rows.gradient_norms
