"""Parameters, ports and words of a node read off a function's signature, hints and docstring."""

import collections.abc
import dataclasses
import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

from ..engine.dtype import DTYPES, DType
from ..engine.tensor import Tensor
from .spec import ParamKind, ParamSpec


@dataclass(frozen=True)
class Habit:
    """What parameters of one name share: a value to begin with, bounds, where auto reads them.

    `axes` are the axes of an input (the first, or that of number `source`) whose size the
    parameter takes when it is left null, in the order in which they are tried.
    """

    start: object = None
    minimum: float | None = None
    maximum: float | None = None
    axes: tuple[int, ...] = ()
    source: int = 0
    sizes: bool = False
    """Whether it is a size for each axis, or one for all, where no hint says so."""


HABITS: Mapping[str, Habit] = {
    "in_channels": Habit(minimum=1, axes=(1, -1)),
    "num_features": Habit(minimum=1, axes=(1,)),
    "num_channels": Habit(minimum=1, axes=(1,)),
    "num_groups": Habit(start=1, minimum=1),
    "in1_channels": Habit(minimum=1, axes=(-1,)),
    "in2_channels": Habit(minimum=1, axes=(-1,), source=1),
    "input_size": Habit(minimum=1, axes=(-1,)),
    "hidden_size": Habit(start=32, minimum=1),
    "embed_dim": Habit(minimum=1, axes=(-1,)),
    "d_model": Habit(minimum=1, axes=(-1,)),
    "num_heads": Habit(start=1, minimum=1),
    "nhead": Habit(start=1, minimum=1),
    "num_classes": Habit(start=10, minimum=1),
    "num_sampled": Habit(start=4, minimum=1),
    "num_segments": Habit(start=4, minimum=1),
    "groups": Habit(start=2, minimum=1),
    "upscale_factor": Habit(start=2, minimum=1),
    "downscale_factor": Habit(start=2, minimum=1),
    "block_size": Habit(start=2, minimum=1),
    "unflattened_size": Habit(start=[2, -1], minimum=-1),
    "size": Habit(start=[8, 8], minimum=1, sizes=True),
    "fold.output_size": Habit(start=[8, 8], minimum=1),
    "scatter_nd.shape": Habit(start=[8, 6], minimum=1),
    "slice.size": Habit(start=[1], minimum=-1),
    "affine_grid.size": Habit(start=[1, 1, 8, 8], minimum=1),
    "threshold": Habit(start=0.0),
    "thr": Habit(start=0.0),
    "value": Habit(start=0.0),
    "fill_value": Habit(start=0.0),
    "pad_num": Habit(start=0.0),
    "shift": Habit(start=1),
    "shifts": Habit(start=1),
    "repeats": Habit(start=2, minimum=0),
    "steps": Habit(start=10, minimum=1),
    "k": Habit(start=1),
    "n": Habit(start=2),
    "mvlgamma.p": Habit(start=2, minimum=1),
    "equation": Habit(start="...ij,...jk->...ik"),
    "dim": Habit(start=-1),
    "axis0": Habit(start=0),
    "axis1": Habit(start=1),
    "source": Habit(start=0),
    "destination": Habit(start=-1),
    "seq_dim": Habit(start=1),
    "narrow.start": Habit(start=0),
    "narrow.length": Habit(start=1, minimum=0),
    "select_ext.index": Habit(start=0),
    "output_size": Habit(start=1, minimum=1, sizes=True),
    "norm_type": Habit(start=2.0),
    "depth_radius": Habit(minimum=0),
    "normalized_shape": Habit(minimum=1, axes=(-1,)),
    "out_channels": Habit(start=32, minimum=1),
    "kernel_size": Habit(start=3, minimum=1, sizes=True),
    "depth": Habit(start=10, minimum=1),
    "vocab_size": Habit(start=1000, minimum=1),
    "embedding_size": Habit(start=32, minimum=1),
    "stride": Habit(minimum=1, sizes=True),
    "dilation": Habit(minimum=1, sizes=True),
    "group": Habit(minimum=1),
    "eps": Habit(minimum=0),
    "momentum": Habit(minimum=0, maximum=1),
    "p": Habit(minimum=0, maximum=1),
    "keep_prob": Habit(minimum=0, maximum=1),
    "label_smoothing": Habit(minimum=0, maximum=1),
    "shape": Habit(start=[-1], minimum=-1),
    "axis": Habit(start=-1),
    "axes": Habit(start=[0, 1]),
    "dims": Habit(start=[1], minimum=1),
    "begin": Habit(start=[0]),
    "end": Habit(start=[1]),
    "padding": Habit(start=1, minimum=0, sizes=True),
    "pad.padding": Habit(start=[1, 1]),
    "dtype": Habit(start="float32"),
}
"""By the parameter's name, or where that means different things by `function.name`."""
DTYPE_NAMES = tuple(dtype.numpy.name for dtype in DTYPES)
FLOAT_NAMES = tuple(dtype.numpy.name for dtype in DTYPES if dtype.is_float)
"""The element types that weights can have."""


@dataclass(frozen=True)
class DocText:
    """A numpydoc docstring taken apart: summary, and type and text of each parameter."""

    summary: str
    parameters: dict[str, tuple[str, str]]
    returns: str


def read_doc(text: str | None) -> DocText:
    """Take a numpydoc docstring apart."""
    lines = inspect.cleandoc(text or "").splitlines()
    sections: dict[str, list[str]] = {"": []}
    current = ""
    for index, line in enumerate(lines):
        following = lines[index + 1] if index + 1 < len(lines) else ""
        if following and set(following.strip()) == {"-"} and line.strip():
            current = line.strip()
            sections[current] = []
        elif not (line.strip() and set(line.strip()) == {"-"}):
            sections[current].append(line)
    summary = " ".join(" ".join(sections[""]).split("  ")[0].split())
    parameters: dict[str, tuple[str, str]] = {}
    for heading in ("Parameters", "Inputs"):
        parameters |= _entries(sections.get(heading, []))
    return DocText(summary, parameters, "\n".join(sections.get("Returns", [])))


def _entries(lines: Sequence[str]) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    names: list[str] = []
    for line in lines:
        if line and not line[0].isspace():
            head, _, kind = line.partition(":")
            names = [name.strip().lstrip("*") for name in head.split(",")]
            found |= {name: (kind.strip(), "") for name in names}
        else:
            for name in names:
                kind, text = found[name]
                found[name] = (kind, f"{text} {line.strip()}".strip())
    return found


def param_specs(
    function: Callable[..., object], doc: DocText, skip: Collection[str] = ()
) -> tuple[ParamSpec, ...] | None:
    """The parameters of a function or class, or None if one that is needed fits no form field."""
    target = function.__init__ if inspect.isclass(function) else function
    hints = typing.get_type_hints(target)
    specs: list[ParamSpec] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in skip:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            return None
        habit = HABITS.get(f"{function.__name__}.{name}") or HABITS.get(name, Habit())
        spec = _param_spec(
            parameter, habit, hints.get(name, Any), doc.parameters.get(name, ("", ""))
        )
        if spec is not None and spec.choices == DTYPE_NAMES and inspect.isclass(function):
            spec = dataclasses.replace(spec, choices=FLOAT_NAMES)
        if spec is not None:
            specs.append(spec)
        elif parameter.default is parameter.empty:
            return None
    return tuple(specs)


def _param_spec(
    parameter: inspect.Parameter, habit: Habit, hint: object, words: tuple[str, str]
) -> ParamSpec | None:
    needed = parameter.default is parameter.empty
    default = _plain_default(habit.start if needed else parameter.default)
    if not (needed or _keeps(habit, default)):
        habit = Habit()  # another thing of that name: the order of a norm is no probability
    if parameter.name == "dtype":
        hint = DType if needed or default is not None else DType | None
    if hint is Any and habit.sizes:
        hint = int | tuple[int, ...]
    kind, choices, optional = _kind(hint, default, words)
    if kind is None or (not needed and not _drawable(default)):
        return None
    return ParamSpec(
        parameter.name,
        kind,
        default,
        words[1],
        habit.minimum if kind in ("int", "float", "shape") else None,
        habit.maximum if kind in ("int", "float", "shape") else None,
        choices,
        auto=needed and bool(habit.axes),
        optional=optional or (not needed and default is None),
        required=needed,
    )


def _keeps(habit: Habit, default: object) -> bool:
    """Whether the numbers of a default value are within a habit's bounds."""
    values = default if isinstance(default, list) else [default]
    low = -math.inf if habit.minimum is None else habit.minimum
    high = math.inf if habit.maximum is None else habit.maximum
    return all(low <= value <= high for value in values if isinstance(value, int | float))


def _plain_default(value: object) -> object:
    if isinstance(value, DType):
        return value.numpy.name
    return list(value) if isinstance(value, tuple) else value


def _drawable(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, int) for item in value)
    return value is None or isinstance(value, (bool, int, float, str))


def _kind(
    hint: object, default: object, words: tuple[str, str]
) -> tuple[ParamKind | None, tuple[str, ...], bool]:
    """Kind, choices, and whether None is allowed, of a parameter's type hint."""
    members = _members(hint)
    optional = type(None) in members
    rest = [member for member in members if member is not type(None)]
    choices = _choices(rest, default, words)
    if choices:
        return "choice", choices, optional
    if DType in rest:
        return "choice", DTYPE_NAMES, optional
    plain = {member for member in rest if member in (bool, int, float, str)}
    if any(_is_ints(member) for member in rest):
        return "shape", (), optional
    if not rest or Any in rest:
        return _kind_of_value(default), (), optional
    if str in plain:
        return "str", (), optional
    for kind, name in ((float, "float"), (int, "int"), (bool, "bool")):
        if kind in plain:
            return typing.cast(ParamKind, name), (), optional
    return None, (), optional


def _members(hint: object) -> list[Any]:
    if get_origin(hint) in (Union, types.UnionType):
        return [member for part in get_args(hint) for member in _members(part)]
    return [hint]


def _choices(members: Sequence[object], default: object, words: tuple[str, str]) -> tuple[str, ...]:
    """The choices of a literal hint, or those that a docstring quotes: {"a", "b"}, ``"a"``."""
    found: list[str] = []
    for member in members:
        if get_origin(member) is Literal:
            found += [value for value in get_args(member) if isinstance(value, str)]
    if not found and str in members:
        listed = re.search(r"\{([^}]*)\}", words[0])
        if listed:
            found = re.findall(r"[\"']([^\"']*)[\"']", listed.group(1))
        elif default in (quoted := re.findall(r"``[\"']([^\"'`]*)[\"']``", words[1])):
            found = quoted
    return tuple(dict.fromkeys(found))


def _is_ints(hint: object) -> bool:
    if get_origin(hint) in (tuple, list, collections.abc.Sequence):
        return all(item in (int, Any, Ellipsis) for item in get_args(hint))
    return False


def _kind_of_value(value: object) -> ParamKind | None:
    for kind, name in ((bool, "bool"), (int, "int"), (float, "float"), (str, "str")):
        if isinstance(value, kind):
            return typing.cast(ParamKind, name)
    return "shape" if isinstance(value, list) else None


def is_tensor_hint(hint: object) -> bool:
    """Whether a type hint is that of a tensor, or of one that may be missing."""
    return Tensor in _members(hint)
