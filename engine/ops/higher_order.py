"""Functions of functions by MindSpore's names: loops, maps, dispatch on types."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..dtype import DType
from ..parameter import Parameter
from ..tensor import Tensor
from .control import fori_loop, while_loop

Function = Callable[..., Any]


class WhileLoop:
    """``WhileLoop()(cond_func, loop_func, init_val)`` is ``ops.while_loop``."""

    def __call__(self, cond_func: Function, loop_func: Function, init_val: Any) -> Any:
        """Run the loop; both functions take what is carried as one argument."""
        _check_takes("WhileLoop", loop_func, 1)
        return while_loop(cond_func, loop_func, init_val)


class ForiLoop:
    """``ForiLoop()(lower, upper, loop_func, init_val, unroll=True)`` is ``ops.fori_loop``."""

    def __call__(
        self, lower: Any, upper: Any, loop_func: Function, init_val: Any, unroll: bool = True
    ) -> Any:
        """Run the loop; with ``unroll`` the bounds are ints where they are known."""
        if not callable(loop_func):
            raise TypeError(f"ForiLoop: loop_func must be callable, not {loop_func!r}.")
        _check_takes("ForiLoop", loop_func, 2)
        known = isinstance(lower, int) and isinstance(upper, int)
        return fori_loop(lower, upper, loop_func, init_val, unroll and known)


class Scan:
    """``Scan()(loop_func, init, xs, length=None, unroll=True)`` goes through a list.

    Unlike ``ops.scan`` it takes the elements as a list or tuple and gives the outputs as a list.
    """

    def __call__(
        self,
        loop_func: Function,
        init: Any,
        xs: Any,
        length: int | None = None,
        unroll: bool = True,
    ) -> tuple[Any, list[Any]]:
        """Return what is carried last and the list of outputs."""
        if not callable(loop_func):
            raise TypeError(f"Scan: loop_func must be callable, not {loop_func!r}.")
        if xs is not None and not isinstance(xs, list | tuple):
            raise TypeError(f"Scan: xs must be a list, a tuple or None, not {type(xs).__name__}.")
        if length is not None and (isinstance(length, bool) or not isinstance(length, int)):
            raise TypeError(f"Scan: length must be an int or None, it is {length!r}.")
        if not isinstance(unroll, bool):
            raise TypeError(f"Scan: unroll must be a bool, it is {unroll!r}.")
        _check_takes("Scan", loop_func, 2)
        items = [None] * (length or 0) if xs is None else list(xs)
        if length is not None and length != len(items):
            raise ValueError(f"Scan: xs has {len(items)} elements, length is {length}.")
        carry, outputs = init, []
        for item in items:
            found = loop_func(carry, item)
            if not isinstance(found, tuple) or len(found) != 2:
                raise ValueError("Scan: loop_func must give a tuple of two, (carry, output).")
            carry = found[0]
            outputs.append(found[1])
        return carry, outputs


def _check_takes(name: str, function: Function, count: int) -> None:
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError as error:
        raise ValueError(f"{name}: loop_func must take {count} arguments; {error}.") from error
    except ValueError:  # a built-in function, which does not tell its parameters
        return


class Depend:
    """``Depend()(value, expr)`` gives ``value`` after ``expr`` was computed.

    What is written in order runs in order here, so that it changes nothing.
    """

    def __call__(self, value: Any, expr: Any) -> Any:
        """Return ``value``."""
        return value


depend = Depend()
"""``depend(value, expr)``: ``value``, after ``expr`` was computed."""


class Partial:
    """``Partial()(function, *args, **kwargs)`` gives the function with arguments filled in."""

    def __call__(self, function: Function, *args: Any, **kwargs: Any) -> Function:
        """Return the function of the arguments that are left."""
        if not callable(function):
            raise TypeError(f"Partial: the function must be callable, it is {function!r}.")
        return functools.partial(function, *args, **kwargs)


partial = Partial()
"""``partial(function, *args, **kwargs)``: the function with arguments filled in."""


class Map:
    """Applies a function to the elements of sequences, one of each at a time.

    Parameters
    ----------
    ops : callable, optional
        The function; without it the call takes it first.
    reverse : bool
        Whether the last elements come first.
    """

    recursive = False

    def __init__(self, ops: Function | None = None, reverse: bool = False) -> None:
        if ops is not None and not callable(ops):
            raise TypeError(f"{type(self).__name__}: ops must be callable, it is {ops!r}.")
        if not isinstance(reverse, bool):
            raise TypeError(f"{type(self).__name__}: reverse must be a bool, it is {reverse!r}.")
        self.ops = ops
        self.reverse = reverse

    def __call__(self, *args: Any) -> Any:
        """Return the results in a sequence like the first one given."""
        function, sequences = (self.ops, args) if self.ops is not None else (args[0], args[1:])
        if not sequences:
            raise TypeError(f"{type(self).__name__} needs at least one sequence.")
        return self._over(function, sequences)

    def _over(self, function: Function, values: tuple[Any, ...]) -> Any:
        first = values[0]
        if not isinstance(first, tuple | list):
            if self.recursive:
                return function(*values)
            raise TypeError(f"Map goes over tuples and lists, not {type(first).__name__}.")
        lengths = {len(v) if isinstance(v, tuple | list) else None for v in values}
        if len(lengths) != 1:
            raise ValueError(
                f"{type(self).__name__}: the sequences must have the same length, they have"
                f" {sorted(map(str, lengths))}."
            )
        rows = list(zip(*values, strict=True))
        order = rows[::-1] if self.reverse else rows
        results = [self._over(function, r) if self.recursive else function(*r) for r in order]
        results = results[::-1] if self.reverse else results
        return results if isinstance(first, list) else tuple(results)


class HyperMap(Map):
    """Applies a function to the elements of sequences, and to those of sequences in them.

    Parameters
    ----------
    ops : callable, optional
        The function; without it the call takes it first.
    reverse : bool
        Whether the last elements come first.
    """

    recursive = True


_KINDS: dict[str, tuple[type, ...]] = {
    "Number": (bool, int, float), "Int": (int,), "Float": (float,), "Bool": (bool,),
    "String": (str,), "Tensor": (Tensor,), "Parameter": (Parameter,), "Ref": (Parameter,),
    "Tuple": (tuple,), "List": (list,), "Dictionary": (dict,), "None": (type(None),),
    "TypeType": (DType,), "RowTensor": (), "Function": (),
}  # fmt: skip


class MultitypeFuncGraph:
    """A function that chooses by the types of its arguments.

    Parameters
    ----------
    name : str
        Its name, told in errors.
    read_value : bool
        Kept for MindSpore's scripts.
    """

    def __init__(self, name: str, read_value: bool = False) -> None:
        self.name = name
        self.read_value = read_value
        self.entries: list[tuple[tuple[Any, ...], Function]] = []

    def register(self, *type_names: Any) -> Callable[[Function], Function]:
        """Return a decorator that registers a function for these types of arguments.

        Parameters
        ----------
        *type_names : str or type
            ``"Number"``, ``"Tensor"``, ``"Tuple"``, ... or Python types.

        Raises
        ------
        TypeError
            If a name is unknown.
        """
        for name in type_names:
            if not isinstance(name, type) and name not in _KINDS:
                raise TypeError(
                    f"{self.name}: there is no type {name!r}; there are {', '.join(_KINDS)}."
                )

        def add(function: Function) -> Function:
            self.entries.append((type_names, function))
            return function

        return add

    def __call__(self, *args: Any) -> Any:
        """Run the function that fits the arguments."""
        for types, function in self.entries:
            if len(types) == len(args) and all(map(_fits, args, types)):
                return function(*args)
        given = ", ".join(type(arg).__name__ for arg in args)
        known = "; ".join(
            ", ".join(t if isinstance(t, str) else t.__name__ for t in types)
            for types, _ in self.entries
        )
        raise TypeError(f"{self.name} has no function for ({given}); it has them for {known}.")

    def __repr__(self) -> str:
        return f"MultitypeFuncGraph<{self.name}>"


def _fits(value: Any, kind: Any) -> bool:
    if isinstance(kind, type):
        return isinstance(value, kind)
    if kind == "Function":
        return callable(value)
    return isinstance(value, _KINDS[kind])
