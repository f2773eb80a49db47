"""What watches ops: records, which are told of each one, and traces, which take it over."""

from __future__ import annotations

from collections.abc import Callable, Container
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ..origin import Origin
from ..tensor import Tensor

if TYPE_CHECKING:
    from .registry import Op


class Entry(NamedTuple):
    """One use of an op in a record."""

    op: Op
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    attrs: dict[str, Any]
    origin: Origin | None


class Recorder(Protocol):
    """Something that is told of every op that runs."""

    entries: list[Any]

    def note_write(
        self, tensor: Tensor, before: np.ndarray | None = None, part: np.ndarray | None = None
    ) -> None:
        """Learn that the tensor's memory, or a part, is about to change; ``before`` is a copy."""
        ...


class Tracer(Protocol):
    """Something that takes ops instead of running them."""

    thread: int
    logs: bool
    """Whether it tells the records of the ops that it takes by itself."""

    def emit(self, op: Op, inputs: tuple[Tensor, ...], attrs: dict[str, Any]) -> Any:
        """Return the traced outputs of one op: a tensor, or a tuple of them."""
        ...

    def literal(self, array: np.ndarray) -> Tensor:
        """Return a traced tensor for a number written in the code."""
        ...

    def write(self, parameter: Any, data: Any) -> None:
        """Take ``data`` as the tensor's value from now on."""
        ...

    def random_key(self) -> Tensor:
        """Return a traced Int64 tensor ``[2]`` that each call fills with a new random key."""
        ...

    def hook(self, tensor: Tensor, make: Callable[[], Op]) -> None:
        """Put the op that ``make`` gives, of one tensor, between a tensor and its readers."""
        ...

    def note_break(self, reason: Any) -> None:
        """Learn of a reason why the trace cannot be finished, caught by the code or not."""
        ...

    def check_derived(self, trained: Container[int]) -> None:
        """Learn the identities of trained Parameters that are derived by now."""
        ...

    def taker(self) -> Tracer | None:
        """Return the trace that ops come to in the end; None where they run after all."""
        ...

    def again(self) -> AbstractContextManager[None]:
        """Let the body, which runs after this tracer's own, compute in the element types it did."""
        ...
