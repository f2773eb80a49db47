"""Events of the session as changes of the window's state: one short function each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ..nodes.items import Edge
from .session import messages as m
from .state import EditorState, Run, SessionInfo, Training, key_of, sentences


def take(state: EditorState, event: m.Event) -> None:
    """Bring the state up to date with an event."""
    handler = _HANDLERS.get(type(event))
    if handler is not None:
        handler(state, event)


def _ready(state: EditorState, event: m.Ready) -> None:
    state.set_session(SessionInfo("ready", event.device, event.threads, event.pid))
    state.add_log("info", f"Session ready on {event.device} with {event.threads} threads.")


def _lost(state: EditorState, event: m.SessionLost) -> None:
    forget_session(state)
    state.set_session(dataclasses.replace(state.session, state="lost", message=event.message))
    state.add_log("error", "\n".join(filter(None, (event.message, event.last_words))))


def forget_session(state: EditorState) -> None:
    """Forget what only the session's process held: the run, and what it compiled."""
    groups = state.group_states.keys() | state.reports.keys()
    state.run, state.group_states, state.reports = Run(), {}, {}
    state.set_session(SessionInfo())
    state.run_changed.emit(state.run)
    for group in groups:
        state.group_changed.emit(group)


def _loaded(state: EditorState, event: m.DocumentLoaded) -> None:
    state.set_session(dataclasses.replace(state.session, parameters=event.parameters))
    if event.revision == state.document.revision:
        state.set_session_problems(event.problems)


def _failed_command(state: EditorState, event: m.CommandFailed) -> None:
    if event.command == "Inspect":
        return  # whoever asked shows why there is nothing to see
    text = sentences(event.message, event.fix)
    state.add_log("error", text, event.node)


def _state_changed(state: EditorState, event: m.StateChanged) -> None:
    run = state.run
    was = run.state
    run.state, run.next_node, run.back = event.state, event.node, event.back
    if event.state in ("running", "ready", "empty", "training", "finished"):
        run.paused = None
    if event.state in ("running", "ready", "empty", "training"):
        run.failed = None
    if event.state in ("ready", "empty") or (event.state == "running" and was in _AT_START):
        run.ran.clear()
        run.ran_backward.clear()
        run.finished = None
    state.run_changed.emit(run)


_AT_START = ("ready", "empty", "finished", "failed", "training", "training paused")


def _node_started(state: EditorState, event: m.NodeStarted) -> None:
    state.run.next_node = event.node
    state.run_changed.emit(state.run)


def _node_finished(state: EditorState, event: m.NodeFinished) -> None:
    run = state.run
    run.milliseconds[event.node] = event.milliseconds
    members = {event.node}
    if event.node in state.document.groups:
        members = set(state.document.groups[event.node].nodes)
    wires = run.ran_backward if event.direction == "gradient" else run.ran
    wires.update(key for key in state.document.edges if key[0] in members)
    run.avals.update({(event.node, port): text for port, text in event.avals.items()})
    state.node_ran.emit(event.node)


def _edge_value(state: EditorState, event: m.EdgeValue) -> None:
    state.edge_value.emit(event)


def _paused(state: EditorState, event: m.Paused) -> None:
    state.run.paused = event
    state.run.next_node = event.node
    if event.direction == "forward" and event.node is not None:
        _forget_after(state, event.node)
    if event.edge is not None:
        state.run.hits[(*key_of(event.edge), event.direction)] = event.hit
        state.set_focus(key_of(event.edge))
    state.run_changed.emit(state.run)


def _forget_after(state: EditorState, node: str) -> None:
    """Forget the wires behind a node that waits, though other nodes of its group have run."""
    leaving: dict[str, list[Edge]] = {}
    for edge in state.document.edges.values():
        leaving.setdefault(edge.source, []).append(edge)
    group = state.document.groups.get(node)
    waiting = list(group.nodes) if group else [node]
    seen = set(waiting)
    while waiting:
        for edge in leaving.get(waiting.pop(), ()):
            state.run.ran.discard(edge.key)
            if edge.target not in seen:
                seen.add(edge.target)
                waiting.append(edge.target)


def _noted(state: EditorState, event: m.BreakpointNoted) -> None:
    mark = event.breakpoint
    state.run.hits[(*key_of(mark.edge), mark.direction)] = event.hit
    node = state.document.nodes.get(mark.edge.node)
    where = node.name if node else mark.edge.node
    state.add_log("info", f"Breakpoint before {where}, hit {event.hit}.", mark.edge.node)
    state.run_changed.emit(state.run)


def _run_finished(state: EditorState, event: m.RunFinished) -> None:
    state.run.finished = event
    loss = "" if event.loss is None else f", loss {event.loss:.4g}"
    state.add_log("info", f"Run finished in {event.milliseconds:.1f} ms{loss}.")
    state.run_changed.emit(state.run)


def _node_failed(state: EditorState, event: m.NodeFailed) -> None:
    state.run.failed = event
    state.add_log("error", sentences(event.message, event.fix), event.node)
    state.run_changed.emit(state.run)


def _ratios(state: EditorState, event: m.UpdateRatios) -> None:
    state.training.ratios = dict(event.ratios)
    state.training_changed.emit(state.training)


def _group_changed(state: EditorState, event: m.GroupChanged) -> None:
    state.group_states[event.group] = event
    group = state.document.groups.get(event.group)
    told = event.state == "eager" or (event.state == "stale" and event.group in state.reports)
    if event.reason and told and group is not None:
        words = "is stale" if event.state == "stale" else "runs eagerly"
        state.add_log("warning", f"{group.name} {words}: {event.reason}")
    state.group_changed.emit(event.group)


def _group_report(state: EditorState, event: m.GroupReport) -> None:
    state.reports[event.group] = event
    state.group_changed.emit(event.group)


def _progress(state: EditorState, event: m.TrainingProgress) -> None:
    training = state.training
    if training.finished is not None or (training.steps and event.step < training.steps[-1]):
        training = state.training = Training()
    training.progress, training.paused = event, None
    points = event.losses or ((event.step, event.loss),)
    training.steps += [step for step, _ in points]
    training.losses += [loss for _, loss in points]
    state.training_changed.emit(training)


def _epoch(state: EditorState, event: m.EpochFinished) -> None:
    state.training.epochs.append(event)
    state.training_changed.emit(state.training)


def _training_paused(state: EditorState, event: m.TrainingPaused) -> None:
    state.training.paused = event
    if event.message:
        level = "info" if event.reason == "user" else "error"
        state.add_log(level, sentences(event.message, event.fix), event.node)
    state.training_changed.emit(state.training)


def _training_finished(state: EditorState, event: m.TrainingFinished) -> None:
    state.training.finished = event
    accuracy = event.held_out_accuracy
    found = "" if accuracy is None else f", held-out accuracy {accuracy:.1%}"
    state.add_log("done", f"Training ended after {event.step} steps{found}.")
    state.training_changed.emit(state.training)


def _overfit(state: EditorState, event: m.OverfitFinished) -> None:
    state.training.overfit = event
    state.add_log("done" if event.passed else "warning", event.message)
    state.training_changed.emit(state.training)


def _inspection(state: EditorState, event: m.InspectionResult) -> None:
    state.inspected.emit(event)


def _log(state: EditorState, event: m.Log) -> None:
    state.add_log(event.level, event.message, event.node)


def _memory(state: EditorState, event: m.Memory) -> None:
    info = state.session
    state.set_session(
        dataclasses.replace(info, memory_bytes=event.process, value_bytes=event.values)
    )


_HANDLERS: dict[type, Callable[[EditorState, Any], None]] = {
    m.Ready: _ready,
    m.SessionLost: _lost,
    m.DocumentLoaded: _loaded,
    m.CommandFailed: _failed_command,
    m.StateChanged: _state_changed,
    m.NodeStarted: _node_started,
    m.NodeFinished: _node_finished,
    m.EdgeValue: _edge_value,
    m.Paused: _paused,
    m.BreakpointNoted: _noted,
    m.RunFinished: _run_finished,
    m.NodeFailed: _node_failed,
    m.UpdateRatios: _ratios,
    m.GroupChanged: _group_changed,
    m.GroupReport: _group_report,
    m.TrainingProgress: _progress,
    m.EpochFinished: _epoch,
    m.TrainingPaused: _training_paused,
    m.TrainingFinished: _training_finished,
    m.OverfitFinished: _overfit,
    m.InspectionResult: _inspection,
    m.Log: _log,
    m.Memory: _memory,
}
