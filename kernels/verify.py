"""The loop IR's type checker: every kernel passes it before it is printed."""

from __future__ import annotations

from dataclasses import dataclass, field

from .expressions import (
    DTYPES,
    INT64,
    Call,
    Const,
    DType,
    Expr,
    Index,
    Load,
    LoopError,
    Var,
    check_call,
    kind_of,
    walk,
)
from .loops import (
    REDUCTIONS,
    SCRATCH_BYTES,
    Function,
    Let,
    Loop,
    Reduce,
    Statement,
    Store,
)


@dataclass
class _Scope:
    """Names in force at one point of a function."""

    function: Function
    arrays: dict[str, DType]
    names: dict[str, DType]
    used: set[str]
    vector: str | None = None
    moving: set[str] = field(default_factory=set)  # names that differ between a vector's lanes
    open: dict[str, DType] = field(default_factory=dict)  # accumulators of the innermost loop


def verify(function: Function) -> None:
    """Raise LoopError unless names are defined before use, dtypes agree and indices are sound."""
    scope = _Scope(function, {}, dict.fromkeys(function.ints, INT64), set())
    for name in function.ints:
        _claim(scope, name)
    for array in (*function.buffers, *function.scratch):
        _claim(scope, array.name)
        if array.dtype not in DTYPES:
            _fail(scope, f"{array.name} has dtype {array.dtype}, which kernels do not know")
        scope.arrays[array.name] = array.dtype
    for scratch in function.scratch:
        if not 0 < scratch.size * scratch.dtype.itemsize <= SCRATCH_BYTES:
            _fail(
                scope, f"scratch {scratch.name}[{scratch.size}] must hold 1..{SCRATCH_BYTES} bytes"
            )
    _body(function.body, scope)


def _fail(scope: _Scope, message: str) -> None:
    raise LoopError(f"kernel {scope.function.name}: {message}")


def _claim(scope: _Scope, name: str) -> None:
    if not name.isidentifier() or not name.isascii():
        _fail(scope, f"{name!r} is not a name")
    if name in scope.used:
        _fail(scope, f"{name} is defined twice; every name in a kernel is unique")
    scope.used.add(name)


def _body(body: tuple[Statement, ...], scope: _Scope) -> None:
    for statement in body:
        match statement:
            case Let(name, value):
                _value(value, scope)
                _claim(scope, name)
                scope.names[name] = value.dtype
                if scope.vector is not None and _moves(value, scope):
                    scope.moving.add(name)
            case Store():
                _store(statement, scope)
            case Reduce(name, value):
                _value(value, scope)
                if name not in scope.open:
                    _fail(scope, f"{name} is no accumulator of the loop that holds its Reduce")
                if scope.open[name] != value.dtype:
                    _fail(scope, f"{name} sums {scope.open[name]}, got {value.dtype}")
            case Loop():
                _loop(statement, scope)
            case _:
                _fail(scope, f"{type(statement).__name__} is not a statement")


def _loop(loop: Loop, scope: _Scope) -> None:
    if isinstance(loop.extent, str):
        if loop.extent not in scope.function.ints:
            _fail(scope, f"loop {loop.var}: extent {loop.extent} is no integer parameter")
    elif loop.extent < 0:
        _fail(scope, f"loop {loop.var}: extent {loop.extent} is negative")
    if loop.vector and scope.vector is not None:
        _fail(scope, f"vector loop {loop.var} lies inside vector loop {scope.vector}")
    _claim(scope, loop.var)
    inner = _Scope(
        scope.function,
        scope.arrays,
        {**scope.names, loop.var: INT64},
        scope.used,
        loop.var if loop.vector else scope.vector,
        scope.moving | ({loop.var} if loop.vector else set()),
        {a.name: a.dtype for a in loop.accumulators},
    )
    for accumulator in loop.accumulators:
        _claim(scope, accumulator.name)
        if accumulator.kind not in REDUCTIONS:
            _fail(scope, f"{accumulator.name}: {accumulator.kind!r} is not one of {REDUCTIONS}")
        kind = kind_of(accumulator.dtype)
        if kind == "half" or (kind == "bool" and accumulator.kind in ("sum", "prod")):
            _fail(scope, f"{accumulator.name}: no {accumulator.kind} of {accumulator.dtype}")
    _body(loop.body, inner)
    for accumulator in loop.accumulators:
        scope.names[accumulator.name] = accumulator.dtype
        if scope.vector is not None:
            scope.moving.add(accumulator.name)


def _store(store: Store, scope: _Scope) -> None:
    _value(store.value, scope)
    _index(store.buffer, store.index, scope)
    if scope.arrays[store.buffer] != store.value.dtype:
        wanted = scope.arrays[store.buffer]
        _fail(scope, f"{store.buffer} holds {wanted}, got {store.value.dtype}")
    if scope.vector is not None:
        if not store.index.coefficient(scope.vector):
            _fail(scope, f"store to {store.buffer} does not move with vector loop {scope.vector}")
        if any(t.name in scope.moving and t.name != scope.vector for t in store.index.terms):
            _fail(scope, f"store to {store.buffer} at an index that a vector lane computes")


def _value(value: Expr, scope: _Scope) -> None:
    for node in walk(value):
        match node:
            case Const(_, dtype):
                if dtype not in DTYPES:
                    _fail(scope, f"constant of dtype {dtype}, which kernels do not know")
            case Var(name, dtype):
                if scope.names.get(name) != dtype:
                    found = scope.names.get(name)
                    _fail(
                        scope,
                        f"{name} is used as {dtype} but "
                        + (f"is {found}" if found else "is not defined here"),
                    )
            case Load(buffer, index, dtype):
                _index(buffer, index, scope)
                if scope.arrays[buffer] != dtype:
                    _fail(scope, f"{buffer} holds {scope.arrays[buffer]}, loaded as {dtype}")
            case Call():
                try:
                    check_call(node)
                except LoopError as error:
                    _fail(scope, str(error))
            case _:
                _fail(scope, f"{type(node).__name__} is not an expression")


def _index(array: str, index: Index, scope: _Scope) -> None:
    if array not in scope.arrays:
        _fail(scope, f"{array} is neither a buffer nor a scratch array")
    for term in index.terms:
        if scope.names.get(term.name) != INT64:
            _fail(scope, f"index of {array}: {term.name} is not an int64 defined here")
        for param in term.params:
            if param not in scope.function.ints:
                _fail(scope, f"index of {array}: {param} is no integer parameter")


def _moves(value: Expr, scope: _Scope) -> bool:
    for node in walk(value):
        if isinstance(node, Var) and node.name in scope.moving:
            return True
        if isinstance(node, Load) and any(t.name in scope.moving for t in node.index.terms):
            return True
    return False
