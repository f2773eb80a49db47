"""Square brackets: NumPy's rules for reading and writing, with gradients, eager and compiled."""

from __future__ import annotations

import math
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import ops
from cellwire.engine.compiler.jitted import JitError, JitWarning
from cellwire.engine.shape import ShapeError
from hypothesis import given, settings
from hypothesis import strategies as st

few = settings(max_examples=60, deadline=None, derandomize=True, database=None)
fewer = settings(max_examples=12, deadline=None, derandomize=True, database=None)


def counted(*shape: int) -> cw.Tensor:
    return cw.Tensor(np.arange(math.prod(shape), dtype=np.float32).reshape(shape))


# ---- drawn keys ------------------------------------------------------------------------------


@st.composite
def shapes(draw: Any) -> tuple[int, ...]:
    return tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))


def ranges(size: int) -> st.SearchStrategy[slice]:
    end = st.none() | st.integers(-size - 1, size + 1)
    return st.builds(slice, end, end, st.sampled_from([None, 1, 2, -1, -2]))


KINDS = ["int", "slice", "none", "array", "mask", "flag", "dots", "end"]


@st.composite
def keys(draw: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Draw a key of every kind of item; its index arrays have shapes that broadcast."""
    together = draw(st.sampled_from([(), (1,), (3,), (2, 1), (2, 3)]))
    items: list[Any] = []
    axis = 0
    while axis < len(shape):
        size = shape[axis]
        kind = draw(st.sampled_from(KINDS))
        if kind == "end":
            break
        if kind == "none":
            items.append(None)
        elif kind == "flag":
            items.append(draw(st.sampled_from([True, np.True_])))
        elif kind == "dots" and Ellipsis not in [i for i in items if i is Ellipsis]:
            items.append(Ellipsis)
            axis += draw(st.integers(0, len(shape) - axis))
        elif kind == "int":
            items.append(draw(st.integers(-size, size - 1)))
            axis += 1
        elif kind == "slice":
            items.append(draw(ranges(size)))
            axis += 1
        elif kind == "array":
            cut = together[draw(st.integers(0, len(together))) :]
            rng = np.random.default_rng(draw(st.integers(0, 99)))
            items.append(rng.integers(-size, size, cut))
            axis += 1
        elif kind == "mask":
            axes = draw(st.integers(1, min(2, len(shape) - axis)))
            mask = np.zeros(shape[axis : axis + axes], bool)
            rng = np.random.default_rng(draw(st.integers(0, 99)))
            places = rng.permutation(mask.size)[: (together or (1,))[-1]]
            mask.flat[places] = True
            items.append(mask)
            axis += axes
    return tuple(items)


def in_the_words_of(key: tuple[Any, ...], how: str) -> tuple[Any, ...]:
    """Return the key with arrays as tensors or lists."""
    if how == "tensor":
        return tuple(cw.Tensor(i) if isinstance(i, np.ndarray) else i for i in key)
    return tuple(i.tolist() if isinstance(i, np.ndarray) and i.ndim else i for i in key)


def read(array: np.ndarray, key: tuple[Any, ...]) -> np.ndarray | None:
    try:
        return array[key]
    except IndexError:
        return None


@given(data=st.data())
@few
def test_reading_is_numpys(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    key = data.draw(keys(shape))
    tensor = counted(*shape)
    wanted = read(tensor.asnumpy(), key)
    for how in ("tensor", "list"):
        mine = in_the_words_of(key, how)
        if wanted is None:
            with pytest.raises(IndexError):
                tensor[mine]
            continue
        found = tensor[mine]
        assert found.shape == wanted.shape
        np.testing.assert_array_equal(found.asnumpy(), wanted)


@given(data=st.data())
@few
def test_gradients_of_reading_add_up_at_the_positions(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    key = data.draw(keys(shape))
    tensor = counted(*shape)
    wanted = read(tensor.asnumpy(), key)
    if wanted is None:
        return
    mine = in_the_words_of(key, "tensor")
    weight = np.random.default_rng(0).standard_normal(wanted.shape).astype(np.float32)
    expected = np.zeros(shape, np.float32)
    np.add.at(expected, key, weight)
    value, found = cw.value_and_grad(lambda x: (x[mine] * cw.Tensor(weight)).sum())(tensor)
    np.testing.assert_allclose(found.asnumpy(), expected, atol=1e-5)
    np.testing.assert_allclose(float(value), (wanted * weight).sum(), rtol=1e-4, atol=1e-4)


@given(data=st.data())
@fewer
def test_static_graphs_read_alike(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    key = data.draw(keys(shape))
    tensor = counted(*shape)
    wanted = read(tensor.asnumpy(), key)
    if wanted is None or wanted.size == 0:
        return
    mine = in_the_words_of(key, "list")

    def total(x: cw.Tensor) -> cw.Tensor:
        return (x[mine] * x[mine]).sum()

    eager = cw.value_and_grad(total)(tensor)
    compiled = cw.jit(cw.value_and_grad(total), fullgraph=True)(tensor)
    for ours, other in zip(compiled, eager, strict=True):
        np.testing.assert_allclose(ours.asnumpy(), other.asnumpy(), rtol=1e-5)


@given(data=st.data())
@few
def test_writing_is_numpys(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    key = data.draw(keys(shape))
    tensor = counted(*shape)
    array = tensor.asnumpy().copy()
    part = read(array, key)
    mine = in_the_words_of(key, data.draw(st.sampled_from(["tensor", "list"])))
    if part is None:
        with pytest.raises(IndexError):
            tensor[mine] = 1
        return
    size = data.draw(st.integers(0, part.ndim))
    value = -np.arange(1, math.prod(part.shape[size:]) + 1, dtype=np.float32)
    value = value.reshape(part.shape[size:])
    array[key] = value
    tensor[mine] = cw.Tensor(value)
    np.testing.assert_array_equal(tensor.asnumpy(), array)


@given(data=st.data())
@few
def test_gradients_of_writing_reach_the_value_that_stays(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    key = data.draw(keys(shape))
    tensor = counted(*shape)
    part = read(tensor.asnumpy(), key)
    if part is None:
        return
    mine = in_the_words_of(key, "tensor")
    weight = np.random.default_rng(1).standard_normal(shape).astype(np.float32)

    def written(x: cw.Tensor, value: cw.Tensor) -> cw.Tensor:
        y = x * 2
        y[mine] = value
        return (y * cw.Tensor(weight)).sum()

    value = cw.Tensor(np.full(part.shape, 3, np.float32))
    places = np.full(shape, -1)
    places[key] = np.arange(part.size).reshape(part.shape)
    of_x, of_value = cw.grad(written, (0, 1))(tensor, value)
    np.testing.assert_array_equal(of_x.asnumpy(), np.where(places < 0, 2 * weight, 0))
    expected = np.zeros(part.size, np.float32)
    expected[places[places >= 0]] = weight[places >= 0]
    np.testing.assert_array_equal(of_value.asnumpy().reshape(-1), expected)


def test_gradients_tell_every_state_of_a_tensor_apart() -> None:
    def written(x: cw.Tensor, value: cw.Tensor) -> cw.Tensor:
        y = x * 2
        before = (y * y).sum()
        y[0] = value
        between = (y * y).sum()
        y[1] = y[0] * x[1]
        y[:2] *= 3
        y[2:] += y[1:2]
        return before + 10 * between + 100 * (y * y).sum()

    x, value = cw.Tensor([1.0, 2.0, 3.0]), cw.Tensor(5.0)
    last = 2 * (6 + 3 * 5 * 2)  # of the square of y[2] = 2 x[2] + 3 v x[1]
    expected = [8, 16 + 160 + 100 * (9 * 2 * 25 * 2 + 15 * last), 24 + 240 + 200 * last]
    grad = cw.grad(written, (0, 1))
    for run in (grad, cw.jit(grad, fullgraph=True)):
        of_x, of_value = run(x, value)
        assert of_x.tolist() == expected
        assert float(of_value) == 10 * 10 + 100 * (9 * (2 * 5 + 2 * 5 * 4) + 6 * last)


# ---- the rules, one by one -------------------------------------------------------------------


def test_axes_of_separated_index_tensors_come_first() -> None:
    x = counted(2, 3, 4, 5)
    assert x[:, [0, 1], :, [2, 3]].shape == (2, 2, 4)
    assert x[0, :, [1, 1, 1]].shape == (3, 3, 5)
    assert x[:, [0, 1], [2, 3]].shape == (2, 2, 5)
    assert x[:, 0, None, [1, 2]].shape == (2, 2, 1, 5)


def test_truth_values_without_axes_add_one() -> None:
    x = counted(2, 3)
    assert x[True].shape == (1, 2, 3)
    assert x[False].shape == (0, 2, 3)
    assert x[cw.Tensor(True)].shape == (1, 2, 3)
    assert x[:, True].shape == (2, 1, 3)


def test_views_share_memory_and_picks_do_not() -> None:
    x = counted(3, 2)
    x[1][0] = 9
    x[0:1, 1] = 8
    row = x[[1]]
    row[0] = 0
    assert x.tolist() == [[0, 8], [9, 3], [4, 5]]
    element = x[0][1]
    element[...] = 7
    assert x[0, 1] == 7


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (3, "index 3 is out of range for axis 0 of size 3"),
        (-4, "index -4 is out of range for axis 0"),
        ((0, 5), "index 5 is out of range for axis 1 of size 4"),
        ((0, 0, 0), "too many indices: 3 for a tensor of 2 axes"),
        ([0, 4], "index 4 is out of range for axis 0"),
        ((slice(None), [0, -5]), "index -5 is out of range for axis 1"),
        ("a", "not str"), (1.5, "not float"), ([1.5], "integers and truth values, not float32"),
        (cw.Tensor([1.0]), "cast it to int64"), ((..., ...), "one '...' only"),
        (np.array([True, False]), r"a mask of shape \[2\] stands at axis 0"),
        (([0, 1], [0, 1, 2]), "do not broadcast"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_explained(key: Any, words: str) -> None:
    x = counted(3, 4)
    with pytest.raises(IndexError, match=words):
        x[key]
    with pytest.raises(IndexError, match=words):
        x[key] = 0
    static = key if isinstance(key, tuple) else (key,)
    if not any(isinstance(item, list) and max(map(abs, item)) > 3 for item in static):
        with pytest.raises((IndexError, ShapeError), match=words):
            cw.grad(lambda y: y[key].sum())(x)


def test_a_step_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match=r"step (must not|cannot) be zero"):
        counted(3)[::0]


def test_values_that_do_not_fit_the_part_are_explained() -> None:
    x = counted(3, 4)
    with pytest.raises(ValueError, match=r"shape \[3\] does not broadcast to the part of shape"):
        x[0] = [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match=r"shape \[3\] does not broadcast to the part of shape"):
        cw.grad(_sets_three)(x)


def _sets_three(x: cw.Tensor) -> cw.Tensor:
    y = x * 1
    y[0] = cw.Tensor([1.0, 2.0, 3.0])
    return y.sum()


def test_numbers_and_sizes_of_other_libraries_are_positions() -> None:
    x = counted(3, 4)
    assert x[np.int64(1), np.int32(2)] == 6
    assert x[cw.Tensor(1)].tolist() == x[np.array(1)].tolist() == [4, 5, 6, 7]
    assert x[: cw.Tensor(1)].shape == (1, 4)
    assert x[range(2)].shape == (2, 4)
    assert x[[]].shape == (0, 4)


# ---- second derivatives, static graphs -------------------------------------------------------


@pytest.mark.parametrize("key", [1, (slice(None), -1), [0, 0, 2], (0, [1, 1])], ids=str)
def test_second_derivatives_go_through_brackets(key: Any) -> None:
    x = counted(3, 2)

    def inner(x: cw.Tensor) -> cw.Tensor:
        return (x[key] ** 3).sum()

    def outer(x: cw.Tensor) -> cw.Tensor:
        return (cw.grad(inner)(x)[key] * 2).sum()

    counts = np.zeros((3, 2), np.float32)
    np.add.at(counts, key if isinstance(key, tuple) else (key,), 1)
    expected = 12 * x.asnumpy() * counts * counts
    np.testing.assert_allclose(cw.grad(outer)(x).asnumpy(), expected)
    np.testing.assert_allclose(cw.jit(cw.grad(outer), fullgraph=True)(x).asnumpy(), expected)


def test_static_graphs_write_parts_of_their_own_tensors() -> None:
    @cw.jit(fullgraph=True)
    def filled(x: cw.Tensor) -> cw.Tensor:
        out = ops.zeros((3, 2))
        for row in range(3):
            out[row] = x[row] * row
        out[:, 1] = out[:, 1] + 1 if out.shape[1] > 5 else 7.0
        return out

    assert filled(counted(3, 2)).tolist() == [[0, 7], [2, 7], [8, 7]]


def test_gradients_go_through_writes_in_static_graphs() -> None:
    def written(x: cw.Tensor) -> cw.Tensor:
        y = x * x
        y[1] = y[0] * 5 if False else x[0] * 3
        return (y * y).sum()

    eager = cw.grad(written)(counted(3))
    compiled = cw.jit(cw.grad(written), fullgraph=True)(counted(3) + 1)
    assert eager.tolist() == [0, 0, 32]
    assert compiled.tolist() == [2 * 1 * 2 + 2 * 3 * 3, 0, 4 * 27]


@pytest.mark.parametrize(
    ("shared", "words"),
    [
        ("argument", "shares memory with one from outside"),
        ("view", "a view is used after"), ("reshaped", "a view is used after"),
        ("view of a view", "a view is used after"), ("written view", "shares memory"),
    ],
)  # fmt: skip
def test_static_graphs_refuse_writes_that_others_would_see(shared: str, words: str) -> None:
    def written(x: cw.Tensor) -> cw.Tensor:
        y = x if shared == "argument" else x * 2
        z = y
        if "view" in shared:
            z = y[0]
        if shared == "view of a view":
            z = z[1:].reshape(-1)
        if shared == "reshaped":
            z = y.reshape(-1)
        if shared == "written view":
            z[1] = 3.0
        y[0] = 5.0
        return z.sum()

    with pytest.raises(JitError, match=words):
        cw.jit(written, fullgraph=True)(counted(2, 2))
    with pytest.warns(JitWarning, match="runs eagerly"):
        found = cw.jit(written)(counted(2, 2))
    assert found == written(counted(2, 2))


def test_static_graphs_fill_a_tensor_from_what_stands_in_it() -> None:
    def powers(x: cw.Tensor) -> cw.Tensor:
        y = ops.ones((5,)) * 1
        for number in range(1, 5):
            y[number] = y[number - 1] * x
            y[number] += 1
        return y.sum()

    x = cw.Tensor(2.0)
    for run in (cw.value_and_grad(powers), cw.jit(cw.value_and_grad(powers), fullgraph=True)):
        value, slope = run(x)
        assert float(value) == 1 + 3 + 7 + 15 + 31  # Horner: y = y * x + 1
        assert float(slope) == 1 + (3 + 2) + (7 + 2 * 5) + (15 + 2 * 17)


def test_masks_in_static_graphs_run_eagerly_with_a_reason() -> None:
    def chosen(x: cw.Tensor) -> cw.Tensor:
        return x[x > 1].sum()

    with pytest.raises(JitError, match=r"depends on values.*ops\.where"):
        cw.jit(chosen, fullgraph=True)(counted(4))
    with pytest.warns(JitWarning, match="runs eagerly"):
        assert cw.jit(chosen)(counted(4)) == 5


def test_tensors_as_positions_stay_tensors_in_static_graphs() -> None:
    looked = cw.jit(lambda table, at: table[at, 0] + table[0, at[0]], fullgraph=True)
    table = counted(3, 3)
    for positions in ([0, 2], [1, 1]):
        assert looked(table, cw.Tensor(positions)).tolist() == [
            float(table[at, 0]) + float(table[0, positions[0]]) for at in positions
        ]
    with pytest.raises(IndexError):
        looked(table, cw.Tensor([0, 3]))


def test_in_place_operators_on_parts_write_them() -> None:
    x = counted(2, 2)
    x[0] += 1
    x[:, 1] *= 10
    assert x.tolist() == [[1, 20], [2, 30]]
