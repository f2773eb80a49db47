"""Calls that come again as they were: one generated function checks one and runs it.

Looking up a call's signature costs more than a small kernel. Where the arguments are plain tensors
and numbers, and the plan is one native run, everything that must hold is known when the path is
compiled; so the check, the new arrays, the call of machine code and the writes are one function.
What it does not recognise goes the long way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...kernels.fast_call import Expected, fast_call
from .. import random as streams
from ..autograd.tensor_hooks import hooked
from ..context import context
from ..ops.registry import records, traces
from ..parameter import Parameter
from ..tensor import Tensor
from .arguments import is_input
from .plan import Plan
from .specialisation import Specialisation, owner
from .structure import LEAF, unflatten

MAX_QUICK = 4
"""Generated functions that a call tries, the latest first."""

MAX_LEAVES = 64
"""Arguments beyond which the long way costs little more."""

QuickCall = Callable[[tuple[Any, ...], dict[str, Any]], Any]
"""Returns the results for these arguments; ``OTHER`` where the call is another one."""

OTHER: Final = object()
"""What a quick call returns that leaves the call to the long way."""

RUN = Plan.run
"""What runs plans while nobody measures them."""

CONTAINERS = (tuple, list, dict)
PLAIN = (int, bool, str, type(None))


def quick_call(
    path: Specialisation, args: Sequence[Any], kwargs: dict[str, Any]
) -> QuickCall | None:
    """Return the function for calls like this one, which took ``path``; None if there is none."""
    plan = path.plan
    if path.held is None or plan.direct is None or plan.copies:
        return None
    if path.effects is not None and path.effects.program.asks_late:
        return None
    first = len(plan.inputs) + len(plan.shared)
    made = [r for i, r in enumerate(plan.results) if i not in plan.settled]
    if any(r.strides is not None or r.slot < first for r in made):
        return None
    if not plan.settled.isdisjoint(range(path.call.results)):
        return None
    writer = Writer(path)
    given = [(f"a{i}", f"args[{i}]", arg) for i, arg in enumerate(args)]
    given += [(f"k{i}", f"kwargs.get({n!r}, missing)", kwargs[n]) for i, n in enumerate(kwargs)]
    fits = all(writer.argument(*each) for each in given) and writer.count <= MAX_LEAVES
    return writer.write(len(args), len(kwargs)) if fits else None


class Writer:
    """Writes the Python text of one quick call."""

    def __init__(self, path: Specialisation) -> None:
        self.path = path
        self.names: dict[str, Any] = {
            "Tensor": Tensor, "new": object.__new__, "array": np.array, "empty": np.empty,
            "missing": object(), "other": OTHER,
            "traces": traces, "records": records, "hooked": hooked, "context": context,
            "Plan": Plan, "run": RUN, "hold": path.reads.hold, "lock": path.plan.lock,
            "unflatten": unflatten, "structure": path.call.structure, "float32": np.float32,
            "owner": owner, "owned": path.owned, "state": streams.state, "copyto": np.copyto,
            "parameters": [t for t in path.call.writes if isinstance(t, Parameter)],
        }  # fmt: skip
        self.lines: list[str] = []
        self.slots: list[str | int] = []
        """What stands in for each array of the plan: a name in the text, or an address."""
        self.inputs: list[str] = []
        """The names of what stands in for the arguments."""
        self.expected: dict[str, np.ndarray] = {}
        """Arrays that those of tensors must be like, by the tensors' names."""
        self.count = 0
        """Leaves of the arguments so far."""

    def bind(self, name: str, value: Any) -> str:
        """Give a value a name in the text."""
        self.names[name] = value
        return name

    def test(self, text: str) -> None:
        """Go the long way where ``text`` is true."""
        self.lines.append(f"if {text}: return other")

    def argument(self, name: str, source: str, given: Any) -> bool:
        """Check one argument, which ``source`` is, as the signature does; whether it can be."""
        self.lines.append(f"{name} = {source}")
        kind = given.__class__
        if kind not in CONTAINERS:
            return self._leaf(name, given)
        self.test(f"{name}.__class__ is not {kind.__name__} or len({name}) != {len(given)}")
        if kind is not dict:
            parts = [(f"{name}_{i}", f"{name}[{i}]", item) for i, item in enumerate(given)]
        elif all(key.__class__ is str for key in given):
            self.test(f"[*{name}] != {[*given]!r}")
            keys = enumerate(given.items())
            parts = [(f"{name}_{i}", f"{name}[{key!r}]", item) for i, (key, item) in keys]
        else:
            return False
        return all(self.argument(*part) for part in parts)

    def _leaf(self, name: str, leaf: Any) -> bool:
        kind, i = leaf.__class__, self.count
        self.count += 1
        if kind is Tensor:
            if self.path.owned:
                self.test(f"{name}.__class__ is not Tensor")
                self.lines.append(f"d{i} = {name}.data")
                self.test(f"id(d{i} if d{i}.base is None else owner(d{i})) in owned")
            self.inputs.append(name)
            self.expected[name] = leaf.data
            return leaf.data.flags.c_contiguous
        if kind is float and is_input(leaf, i, self.path.promoted):
            self.test(f"{name}.__class__ is not float")
            self.lines.append(f"d{i} = array({name}, float32)")
            self.inputs.append(f"d{i}")
            return True
        if isinstance(leaf, Parameter):
            self.test(f"{name} is not {self.bind(f'e{i}', leaf)}")
            return True
        if kind in PLAIN or (kind is float and leaf):
            self.test(f"{name}.__class__ is not {self.bind(f'y{i}', kind)}")
            self.test(f"{name} != {self.bind(f'e{i}', leaf)}")
            return True
        return False

    def write(self, count: int, named: int) -> QuickCall | None:
        """Write the whole function around the checks of its arguments."""
        before, self.lines = self.lines, []
        kwargs = f"len(kwargs) != {named}" if named else "kwargs"
        self.test(f"{kwargs} or len(args) != {count} or not context.jit")
        self.test("traces or records or hooked")
        self.test("Plan.run is not run")  # the profiler measures plans
        self.lines += before
        self.slots += self.inputs
        self.test("not hold()")
        if self.path.effects is not None:
            self.names["effects_hold"] = self.path.effects.hold
            self.test("not effects_hold()")
        keys = self._captured()
        made = self._made()
        if not self._run(keys):
            return None
        self.lines += [*self._settled(made), *self._wrapped(made)]
        text = "def quick(args, kwargs):\n" + "".join(f"    {line}\n" for line in self.lines)
        exec(compile(text, "<quick call>", "exec"), self.names)
        return self.names["quick"]

    def _captured(self) -> list[str]:
        """Look whether the captured tensors still have the arrays of the last call.

        Return the lines that draw the random keys.
        """
        path = self.path
        for number, (tensor, array) in enumerate(path.held or ()):
            known = self.bind(f"h{number}", array)
            self.test(f"{self.bind(f'c{number}', tensor)}.data is not {known}")
        keys = {position: self.bind(f"q{position}", key) for position, key in path.keys}
        fixed = [*path.arrays, *path.plan.shared]
        self.bind("keep", (path.plan, fixed))
        self.slots += [f"w{keys[i]}" if i in keys else id(array) for i, array in enumerate(fixed)]
        before = ["stream = state()", "before = stream.save()"] if path.outcomes and keys else []
        return [*before, *(f"w{name} = {name}.take().data" for name in keys.values())]

    def _run(self, keys: Sequence[str]) -> bool:
        """Write the call of machine code, which looks at the tensors first; whether it can be."""
        bound = self.path.plan.direct
        assert bound is not None
        named = [(i, slot) for i, slot in enumerate(self.slots, 1) if isinstance(slot, str)]
        words = [bound.address, *(0 if isinstance(s, str) else s for s in self.slots)]
        given = [Expected(i, self.expected[s]) if s in self.expected else i for i, s in named]
        tensors = [(g, s) for g, (_, s) in zip(given, named, strict=True) if s in self.expected]
        if keys or bound.keeps_blas_alone:  # keys are drawn, and BLAS held, when all is checked
            self.bind("fits", fast_call(None, words, [g for g, _ in tensors], Tensor))
            self.test(f"not fits({', '.join(s for _, s in tensors)})")
            self.lines += keys
        if bound.keeps_blas_alone:
            self.names["call"], self.names["pack"], _ = bound.parts
            held = (s if isinstance(s, int) else self._address(s) for s in self.slots)
            self.lines.append(
                f"with lock: call(pack({bound.address}, {', '.join(map(str, held))}))"
            )
            return self.names["fits"] is not None
        self.bind("native", fast_call(bound.function, words, given, Tensor))
        self.lines.append(f"with lock: done = native({', '.join(s for _, s in named)})")
        self.test("not done")
        return self.names["native"] is not None

    def _address(self, name: str) -> str:
        return f"id({name}.data)" if name in self.expected else f"id({name})"

    def _made(self) -> list[str]:
        """Make the arrays of the results; return what each output of the plan is called."""
        plan = self.path.plan
        for number, (shape, dtype) in enumerate(plan.made):
            if number in plan.in_place:
                self.slots.append(self.slots[plan.in_place[number]])
                continue
            shape_name = self.bind(f"shape{number}", shape)
            self.lines.append(
                f"o{number} = empty({shape_name}, {self.bind(f'dtype{number}', dtype)})"
            )
            self.slots.append(f"o{number}")
        first = len(plan.inputs) + len(plan.shared)
        return [f"o{read.slot - first}" for read in plan.results]

    def _settled(self, made: Sequence[str]) -> list[str]:
        """Return the lines that look at the branches taken, then write what is not written yet."""
        path, lines = self.path, []
        end = path.call.results + len(path.call.writes)
        tests = []
        for number, guard in enumerate(path.outcomes):
            tests.append(f"{self.bind(f'g{number}', guard.holds)}({made[end + number]})")
        if tests:
            lines.append(f"if not ({' and '.join(tests)}):")
            lines += ["    stream.restore(before)"] if path.draws else []
            lines.append("    return other")
        for number, tensor in enumerate(path.call.writes, path.call.results):
            if number not in path.plan.settled:
                target = self.bind(f"p{number}", tensor)
                lines.append(f"copyto({target}.data, {made[number]})")
        if self.names["parameters"]:
            lines.append("for parameter in parameters: parameter.version += 1")
        return lines

    def _wrapped(self, made: Sequence[str]) -> list[str]:
        """Return the lines that make the result."""
        results = made[: self.path.call.results]
        if self.path.call.structure is LEAF:
            return ["r = new(Tensor)", f"r.data = {results[0]}", "return r"]
        wrapped = [f"r{i} = new(Tensor); r{i}.data = {name}" for i, name in enumerate(results)]
        listed = ", ".join(f"r{i}" for i in range(len(results)))
        given = ", ".join(self.inputs)
        if self.path.effects is not None:
            self.names["finish"] = self.path.finish
            return [*wrapped, f"return finish([{listed}], [{given}])"]
        return [*wrapped, f"return unflatten(structure, [{listed}], [{given}])"]
