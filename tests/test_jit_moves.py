"""What joins, pads, repeats and puts back parts runs in plans, bit for bit as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine.compiler import Plan, compile_graph, trace
from cellwire.engine.compiler.graph import interpret
from cellwire.engine.compiler.simplify import simplify

ops = cw.ops
RNG = np.random.default_rng(7)


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    found = (RNG.standard_normal(shape) * 3).astype(dtype)
    if found.dtype.kind == "f" and found.size > 2:
        found.flat[0], found.flat[1] = -0.0, np.nan
    return found


def checked(fn: Callable[..., Any], *arrays: np.ndarray) -> Plan:
    graph = trace(fn, [cw.Tensor(a).aval for a in arrays]).graph
    plan = compile_graph(graph)
    assert [str(step) for step in plan.report.host_steps] == []
    for found, wanted in zip(plan(*arrays), interpret(graph, arrays), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
        if found.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
    return plan


def put_one(x: cw.Tensor, value: cw.Tensor) -> cw.Tensor:
    x = x * 1.0
    x[2] = value
    return x


def put(x: cw.Tensor, value: cw.Tensor | float) -> cw.Tensor:
    x = x * 1.0
    x[1:, ::-2] = value  # pyright: ignore[reportArgumentType]
    return x


X = numbers(3, 4, 5)
CASES: dict[str, Any] = {
    "concat": (lambda a, b: ops.concat((a, b, a), 1), X, numbers(3, 2, 5)),
    "concat rows": (lambda a, b: ops.concat((a, b)), X, numbers(2, 4, 5)),
    "concat one image": (lambda a, b: ops.concat((a, b), 2), numbers(1, 4, 5), numbers(1, 4, 30)),
    "concat views": (lambda a: ops.concat((a[:, 1:3], ops.transpose(a, (0, 1))), 1), X[0]),
    "concat many rows": (lambda a, b: ops.concat((a, b)), numbers(90, 256), numbers(70, 256)),
    "stack": (lambda a, b: ops.stack((a, b), -1), X, X + 1),
    "stack scalars": (lambda a, b: ops.stack((a, b)), np.array(1.5), np.array(-0.0)),
    "float64": (lambda a, b: ops.concat((a, b), -2), numbers(2, 1, 4, dtype=float),
                numbers(2, 3, 4, dtype=float)),
    "int32": (lambda a, b: ops.concat((a, b), 1), numbers(2, 3, dtype=np.int32),
              numbers(2, 35, dtype=np.int32)),
    "truth": (lambda a, b: ops.concat((a, b), 1), X > 0, X < 1),
    "bytes": (lambda a: ops.tile(a, (2, 3)), numbers(3, 4, dtype=np.int8)),
    "float16": (lambda a: ops.concat((a, a), 1), numbers(3, 4, dtype=np.float16)),
    "tile": (lambda a: ops.tile(a, (2, 1, 3, 1)), X),
    "pad": (lambda a: ops.pad(a, (1, 2, 0, 3), value=1.5), X),
    "pad and cut": (lambda a: ops.pad(a, (-1, 2, 1, -2)), X),
    "reflect": (lambda a: ops.pad(a, (1, 2), mode="reflect"), X),
    "roll": (lambda a: ops.roll(a, (1, -2), (0, 2)), X),
    "roll as one row": (lambda a: ops.roll(a, 7), X),
    "roll a view": (lambda a: ops.roll(ops.transpose(a[:, 1:], (2, 0, 1)), -4), X),
    "repeat": (lambda a: ops.repeat_interleave(a, 3, 1), X),
    "split": (lambda a: tuple(piece * 2.0 for piece in ops.split(a, 2, 1)), X),
    "write": (put, X, numbers(2, 2, 5)),
    "write one element": (put_one, numbers(5), np.array(3, np.float32)),
    "write a number": (lambda a: put(a, 7.0), X),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_is_as_in_numpy(name: str) -> None:
    fn, *arrays = CASES[name]
    checked(fn, *arrays)


LOSSES: dict[str, Callable[[cw.Tensor], cw.Tensor]] = {
    "range": lambda a: ops.sum(ops.square(a[:, 1:3])),
    "turned": lambda a: ops.sum(ops.square(a[1, ::-1, ::2])),
    "element": lambda a: ops.square(a[1, 2, 3]),
    "position": lambda a: ops.sum(ops.square(a[:, 2])),
    "pad": lambda a: ops.sum(ops.square(ops.pad(a, (1, 2)))),
    "concat": lambda a: ops.sum(ops.square(ops.concat((a, a * 2.0), 1))),
    "tile": lambda a: ops.sum(ops.square(ops.tile(a, (1, 2, 1)))),
    "roll": lambda a: ops.sum(ops.square(ops.roll(a, 7) * a)),
    "stack": lambda a: ops.sum(ops.square(ops.stack((a, a * 2.0), 1))),
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_as_in_numpy(name: str) -> None:
    derive = cw.grad(LOSSES[name])
    checked(lambda a: derive(a), X)  # noqa: PLW0108 - a trace enters functions


PIECES = [
    (slice(None), slice(1, 3)),
    (slice(1, None, 2),),
    (0,),
    (slice(None), slice(None), slice(0, 5, 3)),
    (slice(0, 1), slice(1, 3), slice(2, 5)),
    (slice(None, None, -1),),
    (slice(2, 2),),
]


@pytest.mark.parametrize("key", PIECES, ids=str)
def test_the_gradient_of_a_piece_lies_in_zeros(key: tuple[Any, ...]) -> None:
    x = cw.Tensor(RNG.standard_normal((4, 6, 7)).astype(np.float32))
    expected = np.zeros(x.shape, np.float32)
    expected[key] = 2 * x.asnumpy()[key]
    derive = cw.jit(cw.grad(lambda x: ops.sum(x[key] ** 2)), fullgraph=True)
    np.testing.assert_array_equal(derive(x).asnumpy(), expected)


def test_gradients_of_slices_are_written_once() -> None:
    def loss(a: cw.Tensor) -> cw.Tensor:
        first, second, third = ops.split(a, 2, 1)
        return ops.sum(first * 2.0) + ops.sum(second * -3.0) + ops.sum(ops.square(third))

    derive = cw.grad(loss)
    a = numbers(4, 6)
    graph = trace(lambda x: derive(x), [cw.Tensor(a).aval]).graph  # noqa: PLW0108
    names = [node.op.name for node in simplify(graph).nodes]
    assert names.count("assemble") == 1
    assert "unslice" not in names
    assert "add" not in names
    checked(lambda x: derive(x), a)  # noqa: PLW0108


def test_pieces_over_each_other_are_added() -> None:
    derive = cw.grad(lambda a: ops.sum(ops.square(a[:3])) + ops.sum(ops.square(a[2:])))
    a = numbers(5)
    graph = trace(lambda x: derive(x), [cw.Tensor(a).aval]).graph  # noqa: PLW0108
    assert "assemble" not in [node.op.name for node in simplify(graph).nodes]
    checked(lambda x: derive(x), a)  # noqa: PLW0108


def test_large_arrays_are_cut_for_threads() -> None:
    a, b = numbers(128, 300), numbers(128, 212)
    checked(lambda a, b: ops.concat((ops.concat((a, b), 1), ops.concat((b, a), 1)), 0) * 2.0, a, b)
