"""The journal of one trace: what the traced code does outside its graph, to be done at each call.

Writes to attributes, items, globals and closures, what is appended to containers and what is
printed are noted while code is traced, and undone when the trace ends. Each call of the plan then
does them once, with its own values. What cannot be done exactly so is a reason not to compile.
"""

from __future__ import annotations

import gc
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from ..ops import registry
from ..tensor import Tensor
from ..unwatched import call_unwatched
from .chains import MISSING, SCALARS, Held
from .encoding import Encoder
from .graph import Value
from .guards import MUTATORS, refill
from .host_numbers import Condition, HostNumber, HostTensor, Program, refuse_number
from .locations import Location, why_not_kept
from .openings import Identity, Openings
from .printing import noting_prints
from .replay import Added, Called, Effects, Entry, Written
from .structure import flatten
from .trace import Trace, is_tensor
from .traced import TraceBreak, Traced, user_location

MAX_RESTARTS = 40
"""How often one call is traced again with more places known to be written."""
GROWING: dict[type, frozenset[str]] = {
    list: frozenset({"append", "extend"}),
    deque: frozenset({"append", "extend"}),
    set: frozenset({"add", "update"}),
}
"""Methods by which containers outside may grow: what they held need not be known."""
active: list[Journal] = []
"""Journals of traces that run."""


class Restart(TraceBreak):
    """The trace must begin again: it met a write to what may have been read before."""


class Journal:
    """Collects the effects of one trace."""

    def __init__(self, openings: Openings) -> None:
        self.openings = openings
        self.program = Program()
        self.active = False
        self.thread = threading.get_ident()
        self.locations: dict[Identity, Location] = {}
        self.proxies: dict[Identity, Any] = {}
        self.tensors: dict[Identity, Value] = {}
        """What the tensors in places are at the beginning."""
        self.numbers: dict[int, Location] = {}
        """Places by the step that reads them."""
        self.read: set[Identity] = set()
        """Places written to that hold no proxy, and whose value before a call matters."""
        self.kept: list[Location] = []
        """Places written to that hold at the end what they held before."""
        self.stored: set[Any] = set()
        """Names of attributes and variables that were written; ``MISSING`` if an item was."""
        self.contents: dict[int, Any] = {}
        """Copies of what containers held that the code adds to."""
        self.held: list[tuple[Any, Any]] = []
        """Containers in places that are written to, with what they held."""
        self.grown: dict[int, int] = {}
        """How many times each was added to."""
        self.calls: list[tuple[Callable[..., Any], Any]] = []
        """What is to be called, in order, with what."""
        self.cells: dict[int, Any] = {}
        """Cells that are from outside, as names lead to them or to one above."""
        self.older: dict[int, Any] | None = None
        self.given: set[int] = set()
        """Lists and dictionaries made for the arguments of this trace."""
        self.text: Callable[[Any, str], str | None] | None = None

    # -- from the beginning to the end of a trace ----------------------------------------------

    def begin(self, trace: Trace) -> None:
        """Put what stands for their values into the places known from before."""
        self.trace = trace
        trace.journal = self
        self.active = True
        active.append(self)
        if self.openings.weigh_all:
            self.older = call_unwatched(_all_objects)
        for location in (*self.openings.written.values(), *self.openings.varying.values()):
            self._install(location)
        for container in self.openings.containers.values():
            self.contents[id(container)] = container.copy()

    def end(self) -> None:
        """Put everything outside back as it was."""
        for location in self.locations.values():
            if location.identity in self.openings.written or self._still_ours(location):
                location.restore()
            else:  # another thread has set it meanwhile
                location.active = False
        for number, content in self.contents.items():
            refill(self.openings.containers[number], content)
        for container, content in self.held:
            refill(container, content)
        self.active = False
        active.remove(self)
        self.older = self.text = None
        self.proxies = dict.fromkeys(self.proxies)  # which would keep all of the trace
        for kept in (self.tensors, self.contents, self.held, self.calls, self.cells):
            kept.clear()
        del self.trace

    def _still_ours(self, location: Location) -> bool:
        return location.held() is self.proxies.get(location.identity, location.original)

    def _install(self, location: Location) -> None:
        """Put into a place what stands for its value at each call, if it is one of those."""
        place = Location(location.owner, location.key, location.kind, location.text)
        place.begin()
        self.locations[place.identity] = place
        value = place.read()
        if isinstance(value, (*MUTATORS, np.ndarray)):
            self.held.append((value, value.copy()))
        proxy: Any = None
        if type(value) in (int, float) and place.identity not in self.openings.literal:
            step = self.program.add(place.read, expected=type(value))
            proxy = HostNumber(self, step, value)
            self.numbers[step] = place
        elif type(value) is Tensor and place.identity in self.openings.written:
            proxy = Traced(self.trace, self.trace.value_of(HostTensor(place, value)))
            self.tensors[place.identity] = proxy.ssa
        if proxy is not None:
            self.proxies[place.identity] = proxy
            place.put(proxy)

    # -- what the code does ----------------------------------------------------------------------

    def writes(self, location: Location, named: bool, first: bool) -> None:
        """Note that the code writes to a place.

        ``named`` says that a name outside leads there; ``first``, that nothing was read yet.
        """
        if location.identity in self.openings.written or not self._is_outside(
            location.owner, named
        ):
            return
        why = why_not_kept(location.owner, location.key, location.kind)
        if why is not None:
            raise TraceBreak(
                f"{location.text}, outside the function, is assigned; {why}",
                "return the value instead, or keep it in a Parameter",
            )
        self.openings.written[location.identity] = location
        self.openings.varying.pop(location.identity, None)
        # What a variable of a closure is set to now, Python undoes when it goes on with the frame.
        if not first or location.kind == "closure" or location.identity in self.locations:
            raise Restart(f"{location.text} is assigned")
        self._install(location)

    def meets(self, owner: Any, kind: str, key: Any) -> bool:
        """Return whether a place needs no guard of its own, because the journal looks after it."""
        identity = (id(owner), kind, key)
        if identity not in self.locations:
            return False
        if identity in self.proxies:
            return True
        if identity in self.openings.written:
            self.read.add(identity)
            return True
        return False

    def _is_outside(self, owner: Any, named: bool) -> bool:
        if id(owner) in self.given:
            raise TraceBreak(
                "a list or dictionary given as an argument is changed", "return the value instead"
            )
        if named or id(owner) in self.cells:
            return True
        if self.older is None:
            self.openings.weigh_all = True
            raise Restart("an object that no name leads to is changed")
        return id(owner) in self.older

    def adds(self, container: Any, method: str, named: bool) -> bool:
        """Note that a container grows; return whether it can be done at each call."""
        if not self._is_outside(container, named):
            return True
        if method not in GROWING.get(type(container), ()):
            return False
        if id(container) not in self.openings.containers:
            self.openings.containers[id(container)] = container
            raise Restart(f"{method}() changes a {type(container).__name__} outside")
        self.grown[id(container)] = self.grown.get(id(container), 0) + 1
        return True

    def changes_only_own(self, container: Any, text: str) -> None:
        """Refuse to change a container from outside in a way that is not done at each call."""
        if self._is_outside(container, named=False):
            raise TraceBreak(
                f"an item of {text}, outside the function, is assigned", "return the value instead"
            )

    def looked_into(self, text: str) -> None:
        """Refuse code that looks into a container to which it adds."""
        raise TraceBreak(
            f"{text}, outside the function, is both looked into and changed by it",
            "look into it outside the compiled function, or return what is to be added",
        )

    def expect(self, step: int, outcome: Any) -> None:
        """Note that the code relied on the outcome of a step."""
        self.program.need(step)
        self.program.conditions.append(Condition(step, outcome, user_location()))

    def settle(self, number: HostNumber, what: str) -> Any:
        """Give the number itself, where it may be kept: one that calls write is none of those."""
        sources = self._sources(number.step)
        written = [p for p in sources if p.identity in self.openings.written]
        if written:
            raise refuse_number(written[0].text, what)
        if number.step in self.program.late:  # a path for each value
            self.expect(number.step, number.value)
            return number.value
        self.openings.literal.update(place.identity for place in sources)
        for place in sources:
            self.openings.varying.pop(place.identity, None)
        raise Restart(f"the number {sources[0].text} is {what}")

    def meet_cell(self, cell: Any) -> None:
        """Note a Cell that a name outside leads to, and those below it."""
        if id(cell) not in self.cells:
            self.cells[id(cell)] = cell
            for child in cell.__dict__["_cells"].values():
                self.meet_cell(child)

    def meet_in_container(self, part: Any) -> None:
        """Look at what a container holds that is guarded as a whole: it may stand for a value."""
        if type(part) is HostNumber and part.journal is self:
            self.settle(part, "in a container that is looked at as a whole")
        for identity, proxy in self.proxies.items() if isinstance(part, Traced) else ():
            if proxy is part:
                text = self.locations[identity].text
                raise TraceBreak(
                    f"{text}, in a container that is looked at as a whole, is changed",
                    "return the value instead",
                )

    def _sources(self, step: int) -> list[Location]:
        program = Program(self.program.steps)
        program.need(step)
        return [self.numbers[n] for n in sorted(program.needed) if n in self.numbers]

    def item(self, tensor: Traced, value: float, index: Any) -> HostNumber:
        """Return what stands for an element of a tensor that the plan gives."""
        step = self.program.add(partial(_element, index=index), Traced(self.trace, tensor.ssa))
        return HostNumber(self, step, value)

    def text_of(self, value: Any, spec: str) -> str | None:
        """Return what stands for the text of a value in what is printed; None elsewhere."""
        return None if self.text is None else self.text(value, spec)

    def calls_later(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Note a call with an effect, to be made at each call of the plan."""
        if self.trace is not _innermost():
            raise TraceBreak(
                "something is printed or logged in a branch or loop of the graph",
                "do it outside the function given to ops.cond or a loop",
            )
        self.calls.append((function, (args, kwargs)))

    def state(self) -> tuple[Any, ...]:
        """Return what tells whether anything outside was changed meanwhile."""
        held = tuple(id(location.held()) for location in self.locations.values())
        return held, dict(self.grown), len(self.calls)

    def has_effects(self) -> bool:
        """Return whether the code did anything outside up to here."""
        changed = any(
            p.held() is not self.proxies.get(i, p.original) for i, p in self.locations.items()
        )
        return bool(self.calls or self.grown or changed)

    # -- what is to be done at each call ---------------------------------------------------------

    def collect(
        self, result: Any, shown: Any, given: dict[int, int], promoted: set[int]
    ) -> Effects | None:
        """Return what each call does beside its graph, while it is all still there.

        ``shown`` is the result with only those tensors that the plan makes.
        """
        places = self.tensor_places()
        results = flatten(shown, is_tensor)[0]
        encoder = Encoder(
            self.trace, self.program, result, results, given, promoted, places, self._is_older
        )
        entries: list[Entry] = []
        for function, (args, kwargs) in self.calls:
            entries.append(Called(function, encoder.encode(args), encoder.encode(kwargs)))
        entries += self._assigned(encoder)
        entries += [self._added(container, encoder) for container in self._grown()]
        self.program.locate(encoder.output)
        guards = [self._guard(self.locations[identity]) for identity in self.read]
        guards += [(location, self._same(location.read())) for location in self.kept]
        if not (entries or guards or self.program.needed or self.tensors):
            return None
        tensors = [self.locations[identity] for identity in self.tensors]
        return Effects(self.program, entries, encoder.tensors, guards, tensors)

    def _assigned(self, encoder: Encoder) -> Iterator[Entry]:
        """Give what places hold now that held something else before."""
        for location in self._in_order():
            now = location.held()
            proxy = self.proxies.get(location.identity, location.original)
            if isinstance(proxy, Traced) and proxy.ssa is not self.tensors[location.identity]:
                raise TraceBreak(
                    f"the tensor {location.text}, outside the function, is written in place",
                    "assign a new tensor, or keep it in a Parameter",
                )
            if location.identity in self.openings.written and now is not proxy:
                if now is MISSING and location.original is not MISSING:
                    raise TraceBreak(
                        f"{location.text}, outside the function, is deleted", "assign None instead"
                    )
                yield Written(location, encoder.encode(now))
            elif location.identity not in self.proxies and self._is_stored(location):
                self.kept.append(location)

    def _is_stored(self, location: Location) -> bool:
        """Return whether the code may have written to a place what the place held."""
        is_item = location.kind == "item" and MISSING in self.stored
        return (is_item or location.key in self.stored) and location.original is not MISSING

    def tensor_places(self) -> dict[int, Location]:
        """Return the places that hold tensors and are written, by what stands for the tensors."""
        return {id(p): self.locations[i] for i, p in self.proxies.items() if isinstance(p, Traced)}

    def _in_order(self) -> list[Location]:
        """Return the places, new items of a dictionary in the order in which they came."""

        def rank(location: Location) -> int:
            if location.kind != "item" or location.original is not MISSING:
                return -1
            keys = list(location.owner)
            return keys.index(location.key) if location.key in location.owner else -1

        return sorted(self.locations.values(), key=rank)

    def _grown(self) -> list[Any]:
        return [self.openings.containers[number] for number in self.grown]

    def _added(self, container: Any, encoder: Encoder) -> Added:
        before = self.contents[id(container)]
        if isinstance(container, set):
            new: list[Any] = [item for item in container if item not in before]
        elif isinstance(container, deque) and container.maxlen is not None:
            raise TraceBreak(
                "a deque with a greatest length, outside the function, is changed",
                "append to it outside, or use a list",
            )
        else:
            new = list(container)[len(before) :]
        return Added(container, encoder.encode(new))

    @property
    def item_owners(self) -> set[int]:
        """Identities of the containers of which single items are written."""
        return {id(p.owner) for p in self.locations.values() if p.kind == "item"}

    def _guard(self, location: Location) -> tuple[Location, Any]:
        value = location.read()
        if value is not MISSING and type(value) not in SCALARS:
            raise TraceBreak(
                f"{location.text}, a {type(value).__name__} outside the function, is both read"
                " and assigned by it",
                "keep tensors and numbers in attributes, or return the value",
            )
        return location, value

    @staticmethod
    def _same(value: Any) -> Any:
        return value if type(value) in SCALARS else Held(value)

    def _is_older(self, thing: Any) -> bool:
        return self.older is None or id(thing) in self.older


@contextmanager
def journaling(journal: Journal) -> Iterator[None]:
    """Note effects in the body, and undo them afterwards."""
    trace = _innermost()
    assert trace is not None
    journal.begin(trace)
    try:
        with noting_prints(journal):
            yield
    finally:
        journal.end()


def containers_of(tree: Any) -> set[int]:
    """Return the identities of all lists and dictionaries in a structure."""
    if not isinstance(tree, tuple | list | dict):
        return set()
    parts = tree.values() if isinstance(tree, dict) else tree
    return {id(tree)}.union(*[containers_of(part) for part in parts])


def _all_objects() -> dict[int, Any]:
    """Return what there is; dictionaries of plain values are known only to who refers to them."""
    things = gc.get_objects()
    things += [thing for thing in gc.get_referents(*things) if type(thing) is dict]
    return dict(zip(map(id, things), things, strict=True))


def _end_all() -> None:
    """In a forked child no trace of another thread goes on: put back what it had changed."""
    for journal in list(active):
        journal.end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_all)


def _innermost() -> Trace | None:
    return next((t for t in reversed(registry.traces) if isinstance(t, Trace)), None)


def _element(array: np.ndarray, index: Any) -> Any:
    return array.item() if index is None else array.item(index)
