"""The peers, two threads each, and training steps in them."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any

THREADS = 2
for _name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(_name, None)
os.environ.setdefault("OMP_NUM_THREADS", str(THREADS))

import numpy as np  # noqa: E402 - the environment is read when NumPy is loaded

from .workload import OURS, Call  # noqa: E402

Maker = Callable[[], Call]
"""Makes a contender's call."""

HAS_TORCH = importlib.util.find_spec("torch") is not None
HAS_JAX = importlib.util.find_spec("jax") is not None


def torch() -> Any:
    """Return PyTorch with the benchmark's threads."""
    import torch

    torch.set_num_threads(THREADS)
    return torch


def jax() -> Any:
    """Return JAX."""
    import jax

    return jax


def beside(ours: Maker, of_torch: Maker, of_jax: Maker | None) -> dict[str, Maker]:
    """Return the contenders of a row: ours and the peers that are installed."""
    found = {OURS: ours}
    if HAS_TORCH:
        found["torch"] = of_torch
    if HAS_JAX and of_jax is not None:
        found["jax"] = of_jax
    return found


def beside_compiled(
    ours: Maker, of_torch: Callable[[bool], Call], of_jax: Maker
) -> dict[str, Maker]:
    """The same where ``of_torch`` says whether PyTorch compiles."""
    found = beside(ours, lambda: of_torch(False), of_jax)
    return {**found, "torch.compile": lambda: of_torch(True)} if HAS_TORCH else found


def numbers(seed: int, *shape: int, scale: float = 1.0) -> np.ndarray:
    """Return normal numbers in float32."""
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def torch_step(
    module: Any, loss: Callable[[Any], Any], optimizer: str, compiled: bool
) -> Callable[[], Any]:
    """Return a training step of a PyTorch module, whole or compiled as far as PyTorch can."""
    t = torch()
    made = {
        "adam": lambda: t.optim.Adam(module.parameters(), lr=1e-3),
        "momentum": lambda: t.optim.SGD(module.parameters(), lr=1e-2, momentum=0.9),
    }[optimizer]()
    forward = t.compile(loss) if compiled else loss

    def step() -> Any:
        made.zero_grad(set_to_none=True)
        value = forward(module)
        value.backward()
        made.step()
        return value

    return step


def jax_step(
    loss: Callable[[Any], Any], weights: list[np.ndarray], optimizer: str
) -> Callable[[], Any]:
    """Return a jitted training step in JAX; its buffers are given back to it at each call."""
    j = jax()
    np_ = j.numpy
    state = [[np_.asarray(w) for w in weights]]
    state += [[np_.zeros_like(w) for w in state[0]] for _ in range(2 if optimizer == "adam" else 1)]

    def adam(step: Any, grads: Any, params: Any, first: Any, second: Any) -> Any:
        b1, b2 = 1 - 0.9**step, 1 - 0.999**step
        first = [0.9 * m + 0.1 * g for m, g in zip(first, grads, strict=True)]
        second = [0.999 * v + 0.001 * g * g for v, g in zip(second, grads, strict=True)]
        new = [
            p - 1e-3 * (m / b1) / (np_.sqrt(v / b2) + 1e-8)
            for p, m, v in zip(params, first, second, strict=True)
        ]
        return new, first, second

    def momentum(_: Any, grads: Any, params: Any, first: Any) -> Any:
        first = [0.9 * m + g for m, g in zip(first, grads, strict=True)]
        return [p - 1e-2 * m for p, m in zip(params, first, strict=True)], first

    update = adam if optimizer == "adam" else momentum

    def whole(step: Any, held: Any) -> Any:
        value, grads = j.value_and_grad(loss)(held[0])
        return value, update(step, grads, *held)

    run = j.jit(whole, donate_argnums=(1,))
    held = [tuple(state)]
    count = [0.0]

    def step() -> Any:
        count[0] += 1.0
        value, held[0] = run(count[0], held[0])
        return value.block_until_ready()

    return step
