"""The language of breakpoint conditions, parsed to a tree and never run as Python."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from .inspect import Statistics

NAMES = ("min", "max", "mean", "std", "absmax", "zeros", "nan", "inf", "size", "hit")
GRAMMAR = (
    "nan, inf, shape changed, dtype changed; comparisons of numbers and "
    f"{', '.join(NAMES)} with < <= > >= == != and + - * / %; and, or, not, parentheses"
)

DEEPEST = 50  # what can stand in each other, well within the limit of Python's stack
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<sign><=|>=|==|!=|[-<>+*/%()]))"
)
_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


class ConditionError(ValueError):
    """A condition that cannot be read; `position` is the column where reading stopped."""

    def __init__(self, text: str, position: int, problem: str) -> None:
        super().__init__(f"{problem} at column {position + 1} of {text!r}; allowed: {GRAMMAR}")
        self.text = text
        self.position = position


@dataclass(frozen=True)
class Arrival:
    """What a condition is asked about: one value at its wire, and what came before it."""

    stats: Statistics
    hit: int
    shape_changed: bool = False
    dtype_changed: bool = False


@dataclass(frozen=True)
class Number:
    """A constant."""

    value: float


@dataclass(frozen=True)
class Name:
    """A statistic of the value, or the number of this arrival (`hit`)."""

    name: str


@dataclass(frozen=True)
class Arithmetic:
    """`left sign right` on numbers."""

    sign: str
    left: Term
    right: Term


@dataclass(frozen=True)
class Compare:
    """`left sign right`, a truth."""

    sign: str
    left: Term
    right: Term


@dataclass(frozen=True)
class Logic:
    """`and`, `or`, `not` over truths."""

    word: str
    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Changed:
    """The shape or the dtype differs from the last value on this wire."""

    what: str


@dataclass(frozen=True)
class Always:
    """No condition."""


Term = Number | Name | Arithmetic
Condition = Compare | Logic | Changed | Always


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            raise ConditionError(text, start, f"unexpected {text[start]!r}")
        kind = match.lastgroup
        found.append(_Token(kind, match[kind], match.start(kind)))
        at = match.end()
    found.append(_Token("end", "", end))
    return found


class _Parser:
    """Recursive descent: or, and, not, comparison, sum, product, sign, atom."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.at = 0

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    def take(self, *texts: str) -> str | None:
        if self.next.kind != "end" and self.next.text in texts:
            self.at += 1
            return self.tokens[self.at - 1].text
        return None

    def fail(self, problem: str, at: int | None = None) -> ConditionError:
        return ConditionError(self.text, self.next.at if at is None else at, problem)

    def parse(self) -> Condition:
        if self.next.kind == "end" or (self.take("always") and self.next.kind == "end"):
            return Always()
        tree = self.truth(self.any())
        if self.next.kind != "end":
            raise self.fail(f"unexpected {self.next.text!r}")
        return tree

    def any(self) -> Condition | Term:
        return self.join("or", self.all)

    def all(self) -> Condition | Term:
        return self.join("and", self.negation)

    def join(self, word: str, part: Callable[[], Condition | Term]) -> Condition | Term:
        start = self.next.at
        first = part()
        if self.next.text != word:
            return first
        parts = [self.truth(first, start)]
        while self.take(word):
            start = self.next.at
            parts.append(self.truth(part(), start))
        return Logic(word, tuple(parts))

    def negation(self) -> Condition | Term:
        if self.take("not"):
            start = self.next.at
            return Logic("not", (self.truth(self.negation(), start),))
        return self.comparison()

    def comparison(self) -> Condition | Term:
        start = self.next.at
        if what := self.take("shape", "dtype"):
            if not self.take("changed"):
                raise self.fail(f"expected 'changed' after {what!r}")
            return Changed(what)
        left = self.sum()
        sign = self.take(*_COMPARE)
        if sign is None:
            return left
        term = self.term(left, start)
        start = self.next.at
        return Compare(sign, term, self.term(self.sum(), start))

    def sum(self) -> Condition | Term:
        return self.arithmetic(("+", "-"), self.product)

    def product(self) -> Condition | Term:
        return self.arithmetic(("*", "/", "%"), self.atom)

    def arithmetic(
        self, signs: tuple[str, ...], part: Callable[[], Condition | Term]
    ) -> Condition | Term:
        start = self.next.at
        left = part()
        while sign := self.take(*signs):
            term = self.term(left, start)
            start = self.next.at
            left = Arithmetic(sign, term, self.term(part(), start))
        return left

    def atom(self) -> Condition | Term:
        token = self.next
        if self.take("-"):
            return Arithmetic("-", Number(0.0), self.term(self.atom(), token.at))
        if self.take("("):
            inner = self.any()
            if not self.take(")"):
                raise self.fail("expected ')'")
            return inner
        if token.kind == "number":
            self.at += 1
            return Number(float(token.text))
        if token.kind == "word" and token.text in NAMES:
            self.at += 1
            return Name(token.text)
        found = repr(token.text) if token.text else "the end"
        raise self.fail(f"expected a name or a number, found {found}")

    def term(self, tree: Condition | Term, at: int) -> Term:
        if isinstance(tree, Term):
            return tree
        raise self.fail("expected a number here, found a condition", at)

    def truth(self, tree: Condition | Term, at: int = 0) -> Condition:
        if isinstance(tree, Condition):
            return tree
        if isinstance(tree, Name) and tree.name in ("nan", "inf"):
            return Compare(">", tree, Number(0.0))
        example = tree.name if isinstance(tree, Name) else "mean"
        raise self.fail(f"a comparison is missing, as in '{example} > 1',", at)


def parse_condition(text: str) -> Condition:
    """Parse a breakpoint's condition; the empty text and `always` hold for every value.

    Raises
    ------
    ConditionError
        With the column and what is allowed there.
    """
    if sum(map(text.count, ("(", "not", *_ARITHMETIC))) > DEEPEST:
        raise ConditionError(text, 0, f"more than {DEEPEST} parentheses, signs and 'not's begin")
    return _Parser(text).parse()


def holds(condition: Condition, arrival: Arrival) -> bool:
    """Whether the condition is true of this arrival; a statistic that does not exist is not."""
    match condition:
        case Always():
            return True
        case Changed(what):
            return arrival.shape_changed if what == "shape" else arrival.dtype_changed
        case Compare(sign, left, right):
            return _COMPARE[sign](_number(left, arrival), _number(right, arrival))
        case Logic("not", (part,)):
            return not holds(part, arrival)
        case Logic("and", parts):
            return all(holds(part, arrival) for part in parts)
        case Logic(_, parts):
            return any(holds(part, arrival) for part in parts)


def _number(term: Term, arrival: Arrival) -> float:
    match term:
        case Number(value):
            return value
        case Name("hit"):
            return arrival.hit
        case Name(name):
            value = getattr(arrival.stats, name)
            return math.nan if value is None else value
        case Arithmetic(sign, left, right):
            return _calculate(sign, _number(left, arrival), _number(right, arrival))


def _calculate(sign: str, left: float, right: float) -> float:
    if sign in "/%" and right == 0:
        return math.nan
    return _ARITHMETIC[sign](left, right)
