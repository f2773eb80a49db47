"""Six blocks of add, layer norm, dense and ReLU: eager and compiled, beside PyTorch and JAX.

Run ``python -m benchmarks.mlp_blocks`` (``--json`` for scripts). All contenders run in turn in
the same process; each figure is the median over rounds of the best time per call in a round.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

for _name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(_name, None)

import cellwire as cw  # noqa: E402
import numpy as np  # noqa: E402 - the environment is read when NumPy is loaded
from cellwire.engine.run import graph as run  # noqa: E402
from cellwire.engine.run.groups import CompiledGroup  # noqa: E402
from cellwire.engine.run.units import Clock  # noqa: E402

BLOCKS = 6
WIDTH = 64
BATCH = 32
ROUNDS = 15
CALLS = 100

Weights = Sequence[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]


def make_weights(rng: np.random.Generator) -> Weights:
    """Return scale, shift, weight and bias of each block."""
    scale = 1.0 / np.sqrt(WIDTH)
    return [
        (
            rng.normal(1.0, 0.1, WIDTH).astype(np.float32),
            rng.normal(0.0, 0.1, WIDTH).astype(np.float32),
            rng.normal(0.0, scale, (WIDTH, WIDTH)).astype(np.float32),
            rng.normal(0.0, 0.1, WIDTH).astype(np.float32),
        )
        for _ in range(BLOCKS)
    ]


def cellwire_forward(weights: Weights) -> Callable[[Any, Any], Any]:
    """Return the blocks as a Cellwire function."""
    blocks = [tuple(cw.Parameter(w, name="w") for w in block) for block in weights]
    ops = cw.ops

    def forward(x: Any, y: Any) -> Any:
        for scale, shift, weight, bias in blocks:
            x = ops.add(x, y)
            x = ops.layer_norm(x, (WIDTH,), scale, shift, 1e-5)
            x = ops.relu(ops.dense(x, weight, bias))
        return x

    return forward


def drawn_group(weights: Weights, x: cw.Tensor, y: cw.Tensor) -> Callable[[], Any]:
    """Return the blocks as a drawn graph whose nodes are one compiled group, as sessions run it."""
    nodes = [run.Node(name, name, lambda: x, kind="data") for name in ("x", "y")]
    last = run.Source("x", "out")
    for number, (scale, shift, weight, bias) in enumerate(weights):
        norm = cw.nn.LayerNorm((WIDTH,), gamma_init=cw.Tensor(scale), beta_init=cw.Tensor(shift),
                               epsilon=1e-5)  # fmt: skip
        dense = cw.nn.Dense(WIDTH, WIDTH, cw.Tensor(weight), cw.Tensor(bias))
        second = {"other": run.Source("y", "out")}
        for name, call, more in (
            ("add", cw.ops.add, second), ("norm", norm, {}), ("dense", dense, {}),
            ("relu", cw.ops.relu, {}),
        ):  # fmt: skip
            id_ = f"{name}{number}"
            nodes.append(run.Node(id_, id_, call, {"input": last, **more}))
            last = run.Source(id_, "out")
    graph = run.Graph(nodes)
    group = CompiledGroup(graph, run.Group("g", "blocks", frozenset(graph.nodes) - {"x", "y"}))
    inputs = {"x": x, "y": y}
    given = [inputs[graph.source(edge).node] for edge in group.whole().edges]
    group.compile(given)
    (piece,), clock = group.pieces(), Clock()
    return lambda: piece.run(given, clock)[0]


def torch_contender(weights: Weights, x: np.ndarray, y: np.ndarray) -> Callable[[], Any] | None:
    """Return PyTorch's eager forward, or None where PyTorch is not installed."""
    try:
        import torch
    except ImportError:
        return None
    functional = torch.nn.functional
    blocks = [[torch.tensor(w) for w in block] for block in weights]
    first, second = torch.tensor(x), torch.tensor(y)

    def forward() -> Any:
        with torch.no_grad():
            h = first
            for scale, shift, weight, bias in blocks:
                h = functional.layer_norm(h + second, (WIDTH,), scale, shift, 1e-5)
                h = functional.relu(functional.linear(h, weight, bias))
            return h

    return forward


def jax_contender(weights: Weights, x: np.ndarray, y: np.ndarray) -> Callable[[], Any] | None:
    """Return JAX's jitted forward, or None where JAX is not installed."""
    try:
        import jax
    except ImportError:
        return None
    np_ = jax.numpy
    blocks = [[np_.asarray(w) for w in block] for block in weights]
    first, second = np_.asarray(x), np_.asarray(y)

    @jax.jit
    def forward(h: Any, y: Any, blocks: Any) -> Any:
        for scale, shift, weight, bias in blocks:
            h = h + y
            centred = h - h.mean(-1, keepdims=True)
            variance = (centred * centred).mean(-1, keepdims=True)
            h = centred * jax.lax.rsqrt(variance + 1e-5) * scale + shift
            h = jax.nn.relu(h @ weight.T + bias)
        return h

    return lambda: forward(first, second, blocks).block_until_ready()


def contenders() -> dict[str, Callable[[], Any]]:
    """Return every contender that is installed, by name."""
    rng = np.random.default_rng(0)
    weights = make_weights(rng)
    x = rng.normal(size=(BATCH, WIDTH)).astype(np.float32)
    y = rng.normal(size=(BATCH, WIDTH)).astype(np.float32)
    forward = cellwire_forward(weights)
    compiled = cw.jit(forward, fullgraph=True)
    a, b = cw.Tensor(x), cw.Tensor(y)
    found: dict[str, Callable[[], Any] | None] = {
        "cellwire eager": lambda: forward(a, b),
        "cellwire compiled": lambda: compiled(a, b),
        "cellwire group": drawn_group(weights, a, b),
        "pytorch eager": torch_contender(weights, x, y),
        "jax jit": jax_contender(weights, x, y),
    }
    return {name: call for name, call in found.items() if call is not None}


def check(calls: dict[str, Callable[[], Any]]) -> None:
    """Raise ``AssertionError`` unless all contenders give the same result."""
    results = {}
    for name, call in calls.items():
        value = call()
        results[name] = value.asnumpy() if isinstance(value, cw.Tensor) else np.asarray(value)
    expected = results["cellwire eager"]
    for name, value in results.items():
        np.testing.assert_allclose(value, expected, rtol=1e-3, atol=1e-4, err_msg=name)


def best_of_round(call: Callable[[], Any]) -> float:
    """Return the microseconds a call takes, the best of five short series."""
    best = float("inf")
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(CALLS // 5):
            call()
        best = min(best, (time.perf_counter() - started) / (CALLS // 5))
    return best * 1e6


def measure(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the median microseconds of a call, the contenders taking turns."""
    for call in calls.values():
        for _ in range(20):
            call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            times[name].append(best_of_round(call))
    return {name: statistics.median(values) for name, values in times.items()}


def ratios(times: dict[str, float]) -> dict[str, float]:
    """Return what must not exceed one."""
    found = {}
    peers = [times[name] for name in ("pytorch eager", "jax jit") if name in times]
    if peers:
        for name in ("compiled", "group"):
            found[f"{name} / faster peer"] = times[f"cellwire {name}"] / min(peers)
    if "pytorch eager" in times:
        found["eager / pytorch eager"] = times["cellwire eager"] / times["pytorch eager"]
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    calls = contenders()
    check(calls)
    times = measure(calls)
    if options.json:
        print(json.dumps({"microseconds": times, "ratios": ratios(times)}))
        return
    print(f"{BLOCKS} blocks of add, layer norm, dense, relu; width {WIDTH}, batch {BATCH}")
    for name, value in times.items():
        print(f"  {name:18} {value:8.1f} µs")
    for name, value in ratios(times).items():
        print(f"  {name:22} {value:6.2f}")


if __name__ == "__main__":
    main()
