"""Classes drawn to stand for all others, where there are too many of them."""

from __future__ import annotations

import math as numbers

import numpy as np

from .. import random as streams
from ..dtype import float32, int64
from ..shape import Aval, ShapeError, shape_text
from ..tensor import Tensor
from . import random
from .cast import TensorLike, as_tensor
from .registry import Call, Host, op
from .rules import require_int


def _probability(classes: np.ndarray, range_max: int) -> np.ndarray:
    return np.log((classes + 2) / (classes + 1)) / numbers.log(range_max + 1)


def _rule(
    key: Aval, true_classes: Aval, num_sampled: int, unique: bool, range_max: int
) -> tuple[Aval, Aval, Aval]:
    drawn = (num_sampled,)
    return Aval(drawn, int64), Aval(true_classes.shape, float32), Aval(drawn, float32)


def _kernel(
    key: np.ndarray, true_classes: np.ndarray, num_sampled: int, unique: bool, range_max: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator, chosen, tries = random.draw(key), dict[int, None](), 0
    classes: list[int] = []
    while len(classes) < num_sampled:
        size = np.exp(generator.random() * numbers.log(range_max + 1))
        drawn, tries = min(int(size) - 1, range_max - 1), tries + 1
        if not (unique and drawn in chosen):
            classes.append(drawn)
            chosen[drawn] = None
    sampled = np.array(classes, np.int64)

    def expected(of: np.ndarray) -> np.ndarray:
        share = _probability(of, range_max)
        count = -np.expm1(tries * np.log1p(-share)) if unique else share * num_sampled
        return count.astype(np.float32)

    return sampled, expected(true_classes), expected(sampled)


@op(
    infer=_rule,
    kernel=_kernel,
    lowering=Host("draws random numbers in NumPy"),
    category="random",
    inputs=("key", "true_classes"),
    primitive="LogUniformCandidateSampler",
)
def candidates_by_key(
    key: Tensor, true_classes: TensorLike, num_sampled: int, unique: bool, range_max: int
) -> Call:
    """Draw classes by a key, small numbers more often.

    Parameters
    ----------
    key : Tensor
        Int64 ``[2]`` from ``random.next_key()``.
    true_classes : Tensor
        Integers.
    num_sampled : int
        How many to draw.
    unique : bool
        Whether no class is drawn twice.
    range_max : int
        Number of classes.

    Returns
    -------
    tuple of Tensor
        The classes, and how often each true and each drawn class is expected.
    """
    attrs = {"num_sampled": num_sampled, "unique": unique, "range_max": range_max}
    return (key, as_tensor(true_classes)), attrs


def log_uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int = 1,
    num_sampled: int = 5,
    unique: bool = True,
    range_max: int = 5,
    seed: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw classes with probability ``log((k + 2) / (k + 1)) / log(range_max + 1)``.

    Parameters
    ----------
    true_classes : Tensor
        ``[n, num_true]`` integers.
    num_true : int
        Right classes of each example.
    num_sampled : int
        How many classes to draw.
    unique : bool
        Whether no class is drawn twice.
    range_max : int
        Number of classes.
    seed : int
        A seed of its own for this call; with 0 the current random stream is used.

    Returns
    -------
    tuple of Tensor
        ``[num_sampled]`` classes, and how often each right and each drawn class is expected.

    Raises
    ------
    ValueError
        If the shapes do not fit, or more classes are to be drawn than there are.

    References
    ----------
    Jean et al., On Using Very Large Target Vocabulary for Neural Machine Translation, 2015.
    """
    tensor = as_tensor(true_classes)
    require_int("log_uniform_candidate_sampler", "true_classes", tensor.aval)
    if len(tensor.shape) != 2 or tensor.shape[1] != num_true:
        raise ShapeError(
            f"log_uniform_candidate_sampler: true_classes {shape_text(tensor.shape)} must have the"
            f" axes [n, {num_true}]."
        )
    if unique and num_sampled > range_max:
        raise ValueError(
            f"log_uniform_candidate_sampler: {num_sampled} different classes cannot be drawn of"
            f" {range_max}; lower num_sampled or set unique=False."
        )
    key = streams.RandomState(seed).next_key() if seed else streams.next_key()
    return candidates_by_key(key, tensor, int(num_sampled), bool(unique), int(range_max))
