"""Guards: everything that traced code read from outside, and one function that checks it.

A trace of ``x * cfg.alpha`` sees only the number. ``watch`` finds the chains of names that the
code read; each becomes a guard. A changed value means another specialisation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .chains import NAN, Chain, Held, snapshot
from .functions import Functions

MUTATORS = {
    list: {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"},
    dict: {"update", "pop", "popitem", "clear", "setdefault"},
    set: {"add", "discard", "remove", "pop", "clear", "update"},
}
CELL_STATE = (
    (("attr", "_cells"),),
    (("attr", "hooks"), ("attr", "version")),
    (("attr", "training"),),
)


@dataclass(frozen=True, slots=True)
class Guard:
    """A chain and what its value was while tracing."""

    chain: Chain
    expected: Any

    def holds(self) -> bool:
        """Return whether the chain still gives what the trace saw."""
        return snapshot(self.chain.value()) == self.expected


@dataclass(slots=True)
class Reads:
    """Everything that one trace read from outside."""

    guards: dict[object, Guard] = field(default_factory=dict)
    containers: set[int] = field(default_factory=set)
    cells: dict[int, Any] = field(default_factory=dict)
    loose: set[str] = field(default_factory=set)
    functions: Functions = field(default_factory=Functions, repr=False)
    hold: Callable[[], bool] = field(default=bool, repr=False)
    """Whether nothing that was read has changed; set by ``finish``."""

    def add(self, chain: Chain, value: Any) -> None:
        """Note that the trace saw ``value`` at the end of ``chain``."""
        if type(value) in MUTATORS:
            self.containers.add(id(value))
        key = (id(chain.root), chain.kind, chain.name, chain.path)
        if key not in self.guards:
            self.guards[key] = Guard(chain, snapshot(value))
            if is_cell(value):
                self.add_cell(value)

    def add_cell(self, cell: Any) -> None:
        """Guard a Cell's hooks, sub-Cells and mode, once."""
        if id(cell) in self.cells:
            return
        self.cells[id(cell)] = cell
        for path in CELL_STATE:
            chain = Chain(cell, "object", type(cell).__name__, path)
            self.add(chain, chain.value())
        for child in cell.__dict__["_cells"].values():
            self.add_cell(child)

    def finish(self) -> None:
        """Guard attributes read from Cells that no chain names, and compile the check."""
        for name in self.loose:
            for cell in self.cells.values():
                if name in cell.__dict__:
                    chain = Chain(cell, "object", type(cell).__name__, (("attr", name),))
                    self.add(chain, cell.__dict__[name])
        self.hold = compile_check([*self.guards.values()])

    def changed(self) -> list[Chain]:
        """Return the chains whose value differs now."""
        return [guard.chain for guard in self.guards.values() if not guard.holds()]


def is_cell(value: Any) -> bool:
    """Return whether ``value`` is a Cell."""
    return hasattr(type(value), "construct") and "_cells" in getattr(value, "__dict__", ())


def compile_check(guards: list[Guard]) -> Callable[[], bool]:
    """Return one function that checks all guards: a chain costs some ten nanoseconds."""
    names: dict[str, Any] = {"snapshot": snapshot}
    roots: dict[int, str] = {}
    tests: list[str] = []
    for number, guard in enumerate(guards):
        source = _source(guard.chain, names, roots)
        expected = guard.expected
        if isinstance(expected, Held):
            names[f"e{number}"] = expected.value
            tests.append(f"{source} is e{number}")
        elif isinstance(expected, tuple) and expected[0] in (bool, type(None)):
            tests.append(f"{source} is {expected[1]!r}")
        elif isinstance(expected, tuple) and expected[0] in (int, float, str) and expected != NAN:
            names[f"e{number}"], names[f"t{number}"] = expected[1], expected[0]
            tests.append(f"(v := {source}).__class__ is t{number} and v == e{number}")
        else:
            names[f"e{number}"] = expected
            tests.append(f"snapshot({source}) == e{number}")
    body = "\n            and ".join(tests) or "True"
    text = (
        "def check():\n    try:\n        return (\n            "
        f"{body}\n        )\n    except (AttributeError, LookupError, TypeError, ValueError):\n"
        "        return False\n"
    )
    exec(compile(text, "<guards>", "exec"), names)
    return names["check"]


def _source(chain: Chain, names: dict[str, Any], roots: dict[int, str]) -> str:
    """Return the Python expression of a chain over names bound in ``names``."""
    root = roots.get(id(chain.root))
    if root is None:
        root = roots[id(chain.root)] = f"r{len(roots)}"
        names[root] = chain.root
    text = root
    if chain.kind == "global":
        text = f"{root}[{chain.name!r}]"
    elif chain.kind == "closure":
        text = f"{root}.cell_contents"
    for kind, name in chain.path:
        text += f".{name}" if kind == "attr" else f"[{name!r}]"
    return text
