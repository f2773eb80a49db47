"""Gradients of a record."""

from __future__ import annotations

from collections.abc import Sequence

from ..tensor import Tensor
from .backward import ones_for, run_backward, zeros_for
from .record import Record


def gradients(
    record: Record,
    outputs: Sequence[Tensor],
    wrt: Sequence[Tensor],
    douts: Sequence[Tensor | None] | None = None,
) -> list[Tensor]:
    """Return the gradients of ``outputs`` to each tensor of ``wrt``; zeros where none flows.

    ``douts`` are the outputs' own gradients, ones by default.
    """
    given = [ones_for(tensor) for tensor in outputs] if douts is None else list(douts)
    found = run_backward(record.entries, outputs, given, wrt)
    return [
        zeros_for(tensor) if grad is None else grad for tensor, grad in zip(wrt, found, strict=True)
    ]
