"""Control flow as functions: branches and loops that stay one piece when they are compiled.

Eagerly they are Python's own ``if``, ``while`` and ``for``. In a compiled function a branch or
loop that depends on a tensor becomes one node, whose graphs run as its values say, so that one
compilation serves all values. In ``vmap`` examples may go different ways.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from ..shape import Aval, ShapeError
from ..tensor import Tensor
from . import logic, registry
from .cast import as_tensor, cast_to
from .creation import arange
from .joining import stack
from .singular_values import matrix_cond

Function = Callable[..., Any]


def cond(input: Any, *args: Any, **options: Any) -> Any:
    """Run one of two functions, or return the condition number of a matrix.

    ``cond(pred, true_fn, false_fn, *operands)`` runs ``true_fn(*operands)`` where ``pred`` is
    true, else ``false_fn(*operands)``. ``cond(A, p=None)`` is ``matrix_cond(A, p)``.

    Parameters
    ----------
    input : Tensor or bool
        ``pred``, a truth value of one element; or the matrix.
    *args, **options
        The two functions and what they are given; or the kind of norm ``p``.

    Returns
    -------
    Any
        What the function gives. Where ``pred`` is a tensor, numbers in it are tensors, and in a
        compiled function both must give the same structure, shapes and dtypes.

    Raises
    ------
    TypeError
        If one of the branches cannot be called, or they give different structures or dtypes.
    ValueError
        If ``pred`` has several elements, or the branches give different shapes.
    """
    functions = args[:2] if args else (options.get("true_fn"), options.get("false_fn"))
    if not any(map(callable, functions)):
        return matrix_cond(input, *args, **options)
    return _branch(input, *args, **options)


def _branch(pred: Any, true_fn: Function, false_fn: Function, *operands: Any) -> Any:
    _require_callable("ops.cond", true_fn=true_fn, false_fn=false_fn)
    if not isinstance(pred, Tensor):
        return (true_fn if pred else false_fn)(*operands)
    if pred.shape not in ((), (1,)):
        raise ShapeError(
            f"ops.cond: pred must be one truth value, it has shape {list(pred.shape)};"
            " use .any() or .all(), or ops.where to choose element by element."
        )
    tracer: Any = registry.own_trace()
    if tracer is None:
        return _as_tensors((true_fn if pred else false_fn)(*operands))
    from ..compiler.branches import traced_cond
    from ..compiler.trace import Trace

    def of(fn: Function) -> Function:
        return lambda *given: _as_tensors(fn(*given))

    if isinstance(tracer, Trace):
        return traced_cond(
            tracer, pred, _cast_alike(of(true_fn)), _cast_alike(of(false_fn)), operands
        )
    if not tracer.is_batched(pred) and len(registry.traces) == 1:
        return _as_tensors((true_fn if pred else false_fn)(*operands))
    chosen, other = of(true_fn)(*operands), of(false_fn)(*operands)
    return _choose("ops.cond", pred.reshape(()), chosen, other)


def while_loop(cond_fn: Function, body_fn: Function, init: Any) -> Any:
    """Run a function again and again as long as another one says so.

    Parameters
    ----------
    cond_fn : callable
        Takes what is carried and gives a truth value.
    body_fn : callable
        Takes what is carried and gives what is carried on, of the same structure, shapes and
        dtypes.
    init : Any
        What is carried at first: a tensor, or nested tuples, lists and dictionaries of them. A
        tuple or list is given to functions that take as many arguments one by one. Numbers beside
        tensors become tensors.

    Returns
    -------
    Any
        What was carried last.

    Raises
    ------
    TypeError
        If a function cannot be called, or what is carried changes its structure or a dtype.
    ValueError
        If a carried tensor changes its shape.
    """
    _require_callable("ops.while_loop", cond_fn=cond_fn, body_fn=body_fn)
    return _while("ops.while_loop", _taking(cond_fn, init), _taking(body_fn, init), init)


def _while(name: str, test: Function, body: Function, init: Any) -> Any:
    carry = _carried(init)
    tracer: Any = registry.own_trace()
    if tracer is not None:
        from ..compiler.trace import Trace

        if isinstance(tracer, Trace) and any(True for _ in _tensors(carry)):
            from ..compiler.traced_loops import traced_while

            once = _cast_alike(_carrying(test)), _cast_alike(_carrying(body))
            return traced_while(tracer, name, *once, carry)
        tracer = None if isinstance(tracer, Trace) else tracer
    while True:
        asked = test(carry)
        masked = tracer is not None and tracer.is_batched(asked)
        if not (_any_example(tracer, asked) if masked else bool(asked)):
            return carry
        after = _carrying(body)(carry) if _is_mixed(carry) else body(carry)
        _check_carried(name, carry, after)
        carry = _choose(name, asked.reshape(()), after, carry) if masked else after


def fori_loop(lower: Any, upper: Any, body_fn: Function, init: Any, unroll: bool = False) -> Any:
    """Run a function for each number of a range.

    Parameters
    ----------
    lower, upper : int or Tensor
        The first number, and the one after the last.
    body_fn : callable
        Takes the number and what is carried; gives what is carried on.
    init : Any
        What is carried at first, as for ``while_loop``.
    unroll : bool
        Whether a compiled function repeats the body instead of looping; the numbers are Python's
        then, and ``lower`` and ``upper`` must be too.

    Returns
    -------
    Any
        What was carried last.

    Raises
    ------
    TypeError
        If a bound is no int or integer tensor, the body cannot be called, or what is carried
        changes its structure or a dtype.
    ValueError
        If a carried tensor changes its shape.
    """
    name = "ops.fori_loop"
    _require_callable(name, body_fn=body_fn)
    for word, bound in (("lower", lower), ("upper", upper)):
        whole = isinstance(bound, Tensor) and bound.dtype.is_int
        if not whole and (isinstance(bound, bool) or not isinstance(bound, int)):
            raise TypeError(f"{name}: {word} must be an int or an integer tensor, it is {bound!r}.")
    carry = init if unroll else _carried(init)
    if isinstance(lower, int) and isinstance(upper, int):
        if unroll or not any(True for _ in _tensors(carry)):
            for number in range(lower, upper):
                after = body_fn(number, carry)
                _check_carried(name, carry, after)
                carry = after
            return carry
        numbers = arange(lower, max(lower, upper), 1, dtype="int64")
        step = _carrying(body_fn)
        return _scan(name, lambda c, i: (step(i, c), None), carry, numbers, None)[0]
    state = (cast_to(as_tensor(lower), _INT64), carry)
    end = cast_to(as_tensor(upper), _INT64)

    def step_on(state: tuple[Tensor, Any]) -> tuple[Tensor, Any]:
        return state[0] + 1, body_fn(state[0], state[1])

    return _while(name, lambda state: state[0] < end, step_on, state)[1]


_INT64 = as_tensor(0).dtype


def scan(
    f: Function, init: Any, xs: Any = None, length: int | None = None, unroll: bool = False
) -> tuple[Any, Any]:
    """Run a function over the first axis of tensors, carrying something on.

    Parameters
    ----------
    f : callable
        Takes what is carried and an element of ``xs``; gives what is carried on and an output:
        ``carry, y = f(carry, x)``. An output may be None.
    init : Any
        What is carried at first, as for ``while_loop``.
    xs : Any
        A tensor, or nested tuples, lists and dictionaries of tensors of one length; None to give
        ``f`` None, ``length`` times.
    length : int, optional
        How many elements; needed only without ``xs``.
    unroll : bool
        Whether a compiled function repeats ``f`` instead of looping.

    Returns
    -------
    carry : Any
        What was carried last.
    ys : Any
        The outputs, each stacked along a new first axis.

    Raises
    ------
    TypeError
        If ``f`` cannot be called or does not give a pair, or what is carried changes its
        structure or a dtype.
    ValueError
        If lengths differ or are not known, or a carried tensor changes its shape.
    """
    _require_callable("ops.scan", f=f)
    return _scan("ops.scan", f, _carried(init), xs, length, unroll)


def _scan(
    name: str, f: Function, init: Any, xs: Any, length: int | None, unroll: bool = False
) -> tuple[Any, Any]:
    count = _length(name, xs, length)
    tracer: Any = registry.own_trace()

    def step(carry: Any, x: Any) -> Any:
        found = f(carry, x)
        if not isinstance(found, tuple) or len(found) != 2:
            raise TypeError(f"{name}: f must give a pair (carry, y), not {type(found).__name__}.")
        return _carried(found[0], _is_mixed(init)), _as_tensors(found[1])

    if tracer is not None and not unroll and count:
        from ..compiler.trace import Trace
        from ..compiler.traced_loops import traced_scan

        if isinstance(tracer, Trace):
            found = traced_scan(tracer, name, _cast_alike(step), init, xs, count)
            if found is not None:
                return found
    carry, outputs = init, []
    for number in range(count):
        after, y = step(carry, _map(lambda t, n=number: t[n], xs))
        _check_carried(name, carry, after)
        carry = after
        outputs.append(y)
    if not outputs:
        return carry, None
    first = list(_tensors(outputs[0]))
    columns = zip(*[list(_tensors(y)) for y in outputs], strict=True) if first else ()
    stacked = iter([stack(list(column), 0) for column in columns])
    return carry, _map(lambda _: next(stacked), outputs[0])


def _length(name: str, xs: Any, length: int | None) -> int:
    sizes = {tensor.shape[0] if tensor.shape else None for tensor in _tensors(xs)}
    if None in sizes:
        raise ShapeError(f"{name}: a tensor of xs has no axis to go along.")
    sizes |= set() if length is None else {length}
    if len(sizes) != 1:
        words = sorted(map(str, sizes)) or "none: give xs or length"
        raise ShapeError(f"{name}: xs and length must have one length, they have {words}.")
    (size,) = sizes
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise ShapeError(f"{name}: the length must be a known int, it is {size}.")
    return size


# ---- what is carried -------------------------------------------------------------------------


def _cast_alike(function: Function) -> Function:
    """Return a function whose ops, traced by themselves, are cast as those around it are."""
    tracer = registry.active_trace()
    if tracer is None or tracer is registry.own_trace():
        return function

    def run(*given: Any) -> Any:
        with tracer.again():
            return function(*given)

    return run


def _require_callable(name: str, **functions: Any) -> None:
    for word, function in functions.items():
        if not callable(function):
            raise TypeError(f"{name}: {word} must be callable, it is {type(function).__name__}.")


def _taking(function: Function, init: Any) -> Function:
    """Return a function of what is carried; it may take the items of a tuple one by one."""
    if not isinstance(init, tuple | list) or len(init) < 2:
        return function
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):  # a built-in one, which does not tell
        return function
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in kinds and p.default is p.empty]
    return (lambda carry: function(*carry)) if len(needed) == len(init) else function


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _tensors(item)


def _map(change: Function, value: Any, numbers: bool = False) -> Any:
    """Return nested tuples, lists and dictionaries with their tensors changed."""
    if isinstance(value, Tensor) or (numbers and isinstance(value, bool | int | float)):
        return change(value)
    if isinstance(value, dict):
        return {key: _map(change, item, numbers) for key, item in value.items()}
    if isinstance(value, tuple | list):
        items = [_map(change, item, numbers) for item in value]
        if isinstance(value, list):
            return items
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def _as_tensors(value: Any) -> Any:
    """Return a value with its numbers as tensors."""
    return _map(as_tensor, value, numbers=True)


def _is_mixed(carry: Any) -> bool:
    return any(True for _ in _tensors(carry))


def _carried(init: Any, mixed: bool | None = None) -> Any:
    """Return what is carried: numbers beside tensors become tensors."""
    return _as_tensors(init) if (_is_mixed(init) if mixed is None else mixed) else init


def _carrying(body: Function) -> Function:
    return lambda *given: _as_tensors(body(*given))


def _check_carried(name: str, before: Any, after: Any) -> None:
    """Raise unless what a body gives is of the kind that it was given."""
    old, new = _map(lambda t: t.aval, before), _map(lambda t: t.aval, after)
    _compare(name, old, new, [0])


def _compare(name: str, before: Any, after: Any, number: list[int]) -> None:
    if isinstance(before, Aval) and isinstance(after, Aval):
        if before != after:
            from ..compiler.traced_loops import check_kind

            check_kind(name, number[0], before, after)
        number[0] += 1
        return
    alike = type(before) is type(after)
    if isinstance(before, tuple | list) and isinstance(after, tuple | list) and alike:
        if len(before) == len(after):
            for one, other in zip(before, after, strict=True):
                _compare(name, one, other, number)
            return
    elif isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for key, item in before.items():
            _compare(name, item, after[key], number)
        return
    elif alike or not (isinstance(before, Aval) or isinstance(after, Aval)):
        return
    raise TypeError(
        f"{name}: what is carried must keep its structure; it was {before!r} and became {after!r}."
    )


def _choose(name: str, chosen: Tensor, value: Any, other: Any) -> Any:
    """Return the tensors of ``value`` where ``chosen`` is true, else those of ``other``."""
    _check_carried(name, other, value)
    others = iter(list(_tensors(other)))
    return _map(lambda tensor: logic.select(chosen, tensor, next(others)), value)


def _any_example(tracer: Any, asked: Any) -> bool:
    with tracer.outside():
        return bool(asked.whole.any())
