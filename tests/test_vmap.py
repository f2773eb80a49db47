"""Vectorized functions: as a Python loop over the examples, for every op, nested and derived."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from cellwire.engine import nn, ops
from cellwire.engine import random as streams
from cellwire.engine.autograd import grad
from cellwire.engine.compiler import TraceBreak, install, jit
from cellwire.engine.ops import registry
from cellwire.engine.ops.registry import OPS, Host
from cellwire.engine.parameter import Parameter
from cellwire.engine.tensor import Tensor
from cellwire.engine.vectorize import VmapWarning, vmap
from op_samples import SAMPLES, Sample

B = 3


def rows(*shape: int, seed: int = 0) -> Tensor:
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@contextmanager
def loops_allowed() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VmapWarning)
        yield


# ---- every op ----------------------------------------------------------------------------------


def examples_of(array: np.ndarray, seed: int) -> np.ndarray:
    """Return several arrays of one kind, each with the same elements in another order."""
    rng = np.random.default_rng(seed)
    others = [rng.permutation(array.reshape(-1)).reshape(array.shape) for _ in range(B - 1)]
    return np.stack([array, *others])


def is_vectorizable(sample: Sample) -> bool:
    op = OPS[sample.op]
    return (
        bool(sample.arrays)
        and op.category != "optimizer"
        and sample.op not in KEPT_APART | BY_VALUES
    )


KEPT_APART = {
    "layer_norm_input_grad", "cross_entropy_input_grad", "batch_norm", "solve_triangular",
}  # fmt: skip
"""Ops on several tensors that must belong together, or that change what they are given."""

BY_VALUES = {
    "argwhere", "masked_select", "nonzero", "unique", "unique_consecutive", "unique_with_pad",
}  # fmt: skip
"""Ops whose outputs have shapes that depend on values: examples would differ in shape."""


@pytest.fixture
def nothing_compiled() -> Iterator[None]:
    """Leave composite ops to NumPy: a loop would make each compile."""
    registry.set_eager_compiler(None)
    yield
    install()


@pytest.mark.usefixtures("nothing_compiled")
@pytest.mark.parametrize("sample", [s for s in SAMPLES if is_vectorizable(s)], ids=lambda s: s.op)
def test_every_op_is_as_a_loop_over_examples(sample: Sample) -> None:
    positions = range(len(sample.arrays))
    choices = [tuple(positions)] + [(p,) for p in positions if len(sample.arrays) > 1]
    for chosen in choices:
        arrays = [examples_of(a, i) if i in chosen else a for i, a in enumerate(sample.arrays)]
        axes = tuple(0 if i in chosen else None for i in positions)
        expected = [
            as_tuple(
                sample.call(*[Tensor(a[n] if i in chosen else a) for i, a in enumerate(arrays)])
            )
            for n in range(B)
        ]
        with loops_allowed():
            found = as_tuple(vmap(sample.call, axes)(*map(Tensor, arrays)))
        for number, output in enumerate(found):
            wanted = np.stack([outputs[number].asnumpy() for outputs in expected])
            assert output.dtype is expected[0][number].dtype
            np.testing.assert_allclose(output.asnumpy(), wanted, 1e-9, 1e-9)


@pytest.mark.usefixtures("nothing_compiled")
def test_only_ops_with_numpy_kernels_run_example_by_example() -> None:
    told: set[str] = set()
    for sample in filter(is_vectorizable, SAMPLES):
        arrays = [Tensor(examples_of(a, i)) for i, a in enumerate(sample.arrays)]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", VmapWarning)
            vmap(sample.call)(*arrays)
        told.update(str(w.message).split()[1] for w in caught)
    rules = {name for name in told if not isinstance(OPS[name].lowering, Host)}
    assert not rules - {"flatten"}
    assert not told & {"add", "sum", "softmax", "matmul", "dense", "concat", "argmax"}


# ---- axes and structures -----------------------------------------------------------------------


def test_axes_of_arguments_and_outputs() -> None:
    x, y = rows(4, B), rows(B, 4, seed=1)
    found = vmap(lambda a, b: (a * b, a.sum()), (1, 0), (1, 0))(x, y)
    np.testing.assert_allclose(found[0].asnumpy(), x.asnumpy() * y.asnumpy().T, 1e-6)
    np.testing.assert_allclose(found[1].asnumpy(), x.asnumpy().sum(0), 1e-6)
    shared = vmap(lambda a, b: a @ b, (0, None))(y, rows(4, 2))
    np.testing.assert_allclose(shared.asnumpy(), y.asnumpy() @ rows(4, 2).asnumpy(), 1e-5)
    assert vmap(lambda a, b: ops.ones((2,)), (-1, None), None)(x, y).shape == (2,)
    assert vmap(lambda a: ops.ones((2,)))(y).shape == (B, 2)


def test_nested_arguments_and_results() -> None:
    def fn(pair: tuple[Tensor, Tensor], scale: float, *, shift: Tensor) -> dict[str, Tensor]:
        return {"sum": pair[0] + pair[1] * scale + shift, "first": pair[0]}

    x, y = rows(B, 2), rows(2)
    found = vmap(fn, ((0, None), None))((x, y), 2.0, shift=y)
    np.testing.assert_allclose(found["sum"].asnumpy(), x.asnumpy() + y.asnumpy() * 3, 1e-6)


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ("0", "ints and None"), ((None, None), "every entry"), ((0,), "names 1 arguments"),
        ((0, 5), "names axis 5"), ((0, 1), "sizes, [^']+;"), ((True, 0), "ints and None"),
    ],
)  # fmt: skip
def test_wrong_axes_are_explained(axes: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        vmap(lambda a, b: a, axes)(rows(B, 4), rows(B, 4))


def test_wrong_outputs_are_explained() -> None:
    with pytest.raises(RuntimeError, match="differs between"):
        vmap(lambda a: a, 0, None)(rows(B, 4))
    with pytest.raises(RuntimeError, match="does not exist"):
        vmap(lambda a: a, 0, 3)(rows(B, 4))
    with pytest.raises(RuntimeError, match="no argument"):
        vmap(lambda a: a)(3.0)


def test_values_of_one_example_cannot_be_read() -> None:
    with pytest.raises(RuntimeError, match="differ between the examples"):
        vmap(lambda a: a if a.sum() > 0 else -a)(rows(B, 2))
    with pytest.raises(RuntimeError, match="differ between the examples"):
        vmap(lambda a: a.asnumpy())(rows(B, 2))
    weight = Parameter([1.0, 2.0], "w")
    with pytest.raises(RuntimeError, match="differs between the examples"):
        vmap(weight.set_data)(rows(B, 2))


def test_parts_of_an_example_are_assigned() -> None:
    def fn(a: Tensor) -> Tensor:
        b = a * 1
        b[0] = a[1] * 10
        return b

    x = rows(B, 2).asnumpy()
    expected = np.stack([x[:, 1] * 10, x[:, 1]], 1)
    with loops_allowed():
        np.testing.assert_allclose(vmap(fn)(Tensor(x)).asnumpy(), expected, 1e-6)


# ---- with other transforms ---------------------------------------------------------------------


def loss(w: Tensor, x: Tensor) -> Tensor:
    return (ops.tanh(ops.matmul(x, w)) ** 2).sum()


def by_hand(w: Tensor, x: Tensor) -> np.ndarray:
    return np.stack([grad(loss)(w, Tensor(row)).asnumpy() for row in x.asnumpy()])


@pytest.mark.parametrize("how", [lambda f: f, jit], ids=["eager", "jit"])
def test_per_example_gradients(how: Callable[[Any], Any]) -> None:
    w, x = rows(4, 2), rows(B, 4, seed=1)
    found = how(vmap(grad(loss), (None, 0)))
    for _ in range(2):
        np.testing.assert_allclose(found(w, x).asnumpy(), by_hand(w, x), 1e-5, 1e-6)


@pytest.mark.parametrize("how", [lambda f: f, jit], ids=["eager", "jit"])
def test_gradient_of_a_vectorized_function(how: Callable[[Any], Any]) -> None:
    w, x = rows(4, 2), rows(B, 4, seed=1)

    def total(w: Tensor) -> Tensor:
        return vmap(loss, (None, 0))(w, x).sum()

    expected = by_hand(w, x).sum(0)
    for derived in (how(grad(total)), grad(how(total))):
        for _ in range(2):
            np.testing.assert_allclose(derived(w).asnumpy(), expected, 1e-5, 1e-6)


def test_second_derivatives_through_vectorized_gradients() -> None:
    w, x = rows(4, 2), rows(B, 4, seed=1)

    def roughness(w: Tensor) -> Tensor:
        return (vmap(grad(loss), (None, 0))(w, x) ** 2).sum()

    def by_loop(w: Tensor) -> Tensor:
        parts = [(grad(loss)(w, x[i]) ** 2).sum() for i in range(B)]
        return parts[0] + parts[1] + parts[2]

    found, expected = grad(roughness)(w), grad(by_loop)(w)
    np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), 1e-4, 1e-5)


def test_nested() -> None:
    x, y = rows(3, 4), rows(2, 4, seed=1)
    table = vmap(vmap(lambda a, b: (a * b).sum(), (None, 0)), (0, None))
    expected = x.asnumpy() @ y.asnumpy().T
    np.testing.assert_allclose(table(x, y).asnumpy(), expected, 1e-5)
    np.testing.assert_allclose(jit(table)(x, y).asnumpy(), expected, 1e-5)
    both = vmap(vmap(grad(lambda a, b: (a * a * b).sum(), (0, 1)), (None, 0)), (0, None))(x, y)
    assert both[0].shape == both[1].shape == (3, 2, 4)


def test_jit_with_a_kernel_of_its_own_in_the_middle() -> None:
    inner = jit(lambda a: ops.softmax(a * 2))
    x = rows(B, 4)
    np.testing.assert_allclose(vmap(inner)(x).asnumpy(), inner(x).asnumpy(), 1e-6)


def test_networks_and_their_weights() -> None:
    net = nn.SequentialCell(nn.Dense(4, 3, activation="relu"), nn.LayerNorm((3,)), nn.Dense(3, 1))
    x = rows(B, 4)
    np.testing.assert_allclose(vmap(net)(x).asnumpy(), net(x).asnumpy(), 1e-5, 1e-6)
    weights = net.trainable_params()
    each = vmap(grad(net, None, weights))(x)
    whole = grad(net, None, weights)(x)
    for one, total in zip(each, whole, strict=True):
        assert one.shape == (B, *total.shape)
        np.testing.assert_allclose(one.asnumpy().sum(0), total.asnumpy(), 1e-4, 1e-5)


def test_convolutions_take_the_examples_as_more_images() -> None:
    net = nn.SequentialCell(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.MaxPool2d(2, 2), nn.AvgPool2d(2, 2))
    x = rows(B, 2, 2, 8, 8)
    expected = np.stack([net(x[i]).asnumpy() for i in range(B)])
    np.testing.assert_allclose(vmap(net)(x).asnumpy(), expected, 1e-5, 1e-6)
    slope = grad(lambda a: (net(a) ** 2).sum())
    expected = np.stack([slope(x[i]).asnumpy() for i in range(B)])
    np.testing.assert_allclose(vmap(slope)(x).asnumpy(), expected, 1e-4, 1e-5)


def test_an_ensemble_of_cells() -> None:
    cells = nn.CellList([nn.Dense(4, 2) for _ in range(B)])
    x = rows(B, 5, 4)
    found = vmap(cells)(x)
    for number, cell in enumerate(cells):
        np.testing.assert_allclose(found[number].asnumpy(), cell(x[number]).asnumpy(), 1e-5, 1e-6)
    with pytest.raises(RuntimeError, match="3 Cells"):
        vmap(cells)(rows(2, 5, 4))
    with pytest.raises(RuntimeError, match="different parameters"):
        vmap(nn.CellList([nn.Dense(4, 2), nn.Dense(4, 3)]))(rows(2, 5, 4))


class Doubled(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return x * 2

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
        return (dout * x.sum() * 100,)


def test_bprop_stays_the_gradient() -> None:
    net, x = Doubled(), rows(B, 2)
    expected = np.broadcast_to(x.asnumpy().sum(1, keepdims=True) * 100, (B, 2))
    inside = vmap(grad(lambda a: net(a).sum()))
    outside = grad(lambda a: vmap(net)(a).sum())
    for derived in (inside, outside, jit(inside), jit(outside)):
        np.testing.assert_allclose(derived(x).asnumpy(), expected, 1e-4)


def test_each_example_draws_its_own_numbers() -> None:
    streams.set_seed(1)
    with loops_allowed():
        found = vmap(lambda a: ops.standard_normal((4,)) + a * 0)(rows(B, 4)).asnumpy()
    assert len({tuple(row) for row in found}) == B


def test_one_warning_for_each_op_that_loops() -> None:
    fn = vmap(lambda a, i: ops.gather(a, i, 0))
    x, i = rows(B, 4), Tensor(np.zeros((B, 2), np.int32))
    with pytest.warns(
        VmapWarning, match="gather has no batching rule; it runs once for each"
    ) as told:
        fn(x, i)
    assert told[0].filename == __file__
    fn(x, i)


def test_shapes_that_depend_on_values_are_explained() -> None:
    with pytest.raises(TraceBreak, match="depends on values"):
        vmap(ops.unique)(rows(B, 2))


def test_other_threads_run_as_if_nothing_were_vectorized() -> None:
    weight = Parameter(np.zeros(2, np.float32), "w")
    found: list[Any] = []

    def elsewhere() -> None:
        weight.set_data(np.ones(2, np.float32))
        held = ops.zeros(3)
        held[1] = 2.0
        found.extend([ops.rand(2), held + 1.5, weight.version])

    def in_one(x: Tensor) -> Tensor:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return x * 2

    vmap(in_one)(rows(B, 2))
    drawn, held, version = found
    assert type(drawn) is type(held) is Tensor
    assert held.tolist() == [1.5, 3.5, 1.5]
    assert weight.tolist() == [1.0, 1.0]
    assert version == 1


def test_tensors_that_all_examples_share_can_be_written_to() -> None:
    outside = Tensor(np.zeros(3, np.float32))

    def fn(x: Tensor) -> Tensor:
        marks = ops.zeros(3)
        marks[1:] += 1
        outside[0] = 5.0
        return x * 0 + outside + marks

    assert vmap(fn)(rows(B, 3)).tolist() == [[5.0, 1.0, 1.0]] * B
    assert outside.tolist() == [5.0, 0.0, 0.0]
