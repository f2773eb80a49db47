"""What a call costs beside its work: a compiled graph of one op on a few numbers."""

from __future__ import annotations

import cellwire as cw

from .frameworks import beside_compiled, jax, numbers, torch
from .workload import Call, Workload

GOAL = 2.0
"""Microseconds."""


def _ours() -> Call:
    x = cw.Tensor(numbers(0, 4, 4))
    run = cw.jit(cw.ops.exp, fullgraph=True)
    return lambda: run(x)


def _torch(compiled: bool) -> Call:
    t = torch()
    x = t.from_numpy(numbers(0, 4, 4))
    run = t.compile(t.exp) if compiled else t.exp
    return lambda: run(x)


def _jax() -> Call:
    j = jax()
    x = j.numpy.asarray(numbers(0, 4, 4))
    run = j.jit(j.numpy.exp)
    return lambda: run(x).block_until_ready()


def workloads() -> list[Workload]:
    """Return the rows of this family."""
    found = beside_compiled(_ours, _torch, _jax)
    return [Workload("call of a one-op graph", 1.0, found, goal=GOAL)]
