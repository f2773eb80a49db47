"""``jit``: compile functions, methods, Cells and Cell classes.

The way in. `jitted.py` is what it returns, `options.py` what it takes.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from .jitted import MAX_PATHS, MAX_SPECIALISATIONS, Jitted
from .kept import kept_for
from .options import check_options, open_axes
from .reasons import Explanation, JitError, JitWarning

__all__ = [
    "MAX_PATHS",
    "MAX_SPECIALISATIONS",
    "Explanation",
    "JitError",
    "JitWarning",
    "Jitted",
    "call_compiled",
    "explain",
    "jit",
]


def jit(
    function: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    input_signature: Any = None,
    dynamic: int = 0,
    background: bool = False,
    **options: Any,
) -> Any:
    """Compile a function, method, Cell or Cell class.

    Parameters
    ----------
    function : callable or class
        A function of tensors, a Cell, a bound method, or a Cell class, whose ``construct`` is
        compiled then. Without it, ``jit(...)`` is a decorator.
    fullgraph : bool
        Whether a reason not to compile is an error (``JitError``) that names file and line. By
        default the call runs eagerly and the reason is reported once, as a ``JitWarning``.
    input_signature : Tensor, TensorSpec or sequence of them, optional
        Shapes and dtypes that every call must have.
    dynamic : {0, 1}
        Whether all sizes are open from the first call on: the code is traced once for sizes that
        it does not ask for. By default a size is open from the second one on that is seen.
    background : bool
        Whether calls run eagerly while a worker thread compiles what was traced of them; by
        default a call waits until its code is compiled. ``jit.explain`` and the plan's report
        tell how many calls ran eagerly; ``.wait()`` waits for what is under way.
    **options
        MindSpore's other options of both eras: ``capture_mode`` ("ast", "bytecode", "trace"),
        ``jit_level`` ("O0", "O1"), ``backend`` ("ms_backend", "GE"), ``mode`` ("PSJit", "PIJit"),
        ``exec_order``, ``infer_boost``, ``jit_config``, ``hash_args``, ``compile_once``, …, which
        choose between ways of compiling that Cellwire does not have; they are checked and have
        no effect.

    Returns
    -------
    Jitted
        Gives the same results as ``function``.

    Raises
    ------
    TypeError
        If an option is unknown or ``function`` is not callable.
    ValueError
        If an option's value is none of those.
    """
    check_options({"fullgraph": fullgraph, "dynamic": dynamic, "background": background, **options})
    settings: dict[str, Any] = {
        "fullgraph": fullgraph, "input_signature": input_signature, "dynamic": dynamic,
        "background": background,
    }  # fmt: skip
    if function is None:
        return functools.partial(jit, **settings)
    if inspect.isclass(function):
        cell: Any = function
        compiled = Jitted(cell.construct, **settings)
        return type(function.__name__, (function,), _class_body(function, compiled))
    if not callable(function):
        raise TypeError(f"jit compiles functions and Cells, not {type(function).__name__}")
    owner = getattr(function, "__self__", None)
    if isinstance(function, types.MethodType) and _keeps(owner) and input_signature is None:
        key = ("method", function.__func__, fullgraph, dynamic, background)
        return kept_for(owner, key, lambda: Jitted(function, **settings))
    return Jitted(function, **settings)


def _keeps(owner: object) -> bool:
    """Return whether what is compiled for a method can go with its object."""
    return hasattr(owner, "__dict__") and not isinstance(owner, type | types.ModuleType)


def _class_body(cls: type, compiled: Jitted) -> dict[str, Any]:
    return {"construct": compiled, "__module__": cls.__module__, "__doc__": cls.__doc__}


def explain(function: Callable[..., Any]) -> Callable[..., Explanation]:
    """Return a function that takes ``function``'s arguments and tells how it would compile."""
    compiled = function if isinstance(function, Jitted) else Jitted(function)
    return compiled.explain


jit.explain = explain  # pyright: ignore[reportFunctionMemberAccess]


def call_compiled(cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a Cell as graph mode does: compiled, each Cell object once for each situation."""
    return kept_for(cell, "graph mode", lambda: _in_graph_mode(cell))(*args, **kwargs)


def _in_graph_mode(cell: Any) -> Jitted:
    compiled = Jitted(cell.eager_call)
    compiled.open_axes = open_axes(cell.get_inputs() or ())
    return compiled
