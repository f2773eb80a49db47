"""The machine that code is made for: its name, features and vector width."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

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


@cache
def host() -> Target:
    """Return the processor this process runs on."""
    features = binding.get_host_cpu_features()
    flags = features.flatten()
    triple = binding.get_process_triple()
    cpu = binding.get_host_cpu_name()
    if features.get("avx512f") and features.get("avx512bw") and features.get("avx512vl"):
        return Target(triple, cpu, flags, 64, 32)
    if features.get("avx2") and features.get("fma"):
        return Target(triple, cpu, flags, 32, 16)
    return Target(triple, cpu, flags, 16, 32 if triple.startswith(("aarch64", "arm64")) else 16)
