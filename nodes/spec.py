"""What a kind of node is: its ports, parameters and words, as data the palette and forms read."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..engine.shape import Aval

ParamKind = Literal["int", "float", "bool", "str", "choice", "shape", "path"]
NodeKind = Literal["data", "cell", "op", "loss"]
Category = Literal["Data", "Cells", "Ops", "Loss"]
Params = Mapping[str, object]


@dataclass(frozen=True)
class Port:
    """An input or output of a node; a variadic input stands for `name0`, `name1`, …

    Inputs with one `argument` follow each other and are passed together, as one tuple of that name.
    """

    name: str
    doc: str = ""
    required: bool = True
    variadic: bool = False
    argument: str = ""


@dataclass(frozen=True)
class ParamSpec:
    """A parameter: its kind, default, bounds and words; null is allowed where it is `auto`.

    An `auto` parameter left null is taken from the wires by inference. `optional` ones may be
    null and mean "none"; `required` ones have no default in the engine, and `default` is only
    what a new node begins with. Kind `shape` takes one whole number or a list of them.
    """

    name: str
    kind: ParamKind
    default: object = None
    doc: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    auto: bool = False
    optional: bool = False
    required: bool = False

    def problem(self, value: object) -> str | None:
        """What is wrong with `value` for this parameter, with what is allowed; None if nothing."""
        if value is None:
            if self.auto or self.optional:
                return None
            return f"{self.name} needs a value: {self.allowed}."
        if not _KIND_FITS[self.kind](value):
            return f"{self.name} is {value!r}, but takes {self.allowed}."
        if self.kind == "choice" and value not in self.choices:
            return f"{self.name} is {value!r}, but takes {self.allowed}."
        numbers = value if isinstance(value, (list, tuple)) else [value]
        for number in numbers:
            if isinstance(number, (int, float)) and not self._within(number):
                return f"{self.name} is {value!r}, but takes {self.allowed}."
        return None

    def _within(self, number: float) -> bool:
        above = self.minimum is None or number >= self.minimum
        return above and (self.maximum is None or number <= self.maximum)

    @property
    def allowed(self) -> str:
        """What the parameter takes, in words."""
        if self.kind == "choice":
            return "one of " + ", ".join(self.choices)
        words = _KIND_WORDS[self.kind]
        if self.minimum is not None and self.maximum is not None:
            return f"{words} from {self.minimum:g} to {self.maximum:g}"
        if self.minimum is not None:
            return f"{words} of at least {self.minimum:g}"
        return words


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_shape(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_int(item) for item in value)
    return _is_int(value)


_KIND_FITS: dict[ParamKind, Callable[[object], bool]] = {
    "int": _is_int,
    "float": lambda value: _is_int(value) or isinstance(value, float),
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "choice": lambda value: isinstance(value, str),
    "shape": _is_shape,
    "path": lambda value: isinstance(value, str),
}
_KIND_WORDS: dict[ParamKind, str] = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "choice": "a choice",
    "shape": "a whole number or a list of them",
    "path": "the path of a file",
}


@dataclass(frozen=True)
class DataRule:
    """How a data node comes by its rows; paths are taken from `base`, the document's folder.

    `avals(params, base)` reads headers at most and gives each output's aval with `N` rows;
    `open(params, base)` gives what the node calls, and `rows(params, base)` how many rows it has
    for training and held out. Each raises `DataError` where data cannot be had.
    """

    avals: Callable[[Params, Path | None], dict[str, Aval]]
    open: Callable[[Params, Path | None], Callable[[], object]]
    rows: Callable[[Params, Path | None], tuple[int, int]] | None = None


@dataclass(frozen=True)
class NodeSpec:
    """A kind of node. `type` is its key in documents (`nn.Dense`, `ops.relu`, `data.digits`).

    `stem` names new nodes (`dense1`). `make(params)` gives what a node of this kind calls: a
    Cell, or for an op the function with its attributes bound; data nodes have a `data` rule.
    """

    type: str
    title: str
    category: Category
    kind: NodeKind
    stem: str
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    params: tuple[ParamSpec, ...] = ()
    doc: str = ""
    make: Callable[[Params], Callable[..., object]] | None = None
    data: DataRule | None = None
    summarize: Callable[["NodeSpec", Params], str] | None = None
    keywords: tuple[str, ...] = ()
    start: Params = field(default_factory=dict)
    """Parameters that a new node is given, where the engine's defaults do nothing."""
    by_name: bool = False
    """Whether an op's arguments are all given by name, since its tensors are not the first ones."""
    leading: tuple[str, ...] | None = None
    """The attributes before an op's tensors where these follow one by one; None: as one tuple."""
    family: str = ""
    """Under which heading of its category the palette lists it."""
    nested: str = ""
    """How its results stand in Python (`{}, ({}, {})`), where they are not one flat tuple."""

    @property
    def packs(self) -> tuple[str, ...]:
        """The argument to which each input belongs, or () where each is one of its own."""
        if not any(port.argument for port in self.inputs):
            return ()
        return tuple(port.argument or port.name for port in self.inputs)

    def param(self, name: str) -> ParamSpec | None:
        """The parameter of that name, or None."""
        return next((param for param in self.params if param.name == name), None)

    def filled(self, params: Params) -> dict[str, object]:
        """Every parameter's value: the given one, else the default."""
        return {param.name: params.get(param.name, param.default) for param in self.params}

    def summary(self, params: Params) -> str:
        """One line for the node's second row, such as `Conv2d 32→64 · 3×3`."""
        if self.summarize is None:
            return self.title
        return self.summarize(self, self.filled(params))

    def input_ports(self, connected: Collection[str] = ()) -> tuple[Port, ...]:
        """The inputs to draw; variadic ones expand to those `connected` and one that is free."""
        ports: list[Port] = []
        for port in self.inputs:
            if not port.variadic:
                ports.append(port)
                continue
            taken = [variadic_index(port, name) for name in connected]
            last = max((index for index in taken if index is not None), default=-1)
            for index in range(last + 2):
                ports.append(Port(f"{port.name}{index}", port.doc, index <= max(last, 0)))
        return tuple(ports)

    def half_wired(self, connected: Collection[str]) -> dict[str, str]:
        """The open inputs of tuples that are begun, each with one of the tuple that is wired."""
        begun = {p.argument: p.name for p in self.inputs if p.argument and p.name in connected}
        return {
            port.name: begun[port.argument]
            for port in self.inputs
            if port.argument in begun and port.name not in connected
        }

    def takes(self, name: str) -> bool:
        """Whether an input port of that name exists."""
        return any(
            variadic_index(port, name) is not None if port.variadic else port.name == name
            for port in self.inputs
        )


def variadic_index(port: Port, name: str) -> int | None:
    """The number in a numbered port's name (`x2` of `x` is 2), or None for another name."""
    digits = name.removeprefix(port.name)
    if digits == name or not digits.isascii() or not digits.isdigit():
        return None
    return int(digits) if str(int(digits)) == digits else None
