"""Primitive classes: ``ops.Softmax(axis=-1)(x)``, one for each row of the op table."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..tensor import Tensor
from . import array_primitives
from .registry import OPS, Op

_ALIASES = {
    "keep_dims": "keepdims",
    "perm": "axes",
    "epsilon": "eps",
    "paddings": "padding",
    "interpolation_mode": "mode",
    "shift": "shifts",
}
"""MindSpore's names of attributes in primitives, where they differ from the functions'."""

_OTHER_NAMES = {
    "RealDiv": "div", "Maximum": "maximum", "Cast": "cast", "Argmax": "argmax", "ReLU": "relu",
    "BatchMatMul": "bmm", "ZerosLike": "zeros_like", "OnesLike": "ones_like", "GeLU": "gelu",
    "Inv": "reciprocal",
    "Embedding": "gather", "Select": "select", "Concat": "concat", "Stack": "stack",
    "Round": "round", "ExpandDims": "expand_dims", "BroadcastTo": "broadcast_to",
    "Pad": "pad", "ResizeBilinear": "resize_bilinear",
    "ResizeNearestNeighborV2": "resize_nearest_neighbor", "GridSampler2D": "grid_sample",
    "GridSampler3D": "grid_sample", "GatherElements": "gather_elements", "Reverse": "flip",
    "IndexSelect": "index_select",
}  # fmt: skip


_FIRST: dict[str, str] = dict.fromkeys(
    ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceAll", "ReduceAny"),
    "keepdims",
)
"""What MindSpore's constructors begin with, where functions begin with another attribute."""


class Primitive:
    """An op with its attributes set; calling it runs the op on tensors.

    Parameters
    ----------
    *args, **attrs
        The op's attributes, in the order of its function; the reductions begin with ``keep_dims``.

    Raises
    ------
    TypeError
        If the op has no such attribute.
    """

    op: Op

    def __init__(self, *args: Any, **attrs: Any) -> None:
        first = _FIRST.get(type(self).__name__)
        order = sorted(self.op.attrs, key=lambda name: name != first)
        names = [name for name in order if name not in attrs]
        if len(args) > len(names):
            raise TypeError(
                f"{type(self).__name__} takes {len(self.op.attrs)} attributes"
                f" ({', '.join(self.op.attrs)}), {len(args) + len(attrs)} were given."
            )
        given = dict(zip(names, args, strict=False))
        own = self.op.attrs
        given.update(
            {name if name in own else _ALIASES.get(name, name): v for name, v in attrs.items()}
        )
        for name in given:
            if name not in self.op.attrs:
                raise TypeError(
                    f"{type(self).__name__} has no attribute {name!r}; it has"
                    f" {', '.join(self.op.attrs) or 'none'}."
                )
        self.attrs = given

    def __call__(self, *inputs: Any, **attrs: Any) -> Any:
        """Run the op; attributes left open by the constructor may follow the tensors, by name."""
        return self.op.function(*inputs, **{**self.attrs, **attrs})

    def __repr__(self) -> str:
        attrs = ", ".join(f"{name}={value!r}" for name, value in self.attrs.items())
        return f"{type(self).__name__}({attrs})"


class Shown(NamedTuple):
    """A tensor that is printed with its shape and element type."""

    value: Tensor

    def __str__(self) -> str:
        return repr(self.value)


class Print:
    """Prints tensors and other values when it is called."""

    def __call__(self, *values: Any) -> None:
        """Print the values on one line each, tensors with shape and dtype."""
        for value in values:
            print(Shown(value) if isinstance(value, Tensor) else value)


def _class_of(name: str, entry: Op) -> type[Primitive]:
    return type(name, (Primitive,), {"op": entry, "__doc__": entry.doc, "__module__": __name__})


def make_primitives() -> dict[str, type]:
    """Return the primitive classes of the whole table, by name."""
    classes: dict[str, type] = {"Print": Print}
    for entry in OPS.values():
        if entry.category != "gradient":
            classes[entry.primitive] = _class_of(entry.primitive, entry)
    classes.update(array_primitives.CLASSES)
    for name, op_name in _OTHER_NAMES.items():
        classes.setdefault(name, _class_of(name, OPS[op_name]))
    return classes


class OwnCall(Primitive):
    """A primitive that says itself which tensors it takes."""

    __call__: Any  # pyright: ignore[reportIncompatibleMethodOverride]
