"""`.cellwire` files: JSON text, validated, in a stable order with one item a line.

Reading a file decodes data and runs no code. What this version does not know (node types,
fields, wires of missing nodes) is kept and written back.
"""

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from .document import Document
from .items import Breakpoint, Edge, Frame, Group, Item, NodeItem, Note, Training, View, Watch
from .migrate import VERSION, migrate
from .state import DocumentError, State, plain

ASSETS = Path(__file__).resolve().parents[1] / "assets"
T = TypeVar("T")
Sections = dict[str, list[Any]]


class CellwireFile(msgspec.Struct, kw_only=True):
    """A `.cellwire` file of this version; its JSON Schema is published with the assets."""

    format: Literal["cellwire"]
    version: Literal[1]
    title: str = "Untitled"
    nodes: list[NodeItem] = []
    edges: list[Edge] = []
    groups: list[Group] = []
    frames: list[Frame] = []
    notes: list[Note] = []
    breakpoints: list[Breakpoint] = []
    watches: list[Watch] = []
    training: Training = Training()
    view: View = View()


SECTIONS: Mapping[str, type] = {
    "nodes": NodeItem,
    "edges": Edge,
    "groups": Group,
    "frames": Frame,
    "notes": Note,
    "breakpoints": Breakpoint,
    "watches": Watch,
}
SINGLES: Mapping[str, type] = {"title": str, "training": Training, "view": View}


def load(path: str | Path) -> Document:
    """Read a document.

    Raises
    ------
    DocumentError
        The file is missing, damaged (with line and column), of a wrong form (with the field),
        or of a newer version.
    """
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise DocumentError(f"There is no file {path}.") from None
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror}.") from error
    return loads(data, Path(path).name)


def loads(text: str | bytes, name: str = "The document") -> Document:
    """Read a document from the text of a file; `name` stands in errors."""
    try:
        raw = migrate(_decode(text))
        return Document(state=_state(raw))
    except DocumentError as error:
        raise DocumentError(f"{name}: {error}") from error


def dumps(document: Document) -> str:
    """The text of the document's file: the same drawing always gives the same text."""
    state = document.state
    sections = _sections(state)
    lines = [
        '  "format": "cellwire"',
        f'  "version": {VERSION}',
        f'  "title": {_text(state.title)}',
    ]
    lines += [_block(name, "[]", map(_line, items)) for name, items in sections.items()]
    training = _fields(state.training)
    lines.append(_block("training", "{}", (f"{_text(k)}: {_text(v)}" for k, v in training.items())))
    lines.append(f'  "view": {_line(state.view)}')
    lines += [f"  {_text(key)}: {_text(state.extra[key])}" for key in sorted(state.extra)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def save(document: Document, path: str | Path) -> None:
    """Write the document in one step; the version before is kept as `NAME.cellwire~`.

    A file that holds this very drawing already is left as it is, byte for byte.

    Raises
    ------
    DocumentError
        The file cannot be written; what was there is untouched.
    """
    target = Path(os.path.realpath(path))
    text = dumps(document)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        before = _drawing_at(target)
        if before == text:
            return
        with partial.open("xb") as stream:
            stream.write(text.encode())
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            shutil.copymode(target, partial)
        if before is not None:
            kept = target.with_name(f".{target.name}.{os.getpid()}.kept")
            shutil.copy2(target, kept)
            os.replace(kept, f"{target}~")
        os.replace(partial, target)
    except OSError as error:
        raise DocumentError(f"{path} cannot be saved: {error.strerror}.") from error
    finally:
        partial.unlink(missing_ok=True)


def schema() -> dict[str, Any]:
    """The JSON Schema of `.cellwire` files."""
    made = _without_extra(msgspec.json.schema(CellwireFile))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Cellwire document, format {VERSION}",
        **made,
    }


def _without_extra(value: Any) -> Any:
    """`value` without the field that stands for all unknown fields."""
    if isinstance(value, dict):
        return {key: _without_extra(item) for key, item in value.items() if key != "extra"}
    return [_without_extra(item) for item in value] if isinstance(value, (list, tuple)) else value


def _drawing_at(path: Path) -> str | None:
    """The canonical text of the drawing in a file, or None where there is no good one."""
    if not path.exists():
        return None
    try:
        return dumps(load(path))
    except DocumentError:
        return None


def _decode(text: str | bytes) -> dict[str, object]:
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        raw = plain(json.loads(decoded), "a value in the file")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DocumentError(f"line {line} is not UTF-8 text.") from error
    except json.JSONDecodeError as error:
        raise DocumentError(
            f"line {error.lineno}, column {error.colno}: {error.msg}; this is not whole JSON text. "
            "A version saved before may lie beside it, with ~ at the end of its name."
        ) from error
    except DocumentError:
        raise
    except ValueError as error:  # a number of thousands of digits
        raise DocumentError("a number in it is too long.") from error
    except RecursionError as error:
        raise DocumentError("its values lie too deep in each other.") from error
    if not isinstance(raw, dict) or raw.get("format") != "cellwire":
        raise DocumentError('it is no Cellwire document ("format": "cellwire" is missing).')
    return raw


def _state(raw: Mapping[str, object]) -> State:
    """The tables of a decoded file of this version."""
    sections = {name: _section(name, kind, raw.get(name, [])) for name, kind in SECTIONS.items()}
    singles = {
        name: _convert(raw[name], kind, name) for name, kind in SINGLES.items() if name in raw
    }
    known = {"format", "version", *SECTIONS, *SINGLES}
    state = State(**singles, extra={key: raw[key] for key in raw if key not in known})
    for name in ("nodes", "groups", "frames", "notes"):
        table = getattr(state, name)
        for index, item in enumerate(sections[name]):
            _place(table, item.id, item, f"{name}[{index}]")
    _place_wires(state, sections)
    return state


def _place_wires(state: State, sections: Sections) -> None:
    """Put edges and marks in their tables, those of missing nodes among the loose ones."""
    for index, edge in enumerate(sections["edges"]):
        if edge.source in state.nodes and edge.target in state.nodes:
            _place(state.edges, edge.key, edge, f"edges[{index}]")
        else:
            state.loose.append(edge)
    for name in ("breakpoints", "watches"):
        table = getattr(state, name)
        for index, mark in enumerate(sections[name]):
            if mark.key[:2] in state.edges:
                _place(table, mark.key, mark, f"{name}[{index}]")
            else:
                state.loose.append(mark)
    owned: set[str] = set()
    for group in list(state.groups.values()):
        if not group.nodes or owned & set(group.nodes) or not state.nodes.keys() >= {*group.nodes}:
            state.loose.append(state.groups.pop(group.id))
        owned |= set(group.nodes)


def _place(table: dict[Any, Any], key: object, item: object, where: str) -> None:
    if key in table:
        raise DocumentError(f"{where} has the place of another one, {key!r}: keep one of them.")
    table[key] = item


def _section(name: str, kind: type[T], raw: object) -> list[T]:
    if not isinstance(raw, list):
        raise DocumentError(f"{name} is {raw!r}; a list is expected.")
    return [_convert(item, kind, f"{name}[{index}]") for index, item in enumerate(raw)]


def _convert(raw: object, kind: type[T], where: str) -> T:
    """`raw` as a `kind`, with fields that the kind does not know in its `extra`."""
    if issubclass(kind, Edge) and isinstance(raw, list) and len(raw) != 4:
        raise DocumentError(f"{where} is {raw!r}; source, output, target and input are expected.")
    if issubclass(kind, Item) and isinstance(raw, dict):
        known = set(kind.__struct_fields__) - {"extra"}
        extra = {key: value for key, value in raw.items() if key not in known}
        raw = {key: value for key, value in raw.items() if key in known}
        if extra:
            raw["extra"] = extra
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `$")
        raise DocumentError(f"{where}{path.rstrip('`')}: {reason}.") from error


def _sections(state: State) -> Sections:
    """The items of each section in the order of the file."""
    loose: dict[type, list[Any]] = {}
    for item in state.loose:
        loose.setdefault(type(item), []).append(item)
    found: Sections = {}
    for name, kind in SECTIONS.items():
        items = [*getattr(state, name).values(), *loose.get(kind, [])]
        found[name] = sorted(items, key=_order)
    return found


def _order(item: Any) -> tuple[str, ...]:
    """The place of an item in its section: by id, or by the edge it is or is on."""
    if isinstance(item, (Edge, Breakpoint, Watch)):
        return (*item.key, *((item.source, item.output) if isinstance(item, Edge) else ()))
    return (item.id,)


def _fields(item: msgspec.Struct) -> dict[str, object]:
    """The fields of a struct as the file has them, unknown ones last."""
    fields = {name: getattr(item, name) for name in item.__struct_fields__ if name != "extra"}
    extra = getattr(item, "extra", {})
    return fields | {key: extra[key] for key in sorted(extra)}


def _line(item: msgspec.Struct) -> str:
    if isinstance(item, Edge):
        return _text([item.source, item.output, item.target, item.input])
    return "{" + ", ".join(f"{_text(k)}: {_text(v)}" for k, v in _fields(item).items()) + "}"


def _text(value: object) -> str:
    return json.dumps(_canonical(value), ensure_ascii=False, sort_keys=True, allow_nan=False)


def _canonical(value: object) -> object:
    """`value` with whole coordinates written without a fraction."""
    if isinstance(value, tuple) and all(isinstance(item, float) for item in value):
        return [int(item) if item == int(item) else item for item in value]
    return value


def _block(name: str, brackets: str, lines: Iterable[str]) -> str:
    opening, closing = brackets
    body = ",\n".join(f"    {line}" for line in lines)
    return f'  "{name}": {opening}\n{body}\n  {closing}' if body else f'  "{name}": {brackets}'
