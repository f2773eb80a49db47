"""``vmap``: a function of one example becomes a function of a batch of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..compiler.trace import one_at_a_time
from ..nn.container import CellList
from ..ops import array
from ..ops.joining import stack
from ..parameter import Parameter
from ..tensor import Tensor
from .batched import Batched, BatchTrace

Axes = Any
"""An int or None, or nested tuples and lists of them."""


def vmap(fn: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0) -> Callable[..., Any]:
    """Return a function that maps ``fn`` over an axis of its arguments.

    ``fn`` runs once. Each of its ops runs for all examples together; an op that cannot runs
    example by example, which a ``VmapWarning`` tells once. Random ops draw other numbers for
    each example.

    Parameters
    ----------
    fn : callable or CellList
        A function or Cell of tensors, written for one example. Of a CellList each Cell gets one
        example; the Cells must be built alike.
    in_axes : int, None or tuple
        Which axis of each argument counts the examples; None is for arguments that all examples
        share. A tuple names one for each positional argument; for an argument that is a tuple
        itself, its entry may be one too. Keyword arguments are shared.
    out_axes : int, None or tuple
        Where that axis stands in each output; None is for outputs that are the same for all
        examples.

    Returns
    -------
    callable
        Takes and gives what ``fn`` does, with one more axis.

    Raises
    ------
    RuntimeError
        If axes are not int or None, all are None, they do not fit the arguments or outputs,
        their sizes differ, or an output that differs between examples is to have no axis.

    References
    ----------
    Frostig, Johnson, Leary: Compiling machine learning programs via high-level tracing, 2018.

    Examples
    --------
    >>> norms = cw.vmap(lambda row: ops.sqrt((row * row).sum()))
    >>> norms(cw.Tensor([[3.0, 4.0], [6.0, 8.0]])).asnumpy()
    array([ 5., 10.], dtype=float32)
    """
    _check_axes("in_axes", in_axes)
    _check_axes("out_axes", out_axes)
    if not callable(fn):
        raise RuntimeError(f"vmap: fn must be callable, it is {type(fn).__name__}.")
    told: set[str] = set()

    @functools.wraps(fn, updated=())
    def mapped(*args: Any, **kwargs: Any) -> Any:
        moved = [
            (leaf, axis)
            for arg, axes in zip(args, _per_argument(in_axes, args), strict=True)
            for leaf, axis in _leaves(arg, axes, "in_axes")
        ]
        size = _batch_size(moved)
        with one_at_a_time:
            trace = BatchTrace(size, told)
            wholes = iter([None if axis is None else _to_front(t, axis) for t, axis in moved])

            def enter(tensor: Tensor) -> Tensor:
                whole = next(wholes)
                return tensor if whole is None else Batched(trace, whole)

            given = tuple(_map_tensors(arg, enter) for arg in args)
            run = _ensemble(fn, trace) if isinstance(fn, CellList) else fn
            with trace.inside():
                result = run(*given, **kwargs)
            return _leave(trace, result, out_axes)

    return mapped


def _check_axes(name: str, axes: Axes) -> None:
    if isinstance(axes, tuple | list):
        for item in axes:
            _check_axes(name, item)
        if name == "in_axes" and axes and all(item is None for item in _flat(axes)):
            raise RuntimeError(
                "vmap: every entry of in_axes is None; there is nothing to map over."
            )
    elif axes is None:
        return
    elif not isinstance(axes, int) or isinstance(axes, bool):
        raise RuntimeError(f"vmap: {name} must hold ints and None, one is {axes!r}.")


def _flat(axes: Axes) -> list[Any]:
    if isinstance(axes, tuple | list):
        return [leaf for item in axes for leaf in _flat(item)]
    return [axes]


def _per_argument(in_axes: Axes, args: Sequence[Any]) -> Sequence[Axes]:
    if not isinstance(in_axes, tuple | list):
        return [in_axes] * len(args)
    if len(in_axes) != len(args):
        raise RuntimeError(
            f"vmap: in_axes names {len(in_axes)} arguments, the call has {len(args)}."
        )
    return in_axes


def _leaves(value: Any, axes: Axes, name: str) -> list[tuple[Tensor, int | None]]:
    """Return the tensors of an argument or output with the axis of each."""
    if isinstance(value, Tensor):
        if isinstance(axes, tuple | list):
            raise RuntimeError(f"vmap: {name} has a tuple, {list(axes)!r}, for a single tensor.")
        return [(value, axes)]
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, tuple | list):
        return []
    if not isinstance(axes, tuple | list):
        axes = [axes] * len(value)
    elif len(axes) != len(value):
        raise RuntimeError(f"vmap: {name} names {len(axes)} tensors, there are {len(value)}.")
    return [
        leaf for item, own in zip(value, axes, strict=True) for leaf in _leaves(item, own, name)
    ]


def _batch_size(leaves: Sequence[tuple[Tensor, int | None]]) -> int:
    sizes: dict[Any, Tensor] = {}
    for tensor, axis in leaves:
        if axis is None:
            continue
        ndim = len(tensor.shape)
        if not -ndim <= axis < ndim:
            raise RuntimeError(
                f"vmap: in_axes names axis {axis} of a tensor of shape {list(tensor.shape)}."
            )
        sizes.setdefault(tensor.shape[axis], tensor)
    if not sizes:
        raise RuntimeError("vmap: no argument is a tensor to map over; see in_axes.")
    if len(sizes) > 1:
        found = ", ".join(map(str, sizes))
        raise RuntimeError(
            f"vmap: the mapped axes have different sizes, {found}; they must be equal."
        )
    (size,) = sizes
    if not isinstance(size, int) or size == 0:
        raise RuntimeError(f"vmap: the mapped axis must have a known size above 0, it has {size}.")
    return size


def _to_front(tensor: Tensor, axis: int) -> Tensor:
    ndim = len(tensor.shape)
    axis %= ndim
    order = (axis, *(i for i in range(ndim) if i != axis))
    return array.transpose(tensor, order) if axis else tensor


def _map_tensors(value: Any, change: Callable[[Tensor], Any]) -> Any:
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: _map_tensors(item, change) for key, item in value.items()}
    if isinstance(value, tuple | list):
        items = [_map_tensors(item, change) for item in value]
        if isinstance(value, list):
            return items
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def _leave(trace: BatchTrace, result: Any, out_axes: Axes) -> Any:
    """Return the outputs with the examples' axis where ``out_axes`` wants it."""
    leaves = iter(_leaves(result, out_axes, "out_axes"))

    def leave(_: Tensor) -> Tensor:
        tensor, axis = next(leaves)
        if axis is None:
            if trace.is_batched(tensor):
                raise RuntimeError(
                    "vmap: out_axes is None for an output that differs between the examples."
                )
            return tensor
        whole = trace.whole(tensor)
        ndim = len(whole.shape)
        if not -ndim <= axis < ndim:
            raise RuntimeError(f"vmap: out_axes {axis} does not exist in {ndim} axes.")
        order = list(range(1, ndim))
        order.insert(axis % ndim, 0)
        return array.transpose(whole, tuple(order)) if axis % ndim else whole

    return _map_tensors(result, leave)


def _ensemble(cells: Any, trace: BatchTrace) -> Any:
    """Return the first of several Cells, its Parameters standing for those of all."""
    items = list(cells)
    if len(items) != trace.size:
        raise RuntimeError(
            f"vmap: the CellList has {len(items)} Cells, the mapped axis {trace.size}; each Cell"
            " takes one example."
        )
    columns: list[list[Parameter]] = [list(cell.get_parameters()) for cell in items]
    for other in columns:
        if [(p.shape, p.dtype) for p in other] != [(p.shape, p.dtype) for p in columns[0]]:
            raise RuntimeError("vmap: the Cells of the CellList have different parameters.")
    for same in zip(*columns, strict=True):
        trace.stands_for[id(same[0])] = Batched(trace, stack(list(same), 0))
    return items[0]


def for_each(fn: Callable[[Tensor], tuple[Tensor, ...]], units: Tensor) -> tuple[Tensor, ...]:
    """Return a function's results for each row of a tensor, joined along a first axis.

    Ops without a batching rule loop silently: this is how Jacobians are computed.
    """
    with one_at_a_time:
        trace = BatchTrace(int(units.shape[0]))
        with trace.inside():
            results = fn(Batched(trace, units))
        return tuple(trace.whole(result) for result in results)
