"""One use or more of every op; each file of this folder has the ``SAMPLES`` of a family."""

from __future__ import annotations

import importlib
import pkgutil

from op_samples.sample import N, Sample

SAMPLES: list[Sample] = [
    sample
    for module in sorted(info.name for info in pkgutil.iter_modules(__path__))
    for sample in getattr(importlib.import_module(f"op_samples.{module}"), "SAMPLES", ())
]

__all__ = ["SAMPLES", "N", "Sample"]
