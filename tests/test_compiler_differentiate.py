"""Gradients of graphs as graphs, and graphs as ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cellwire.engine import ops
from cellwire.engine.autograd import grad
from cellwire.engine.compiler.differentiate import differentiate
from cellwire.engine.compiler.graph import interpret, verify
from cellwire.engine.compiler.graph_op import GraphOp
from cellwire.engine.compiler.trace import trace
from cellwire.engine.dtype import dtype_of
from cellwire.engine.shape import Aval
from cellwire.engine.tensor import Tensor

F32 = np.float32


def normal(*shape: int, dtype: Any = F32) -> np.ndarray:
    return np.random.default_rng(sum(shape) + 1).normal(size=shape).astype(dtype)


def traced(fn: Callable[..., Any], *arrays: np.ndarray) -> Any:
    return trace(fn, [Aval(a.shape, dtype_of(a.dtype)) for a in arrays])


def test_a_differentiated_graph_splits_into_forward_and_backward() -> None:
    call = traced(lambda x, w: ops.sum(ops.tanh(ops.matmul(x, w))), normal(3, 4), normal(4, 2))
    split = differentiate(call.graph, 1, [0, 1])
    verify(split.forward)
    verify(split.backward)
    x, w = normal(3, 4), normal(4, 2)
    _, *residuals = interpret(split.forward, [x, w])
    dx, dw = interpret(split.backward, [*residuals, np.ones((), F32)])
    slope = 1 - np.tanh(x @ w) ** 2
    np.testing.assert_allclose(dx, slope @ w.T, rtol=1e-5)
    np.testing.assert_allclose(dw, x.T @ slope, rtol=1e-5)


def test_a_graph_as_an_op_has_first_and_second_gradients() -> None:
    x = Tensor(normal(5))
    graph_op = GraphOp(traced(lambda x: ops.tanh(x) * x, x.data).graph, 1, "piece")
    twice = grad(lambda v: ops.sum(grad(lambda u: ops.sum(graph_op(u)[0]))(v)))
    direct = grad(lambda v: ops.sum(grad(lambda u: ops.sum(ops.tanh(u) * u))(v)))
    np.testing.assert_allclose(twice(x).asnumpy(), direct(x).asnumpy(), rtol=1e-4, atol=1e-5)
