"""Whether a wire may be drawn, and why not: asked live while one is dragged."""

from dataclasses import dataclass

from .document import Document
from .evaluate import check_params, evaluate
from .infer import Inference, infer, inputs_of, reaches
from .items import Edge
from .library import spec_of
from .spec import NodeSpec


@dataclass(frozen=True)
class Verdict:
    """Whether a wire fits; `reason` says why not, `replaces` is the wire it takes the place of."""

    ok: bool
    reason: str = ""
    replaces: Edge | None = None


def can_connect(
    document: Document,
    source: str,
    output: str,
    target: str,
    input: str,
    inference: Inference | None = None,
) -> Verdict:
    """Whether a wire may go from `source.output` to `target.input` of the document.

    `inference` is that of the document as it is, if the caller has it.
    """
    edge = Edge(source, output, target, input)
    replaces = document.edges.get(edge.key)
    reason = _misfit(document, edge, replaces) or _mismatch(
        document, edge, inference or infer(document)
    )
    return Verdict(not reason, reason, replaces)


def _misfit(document: Document, edge: Edge, replaces: Edge | None) -> str:
    """Why the wire cannot be, whatever flows on it."""
    nodes = document.nodes
    if edge.source not in nodes or edge.target not in nodes:
        return "One of the nodes is gone."
    giver, taker = spec_of(nodes[edge.source].type), spec_of(nodes[edge.target].type)
    if giver is None or taker is None:
        unknown = nodes[edge.target if giver else edge.source]
        return f"This version does not know the ports of {unknown.type}."
    if edge.output not in {port.name for port in giver.outputs}:
        return f"{giver.title} has no output {edge.output}."
    if not taker.takes(edge.input):
        return f"{taker.title} has no input {edge.input}."
    if replaces == edge:
        return "This wire is there already."
    if edge.source == edge.target:
        return "A node cannot feed itself."
    if edge.source in reaches(document, [edge.target]):
        return (
            f"This would make a cycle: {nodes[edge.target].name} feeds {nodes[edge.source].name}."
        )
    return ""


def _mismatch(document: Document, edge: Edge, inference: Inference) -> str:
    """Why what flows on the wire does not suit the target, as far as that is known."""
    target = document.nodes[edge.target]
    spec: NodeSpec | None = spec_of(target.type)
    if spec is None or any(f.severity == "error" for f in check_params(spec, target.params)):
        return ""
    wired = {wire.input: wire for wire in document.edges_into(target.id)} | {edge.input: edge}
    inputs = inputs_of(spec, wired, inference.avals)
    needed = {port.name for port in spec.input_ports(wired) if port.required}
    needed |= spec.half_wired(wired).keys()
    if any(aval is None and (port in wired or port in needed) for port, aval in inputs):
        return ""
    findings = evaluate(spec, target.params, inputs).findings
    return next((found.message for found in findings if found.severity == "error"), "")
