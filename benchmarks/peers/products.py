"""Products of matrices: small, wide, large."""

from __future__ import annotations

import cellwire as cw

from .frameworks import beside, jax, numbers, torch
from .workload import Call, Workload

SIZES = (((32, 64, 64), 0.7), ((32, 1024, 1024), 1.05), ((512, 256, 1024), 1.05),
         ((1024, 1024, 1024), 1.1))  # fmt: skip
"""Rows, inner size, columns, and the largest ratio allowed."""


def _row(m: int, k: int, n: int, limit: float) -> Workload:
    a, b = numbers(0, m, k), numbers(1, k, n)

    def ours() -> Call:
        x, y = cw.Tensor(a), cw.Tensor(b)
        run = cw.jit(cw.ops.matmul, fullgraph=True)
        return lambda: run(x, y)

    def of_torch() -> Call:
        t = torch()
        x, y = t.from_numpy(a), t.from_numpy(b)
        return lambda: t.matmul(x, y)

    def of_jax() -> Call:
        j = jax()
        x, y = j.numpy.asarray(a), j.numpy.asarray(b)
        run = j.jit(j.numpy.matmul)
        return lambda: run(x, y).block_until_ready()

    return Workload(f"gemm {m}x{k}x{n}", limit, beside(ours, of_torch, of_jax))


def workloads() -> list[Workload]:
    """Return the rows of this family."""
    return [_row(*sizes, limit) for sizes, limit in SIZES]
