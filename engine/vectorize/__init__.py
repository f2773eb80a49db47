"""``vmap``: functions of one example made functions of many, op by op."""

from .batched import Batched, BatchTrace, VmapWarning
from .vmap import vmap

__all__ = ["BatchTrace", "Batched", "VmapWarning", "vmap"]
