"""Batch norm in inference: its scale goes into a convolution's weights, or a product's epilogue."""

from __future__ import annotations

from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine import ops
from cellwire.engine.compiler.graph import Graph, interpret, verify
from cellwire.engine.compiler.scaling import scale_weights
from cellwire.engine.compiler.simplify import simplify
from cellwire.engine.compiler.trace import trace
from cellwire.engine.dtype import float32
from cellwire.engine.origin import Origin, at
from cellwire.engine.shape import Aval

F32 = np.float32
SHAPES = ((2, 3, 8, 8), (4, 3, 3, 3), (4, 1, 1), (1, 4, 1, 1))


def arrays() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape).astype(F32) for shape in SHAPES]


def conv(x: Any, w: Any) -> Any:
    return ops.conv2d(x, w, pad_mode="same")


def scaled(fn: Any) -> Graph:
    """Run the pass on a function of images, weights and two numbers a channel; compare."""
    graph = simplify(trace(fn, [Aval(shape, float32) for shape in SHAPES]).graph)
    found = scale_weights(graph)
    verify(found)
    for new, old in zip(interpret(found, arrays()), interpret(graph, arrays()), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-4, atol=1e-4)
    return found


def weights_of(graph: Graph) -> str:
    """Return what makes the weights of the graph's convolution."""
    node = next(node for node in graph.nodes if node.op.name == "conv2d")
    makers = [n.op.name for n in graph.nodes if node.inputs[1] in n.outputs]
    return makers[0] if makers else "input"


@pytest.mark.parametrize(
    ("fn", "made"),
    [
        (lambda x, w, s, t: ops.relu(conv(x, w) * s + t), "mul"),
        (lambda x, w, s, t: (conv(x, w) + t) * s, "mul"),
        (lambda x, w, s, t: t * (s + conv(x, w)), "mul"),
        (lambda x, w, s, t: (conv(x, w) * s, ops.sum(conv(x, w))), "input"),
        (lambda x, w, s, t: conv(x, w) * ops.sum(x), "input"),
        (lambda x, w, s, t: conv(x, w) * conv(x, w), "input"),
    ],
    ids=["scale", "shift first", "other order", "read twice", "no channels", "itself"],
)
def test_scales_of_channels_go_into_the_weights(fn: Any, made: str) -> None:
    assert weights_of(scaled(fn)) == made


def test_weights_as_large_as_the_output_are_not_scaled() -> None:
    shapes = ((1, 3, 3, 3), (64, 3, 3, 3), (64, 1, 1))
    graph = trace(lambda x, w, s: conv(x, w) * s, [Aval(s, float32) for s in shapes]).graph
    assert weights_of(scale_weights(simplify(graph))) == "input"


def test_what_is_written_anew_keeps_its_origin() -> None:
    def fn(x: Any, w: Any, s: Any, t: Any) -> Any:
        with at(Origin((), "norm", "out")):
            return conv(x, w) * s

    found = scaled(fn)
    assert {node.origin for node in found.nodes} == {Origin((), "norm", "out")}


def test_a_net_in_inference_follows_its_parameters() -> None:
    nn = cw.nn
    net = nn.SequentialCell(
        nn.Conv2d(3, 4, 3, has_bias=True), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),
        nn.Dense(256, 16), nn.BatchNorm1d(16),
    )  # fmt: skip
    net.set_train(False)
    run = cw.jit(net, fullgraph=True)
    x = cw.Tensor(arrays()[0])
    for round in range(2):
        for k, parameter in enumerate(net.get_parameters()):
            change = np.linspace(0.5, 1.5, parameter.size, dtype=F32).reshape(parameter.shape)
            parameter.set_data(cw.Tensor(parameter.asnumpy() * (1 - round) + change * (k % 3 + 1)))
        np.testing.assert_allclose(run(x).asnumpy(), net(x).asnumpy(), rtol=1e-3, atol=1e-3)
    ops_of = [line for line in str(cw.jit.explain(run)(x)).split("\n") if line.startswith("gemm")]  # pyright: ignore[reportFunctionMemberAccess]
    assert len(ops_of) == 1
    assert ops_of[0].endswith("dense, add, mul, add")
