"""Reading, adding up and putting by positions in plans; positions that do not exist are errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine.compiler.jit import explain

ops = cw.ops
RNG = np.random.default_rng(13)
X = RNG.standard_normal((5, 6, 7)).astype(np.float32)
I = np.array([0, -1, 3, 3])  # noqa: E741
PAIRS = np.array([[0, 2], [4, -5]], np.int32)
COLUMN = np.array([[1], [2]])


def equal(fn: Callable[..., Any], *arrays: np.ndarray) -> None:
    given = [cw.Tensor(a) for a in arrays]
    wanted, found = fn(*given), cw.jit(fn, fullgraph=True)(*given)
    assert "host" not in str(explain(fn)(*given))
    if not isinstance(wanted, tuple):
        wanted, found = (wanted,), (found,)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype is b.dtype
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())


def derived(fn: Callable[..., cw.Tensor]) -> Callable[..., Any]:
    derive = cw.grad(lambda *given: ops.sum(ops.square(fn(*given))))
    return lambda *given: derive(*given)  # noqa: PLW0108 - a trace enters functions


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("indices", [I, PAIRS], ids=["row", "pairs"])
def test_slices_are_gathered_and_their_gradients_added_up(axis: int, indices: np.ndarray) -> None:
    equal(lambda x, i: ops.gather(x, i, axis), X, indices)
    equal(derived(lambda x, i: ops.gather(x, i, axis)), X, indices)


READS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "elements": (lambda x, i: x[i], (X[0, 0], I)),
    "rows and columns": (lambda x, i, k: x[i, k], (X, I, np.array([1, 2, 0, -3]))),
    "spread": (lambda x, i, k: x[:, i, k], (X, I, COLUMN)),
    "along": (lambda x, i: ops.gather_elements(x, 1, i), (X[0], PAIRS)),
    "coordinates": (lambda x, i: ops.gather_nd(x, i), (X, PAIRS)),  # noqa: PLW0108
}


@pytest.mark.parametrize("name", READS)
def test_elements_are_read_and_their_gradients_added_up(name: str) -> None:
    fn, given = READS[name]
    equal(fn, *given)
    equal(derived(fn), *given)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float16, np.float64])
def test_tables_of_other_types(dtype: Any) -> None:
    equal(lambda x, i: ops.gather(x, i, 0), (X > 0).astype(dtype), I)


def test_an_embedding_learns_in_one_plan() -> None:
    def loss(ids: cw.Tensor, table: cw.Tensor) -> cw.Tensor:
        return ops.sum(ops.square(ops.embedding(ids, table, 3)))

    derive = cw.grad(loss, 1)
    equal(lambda i, w: derive(i, w), np.array([[0, 3, 9], [9, 9, 1]]), X.reshape(-1, 21))  # noqa: PLW0108


def test_sums_over_many_columns_are_cut_and_stay_in_order() -> None:
    table = RNG.standard_normal((50, 4096)).astype(np.float32)
    equal(derived(lambda x, i: ops.gather(x, i, 0)), table, RNG.integers(0, 50, 400))


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_extremes_stand_where_numpy_finds_them(axis: int | None) -> None:
    numbers = X.copy()
    numbers[0] = 0
    numbers[1, 2, 3] = numbers[4, 2, 3] = np.nan
    for x in (X, numbers, (X * 3).astype(np.int32), X > 0):
        equal(lambda x: (ops.argmax(x, axis, keepdims=True), ops.argmin(x, axis)), x)


def test_one_hot() -> None:
    equal(lambda i: ops.one_hot(i, 5), I)
    equal(lambda i: ops.one_hot(i, 5, 2.5, -1, 0, cw.float64), PAIRS)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums(axis: int, exclusive: bool, reverse: bool) -> None:
    equal(lambda x: ops.cumsum(x, axis, exclusive=exclusive, reverse=reverse), X)
    equal(lambda x: ops.cumsum(x, 1, exclusive=exclusive, reverse=reverse), X[:, :1])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_products(axis: int, exclusive: bool, reverse: bool) -> None:
    options: Any = {"exclusive": exclusive, "reverse": reverse}
    numbers = X.copy()
    numbers[0, 1], numbers[2, 0] = 0, -np.inf
    for x in (numbers, X.astype(np.float64), (X * 3).astype(np.int32)):
        equal(lambda x: ops.cumprod(x, axis, **options), x)
    equal(lambda x: ops.cumprod(x, 1, **options), X[:, :1])
    derive = cw.grad(lambda x: ops.sum(ops.square(ops.cumprod(x, axis, **options))))
    equal(lambda x: derive(x), numbers[1:2])  # noqa: PLW0108 - a trace enters functions


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_running_extremes(axis: int) -> None:
    numbers = np.round(X * 2)
    numbers[0, 1], numbers[2, 0, 3], numbers[1, 2] = -0.0, np.nan, np.inf
    for x in (numbers, numbers.astype(np.float16), (X * 3).astype(np.int8), X[:, :1]):
        equal(lambda x: (*ops.cummax(x, axis), *ops.cummin(x, axis)), x)


@pytest.mark.parametrize("reduction", ["none", "add", "sub", "mul", "max", "min"])
def test_values_meet_elements_in_their_order(reduction: str) -> None:
    def meet(x: cw.Tensor, i: cw.Tensor, updates: cw.Tensor) -> cw.Tensor:
        return ops.tensor_scatter_elements(x, i, updates, 1, reduction)

    equal(meet, X[0], np.array([[0, 1], [2, 2], [6, 0]]), X[1, :3, :2])
    rows = np.array([[0, 1], [2, 2], [0, 1]])
    equal(lambda x, i, u: ops.tensor_scatter_update(x, i, u), X, rows, X[3, :3])  # noqa: PLW0108


# ---- errors ----------------------------------------------------------------------------------


def test_a_position_that_does_not_exist_is_an_error_each_time() -> None:
    run = cw.jit(lambda x, i: ops.gather(x, i, 1) * 2.0, fullgraph=True)
    x = cw.Tensor(X)
    message = r"gather: the indices hold position 7, axis 1 has size 6; use -6 to 5\."
    for _ in range(2):
        np.testing.assert_array_equal(run(x, cw.Tensor([5, -6])).asnumpy(), X[:, [5, 0]] * 2)
        with pytest.raises(IndexError, match=message):
            run(x, cw.Tensor([0, 7, 9]))
        with pytest.raises(IndexError, match="position -7"):
            run(x, cw.Tensor([-7, 0]))


def test_a_label_out_of_range_is_the_error_that_eager_raises() -> None:
    x, labels = cw.Tensor(X[0]), cw.Tensor([0, 1, -100, 9, 1, -3])

    def loss(x: cw.Tensor, labels: cw.Tensor) -> cw.Tensor:
        return ops.cross_entropy(x, labels)

    messages = []
    for run in (loss, cw.jit(loss, fullgraph=True)):
        with pytest.raises(ValueError, match="holds the label 9") as caught:
            run(x, labels)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    right = cw.Tensor([0, 1, -100, 6, 1, 3])
    found = cw.jit(loss, fullgraph=True)(x, right)
    np.testing.assert_allclose(found.asnumpy(), loss(x, right).asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("copies", [1, 100], ids=["one thread", "several threads"])
def test_a_step_that_fails_changes_nothing(copies: int) -> None:
    start = np.tile(X[0], (1, copies))
    classes = start.shape[1]
    table = cw.Parameter(cw.Tensor(start), name="table")
    optimizer = cw.nn.Momentum([table], 0.1, 0.9)
    derive = cw.value_and_grad(
        lambda i, labels: ops.cross_entropy(ops.gather(table, i, 0), labels), None, [table]
    )

    @cw.jit(fullgraph=True)
    def step(i: cw.Tensor, labels: cw.Tensor) -> Any:
        loss, grads = derive(i, labels)
        optimizer(grads)
        return loss

    ids, labels = np.tile([0, 1, 5], copies), np.tile([0, 1, 2], copies)
    step(cw.Tensor(ids), cw.Tensor(labels))
    state = [p.asnumpy().copy() for p in (table, *optimizer.get_parameters())]
    wrong = labels.copy()
    wrong[2] = classes
    with pytest.raises(ValueError, match=f"label {classes}"):
        step(cw.Tensor(ids), cw.Tensor(wrong))
    with pytest.raises(IndexError, match="position 6"):
        step(cw.Tensor(np.where(ids == 1, 6, ids)), cw.Tensor(labels))
    for before, now in zip(state, (table, *optimizer.get_parameters()), strict=True):
        np.testing.assert_array_equal(now.asnumpy(), before)
