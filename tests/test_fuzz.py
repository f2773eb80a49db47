"""Random cases: eager against NumPy in float64 and differences, compiled against eager.

The second half is a short run of ``python -m tests.fuzz``, and what proves that it finds mistakes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import ops
from fuzz import graph_faults, program_faults
from fuzz.faults import FAULTS, Fault, cases_until_caught
from fuzz.session import Kind, small_case, trouble_of
from scipy import special

Step = tuple[Callable[..., Any], Callable[..., Any], tuple[int, ...]]
"""An op in Cellwire, the same in NumPy, and which of the values so far it takes."""

POINTWISE: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (ops.neg, np.negative),
    (ops.tanh, np.tanh),
    (ops.sigmoid, special.expit),
    (ops.sin, np.sin),
    (ops.square, np.square),
    (ops.erf, special.erf),
    (lambda x: ops.exp(ops.tanh(x)), lambda x: np.exp(np.tanh(x))),
    (lambda x: ops.sqrt(ops.abs(x) + 0.3), lambda x: np.sqrt(np.abs(x) + 0.3)),
    (lambda x: ops.log(ops.square(x) + 0.5), lambda x: np.log(np.square(x) + 0.5)),
    (lambda x: 1.5 - x * 0.7, lambda x: 1.5 - x * 0.7),
]
PAIRS: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (ops.add, np.add),
    (ops.sub, np.subtract),
    (ops.mul, np.multiply),
    (lambda x, y: x / (ops.square(y) + 1.0), lambda x, y: x / (np.square(y) + 1.0)),
]


def random_shape(rng: np.random.Generator) -> tuple[int, ...]:
    """Return up to four axes; sizes of one are frequent, empty axes rare."""
    sizes = rng.choice([0, 1, 1, 2, 3, 5, 8, 17], rng.integers(0, 5), p=[0.03, *[0.97 / 7] * 7])
    return tuple(int(size) for size in sizes)


def random_step(rng: np.random.Generator, values: Sequence[np.ndarray]) -> Step | None:
    """Return an op that fits one of the last values, or None where the choice does not fit."""
    at = int(rng.integers(max(0, len(values) - 3), len(values)))
    x = values[at]
    kind = rng.choice(["point", "point", "pair", "sum", "mean", "move", "flat", "cut", "row", "mm"])
    if kind == "point":
        ours, numpys = POINTWISE[rng.integers(len(POINTWISE))]
        return ours, numpys, (at,)
    if kind == "pair":
        other = int(rng.integers(len(values)))
        ours, numpys = PAIRS[rng.integers(len(PAIRS))]
        return ours, numpys, (at, other)
    if kind == "flat":
        return lambda t: ops.reshape(t, (x.size,)), lambda a: a.reshape(x.size), (at,)
    if not x.ndim:
        return None
    if kind in ("sum", "mean") and x.size:
        axes = tuple(int(a) for a in rng.choice(x.ndim, rng.integers(1, x.ndim + 1), replace=False))
        keep = bool(rng.random() < 0.5)
        ours, numpys = (ops.sum, np.sum) if kind == "sum" else (ops.mean, np.mean)
        return lambda t: ours(t, axes, keep), lambda a: numpys(a, axes, keepdims=keep), (at,)
    if kind == "move":
        order = tuple(int(a) for a in rng.permutation(x.ndim))
        return lambda t: ops.transpose(t, order), lambda a: a.transpose(order), (at,)
    if kind == "cut" and x.shape[0] > 1:
        start = int(rng.integers(x.shape[0] - 1))
        return lambda t: t[start::2], lambda a: a[start::2], (at,)
    if kind == "row" and x.size:
        return lambda t: ops.softmax(t, -1), lambda a: special.softmax(a, -1), (at,)
    if kind == "mm" and x.ndim > 1:
        weight = rng.normal(size=(x.shape[-1], 3)).astype(np.float32)
        return (
            lambda t: ops.matmul(t, cw.Tensor(weight).astype(t.dtype)),
            lambda a: a @ weight,
            (at,),
        )
    return None


def random_program(
    rng: np.random.Generator,
) -> tuple[list[np.ndarray], list[Step], np.ndarray]:
    """Return inputs, steps and what NumPy says the last of them gives."""
    shape = random_shape(rng)
    shorter = tuple(1 if rng.random() < 0.3 else size for size in shape[len(shape) // 2 :])
    inputs = [rng.normal(size=s).astype(np.float32) for s in (shape, shorter)]
    values = [array.astype(np.float64) for array in inputs]
    steps: list[Step] = []
    while len(steps) < rng.integers(2, 10):
        step = random_step(rng, values)
        if step is None:
            continue
        try:
            found = np.asarray(step[1](*[values[i] for i in step[2]]))
        except ValueError:  # the shapes do not broadcast
            continue
        if found.size <= 20_000:
            steps.append(step)
            values.append(found)
    return inputs, steps, values[-1]


def runner(steps: Sequence[Step]) -> Callable[..., Any]:
    def run(*tensors: cw.Tensor) -> cw.Tensor:
        values = list(tensors)
        for ours, _, taken in steps:
            values.append(ours(*[values[i] for i in taken]))
        return values[-1]

    return run


def close(found: cw.Tensor, wanted: np.ndarray, tolerance: float) -> None:
    scale = float(np.abs(wanted).max(initial=1.0))
    np.testing.assert_allclose(
        found.asnumpy(), wanted, rtol=tolerance, atol=tolerance * scale, strict=False
    )
    assert found.shape == wanted.shape


@pytest.mark.parametrize("block", range(5))
def test_random_graphs(block: int) -> None:
    for seed in range(8 * block, 8 * block + 8):
        inputs, steps, wanted = random_program(np.random.default_rng(seed))
        run = runner(steps)
        compiled = cw.jit(run)
        tensors = [cw.Tensor(array) for array in inputs]
        close(run(*tensors), wanted, 1e-3)
        for _ in range(2):
            close(compiled(*tensors), wanted, 1e-3)

        def loss(*tensors: cw.Tensor, run: Callable[..., Any] = run) -> cw.Tensor:
            return ops.sum(ops.tanh(run(*tensors)))

        wide = [cw.Tensor(array.astype(np.float64)) for array in inputs]
        rng = np.random.default_rng(seed)
        moves = [rng.normal(size=array.shape) for array in inputs]
        ends = [
            loss(
                *[
                    cw.Tensor(w.asnumpy() + sign * 1e-6 * m)
                    for w, m in zip(wide, moves, strict=True)
                ]
            )
            for sign in (1, -1)
        ]
        slope = (ends[0].item() - ends[1].item()) / 2e-6
        exact = cw.grad(loss, (0, 1))(*wide)
        along = sum(float((g.asnumpy() * m).sum()) for g, m in zip(exact, moves, strict=True))
        np.testing.assert_allclose(along, slope, rtol=1e-4, atol=1e-5 * max(1.0, wanted.size))
        for derive in (cw.grad(loss, (0, 1)), cw.jit(cw.grad(loss, (0, 1)))):
            for found, gradient in zip(derive(*tensors), exact, strict=True):
                close(found, gradient.asnumpy(), 5e-3)


@pytest.mark.parametrize("name", ["add", "mul", "maximum", "floor_div", "mod", "div"])
@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "int32", "uint8", "bool"])
def test_special_values_and_dtypes_survive_compiling(name: str, kind: str) -> None:
    special_values = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-40, 1.0, -2.5, 3.0, 1e30]
    with np.errstate(all="ignore"):
        values = np.array(special_values if kind.startswith("f") else [0, 1, 2, 3]).astype(kind)
    x, y = cw.Tensor(values[:, None]), cw.Tensor(values[None, :])
    fn = getattr(ops, name)
    found, wanted = cw.jit(fn)(x, y), fn(x, y)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found.asnumpy(), wanted.asnumpy())
    if wanted.dtype.is_float and name != "maximum":  # NumPy takes either zero
        zero = wanted.asnumpy() == 0
        signs = np.signbit(found.asnumpy())[zero], np.signbit(wanted.asnumpy())[zero]
        np.testing.assert_array_equal(*signs)


@pytest.mark.parametrize("first", range(0, 60, 15))
@pytest.mark.parametrize("kind", ["graphs", "programs"])
def test_compiled_code_does_what_eager_code_does(kind: Kind, first: int) -> None:
    count = 15 if kind == "graphs" else 5
    for seed in range(first, first + count):
        if trouble_of(kind, seed):
            pytest.fail(small_case(kind, seed), pytrace=False)


def test_there_are_enough_seeded_faults_of_both_kinds() -> None:
    assert graph_faults, program_faults
    assert len(FAULTS) >= 50
    assert not [fault.name for fault in FAULTS if fault.seed is None]
    assert {fault.kind for fault in FAULTS} == {"graphs", "programs"}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_seeded_faults_are_noticed(fault: Fault) -> None:
    assert cases_until_caught(fault, 40) is not None
