"""Einstein's summation: pairwise contractions by matmul, in an order found once a shape."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..shape import Dim, ShapeError, element_count, shape_text
from ..tensor import Tensor
from . import arithmetic, array, linalg, reduce, triangles
from .cast import TensorLike
from .declarations import derived
from .expansion import expanded
from .registry import Call, Composite, Op, apply, op
from .weighted_sums import together

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_UNKNOWN = 64
"""What an unknown size counts as when the order of contractions is chosen."""

Labels = str
"""The letters of an operand's axes, one each."""


def _spread(term: str, count: int, free: str, longest: int) -> Labels:
    """Return a term with letters in the place of its dots."""
    if "..." not in term:
        return term
    named = len(term) - 3
    return term.replace("...", free[longest - (count - named) : longest])


@functools.lru_cache(maxsize=512)
def parse(equation: str, ndims: tuple[int, ...]) -> tuple[tuple[Labels, ...], Labels]:
    """Return the letters of each operand's axes, and of the result's.

    Raises
    ------
    ValueError
        If the equation does not fit the operands.
    """
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise ValueError(
            f"einsum: the equation {equation!r} has {len(terms)} terms, {len(ndims)} operands were"
            " given."
        )
    for term in (*terms, right):
        rest = term.replace("...", "", 1)
        if any(letter not in _LETTERS for letter in rest):
            raise ValueError(
                f"einsum: the term {term!r} of {equation!r} may hold letters and one '...' alone."
            )
    dots = [
        count - (len(term) - 3) if "..." in term else 0
        for term, count in zip(terms, ndims, strict=True)
    ]
    for term, count, more in zip(terms, ndims, dots, strict=True):
        if more < 0 or ("..." not in term and len(term) != count):
            raise ValueError(
                f"einsum: the term {term!r} of {equation!r} does not fit an operand of {count}"
                " axes."
            )
    longest = max(dots)
    free = "".join(letter for letter in _LETTERS if letter not in text)[:longest]
    labels = tuple(
        _spread(term, count, free, longest) for term, count in zip(terms, ndims, strict=True)
    )
    if arrow:
        return labels, _result(equation, labels, right.replace("...", free))
    every = "".join(labels)
    once = sorted(letter for letter in set(every) if every.count(letter) == 1)
    return labels, free + "".join(letter for letter in once if letter not in free)


def _result(equation: str, labels: Sequence[Labels], right: Labels) -> Labels:
    unknown = set(right) - set("".join(labels))
    if unknown or len(set(right)) != len(right):
        raise ValueError(
            f"einsum: the result of {equation!r} must name letters of the terms, each once."
        )
    return right


@functools.lru_cache(maxsize=512)
def _path(
    labels: tuple[Labels, ...], result: Labels, shapes: tuple[tuple[int, ...], ...]
) -> tuple[tuple[int, ...], ...]:
    """Return which operands to contract next, by NumPy's search for the least arithmetic."""
    equation = ",".join(labels) + "->" + result
    arrays = [np.broadcast_to(np.float32(0), shape) for shape in shapes]
    steps, _ = np.einsum_path(equation, *arrays, optimize="greedy")
    return tuple(tuple(step) for step in steps[1:])


def _numbers(shape: Sequence[Dim]) -> tuple[int, ...]:
    return tuple(size if isinstance(size, int) else _UNKNOWN for size in shape)


def _without_repeats(tensor: Tensor, labels: Labels) -> tuple[Tensor, Labels]:
    """Take the diagonal of axes that share a letter."""
    for letter in dict.fromkeys(labels):
        while labels.count(letter) > 1:
            first = labels.index(letter)
            second = labels.index(letter, first + 1)
            tensor = triangles.diagonal(tensor, 0, first, second)
            labels = (
                labels.replace(letter, "")
                if labels.count(letter) == 2
                else (labels[:first] + labels[first + 1 : second] + labels[second + 1 :])
            )
            labels += letter
    return tensor, labels


def _summed(tensor: Tensor, labels: Labels, kept: str) -> tuple[Tensor, Labels]:
    """Add up the axes whose letters nothing else names."""
    axes = tuple(axis for axis, letter in enumerate(labels) if letter not in kept)
    if not axes:
        return tensor, labels
    return reduce.sum(tensor, axes), "".join(letter for letter in labels if letter in kept)


def _ordered(tensor: Tensor, labels: Labels, wanted: Labels) -> Tensor:
    order = tuple(labels.index(letter) for letter in wanted)
    return tensor if order == tuple(range(len(order))) else array.transpose(tensor, order)


def _without_ones(
    first: Tensor, labels: Labels, second: Tensor, others: Labels
) -> tuple[Tensor, Labels]:
    """Drop the axes of size 1 that meet a larger one of the same letter: they broadcast."""
    axes = [
        axis
        for axis, letter in enumerate(labels)
        if letter in others and first.shape[axis] == 1 and second.shape[others.index(letter)] != 1
    ]
    if not axes:
        return first, labels
    shape = tuple(size for axis, size in enumerate(first.shape) if axis not in axes)
    left = "".join(letter for axis, letter in enumerate(labels) if axis not in axes)
    return array.reshape(first, shape), left


def _contract(
    first: Tensor, a: Labels, second: Tensor, b: Labels, kept: str
) -> tuple[Tensor, Labels]:
    """Multiply two operands and add up the letters that are not kept, by one matmul."""
    first, a = _without_ones(first, a, second, b)
    second, b = _without_ones(second, b, first, a)
    first, a = _summed(first, a, kept + b)
    second, b = _summed(second, b, kept + a)
    batch = [letter for letter in a if letter in b and letter in kept]
    inner = [letter for letter in a if letter in b and letter not in kept]
    rows = [letter for letter in a if letter not in b]
    columns = [letter for letter in b if letter not in a]
    sizes = dict((*zip(a, first.shape, strict=True), *zip(b, second.shape, strict=True)))
    lead = [sizes[letter] for letter in batch]

    def arranged(tensor: Tensor, labels: Labels, left: list[str], right: list[str]) -> Tensor:
        ordered = _ordered(tensor, labels, "".join((*batch, *left, *right)))
        sides = (element_count([sizes[letter] for letter in side]) for side in (left, right))
        return array.reshape(ordered, (*lead, *sides))

    left, right = arranged(first, a, rows, inner), arranged(second, b, inner, columns)
    product = linalg.matmul(left, right) if inner else arithmetic.mul(left, right)
    labels = "".join((*batch, *rows, *columns))
    return array.reshape(product, tuple(sizes[letter] for letter in labels)), labels


def _expand_einsum(*operands: Tensor, equation: str) -> Tensor:
    labels, result = parse(equation, tuple(len(item.shape) for item in operands))
    shapes = tuple(_numbers(item.shape) for item in operands)
    items = [_without_repeats(*item) for item in zip(operands, labels, strict=True)]
    steps = _path(labels, result, shapes) if len(items) > 2 else ((0, 1),) * (len(items) - 1)
    for step in steps:
        picked = [items.pop(position) for position in sorted(step, reverse=True)][::-1]
        while len(picked) > 1:
            (first, a), (second, b) = picked[:2]
            kept = result + "".join(letters for _, letters in (*items, *picked[2:]))
            picked[:2] = [_contract(first, a, second, b, kept)]
        items.append(picked[0])
    tensor, letters = _summed(*items[0], result)
    found = _ordered(tensor, letters, result)
    return array.identity(found) if found is operands[0] else found


def _check_sizes(equation: str, operands: Sequence[Tensor], labels: Sequence[Labels]) -> None:
    sizes: dict[str, Dim] = {}
    for tensor, letters in zip(operands, labels, strict=True):
        for letter, size in zip(letters, tensor.shape, strict=True):
            held = sizes.setdefault(letter, size)
            if held == 1:
                sizes[letter] = size
            elif size not in (1, held):
                shapes = " and ".join(shape_text(item.shape) for item in operands)
                raise ShapeError(
                    f"einsum: {equation!r} names an axis of size {held} and one of size {size} by"
                    f" one letter, in operands {shapes}."
                )


def _public(entry: Op, prepare: Callable[..., Call]) -> Callable[..., Tensor]:
    """Make the public function: the equation comes first, then operands one by one."""

    def call(equation: str, *operands: Any) -> Tensor:
        if not isinstance(equation, str):
            raise TypeError(
                "einsum: the first argument must be the equation, a str such as 'ij,jk->ik', it is"
                f" of type {type(equation).__name__}."
            )
        given = operands[0] if len(operands) == 1 and _is_sequence(operands[0]) else operands
        inputs, attrs = prepare(given, equation)
        return apply(entry, inputs, attrs)

    return call


def _is_sequence(value: Any) -> bool:
    return isinstance(value, tuple | list)


@op(
    infer=derived(_expand_einsum),
    kernel=expanded(_expand_einsum),
    lowering=Composite(_expand_einsum),
    category="linalg",
    inputs=("operands",),
    variadic=True,
    fast=_public,
)
def einsum(operands: Sequence[TensorLike], equation: str) -> Call:
    """Evaluate Einstein's summation convention: products of tensors summed over named axes.

    Called as ``einsum(equation, *operands)``: ``einsum("bij,bjk->bik", a, b)``.

    Parameters
    ----------
    operands : sequence of Tensor
        As many as the equation has terms; the dtypes promote.
    equation : str
        A letter for each axis of each operand; ``...`` for axes that broadcast. A letter that
        the result (after ``->``) does not name is added up; one that a term names twice takes the
        diagonal. Without a result it is the letters that occur once, in alphabetical order.

    Returns
    -------
    Tensor
        The axes that the result names.

    Raises
    ------
    ValueError
        If the equation does not fit the operands.

    References
    ----------
    Einstein, Die Grundlage der allgemeinen Relativitätstheorie, 1916 (the convention).
    """
    tensors = together(*operands)
    labels, _ = parse(equation, tuple(len(tensor.shape) for tensor in tensors))
    _check_sizes(equation, tensors, labels)
    return tensors, {"equation": equation}
