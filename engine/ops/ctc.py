"""Connectionist temporal classification: labels of sequences without their alignment.

Graves et al., Connectionist Temporal Classification, 2006: the sums over alignments run forward
(``alpha``) and backward (``beta``) over the labels with blanks between them, as logarithms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..shape import Aval, Dim, ShapeError, shape_text
from ..tensor import Tensor
from . import arithmetic, array, logic, reduce
from .cast import TensorLike, as_float, as_tensor, cast_to
from .declarations import composite
from .loss import check_reduction
from .registry import Call, GradContext, Grads, Host, op
from .rules import require_int

_REASON = Host("runs over time in NumPy")
_NOTHING = -np.inf


class Lattice(NamedTuple):
    """The labels with blanks between them, and what may follow what."""

    symbols: np.ndarray
    """``[n, 2 s + 1]`` class numbers."""
    skips: np.ndarray
    """``[n, 2 s + 1]``, where the blank before a label may be left out."""
    ends: np.ndarray
    """``[n]``, twice the number of labels: the place of the last blank."""


def _lattice(targets: np.ndarray, lengths: np.ndarray, blank: int) -> Lattice:
    count, longest = len(lengths), targets.shape[1]
    symbols = np.full((count, 2 * longest + 1), blank, np.int64)
    symbols[:, 1::2] = targets
    skips = np.zeros(symbols.shape, bool)
    skips[:, 2:] = (symbols[:, 2:] != blank) & (symbols[:, 2:] != symbols[:, :-2])
    return Lattice(symbols, skips, 2 * lengths.astype(np.int64))


def _moved(values: np.ndarray, by: int) -> np.ndarray:
    """Return values moved along their last axis, with nothing in the places left."""
    found = np.full_like(values, _NOTHING)
    if by > 0:
        found[:, by:] = values[:, :-by]
    else:
        found[:, :by] = values[:, -by:]
    return found


def _forward(seen: np.ndarray, lattice: Lattice, lengths: np.ndarray) -> np.ndarray:
    """Return ``[n, t, 2 s + 1]`` logarithms of all ways to a place at a time."""
    _, steps, places = seen.shape
    alpha = np.full(seen.shape, _NOTHING)
    if not steps:
        return alpha
    alpha[:, 0, :2] = seen[:, 0, :2]
    for step in range(1, steps):
        before = alpha[:, step - 1]
        ways = np.logaddexp(before, _moved(before, 1))
        jump = np.where(lattice.skips, _moved(before, 2), _NOTHING)
        alpha[:, step] = np.logaddexp(ways, jump) + seen[:, step]
    late = np.arange(steps)[None, :] >= lengths[:, None]
    alpha[late] = _NOTHING
    beyond = np.arange(places)[None, :] > lattice.ends[:, None]
    return np.where(beyond[:, None, :], _NOTHING, alpha)


def _backward(seen: np.ndarray, lattice: Lattice, lengths: np.ndarray) -> np.ndarray:
    """Return logarithms of all ways from a place at a time to the end, its own symbol included."""
    count, steps, places = seen.shape
    beta = np.full(seen.shape, _NOTHING)
    place = np.arange(places)[None, :]
    last = (place == lattice.ends[:, None]) | (place == lattice.ends[:, None] - 1)
    skips = np.zeros_like(lattice.skips)
    skips[:, :-2] = lattice.skips[:, 2:]
    after = np.full((count, places), _NOTHING)
    for step in reversed(range(steps)):
        ways = np.logaddexp(after, _moved(after, -1))
        jump = np.where(skips, _moved(after, -2), _NOTHING)
        going = np.logaddexp(ways, jump) + seen[:, step]
        begun = np.where(last, seen[:, step], _NOTHING)
        is_last = (lengths - 1 == step)[:, None]
        inside = (step < lengths - 1)[:, None]
        after = np.where(is_last, begun, np.where(inside, going, _NOTHING))
        beta[:, step] = after
    return beta


def _seen(log_probs: np.ndarray, lattice: Lattice) -> np.ndarray:
    """Return ``[n, t, 2 s + 1]``: the logarithm of each place's symbol at each time."""
    rows = np.moveaxis(log_probs, 0, 1).astype(np.float64)
    return np.take_along_axis(rows, lattice.symbols[:, None, :], 2)


def _likelihood(alpha: np.ndarray, lattice: Lattice, lengths: np.ndarray) -> np.ndarray:
    rows = np.arange(len(lengths))
    final = alpha[rows, np.maximum(lengths - 1, 0)]
    best = final[rows, lattice.ends]
    other = final[rows, np.maximum(lattice.ends - 1, 0)]
    found = np.where(lattice.ends > 0, np.logaddexp(best, other), best)
    # Nothing to read and nothing to say: certain.
    return np.where(lengths > 0, found, np.where(lattice.ends > 0, _NOTHING, 0.0))


def _losses_kernel(
    log_probs: np.ndarray, targets: np.ndarray, input_lengths: np.ndarray,
    target_lengths: np.ndarray, blank: int,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    _check(log_probs, targets, input_lengths, target_lengths, blank)
    lattice = _lattice(targets, target_lengths, blank)
    alpha = _forward(_seen(log_probs, lattice), lattice, input_lengths)
    losses = -_likelihood(alpha, lattice, input_lengths)
    return losses.astype(log_probs.dtype), alpha.astype(log_probs.dtype)


def _check(
    log_probs: np.ndarray, targets: np.ndarray, input_lengths: np.ndarray,
    target_lengths: np.ndarray, blank: int,
) -> None:  # fmt: skip
    steps, _, classes = log_probs.shape
    if len(input_lengths) and not 0 <= input_lengths.min() <= input_lengths.max() <= steps:
        raise ValueError(f"ctc_loss: input_lengths must be in 0..{steps}, the number of steps.")
    longest = targets.shape[1]
    if len(target_lengths) and not 0 <= target_lengths.min() <= target_lengths.max() <= longest:
        raise ValueError(f"ctc_loss: target_lengths must be in 0..{longest}.")
    used = targets[np.arange(longest)[None, :] < target_lengths[:, None]]
    if used.size and not (used.min() >= 0 and used.max() < classes and (used != blank).all()):
        raise ValueError(
            f"ctc_loss: targets must be classes 0..{classes - 1} other than the blank {blank};"
            " check the labels and target_lengths."
        )


def _losses_rule(
    log_probs: Aval, targets: Aval, input_lengths: Aval, target_lengths: Aval, blank: int
) -> tuple[Aval, Aval]:
    steps, count, _ = log_probs.shape
    places: Dim = targets.shape[1] * 2 + 1
    return Aval((count,), log_probs.dtype), Aval((count, steps, places), log_probs.dtype)


def _losses_grad(ctx: GradContext) -> Grads:
    grad = None
    if ctx.douts[0] is not None:
        probs, labels, lengths, counts = ctx.inputs
        grad = ctc_slope(ctx.douts[0], probs, labels, lengths, counts, ctx.attrs["blank"])
    return grad, None, None, None


@op(
    infer=_losses_rule,
    kernel=_losses_kernel,
    grad=_losses_grad,
    lowering=_REASON,
    category="gradient",
    inputs=("log_probs", "targets", "input_lengths", "target_lengths"),
)
def ctc_losses(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int
) -> Call:
    """Return the negative log likelihood of each sequence of labels.

    Parameters
    ----------
    log_probs : Tensor
        ``[t, n, classes]``.
    targets : Tensor
        ``[n, s]`` integers.
    input_lengths, target_lengths : Tensor
        ``[n]`` integers.
    blank : int
        The class of the blank.

    Returns
    -------
    tuple of Tensor
        ``[n]`` losses, and ``[n, t, 2 s + 1]`` forward sums, which carry no gradient.
    """
    return (log_probs, targets, input_lengths, target_lengths), {"blank": blank}


def _slope_kernel(
    dout: np.ndarray, log_probs: np.ndarray, targets: np.ndarray, input_lengths: np.ndarray,
    target_lengths: np.ndarray, blank: int,
) -> np.ndarray:  # fmt: skip
    lattice = _lattice(targets, target_lengths, blank)
    seen = _seen(log_probs, lattice)
    alpha = _forward(seen, lattice, input_lengths)
    beta = _backward(seen, lattice, input_lengths)
    total = _likelihood(alpha, lattice, input_lengths)[:, None, None]
    reached = np.isfinite(alpha) & np.isfinite(beta)
    share = np.exp(np.where(reached, alpha + beta - seen, _NOTHING) - total)
    found = np.zeros((log_probs.shape[1], log_probs.shape[0], log_probs.shape[2]))
    rows, steps, _ = np.indices(share.shape)
    np.add.at(
        found, (rows, steps, np.broadcast_to(lattice.symbols[:, None, :], share.shape)), share
    )
    # A loss that counts as zero is infinite here.
    slopes = np.where(dout[None, :, None] == 0, 0, np.moveaxis(found, 0, 1) * -dout[None, :, None])
    return slopes.astype(log_probs.dtype)


def _no_second(ctx: GradContext) -> Grads:
    raise NotImplementedError("ctc_loss has a first derivative alone; do not derive it twice.")


@op(
    infer=lambda dout, log_probs, *_, blank: log_probs,
    kernel=_slope_kernel,
    grad=_no_second,
    lowering=_REASON,
    category="gradient",
    inputs=("dout", "log_probs", "targets", "input_lengths", "target_lengths"),
)
def ctc_slope(
    dout: Tensor, log_probs: Tensor, targets: Tensor, input_lengths: Tensor,
    target_lengths: Tensor, blank: int,
) -> Call:  # fmt: skip
    """Return the gradient of ``ctc_losses`` to the logarithmic probabilities.

    Parameters
    ----------
    dout : Tensor
        ``[n]`` gradients of the losses.
    log_probs, targets, input_lengths, target_lengths : Tensor
        As given to ``ctc_losses``.
    blank : int
        The class of the blank.

    Returns
    -------
    Tensor
        The shape of ``log_probs``.
    """
    return (dout, log_probs, targets, input_lengths, target_lengths), {"blank": blank}


def _expand_ctc(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int,
    reduction: str, zero_infinity: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    losses, alpha = ctc_losses(log_probs, targets, input_lengths, target_lengths, blank)
    if zero_infinity:
        losses = logic.select(logic.isinf(losses), 0.0, losses)
    if reduction == "sum":
        losses = reduce.sum(losses)
    elif reduction == "mean":
        count = arithmetic.maximum(cast_to(target_lengths, losses.dtype), 1.0)
        losses = reduce.mean(arithmetic.div(losses, count))
    return losses, array.stop_gradient(alpha)


@composite(
    _expand_ctc, category="loss",
    inputs=("log_probs", "targets", "input_lengths", "target_lengths"), primitive="CTCLossV2",
)  # fmt: skip
def ctc_loss(
    log_probs: TensorLike,
    targets: TensorLike,
    input_lengths: TensorLike,
    target_lengths: TensorLike,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Call:
    """Return the connectionist temporal classification (CTC) loss of sequences of labels.

    Parameters
    ----------
    log_probs : Tensor
        ``[t, n, classes]``, logarithmic probabilities, as ``log_softmax`` gives them.
    targets : Tensor
        ``[n, s]`` integer labels, filled up at the end.
    input_lengths : Tensor or tuple of int
        ``[n]``, how many steps each sequence has.
    target_lengths : Tensor or tuple of int
        ``[n]``, how many labels each has.
    blank : int
        The class of the blank.
    reduction : str
        ``"mean"`` (each loss over its number of labels first), ``"sum"`` or ``"none"``.
    zero_infinity : bool
        Whether losses of labels that do not fit into their sequence, which are infinite, count as
        zero.

    Returns
    -------
    tuple of Tensor
        The loss or the losses, and the forward sums ``[n, t, 2 s + 1]`` as logarithms.

    Raises
    ------
    ValueError
        If the shapes do not fit, a label is no class or the blank, or a length is too large.

    References
    ----------
    Graves et al., Connectionist Temporal Classification, 2006.
    """
    check_reduction("ctc_loss", reduction)
    probs, labels = as_float(log_probs), as_tensor(targets)
    lengths = [as_tensor(item) for item in (input_lengths, target_lengths)]
    if len(probs.shape) != 3 or len(labels.shape) != 2 or labels.shape[0] != probs.shape[1]:
        raise ShapeError(
            f"ctc_loss: log_probs {shape_text(probs.shape)} must have the axes [t, n, classes] and"
            f" targets {shape_text(labels.shape)} the axes [n, s]."
        )
    for name, tensor in zip(("input_lengths", "target_lengths"), lengths, strict=True):
        require_int("ctc_loss", name, tensor.aval)
        if tuple(tensor.shape) != (probs.shape[1],):
            raise ShapeError(
                f"ctc_loss: {name} {shape_text(tensor.shape)} must have a number for each of the"
                f" {probs.shape[1]} sequences."
            )
    require_int("ctc_loss", "targets", labels.aval)
    attrs: dict[str, Any] = {"blank": int(blank), "reduction": reduction}
    return (probs, labels, *lengths), {**attrs, "zero_infinity": bool(zero_infinity)}
