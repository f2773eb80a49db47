"""Initial values of parameters, drawn from the current random stream when they are first read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..dtype import dtype_of, float32
from ..tensor import LazyTensor, Tensor
from .initial_values import (
    Constant,
    Initializer,
    Normal,
    One,
    Shape,
    TruncatedNormal,
    Uniform,
    Zero,
)
from .initial_weights import (
    Bilinear,
    Dirac,
    HeNormal,
    HeUniform,
    Identity,
    Orthogonal,
    Sparse,
    VarianceScaling,
    XavierNormal,
    XavierUniform,
    fans,
)

__all__ = [
    "Bilinear",
    "Constant",
    "Dirac",
    "HeNormal",
    "HeUniform",
    "Identity",
    "Initializer",
    "Normal",
    "One",
    "Orthogonal",
    "Sparse",
    "TruncatedNormal",
    "Uniform",
    "VarianceScaling",
    "XavierNormal",
    "XavierUniform",
    "Zero",
    "fans",
    "initializer",
]

_KINDS: dict[str, Callable[[], Initializer]] = {
    "zeros": Zero,
    "zero": Zero,
    "ones": One,
    "one": One,
    "normal": Normal,
    "uniform": Uniform,
    "truncatednormal": TruncatedNormal,
    "xavieruniform": XavierUniform,
    "xaviernormal": XavierNormal,
    "heuniform": HeUniform,
    "henormal": HeNormal,
    "identity": Identity,
    "dirac": Dirac,
    "orthogonal": Orthogonal,
    "variancescaling": VarianceScaling,
    "bilinear": Bilinear,
}
"""What the names of initializers mean; upper and lower case and underscores are the same."""


def initializer(
    init: Tensor | str | Initializer | float,
    shape: Sequence[int] | int | None = None,
    dtype: Any = float32,
) -> Tensor:
    """Return a tensor whose values are made when it is first read.

    Parameters
    ----------
    init : Tensor, str, Initializer or number
        The name of an initializer (``"normal"``, ``"HeUniform"``, ``"zeros"``, …), one itself, a
        number for all elements, or a tensor of the values.
    shape : sequence of int, optional
        The shape; a tensor's own if left out.
    dtype : DType
        Element type.

    Returns
    -------
    Tensor
        The tensor; a Parameter made of it draws its own values.

    Raises
    ------
    ValueError
        If no initializer has that name, or a tensor has another shape.
    """
    kind = dtype_of(dtype)
    if isinstance(init, Tensor):
        sizes = init.shape if shape is None else _sizes(shape)
        if init.shape != sizes:
            raise ValueError(
                f"initializer: the tensor has shape {list(init.shape)}, wanted is {list(sizes)}."
            )
        return LazyTensor(sizes, kind, Constant(init).bind())
    if shape is None:
        raise ValueError("initializer: give a shape.")
    if isinstance(init, str):
        name = init.lower().replace("_", "")
        if name not in _KINDS:
            raise ValueError(f"initializer: no {init!r}; use one of {', '.join(sorted(_KINDS))}.")
        init = _KINDS[name]()
    elif not isinstance(init, Initializer):
        init = Constant(init)
    return LazyTensor(_sizes(shape), kind, init.bind())


def _sizes(shape: Sequence[int] | int) -> Shape:
    sizes = (shape,) if isinstance(shape, int) else tuple(int(size) for size in shape)
    if any(size < 1 for size in sizes):
        raise ValueError(f"initializer: all sizes must be positive, the shape is {list(sizes)}.")
    return sizes
