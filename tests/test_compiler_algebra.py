"""The algebra of the simplifier: what goes, what must stay, and that no bit changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cellwire.engine import ops
from cellwire.engine.compiler.graph import Graph, interpret, verify
from cellwire.engine.compiler.simplify import simplify
from cellwire.engine.compiler.trace import trace
from cellwire.engine.dtype import dtype_of
from cellwire.engine.ops.registry import OPS
from cellwire.engine.origin import Origin, at
from cellwire.engine.shape import Aval

F32 = np.float32
SPECIAL = np.array(
    [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -3e-39, 1.0, -1.5, 3e38, 0.1, 255.7], F32
)
WHOLE = np.array([0, 1, -1, 7, -128, 127, 2**31 - 1, -(2**31), 3, -2, 9, 1000], np.int32)
TRUTHS = np.array([True, False] * 6)


def short(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes]


def simplified(fn: Callable[..., Any], *arrays: np.ndarray) -> Graph:
    """Simplify a traced function; the result is valid and gives the same bits."""
    graph = trace(fn, [Aval(a.shape, dtype_of(a.dtype)) for a in arrays]).graph
    found = simplify(graph)
    verify(found)
    with np.errstate(all="ignore"):
        pairs = zip(interpret(found, arrays), interpret(graph, arrays), strict=True)
        for new, old in pairs:
            assert new.dtype == old.dtype
            np.testing.assert_array_equal(new, old)
            if new.dtype.kind == "f":
                numbers = ~np.isnan(old)
                np.testing.assert_array_equal(np.signbit(new)[numbers], np.signbit(old)[numbers])
    return found


@pytest.mark.parametrize(
    ("fn", "left"),
    [
        (lambda x: ops.add(x, ops.neg(ops.exp(x))), ["exp", "sub"]),
        (lambda x: ops.sub(x, ops.neg(ops.exp(x))), ["exp", "add"]),
        (lambda x: ops.mul(ops.neg(x), ops.neg(ops.exp(x))), ["exp", "mul"]),
        (lambda x: ops.mul(x, -1.0), ["neg"]),
        (lambda x: ops.div(x, 8.0), ["mul"]),
        (lambda x: ops.div(x, -0.5), ["mul"]),
        (lambda x: ops.div(x, 3.0), ["div"]),
        (lambda x: ops.div(x, 2.0**127), ["div"]),
        (lambda x: ops.abs(ops.neg(ops.abs(x))), ["abs"]),
        (lambda x: ops.square(ops.neg(x)), ["square"]),
        (lambda x: ops.relu(ops.relu(x)), ["relu"]),
        (lambda x: ops.maximum(x, x), []),
        (lambda x: ops.sub(x, x), ["sub"]),
        (lambda x: ops.mul(x, 0.0), ["mul"]),
        (lambda x: ops.equal(x, x), ["equal"]),
        (lambda x: ops.add(x, 0.0), ["add"]),
        (lambda x: ops.sub(x, -0.0), ["sub"]),
        (lambda x: ops.identity(ops.stop_gradient(ops.exp(x))), ["exp"]),
        (lambda x: ops.pow(x, 1.0), []),
        (lambda x: ops.add(ops.mul(x, ops.exp(x)), ops.mul(ops.exp(x), x)), ["exp", "mul", "add"]),
        (lambda x: ops.add(ops.maximum(x, ops.exp(x)), ops.maximum(ops.exp(x), x)),
         ["exp", "maximum", "maximum", "add"]),
        (lambda x: ops.sum(ops.reshape(x, (12, 1)), 1), ["reshape", "sum"]),
        (lambda x: ops.amax(ops.reshape(x, (12, 1)), 1), []),
    ],
)  # fmt: skip
def test_floats_keep_every_bit(fn: Callable[..., Any], left: list[str]) -> None:
    assert short(simplified(fn, SPECIAL)) == left


@pytest.mark.parametrize(
    ("fn", "left"),
    [
        (lambda x: ops.sub(x, x), []),
        (lambda x: ops.mul(x, 0), []),
        (lambda x: ops.mul(x, -1), ["neg"]),
        (lambda x: ops.equal(x, x), []),
        (lambda x: ops.less(x, x), []),
        (lambda x: ops.add(x, 0), []),
        (lambda x: ops.div(x, 1), ["cast"]),
    ],
)
def test_whole_numbers_know_more(fn: Callable[..., Any], left: list[str]) -> None:
    assert short(simplified(fn, WHOLE)) == left


@pytest.mark.parametrize(
    ("fn", "left"),
    [
        (lambda t: ops.logical_not(ops.logical_not(t)), []),
        (lambda t: ops.logical_and(t, True), []),
        (lambda t: ops.logical_or(t, True), []),
        (lambda t: ops.logical_and(t, False), []),
        (lambda t: ops.logical_or(t, t), []),
        (lambda t: ops.select(ops.logical_not(t), 1.0, 2.0), ["select"]),
    ],
)
def test_truths(fn: Callable[..., Any], left: list[str]) -> None:
    assert short(simplified(fn, TRUTHS)) == left


@pytest.mark.parametrize(
    ("start", "through", "end", "left"),
    [
        (F32, "float64", "float32", []),
        (F32, "float64", "float16", ["cast"]),
        (F32, "float16", "float32", ["cast", "cast"]),
        (F32, "float64", "int8", ["cast", "cast"]),
        (F32, "int32", "float32", ["cast", "cast"]),
        (np.int32, "int64", "int8", ["cast"]),
        (np.int32, "float64", "int8", ["cast", "cast"]),
        (np.int32, "float64", "int64", ["cast"]),
        (np.int32, "float32", "int32", ["cast", "cast"]),
        (np.bool_, "float32", "int32", ["cast"]),
        (np.bool_, "float32", "bool_", []),
    ],
)
def test_casts_through_what_holds_every_value_are_one(
    start: Any, through: str, end: str, left: list[str]
) -> None:
    x = {np.float32: SPECIAL[7:], np.int32: WHOLE, np.bool_: TRUTHS}[start]
    first, last = dtype_of(through), dtype_of(end)
    assert short(simplified(lambda x: ops.cast(ops.cast(x, first), last), x)) == left


@pytest.mark.parametrize(
    ("fn", "left"),
    [
        (lambda x: ops.transpose(ops.transpose(x, (1, 2, 0)), (2, 0, 1)), []),
        (lambda x: ops.transpose(ops.transpose(x, (1, 2, 0)), (1, 2, 0)), ["transpose"]),
        (lambda x: ops.swapaxes(ops.swapaxes(x, 0, 2), 0, 2), []),
        (lambda x: ops.transpose(x, (1, 0, 2)), ["reshape"]),
        (lambda x: ops.squeeze(ops.expand_dims(ops.reshape(x, (6, 1)), 0)), ["reshape"]),
        (lambda x: ops.broadcast_to(ops.broadcast_to(x, (2, 4, 3)), (5, 2, 4, 3)),
         ["broadcast_to"]),
        (lambda x: ops.add(ops.broadcast_to(x, (2, 4, 3)), ops.ones((2, 4, 3)) * 2), ["add"]),
        (lambda x: ops.exp(ops.broadcast_to(x, (2, 4, 3))), ["broadcast_to", "exp"]),
        (lambda x: ops.amax(ops.broadcast_to(x, (2, 4, 3)), 1), ["reshape"]),
        (lambda x: x[:, 0:1], []),
        (lambda x: ops.concat([ops.exp(x), x], 1)[:, 1:2], []),
        (lambda x: ops.concat([x, ops.exp(x)], 0)[1:3], ["exp", "concat", "strided_slice"]),
    ],
)  # fmt: skip
def test_views(fn: Callable[..., Any], left: list[str]) -> None:
    assert short(simplified(fn, SPECIAL[:6].reshape(2, 1, 3))) == left


def test_powers_of_small_whole_numbers_are_products() -> None:
    x = np.array([2.0, -3.0, 0.5], F32)
    graph = trace(lambda x: ops.pow(x, 2.0) + ops.pow(x, -1.0), [Aval((3,), dtype_of(F32))]).graph
    found = simplify(graph)
    verify(found)
    assert short(found) == ["square", "reciprocal", "add"]
    np.testing.assert_allclose(interpret(found, [x])[0], x**2 + 1 / x, rtol=1e-6)


def test_what_replaces_a_value_keeps_its_origin() -> None:
    def fn(x: Any) -> Any:
        with at(Origin((), "halved", "out")):
            return ops.div(x, 2.0)

    found = simplified(fn, SPECIAL)
    assert found.nodes[0].op.name == "mul"
    assert found.nodes[0].outputs[0].origin == Origin((), "halved", "out")


UNARY = ("neg", "abs", "square", "relu", "exp", "identity", "isnan", "sign", "cast")
BINARY = ("add", "sub", "mul", "div", "maximum", "minimum", "greater", "equal")
NUMBERS = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, np.inf, np.nan, 3.0)


def random_program(seed: int) -> Callable[..., Any]:
    """Return a function of two matrices made of random ops, views and special numbers."""

    def fn(*inputs: Any) -> Any:
        rng = np.random.default_rng(seed)
        values = list(inputs)
        for _ in range(14):
            x, y = (values[int(rng.integers(len(values)))] for _ in range(2))
            kind = int(rng.integers(5))
            if kind == 0:
                name = UNARY[int(rng.integers(len(UNARY)))]
                dtypes = [dtype_of(n) for n in ("float32", "float64", "int32", "bool_")]
                attrs = {"dtype": dtypes[int(rng.integers(4))]} if name == "cast" else {}
                made = OPS["cast"].function(x, attrs["dtype"]) if attrs else OPS[name].function(x)
            elif kind == 1:
                made = OPS[BINARY[int(rng.integers(len(BINARY)))]].function(x, y)
            elif kind == 2:
                number = NUMBERS[int(rng.integers(len(NUMBERS)))]
                made = OPS[BINARY[int(rng.integers(4))]].function(x, number)
            elif kind == 3:
                made = ops.reshape(ops.transpose(ops.reshape(x, (3, 1, 4)), (2, 1, 0)), (3, 4))
            else:
                made = ops.select(ops.greater(x, y), x, y)
            values.append(made if made.dtype.is_float else ops.cast(made, dtype_of("float32")))
        return tuple(values[-4:])

    return fn


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs_keep_every_bit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arrays = [rng.permutation(SPECIAL).reshape(3, 4) for _ in range(2)]
    simplified(random_program(seed), *arrays)
