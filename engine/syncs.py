"""How often values were read back into Python."""

from __future__ import annotations


class SyncCounter:
    """Counts how often values were read back into Python, where a device would have to wait."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


syncs = SyncCounter()
"""The process's count of synchronisations: ``asnumpy``, ``item``, ``float`` and their like."""
