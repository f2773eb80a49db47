"""Making one specialisation: trace a call's code, then compile the graph that came of it.

What `jitted.py` does at a new kind of call: the stages `trace` and `plan`, in this order.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import random as streams
from ..shape import Aval
from ..tensor import Tensor
from ..unwatched import unwatched
from .arguments import check_promoted, check_unchanged, input_tensors, inputs_among, is_input
from .chains import Chain
from .graph import Graph
from .guards import Reads
from .host_numbers import HostNumber
from .journal import MAX_RESTARTS, Journal, Restart, containers_of, journaling
from .openings import Openings
from .plan import Plan, compile_graph
from .replay import Effects
from .specialisation import Specialisation, with_outcomes, writes_in_place
from .structure import Known, flatten, opaque_part, unflatten
from .trace import TracedCall, is_tensor, trace
from .traced import TraceBreak, Traced
from .watch import watching


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of one call, taken apart."""

    leaves: list[Any]
    structure: object
    promoted: tuple[int, ...] = ()
    """Positions of the floats that are inputs of the graph."""
    openings: Openings = field(default_factory=Openings)
    """What is known of the function's writes to what is outside."""

    @property
    def tensors(self) -> list[Tensor]:
        """The inputs of the graph."""
        return input_tensors(self.leaves, self.promoted)


@dataclass(frozen=True, slots=True)
class Made:
    """What tracing a call gave: the graph, and what the code read from outside."""

    call: TracedCall
    reads: Reads
    seconds: float
    plan: Callable[[Graph, dict[int, int]], Plan] | None = None
    """What makes the plan, where one may serve several sizes; given the graph and its writes."""
    effects: Effects | None = None
    """What each call does beside the graph."""

    def holds(self) -> bool:
        """Return whether everything outside is such as the trace relied on."""
        return self.reads.hold() and (self.effects is None or self.effects.hold())


class EffectsBeforeError(Exception):
    """The code raises an error after effects, or its plan does: only eager code does both."""


def trace_call(
    function: Callable[..., Any], arguments: Arguments, avals: Sequence[Aval] | None = None
) -> Made:
    """Trace ``function`` on these arguments; ``avals`` may leave sizes of its inputs open.

    It is traced again where a write shows to what may have been read before.
    """
    saved = streams.state().save()
    for _ in range(MAX_RESTARTS):
        try:
            return _traced(function, arguments, avals)
        except Restart:
            streams.state().restore(saved)
    raise TraceBreak("it writes to ever more places outside", "return the values instead")


def _traced(
    function: Callable[..., Any], arguments: Arguments, avals: Sequence[Aval] | None
) -> Made:
    started = time.perf_counter()
    leaves, promoted, tensors = arguments.leaves, arguments.promoted, arguments.tensors
    journal = Journal(arguments.openings)
    reads = Reads(journal=journal, where=_location(function))
    reads.functions.learn(function)
    if isinstance(function, functools.partial):
        reads.add(Chain(function, "object", name_of(function)), function)
    call = _WatchedCall(function, arguments, reads, journal)
    traced = trace(call, avals or [t.aval for t in tensors], [t.data for t in tensors], call)
    if call.effects is not None:
        call.effects.tensors.clear()  # they would keep all of the trace
    part = opaque_part(traced.structure)
    if part is not None:
        raise TraceBreak(
            f"the result holds a {type(part).__name__}, which a graph cannot make",
            "return tensors, numbers and text, in tuples, lists and dictionaries",
            _location(function),
        )
    check_promoted(traced, [i in promoted for i in inputs_among(leaves, promoted)])
    return Made(traced, reads, time.perf_counter() - started, effects=call.effects)


@dataclass(slots=True)
class _WatchedCall:
    """Calls the function on traced tensors, while it is watched and its effects are noted."""

    function: Callable[..., Any]
    arguments: Arguments
    reads: Reads
    journal: Journal
    effects: Effects | None = None

    def __call__(self, traced: Sequence[Tensor]) -> Any:
        structure, promoted = self.arguments.structure, self.arguments.promoted
        rest = iter(traced)
        filled = [
            next(rest) if is_input(leaf, i, promoted) else leaf
            for i, leaf in enumerate(self.arguments.leaves)
        ]
        self.reads.promoted = {id(filled[i]) for i in promoted}
        args, kwargs = unflatten(structure, filled)  # pyright: ignore[reportGeneralTypeIssues]
        self.journal.given = containers_of((args, kwargs))
        given = {id(tensor): position for position, tensor in enumerate(traced)}
        with watching(self.reads), journaling(self.journal):
            result = self._result(args, kwargs)
            with unwatched():
                for number in _numbers_in(result):
                    self.journal.settle(number, "returned")
                self.reads.meet_loose()
                shown = self._with_known(result, given)
                self.effects = self.journal.collect(result, shown, given, self.reads.promoted)
        check_unchanged((args, kwargs), filled, structure)
        return shown if self.effects is None else (shown, self.effects.tensors)

    def _with_known(self, result: Any, given: Mapping[int, int]) -> Any:
        """Return the result with places for the tensors in it that the plan need not make."""
        trace = self.journal.trace
        leaves, structure = flatten(result, is_tensor)
        places: list[object] = []
        written = self.journal.tensor_places()
        first: dict[int, int] = {}
        for leaf in leaves:
            assert isinstance(leaf, Tensor)
            position = given.get(id(leaf))
            if isinstance(leaf, Traced):
                same = position is not None and trace.arguments[position] is leaf.ssa
                if same and id(leaf) not in self.reads.promoted:
                    places.append(Known("argument", position))
                    continue
                if id(leaf) in written:
                    places.append(Known("place", written[id(leaf)]))
                    continue
            elif id(leaf) not in trace.made:
                places.append(Known("outside", leaf))
                continue
            if id(leaf) in first:
                places.append(Known("leaf", first[id(leaf)]))
            else:
                first[id(leaf)] = len(first)
                places.append(leaf)
        return unflatten(structure, places)

    def _result(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        try:
            return self.function(*args, **kwargs)
        except TraceBreak:
            raise
        except Exception as error:
            if isinstance(error, TypeError) and HostNumber.__name__ in str(error):
                raise TraceBreak(
                    "a number from outside is given to a function of Python's own numbers alone",
                    "use it in arithmetic and comparisons only, or keep it in a tensor",
                    _location(self.function),
                ) from None
            if self.journal.has_effects():
                raise EffectsBeforeError from error
            raise


def _numbers_in(result: Any) -> list[Any]:
    """Return the numbers from outside that a result holds."""
    return flatten(result, lambda part: type(part) is HostNumber)[0]


def compile_call(made: Made, arguments: Arguments) -> Specialisation:
    """Compile a traced call whose sizes are all numbers."""
    started = time.perf_counter()
    guards = made.call.guards
    traced = with_outcomes(made.call) if guards else made.call
    count = len(inputs_among(arguments.leaves, arguments.promoted))
    late = made.effects is not None and made.effects.program.asks_late
    writes = {} if guards or late else writes_in_place(traced, count)
    if made.plan is None:
        plan = compile_graph(traced.graph, writes=writes)
    else:
        plan = made.plan(traced.graph, writes)
    seconds = made.seconds + time.perf_counter() - started
    promoted = arguments.promoted
    return Specialisation(traced, made.reads, guards, promoted, plan, seconds, made.effects)


def _location(function: Any) -> str | None:
    code = getattr(getattr(function, "construct", function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else None


def name_of(function: object) -> str:
    """Return what messages call a function."""
    return getattr(function, "__name__", type(function).__name__)
