"""Products of two inputs' elements: the layer BiDense."""

from __future__ import annotations

from typing import Any

from ..shape import Aval, ShapeError, shape_text
from ..tensor import Tensor
from . import arithmetic, array, reduce
from .cast import TensorLike
from .conv import float_operands
from .expansion import expanded
from .linalg import matmul
from .registry import Call, Composite, checked, op
from .rules import require_ndim, require_same_dtype


def _rule(input1: Aval, input2: Aval, weight: Aval, bias: Aval | None = None) -> Aval:
    dtype = require_same_dtype("bidense", input1=input1, input2=input2, weight=weight)
    require_ndim("bidense", "weight", weight, 3)
    out, first, second = weight.shape
    fits = (
        input1.ndim > 0
        and input1.shape[:-1] == input2.shape[:-1]
        and (input1.shape[-1:], input2.shape[-1:]) == ((first,), (second,))
    )
    if not fits:
        raise ShapeError(
            f"bidense: input1 {shape_text(input1.shape)} and input2 {shape_text(input2.shape)} must"
            f" have equal sizes before the last, which must be {first} and {second} as of weight"
            f" {shape_text(weight.shape)}."
        )
    if bias is not None and bias.shape != (out,):
        raise ShapeError(f"bidense: bias {shape_text(bias.shape)} must have [{out}].")
    return Aval((*input1.shape[:-1], out), dtype)


def _expand(input1: Tensor, input2: Tensor, weight: Tensor, *bias: Tensor) -> Tensor:
    out, first, second = weight.shape
    lead = tuple(input1.shape[:-1])
    # One product of all outputs' weights, then for each output a dot product with the second input.
    wide = array.reshape(array.transpose(weight, (1, 0, 2)), (first, out * second))
    halves = array.reshape(matmul(input1, wide), (*lead, out, second))
    found = reduce.sum(arithmetic.mul(halves, array.expand_dims(input2, -2)), -1)
    return arithmetic.add(found, bias[0]) if bias else found


@op(
    infer=_rule,
    kernel=expanded(_expand),
    lowering=Composite(_expand),
    category="nn",
    inputs=("input1", "input2", "weight", "bias"),
    primitive="BiDense",
)
def bidense(
    input1: TensorLike,
    input2: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None = None,
) -> Call:
    """Return ``input1 @ weight[o] @ input2 + bias[o]`` for each output ``o``.

    Parameters
    ----------
    input1 : Tensor
        ``[..., in1]``; integers are cast to float32.
    input2 : Tensor
        ``[..., in2]``, with the same sizes before.
    weight : Tensor
        ``[out, in1, in2]``.
    bias : Tensor, optional
        ``[out]``.

    Returns
    -------
    Tensor
        ``[..., out]``.

    Raises
    ------
    ValueError
        If shapes do not fit.
    """
    inputs: Any = float_operands(input1, input2, weight, bias)
    return checked(_rule, inputs, {})
