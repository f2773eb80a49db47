"""Names of kernels: what kind of kernel it is, and a hash of what tells it from the others."""

from __future__ import annotations

import hashlib


def kernel_name(prefix: str, *parts: object) -> str:
    """Return a name that is unique for a kernel made of these parts."""
    return f"{prefix}_{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"
