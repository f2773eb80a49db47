"""Every op: values, shape rules, gradients and expansions."""

from __future__ import annotations

from functools import partial
from typing import Any

import cellwire.engine.compiler  # noqa: F401 - installs the eager compiler, as users have it
import numpy as np
import pytest
from cellwire.engine import ops
from cellwire.engine.autograd import Record, grad
from cellwire.engine.compiler.differentiate import differentiate
from cellwire.engine.compiler.graph import verify
from cellwire.engine.compiler.trace import abstract_eval, trace
from cellwire.engine.dtype import dtype_of
from cellwire.engine.ops.expansion import expanded
from cellwire.engine.ops.registry import OPS, Composite
from cellwire.engine.shape import Aval, ShapeError, SymDim, substitute
from cellwire.engine.tensor import Tensor
from op_samples import SAMPLES, N, Sample

IDS = [f"{sample.op}-{number}" for number, sample in enumerate(SAMPLES)]
every = pytest.mark.parametrize("sample", SAMPLES, ids=IDS)


def as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def cast(array: np.ndarray, dtype: type) -> np.ndarray:
    return array.astype(dtype) if array.dtype.kind == "f" else array


def run(sample: Sample, dtype: type = np.float64) -> tuple[Any, tuple[Tensor, ...]]:
    inputs = tuple(Tensor(cast(array, dtype)) for array in sample.arrays)
    return as_tuple(sample.call(*inputs)), inputs


def test_every_op_has_a_sample() -> None:
    own = {name for name, op in OPS.items() if op.category not in {"graph", "custom"}}
    assert own == {sample.op for sample in SAMPLES}
    assert len(own) >= 70


@pytest.mark.parametrize("op", list(OPS.values()), ids=list(OPS))
def test_docs_say_what_goes_in_and_comes_out(op: Any) -> None:
    assert "Returns\n-------" in op.doc
    if op.inputs:
        assert "Parameters\n----------" in op.doc


@every
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-5), (np.float64, 1e-10)])
def test_values_are_those_of_float64_numpy(sample: Sample, dtype: type, tolerance: float) -> None:
    if sample.reference is None:
        return
    with np.errstate(all="ignore"):
        expected = as_tuple(sample.reference(*sample.arrays))
    outputs, _ = run(sample, dtype)
    for output, wanted in zip(outputs, expected, strict=True):
        assert output.shape == np.shape(wanted)
        np.testing.assert_allclose(output.asnumpy(), wanted, tolerance, tolerance)


@every
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_shape_rule_agrees_with_kernel(sample: Sample, dtype: type) -> None:
    with Record() as record:
        run(sample, dtype)
    entries = [entry for entry in record.entries if entry.op.name == sample.op]
    assert entries
    for entry in entries:
        inferred = entry.op.infer(*(t.aval for t in entry.inputs), **entry.attrs)
        assert as_tuple(inferred) == tuple(t.aval for t in entry.outputs)


@every
def test_shape_rule_knows_symbolic_batches(sample: Sample) -> None:
    if not sample.symbolic:
        return
    inferred = as_tuple(abstract_eval(sample.call, *symbolic_avals(sample)))
    outputs, _ = run(sample, np.float32)
    for aval, output in zip(inferred, outputs, strict=True):
        assert substitute(aval, {"N": N}) == output.aval


def symbolic_avals(sample: Sample) -> list[Aval]:
    avals = []
    for array in sample.arrays:
        shape = tuple(SymDim("N") if dim == N else dim for dim in array.shape)
        avals.append(Aval(shape, dtype_of(cast(array, np.float32).dtype)))
    return avals


@every
def test_gradient_is_that_of_finite_differences(sample: Sample) -> None:
    if not sample.differentiable:
        return
    outputs, inputs = run(sample)
    rng = np.random.default_rng(1)
    weights = [Tensor(rng.standard_normal(output.shape)) for output in outputs]

    def loss(*tensors: Tensor) -> Tensor:
        parts = as_tuple(sample.call(*tensors))
        total = ops.zeros((), "float64")
        for part, weight in zip(parts, weights, strict=True):
            if part.dtype.is_float and not part_is_state(sample, parts, part):
                total = total + (part * weight).sum()
        return total

    positions = tuple(i for i, t in enumerate(inputs) if t.dtype.is_float)
    if sample.op == "batch_norm":
        positions = tuple(i for i in positions if i not in {1, 2})
    if sample.op == "binary_cross_entropy_with_logits":
        positions = positions[:2]
    found = grad(loss, positions)(*inputs)
    for position, gradient in zip(positions, found, strict=True):
        expected = finite_differences(loss, inputs, position)
        np.testing.assert_allclose(gradient.asnumpy(), expected, 2e-5, 2e-6)


def part_is_state(sample: Sample, parts: tuple[Tensor, ...], part: Tensor) -> bool:
    return sample.op == "batch_norm" and part is not parts[0]


def finite_differences(loss: Any, inputs: tuple[Tensor, ...], position: int) -> np.ndarray:
    step = 1e-6
    base = inputs[position].asnumpy().copy()
    slopes = np.zeros_like(base)
    for at in np.ndindex(*base.shape):
        sides = []
        for sign in (1, -1):
            moved = base.copy()
            moved[at] += sign * step
            changed = [Tensor(moved) if i == position else t for i, t in enumerate(inputs)]
            sides.append(float(loss(*changed)))
        slopes[at] = (sides[0] - sides[1]) / (2 * step)
    return slopes


@every
def test_gradient_rule_knows_symbolic_batches(sample: Sample) -> None:
    if not (sample.symbolic and sample.differentiable):
        return
    call = trace(sample.call, symbolic_avals(sample))
    inputs = call.graph.inputs
    wrt = [i for i, value in enumerate(inputs) if value.aval.dtype.is_float]
    derivative = differentiate(call.graph, call.results, wrt)
    verify(derivative.backward)
    assert [v.aval for v in derivative.backward.outputs] == [inputs[i].aval for i in wrt]


COMPOSITES = [s for s in SAMPLES if isinstance(OPS[s.op].lowering, Composite)]


@pytest.mark.parametrize("sample", COMPOSITES, ids=lambda sample: sample.op)
def test_expansion_agrees_with_kernel(sample: Sample) -> None:
    with Record() as record:
        run(sample, np.float32)
    for entry in [entry for entry in record.entries if entry.op.name == sample.op]:
        lowering = entry.op.lowering
        assert isinstance(lowering, Composite)
        arrays = [tensor.data for tensor in entry.inputs]
        whole = as_tuple(expanded(lowering.fn)(*arrays, **entry.attrs))
        direct = as_tuple(entry.op.kernel(*arrays, **entry.attrs))
        for mine, other in zip(whole, direct, strict=True):
            assert mine.shape == np.shape(other)
            assert mine.dtype == np.asarray(other).dtype
            np.testing.assert_allclose(mine, other, 2e-5, 2e-6)


@pytest.mark.parametrize("sample", COMPOSITES, ids=lambda sample: sample.op)
def test_expansion_knows_symbolic_batches(sample: Sample) -> None:
    if not sample.symbolic:
        return
    nodes = list(trace(sample.call, symbolic_avals(sample)).graph.nodes)
    while nodes:
        node = nodes.pop()
        if isinstance(node.op.lowering, Composite):
            expand, attrs = node.op.lowering.fn, node.attributes
            inner = trace(partial(expand, **attrs), [value.aval for value in node.inputs])
            assert [v.aval for v in inner.graph.outputs] == [v.aval for v in node.outputs]
            nodes += inner.graph.nodes


@pytest.mark.parametrize("shape", [(), (3,)])
def test_broadcasting_cannot_keep_the_size_of_an_axis_that_is_not_there(
    shape: tuple[int, ...],
) -> None:
    def widened(x: Tensor) -> Tensor:
        return ops.broadcast_to(x, (-1, *shape))

    with pytest.raises(ShapeError, match="does not have"):
        abstract_eval(widened, Aval(shape, dtype_of("float32")))
