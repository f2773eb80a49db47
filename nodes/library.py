"""The node library: the specs of all kinds of nodes, made from the engine's Cells and ops.

A Cell or an op that the engine gains shows up here by itself: its ports are the tensors it takes,
its parameters the constructor's or the op's attributes, its words the docstring's.
"""

import inspect
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ..engine import nn, ops
from ..engine.nn.cell import Cell
from ..engine.nn.loss import LossBase
from ..engine.nn.schedule import LearningRateSchedule
from ..engine.ops.registry import OPS, Op
from ..engine.tensor import Tensor
from .aliases import aliases_of
from .data_nodes import DATA_NODES
from .families import family_of_cell, family_of_op
from .inspection import DocText, is_tensor_hint, param_specs, read_doc
from .outputs import NESTED, OUT, OUTPUTS, PACKED
from .spec import NodeSpec, Params, ParamSpec, Port

VERSIONED = re.compile(r"(?<=[a-z])V\d+$")
"""The version at the end of a primitive's name, which a palette does not need."""
UNDRAWN = frozenset({"gradient", "optimizer", "random"})
"""Categories of ops that are no nodes: what only the engine itself calls."""
UNDRAWN_OPS = frozenset({"argwhere", "masked_select", "nonzero", "tensor_shape"})
"""Ops that give tensors whose shape depends on values, or no tensor: no wire can be drawn."""
UNDRAWN_CELLS = (
    LearningRateSchedule,
    nn.DynamicLossScaleUpdateCell,
    nn.FixedLossScaleUpdateCell,
    nn.ResizeBilinear,
)
"""Cells that training calls, and no model; and one that takes its sizes with each call."""
TWO_SIZES = (
    ("in_channels", "out_channels"),
    ("vocab_size", "embedding_size"),
    ("input_size", "hidden_size"),
)
"""Sizes before and after a node, which its second line says as `8→32`."""
ONE_SIZE = ("num_features", "normalized_shape", "embed_dim", "d_model")
"""The size of what a node keeps as wide as it is."""
STARTS: Mapping[str, Params] = {
    "nn.FractionalMaxPool2d": {"output_size": 2},
    "nn.FractionalMaxPool3d": {"output_size": 2},
    "nn.Transformer": {
        "d_model": 64, "nhead": 4, "num_encoder_layers": 2, "num_decoder_layers": 2,
        "dim_feedforward": 128,
    },
    "nn.Upsample": {"scale_factor": 2.0},
    "ops.clamp": {"min": 0.0, "max": 1.0},
    "ops.fractional_max_pool2d": {"output_size": 2},
    "ops.fractional_max_pool3d": {"output_size": 2},
    "ops.interpolate": {"scale_factor": 2.0},
}  # fmt: skip
"""Parameters of new nodes where the engine's defaults are for a call that gives one of several."""


def library() -> Mapping[str, NodeSpec]:
    """Every kind of node by type, in the palette's order: data, Cells, ops, losses.

    A loss that is both a Cell and an op is the Cell.
    """
    cells = [spec for spec in map(_cell_spec, _cells()) if spec is not None]
    names = _names_of_ops()
    drawn = (_op_spec(op, names.get(op.name, ())) for op in OPS.values())
    found = [SCALE, *(spec for spec in drawn if spec is not None)]
    losses = {spec.title for spec in cells if spec.kind == "loss"}
    found = [spec for spec in found if spec.kind != "loss" or spec.title not in losses]
    made = [*cells, *sorted(found, key=lambda spec: spec.title.lower())]
    order = [*DATA_NODES, *(s for s in made if s.kind != "loss")]
    order += [spec for spec in made if spec.kind == "loss"]
    return MappingProxyType({spec.type: spec for spec in order})


def spec_of(type: str) -> NodeSpec | None:
    """The kind of node of that type, or None where this version does not know it."""
    return LIBRARY.get(type)


def _cells() -> list[type[Cell]]:
    """The Cells that can be drawn: those the engine publishes that say what they compute."""
    public = [getattr(nn, name) for name in dir(nn) if not name.startswith("_")]
    return [
        item
        for item in public
        if inspect.isclass(item) and issubclass(item, Cell) and item.construct is not Cell.construct
    ]


def _cell_spec(cell: type[Cell]) -> NodeSpec | None:
    construct: Any = cell
    doc = read_doc(cell.__doc__)
    type = f"nn.{cell.__name__}"
    ports = _cell_ports(cell, type)
    params = param_specs(cell, doc, skip=("self", "auto_prefix"))
    if ports is None or params is None or issubclass(cell, UNDRAWN_CELLS):
        return None
    loss = issubclass(cell, LossBase)
    return NodeSpec(
        type,
        cell.__name__,
        "Loss" if loss else "Cells",
        "loss" if loss else "cell",
        "loss" if loss else cell.__name__.lower(),
        inputs=ports,
        outputs=OUTPUTS.get(type, OUT),
        params=params,
        doc=doc.summary,
        make=lambda values: construct(**arguments(params, values)),
        summarize=summarize,
        keywords=(*aliases_of(type), *(("loss",) if loss else ())),
        start={**_start(params, loss=loss), **STARTS.get(type, {})},
        family=family_of_cell(cell, loss=loss),
        nested=NESTED.get(type, ""),
    )


def _start(params: tuple[ParamSpec, ...], *, loss: bool) -> Params:
    """What suits drawings better than the engine's defaults, by what parameters there are.

    Pools begin with a window of 2 (that of 1 changes nothing), losses with one number to train on,
    and layers of sequences with rows first, as data nodes give them.
    """
    defaults = {param.name: param.default for param in params}
    start: dict[str, object] = {}
    if defaults.get("kernel_size") == 1 and defaults.get("stride") == 1:
        start |= {"kernel_size": 2, "stride": 2}
    if loss and defaults.get("reduction") == "none":
        start["reduction"] = "mean"
    if defaults.get("batch_first") is False:
        start["batch_first"] = True
    return start


def _cell_ports(cell: type[Cell], type: str) -> tuple[Port, ...] | None:
    """The tensors that `construct` takes up to the first thing that may be left out.

    None where it needs other things, or gives several results that have no names here.
    """
    hints = typing.get_type_hints(cell.construct)
    if type not in OUTPUTS and not is_tensor_hint(hints.get("return", Tensor)):
        return None
    doc = read_doc(cell.construct.__doc__).parameters | read_doc(cell.__doc__).parameters
    ports: list[Port] = []
    for parameter in list(inspect.signature(cell.construct).parameters.values())[1:]:
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            return None
        needed = parameter.default is parameter.empty
        if packed := PACKED.get(type, {}).get(parameter.name):
            ports += packed
            continue
        if not is_tensor_hint(hints.get(parameter.name, Tensor)):
            if needed:
                return None
            break
        ports.append(Port(parameter.name, doc.get(parameter.name, ("", ""))[1], needed))
    return tuple(ports) or None


def _names_of_ops() -> dict[str, list[str]]:
    """The other names under which the engine publishes each op: `arccos` of `acos`."""
    own = {id(getattr(ops, name, None)): name for name in OPS}
    found: dict[str, list[str]] = {}
    for name in ops.__all__:
        op = own.get(id(getattr(ops, name)))
        if op is not None and op != name:
            found.setdefault(op, []).append(name)
    return found


def _op_spec(op: Op, names: Sequence[str]) -> NodeSpec | None:
    function = getattr(ops, op.name, None)
    type = f"ops.{op.name}"
    doc = read_doc(op.doc)
    if function is None or op.category in UNDRAWN or op.name in UNDRAWN_OPS:
        return None
    if type not in OUTPUTS and not _gives_one(doc):
        return None
    params = param_specs(op.function, doc, skip=op.inputs)
    if params is None or not op.inputs:
        return None
    loss = op.category == "loss"
    first = tuple(op.signature.parameters)[: len(op.inputs)]
    by_name = not op.variadic and first != op.inputs
    leading = _leading(op) if op.variadic else None
    return NodeSpec(
        type,
        VERSIONED.sub("", op.primitive),
        "Loss" if loss else "Ops",
        "loss" if loss else "op",
        "loss" if loss else op.name,
        inputs=_op_ports(op, doc),
        outputs=OUTPUTS.get(type, OUT),
        params=params,
        doc=doc.summary,
        make=lambda values: bind(
            function,
            op.variadic,
            arguments(params, values),
            op.inputs if by_name else None,
            leading,
        ),
        summarize=summarize,
        keywords=(op.name, *names, *aliases_of(type)),
        by_name=by_name,
        leading=leading,
        start=STARTS.get(type, {}),
        family=family_of_op(op),
    )


def _leading(op: Op) -> tuple[str, ...] | None:
    """The parameters before `*tensors`, which can be given by their place alone."""
    if op.name == "einsum":  # whose public form takes the equation first
        return ("equation",)
    spread = any(p.kind is p.VAR_POSITIONAL for p in op.signature.parameters.values())
    return () if spread else None


def _gives_one(doc: DocText) -> bool:
    return not doc.returns.strip().startswith("tuple")


def _op_ports(op: Op, doc: DocText) -> tuple[Port, ...]:
    ports: list[Port] = []
    for name in op.inputs:
        parameter = op.signature.parameters.get(name)
        needed = parameter is None or parameter.default is parameter.empty
        ports.append(Port(name, doc.parameters.get(name, ("", ""))[1], needed, op.variadic))
    return tuple(ports)


def bind(
    function: Callable[..., object],
    variadic: bool,
    attrs: Mapping[str, object],
    names: tuple[str, ...] | None = None,
    leading: tuple[str, ...] | None = None,
) -> Callable[..., object]:
    """A call of `function` on tensors alone, which have `names` or come first; attributes given.

    The attributes `leading` stand before the tensors, which then are no tuple.
    """
    if leading is not None:
        before = [attrs[name] for name in leading]
        rest = {name: value for name, value in attrs.items() if name not in leading}
        return lambda *tensors: function(*before, *tensors, **rest)
    if variadic:
        return lambda *tensors: function(tensors, **attrs)
    if names is not None:
        return lambda *tensors: function(**dict(zip(names, tensors, strict=False)), **attrs)
    return lambda *tensors: function(*tensors, **attrs)


def arguments(params: tuple[ParamSpec, ...], values: Params) -> dict[str, object]:
    """Keyword arguments of a constructor or op from a document's values: lists become tuples."""
    known = {param.name: param for param in params}
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in values.items()
        if name in known and not (value is None and known[name].default is None)
    }


def summarize(spec: NodeSpec, params: Params) -> str:
    """A node's second line: title, sizes in and out, kernel, and what is not as usual."""
    kernel = params.get("kernel_size")
    parts = [part for part in (_sizes(spec, params), "" if kernel is None else _by(kernel)) if part]
    told = {"kernel_size", "has_bias", "weight_init", "bias_init", "batch_first", *ONE_SIZE}
    told |= {name for pair in TWO_SIZES for name in pair}
    if params.get("stride") == kernel:
        told.add("stride")
    for param in spec.params:
        value = params.get(param.name)
        if param.name not in told and value is not None and value != param.default:
            parts.append(f"{param.name} {_words(value)}")
    return f"{spec.title} {' · '.join(parts[:4])}".strip()


def _sizes(spec: NodeSpec, params: Params) -> str:
    for first, second in TWO_SIZES:
        if spec.param(first) and spec.param(second):
            before, after = params.get(first), params.get(second)
            return f"{_words(before)}→{_words(after)}"
    for name in ONE_SIZE:
        if params.get(name) is not None:
            return _words(params[name])
    return ""


def _by(value: object) -> str:
    """A kernel's size: `3×3` of 3 or [3, 3]."""
    return "×".join(map(str, value)) if isinstance(value, (list, tuple)) else f"{value}×{value}"


def _words(value: object) -> str:
    if value is None:
        return "?"
    if isinstance(value, (list, tuple)):
        return "×".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _scale_words(spec: NodeSpec, params: Params) -> str:
    factor = params["factor"]
    if isinstance(factor, (int, float)) and 0 < abs(factor) < 1:
        over = 1 / factor
        if abs(over - round(over)) < 1e-9 * abs(over):
            return f"× 1/{round(over)}"
    return f"× {_words(factor)}"


def _scale(values: Params) -> Callable[..., object]:
    factor = values["factor"]
    return lambda input: ops.mul(input, factor)


SCALE = NodeSpec(
    "ops.scale",
    "Scale",
    "Ops",
    "op",
    "scale",
    inputs=(Port("input", "Any tensor; integers become float32."),),
    outputs=OUT,
    params=(ParamSpec("factor", "float", 0.0625, "What every element is multiplied by."),),
    doc="Multiply every element by one number.",
    make=_scale,
    summarize=_scale_words,
    keywords=aliases_of("ops.scale"),
    family="Arithmetic",
)
"""The one op node that is no row of the op table: `mul` by a number kept in the node."""
LIBRARY: Mapping[str, NodeSpec] = library()
"""Every kind of node by type."""
