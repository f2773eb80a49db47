"""The values kept on wires, with a memory budget: the least recently used go to disk."""

from __future__ import annotations

import tempfile
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ..tensor import Tensor
from .graph import Source


class Wires:
    """Output port → tensor. Beyond `budget_bytes` the least recently used are spilled to files.

    Spilled values live in a temporary folder that `close` (or the end of the process) removes.
    """

    def __init__(self, budget_bytes: int) -> None:
        self.budget_bytes = budget_bytes
        self.held_bytes = 0
        self._held: OrderedDict[Source, Tensor] = OrderedDict()
        self._spilled: dict[Source, Path] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._files = 0

    def __contains__(self, source: Source) -> bool:
        return source in self._held or source in self._spilled

    @property
    def spilled(self) -> tuple[Source, ...]:
        """The ports whose values are on disk now."""
        return tuple(self._spilled)

    def put(self, source: Source, tensor: Tensor) -> None:
        """Keep a value, in place of an earlier one of this port."""
        self.drop([source])
        self._held[source] = tensor
        self.held_bytes += tensor.data.nbytes
        self._make_room(keep=source)

    def get(self, source: Source) -> Tensor:
        """The value of a port, read back from disk if it was spilled; KeyError if not kept."""
        if source in self._held:
            self._held.move_to_end(source)
            return self._held[source]
        tensor = Tensor(np.load(self._spilled[source], allow_pickle=False))
        self.put(source, tensor)
        return tensor

    def drop(self, sources: Iterable[Source]) -> None:
        """Forget these values where they are kept."""
        for source in sources:
            tensor = self._held.pop(source, None)
            if tensor is not None:
                self.held_bytes -= tensor.data.nbytes
            path = self._spilled.pop(source, None)
            if path is not None:
                path.unlink()

    def clear(self) -> None:
        """Forget every value."""
        self.drop([*self._held, *self._spilled])

    def close(self) -> None:
        """Forget every value and remove the temporary folder."""
        self.clear()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _make_room(self, keep: Source) -> None:
        while self.held_bytes > self.budget_bytes and len(self._held) > 1:
            oldest = next(source for source in self._held if source != keep)
            self._spill(oldest, self._held.pop(oldest))

    def _spill(self, source: Source, tensor: Tensor) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="cellwire-wires-")
        self._files += 1
        path = Path(self._folder.name) / f"{self._files}.npy"
        np.save(path, tensor.data, allow_pickle=False)
        self.held_bytes -= tensor.data.nbytes
        self._spilled[source] = path
