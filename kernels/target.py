"""The machine that code is made for: its name, features and vector width."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Final

from llvmlite import binding

from .expressions import DType


@dataclass(frozen=True)
class Target:
    """What the printers and the cache need to know of a processor."""

    triple: str
    cpu: str
    features: str
    vector_bytes: int
    registers: int  # vector registers

    def lanes(self, dtype: DType) -> int:
        """How many elements of a dtype one vector register holds."""
        return self.vector_bytes // dtype.itemsize


X86: Final = "x86_64-unknown-linux-gnu"
LEVELS: Final = {
    "x86-64": Target(X86, "x86-64", "", 16, 16),
    "x86-64-v3": Target(X86, "x86-64-v3", "", 32, 16),
    "x86-64-v4": Target(X86, "x86-64-v4", "-prefer-256-bit", 64, 32),
    "aarch64": Target("aarch64-unknown-linux-gnu", "generic", "+neon", 16, 32),
}
"""Processors by their psABI level: SSE2, AVX2, AVX-512, and NEON."""

_CHOSEN: Final[list[Target]] = []


def host() -> Target:
    """Return the processor that code is made for: this one, or what ``using`` says.

    `CELLWIRE_TARGET` names a lower level of it (``x86-64-v3``), as for comparing widths.
    """
    return _CHOSEN[-1] if _CHOSEN else _host(os.environ.get("CELLWIRE_TARGET", ""))


@contextmanager
def using(target: Target) -> Iterator[Target]:
    """Make code for another processor, in all threads; to run it is the caller's business."""
    _CHOSEN.append(target)
    try:
        yield target
    finally:
        _CHOSEN.remove(target)


@cache
def _host(wanted: str) -> Target:
    found = _this()
    if not wanted:
        return found
    level = LEVELS.get(wanted)
    family = found.triple.partition("-")[0]
    fits = level is not None and level.triple.startswith(family)
    if level is None or not fits or level.vector_bytes > found.vector_bytes:
        runs = [n for n, t in LEVELS.items() if t.triple.startswith(family)]
        raise ValueError(
            f"CELLWIRE_TARGET is {wanted!r}; this {found.cpu} may run as one of {runs}"
        )
    return level


def _this() -> Target:
    features = binding.get_host_cpu_features()
    flags = features.flatten()
    triple = binding.get_process_triple()
    cpu = binding.get_host_cpu_name()
    if features.get("avx512f") and features.get("avx512bw") and features.get("avx512vl"):
        # Some processors would have explicit vectors of 512 bits split in two.
        return Target(triple, cpu, f"{flags},-prefer-256-bit", 64, 32)
    if features.get("avx2") and features.get("fma"):
        return Target(triple, cpu, flags, 32, 16)
    return Target(triple, cpu, flags, 16, 32 if triple.startswith(("aarch64", "arm64")) else 16)
