"""What one node gives for given inputs: shapes, resolved parameters, cost, or what is wrong.

A Cell or op is run on abstract values, so that no shape rule is written twice.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import msgspec

from ..engine.compiler.trace import trace
from ..engine.compiler.traced import TraceBreak
from ..engine.dtype import float32, int32
from ..engine.random import RandomState, using
from ..engine.run.units import packed
from ..engine.shape import Aval, ShapeError, element_count
from .cost import Cost, cost_of
from .inspection import HABITS, Habit
from .library import LIBRARY
from .spec import NodeSpec, Params

Inputs = tuple[tuple[str, Aval | None], ...]
"""Port and aval of each input in the node's order; None where nothing is wired."""
EVALUATION_ERRORS = (ShapeError, ValueError, TypeError, IndexError, KeyError, TraceBreak)
CACHE_SIZE = 4096


@dataclass(frozen=True)
class Finding:
    """Something wrong with a node, at a port or as a whole, and what to do."""

    message: str
    fix: str = ""
    port: str | None = None
    severity: str = "error"


@dataclass(frozen=True)
class Outcome:
    """What a node gives: avals by output port, parameters with the auto ones found, cost."""

    outputs: Mapping[str, Aval] = field(default_factory=dict)
    params: Params = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)
    findings: tuple[Finding, ...] = ()


def check_params(spec: NodeSpec, params: Params) -> tuple[Finding, ...]:
    """What is wrong with a node's parameters taken alone."""
    found: list[Finding] = []
    for param in spec.params:
        problem = param.problem(params.get(param.name, param.default))
        if problem is not None:
            found.append(Finding(problem, f"Set {param.name} in the inspector."))
    for name in sorted(params.keys() - {param.name for param in spec.params}):
        message = f"{spec.title} has no parameter {name}; it is kept and not used."
        found.append(Finding(message, severity="warning"))
    return tuple(found)


def evaluate(spec: NodeSpec, params: Params, inputs: Inputs) -> Outcome:
    """Run a Cell, op or loss on its inputs' avals, and find its auto parameters from them."""
    return _evaluate(spec.type, msgspec.json.encode(spec.filled(params)), inputs)


@lru_cache(CACHE_SIZE)
def _evaluate(type: str, encoded: bytes, inputs: Inputs) -> Outcome:
    spec, params = LIBRARY[type], msgspec.json.decode(encoded)
    outcome, error = _attempt(spec, params, inputs)
    if error is None:
        return outcome
    return replace(outcome, findings=(_explain(spec, params, inputs, error),))


def _attempt(
    spec: NodeSpec, params: dict[str, Any], inputs: Inputs
) -> tuple[Outcome, Exception | None]:
    """The outcome with the first guess of the auto parameters that fits, else the first error."""
    first_error: Exception | None = None
    for guess in _guesses(spec, params, inputs):
        try:
            return _run(spec, guess, inputs), None
        except EVALUATION_ERRORS as error:
            first_error = first_error or error
    return Outcome(params=params), first_error or _UnresolvedError(
        _unresolved(spec, params, inputs)
    )


class _UnresolvedError(ValueError):
    """An auto parameter that the wires do not tell."""


class _ResultsError(ValueError):
    """A parameter adds or drops a result, and a node's outputs stay what they are."""


def _run(spec: NodeSpec, params: dict[str, Any], inputs: Inputs) -> Outcome:
    if spec.make is None:
        raise TypeError(f"{spec.title} computes nothing from inputs.")
    given = [aval for _, aval in inputs if aval is not None]
    with using(RandomState()):
        call = spec.make(params)
        traced = trace(_on_given(call, inputs, spec.packs), given)
    results = [value.aval for value in traced.graph.outputs[: traced.results]]
    if len(results) != len(spec.outputs):
        raise _ResultsError(
            f"{spec.title} gives {len(results)} results with these parameters, but a node of its "
            f"kind has {len(spec.outputs)}"
        )
    outputs = {port.name: aval for port, aval in zip(spec.outputs, results, strict=True)}
    return Outcome(outputs, params, cost_of(call, traced))


def _on_given(
    call: Callable[..., object], inputs: Inputs, packs: tuple[str, ...]
) -> Callable[..., object]:
    """`call` as a function of the wired inputs alone; the others are None, left off at the end."""
    wired = [aval is not None for _, aval in inputs]
    while wired and not wired[-1]:
        wired.pop()

    def on_given(*tensors: object) -> object:
        rest = iter(tensors)
        return call(*packed([next(rest) if is_wired else None for is_wired in wired], packs))

    return on_given


def _guesses(spec: NodeSpec, params: dict[str, Any], inputs: Inputs) -> list[dict[str, Any]]:
    """The parameters with each value that the auto ones may take from the first input."""
    guesses = [params]
    for param in spec.params:
        if not param.auto or params[param.name] is not None:
            continue
        sizes = _sizes(inputs, HABITS[param.name])
        values = [[size] if param.kind == "shape" else size for size in sizes]
        guesses = [guess | {param.name: value} for guess in guesses for value in values]
    return guesses


def _sizes(inputs: Inputs, habit: Habit) -> list[int]:
    aval = inputs[habit.source][1] if habit.source < len(inputs) else None
    if aval is None:
        return []
    fitting = [axis for axis in habit.axes if -aval.ndim <= axis < aval.ndim]
    sizes = [aval.shape[axis] for axis in fitting]
    return list(dict.fromkeys(size for size in sizes if isinstance(size, int)))


def _unresolved(spec: NodeSpec, params: dict[str, Any], inputs: Inputs) -> str:
    names = [p.name for p in spec.params if p.auto and params[p.name] is None]
    return f"{' and '.join(names)} cannot be taken from the wires: {_given(inputs)}"


def _explain(spec: NodeSpec, params: dict[str, Any], inputs: Inputs, error: Exception) -> Finding:
    """An error in terms of the node's ports and shapes, with a fix that was tried out."""
    if isinstance(error, TraceBreak):
        return Finding(
            f"{spec.title} needs values to know its shape: {error.reason}.", error.advice
        )
    message = str(error).rstrip(".") or type(error).__name__
    given = "" if isinstance(error, _UnresolvedError) else f" ({_given(inputs)})"
    return Finding(f"{message}{given}.", _fix(spec, params, inputs, error), _port(inputs))


def _fix(spec: NodeSpec, params: dict[str, Any], inputs: Inputs, error: Exception) -> str:
    """The first of some usual remedies under which the node works, in words."""
    if isinstance(error, _ResultsError):
        return "Set back the parameter that adds or drops a result."
    for param in spec.params:
        if param.auto and params[param.name] is None and isinstance(error, _UnresolvedError):
            return f"Set {param.name}, or feed the node a tensor that has that size."
        if param.auto and params[param.name] is not None:
            outcome, still = _attempt(spec, params | {param.name: None}, inputs)
            if still is None:
                found = outcome.params[param.name]
                return f"Set {param.name} to {found}, or clear it to take it from the wire."
    for sentence, change in _REMEDIES:
        for index, (port, aval) in enumerate(inputs):
            changed = None if aval is None else change(aval)
            if changed is None or changed == aval:
                continue
            tried = (*inputs[:index], (port, changed), *inputs[index + 1 :])
            auto = {p.name: None for p in spec.params if p.auto}
            if any(_attempt(spec, params | known, tried)[1] is None for known in ({}, auto)):
                return sentence.format(port=port)
    return "Change the node's parameters, or what feeds it, so that the shapes fit."


def _as_float(aval: Aval) -> Aval:
    return Aval(aval.shape, float32)


def _as_labels(aval: Aval) -> Aval:
    return Aval(aval.shape, int32)


def _flattened(aval: Aval) -> Aval | None:
    if aval.ndim < 3:
        return None
    return Aval((aval.shape[0], element_count(aval.shape[1:])), aval.dtype)


_REMEDIES: tuple[tuple[str, Callable[[Aval], Aval | None]], ...] = (
    ("Put a Scale or Cast node before {port}: it takes float32.", _as_float),
    ("Put a Flatten node before {port}: it takes rows of numbers.", _flattened),
    ("Put a Cast node to int32 before {port}: it takes whole numbers.", _as_labels),
)


def _given(inputs: Inputs) -> str:
    return ", ".join(f"{port} is {aval}" for port, aval in inputs if aval is not None)


def _port(inputs: Inputs) -> str | None:
    wired = [port for port, aval in inputs if aval is not None]
    return wired[0] if len(wired) == 1 else None
