"""The options of ``jit``, of both eras of MindSpore, and what they may be.

`jit.py` checks them before anything is compiled; `open_sizes.py` is what sizes are open for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..shape import SymDim
from ..tensor import Tensor, TensorSpec

Function = TypeVar("Function", bound=Callable[..., Any])

CHOICES: dict[str, tuple[Any, ...]] = {
    "backend": ("", "ms_backend", "GE"),
    "capture_mode": ("ast", "bytecode", "trace"),
    "dynamic": (0, 1),
    "exec_order": ("bfs", "dfs"),
    "infer_boost": ("on", "off"),
    "jit_level": ("", "O0", "O1"),
    "mode": ("PSJit", "PIJit"),
}
SWITCHES = ("background", "compile_once", "disable_format_transform", "fullgraph")
FREE = ("ge_options", "hash_args", "jit_config")
OPTIONS = sorted((*CHOICES, *SWITCHES, *FREE, "input_signature"))

Axes = frozenset[tuple[int, int]]
"""Axes by the input's number and their own."""


def check_options(options: dict[str, Any]) -> None:
    """Refuse options that ``jit`` does not have, and values that they cannot be.

    Raises
    ------
    TypeError
        If an option is unknown, or a switch is no bool.
    ValueError
        If a value is none of the option's.
    """
    for name, value in options.items():
        if name not in OPTIONS:
            raise TypeError(f"jit has no option {name!r}; it knows {OPTIONS}")
        if name in SWITCHES and not isinstance(value, bool):
            raise TypeError(f"jit: {name} must be True or False, not {value!r}")
        if name in CHOICES and (value not in CHOICES[name] or isinstance(value, bool)):
            raise ValueError(f"jit: {name} must be one of {list(CHOICES[name])}, not {value!r}")


def enable_dynamic(**specs: Any) -> Callable[[Function], Function]:
    """Declare sizes of a function's tensor arguments open, for ``jit`` around it.

    Such sizes are open from the first call on; without it a size is from the second one on.

    Parameters
    ----------
    **specs : TensorSpec or Tensor
        What each named argument is like: ``x=Tensor(shape=[None, 3], dtype=float32)``. Compiled
        calls with other shapes or dtypes are errors.

    Returns
    -------
    callable
        Decorator that notes it on the function.

    Raises
    ------
    TypeError
        If a value is neither a spec nor a tensor.
    ValueError
        If nothing is named, or the function has no such argument.
    """
    if not specs:
        raise ValueError("enable_dynamic needs the arguments whose sizes are open: x=TensorSpec(…)")
    for name, spec in specs.items():
        if not isinstance(spec, TensorSpec | Tensor):
            raise TypeError(f"enable_dynamic: {name} must be a TensorSpec, not {spec!r}")

    def note(function: Function) -> Function:
        names = _argument_names(function)
        for name in specs:
            if name not in names:
                raise ValueError(f"enable_dynamic: the function has no argument {name!r}: {names}")
        function.__dict__["open_inputs"] = {names.index(n): spec for n, spec in specs.items()}
        return function

    return note


def _argument_names(function: Callable[..., Any]) -> list[str]:
    code = getattr(function, "__code__", None)
    if code is None:
        raise ValueError("enable_dynamic decorates functions and methods, below jit")
    names = list(code.co_varnames[: code.co_argcount])
    return names[1:] if names[:1] == ["self"] else names


def open_axes(specs: Sequence[Any]) -> Axes:
    """Return the axes that specs of the inputs, in order, leave open."""
    return frozenset(
        (number, axis)
        for number, spec in enumerate(specs)
        if isinstance(spec, TensorSpec)
        for axis, dim in enumerate(spec.shape)
        if isinstance(dim, SymDim)
    )
