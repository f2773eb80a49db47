"""The op table: what an op is, how one is declared, and the one way by which ops run.

An op is declared once, by the decorator ``op`` over its public function. The function's body only
prepares the call: it returns the tensors and the attributes to apply the op to.

    @op(infer=same, kernel=np.tanh, grad=..., lowering=Pointwise(lambda b, x: b.tanh(x)), ...)
    def tanh(input: TensorLike) -> Call:
        '''Return the hyperbolic tangent ...'''
        return (as_float(input),), {}
"""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ParamSpec

import numpy as np

from .. import origin as origins
from ..tensor import Tensor, wrap
from .bfloat16_kernels import NARROW, run_widened
from .protocols import Entry, Recorder, Tracer
from .spellings import other_spellings

P = ParamSpec("P")
Attrs = dict[str, Any]
Call = tuple[tuple[Tensor, ...], Attrs]
"""What an op's function prepares: the input tensors and the attributes."""


@dataclass(frozen=True, slots=True)
class Pointwise:
    """One output element from one element of each input, broadcast.

    ``expr(b, *args, **attrs)`` builds the expression, where ``b`` offers the functions of
    ``kernels.expressions``: ``b.call("exp", x)``, ``b.select(condition, x, y)``,
    ``b.const(value, dtype)`` and ``b.cast(x, dtype)`` with NumPy dtypes. Operators work on
    expressions too, and Python numbers beside an expression take its dtype.
    """

    expr: Callable[..., Any]

    @staticmethod
    def of(name: str) -> Pointwise:
        """Return the lowering of an op that is one scalar function of ``kernels.expressions``."""
        return Pointwise(lambda b, *args: b.call(name, *args))


@dataclass(frozen=True, slots=True)
class Reduce:
    """A reduction over ``axis`` (a tuple, or None for all) with ``keepdims``."""

    kind: str
    """``sum``, ``max``, ``min`` or ``prod``."""


@dataclass(frozen=True, slots=True)
class View:
    """Another arrangement of the same elements; no arithmetic."""


@dataclass(frozen=True, slots=True)
class Gemm:
    """A contraction like that of ``matmul``."""


@dataclass(frozen=True, slots=True)
class Composite:
    """An op made of other ops; ``fn(*tensors, **attrs)`` runs them."""

    fn: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Host:
    """An op that the compiler leaves to its NumPy kernel, and why.

    ``is_native`` tells of a loop over a graph whether its kernel is one call of machine code.
    """

    reason: str
    is_native: Callable[[], bool] | None = None


Lowering = Pointwise | Reduce | View | Gemm | Composite | Host


Grads = tuple[Tensor | None, ...]
"""What a gradient rule gives: one gradient an input, None where it has none."""


@dataclass(slots=True)
class GradContext:
    """What a gradient rule sees: one use of an op and the gradients of its outputs."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    douts: tuple[Any, ...]
    """Gradient of each output; None where no gradient flows back."""
    attrs: Attrs
    needs: tuple[bool, ...]
    """Whether each input's gradient is wanted; a rule may give None for the others."""

    @property
    def dout(self) -> Tensor:
        """Gradient of the first output."""
        return self.douts[0]


GradRule = Callable[[GradContext], Any]
"""Gives a tuple with a gradient or None for each input, or NotImplemented where the op's
expansion should be derived instead."""


@dataclass(frozen=True, eq=False, slots=True)
class Op:
    """One row of the op table.

    Parameters
    ----------
    name : str
        The function's name.
    inputs : tuple of str
        Names of the tensors it takes, optional ones last.
    attrs : dict
        Attributes and their defaults.
    category : str
        The family it is listed in.
    infer : callable
        The shape rule, ``infer(*avals, **attrs)``.
    kernel : callable
        NumPy's computation, ``kernel(*arrays, **attrs)``.
    grad : callable, optional
        The gradient rule, written in ops.
    lowering : Lowering
        How the compiler sees it.
    primitive : str
        The name of its primitive class.
    doc : str
        The function's docstring.
    function : callable
        The public function.
    variadic : bool
        Whether it takes any number of tensors.
    signature : inspect.Signature
        The public function's signature.

    Notes
    -----
    A composite op without a gradient rule is derived through its expansion; another op without
    one has the gradient zero.
    """

    name: str
    inputs: tuple[str, ...]
    attrs: Attrs
    category: str
    infer: Callable[..., Any]
    kernel: Callable[..., Any]
    grad: GradRule | None
    lowering: Lowering
    primitive: str
    doc: str
    function: Callable[..., Any] = field(repr=False)
    variadic: bool = False
    signature: inspect.Signature = field(default_factory=inspect.Signature, repr=False)

    def __repr__(self) -> str:
        return f"Op({self.name})"

    @property
    def has_grad(self) -> bool:
        """Whether gradients flow back through this op."""
        return self.grad is not None or self.lowering.__class__ is Composite

    def __reduce__(self) -> tuple[Any, ...]:
        return (_op_named, (self.name,))


OPS: dict[str, Op] = {}
"""The op table, by name."""


def _op_named(name: str) -> Op:
    return OPS[name]


records: list[Recorder] = []
"""Active records of all threads: empty where nothing is recorded at all, which is quick to ask.
The list object never changes, so that others may hold it."""


class _Own(threading.local):
    """This thread's active records, innermost last."""

    def __init__(self) -> None:
        self.records: list[Recorder] = []


_own = _Own()
traces: list[Tracer] = []
"""Active traces; the last one takes every op. The list object never changes."""
EagerCompiler = Callable[[Op, tuple[np.ndarray, ...], Attrs], Any]
_eager: list[EagerCompiler] = []
_find: list[EagerCompiler] = []

# Fast paths call NumPy without errstate, which costs more than the op: Inf and NaN are values.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"cellwire\.engine\.ops\.")


@contextmanager
def tracing(tracer: Tracer) -> Iterator[None]:
    """Give every op of the body to ``tracer``."""
    traces.append(tracer)
    try:
        yield
    finally:
        traces.remove(tracer)


def active_records() -> list[Recorder]:
    """Return the records that log the ops of this thread, innermost last."""
    return _own.records


def start_record(record: Recorder) -> None:
    """Let a record log this thread's ops until ``end_record``."""
    _own.records.append(record)
    records.append(record)


def end_record(record: Recorder) -> None:
    """Stop what ``start_record`` started."""
    _own.records.remove(record)
    records.remove(record)


@contextmanager
def only_records(chosen: list[Recorder]) -> Iterator[None]:
    """Let no other records than the chosen ones log this thread's ops in the body."""
    outer = _own.records
    for record in outer:
        records.remove(record)
    _own.records = chosen
    records.extend(chosen)
    try:
        yield
    finally:
        for record in chosen:
            records.remove(record)
        _own.records = outer
        records.extend(outer)


def active_trace() -> Tracer | None:
    """Return the trace that takes ops now, or None."""
    return traces[-1] if traces else None


def own_trace() -> Tracer | None:
    """Return the trace that holds this thread's ops instead of running them, or None.

    What only casts the inputs of ops, as mixed precision does, is looked through.
    """
    found = traces[-1].taker() if traces else None
    return found if found is not None and found.thread == threading.get_ident() else None


def set_eager_compiler(compiler: EagerCompiler | None, find: EagerCompiler | None = None) -> None:
    """Let ``compiler(op, arrays, attrs)`` run composites and products; None is to decline.

    ``find`` takes the same and returns the function of arrays that runs such calls, or None.
    """
    _eager[:] = [] if compiler is None else [compiler]
    _find[:] = [] if find is None else [find]


def find_kernel(op: Op, tensors: tuple[Tensor, ...], attrs: Attrs) -> Any:
    """Return compiled code for calls like this one, to be kept; None where there is none yet."""
    return _find[0](op, tuple([tensor.data for tensor in tensors]), attrs) if _find else None


def apply(op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    """Run one op on tensors: the one way in.

    An active trace emits a node; otherwise the kernel runs. Then every active record logs it.

    Parameters
    ----------
    op : Op
        A row of the op table.
    inputs : tuple of Tensor
        What it takes, as the op's function prepares it.
    attrs : dict
        All its attributes by name.

    Returns
    -------
    Tensor or tuple of Tensor
        Its outputs.
    """
    if traces:
        tracer = traces[-1]
        result = tracer.emit(op, inputs, attrs)
        if tracer.logs:
            return result
    else:
        result = run_now(op, inputs, attrs)
    if records:
        log(op, inputs, result if result.__class__ is tuple else (result,), attrs)
    return result


_new_entry = tuple.__new__


def log(op: Op, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], attrs: Attrs) -> None:
    """Tell the active records of one op that ran."""
    # as Entry(...), in half the time
    entry = _new_entry(Entry, (op, inputs, outputs, attrs, origins.active))
    for record in _own.records:
        record.entries.append(entry)


_COMPILED = (Composite, Gemm)


def run_now(op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    """Run one op by its kernel, whatever traces and records."""
    arrays = tuple([tensor.data for tensor in inputs])
    try:
        result = None
        if _eager and op.lowering.__class__ in _COMPILED:
            result = _eager[0](op, arrays, attrs)
        if result is None and op.lowering.__class__ is View:
            result = op.kernel(*arrays, **attrs)  # moves numbers only: nothing to warn of
        elif result is None:
            result = run_kernel(op, arrays, attrs)
    except (ValueError, TypeError, IndexError):
        # The shape rule explains the mistake in terms of the op; else NumPy's error stands.
        op.infer(*(tensor.aval for tensor in inputs), **attrs)
        raise
    if result.__class__ is tuple:
        return tuple([wrap(np.asarray(array)) for array in result])
    return wrap(np.asarray(result))


@np.errstate(all="ignore")
def run_kernel(op: Op, arrays: tuple[np.ndarray, ...], attrs: Attrs) -> Any:
    """Run the op's NumPy kernel; overflow and NaN are values here, not warnings."""
    for array in arrays:
        if array.dtype == NARROW and op.lowering.__class__ is not View and op.name in OPS:
            return run_widened(op.kernel, op.infer, arrays, attrs)
    return op.kernel(*arrays, **attrs)


def note_write(
    tensor: Tensor, before: np.ndarray | None = None, part: np.ndarray | None = None
) -> None:
    """Tell the active records that the tensor's memory is about to be written to.

    ``before`` is a copy of it, with which gradients of what read it stay right; ``part`` is a
    view of what changes, if that is not all.
    """
    for record in _own.records:
        record.note_write(tensor, before, part)


def op(
    *,
    infer: Callable[..., Any],
    kernel: Callable[..., Any],
    lowering: Lowering,
    category: str,
    grad: GradRule | None = None,
    primitive: str | None = None,
    inputs: tuple[str, ...] | None = None,
    variadic: bool = False,
    method: bool = False,
    fast: Callable[[Op, Callable[..., Call]], Callable[..., Any]] | None = None,
) -> Callable[[Callable[P, Call]], Callable[P, Any]]:
    """Declare an op from the function that prepares its calls.

    ``inputs`` defaults to the parameters without a default value, the rest are attributes.
    ``method`` makes the function a method of Tensor as well. ``fast`` makes the public function
    of a hot op, given the op and the preparing function.
    """

    def declare(prepare: Callable[P, Call]) -> Callable[P, Any]:
        signature = inspect.signature(prepare)
        name = prepare.__name__.rstrip("_")
        names = inputs
        if names is None:
            parameters = signature.parameters.values()
            names = tuple(p.name for p in parameters if p.default is p.empty)
        attrs = {p.name: p.default for p in signature.parameters.values() if p.name not in names}
        entry = Op(
            name, names, attrs, category, infer, kernel, grad, lowering,
            primitive or "".join(part.capitalize() for part in name.split("_")),
            inspect.getdoc(prepare) or "", prepare, variadic, signature,
        )  # fmt: skip
        if name in OPS:
            raise ValueError(f"the op {name!r} is declared twice.")
        call = _prepared(entry, prepare) if fast is None else fast(entry, prepare)
        function = functools.update_wrapper(call, prepare)
        object.__setattr__(entry, "function", function)
        OPS[name] = entry
        if method:
            setattr(Tensor, name, function)
        return function

    return declare


def _prepared(entry: Op, prepare: Callable[..., Call]) -> Callable[..., Any]:
    others = other_spellings(entry.signature.parameters)

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs and others:
            given, kwargs = kwargs, {others.get(name, name): kwargs[name] for name in kwargs}
            if len(kwargs) < len(given):
                raise TypeError(f"{entry.name}: {', '.join(given)} name a parameter twice.")
        inputs, attrs = prepare(*args, **kwargs)
        return apply(entry, inputs, attrs)

    return call


def checked(infer: Callable[..., Any], inputs: tuple[Tensor, ...], attrs: Attrs) -> Call:
    """Return the call, after asking the shape rule: for kernels that broadcast more than it."""
    infer(*[tensor.aval for tensor in inputs], **attrs)
    return inputs, attrs
