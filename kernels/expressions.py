"""Scalar expressions of the loop IR: constants, variables, loads and calls of a fixed list of ops.

Expressions are immutable and compared by identity. They may share parts: a part that is used twice
in one statement is computed once. What several statements need goes through a `Let`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from ml_dtypes import bfloat16

DType: TypeAlias = np.dtype
Scalar: TypeAlias = "float | int | bool | np.generic"
Coefficient: TypeAlias = "int | str | tuple[int | str, ...]"

FLOAT16: Final = np.dtype(np.float16)
BFLOAT16: Final = np.dtype(bfloat16)
FLOAT32: Final = np.dtype(np.float32)
FLOAT64: Final = np.dtype(np.float64)
INT32: Final = np.dtype(np.int32)
INT64: Final = np.dtype(np.int64)
BOOL: Final = np.dtype(np.bool_)
DTYPES: Final = frozenset(
    np.dtype(name)
    for name in (("f2", bfloat16, "f4", "f8", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "?"))
)
HALVES: Final = frozenset((FLOAT16, BFLOAT16))
"""Dtypes of two bytes that numbers are stored in and rounded to; they are computed in float32."""


class LoopError(ValueError):
    """A loop function that breaks the rules of the IR."""


_FLOAT, _INT, _BOOL = "float", "int", "bool"


@dataclass(frozen=True)
class ScalarOp:
    """A scalar op: its number of arguments, their kinds, and whether the result is a bool."""

    arity: int
    kinds: frozenset[str]
    to_bool: bool = False


def _rows(names: str, arity: int, kinds: str, to_bool: bool = False) -> dict[str, ScalarOp]:
    return {name: ScalarOp(arity, frozenset(kinds.split()), to_bool) for name in names.split()}


OPS: Final[dict[str, ScalarOp]] = {
    **_rows("add sub mul maximum minimum", 2, "float int"),
    **_rows("neg abs sign square", 1, "float int"),
    **_rows("div pow", 2, "float"),
    **_rows("fma", 3, "float"),
    **_rows("sqrt rsqrt exp expm1 log log1p tanh erf sigmoid sin cos", 1, "float"),
    **_rows("floor ceil round trunc", 1, "float"),
    **_rows("isnan isinf isfinite", 1, "float", True),
    **_rows("eq ne lt le gt ge", 2, "float int bool", True),
    **_rows("floordiv mod", 2, "int"),
    **_rows("shl shr", 2, "int"),
    **_rows("and or xor", 2, "int bool"),
    **_rows("not", 1, "int bool"),
}
"""Ops whose arguments share one dtype. `select` and `cast` have rules of their own."""


def kind_of(dtype: DType) -> str:
    """Return `float`, `int`, `bool`, or `half`, which can only be loaded, stored and cast."""
    if dtype in HALVES:
        return "half"
    return {"f": _FLOAT, "i": _INT, "u": _INT, "b": _BOOL}[dtype.kind]


class Expr:
    """A scalar expression; `+ - * /`, unary minus and `< <= > >=` build calls."""

    __slots__ = ()
    dtype: DType

    def __add__(self, other: Operand) -> Call:
        return call("add", self, other)

    def __radd__(self, other: Operand) -> Call:
        return call("add", other, self)

    def __sub__(self, other: Operand) -> Call:
        return call("sub", self, other)

    def __rsub__(self, other: Operand) -> Call:
        return call("sub", other, self)

    def __mul__(self, other: Operand) -> Call:
        return call("mul", self, other)

    def __rmul__(self, other: Operand) -> Call:
        return call("mul", other, self)

    def __truediv__(self, other: Operand) -> Call:
        return call("div", self, other)

    def __rtruediv__(self, other: Operand) -> Call:
        return call("div", other, self)

    def __neg__(self) -> Call:
        return call("neg", self)

    def __lt__(self, other: Operand) -> Call:
        return call("lt", self, other)

    def __le__(self, other: Operand) -> Call:
        return call("le", self, other)

    def __gt__(self, other: Operand) -> Call:
        return call("gt", self, other)

    def __ge__(self, other: Operand) -> Call:
        return call("ge", self, other)


Operand: TypeAlias = "Expr | Scalar"


@dataclass(frozen=True, eq=False)
class Const(Expr):
    """A number known when the kernel is made."""

    value: float | int | bool
    dtype: DType


@dataclass(frozen=True, eq=False)
class Var(Expr):
    """A name bound by a `Let`, a loop, an accumulator or an integer parameter (int64)."""

    name: str
    dtype: DType = INT64


@dataclass(frozen=True)
class Term:
    """`name * scale * product(params)` in an index; params are integer parameters."""

    name: str
    scale: int = 1
    params: tuple[str, ...] = ()


@dataclass(frozen=True)
class Index:
    """An affine element offset into a buffer: a sum of terms and a constant."""

    terms: tuple[Term, ...] = ()
    offset: int = 0

    def coefficient(self, name: str) -> tuple[Term, ...]:
        """Return the terms in which `name` is the variable."""
        return tuple(term for term in self.terms if term.name == name)


@dataclass(frozen=True, eq=False)
class Load(Expr):
    """One element of a buffer or scratch row."""

    buffer: str
    index: Index
    dtype: DType


@dataclass(frozen=True, eq=False)
class Call(Expr):
    """A scalar op applied to expressions."""

    op: str
    args: tuple[Expr, ...]
    dtype: DType = field(default=FLOAT32)


def affine(*terms: tuple[str, Coefficient] | str, offset: int | str = 0) -> Index:
    """Build an index: `affine(("i", 64), "j")` is `i*64 + j`; `("i", (4, "n"))` is `i*4*n`.

    An offset that is a name is an integer parameter.
    """
    if isinstance(offset, str):
        terms, offset = (*terms, offset), 0
    merged: dict[tuple[str, tuple[str, ...]], int] = {}
    for term in terms:
        name, coefficient = (term, 1) if isinstance(term, str) else term
        factors = coefficient if isinstance(coefficient, tuple) else (coefficient,)
        params = tuple(sorted(f for f in factors if isinstance(f, str)))
        scale = 1
        for factor in factors:
            scale *= 1 if isinstance(factor, str) else int(factor)
        merged[name, params] = merged.get((name, params), 0) + scale
    kept = tuple(Term(name, scale, params) for (name, params), scale in merged.items() if scale)
    return Index(kept, int(offset))


def const(value: Scalar, dtype: DType | type | str) -> Const:
    """Build a constant; the value is rounded to the dtype first."""
    dtype = np.dtype(dtype)
    return Const(dtype.type(value).item(), dtype)


def cast(x: Expr, dtype: DType | type | str) -> Expr:
    """Convert as NumPy's `astype`; a no-op when the dtype is the same."""
    dtype = np.dtype(dtype)
    if isinstance(x, Const):
        return const(x.value, dtype)
    return x if x.dtype == dtype else Call("cast", (x,), dtype)


def select(condition: Expr, x: Operand, y: Operand) -> Call:
    """Choose `x` where the condition is true, else `y`."""
    x, y = _lift((x, y), "select")
    result = Call("select", (condition, x, y), x.dtype)
    check_call(result)
    return result


def call(op: str, *args: Operand) -> Call:
    """Apply a scalar op; Python numbers take the dtype of the expressions beside them."""
    if op not in OPS:
        raise LoopError(f"{op!r} is not a scalar op; known are {', '.join(sorted(OPS))}")
    lifted = _lift(args, op)
    result = Call(op, lifted, BOOL if OPS[op].to_bool else lifted[0].dtype)
    check_call(result)
    return result


def _lift(args: tuple[Operand, ...], op: str) -> tuple[Expr, ...]:
    typed = next((arg.dtype for arg in args if isinstance(arg, Expr)), None)
    if typed is None:
        raise LoopError(f"{op} needs at least one expression among its arguments, got {args}")
    return tuple(arg if isinstance(arg, Expr) else const(arg, typed) for arg in args)


def check_call(node: Call) -> None:
    """Raise LoopError unless arity and dtypes of one call fit its op."""
    dtypes = [arg.dtype for arg in node.args]
    shown = f"{node.op}({', '.join(map(str, dtypes))}) -> {node.dtype}"
    if node.op == "cast":
        if len(dtypes) != 1:
            raise LoopError(f"{shown}: cast takes one argument")
        return
    if node.op == "select":
        if len(dtypes) != 3 or dtypes[0] != BOOL or dtypes[1:] != [node.dtype, node.dtype]:
            raise LoopError(f"{shown}: select takes a bool and two values of one dtype")
        return
    rule = OPS.get(node.op)
    if rule is None:
        raise LoopError(f"{node.op!r} is not a scalar op")
    if len(dtypes) != rule.arity:
        raise LoopError(f"{shown}: {node.op} takes {rule.arity} arguments")
    if len(set(dtypes)) != 1:
        raise LoopError(f"{shown}: arguments must share one dtype; cast them")
    if kind_of(dtypes[0]) not in rule.kinds:
        raise LoopError(f"{shown}: {node.op} is defined for {' and '.join(sorted(rule.kinds))}")
    if node.dtype != (BOOL if rule.to_bool else dtypes[0]):
        raise LoopError(f"{shown}: wrong result dtype")


def children(node: Expr) -> tuple[Expr, ...]:
    """Return the direct parts of an expression."""
    return node.args if isinstance(node, Call) else ()


def walk(*roots: Expr) -> Iterator[Expr]:
    """Yield every distinct node below the roots once, parts before wholes."""
    seen: set[int] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, expanded = stack.pop()
        if id(node) in seen:
            continue
        if expanded:
            seen.add(id(node))
            yield node
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(children(node)))


class ExprBuilder:
    """What a pointwise lowering is written with: `b.add(x, y)`, `b.exp(x)`, `b.select(c, x, y)`.

    Every name in `OPS` is a method; `b.and_`, `b.or_` and `b.not_` stand for the Python keywords.
    """

    def __getattr__(self, name: str) -> Callable[..., Call]:
        op = name.removesuffix("_")
        if op not in OPS:
            raise AttributeError(f"no scalar op {name!r}")
        return lambda *args: call(op, *args)

    def const(self, value: Scalar, dtype: DType | type | str) -> Const:
        """Build a constant."""
        return const(value, dtype)

    def cast(self, x: Expr, dtype: DType | type | str) -> Expr:
        """Convert to another dtype."""
        return cast(x, dtype)

    def select(self, condition: Expr, x: Operand, y: Operand) -> Call:
        """Choose between two values of one dtype."""
        return select(condition, x, y)
