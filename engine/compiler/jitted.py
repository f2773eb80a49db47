"""Compiled callables: Python code traced once per situation and run as a plan.

A call looks for a specialisation whose shapes, scalars and guards fit. If there is none, the
code runs once on traced tensors. What cannot be compiled runs eagerly, with a reason.
"""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import random as streams
from ..autograd.tensor_hooks import any_hooked, hooked
from ..context import context
from ..ops import registry
from ..ops.registry import OPS
from ..parameter import Parameter
from ..tensor import Tensor, wrap
from .arguments import (
    argument_key,
    check_signature,
    frozen,
    input_tensors,
    is_argument,
    signature_of,
)
from .background import Background, StillCompilingError
from .chains import Held
from .explaining import explanation
from .garbage import without_collections
from .graph_op import GraphOp
from .guards import Reads
from .kept import kept_for
from .making import Arguments, EffectsBeforeError, compile_call, name_of, trace_call
from .open_sizes import Family, family_key
from .openings import Openings
from .options import open_axes
from .plan import whole
from .quick_calls import MAX_QUICK, OTHER, QuickCall, quick_call
from .reasons import Explanation, JitError, JitWarning, tell_where
from .specialisation import Situation, Specialisation, count_write
from .structure import LEAF, flatten
from .trace import is_tracing
from .traced import TraceBreak
from .watch import watching

MAX_PATHS = 8
"""Paths through Python branches compiled for one situation before it runs eagerly."""
MAX_SPECIALISATIONS = 64
"""Specialisations kept by one compiled function; the least recently used goes first."""


class Jitted:
    """A compiled function, method or Cell; see ``jit``."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        fullgraph: bool = False,
        input_signature: Any = None,
        dynamic: int = 0,
        background: bool = False,
    ) -> None:
        self.function = function
        self.background = Background(name_of(function)) if background else None
        self.fullgraph = fullgraph
        self.signature = signature_of(input_signature)
        self.open_axes = None if dynamic else open_axes(self.signature or ())
        """Axes of inputs whose sizes are open from the first call on; None is all."""
        self.openings = Openings()
        """Places outside to which the function writes."""
        self.families: dict[object, Family] = {}
        self.situations: dict[object, Situation] = {}
        self.quick: list[QuickCall] = []
        """What the latest calls were, each checked and run by one function."""
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
        method, apart = types.MethodType(self.function, instance), self.background is not None
        bound = Jitted(method, fullgraph=self.fullgraph, background=apart)
        bound.open_axes = self.open_axes
        bound.signature = self.signature
        return bound

    def __getattr__(self, name: str) -> Any:
        if name == "function":
            raise AttributeError(name)
        return getattr(self.function, name)

    def __repr__(self) -> str:
        return f"jit({self.function!r})"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for quick in self.quick:
            result = quick(args, kwargs)
            if result is not OTHER:
                return result
        return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if registry.traces and is_tracing():
            return self.function(*args, **kwargs)
        self._check_declared(args)
        saved = streams.state().save()
        try:
            return self._look_up(args, kwargs)
        except TraceBreak as reason:
            streams.state().restore(saved)  # what a plan drew that was not run to its end
            self._report(reason)
        except StillCompilingError:
            streams.state().restore(saved)
        except EffectsBeforeError:
            streams.state().restore(saved)  # eager code raises it, when it did what comes before it
        return self.function(*args, **kwargs)

    def _check_declared(self, args: tuple[Any, ...]) -> None:
        """Raise ValueError where arguments are not what was declared of them."""
        if self.signature is not None:
            check_signature(self.signature, args)
        for position, spec in getattr(self.function, "open_inputs", {}).items():
            if position < len(args):
                check_signature((spec,), args[position : position + 1])

    def _look_up(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run what was compiled for such a call, or compile it; ``TraceBreak`` if it cannot."""
        if not context.jit:
            return self.function(*args, **kwargs)
        leaves, structure = flatten((args, kwargs), is_argument)
        if hooked and any_hooked(leaf for leaf in leaves if isinstance(leaf, Tensor)):
            raise TraceBreak(
                "an argument has a hook", "register hooks on tensors that the function makes"
            )
        key, numbers = self._key(leaves, structure)
        situation = self.situations.pop(key, None)
        if situation is None:
            situation = self._add()
        self.situations[key] = situation  # the latest used is the last
        if situation.reason is None:
            done, result = self._search(situation, input_tensors(leaves, numbers))
            if not done:
                done, result = self._new(
                    situation, Arguments(leaves, structure, numbers, self.openings), key
                )
            if done:
                if situation.paths:
                    self._keep_quick(situation.paths[0], args, kwargs)
                return result
        if numbers and not situation.crowded:
            self.literal.add(key[0])  # pyright: ignore[reportIndexIssue]
            self.situations.pop(key, None)
            return self._look_up(args, kwargs)
        assert situation.reason is not None
        raise situation.reason

    def _search(self, situation: Situation, tensors: Sequence[Tensor]) -> tuple[bool, Any]:
        """Run the path that fits; not done if there is none."""
        for path in situation.paths:
            if path.holds():
                done, result = self._run(path, tensors)
                if done:
                    if path is not situation.paths[0]:
                        others = [other for other in situation.paths if other is not path]
                        situation.paths = [path, *others]
                    return True, result
        return False, None

    def _keep_quick(
        self, path: Specialisation, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Let the next such call go the short way, if there is one.

        Its text is written at the 2nd, 4th, 8th, ... call that went the long way: what it relies
        on may change at every call.
        """
        path.long_calls += 1
        if path.long_calls & (path.long_calls - 1) or path.long_calls == 1:
            return
        before, path.quick = path.quick, quick_call(path, args, kwargs)
        kept = [quick for quick in self.quick if quick is not before]
        self.quick = [path.quick, *kept][:MAX_QUICK] if path.quick is not None else kept

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
                parts.append(argument_key(leaf))
        shape = (tuple(parts), frozen(structure))
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

    def _add(self) -> Situation:
        if len(self.situations) >= MAX_SPECIALISATIONS:
            _forget_oldest(self.situations)
            self.quick = []
        return Situation()

    def _family(self, key: object, leaves: list[Any]) -> Family:
        """Return what is known of calls like this one with any sizes."""
        kind = family_key(key)
        family = self.families.pop(kind, None)
        if family is None:
            if len(self.families) >= MAX_SPECIALISATIONS:
                _forget_oldest(self.families)
            declared = self.open_axes
            noted = getattr(self.function, "open_inputs", {})
            if declared is not None and noted:
                inputs = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
                declared |= open_axes([noted.get(i) for i in inputs])
            family = Family(name_of(self.function), declared)
        self.families[kind] = family
        return family

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
        if registry.records and registry.active_records():
            return self._run_recorded(path, tensors)
        captured = path.captured()
        if captured is None:
            return False, None
        if path.owned:
            for tensor in tensors:
                path.check_apart(tensor.data)
        try:
            results = path.plan.run([*[whole(t.data) for t in tensors], *captured])
        except Exception as error:
            raise EffectsBeforeError from error
        call = path.call
        if call.writes or path.outcomes or path.effects is not None:
            if not self._settle(path, results):
                return False, None
            results = results[: call.results]
        if call.structure is LEAF:
            return True, wrap(results[0])
        return True, path.finish([wrap(a) for a in results], tensors)

    def _run_recorded(self, path: Specialisation, tensors: Sequence[Tensor]) -> tuple[bool, Any]:
        """Run one path as one op, which the active records log."""
        if path.recorded is None or not path.gradient_reads.hold():
            path.recorded = self._derive(path)
        outputs = path.recorded(*tensors, *path.call.captured_now())
        if not self._settle(path, [t.data for t in outputs]):
            return False, None
        return True, path.finish(outputs[: path.call.results], tensors)

    def _derive(self, path: Specialisation) -> GraphOp:
        """Make the path one op; backward hooks and ``bprop`` run now, and are watched."""
        made = GraphOp(path.call.graph, path.call.results, f"jit_{name_of(self.function)}")
        nodes = path.call.graph.nodes
        if any(n.op.name not in OPS and n.op.category != "graph" for n in nodes):
            path.gradient_reads = Reads()
            with watching(path.gradient_reads):
                made.derivative  # noqa: B018 - reading it makes it
        return made

    def _settle(self, path: Specialisation, arrays: Sequence[np.ndarray]) -> bool:
        """Check the branches, then write what is to be written; return whether they hold."""
        if path.effects is not None and not path.effects.fits(arrays):
            return False
        end = len(arrays) - len(path.outcomes)
        if path.outcomes and not path.matches(arrays[end:]):
            return False
        self._commit(path, arrays[path.call.results : end], bool(registry.active_records()))
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
                count_write(parameter)
            elif isinstance(parameter, Parameter):
                parameter.set_data(wrap(array))
            else:
                np.copyto(parameter.data, array)

    # -- tracing -----------------------------------------------------------------------------

    def _new(self, situation: Situation, given: Arguments, key: object) -> tuple[bool, Any]:
        """Compile one more path and run it; not done if the situation has a reason now."""
        saved = streams.state().save()
        try:
            family = self._family(key, given.leaves)
            if situation.paths:
                latest = situation.paths[0]
                family.note(f"{latest.why_not()}: it is compiled once more")
                self.openings.open_changed(latest.reads)
            path = self._compiled(key, family, given)
        except TraceBreak as reason:
            streams.state().restore(saved)
            situation.reason = reason
            return False, None
        except (EffectsBeforeError, StillCompilingError):
            raise
        except Exception as error:
            if not given.promoted:
                tell_where(error, name_of(self.function))
                raise
            # The code may want the float itself; with it, the error comes again or not at all.
            streams.state().restore(saved)
            situation.reason = TraceBreak(str(error))
            return False, None
        if self.background is not None and not path.holds():  # something changed meanwhile
            return self._new(situation, given, key)
        return self._keep(situation, path, given)

    def _keep(
        self, situation: Situation, path: Specialisation, given: Arguments
    ) -> tuple[bool, Any]:
        """Keep a new path and run it; not done if the situation has a reason now."""
        valid = sum(p.holds() for p in situation.paths)
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
        done, result = self._run(path, given.tensors)
        if not done:  # the plan adds in another order than the kernels that decided the branch
            situation.paths.clear()
            situation.reason = TraceBreak(
                "Python uses a float of which rounding decides the last digits",
                "compare tensors instead (total > 1.0, without item())",
                path.outcomes[-1].where if path.outcomes else None,
            )
            return False, None
        return True, result

    def _compiled(self, key: object, family: Family, given: Arguments) -> Specialisation:
        """Compile one path, now or in the background."""
        if self.background is None:
            with without_collections():
                return compile_call(family.made(self.function, given), given)
        make = functools.partial(family.made, self.function, given)
        return self.background.path(key, make, given)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for what is being compiled in the background; return whether all is done.

        ``timeout`` is in seconds. The next call of what is done is compiled.
        """
        return self.background is None or self.background.wait(timeout)

    def _report(self, reason: TraceBreak) -> None:
        reason.with_traceback(None)  # whose frames would keep this call's tensors
        reason.__context__ = None
        if self.fullgraph:
            raise JitError(str(reason)) from reason
        text = str(reason)
        if text not in self.warned:
            self.warned.add(text)
            warnings.warn(
                f"{name_of(self.function)} runs eagerly, not compiled: {text}",
                JitWarning,
                stacklevel=4,  # the caller's line
            )

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Compile for these arguments without running, and tell what came of it."""
        leaves, structure = flatten((args, kwargs), is_argument)
        saved = streams.state().save()
        try:
            given = Arguments(leaves, structure, openings=self.openings)
            path = compile_call(trace_call(self.function, given), given)
        except TraceBreak as reason:
            return explanation(self, None, str(reason))
        except EffectsBeforeError as error:
            raise error.__cause__ or error from None
        finally:
            streams.state().restore(saved)
        return explanation(self, path)


def _forget_oldest(known: dict[Any, Any]) -> None:
    """Drop the first entry; other threads may change the dictionary meanwhile."""
    for oldest in list(known)[:1]:
        known.pop(oldest, None)
