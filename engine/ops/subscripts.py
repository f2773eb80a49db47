"""What stands in square brackets: understood once, checked, and written down for graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtype import bool_, int64
from ..shape import Dim, Shape, ShapeError, SymDim, broadcast_shapes, shape_text
from ..tensor import Tensor, to_array, wrap
from .cast import cast_to
from .registry import traces
from .slicing import cut_size

Key = tuple[Any, ...]
"""A key as a graph keeps it, hashable: an int, None and ``...`` as they are, a range as
``(start, stop, step)``, the n-th index tensor as ``("tensor", n)``, a truth value as
``("flag", value)``."""


class Flag(NamedTuple):
    """A truth value without axes: it adds an axis of size 1 or 0."""

    value: bool

    def positions(self) -> np.ndarray:
        """Return what picks from an axis of size 1: its element, or none."""
        return np.zeros(int(self.value), np.int64)


def is_pick(item: Any) -> bool:
    """Return whether an item picks copies: an index tensor or a truth value."""
    return isinstance(item, Tensor | Flag)


def items_of(key: Any, shape: Shape) -> list[Any]:
    """Return the key's items, ``...`` written out: int, slice, None, integer Tensor or Flag.

    Masks become the positions of their true elements, one tensor for each of their axes.

    Raises
    ------
    IndexError
        If there are more items than axes, or an item is of a wrong type or shape.
    """
    items: list[Any] = []
    axis = 0
    given = list(key) if isinstance(key, tuple) else [key]
    dots = [number for number, item in enumerate(given) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index may hold one '...' only.")
    found = [_understood(item) for item in given]
    used = sum(_axes_of(item) for item in found)
    if used > len(shape):
        raise IndexError(f"too many indices: {used} for a tensor of {len(shape)} axes.")
    if not dots:
        found.append(Ellipsis)
    for item in found:
        if item is Ellipsis:
            items += [slice(None)] * (len(shape) - used)
            axis += len(shape) - used
        elif isinstance(item, Tensor) and item.dtype is bool_:
            items += _positions(item, shape, axis)
            axis += len(item.shape)
        else:
            items.append(_in_range(item, shape, axis))
            axis += _axes_of(item)
    return items


def _axes_of(item: Any) -> int:
    if item is None or item is Ellipsis or isinstance(item, Flag):
        return 0
    return len(item.shape) if isinstance(item, Tensor) and item.dtype is bool_ else 1


def _understood(item: Any) -> Any:
    """Return one item as an int, slice, None, Ellipsis, Tensor of integers or truth, or Flag."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, bool | np.bool_):
        return Flag(bool(item))
    if isinstance(item, list | tuple | range):
        item = _constant(_array_of(item))
    elif isinstance(item, np.ndarray):
        item = _constant(item)
    if not isinstance(item, Tensor):
        return as_position(item)
    if item.dtype is bool_:
        return item if item.shape else Flag(bool(_values(item)))
    if not item.dtype.is_int:
        raise IndexError(
            f"a tensor is indexed by integer and Bool tensors, not by one of {item.dtype};"
            " cast it to int64."
        )
    return item


def _constant(array: np.ndarray) -> Tensor:
    if array.dtype.kind not in "iub":
        raise IndexError(f"a tensor is indexed by integers and truth values, not {array.dtype}.")
    return traces[-1].literal(array) if traces else wrap(array)


def _values(mask: Tensor) -> np.ndarray:
    """Return a mask's values, which a trace must not read."""
    if traces:
        from ..compiler.traced import TraceBreak, Traced

        if isinstance(mask, Traced):
            known = mask.tracer.constants.get(mask.ssa)
            if known is None:
                raise TraceBreak(
                    "a Bool tensor as an index gives a shape that depends on values",
                    "keep the shape with ops.where(mask, x, 0), or multiply by the mask",
                )
            return known
        from ..compiler.trace import Trace

        trace = traces[-1]
        if isinstance(trace, Trace) and id(mask) not in trace.made:
            # Its values may be others at the next call, and the picked positions with them.
            raise TraceBreak(
                "a Bool tensor from outside the function, as an index, gives a shape that depends"
                " on values",
                "keep the shape with ops.where(mask, x, 0), or multiply by the mask",
            )
    return mask.data


def _positions(mask: Tensor, shape: Shape, axis: int) -> list[Tensor]:
    sizes = shape[axis : axis + len(mask.shape)]
    if tuple(mask.shape) != tuple(sizes):
        raise IndexError(
            f"a mask of shape {shape_text(mask.shape)} stands at axis {axis}, where the tensor has"
            f" {shape_text(sizes)}; they must be equal."
        )
    return [_constant(found.astype(np.int64)) for found in np.nonzero(_values(mask))]


def _in_range(item: Any, shape: Shape, axis: int) -> Any:
    if item.__class__ is not int:
        return item
    size = shape[axis]
    if isinstance(size, int) and not -size <= item < size:
        raise IndexError(f"index {item} is out of range for axis {axis} of size {size}.")
    return item


def as_position(item: Any) -> int:
    """Return a position as a Python int."""
    try:
        return int(item.__index__())
    except (AttributeError, TypeError) as error:
        raise IndexError(
            "a tensor is indexed by ints, slices, None, ... and integer or Bool tensors, not"
            f" {type(item).__name__}."
        ) from error


def range_of(item: slice) -> tuple[Any, Any, int]:
    """Return a slice's start, stop and step as plain numbers, sizes not known yet, or None."""

    def plain(value: Any) -> Any:
        return value if value is None or isinstance(value, SymDim) else as_position(value)

    step = 1 if item.step is None else as_position(item.step)
    if step == 0:
        raise ValueError("slice step must not be zero.")
    return plain(item.start), plain(item.stop), step


def encode(items: Sequence[Any]) -> tuple[Key, tuple[Tensor, ...]]:
    """Return the items as a Key, and their index tensors as Int64."""
    key: list[Any] = []
    tensors: list[Tensor] = []
    for item in items:
        if isinstance(item, slice):
            key.append(range_of(item))
        elif isinstance(item, Flag):
            key.append(("flag", item.value))
        elif isinstance(item, Tensor):
            key.append(("tensor", len(tensors)))
            tensors.append(cast_to(item, int64))
        else:
            key.append(item)
    return tuple(key), tuple(tensors)


def decode(key: Key, tensors: Sequence[Any] = ()) -> tuple[Any, ...]:
    """Return what NumPy takes for a Key and its index arrays."""
    return tuple([_decoded(item, tensors) for item in key])


def _decoded(item: Any, tensors: Sequence[Any]) -> Any:
    if item.__class__ is not tuple:
        return item
    if len(item) == 3:
        return slice(*item)
    return tensors[item[1]] if item[0] == "tensor" else item[1]


def numpy_key(key: Any) -> Any:
    """Return a key with arrays in the place of tensors and sequences."""
    if isinstance(key, tuple):
        return tuple([_plain(item) for item in key])
    return _plain(key)


def _plain(item: Any) -> Any:
    if isinstance(item, Tensor):
        return item.data
    return _array_of(item) if isinstance(item, list | tuple | range) else item


def _array_of(item: Sequence[Any]) -> np.ndarray:
    try:
        return to_array(list(item)) if len(item) else np.zeros(0, np.int64)
    except TypeError as error:
        raise IndexError("a list as an index holds integers or truth values only.") from error


def part_shape(shape: Shape, key: Key, tensors: Sequence[Shape]) -> Shape:
    """Return the shape of the part that a Key names, by NumPy's rules.

    The axes of several index tensors stand together where the first of them stood, or in front
    where ranges or new axes stand between them.

    Raises
    ------
    ShapeError
        If the index tensors' shapes do not broadcast.
    """
    picks = any(item.__class__ is tuple and len(item) == 2 for item in key)
    kept: list[Dim] = []
    picked: list[Shape] = []
    places: list[int] = []
    before, axis = 0, 0
    for place, item in enumerate(key):
        if item is None:
            kept.append(1)
            continue
        if item.__class__ is tuple and len(item) == 3:
            kept.append(cut_size(shape[axis], *item))
        else:
            before = before if places else len(kept)
            places.append(place)
            picked.append(_picked_shape(item, tensors))
        axis += item.__class__ is not tuple or item[0] != "flag"
    if not picks:
        return tuple(kept)
    together = places[-1] - places[0] == len(places) - 1
    at = before if together else 0
    return (*kept[:at], *broadcast_picks(picked), *kept[at:])


def _picked_shape(item: Any, tensors: Sequence[Shape]) -> Shape:
    if item.__class__ is not tuple:
        return ()
    return tensors[item[1]] if item[0] == "tensor" else (int(item[1]),)


def broadcast_picks(shapes: Sequence[Shape]) -> Shape:
    """Return the shape in which index tensors meet."""
    try:
        return broadcast_shapes(*shapes)
    except ShapeError as error:
        texts = " and ".join(shape_text(shape) for shape in shapes)
        raise ShapeError(f"index tensors of shapes {texts} do not broadcast.") from error


def explain(key: Any, shape: tuple[int, ...]) -> None:
    """Raise IndexError in terms of the tensor, if the key does not fit the shape."""
    items = items_of(key, shape)
    axis = 0
    for item in items:
        if isinstance(item, Tensor):
            size = shape[axis]
            wrong = item.data[(item.data < -size) | (item.data >= size)]
            if wrong.size:
                raise IndexError(
                    f"index {wrong.flat[0]} is out of range for axis {axis} of size {size}."
                )
        axis += not (item is None or isinstance(item, Flag))
    shapes = [item.shape for item in items if isinstance(item, Tensor)]
    try:
        broadcast_picks(shapes)
    except ShapeError as error:
        raise IndexError(str(error)) from error
