"""GELU over a million numbers."""

from __future__ import annotations

from typing import Any

import cellwire as cw

from .frameworks import beside_compiled, jax, numbers, torch
from .workload import Call, Workload

SIZE = 1 << 20
COEFFICIENT, CUBIC = 0.7978845608028654, 0.044715


def _gelu(tanh: Any, x: Any) -> Any:
    """Write GELU by its tanh formula, as a chain of ops that a compiler should fuse."""
    return 0.5 * x * (1.0 + tanh(COEFFICIENT * (x + CUBIC * x * x * x)))


def _ours() -> Call:
    x = cw.Tensor(numbers(0, SIZE))
    run = cw.jit(lambda x: _gelu(cw.ops.tanh, x), fullgraph=True)
    return lambda: run(x)


def _torch(compiled: bool) -> Call:
    t = torch()
    x = t.from_numpy(numbers(0, SIZE))

    def gelu(x: Any) -> Any:
        return _gelu(t.tanh, x)

    run = t.compile(gelu) if compiled else gelu
    return lambda: run(x)


def _jax() -> Call:
    j = jax()
    x = j.numpy.asarray(numbers(0, SIZE))
    run = j.jit(lambda x: _gelu(j.numpy.tanh, x))
    return lambda: run(x).block_until_ready()


def workloads() -> list[Workload]:
    """Return the rows of this family."""
    return [Workload("GELU over 2^20 floats", 0.9, beside_compiled(_ours, _torch, _jax))]
