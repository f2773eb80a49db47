"""Run, step, compile, train, export: what the buttons ask of the session, and when they may."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from ..nodes import changes as c
from ..nodes.export.naming import identifier
from ..nodes.infer import between
from ..nodes.items import Group, new_id
from ..nodes.state import DocumentError
from .link import SessionLink
from .session import messages as m
from .state import EditorState, Selection

PAUSABLE = ("running", "training")
STOPPABLE = ("running", "paused", "training", "training paused", "failed")


class RunControl(QObject):
    """Turns actions into commands of the session."""

    def __init__(self, state: EditorState, link: SessionLink, window: QWidget) -> None:
        super().__init__(window)
        self._state, self._link, self._window = state, link, window

    def run(self) -> None:
        """Run from the start."""
        self._link.send(m.Run())

    def step(self) -> None:
        """Run one node."""
        self._link.send(m.Step())

    def back(self) -> None:
        """Go one node back."""
        self._link.send(m.StepBack())

    def go_on(self) -> None:
        """Continue the run, or the training when that is what waits."""
        training = self._state.run.state == "training paused"
        self._link.send(m.ResumeTraining() if training else m.Continue())

    def pause(self) -> None:
        """Pause the run or the training."""
        training = self._state.run.state == "training"
        self._link.send(m.PauseTraining() if training else m.Pause())

    def stop(self) -> None:
        """End the run or the training."""
        training = self._state.run.state in ("training", "training paused")
        self._link.send(m.StopTraining() if training else m.Stop())

    def run_to(self, node: str) -> None:
        """Run until this node is next."""
        self._link.send(m.RunTo(node=node))

    def rerun_from(self, node: str) -> None:
        """Run this node and all that follows from it again."""
        self._link.send(m.RerunFrom(node=node))

    def run_to_selected(self) -> None:
        """Run until the selected node is next."""
        if node := self._one_node("run to"):
            self.run_to(node)

    def rerun_from_selected(self) -> None:
        """Run the selected node and all that follows from it again."""
        if node := self._one_node("run again from"):
            self.rerun_from(node)

    def backward(self) -> None:
        """Run the gradients of the last run's loss."""
        self._link.send(m.Backward())

    def set_training_mode(self, on: bool) -> None:
        """Run as in training, or as in evaluation."""
        self._link.send(m.SetMode(training=on))

    def pin_batch(self, on: bool) -> None:
        """Use the same batch in every run."""
        self._link.send(m.PinBatch(on=on))

    def compile_selection(self) -> None:
        """Make the selected nodes a compile group, and compile it; or compile a group again."""
        group = self._selected_group()
        if group is None:
            group = self._make_group()
        if group is not None:
            self._link.send(m.CompileGroup(group=group))

    def dissolve_group(self) -> None:
        """Remove the selected compile group; its nodes stay."""
        group = self._selected_group()
        if group is None:
            self._state.add_log("warning", "Select a compiled group to dissolve it.")
            return
        self._state.perform(c.RemoveGroup(group), "Dissolve the group")

    def train(self) -> None:
        """Train by the document's settings; a second press while it runs pauses it."""
        if self._state.run.state == "training":
            self.pause()
        else:
            self._link.send(m.Train(save=self._state.weights_file))

    def resume_training(self) -> None:
        """Go on with the training that was paused, or saved beside the document's weights."""
        saved = self._state.weights_file
        waiting = self._state.run.state == "training paused"
        use = "" if waiting or not Path(saved).is_file() else saved
        self._link.send(m.ResumeTraining(path=use, save=saved))

    def overfit(self) -> None:
        """Check that the model can learn one batch by heart."""
        self._link.send(m.OverfitOneBatch())

    def export_python(self) -> None:
        """Ask for a file, and write the drawing as Python there."""
        # The drawing's own weights have its name; those of the Python file need another.
        name = f"{identifier(Path(self._state.name).stem)}_model.py"
        path = self._ask_save("Export as Python", ".py", "Python (*.py)", name)
        if path is not None:
            self.export_to(path)

    def export_to(self, path: Path) -> None:
        """Write the drawing as Python to `path`, its weights beside it."""
        self._link.send(m.Export(path=str(path)), self._exported)

    def save_weights(self) -> None:
        """Ask for a file, and write the weights there."""
        path = self._ask_save("Save weights", ".safetensors", "Weights (*.safetensors)")
        if path is not None:
            self._link.send(m.SaveWeights(path=str(path)), self._weights_done)

    def load_weights(self) -> None:
        """Ask for a file, and read the weights from it."""
        folder = str(self._state.path.parent if self._state.path else Path.home())
        path, _ = QFileDialog.getOpenFileName(
            self._window, "Load weights", folder, "Weights (*.safetensors)"
        )
        if path:
            self._link.send(m.LoadWeights(path=path), self._weights_done)

    def _exported(self, answer: m.Event) -> None:
        if isinstance(answer, m.Exported):
            self._state.add_log("done", f"Exported {', '.join(answer.files)}.")

    def _weights_done(self, answer: m.Event) -> None:
        if isinstance(answer, m.CommandDone):
            done = "saved" if answer.command == "SaveWeights" else "loaded"
            self._state.add_log("done", f"The weights are {done}.")

    def _ask_save(self, title: str, suffix: str, kinds: str, name: str = "") -> Path | None:
        folder = self._state.path.parent if self._state.path else Path.home()
        suggestion = folder / (name or Path(self._state.name).with_suffix(suffix).name)
        path, _ = QFileDialog.getSaveFileName(self._window, title, str(suggestion), kinds)
        if not path:
            return None
        return Path(path) if Path(path).suffix else Path(path + suffix)

    def _one_node(self, verb: str) -> str | None:
        nodes = self._state.selection.nodes
        if len(nodes) != 1:
            self._state.add_log("warning", f"Select one node to {verb} it.")
            return None
        return next(iter(nodes))

    def _selected_group(self) -> str | None:
        """The one compile group that is selected, or whose nodes are exactly those selected."""
        groups, selection = self._state.document.groups, self._state.selection
        chosen = [id for id in selection.boxes if id in groups]
        if len(chosen) == 1:
            return chosen[0]
        for group in groups.values():
            if selection.nodes and set(group.nodes) == selection.nodes:
                return group.id
        return None

    def _make_group(self) -> str | None:
        state = self._state
        if not state.selection.nodes:
            state.add_log("warning", "Select the nodes to compile first, then press Compile.")
            return None
        nodes = self._closed(set(state.selection.nodes))
        if nodes is None:
            return None
        inside = [g for g in state.document.groups.values() if nodes.issuperset(g.nodes)]
        names = {group.name for group in state.document.groups.values()}
        number = next(n for n in range(1, len(names) + 2) if f"group{n}" not in names)
        name = inside[0].name if inside else f"group{number}"
        group = Group(id=new_id(), name=name, nodes=tuple(sorted(nodes)))
        parts: list[c.Change] = [c.RemoveGroup(old.id) for old in inside]
        try:
            state.perform(c.Compound("Compile selection", (*parts, c.AddGroup(group))))
        except DocumentError as error:
            state.add_log("error", str(error))
            return None
        state.select(Selection(boxes=frozenset({group.id})))
        return group.id

    def _closed(self, nodes: set[str]) -> set[str] | None:
        """The nodes, with those that lie on paths between them if the user agrees to add them."""
        document = self._state.document
        missing = between(document, sorted(nodes))
        if not missing:
            return nodes
        names = ", ".join(sorted(document.nodes[id].name for id in missing))
        button = QMessageBox.StandardButton
        answer = QMessageBox.question(
            self._window,
            "Compile selection",
            f"A path leaves the selection and comes back through {names}. "
            f"A group has to hold all of its path. Add {names} to it?",
            button.Yes | button.Cancel,
            button.Yes,
        )
        return nodes | missing if answer == button.Yes else None


def primary_action(state: EditorState) -> str:
    """The id of the action that makes sense now."""
    words = state.run.state
    if words in ("running", "training"):
        return "pause"
    if words in ("paused", "training paused"):
        return "continue"
    return "run"


def allowed_actions(state: EditorState) -> dict[str, bool]:
    """Which run actions may be used now."""
    words, ready = state.run.state, state.session.state == "ready"
    idle = ready and words not in ("running", "training")
    stepping = words in ("paused", "failed", "finished")
    return {
        "run": idle and words != "training paused",
        "step": idle and words != "training paused",
        "back": idle and stepping and state.run.back > 0,
        "continue": idle and words in ("paused", "training paused"),
        "pause": ready and words in PAUSABLE,
        "stop": ready and words in STOPPABLE,
        "run_to": idle,
        "rerun_from": idle and stepping,
        "backward": idle and words == "finished",
        "compile": ready and bool(state.selection.nodes or state.selection.boxes),
        "uncompile": bool(state.selection.boxes or state.selection.nodes),
        "train": ready and words != "running",
        "resume_training": idle,
        "overfit": idle,
        "export": ready,
        "save_weights": ready,
        "load_weights": idle,
    }
