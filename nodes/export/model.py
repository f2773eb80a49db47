"""What an exported model is made of: arguments, attributes, statements, results, losses."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...engine.nn.cell import Cell
from ...engine.shape import Aval
from ..document import Document
from ..infer import Inference, inputs_of, reaches
from ..items import Edge, NodeItem
from ..library import LIBRARY
from ..spec import NodeSpec, Params
from .naming import Names, class_name, identifier

Port = tuple[str, str]
MODULE_NAMES = (
    "self",
    "cw",
    "dataset",
    "nn",
    "ops",
    "np",
    "model",
    "loss",
    "accuracy",
    "main",
    "predict",
    "load_model",
    "results",
    "start",
    "batch",
)
"""What the exported file itself calls by these names where a value's name could stand too."""
CHAIN = "x"
"""The variable of a value that only the next line reads."""
UNREAD = "_"
"""The variable of one of several results that nobody reads."""


class ExportError(ValueError):
    """A drawing that cannot be exported; `nodes` are the names of those that stand in the way."""

    def __init__(self, message: str, nodes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.nodes = tuple(nodes)


@dataclass(frozen=True)
class Step:
    """A node of the drawing as part of the model."""

    item: NodeItem
    spec: NodeSpec
    params: Params
    inputs: tuple[tuple[str, Edge | None], ...]
    avals: tuple[Aval, ...]

    @property
    def outs(self) -> tuple[Port, ...]:
        """The ports that it gives."""
        return tuple((self.item.id, port.name) for port in self.spec.outputs)


@dataclass
class Model:
    """A drawing taken apart for an exporter.

    `arguments` are the data ports that the model reads, `steps` its Cells and ops in order,
    `results` what it gives: what losses read, and steps of which nobody reads anything.
    `variables` has the name of each value in `construct`, `attributes` that of each Cell and
    constant, `functions` that of the function that loads each data node.
    """

    title: str
    class_name: str
    steps: list[Step] = field(default_factory=list)
    constants: list[Step] = field(default_factory=list)
    data: list[Step] = field(default_factory=list)
    losses: list[Step] = field(default_factory=list)
    arguments: list[Port] = field(default_factory=list)
    results: list[Port] = field(default_factory=list)
    variables: dict[Port, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    avals: dict[Port, Aval] = field(default_factory=dict)

    @property
    def data_ports(self) -> list[Port]:
        """Every data port that the model or a loss reads."""
        read = [e for step in self.losses for _, e in step.inputs if e is not None]
        given = {(step.item.id, port.name) for step in self.data for port in step.spec.outputs}
        ports = [*self.arguments, *((e.source, e.output) for e in read)]
        return [port for port in dict.fromkeys(ports) if port in given]


def read_model(document: Document, inference: Inference) -> Model:
    """Take a drawing apart for an exporter.

    Raises
    ------
    ExportError
        It has errors, nothing to export, or nodes that compute from a loss.
    """
    _check(document, inference)
    model = Model(document.title, class_name(document.title), avals=dict(inference.avals))
    places = {"loss": model.losses, "cell": model.steps, "op": model.steps, "data": model.data}
    for id in inference.order:
        step = _step(document, inference, id)
        constant = step.item.type == "data.constant"
        (model.constants if constant else places[step.spec.kind]).append(step)
    if not model.steps:
        raise ExportError("The drawing has no Cells or ops to export. Add some between the data.")
    _name(document, model)
    return model


def _check(document: Document, inference: Inference) -> None:
    if inference.errors:
        names = {document.nodes[p.node].name: p for p in inference.errors if p.node}
        lines = [f"{name}: {problem.message}" for name, problem in names.items()]
        lines = lines or [problem.message for problem in inference.errors]
        raise ExportError("These nodes cannot be exported.\n" + "\n".join(lines), tuple(names))
    losses = [id for id in inference.order if LIBRARY[document.nodes[id].type].kind == "loss"]
    after = reaches(document, losses)
    late = [document.nodes[id].name for id in inference.order if id in after]
    if late:
        raise ExportError(
            f"These nodes compute from a loss, which a model cannot export: {', '.join(late)}. "
            "Remove them, or feed them from what feeds the loss.",
            late,
        )


def _step(document: Document, inference: Inference, id: str) -> Step:
    item = document.nodes[id]
    spec = LIBRARY[item.type]
    wired = {edge.input: edge for edge in document.edges_into(id)}
    ports = [port for port, _ in inputs_of(spec, wired, inference.avals)]
    inputs = tuple((port, wired.get(port)) for port in ports)
    avals = tuple(inference.avals[id, port.name] for port in spec.outputs)
    return Step(item, spec, inference.params[id], inputs, avals)


def _name(document: Document, model: Model) -> None:
    """Choose the names of arguments, attributes and variables."""
    attributes = Names([*dir(Cell), *Cell.__annotations__, "bprop"])
    for step in [*model.constants, *model.steps]:
        if step.spec.kind != "op":
            model.attributes[step.item.id] = attributes.give(step.item.name)
    for step in model.constants:
        model.variables[step.outs[0]] = f"self.{model.attributes[step.item.id]}"
    names = Names([*MODULE_NAMES, model.class_name])
    for step in model.data:
        model.functions[step.item.id] = names.give(f"load_{identifier(step.item.name)}")
    edges = [e for step in model.steps for _, e in step.inputs if e is not None]
    reads = {(edge.source, edge.output) for edge in edges}
    for step in model.data:
        for port in step.spec.outputs:
            key = (step.item.id, port.name)
            wanted = step.item.name if port.name == "out" else port.name
            if key in reads:
                model.arguments.append(key)
            model.variables[key] = names.give(wanted)
    chain = names.give(CHAIN)
    for index, step in enumerate(model.steps):
        following = model.steps[index + 1].item.id if index + 1 < len(model.steps) else ""
        readers = {
            port: [edge.target for edge in edges if (edge.source, edge.output) == port]
            for port in step.outs
        }
        told = {port: _read_by_loss(model, port) for port in step.outs}
        unread = not any(readers.values()) and not any(told.values())
        alone = sum(bool(readers[port] or told[port]) for port in step.outs) == 1
        for port in step.outs:
            if told[port] or unread:
                model.results.append(port)
                named = told[port] if told[port] not in ("input", "inputs", "x") else "output"
                model.variables[port] = names.give(named or _result_name(step, port))
            elif alone and readers[port] == [following]:
                model.variables[port] = chain
            elif readers[port]:
                model.variables[port] = names.give(_result_name(step, port))
            else:
                model.variables[port] = UNREAD


def _result_name(step: Step, port: Port) -> str:
    """A name for a step's value, apart from that of the Cell which makes it."""
    name = identifier(step.item.name)
    if len(step.outs) > 1:
        return f"{name}_{port[1]}"
    return f"{name}_out" if step.spec.kind == "cell" else name


def _read_by_loss(model: Model, port: Port) -> str:
    """The loss's input that reads a port, or "" where none does."""
    for step in model.losses:
        for name, edge in step.inputs:
            if edge is not None and (edge.source, edge.output) == port:
                return name
    return ""
