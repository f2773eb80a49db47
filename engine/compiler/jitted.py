"""Compiled callables: Python code traced once per situation and run as a plan.

A call looks for a specialisation whose shapes, scalars and guards fit. If there is none, the
code runs once on traced tensors. What cannot be compiled runs eagerly, with a reason.
"""

from __future__ import annotations

import functools
import time
import types
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import random as streams
from ..ops import registry
from ..ops.registry import OPS
from ..parameter import Parameter
from ..shape import Aval
from ..tensor import Tensor, wrap
from .chains import Chain, Held, TooLargeError, snapshot
from .graph import Graph
from .graph_op import GraphOp
from .guards import Reads
from .plan import Plan, compile_graph, whole
from .report import Report
from .structure import LEAF, flatten, opaque_part, unflatten
from .trace import OutcomeGuard, RandomKey, TraceBreak, TracedCall, is_tracing, trace
from .watch import watching

MAX_PATHS = 8
"""Paths through Python branches compiled for one situation before it runs eagerly."""
MAX_SPECIALISATIONS = 64
"""Specialisations kept by one compiled function; the least recently used goes first."""


class JitError(RuntimeError):
    """A reason not to compile, under ``fullgraph=True``."""


class JitWarning(UserWarning):
    """A compiled function runs eagerly, and why."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What ``jit.explain`` tells: the report of the plan, or the reason why there is none."""

    report: Report | None
    reason: str | None
    graph: Graph | None
    specialisations: int

    def __str__(self) -> str:
        return str(self.report) if self.report is not None else f"runs eagerly: {self.reason}"


@dataclass(slots=True)
class Specialisation:
    """One traced path: the plan and everything that must hold for it to be the right one."""

    call: TracedCall
    reads: Reads
    outcomes: tuple[OutcomeGuard, ...]
    promoted: tuple[int, ...]
    plan: Plan
    seconds: float
    recorded: GraphOp | None = None
    gradient_reads: Reads = field(default_factory=Reads)
    held: list[tuple[Tensor, np.ndarray]] | None = None
    """Captured tensors with their arrays at the last call; None if they change at each."""
    arrays: list[np.ndarray] = field(default_factory=list)
    draws: bool = False
    """Whether each call draws random keys."""

    def __post_init__(self) -> None:
        self.draws = any(isinstance(tensor, RandomKey) for tensor in self.call.captured)

    def matches(self, values: Sequence[np.ndarray]) -> bool:
        """Return whether Python's branches go the same way on these values."""
        return all(g.holds(v) for g, v in zip(self.outcomes, values, strict=True))

    def captured(self) -> list[np.ndarray] | None:
        """Return the captured tensors' arrays; None if one has another shape than was traced."""
        if self.held is not None:
            for tensor, array in self.held:
                if tensor.data is not array:
                    break
            else:
                return self.arrays
        arrays = [tensor.data for tensor in self.call.captured_now()]
        specs = self.plan.inputs[len(self.plan.inputs) - len(arrays) :]
        if any(a.shape != s or a.dtype != d for a, (s, d) in zip(arrays, specs, strict=True)):
            return None
        self.held = None if self.draws else list(zip(self.call.captured, arrays, strict=True))
        self.arrays = [whole(array) for array in arrays]
        return self.arrays


@dataclass(slots=True)
class Situation:
    """Everything compiled for one signature of arguments."""

    paths: list[Specialisation] = field(default_factory=list)
    reason: TraceBreak | None = None
    crowded: bool = False
    """Whether the reason is that there are too many paths."""


class Kept(dict[object, "Jitted"]):
    """What was compiled for one object, kept in its ``__dict__``: it goes when the object goes.

    A copy of the object starts without.
    """

    def __deepcopy__(self, memo: dict[int, Any]) -> Kept:
        return Kept()

    def __reduce__(self) -> tuple[Any, ...]:
        return (Kept, ())


def kept_for(instance: Any, key: object, make: Callable[[], Jitted]) -> Jitted:
    """Return what was compiled for ``instance`` under ``key``, made by ``make`` the first time."""
    kept = instance.__dict__.setdefault("_compiled", Kept())
    found = kept.get(key)
    if found is None:
        found = kept[key] = make()
    return found


class Jitted:
    """A compiled function, method or Cell; see ``jit``."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        fullgraph: bool = False,
        input_signature: Any = None,
    ) -> None:
        self.function = function
        self.fullgraph = fullgraph
        self.signature = _signature(input_signature)
        self.situations: dict[object, Situation] = {}
        self.quick: dict[object, Situation] = {}
        self.float_values: dict[object, dict[int, float]] = {}
        self.promoted: dict[object, set[int]] = {}
        self.literal: set[object] = set()
        """Signatures whose floats must stay Python numbers."""
        self.warned: set[str] = set()
        if not isinstance(function, Tensor):
            functools.update_wrapper(self, function, updated=())

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self
        if not hasattr(instance, "__dict__"):
            return types.MethodType(self, instance)
        return kept_for(instance, self, lambda: self._bound_to(instance))

    def _bound_to(self, instance: object) -> Jitted:
        bound = Jitted(types.MethodType(self.function, instance), fullgraph=self.fullgraph)
        bound.signature = self.signature
        return bound

    def __getattr__(self, name: str) -> Any:
        if name == "function":
            raise AttributeError(name)
        return getattr(self.function, name)

    def __repr__(self) -> str:
        return f"jit({self.function!r})"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if registry.traces and is_tracing():
            return self.function(*args, **kwargs)
        if self.signature is not None:
            _check_signature(self.signature, args)
        try:
            if not kwargs:
                key = tuple([a.data.shape if a.__class__ is Tensor else None for a in args])
                types_ = [a.data.dtype for a in args if a.__class__ is Tensor]
                quick = self.quick.get((*key, *types_))
                if quick is not None and None not in key:
                    done, result = self._search(quick, args)
                    if done:
                        return result
            return self._look_up(args, kwargs)
        except TraceBreak as reason:
            self._report(reason)
        return self.function(*args, **kwargs)

    def _look_up(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run what was compiled for such a call, or compile it; ``TraceBreak`` if it cannot."""
        leaves, structure = flatten((args, kwargs), _is_argument)
        key, numbers = self._key(leaves, structure)
        situation = self.situations.get(key)
        if situation is None:
            situation = self._add(key)
            if not kwargs and args and all(a.__class__ is Tensor for a in args):
                shapes = [a.data.shape for a in args]
                self.quick[(*shapes, *[a.data.dtype for a in args])] = situation
        if situation.reason is None:
            done, result = self._search(situation, _arguments(leaves, numbers))
            if done:
                return result
            done, result = self._new(situation, leaves, structure, numbers)
            if done:
                return result
        if numbers and not situation.crowded:
            self.literal.add(key[0])  # pyright: ignore[reportIndexIssue]
            del self.situations[key]
            return self._look_up(args, kwargs)
        assert situation.reason is not None
        raise situation.reason

    def _search(self, situation: Situation, tensors: Sequence[Tensor]) -> tuple[bool, Any]:
        """Run the path that fits; not done if there is none."""
        for path in situation.paths:
            if path.reads.hold():
                done, result = self._run(path, tensors)
                if done:
                    if path is not situation.paths[0]:
                        situation.paths.remove(path)
                        situation.paths.insert(0, path)
                    return True, result
        return False, None

    # -- looking up --------------------------------------------------------------------------

    def _key(self, leaves: list[Any], structure: object) -> tuple[object, tuple[int, ...]]:
        """Return the call's signature and which of its floats are runtime inputs."""
        parts: list[object] = []
        floats: list[int] = []
        for position, leaf in enumerate(leaves):
            kind = leaf.__class__
            if kind is float:
                floats.append(position)
                parts.append(float)
            elif isinstance(leaf, Parameter):
                parts.append(("parameter", Held(leaf)))
            elif isinstance(leaf, Tensor):
                data = leaf.data
                parts.append((data.shape, data.dtype))
            elif kind in (int, bool, str) or leaf is None:
                parts.append((kind, leaf))
            else:
                parts.append(_argument_key(leaf))
        shape = (tuple(parts), _frozen(structure))
        if not floats:
            return shape, ()
        promoted = set() if shape in self.literal else self._promote(shape, floats, leaves)
        values = tuple(leaves[i] or str(leaves[i]) for i in floats if i not in promoted)
        return (shape, tuple(sorted(promoted)), values), tuple(sorted(promoted))

    def _promote(self, shape: object, floats: list[int], leaves: list[Any]) -> set[int]:
        """Return the floats seen with a second value: they become runtime inputs."""
        seen = self.float_values.setdefault(shape, {})
        promoted = self.promoted.setdefault(shape, set())
        wide = any(
            isinstance(leaf, Tensor) and leaf.dtype.is_float and leaf.dtype.short != "f32"
            for leaf in leaves
        )
        for position in floats:
            value = leaves[position]
            if seen.setdefault(position, value) != value and not wide:
                promoted.add(position)
        return promoted

    def _add(self, key: object) -> Situation:
        if len(self.situations) >= MAX_SPECIALISATIONS:
            del self.situations[next(iter(self.situations))]
            self.quick.clear()
        situation = self.situations[key] = Situation()
        return situation

    # -- running -----------------------------------------------------------------------------

    def _run(self, path: Specialisation, tensors: Sequence[Tensor]) -> tuple[bool, Any]:
        """Run one path; not done if a branch would go another way on these values."""
        if not path.draws:
            return self._attempt(path, tensors)
        saved = streams.state().save()
        done, result = self._attempt(path, tensors)
        if not done:
            streams.state().restore(saved)
        return done, result

    def _attempt(self, path: Specialisation, tensors: Sequence[Tensor]) -> tuple[bool, Any]:
        if registry.records:
            return self._run_recorded(path, tensors)
        captured = path.captured()
        if captured is None:
            return False, None
        results = path.plan.run([*[whole(t.data) for t in tensors], *captured])
        call = path.call
        if call.writes or path.outcomes:
            if not self._settle(path, results):
                return False, None
            results = results[: call.results]
        if call.structure is LEAF:
            return True, wrap(results[0])
        return True, unflatten(call.structure, [wrap(a) for a in results])

    def _run_recorded(self, path: Specialisation, tensors: Sequence[Tensor]) -> tuple[bool, Any]:
        """Run one path as one op, which the active records log."""
        if path.recorded is None or not path.gradient_reads.hold():
            path.recorded = self._derive(path)
        outputs = path.recorded(*tensors, *path.call.captured_now())
        if not self._settle(path, [t.data for t in outputs]):
            return False, None
        return True, unflatten(path.call.structure, outputs[: path.call.results])

    def _derive(self, path: Specialisation) -> GraphOp:
        """Make the path one op; backward hooks and ``bprop`` run now, and are watched."""
        made = GraphOp(path.call.graph, path.call.results, f"jit_{_name(self.function)}")
        nodes = path.call.graph.nodes
        if any(n.op.name not in OPS and n.op.category != "graph" for n in nodes):
            path.gradient_reads = Reads()
            with watching(path.gradient_reads):
                made.derivative  # noqa: B018 - reading it makes it
        return made

    def _settle(self, path: Specialisation, arrays: Sequence[np.ndarray]) -> bool:
        """Check the branches, then write what is to be written; return whether they hold."""
        end = len(arrays) - len(path.outcomes)
        if path.outcomes and not path.matches(arrays[end:]):
            return False
        self._commit(path, arrays[path.call.results : end], bool(registry.records))
        return True

    @staticmethod
    def _commit(path: Specialisation, written: Sequence[np.ndarray], recorded: bool) -> None:
        targets = {id(parameter.data): parameter for parameter in path.call.writes}
        values = [
            array.copy() if targets.get(id(array), parameter) is not parameter else array
            for parameter, array in zip(path.call.writes, written, strict=True)
        ]
        for parameter, array in zip(path.call.writes, values, strict=True):
            if array is parameter.data and not recorded:
                _count_write(parameter)
            elif isinstance(parameter, Parameter):
                parameter.set_data(wrap(array))
            else:
                np.copyto(parameter.data, array)

    # -- tracing -----------------------------------------------------------------------------

    def _new(
        self,
        situation: Situation,
        leaves: list[Any],
        structure: object,
        promoted: tuple[int, ...],
    ) -> tuple[bool, Any]:
        """Compile one more path and run it; not done if the situation has a reason now."""
        saved = streams.state().save()
        try:
            path = self.specialise(leaves, structure, promoted)
        except TraceBreak as reason:
            streams.state().restore(saved)
            situation.reason = reason
            return False, None
        except Exception as error:
            if not promoted:
                raise
            # The code may want the float itself; with it, the error comes again or not at all.
            streams.state().restore(saved)
            situation.reason = TraceBreak(str(error))
            return False, None
        valid = sum(p.reads.hold() for p in situation.paths)
        situation.paths.insert(0, path)
        del situation.paths[2 * MAX_PATHS :]
        if valid >= MAX_PATHS:
            situation.reason = TraceBreak(
                f"more than {MAX_PATHS} ways through branches on tensor values",
                "decide in tensors (ops.where) or outside",
                path.outcomes[-1].where if path.outcomes else None,
            )
            situation.crowded = True
            situation.paths.clear()
            return False, None
        done, result = self._run(path, _arguments(leaves, promoted))
        if not done:
            raise RuntimeError("a branch of the compiled code disagrees with its trace")
        return True, result

    def specialise(
        self, leaves: list[Any], structure: object, promoted: tuple[int, ...] = ()
    ) -> Specialisation:
        """Trace and compile for these arguments."""
        started = time.perf_counter()
        tensors = _arguments(leaves, promoted)
        reads = Reads()
        reads.functions.learn(self.function)
        if isinstance(self.function, functools.partial):
            reads.add(Chain(self.function, "object", _name(self.function)), self.function)

        def call(traced: Sequence[Tensor]) -> Any:
            rest = iter(traced)
            filled = [
                next(rest) if _is_input(leaf, i, promoted) else leaf
                for i, leaf in enumerate(leaves)
            ]
            reads.promoted = {id(filled[i]) for i in promoted}
            args, kwargs = unflatten(structure, filled)  # pyright: ignore[reportGeneralTypeIssues]
            with watching(reads):
                result = self.function(*args, **kwargs)
            _check_unchanged((args, kwargs), filled, structure)
            return result

        traced = trace(call, [t.aval for t in tensors], [t.data for t in tensors], call)
        part = opaque_part(traced.structure)
        if part is not None:
            raise TraceBreak(
                f"the result holds a {type(part).__name__}, which a graph cannot make",
                "return tensors, numbers and text, in tuples, lists and dictionaries",
                _location(self.function),
            )
        _check_promoted(traced, [i in promoted for i in _inputs(leaves, promoted)])
        guards = traced.guards
        graph = traced.graph
        if guards:
            outputs = (*graph.outputs, *(g.value for g in guards))
            graph = Graph(graph.inputs, graph.nodes, outputs, graph.constants)
            traced = TracedCall(
                graph, traced.captured, traced.structure, traced.results, traced.writes, guards
            )
        plan = compile_graph(graph, writes={} if guards else _writes(traced, len(tensors)))
        return Specialisation(traced, reads, guards, promoted, plan, time.perf_counter() - started)

    def _report(self, reason: TraceBreak) -> None:
        reason.with_traceback(None)  # whose frames would keep this call's tensors
        reason.__context__ = None
        if self.fullgraph:
            raise JitError(str(reason)) from reason
        text = str(reason)
        if text not in self.warned:
            self.warned.add(text)
            warnings.warn(
                f"{_name(self.function)} runs eagerly, not compiled: {text}",
                JitWarning,
                stacklevel=3,
            )

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Compile for these arguments without running, and tell what came of it."""
        leaves, structure = flatten((args, kwargs), _is_argument)
        count = sum(len(s.paths) for s in self.situations.values())
        saved = streams.state().save()
        try:
            path = self.specialise(leaves, structure)
        except TraceBreak as reason:
            return Explanation(None, str(reason), None, count)
        finally:
            streams.state().restore(saved)
        return Explanation(path.plan.report, None, path.call.graph, count)


def _argument_key(leaf: Any) -> object:
    """Return what must be equal for an argument that is no tensor and no number."""
    if isinstance(leaf, slice):
        return (slice, leaf.start, leaf.stop, leaf.step)
    try:
        return snapshot(leaf)
    except TooLargeError:
        return Held(leaf)


def _check_unchanged(arguments: Any, leaves: list[Any], structure: object) -> None:
    """Refuse a function that changes a list or dictionary it is given."""
    now, shape = flatten(arguments, _is_argument)
    same = len(now) == len(leaves) and all(a is b for a, b in zip(now, leaves, strict=True))
    if not same or _frozen(shape) != _frozen(structure):
        raise TraceBreak(
            "a list or dictionary given as an argument is changed", "return the value instead"
        )


def _location(function: Any) -> str | None:
    code = getattr(getattr(function, "construct", function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else None


def _is_argument(value: object) -> bool:
    return not isinstance(value, tuple | list | dict)


def _is_input(leaf: object, position: int, promoted: tuple[int, ...]) -> bool:
    if position in promoted:
        return True
    return isinstance(leaf, Tensor) and not isinstance(leaf, Parameter)


def _inputs(leaves: list[Any], promoted: tuple[int, ...]) -> list[int]:
    """Return which of the arguments are inputs of the graph."""
    return [i for i, leaf in enumerate(leaves) if _is_input(leaf, i, promoted)]


def _arguments(leaves: list[Any], promoted: tuple[int, ...]) -> list[Tensor]:
    """Return the tensors that are inputs of the graph, promoted floats among them."""
    return [
        wrap(np.asarray(leaves[i], np.float32)) if i in promoted else leaves[i]
        for i in _inputs(leaves, promoted)
    ]


def _check_promoted(call: TracedCall, promoted: list[bool]) -> None:
    """Refuse a float as a float32 input where the float itself would give something else."""
    if not any(promoted):
        return
    graph = call.graph
    numbers = {v for v, is_number in zip(graph.inputs, promoted, strict=False) if is_number}
    if numbers.intersection(graph.outputs[: call.results]):
        raise TraceBreak("a number that was given is returned")
    values = [v for node in graph.nodes for v in (*node.inputs, *node.outputs)]
    if any(v.aval.dtype.is_float and v.aval.dtype.short != "f32" for v in values):
        raise TraceBreak("a number meets tensors of other dtypes than float32")


def _frozen(structure: object) -> object:
    """Return a structure of arguments as something hashable."""
    if isinstance(structure, dict):
        return (dict, tuple((k, _frozen(v)) for k, v in structure.items()))
    if isinstance(structure, tuple | list):
        return (type(structure), tuple(_frozen(part) for part in structure))
    return structure


def _writes(traced: TracedCall, arguments: int) -> dict[int, int]:
    """Return which outputs may go straight into the memory of which inputs."""
    where = {id(t): arguments + i for i, t in enumerate(traced.captured)}
    return {traced.results + i: where[id(p)] for i, p in enumerate(traced.writes)}


def _count_write(tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        registry.note_write(tensor)
        tensor.version += 1


def _name(function: object) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _signature(given: Any) -> tuple[Aval, ...] | None:
    if given is None:
        return None
    items = given if isinstance(given, tuple | list) else (given,)
    return tuple(item.aval for item in items)


def _check_signature(signature: tuple[Aval, ...], args: tuple[Any, ...]) -> None:
    tensors = [a for a in args if isinstance(a, Tensor)]
    if len(tensors) != len(signature):
        raise ValueError(
            f"input_signature names {len(signature)} tensors, the call has {len(tensors)}"
        )
    for position, (tensor, aval) in enumerate(zip(tensors, signature, strict=True)):
        fits = len(tensor.shape) == len(aval.shape) and all(
            not isinstance(want, int) or size == want
            for size, want in zip(tensor.shape, aval.shape, strict=True)
        )
        if not fits or tensor.dtype is not aval.dtype:
            raise ValueError(
                f"tensor argument {position} is {tensor.aval}, input_signature says {aval}"
            )
