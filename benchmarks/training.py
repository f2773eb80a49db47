"""A training step of six blocks of add, layer norm, dense and ReLU, with Adam: beside PyTorch.

Run ``python -m benchmarks.training`` (``--json`` for scripts). All contenders run in turn in the
same process; each figure is the median over rounds of the best time per call in a round. Eager
steps are also taken apart: forward pass, ``value_and_grad``, optimizer.
"""

from __future__ import annotations  # noqa: I001 - mlp_blocks sets the environment before NumPy is loaded

import argparse
import json
from collections.abc import Callable
from typing import Any

from benchmarks.mlp_blocks import (
    BATCH,
    BLOCKS,
    WIDTH,
    Weights,
    make_weights,
    measure,
)

import cellwire as cw
import numpy as np

RATE = 1e-3
LIMIT = 0.5  # of PyTorch's eager step, which an eager step should not take longer than
ops = cw.ops

Call = Callable[[], Any]


class Blocks(cw.nn.Cell):
    """The blocks and the mean square of what comes out."""

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        names = ("scale", "shift", "weight", "bias")
        self.rows = [
            tuple(cw.Parameter(w, name=f"{name}{i}") for name, w in zip(names, block, strict=True))
            for i, block in enumerate(weights)
        ]
        for row in self.rows:
            for param in row:
                self.insert_param_to_cell(param.name, param)

    def construct(self, x: Any, y: Any) -> Any:
        """Return the loss."""
        for scale, shift, weight, bias in self.rows:
            x = ops.layer_norm(ops.add(x, y), (WIDTH,), scale, shift, 1e-5)
            x = ops.relu(ops.dense(x, weight, bias))
        return ops.mean(ops.square(x))


def cellwire_steps(weights: Weights, x: np.ndarray, y: np.ndarray) -> dict[str, Call]:
    """Return Cellwire's steps, and the parts of the eager one."""
    a, b = cw.Tensor(x), cw.Tensor(y)

    def contender(compiled: bool) -> tuple[Call, Call, Call, Call]:
        net = Blocks(weights)
        optimizer = cw.nn.Adam(net.trainable_params(), RATE)
        derived = cw.value_and_grad(net, None, optimizer.parameters)

        def step(x: Any, y: Any) -> Any:
            loss, grads = derived(x, y)
            optimizer(grads)
            return loss

        run = cw.jit(step, fullgraph=True) if compiled else step
        grads = derived(a, b)[1]
        return (
            lambda: run(a, b), lambda: net(a, b), lambda: derived(a, b), lambda: optimizer(grads),
        )  # fmt: skip

    step, forward, gradients, update = contender(False)
    return {
        "cellwire eager": step,
        "cellwire jit": contender(True)[0],
        "cellwire forward alone": forward,
        "cellwire value_and_grad": gradients,
        "cellwire optimizer": update,
    }


def torch_loss(functional: Any, blocks: list[list[Any]], x: Any, y: Any) -> Any:
    """Return the loss of the blocks as PyTorch's functions compute it."""
    for scale, shift, weight, bias in blocks:
        x = functional.layer_norm(x + y, (WIDTH,), scale, shift, 1e-5)
        x = functional.relu(functional.linear(x, weight, bias))
    return x.square().mean()


def torch_steps(weights: Weights, x: np.ndarray, y: np.ndarray) -> dict[str, Call]:
    """Return PyTorch's eager step and its parts, or nothing where PyTorch is not installed."""
    try:
        import torch
    except ImportError:
        return {}
    torch.set_num_threads(2)
    first, second = torch.tensor(x), torch.tensor(y)

    def contender(fused: bool) -> tuple[Call, Call, Call, Call]:
        blocks = [[torch.nn.Parameter(torch.tensor(w)) for w in block] for block in weights]
        params = [p for block in blocks for p in block]
        optimizer = torch.optim.Adam(params, RATE, fused=True if fused else None)

        def forward() -> Any:
            return torch_loss(torch.nn.functional, blocks, first, second)

        def gradients() -> Any:
            optimizer.zero_grad()
            loss = forward()
            loss.backward()
            return loss

        def step() -> Any:
            loss = gradients()
            optimizer.step()
            return loss.detach()

        return step, forward, gradients, optimizer.step

    step, forward, gradients, update = contender(False)
    fused, _, _, fused_update = contender(True)
    return {
        "pytorch eager": step,
        "pytorch eager, fused Adam": fused,
        "pytorch forward alone": forward,
        "pytorch value and gradients": gradients,
        "pytorch optimizer": update,
        "pytorch fused optimizer": fused_update,
    }


def contenders() -> dict[str, Call]:
    """Return every contender that is installed, by name."""
    rng = np.random.default_rng(0)
    weights = make_weights(rng)
    x = rng.normal(size=(BATCH, WIDTH)).astype(np.float32)
    y = rng.normal(size=(BATCH, WIDTH)).astype(np.float32)
    return {**cellwire_steps(weights, x, y), **torch_steps(weights, x, y)}


def check(calls: dict[str, Call]) -> None:
    """Raise ``AssertionError`` unless all steps lead to the same losses."""
    steps = ("cellwire eager", "cellwire jit", "pytorch eager", "pytorch eager, fused Adam")
    names = [name for name in steps if name in calls]
    losses = {name: [float(calls[name]()) for _ in range(4)] for name in names}
    for name in names:
        np.testing.assert_allclose(losses[name], losses["cellwire eager"], rtol=1e-3, err_msg=name)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    calls = contenders()
    check(calls)
    times = measure(calls)
    peer = times.get("pytorch eager")
    ratios = {} if peer is None else {
        f"{kind} / pytorch eager": times[f"cellwire {kind}"] / peer for kind in ("eager", "jit")
    }  # fmt: skip
    if options.json:
        print(json.dumps({"microseconds": times, "ratios": ratios, "limit": LIMIT}))
        return
    print(f"training step, {BLOCKS} blocks, width {WIDTH}, batch {BATCH}, Adam")
    for name, value in times.items():
        print(f"  {name:28} {value:8.1f} µs")
    for name, value in ratios.items():
        print(f"  {name:28} {value:8.2f}  (eager: at most {LIMIT})")


if __name__ == "__main__":
    main()
