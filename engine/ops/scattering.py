"""Writing slices at coordinates, rows and segments: MindSpore's families of scatter ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..shape import Dim, ShapeError, shape_text
from ..tensor import Tensor
from . import array, axes, creation, logic
from .cast import TensorLike, as_tensor, cast_to
from .declarations import composite
from .gathering import as_positions
from .indexed_put import nd_layout, put, started
from .registry import Call, Op, apply

WORDS = {
    "update": "Put values in the place of", "add": "Add values to", "sub": "Subtract values from",
    "mul": "Multiply", "div": "Divide", "max": "Take the larger of values and",
    "min": "Take the smaller of values and",
}  # fmt: skip
_AT_COORDINATES = """{words} the slices at coordinates{by}.

Parameters
----------
input_x : Tensor
    {input}
indices : Tensor
    Integers ``[..., k]``: each row names one slice by its positions in the first k axes; a
    slice named twice meets both values.
updates : Tensor
    ``indices.shape[:-1]`` followed by the axes of ``input_x`` from k on.{locking}

Returns
-------
Tensor
    The changed copy.

Raises
------
IndexError
    If a position does not exist.
ValueError
    If the shapes do not fit.
"""
_AT_ROWS = """{words} the rows at positions{by}, in a Parameter or a copy of a tensor.

Parameters
----------
input_x : Parameter or Tensor
    At least one axis; a Parameter takes the result.
indices : Tensor
    Integers of any shape, positions along the first axis; a row named twice meets both values.
updates : Tensor
    ``indices.shape`` followed by the axes of ``input_x`` after the first.

Returns
-------
Tensor
    The result.

Raises
------
IndexError
    If a position does not exist.
ValueError
    If the shapes do not fit.
"""
_LOCKING = """
use_locking : bool
    Has no effect: one thread writes."""
_IN_SEGMENTS = """{words} of the rows in each segment, which ids name in any order.

Parameters
----------
x : Tensor
    At least one axis.
segment_ids : Tensor
    Integers of a shape with which that of ``x`` begins: the segment of each row; rows with a
    negative one are left out.
num_segments : int
    Number of segments.

Returns
-------
Tensor
    ``num_segments`` followed by the axes of ``x`` that ``segment_ids`` does not have; {empty} in
    a segment without rows.

Raises
------
IndexError
    If a segment does not exist.
ValueError
    If the shapes do not fit.
"""


def _at_coordinates(input_x: Tensor, indices: Tensor, updates: Tensor, reduction: str) -> Tensor:
    positions, layout = nd_layout("scatter", indices, len(input_x.shape))
    return put(input_x, updates, positions, layout, reduction)


def _at_rows(input_x: Tensor, indices: Tensor, updates: Tensor, reduction: str) -> Tensor:
    layout = (0,) + (-1,) * (len(input_x.shape) - 1)
    return put(input_x, updates, [indices], layout, reduction)


def _written(entry: Op, prepare: Any) -> Any:
    """Make a public function whose result a Parameter takes."""

    def call(input_x: Any, *args: Any, **kwargs: Any) -> Any:
        result = apply(entry, *prepare(input_x, *args, **kwargs))
        take = getattr(input_x, "set_data", None)
        if take is not None:
            take(result)
        return result

    return call


def _prepare(name: str, reduction: str, depth: bool) -> Callable[..., Call]:
    def prepare(input_x: TensorLike, indices: TensorLike, updates: TensorLike) -> Call:
        x, positions = as_tensor(input_x), as_positions(name, indices)
        values = cast_to(as_tensor(updates), x.dtype)
        if depth:
            nd_layout(name, positions, len(x.shape))
            wanted = (*positions.shape[:-1], *x.shape[positions.shape[-1] :])
        else:
            wanted = (*positions.shape, *x.shape[1:])
        if not x.shape or tuple(values.shape) != tuple(wanted):
            raise ShapeError(
                f"{name}: updates {shape_text(values.shape)} must be {shape_text(wanted)}: the"
                f" positions, then the rest of input_x {shape_text(x.shape)}."
            )
        return (x, positions, values), {"reduction": reduction}

    return prepare


def _locked(prepare: Callable[..., Call]) -> Callable[..., Call]:
    def locked(
        input_x: TensorLike, indices: TensorLike, updates: TensorLike, use_locking: bool = False
    ) -> Call:
        return prepare(input_x, indices, updates)

    return locked


def _declare(family: str, word: str) -> Callable[..., Tensor]:
    """Declare the op ``family_word`` and return its function."""
    name = f"{family}_{word}"
    reduction = "none" if word == "update" else word
    rows = family == "scatter"
    prepare = _prepare(name, reduction, not rows)
    doc = _AT_ROWS if rows else _AT_COORDINATES
    in_place = family == "scatter_nd"
    if in_place:
        prepare = _locked(prepare)
    by = " by values" if word in ("mul", "div") else ""
    prepare.__name__ = name
    prepare.__doc__ = doc.format(
        words=WORDS[word],
        by=by,
        locking=_LOCKING if in_place else "",
        input="A Parameter, which takes the result, or a tensor." if in_place else "Any shape.",
    )
    fast = _written if rows or in_place else None
    return composite(
        _at_rows if rows else _at_coordinates, category="array", method=family == "tensor_scatter",
        inputs=("input_x", "indices", "updates"), fast=fast,
    )(prepare)  # fmt: skip


tensor_scatter_update = _declare("tensor_scatter", "update")
tensor_scatter_add = _declare("tensor_scatter", "add")
tensor_scatter_sub = _declare("tensor_scatter", "sub")
tensor_scatter_mul = _declare("tensor_scatter", "mul")
tensor_scatter_div = _declare("tensor_scatter", "div")
tensor_scatter_max = _declare("tensor_scatter", "max")
tensor_scatter_min = _declare("tensor_scatter", "min")
scatter_nd_update = _declare("scatter_nd", "update")
scatter_nd_add = _declare("scatter_nd", "add")
scatter_nd_sub = _declare("scatter_nd", "sub")
scatter_nd_mul = _declare("scatter_nd", "mul")
scatter_nd_div = _declare("scatter_nd", "div")
scatter_nd_max = _declare("scatter_nd", "max")
scatter_nd_min = _declare("scatter_nd", "min")
scatter_update = _declare("scatter", "update")
scatter_add = _declare("scatter", "add")
scatter_sub = _declare("scatter", "sub")
scatter_mul = _declare("scatter", "mul")
scatter_div = _declare("scatter", "div")
scatter_max = _declare("scatter", "max")
scatter_min = _declare("scatter", "min")


def _scatter_nd(indices: Tensor, updates: Tensor, shape: tuple[Dim, ...]) -> Tensor:
    return _at_coordinates(creation.zeros(shape, updates.dtype), indices, updates, "add")


@composite(_scatter_nd, category="array", inputs=("indices", "updates"))
def scatter_nd(indices: TensorLike, updates: TensorLike, shape: Sequence[int]) -> Call:
    """Add slices up at their coordinates in zeros.

    Parameters
    ----------
    indices : Tensor
        Integers ``[..., k]``: each row names one slice by its positions in the first k axes.
    updates : Tensor
        ``indices.shape[:-1]`` followed by ``shape[k:]``.
    shape : tuple of int
        Shape of the result.

    Returns
    -------
    Tensor
        The sums, zero elsewhere.

    Raises
    ------
    IndexError
        If a position does not exist.
    """
    positions, values = as_positions("scatter_nd", indices), as_tensor(updates)
    sizes = tuple(shape)
    nd_layout("scatter_nd", positions, len(sizes))
    wanted = (*positions.shape[:-1], *sizes[positions.shape[-1] :])
    if tuple(values.shape) != wanted:
        raise ShapeError(
            f"scatter_nd: updates {shape_text(values.shape)} must be {shape_text(wanted)}."
        )
    return (positions, values), {"shape": sizes}


# ---- segments --------------------------------------------------------------------------------


def _segments(x: Tensor, segment_ids: Tensor, num_segments: int, reduction: str) -> Tensor:
    rest = tuple(x.shape[len(segment_ids.shape) :])
    # Rows that are left out meet in one segment more, which is cut off.
    last = creation.full((), num_segments, segment_ids.dtype)
    ids = logic.select(logic.less(segment_ids, 0), last, segment_ids)
    whole = started((num_segments + 1, *rest), x, reduction)
    found = put(whole, x, [ids], (0,) + (-1,) * len(rest), reduction)
    return axes.narrow(found, 0, 0, num_segments)


def _segment_mean(x: Tensor, segment_ids: Tensor, num_segments: int, reduction: str) -> Tensor:
    total = _segments(x, segment_ids, num_segments, "add")
    ones = creation.full(tuple(segment_ids.shape), 1, x.dtype)
    count = _segments(ones, segment_ids, num_segments, "add")
    counts = array.reshape(count, (num_segments, *(1,) * (len(total.shape) - 1)))
    return total / logic.select(logic.equal(counts, 0), creation.ones_like(counts), counts)


def _declare_segments(word: str, reduction: str, words: str, empty: str) -> Callable[..., Tensor]:
    name = f"unsorted_segment_{word}"

    def prepare(x: TensorLike, segment_ids: TensorLike, num_segments: int) -> Call:
        tensor, ids = as_tensor(x), as_positions(name, segment_ids)
        if not ids.shape or tuple(tensor.shape[: len(ids.shape)]) != tuple(ids.shape):
            raise ShapeError(
                f"{name}: x {shape_text(tensor.shape)} must begin with the sizes of segment_ids"
                f" {shape_text(ids.shape)}, which has at least one axis."
            )
        if isinstance(num_segments, int) and num_segments < 1:
            raise ValueError(f"{name}: num_segments must be positive, it is {num_segments}.")
        return (tensor, ids), {"num_segments": num_segments, "reduction": reduction}

    prepare.__name__ = name
    prepare.__doc__ = _IN_SEGMENTS.format(words=words, empty=empty)
    fn = _segment_mean if word == "mean" else _segments
    return composite(fn, category="array", inputs=("x", "segment_ids"))(prepare)


unsorted_segment_sum = _declare_segments("sum", "add", "Return the sum", "zero")
unsorted_segment_mean = _declare_segments("mean", "add", "Return the mean", "zero")
unsorted_segment_prod = _declare_segments("prod", "mul", "Return the product", "one")
unsorted_segment_max = _declare_segments(
    "max", "max", "Return the largest", "minus infinity, or the lowest integer,"
)
unsorted_segment_min = _declare_segments(
    "min", "min", "Return the smallest", "infinity, or the highest integer,"
)
