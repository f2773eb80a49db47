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
    aval: Aval

    @property
    def out(self) -> Port:
        """The port that it gives."""
        return (self.item.id, self.spec.outputs[0].name)


@dataclass
class Model:
    """A drawing taken apart for an exporter.

    `arguments` are the data ports that the model reads, `steps` its Cells and ops in order,
    `results` what it gives: what losses read and what nobody reads. `variables` has the name of
    each value in `construct`, `attributes` that of each Cell and constant, `functions` that of
    the function that loads each data node.
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
    aval = inference.avals[id, spec.outputs[0].name]
    return Step(item, spec, inference.params[id], inputs, aval)


def _name(document: Document, model: Model) -> None:
    """Choose the names of arguments, attributes and variables."""
    attributes = Names([*dir(Cell), *Cell.__annotations__, "bprop"])
    for step in [*model.constants, *model.steps]:
        if step.spec.kind != "op":
            model.attributes[step.item.id] = attributes.give(step.item.name)
    for step in model.constants:
        model.variables[step.out] = f"self.{model.attributes[step.item.id]}"
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
        readers = [edge.target for edge in edges if (edge.source, edge.output) == step.out]
        told = _read_by_loss(model, step.out)
        following = model.steps[index + 1].item.id if index + 1 < len(model.steps) else ""
        if told or not readers:
            model.results.append(step.out)
            named = told if told not in ("input", "inputs", "x") else "output"
            model.variables[step.out] = names.give(named or _result_name(step))
        elif readers == [following]:
            model.variables[step.out] = chain
        else:
            model.variables[step.out] = names.give(_result_name(step))


def _result_name(step: Step) -> str:
    """A name for a step's value, apart from that of the Cell which makes it."""
    name = identifier(step.item.name)
    return f"{name}_out" if step.spec.kind == "cell" else name


def _read_by_loss(model: Model, port: Port) -> str:
    """The loss's input that reads a port, or "" where none does."""
    for step in model.losses:
        for name, edge in step.inputs:
            if edge is not None and (edge.source, edge.output) == port:
                return name
    return ""
