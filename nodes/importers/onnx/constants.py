"""Values that are known without running the model: shapes, constants and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....engine.ops.registry import traces
from ....engine.tensor import Tensor, wrap


class Constants:
    """The tensors whose arrays may be read while a trace is active."""

    def __init__(self) -> None:
        # Holding the tensors keeps their identities from being used again.
        self._known: dict[int, tuple[Tensor, np.ndarray]] = {}

    def new(self, array: np.ndarray) -> Tensor:
        """Return a tensor of known values."""
        tensor = wrap(array)
        self._known[id(tensor)] = (tensor, array)
        return tensor

    def note(self, tensor: Any) -> None:
        """Remember a tensor that was computed from known values."""
        if type(tensor) is Tensor:
            self._known[id(tensor)] = (tensor, tensor.data)

    def array(self, tensor: Any) -> np.ndarray | None:
        """Return the values of a known tensor, None of any other value."""
        found = self._known.get(id(tensor))
        return None if found is None else found[1]

    def inner(self) -> Constants:
        """Return constants that begin with these, for one run of the model."""
        made = Constants()
        made._known = dict(self._known)
        return made


def outside_traces(run: Callable[[], Any]) -> Any:
    """Run now, although a trace may be active: what comes of known values is known."""
    outer = traces[:]
    traces.clear()
    try:
        return run()
    finally:
        traces[:] = outer
