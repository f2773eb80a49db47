"""Menus of the right button, and tool tips: what can be done with, and said of, a thing."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

from ...nodes.items import EdgeKey
from . import edits
from .hits import Hit

if TYPE_CHECKING:
    from .view import CanvasView


def menu_for(view: CanvasView, found: Hit) -> QMenu:
    """The menu for what is under the pointer; it goes when it closes."""
    menu = QMenu(view)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    if found.edge is not None:
        _wire_menu(view, menu, found.edge)
    elif found.kind in ("node", "input", "output"):
        _node_menu(view, menu, found.id)
    elif found.kind in ("box", "corner"):
        _box_menu(view, menu, found.id)
    else:
        _sheet_menu(view, menu)
    return menu


def _wire_menu(view: CanvasView, menu: QMenu, key: EdgeKey) -> None:
    document = view.state.document
    mark = document.breakpoints.get((*key, "forward"))
    if mark is None:
        menu.addAction("Add a breakpoint", lambda: view.editor.toggle_breakpoint(key))
        menu.addAction("Add a condition…", lambda: view.asking.edit_condition(key))
    else:
        words = "Disable the breakpoint" if mark.enabled else "Enable the breakpoint"
        on = not mark.enabled
        menu.addAction("Edit the condition…", lambda: view.asking.edit_condition(key))
        menu.addAction(
            words,
            lambda: view.editor.perform(edits.enable_breakpoint(document, key, "forward", on)),
        )
        menu.addAction("Remove the breakpoint", lambda: view.editor.toggle_breakpoint(key))
    gradient = (*key, "gradient") in document.breakpoints
    words = "Remove the gradient breakpoint" if gradient else "Break on the gradient"
    menu.addAction(words, lambda: view.editor.toggle_breakpoint(key, "gradient"))
    menu.addSeparator()
    watched = (*key, "forward") in document.watches
    words = "Stop watching" if watched else "Watch"
    menu.addAction(words, lambda: view.editor.perform(edits.toggle_watch(document, key)))
    menu.addAction("Run to here", lambda: view.run_to_asked.emit(key[0]))
    menu.addSeparator()
    menu.addAction("Delete the wire", view.editor.delete_selection)


def _node_menu(view: CanvasView, menu: QMenu, id: str) -> None:
    menu.addAction("Rename", lambda: view.asking.rename_node(id))
    menu.addAction("Duplicate", view.editor.duplicate)
    menu.addAction("Copy", view.editor.copy)
    menu.addAction("Delete", view.editor.delete_selection)
    menu.addSeparator()
    menu.addAction("⚡ Compile selection", view.compile_asked.emit)
    menu.addAction("Frame the selection", view.editor.add_frame)
    menu.addSeparator()
    menu.addAction("Run to here", lambda: view.run_to_asked.emit(id))
    menu.addAction("Run again from here", lambda: view.rerun_asked.emit(id))


def _box_menu(view: CanvasView, menu: QMenu, id: str) -> None:
    menu.addAction(
        "Rename" if id not in view.state.document.notes else "Edit",
        lambda: view.asking.edit_box(id),
    )
    if view.is_group(id):
        menu.addAction("⚡ Compile again", view.compile_asked.emit)
        menu.addAction("Dissolve the group", view.dissolve_asked.emit)
    else:
        menu.addAction("Delete", view.editor.delete_selection)


def _sheet_menu(view: CanvasView, menu: QMenu) -> None:
    menu.addAction("Add a node…", view.asking.search_here)
    menu.addAction("Add a note", view.editor.add_note)
    menu.addAction("Paste", view.editor.paste)
    menu.addSeparator()
    menu.addAction("Select all", view.editor.select_all)
    menu.addAction("Fit the drawing", view.fit)


def tip_for(view: CanvasView, found: Hit) -> str:
    """What a tool tip says of what is under the pointer."""
    state = view.state
    if found.edge is not None:
        return _wire_tip(view, found.edge)
    if found.kind == "node":
        spec = state.spec(found.id)
        problems = [p for p in state.inference.problems_of(found.id) if p.severity == "error"]
        if problems:
            return f"<p>{escape(problems[0].message)}</p><p>{escape(problems[0].fix)}</p>"
        if error := view.canvas.nodes[found.id].look.error:
            return f"<p>{escape(error)}</p>"
        return f"<p>{escape(spec.doc)}</p>" if spec else ""
    if found.kind in ("input", "output"):
        spec = state.spec(found.id)
        ports = (spec.inputs if found.kind == "input" else spec.outputs) if spec else ()
        words = next((p.doc for p in ports if found.name.startswith(p.name)), "")
        return f"<p><b>{escape(found.name)}</b> {escape(words)}</p>"
    return ""


def _wire_tip(view: CanvasView, key: EdgeKey) -> str:
    state = view.state
    edge = state.document.edges[key]
    nodes = state.document.nodes
    ends = f"{nodes[edge.source].name}.{edge.output} → {nodes[edge.target].name}.{edge.input}"
    aval = state.inference.avals.get((edge.source, edge.output))
    lines = [f"<b>{escape(ends)}</b>", escape(str(aval)) if aval else "shape not known yet"]
    mark = state.document.breakpoints.get((*key, "forward"))
    if mark is not None:
        lines.append(escape(f"breakpoint{': ' + mark.condition if mark.condition else ''}"))
    else:
        lines.append("click to set a breakpoint")
    return "<p style='white-space:pre'>" + "<br>".join(lines) + "</p>"
