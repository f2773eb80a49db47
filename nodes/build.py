"""A document as the graph that runs: Cells that keep their weights, ops, data, groups."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from ..engine.dataset.files import DataError
from ..engine.nn.cell import Cell
from ..engine.random import RandomState, using
from ..engine.run.graph import Graph, Group, Node, Source
from ..engine.run.settings import TrainingSettings
from .data import DataSource
from .document import Document
from .infer import Inference, Problem, between, infer, inputs_of
from .items import Edge, NodeItem
from .library import LIBRARY
from .spec import NodeSpec, Params


class BuildError(ValueError):
    """A drawing that cannot be built: `problems` says where and why."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        first = problems[0]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(f"{first.message} {first.fix}".strip() + more)


@dataclass
class BuildCache:
    """What each node called in the last build, so that the next one keeps Cells and weights.

    A node keeps what it calls while its type and parameters (with those found by inference) stay.
    """

    calls: dict[str, tuple[bytes, Callable[..., object]]] = field(default_factory=dict)

    def call(
        self, node: NodeItem, params: Params, make: Callable[[], Callable[..., object]]
    ) -> Callable[..., object]:
        """What the node called before if it is the same still, else what `make` gives."""
        key = msgspec.json.encode((node.type, dict(sorted(params.items()))))
        kept = self.calls.get(node.id)
        if kept is None or kept[0] != key:
            kept = (key, make())
            self.calls[node.id] = kept
        return kept[1]


def build(
    document: Document,
    cache: BuildCache | None = None,
    *,
    base: Path | None = None,
    inference: Inference | None = None,
) -> Graph:
    """Build the graph that the executor runs, `jit` traces and exporters print.

    Parameters
    ----------
    document : Document
    cache : BuildCache, optional
        Keeps Cells with their weights from one build to the next; a fresh one gives fresh
        weights, the same for the same training seed and node.
    base : Path, optional
        The folder that data paths start from, usually the document's.
    inference : Inference, optional
        That of the document as it is, if the caller has it.

    Raises
    ------
    BuildError
        The drawing has errors, or its data cannot be read.
    """
    known = inference or infer(document, base)
    if known.errors:
        raise BuildError(known.errors)
    builder = _Builder(document, cache or BuildCache(), base, known)
    nodes = [builder.node(document.nodes[id]) for id in known.order]
    if builder.problems:
        raise BuildError(tuple(builder.problems))
    groups = [
        Group(group.id, group.name, frozenset(group.nodes))
        for _, group in sorted(document.groups.items())
        if not between(document, group.nodes)
    ]
    return Graph(nodes, groups=groups)


def training_settings(document: Document) -> TrainingSettings:
    """The document's training settings as the engine takes them."""
    fields = {
        name: getattr(document.training, name)
        for name in document.training.__struct_fields__
        if name != "extra"
    }
    return TrainingSettings(**fields)


def data_sources(graph: Graph) -> Mapping[str, DataSource]:
    """The data sets of a graph by node id: rows with a split into training and held-out ones."""
    return {
        node.id: node.call for node in graph.nodes.values() if isinstance(node.call, DataSource)
    }


def node_seed(seed: int, id: str) -> int:
    """The seed of a node's initial weights."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{id}".encode()).digest()[:6])


class _Builder:
    """Makes the nodes of one graph."""

    def __init__(
        self, document: Document, cache: BuildCache, base: Path | None, known: Inference
    ) -> None:
        self.cache = cache
        self.base = base
        self.known = known
        self.problems: list[Problem] = []
        self.seed = document.training.seed
        self.into: dict[str, dict[str, Edge]] = {id: {} for id in document.nodes}
        for edge in document.edges.values():
            self.into[edge.target][edge.input] = edge

    def node(self, item: NodeItem) -> Node:
        """The node that runs for one of the document."""
        spec, params = LIBRARY[item.type], self.known.params[item.id]
        wired = self.into[item.id]
        inputs = {
            port: Source(wired[port].source, wired[port].output) if port in wired else None
            for port, _ in inputs_of(spec, wired, self.known.avals)
        }
        outputs = tuple(port.name for port in spec.outputs)
        call = self._call(item, spec, params)
        return Node(item.id, item.name, call, inputs, outputs, spec.kind, packs=spec.packs)

    def _call(self, item: NodeItem, spec: NodeSpec, params: Params) -> Callable[..., object]:
        if spec.data is not None:
            try:
                return spec.data.open(params, self.base)
            except DataError as error:
                self.problems.append(Problem(item.id, None, "error", str(error), error.fix))
                return _no_data
        make = spec.make
        if make is None:
            raise TypeError(f"{spec.type} says neither what it calls nor what data it holds.")

        def made() -> Callable[..., object]:
            """The node's call, weights drawn from the training seed and the node's id alone."""
            with using(RandomState(node_seed(self.seed, item.id))):
                call = make(params)
                if isinstance(call, Cell):
                    for parameter in call.get_parameters():
                        _ = parameter.data
            return call

        try:
            return self.cache.call(item, params, made)
        except (MemoryError, OverflowError, ValueError) as error:
            message = f"{item.name} cannot be made: {str(error) or type(error).__name__}."
            fix = "Give it smaller sizes."
            self.problems.append(Problem(item.id, None, "error", message, fix))
            return _no_data


def _no_data() -> object:
    raise DataError("The data of this node could not be read.")
