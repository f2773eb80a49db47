"""Windows of pooling: their sizes, shape rule, and inputs without a batch axis."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..shape import Aval, Dim, ShapeError
from . import array
from .cast import as_tensor
from .registry import Call, Op, apply
from .rules import require_ndim
from .sliding import Sizes, as_sizes, hashable, out_sizes, padding_of, reach

REASON = "runs in NumPy"
Window = dict[str, Any]
"""Kernel, stride, padding and dilation, as pooling ops have them among their attributes."""


def window_of(
    op_name: str,
    sizes: tuple[Dim, ...],
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any = 1,
    pad_mode: str = "pad",
    ceil_mode: bool = False,
) -> tuple[Window, Sizes]:
    """Return the windows over axes of these sizes, and the padding that only ``ceil_mode`` adds.

    Raises
    ------
    ValueError
        If numbers do not fit, or a window would see nothing but padding.
    """
    given = map(hashable, (kernel_size, stride, padding, dilation))
    found, spill = _window(op_name, sizes, *given, pad_mode, bool(ceil_mode))
    return dict(found), spill


@lru_cache(512, typed=True)
def _window(
    op_name: str,
    sizes: tuple[Dim, ...],
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    pad_mode: str,
    ceil_mode: bool,
) -> tuple[tuple[tuple[str, Sizes], ...], Sizes]:
    axes = len(sizes)
    kernel = as_sizes(f"{op_name}: kernel_size", kernel_size, axes)
    steps = kernel if stride is None else as_sizes(f"{op_name}: stride", stride, axes)
    spread = as_sizes(f"{op_name}: dilation", dilation, axes)
    sides = padding_of(op_name, sizes, kernel, steps, spread, pad_mode, padding)
    for axis in range(axes):
        if max(sides[2 * axis : 2 * axis + 2]) >= reach(kernel[axis], spread[axis]):
            raise ValueError(
                f"{op_name}: padding {sides} is as large as the window {kernel} (dilation"
                f" {spread}), so that some windows would see nothing else; pad less."
            )
    spill = (0,) * axes
    if ceil_mode:
        spill = _spill(op_name, sizes, kernel, steps, sides, spread)
    more = tuple(side + (spill[i // 2] if i % 2 else 0) for i, side in enumerate(sides))
    window = {"kernel": kernel, "stride": steps, "padding": more, "dilation": spread}
    out_sizes(op_name, sizes, kernel, steps, more, spread)  # raises where no window fits
    return tuple(window.items()), spill


def _spill(
    op_name: str,
    sizes: tuple[Dim, ...],
    kernel: Sizes,
    stride: Sizes,
    sides: Sizes,
    dilation: Sizes,
) -> Sizes:
    """Return what each axis lacks at its end for a last window that begins inside it."""
    lacking: list[int] = []
    for axis, size in enumerate(sizes):
        if not isinstance(size, int):
            raise ShapeError(f"{op_name}: ceil_mode needs known sizes, axis {axis + 2} is {size}.")
        span = size + sides[2 * axis] + sides[2 * axis + 1] - reach(kernel[axis], dilation[axis])
        last = -(-max(span, 0) // stride[axis]) * stride[axis]
        if last >= size + sides[2 * axis]:
            last -= stride[axis]
        lacking.append(max(last - span, 0) if span >= 0 else 0)
    return tuple(lacking)


def flat_window(window: Window) -> Window:
    """Return a window over one axis as one over rows of height 1."""
    before, after = window["padding"]
    return {
        "kernel": (1, *window["kernel"]), "stride": (1, *window["stride"]),
        "padding": (0, 0, before, after), "dilation": (1, *window["dilation"]),
    }  # fmt: skip


def split_window(window: Window) -> tuple[Window, Window]:
    """Return a window over depth, rows and columns as one over images and one over depth."""
    inner = {
        name: window[name][1:] if name != "padding" else window[name][2:]
        for name in ("kernel", "stride", "dilation", "padding")
    }
    outer = {name: (window[name][0], 1) for name in ("kernel", "stride", "dilation")}
    return inner, {**outer, "padding": (*window["padding"][:2], 0, 0)}


def pool_rule(op_name: str, axes: int) -> Callable[..., Aval]:
    """Return the rule of a pooling op: one element a window."""

    def infer(
        input: Aval, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, **_: Any
    ) -> Aval:
        require_ndim(op_name, "input", input, axes + 2)
        size = out_sizes(op_name, input.shape[2:], kernel, stride, padding, dilation)
        return Aval((*input.shape[:2], *size), input.dtype)

    return infer


def unbatched(axes: int) -> Callable[[Op, Callable[..., Call]], Callable[..., Any]]:
    """Return the maker of a function that takes planes of one example too, without a batch axis."""

    def make(entry: Op, prepare: Callable[..., Call]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            inputs, attrs = prepare(*args, **kwargs)
            return apply(entry, inputs, attrs)

        return with_batch(run, entry.inputs, axes)

    return make


def with_batch(run: Callable[..., Any], names: tuple[str, ...], axes: int) -> Callable[..., Any]:
    """Give tensors without a batch axis one, and take it off the results."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = [*args[: len(names)], *(kwargs[name] for name in names if name in kwargs)]
        tensors = [as_tensor(item) for item in given]
        if not tensors or any(len(tensor.shape) != axes + 1 for tensor in tensors):
            return run(*args, **kwargs)
        count = min(len(args), len(names))
        batches = [array.expand_dims(tensor, 0) for tensor in tensors]
        named = dict(zip((n for n in names if n in kwargs), batches[count:], strict=True))
        out = run(*batches[:count], *args[count:], **{**kwargs, **named})
        if isinstance(out, tuple):
            return tuple(array.squeeze(part, 0) for part in out)
        return array.squeeze(out, 0)

    return call
