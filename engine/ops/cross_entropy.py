"""Cross entropy and negative log likelihood of class labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..shape import Aval, ShapeError, SymDim, shape_text
from ..tensor import Tensor
from . import arithmetic, array, creation, logic, math, reduce
from .cast import TensorLike, as_float, as_tensor, cast_to
from .expansion import expanded
from .loss import check_reduction
from .registry import Call, Composite, GradContext, Grads, Host, op, traces
from .rules import reduced_shape, require_float
from .softmax import log_softmax, softmax


def _label_rule(name: str) -> Any:
    def infer(input: Aval, target: Aval, *weight: Aval, reduction: str, **_: Any) -> Aval:
        require_float(name, "input", input)
        if input.ndim < 2:
            raise ShapeError(
                f"{name}: input {shape_text(input.shape)} needs two axes or more: [n, classes]."
            )
        rest = reduced_shape(input.shape, (1,), False)
        if target.dtype.is_float:
            if target.shape != input.shape:
                raise ShapeError(
                    f"{name}: target {shape_text(target.shape)} holds probabilities and must have"
                    f" the shape of input {shape_text(input.shape)}; for labels use int32."
                )
        elif not target.dtype.is_int or target.shape != rest:
            raise ShapeError(
                f"{name}: target {target} must hold one integer label for each row of input"
                f" {shape_text(input.shape)}: the shape {shape_text(rest)}."
            )
        if weight and weight[0].shape != (input.shape[1],):
            raise ShapeError(
                f"{name}: weight {shape_text(weight[0].shape)} must have one element for each of"
                f" the {input.shape[1]} classes."
            )
        return Aval(rest if reduction == "none" else (), input.dtype)

    return infer


def _check_labels(name: str, input: Tensor, target: Tensor, ignore_index: int) -> None:
    """Raise ValueError for a label outside the classes; traced labels are looked at later."""
    if traces or not target.dtype.is_int or not target.size or len(input.shape) < 2:
        return
    labels = target.data
    classes = input.shape[1]
    low, high = int(labels.min()), int(labels.max())
    if low >= 0 and high < classes:
        return
    _labels_kernel(labels, int(classes), ignore_index, _text(name, input))


def _text(name: str, input: Tensor) -> str:
    """Return what the error says of a label, which stands for the braces."""
    classes: Any = input.shape[1]
    return (
        f"{name}: target holds the label {{}}, but input {shape_text(input.shape)} has classes 0 to"
        f" {classes - 1}; check the labels or the number of outputs."
    )


def _labels_kernel(labels: np.ndarray, classes: int, ignored: int, text: str) -> np.ndarray:
    wrong = labels[((labels < 0) | (labels >= classes)) & (labels != ignored)]
    if wrong.size:
        raise ValueError(text.format(int(wrong.flat[0])))
    return labels


@op(
    infer=lambda labels, classes, ignored, text: labels,
    kernel=_labels_kernel,
    lowering=Host("looks for labels out of range"),
    category="gradient",
    inputs=("labels",),
)
def require_labels(labels: Tensor, classes: int, ignored: int, text: str) -> Call:
    """Give labels back if all of them are classes, or the one that is ignored.

    Parameters
    ----------
    labels : Tensor
        Integers.
    classes : int
        The number of classes.
    ignored : int
        A label that is none of them and yet right.
    text : str
        The error's message, with braces for the label.

    Returns
    -------
    Tensor
        The labels.

    Raises
    ------
    ValueError
        If a label is out of range.
    """
    return (labels,), {"classes": classes, "ignored": ignored, "text": text}


def _classes(input: Tensor, dtype: Any) -> Tensor:
    count = input.shape[1]
    if isinstance(count, SymDim):
        raise ShapeError(f"cross_entropy: the number of classes must be known, it is {count}.")
    numbers = creation.arange(0, count, 1, dtype)
    return array.reshape(numbers, (1, count) + (1,) * (len(input.shape) - 2))


def _across(weight: Tensor, input: Tensor) -> Tensor:
    return array.reshape(weight, (1, -1) + (1,) * (len(input.shape) - 2))


def _distribution(
    input: Tensor, target: Tensor, weight: tuple[Tensor, ...], attrs: dict[str, Any]
) -> tuple[Tensor, Tensor]:
    """Return what each class's log probability weighs, and by what the mean divides.

    A label outside the classes weighs NaN, so that it cannot pass unseen.
    """
    smoothing = attrs["label_smoothing"]
    classes = input.shape[1]
    dtype = input.dtype
    if target.dtype.is_float:
        share = arithmetic.add(arithmetic.mul(target, 1.0 - smoothing), smoothing / classes)
        share = share if smoothing else target
        ones = reduce.sum(creation.zeros_like(target), 1)
        divisor = arithmetic.add(ones, 1.0)
        return (arithmetic.mul(share, _across(weight[0], input)) if weight else share), divisor
    labels = array.expand_dims(target, 1)
    numbers = _classes(input, target.dtype)
    hot = cast_to(logic.equal(numbers, labels), dtype)
    valid = cast_to(logic.not_equal(labels, attrs["ignore_index"]), dtype)
    inside = logic.logical_and(logic.greater_equal(labels, 0), logic.less(labels, classes))
    known = logic.logical_or(inside, logic.equal(labels, attrs["ignore_index"]))
    valid = logic.select(known, valid, float("nan"))
    if weight:
        hot = arithmetic.mul(hot, _across(weight[0], input))
    divisor = arithmetic.mul(reduce.sum(hot, 1), array.squeeze(valid, 1))
    share = hot
    if smoothing:
        even = arithmetic.mul(creation.ones_like(hot), smoothing / classes)
        if weight:
            even = arithmetic.mul(even, _across(weight[0], input))
        share = arithmetic.add(arithmetic.mul(hot, 1.0 - smoothing), even)
    return arithmetic.mul(share, valid), divisor


def _weighed(log_probs: Tensor, share: Tensor) -> Tensor:
    """Return the negative weighted sum; what weighs zero counts nothing, though it be -Inf."""
    none = logic.equal(share, 0)
    parts = logic.select(none, creation.zeros_like(share), arithmetic.mul(share, log_probs))
    return math.neg(reduce.sum(parts, 1))


def _averaged(losses: Tensor, divisor: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return arithmetic.div(reduce.sum(losses), reduce.sum(divisor))
    return losses if reduction == "none" else reduce.sum(losses)


def _expand_nll(
    input: Tensor, target: Tensor, *weight: Tensor, reduction: str, **attrs: Any
) -> Tensor:
    share, divisor = _distribution(input, target, weight, attrs)
    return _averaged(_weighed(input, share), divisor, reduction)


def _expand_cross_entropy(
    input: Tensor, target: Tensor, *weight: Tensor, reduction: str, **attrs: Any
) -> Tensor:
    share, divisor = _distribution(input, target, weight, attrs)
    return _averaged(_weighed(log_softmax(input, 1), share), divisor, reduction)


def _cross_entropy_kernel(
    input: np.ndarray, target: np.ndarray, *weight: np.ndarray, reduction: str, **attrs: Any
) -> np.ndarray:
    """Run the usual case (labels of rows, nothing weighed) directly, others by expansion."""
    if weight or input.ndim != 2 or target.dtype.kind == "f" or attrs["label_smoothing"]:
        return _expanded_cross_entropy(input, target, *weight, reduction=reduction, **attrs)
    shifted = input - input.max(1, keepdims=True)
    rows = np.arange(len(target))
    valid = target != attrs["ignore_index"]
    picked = shifted[rows, np.where(valid, target, 0)]
    losses = np.log(np.exp(shifted).sum(1)) - picked
    if not valid.all():
        losses = np.where(valid, losses, input.dtype.type(0))
    if reduction == "none":
        return losses
    total = losses.sum(dtype=input.dtype)
    return total if reduction == "sum" else total / input.dtype.type(valid.sum())


_expanded_cross_entropy = expanded(_expand_cross_entropy)


def _cross_entropy_grad(ctx: GradContext) -> Grads:
    if any(ctx.needs[1:]):
        return NotImplemented
    dx = cross_entropy_input_grad(ctx.dout, *ctx.inputs, **ctx.attrs)
    return dx, *([None] * (len(ctx.inputs) - 1))


@op(
    infer=_label_rule("cross_entropy"),
    kernel=_cross_entropy_kernel,
    grad=_cross_entropy_grad,
    lowering=Composite(_expand_cross_entropy),
    category="loss",
    inputs=("input", "target", "weight"),
    primitive="CrossEntropyLoss",
)
def cross_entropy(
    input: TensorLike,
    target: TensorLike,
    weight: TensorLike | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Call:
    """Return the cross entropy of class labels and logits.

    Parameters
    ----------
    input : Tensor
        Logits ``[n, classes, ...]``, or ``[classes]`` of one example.
    target : Tensor
        Integer labels ``[n, ...]``, or probabilities in the shape of ``input``.
    weight : Tensor, optional
        ``[classes]``, the weight of each class.
    ignore_index : int
        A label that counts nothing.
    reduction : str
        ``"mean"`` (by the weights of the labels), ``"sum"`` or ``"none"``.
    label_smoothing : float
        Share of every label that is spread evenly over the classes.

    Returns
    -------
    Tensor
        One number, or one loss a label.

    Raises
    ------
    ValueError
        If the shapes do not fit or a label is outside the classes.

    References
    ----------
    Szegedy et al., Rethinking the Inception Architecture, 2015 (label smoothing).
    """
    return _prepare_labels(
        "cross_entropy", (input, target, weight), ignore_index, reduction, label_smoothing
    )


def _prepare_labels(
    name: str, tensors: tuple[Any, Any, Any], ignore_index: int, reduction: str, smoothing: float
) -> Call:
    check_reduction(name, reduction)
    if not 0 <= smoothing <= 1:
        raise ValueError(f"{name}: label_smoothing must be in 0..1, it is {smoothing}.")
    x, labels = as_float(tensors[0]), as_tensor(tensors[1])
    if len(x.shape) == 1:  # one example alone: its loss is the sum
        x, labels = array.expand_dims(x, 0), array.expand_dims(labels, 0)
        reduction = "sum" if reduction == "none" else reduction
    if labels.dtype.is_float:
        labels = cast_to(labels, x.dtype)
    weight = () if tensors[2] is None else (cast_to(as_float(tensors[2]), x.dtype),)
    attrs = {
        "ignore_index": int(ignore_index), "reduction": reduction,
        "label_smoothing": float(smoothing),
    }  # fmt: skip
    _label_rule(name)(x.aval, labels.aval, *(w.aval for w in weight), **attrs)
    _check_labels(name, x, labels, ignore_index)
    if traces and labels.dtype.is_int and isinstance(x.shape[1], int):
        labels = require_labels(labels, x.shape[1], int(ignore_index), _text(name, x))
    return (x, labels, *weight), attrs


def _expand_cross_entropy_grad(
    dout: Tensor, input: Tensor, target: Tensor, *weight: Tensor, reduction: str, **attrs: Any
) -> Tensor:
    share, divisor = _distribution(input, target, weight, attrs)
    slope = arithmetic.sub(
        arithmetic.mul(softmax(input, 1), reduce.sum(share, 1, keepdims=True)), share
    )
    if reduction == "none":
        return arithmetic.mul(slope, array.expand_dims(dout, 1))
    scale = arithmetic.div(dout, reduce.sum(divisor)) if reduction == "mean" else dout
    return arithmetic.mul(slope, scale)


def _cross_entropy_grad_kernel(
    dout: np.ndarray,
    input: np.ndarray,
    target: np.ndarray,
    *weight: np.ndarray,
    reduction: str,
    **attrs: Any,
) -> np.ndarray:
    if weight or input.ndim != 2 or target.dtype.kind == "f" or attrs["label_smoothing"]:
        return _expanded_cross_entropy_grad(
            dout, input, target, *weight, reduction=reduction, **attrs
        )
    slope = np.exp(input - input.max(1, keepdims=True))
    slope /= slope.sum(1, keepdims=True)
    valid = target != attrs["ignore_index"]
    slope[np.arange(len(target)), np.where(valid, target, 0)] -= input.dtype.type(1)
    if not valid.all():
        slope[~valid] = 0
    if reduction == "none":
        return slope * dout[:, None]
    count = input.dtype.type(valid.sum()) if reduction == "mean" else input.dtype.type(1)
    return slope * (dout / count)


_expanded_cross_entropy_grad = expanded(_expand_cross_entropy_grad)


@op(
    infer=lambda dout, input, target, *weight, **_: input,
    kernel=_cross_entropy_grad_kernel,
    lowering=Composite(_expand_cross_entropy_grad),
    category="gradient",
    inputs=("dout", "input", "target", "weight"),
)
def cross_entropy_input_grad(dout: Tensor, *tensors: Tensor, **attrs: Any) -> Call:
    """Return the gradient of ``cross_entropy`` to its logits.

    Parameters
    ----------
    dout : Tensor
        Gradient of the loss.
    *tensors : Tensor
        Input, target and perhaps weight of ``cross_entropy``.
    **attrs
        Its attributes.

    Returns
    -------
    Tensor
        The shape of the logits.
    """
    return (dout, *tensors), attrs


@op(
    infer=_label_rule("nll_loss"),
    kernel=expanded(_expand_nll),
    lowering=Composite(_expand_nll),
    category="loss",
    inputs=("inputs", "target", "weight"),
    primitive="NLLLoss",
)
def nll_loss(
    inputs: TensorLike,
    target: TensorLike,
    weight: TensorLike | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Call:
    """Return the negative log likelihood of class labels.

    Parameters
    ----------
    inputs : Tensor
        Log probabilities ``[n, classes, ...]``, or ``[classes]`` of one example.
    target : Tensor
        Integer labels ``[n, ...]``, or probabilities in the shape of ``inputs``.
    weight : Tensor, optional
        ``[classes]``, the weight of each class.
    ignore_index : int
        A label that counts nothing.
    reduction : str
        ``"mean"`` (by the weights of the labels), ``"sum"`` or ``"none"``.
    label_smoothing : float
        Share of every label that is spread evenly over the classes.

    Returns
    -------
    Tensor
        One number, or one loss a label.

    Raises
    ------
    ValueError
        If the shapes do not fit or a label is outside the classes.
    """
    return _prepare_labels(
        "nll_loss", (inputs, target, weight), ignore_index, reduction, label_smoothing
    )
