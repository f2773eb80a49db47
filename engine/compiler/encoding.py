"""Values that effects use, written down so that each call makes them anew from its own tensors.

The journal writes them when a trace ends, `replay.py` reads them at each call.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..parameter import Parameter
from ..shape import SymDim
from ..tensor import Tensor
from .guards import is_cell
from .host_numbers import HostNumber, Output, Program, Ref
from .locations import Location
from .structure import FIXED, has_attributes, rebuild_dict, rebuild_list, rebuild_tuple
from .trace import Trace
from .traced import TraceBreak, Traced

ADVICE = "keep tensors, numbers and text, in tuples, lists and dictionaries"


class Argument(NamedTuple):
    """A tensor that the call was given."""

    position: int


class Constant(NamedTuple):
    """What is the same at each call."""

    value: Any


class Collection(NamedTuple):
    """A tuple, list or dictionary made anew at each call, once for all who hold it."""

    like: Any
    parts: Any
    number: int


class Encoder:
    """Writes values down; ``tensors`` are those that the plan must give beside the ``results``."""

    def __init__(
        self,
        trace: Trace,
        program: Program,
        result: Any,
        results: Sequence[Any],
        given: Mapping[int, int],
        promoted: set[int],
        places: Mapping[int, Location],
        is_older: Callable[[Any], bool],
    ) -> None:
        self.trace = trace
        self.program = program
        self.given = given
        self.promoted = promoted
        self.places = places
        self.is_older = is_older
        self.results = results
        self.returned = {id(part) for part in _containers(result)}
        self.tensors: list[Tensor] = []
        self.known: dict[int, Any] = {}
        self.kept: list[Any] = []

    def encode(self, value: Any) -> Any:
        """Return how a call makes ``value`` anew."""
        if type(value) is HostNumber:
            self.program.need(value.step)
            return Ref(value.step)
        if isinstance(value, SymDim):
            raise TraceBreak("a size that is not known yet is kept outside the function")
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, tuple | list | dict):
            return self._collection(value)
        if isinstance(value, FIXED) or self._lasts(value):
            return Constant(value)
        raise TraceBreak(
            f"a {type(value).__name__} is kept outside the function, which a graph cannot make",
            ADVICE,
        )

    def _tensor(self, value: Tensor) -> Any:
        if id(value) in self.promoted:
            raise TraceBreak("a number that was given is kept outside the function")
        if id(value) in self.given and isinstance(value, Traced):
            position = self.given[id(value)]
            if self.trace.arguments[position] is not value.ssa:
                raise TraceBreak(
                    "a tensor given is written to, and kept outside the function",
                    "keep a copy (x + 0)",
                )
            return Argument(position)
        if id(value) in self.places:
            step = self.program.add(self.places[id(value)].read, expected=Tensor)
            self.program.need(step)
            return Ref(step)
        if not isinstance(value, Traced) and id(value) not in self.trace.made:
            if isinstance(value, Parameter) or self.is_older(value):
                return Constant(value)
            raise TraceBreak("a tensor that code outside Cellwire made is kept", ADVICE)
        return self.output(value)

    def output(self, value: Tensor) -> Output:
        """Return which output of the plan a tensor is; one more if it is none yet."""
        for position, tensor in enumerate((*self.results, *self.tensors)):
            if tensor is value:
                return Output(position)
        self.tensors.append(value)
        return Output(len(self.results) + len(self.tensors) - 1)

    def _collection(self, value: Any) -> Any:
        if id(value) in self.known:
            return self.known[id(value)]
        if id(value) in self.returned:
            raise TraceBreak(
                f"a {type(value).__name__} is both returned and kept outside the function",
                "return a copy",
            )
        self.kept.append(value)
        if isinstance(value, dict):
            parts: Any = {key: self.encode(part) for key, part in value.items()}
        else:
            parts = [self.encode(part) for part in value]
        plain = type(value) in (tuple, list, dict) or hasattr(value, "_fields")
        if not plain or has_attributes(value):
            raise TraceBreak(f"a {type(value).__name__} is kept outside the function", ADVICE)
        like = type(value)() if type(value) in (tuple, list, dict) else value
        made = Collection(like, parts, len(self.known))
        self.known[id(value)] = made
        return made

    @staticmethod
    def _lasts(value: Any) -> bool:
        kinds = (types.ModuleType, types.BuiltinFunctionType)
        return isinstance(value, kinds) or is_cell(value)


def _containers(tree: Any) -> list[Any]:
    if not isinstance(tree, tuple | list | dict):
        return []
    parts = tree.values() if isinstance(tree, dict) else tree
    inner = [found for part in parts for found in _containers(part)]
    return inner if isinstance(tree, tuple) else [tree, *inner]


class Decoder:
    """Makes the values of one call."""

    def __init__(
        self, values: Mapping[int, Any], outputs: Sequence[Tensor], arguments: Sequence[Tensor]
    ) -> None:
        self.values = values
        self.outputs = outputs
        self.arguments = arguments
        self.made: dict[int, Any] = {}

    def decode(self, code: Any) -> Any:
        """Return the value that was written down as ``code``."""
        kind = type(code)
        if kind is Output:
            return self.outputs[code.position]
        if kind is Ref:
            return self.values[code.step]
        if kind is Argument:
            return self.arguments[code.position]
        return code.value if kind is Constant else self._collection(code)

    def _collection(self, code: Collection) -> Any:
        made = self.made.get(code.number)
        if made is None:
            made = self.made[code.number] = self._made(code)
        return made

    def _made(self, code: Collection) -> Any:
        if isinstance(code.like, dict):
            items = {key: self.decode(part) for key, part in code.parts.items()}
            return rebuild_dict(code.like, items)
        parts = [self.decode(part) for part in code.parts]
        if isinstance(code.like, list):
            return rebuild_list(code.like, parts)
        return rebuild_tuple(code.like, parts)
