"""Copy and paste: nodes with the wires between them as JSON text, pasted as one change."""

from collections.abc import Iterable

import msgspec

from . import changes as c
from .document import Document
from .items import Edge, NodeItem, Point, new_id
from .state import DocumentError


class Clipboard(msgspec.Struct, tag="cellwire-clipboard"):
    """What is copied: nodes and the wires between them."""

    nodes: tuple[NodeItem, ...]
    edges: tuple[Edge, ...]


def copy_nodes(document: Document, ids: Iterable[str]) -> str:
    """The nodes and the wires between them as text for the clipboard."""
    chosen = sorted(set(ids))
    missing = [id for id in chosen if id not in document.nodes]
    if missing:
        raise DocumentError(f"There is no node {', '.join(missing)} to copy.")
    inside = [
        edge for edge in document.edges.values() if edge.source in chosen and edge.target in chosen
    ]
    nodes = tuple(document.nodes[id] for id in chosen)
    edges = tuple(sorted(inside, key=lambda edge: edge.key))
    return msgspec.json.encode(Clipboard(nodes, edges)).decode()


def can_paste(text: str) -> bool:
    """Whether the clipboard's text holds nodes."""
    try:
        return bool(_read(text).nodes)
    except DocumentError:
        return False


def paste(document: Document, text: str, at: Point) -> c.Compound:
    """The change that adds the copied nodes, their top left corner at `at`, with new ids."""
    clip = _read(text)
    left = min(node.position[0] for node in clip.nodes)
    top = min(node.position[1] for node in clip.nodes)
    ids = {node.id: new_id() for node in clip.nodes}
    taken: set[str] = set()
    parts: list[c.Change] = []
    for node in clip.nodes:
        name = _name(document, node.name, taken)
        taken.add(name)
        x, y = node.position
        place = (at[0] + x - left, at[1] + y - top)
        copied = msgspec.structs.replace(node, id=ids[node.id], name=name, position=place)
        parts.append(c.AddNode(copied))
    for edge in clip.edges:
        if edge.source in ids and edge.target in ids:
            copied = Edge(ids[edge.source], edge.output, ids[edge.target], edge.input)
            parts.append(c.Connect(copied))
    return c.Compound("Paste", tuple(parts))


def _name(document: Document, name: str, taken: set[str]) -> str:
    """The name itself where it is free, else its stem with the next free number."""
    if name not in taken and document.node_named(name) is None:
        return name
    return document.free_name(name.rstrip("0123456789") or "node", taken)


def _read(text: str) -> Clipboard:
    try:
        clip = msgspec.json.decode(text, type=Clipboard)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise DocumentError("The clipboard holds no nodes.") from error
    if not clip.nodes:
        raise DocumentError("The clipboard holds no nodes.")
    return clip
