"""Shapes with symbolic sizes: dims, abstract values and broadcasting."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

from .dtype import DType


class ShapeError(ValueError):
    """Shapes that do not fit an op or each other."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        if deciders:  # it may come of a size that is not known, and code may go on after it
            deciders[-1].fail(self)


@dataclass(frozen=True, slots=True)
class Quotient:
    """The whole part of ``numerator / denominator``, an atom of symbolic sizes."""

    numerator: Dim
    denominator: Dim

    def __str__(self) -> str:
        return f"({_text(self.numerator)})//{_bracket(self.denominator)}"


_Atom: TypeAlias = "str | Quotient"
_Monomial: TypeAlias = tuple[_Atom, ...]


class Decider(Protocol):
    """Who answers what code asks of sizes that are not known; see ``compiler.open_sizes``."""

    def decide(self, relation: str, left: Dim, right: float) -> bool:
        """Return whether a relation (``"=="``, ``"<"``, ``"<="``) holds, and take it down."""
        ...

    def number(self, dim: SymDim) -> int:
        """Return the size as a number, or raise."""
        ...

    def reveal(self, dim: SymDim) -> None:
        """Hear that a size is hashed."""
        ...

    def spell(self, dim: SymDim) -> None:
        """Hear that a size is written as text."""
        ...

    def fail(self, error: ShapeError) -> None:
        """Hear that shapes do not fit."""
        ...


deciders: list[Decider] = []
"""The one who answers; where there is none, sizes are equal if their polynomials are."""


class SymDim:
    """A size not known yet: a polynomial with integer coefficients over named symbols.

    ``SymDim("N")`` is the symbol ``N``. Sums, differences, products and whole quotients give
    dims again, plain ints where all symbols cancel. Equal polynomials are equal and hash alike.
    """

    __slots__ = ("_hash", "terms")
    terms: tuple[tuple[_Monomial, int], ...]

    def __init__(self, name: str) -> None:
        self.terms = ((((name,)), 1),)
        self._hash = hash(self.terms)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SymDim) and self.terms == other.terms:
            return True
        if deciders and isinstance(other, SymDim | int | float):
            return deciders[-1].decide("==", self, cast(float, other))
        return False

    def __lt__(self, other: float) -> bool:
        return deciders[-1].decide("<", self, other) if deciders else NotImplemented

    def __le__(self, other: float) -> bool:
        return deciders[-1].decide("<=", self, other) if deciders else NotImplemented

    def __gt__(self, other: float) -> bool:
        return not deciders[-1].decide("<=", self, other) if deciders else NotImplemented

    def __ge__(self, other: float) -> bool:
        return not deciders[-1].decide("<", self, other) if deciders else NotImplemented

    def __bool__(self) -> bool:
        return not deciders or not deciders[-1].decide("==", self, 0)

    def __index__(self) -> int:
        if not deciders:
            raise TypeError(f"the size {self} is not known yet; it is no number.")
        return deciders[-1].number(self)

    def __hash__(self) -> int:
        if deciders:
            deciders[-1].reveal(self)
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        return (_from_terms, (dict(self.terms),))

    def __add__(self, other: Dim) -> Dim:
        if not isinstance(other, int | SymDim):
            return NotImplemented
        terms = dict(self.terms)
        for monomial, factor in _terms(other):
            terms[monomial] = terms.get(monomial, 0) + factor
        return _from_terms(terms)

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return self * -1

    def __sub__(self, other: Dim) -> Dim:
        return self + other * -1

    def __rsub__(self, other: Dim) -> Dim:
        return (self * -1) + other

    def __mul__(self, other: Dim) -> Dim:
        if not isinstance(other, int | SymDim):
            return NotImplemented
        terms: dict[_Monomial, int] = {}
        for left, a in self.terms:
            for right, b in _terms(other):
                monomial = tuple(sorted(left + right, key=str))
                terms[monomial] = terms.get(monomial, 0) + a * b
        return _from_terms(terms)

    __rmul__ = __mul__

    def __floordiv__(self, other: Dim) -> Dim:
        exact = _divide(self, other)
        return _symbol(Quotient(self, other)) if exact is None else exact

    def __rfloordiv__(self, other: int) -> Dim:
        if other == 0:
            return 0
        return _symbol(Quotient(other, self))

    def __mod__(self, other: Dim) -> Dim:
        return self - (self // other) * other

    def __repr__(self) -> str:
        return f"SymDim({str(self)!r})"

    def __str__(self) -> str:
        if deciders:
            deciders[-1].spell(self)
        return self.text

    @property
    def text(self) -> str:
        """The polynomial as people write it, for messages."""
        parts = []
        for monomial, factor in self.terms:
            names = "*".join(str(atom) for atom in monomial)
            if not monomial:
                parts.append(f"{factor:+d}")
            elif abs(factor) == 1:
                parts.append(("-" if factor < 0 else "+") + names)
            else:
                parts.append(f"{factor:+d}*{names}")
        return "".join(parts).removeprefix("+")

    @property
    def symbols(self) -> frozenset[str]:
        """The names this size depends on."""
        names: set[str] = set()
        for monomial, _ in self.terms:
            for atom in monomial:
                if isinstance(atom, str):
                    names.add(atom)
                else:
                    names |= symbols_of((atom.numerator, atom.denominator))
        return frozenset(names)


Dim: TypeAlias = int | SymDim
Shape: TypeAlias = tuple[Dim, ...]


def comparable(*sizes: Dim) -> bool:
    """Return whether sizes can be compared: numbers, and open sizes while one answers for them."""
    return bool(deciders) or not any(isinstance(size, SymDim) for size in sizes)


def _text(dim: Dim) -> str:
    return dim.text if isinstance(dim, SymDim) else str(dim)


def _bracket(dim: Dim) -> str:
    return str(dim) if isinstance(dim, int) else f"({dim.text})"


def _terms(dim: Dim) -> tuple[tuple[_Monomial, int], ...]:
    return dim.terms if isinstance(dim, SymDim) else (((), int(dim)),)


def _from_terms(terms: Mapping[_Monomial, int]) -> Dim:
    kept = {monomial: factor for monomial, factor in terms.items() if factor}
    if not kept:
        return 0
    if set(kept) == {()}:
        return kept[()]
    dim = SymDim.__new__(SymDim)
    order = sorted(kept.items(), key=lambda item: (-len(item[0]), [*map(str, item[0])]))
    dim.terms = tuple(order)
    dim._hash = hash(dim.terms)
    return dim


def _symbol(atom: _Atom) -> Dim:
    return _from_terms({(atom,): 1})


def _divide(numerator: SymDim, denominator: Dim) -> Dim | None:
    """Return the exact quotient, or None where it is not a polynomial."""
    if isinstance(denominator, int) and denominator == 0:
        raise ZeroDivisionError(f"size {numerator} divided by zero")
    if isinstance(denominator, SymDim) and numerator.terms == denominator.terms:
        return 1
    divisor_terms = _terms(denominator)
    if len(divisor_terms) != 1:
        return _divide_ratio(numerator, cast(SymDim, denominator))
    divisor, divisor_factor = divisor_terms[0]
    terms: dict[_Monomial, int] = {}
    for monomial, factor in numerator.terms:
        rest = list(monomial)
        for atom in divisor:
            if atom not in rest:
                return None
            rest.remove(atom)
        if factor % divisor_factor:
            return None
        terms[tuple(rest)] = factor // divisor_factor
    return _from_terms(terms)


def _divide_ratio(numerator: SymDim, denominator: SymDim) -> Dim | None:
    """Return the quotient if ``numerator`` is a monomial times ``denominator``."""
    lead, lead_factor = numerator.terms[0]
    head = _from_terms({lead: lead_factor})
    first, first_factor = denominator.terms[0]
    if not isinstance(head, SymDim):
        return None
    ratio = _divide(head, _from_terms({first: first_factor}))
    if ratio is None or _terms(denominator * ratio) != numerator.terms:
        return None
    return ratio


def symbols_of(shape: Iterable[Dim]) -> frozenset[str]:
    """Return the names of all symbols in ``shape``."""
    names: frozenset[str] = frozenset()
    for dim in shape:
        if isinstance(dim, SymDim):
            names |= dim.symbols
    return names


def evaluate(dim: Dim, sizes: Mapping[str, Dim]) -> Dim:
    """Return ``dim`` with the symbols in ``sizes`` put in."""
    if not isinstance(dim, SymDim):
        return dim
    total: Dim = 0
    for monomial, factor in dim.terms:
        product: Dim = factor
        for atom in monomial:
            if isinstance(atom, str):
                product = product * sizes.get(atom, _symbol(atom))
            else:
                above = evaluate(atom.numerator, sizes)
                product = product * (above // evaluate(atom.denominator, sizes))
        total = total + product
    return total


def evaluate_shape(shape: Shape, sizes: Mapping[str, Dim]) -> Shape:
    """Return ``shape`` with the symbols in ``sizes`` put in."""
    return tuple(evaluate(dim, sizes) for dim in shape)


def element_count(shape: Iterable[Dim]) -> Dim:
    """Return the number of elements in an array of ``shape``."""
    return math.prod(shape, start=1)  # pyright: ignore[reportArgumentType, reportReturnType]


def shape_text(shape: Iterable[Dim]) -> str:
    """Return ``shape`` as written in messages, like ``[N, 64]``."""
    return "[" + ", ".join(map(_text, shape)) + "]"


def broadcast_shapes(*shapes: Shape) -> Shape:
    """Return the shape to which all ``shapes`` broadcast.

    Raises
    ------
    ShapeError
        If two sizes on the same axis differ and neither is 1; a symbol fits itself and 1 alone.
    """
    result: list[Dim] = []
    for axis in range(1, max((len(shape) for shape in shapes), default=0) + 1):
        size: Dim = 1
        for shape in shapes:
            if axis > len(shape):
                continue
            dim = shape[-axis]
            if size == 1:
                size = dim
            elif dim not in (1, size):
                texts = " and ".join(shape_text(shape) for shape in shapes)
                raise ShapeError(
                    f"shapes {texts} do not broadcast: axis -{axis} has {size}"
                    f" and {dim}; make them equal or one of them 1."
                )
        result.append(size)
    return tuple(reversed(result))


@dataclass(frozen=True, slots=True)
class Aval:
    """An abstract value: what is known of a tensor before it is computed."""

    shape: Shape
    dtype: DType

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> Dim:
        """Number of elements."""
        return element_count(self.shape)

    @property
    def nbytes(self) -> Dim:
        """Bytes the elements take."""
        return self.size * self.dtype.itemsize

    def __str__(self) -> str:
        sizes = "×".join(str(dim) for dim in self.shape)
        return f"{sizes} {self.dtype.short}" if self.shape else self.dtype.short


def substitute(aval: Aval, sizes: Mapping[str, Dim]) -> Aval:
    """Return ``aval`` with the symbols in ``sizes`` put in."""
    return Aval(evaluate_shape(aval.shape, sizes), aval.dtype)
