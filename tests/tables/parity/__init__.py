"""Our ops and Cells beside PyTorch's; each file of this folder has the ``PAIRS`` of a family.

``WITHOUT_PEER`` of a file names what PyTorch does not have, and why or what it is tested by.
"""

from __future__ import annotations

import importlib
import pkgutil

from parity.pair import Pair

_MODULES = [
    importlib.import_module(f"parity.{name}")
    for name in sorted(info.name for info in pkgutil.iter_modules(__path__))
]

PAIRS: list[Pair] = [pair for module in _MODULES for pair in getattr(module, "PAIRS", ())]
WITHOUT_PEER: dict[str, str] = {
    name: reason
    for module in _MODULES
    for name, reason in getattr(module, "WITHOUT_PEER", {}).items()
}
