"""The graph IR, tracing into it, and the simplifications that keep every bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cellwire.engine import ops
from cellwire.engine.compiler.graph import (
    Graph,
    GraphError,
    Node,
    Value,
    fingerprint,
    interpret,
    verify,
)
from cellwire.engine.compiler.simplify import simplify
from cellwire.engine.compiler.trace import abstract_eval, trace
from cellwire.engine.compiler.traced import TraceBreak
from cellwire.engine.dtype import float32, int64
from cellwire.engine.ops.registry import OPS
from cellwire.engine.origin import Origin, at
from cellwire.engine.parameter import Parameter
from cellwire.engine.shape import Aval, ShapeError, SymDim
from cellwire.engine.tensor import Tensor

F32 = np.float32


def aval(*shape: int) -> Aval:
    return Aval(shape, float32)


def names(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes]


def traced(fn: Callable[..., Any], *shapes: tuple[int, ...]) -> Any:
    return trace(fn, [aval(*shape) for shape in shapes]).graph


def test_a_traced_function_is_a_valid_graph_that_interprets_to_the_same_values() -> None:
    graph = traced(lambda x, y: ops.exp(x) * y + 1.0, (2, 3), (3,))
    verify(graph)
    x, y = np.ones((2, 3), F32), np.arange(3, dtype=F32)
    (out,) = interpret(graph, [x, y])
    np.testing.assert_allclose(out, np.exp(x) * y + 1, rtol=1e-6)
    assert "exp" in str(graph)
    assert "2×3 f32" in str(graph)


def test_verify_refuses_use_before_definition_and_wrong_shapes() -> None:
    a, b = Value(0, aval(2)), Value(1, aval(2))
    with pytest.raises(GraphError, match="before it is defined"):
        verify(Graph((a,), (Node(OPS["exp"], (b,), (Value(2, aval(2)),)),), (a,)))
    with pytest.raises(GraphError, match="its node says"):
        verify(Graph((a,), (Node(OPS["exp"], (a,), (Value(2, aval(3)),)),), (a,)))
    with pytest.raises(GraphError, match="second time"):
        verify(Graph((a, a), (), (a,)))
    with pytest.raises(GraphError, match="never defined"):
        verify(Graph((a,), (), (b,)))


def test_the_interpreter_reports_each_node_and_drops_dead_values() -> None:
    graph = traced(lambda x: ops.exp(ops.neg(x)), (3,))
    seen = []
    interpret(graph, [np.zeros(3, F32)], lambda node, outputs: seen.append(node.op.name))
    assert seen == ["neg", "exp"]


def test_values_carry_the_origin_under_which_they_were_made() -> None:
    def fn(x: Any) -> Any:
        with at(Origin(("block",), "node1", "out")):
            return ops.exp(x)

    graph = simplify(traced(fn, (2,)))
    assert graph.nodes[0].outputs[0].origin == Origin(("block",), "node1", "out")


def test_tensors_from_outside_become_inputs_by_identity() -> None:
    weight = Parameter(Tensor(np.ones(3, F32)))
    call = trace(lambda x: x * weight + weight, [aval(3)])
    assert call.captured == (weight,)
    assert len(call.graph.inputs) == 2


def test_a_write_to_a_parameter_is_an_output_and_seen_by_later_reads() -> None:
    total = Parameter(Tensor(np.zeros(3, F32)))

    def fn(x: Any) -> Any:
        total.set_data(total + x)
        return total * 2.0

    call = trace(fn, [aval(3)])
    assert call.writes == (total,)
    result, written = interpret(call.graph, [np.ones(3, F32), np.full(3, 4, F32)])
    assert written.tolist() == [5, 5, 5]
    assert result.tolist() == [10, 10, 10]
    assert total.data.tolist() == [0, 0, 0]


def test_shapes_with_symbols_are_inferred_without_computing() -> None:
    n = SymDim("N")
    out = abstract_eval(lambda x: ops.softmax(ops.reshape(x, (-1, 10))), aval(n, 10))
    assert out == aval(n, 10)
    with pytest.raises(ShapeError):
        abstract_eval(ops.matmul, aval(n, 3), aval(4, 5))


def test_a_branch_on_an_unknown_value_ends_the_trace_with_file_and_line() -> None:
    def fn(x: Any) -> Any:
        return x if x.sum() > 0 else -x

    with pytest.raises(TraceBreak) as caught:
        abstract_eval(fn, aval(3))
    assert "test_compiler_graph.py:" in str(caught.value)


def test_a_branch_on_a_known_value_is_recorded_as_a_guard() -> None:
    def fn(x: Any) -> Any:
        return x * 2.0 if x.sum() > 0 else x

    call = trace(fn, [aval(2)], [np.ones(2, F32)])
    assert [guard.outcome for guard in call.guards] == [True]
    assert call.guards[0].holds(np.asarray(True))
    assert not call.guards[0].holds(np.asarray(False))


def test_equal_nodes_and_equal_constants_are_shared() -> None:
    graph = simplify(traced(lambda x: (ops.exp(x) + 2.0) * (ops.exp(x) + 2.0), (3,)))
    verify(graph)
    assert names(graph) == ["exp", "add", "mul"]


def test_dead_nodes_and_constant_work_go() -> None:
    def fn(x: Any) -> Any:
        ops.exp(x)
        return x * (ops.ones(3) * 3.0)

    graph = simplify(traced(fn, (3,)))
    verify(graph)
    assert names(graph) == ["mul"]


@pytest.mark.parametrize(
    "fn",
    [lambda x: x * 1.0, lambda x: x - 0.0, lambda x: x / 1.0, lambda x: x + -0.0,
     lambda x: ops.neg(-x), lambda x: ops.reshape(x, (2,))],
)  # fmt: skip
def test_operations_that_change_no_bit_go(fn: Callable[..., Any]) -> None:
    assert names(simplify(traced(fn, (2,)))) == []


@pytest.mark.parametrize("fn", [lambda x: x + 0.0, lambda x: x * 0.0, lambda x: 0.0 - x])
def test_operations_that_change_a_signed_zero_or_nan_stay(fn: Callable[..., Any]) -> None:
    assert len(names(simplify(traced(fn, (2,))))) == 1


def test_composites_expand_all_the_way_down_and_keep_their_values() -> None:
    weight = np.linspace(1, 2, 6, dtype=F32)

    def fn(x: Any) -> Any:
        return ops.layer_norm(x, (6,), Tensor(weight), Tensor(weight))

    call = trace(fn, [aval(4, 6)])
    graph = simplify(call.graph)
    verify(graph)
    x = np.random.default_rng(0).normal(size=(4, 6)).astype(F32)
    arrays = [x, *(t.data for t in call.captured)]
    np.testing.assert_allclose(
        interpret(graph, arrays)[0], interpret(call.graph, arrays)[0], rtol=1e-5, atol=1e-6
    )


def test_equal_graphs_have_equal_fingerprints() -> None:
    def fn(x: Any) -> Any:
        return ops.exp(x) * 2.0

    assert fingerprint(traced(fn, (3,))) == fingerprint(traced(fn, (3,)))
    assert fingerprint(traced(fn, (3,))) != fingerprint(traced(fn, (4,)))


def test_integers_stay_integers() -> None:
    call = trace(lambda x: x * 2 + 1, [Aval((3,), int64)])
    assert call.graph.outputs[0].aval == Aval((3,), int64)
