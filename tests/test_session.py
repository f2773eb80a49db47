"""A session in this process: runs, steps, stops, shows, compiles, trains, exports a drawing."""

from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
import pytest
from cellwire.app.session import messages as m
from cellwire.app.session.server import Session
from cellwire.engine.run.breakpoints import Breakpoint
from cellwire.engine.run.graph import Edge
from cellwire.nodes import changes as c
from cellwire.nodes import items
from cellwire.nodes.document import Document
from cellwire.nodes.files import dumps, load
from safetensors.numpy import load_file, save_file

E = TypeVar("E", bound=m.Event)


def small_net() -> Document:
    """The digits through three dense layers; two short epochs."""
    return load(Path(__file__).parent / "drawings" / "small_net.cellwire")


class Talk:
    """A session and what it has said since the last command."""

    def __init__(self, document: Document, *, renew_groups: bool = False) -> None:
        self.said: list[m.Event] = []
        self.session = Session(self.said.append, renew_groups=renew_groups)
        self.document = document
        self.request = 0
        self.load()

    def load(self, path: str = "") -> m.Event:
        """Send the whole document."""
        return self.ask(m.LoadDocument(dumps(self.document), path))

    def ask(self, command: m.AnyCommand, *, work: bool = True) -> m.Event:
        """Send a command, work until the session rests, and return the command's answer."""
        self.said.clear()
        self.request += 1
        revision = self.document.revision
        numbered = type(command)(
            **{name: getattr(command, name) for name in command.__struct_fields__}
            | {"request": self.request, "revision": revision}
        )
        self.session.handle(numbered)
        while work and self.session.work():
            pass
        (answer,) = [e for e in self.said if getattr(e, "request", 0) == self.request]
        return answer

    def change(self, change: c.Change) -> m.Event:
        """Change the document and send the change after it."""
        self.document.apply(change)
        return self.ask(m.Patch(change))

    def only(self, kind: type[E]) -> E:
        """The one event of that kind."""
        (event,) = self.all(kind)
        return event

    def all(self, kind: type[E]) -> list[E]:
        return [event for event in self.said if isinstance(event, kind)]

    def id(self, name: str) -> str:
        node = self.document.node_named(name)
        assert node is not None
        return node.id

    def edge(self, text: str) -> Edge:
        return self.session.graph.edge(text)


@pytest.fixture
def talk() -> Talk:
    return Talk(small_net())


def test_a_document_is_taken_with_its_size() -> None:
    talk = Talk(small_net())
    loaded = talk.load()
    assert isinstance(loaded, m.DocumentLoaded)
    assert loaded.nodes == len(talk.document.nodes)
    assert loaded.parameters == 64 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10
    assert loaded.problems == ()
    assert talk.only(m.StateChanged).state == "ready"


def test_a_run_tells_every_node_and_the_loss(talk: Talk) -> None:
    assert isinstance(talk.ask(m.Run()), m.CommandDone)
    started = [event.node for event in talk.all(m.NodeStarted)]
    finished = [event.node for event in talk.all(m.NodeFinished)]
    assert started == finished == list(talk.session.graph.order)
    end = talk.only(m.RunFinished)
    assert end.loss == pytest.approx(np.log(10), rel=0.2)
    assert [event.state for event in talk.all(m.StateChanged)] == ["running", "finished"]
    avals = {e.node: e.avals for e in talk.all(m.NodeFinished)}
    assert avals[talk.id("head")] == {"out": "128×10 f32"}


def test_a_pinned_batch_gives_the_same_loss_and_a_free_one_another(talk: Talk) -> None:
    losses = []
    for pinned in (True, True, False):
        talk.ask(m.PinBatch(pinned))
        talk.ask(m.Run())
        losses.append(talk.only(m.RunFinished).loss)
    assert losses[0] == losses[1] != losses[2]


def test_steps_go_one_node_forth_and_back(talk: Talk) -> None:
    order = talk.session.graph.order
    talk.ask(m.Step())
    assert (talk.only(m.NodeFinished).node, talk.only(m.Paused).node) == order[:2]
    talk.ask(m.Step())
    assert talk.only(m.NodeFinished).node == order[1]
    assert talk.all(m.StateChanged)[-1] == m.StateChanged("paused", order[2], 2)
    talk.ask(m.StepBack())
    assert talk.only(m.Paused).node == order[1]
    talk.ask(m.Continue())
    assert talk.only(m.RunFinished)


def test_run_to_stops_before_the_node(talk: Talk) -> None:
    talk.ask(m.RunTo(talk.id("relu2")))
    paused = talk.only(m.Paused)
    assert (paused.node, paused.reason) == (talk.id("relu2"), "reached")


def test_a_breakpoint_on_a_wire_stops_with_the_value_that_hit_it(talk: Talk) -> None:
    edge = talk.edge("dense1->relu1")
    talk.ask(m.SetBreakpoints((Breakpoint(edge, "absmax > 0"),)))
    talk.ask(m.Run())
    paused = talk.only(m.Paused)
    assert (paused.edge, paused.reason, paused.hit) == (edge, "breakpoint", 1)
    assert paused.condition == "absmax > 0"
    assert paused.stats is not None
    assert paused.stats.shape == (128, 128)
    talk.ask(m.Continue())
    assert talk.only(m.RunFinished)


def test_the_documents_breakpoints_come_and_go_by_patches(talk: Talk) -> None:
    edge = talk.edge("dense1->relu1")
    talk.change(c.SetBreakpoint(items.Breakpoint(target=edge.node, input=edge.port)))
    talk.ask(m.Run())
    assert talk.only(m.Paused).edge == edge
    talk.change(c.RemoveBreakpoint(edge.node, edge.port))
    talk.ask(m.Run())
    assert talk.only(m.RunFinished)


def test_a_run_without_breakpoints_passes_over_them(talk: Talk) -> None:
    talk.ask(m.SetBreakpoints((Breakpoint(talk.edge("dense1->relu1")),)))
    talk.ask(m.Run(breakpoints=False))
    assert talk.only(m.RunFinished)


def test_a_breakpoint_of_the_document_that_cannot_be_read_keeps_nothing_from_running(
    talk: Talk,
) -> None:
    edge = talk.edge("dense1->relu1")
    mark = items.Breakpoint(target=edge.node, input=edge.port, condition="what is this")
    talk.change(c.SetBreakpoint(mark))
    loaded = talk.load()
    assert isinstance(loaded, m.DocumentLoaded)
    assert [(p.node, p.severity) for p in loaded.problems] == [(edge.node, "warning")]
    talk.ask(m.Run())
    assert talk.only(m.RunFinished)


def test_pause_and_stop_are_answered_between_nodes(talk: Talk) -> None:
    talk.ask(m.Run(), work=False)
    assert talk.session.work()
    talk.ask(m.Pause())
    assert talk.only(m.Paused).reason == "user"
    talk.ask(m.Stop())
    assert talk.only(m.StateChanged).state == "ready"
    failed = talk.ask(m.Continue())
    assert isinstance(failed, m.CommandFailed)
    assert "has not been run" in failed.message


@pytest.mark.parametrize("what", ["stats", "histogram", "heat_map", "table", "history"])
def test_a_tensor_is_shown_in_the_form_that_was_asked_for(talk: Talk, what: m.What) -> None:
    talk.ask(m.Run())
    result = talk.ask(m.Inspect(talk.edge("dense1->relu1"), what))
    assert isinstance(result, m.InspectionResult)
    assert result.stats.shape == (128, 128)
    forms = ("histogram", "heat_map", "images", "table", "history")
    assert [form for form in forms if getattr(result, form) is not None] == (
        [] if what == "stats" else [what]
    )


def test_images_are_shown_and_a_wrong_slice_is_answered(talk: Talk) -> None:
    talk.ask(m.Run())
    edge = talk.edge("digits.images->scale")
    result = talk.ask(m.Inspect(edge, "images"))
    assert isinstance(result, m.InspectionResult)
    assert result.images is not None
    assert result.images.tiles == 64
    failed = talk.ask(m.Inspect(edge, "table", "0, 5"))
    assert isinstance(failed, m.CommandFailed)
    assert "axis 1" in failed.message
    assert failed.traceback == ""


def test_gradients_flow_back_and_can_be_stopped_and_seen(talk: Talk) -> None:
    edge = talk.edge("dense1->relu1")
    talk.ask(m.SetBreakpoints((Breakpoint(edge, direction="gradient"),)))
    talk.ask(m.Run())
    talk.ask(m.Backward())
    paused = talk.only(m.Paused)
    assert (paused.edge, paused.direction) == (edge, "gradient")
    talk.ask(m.Continue())
    assert talk.only(m.RunFinished).direction == "gradient"
    result = talk.ask(m.Inspect(edge, gradient=True))
    assert isinstance(result, m.InspectionResult)
    assert result.stats.absmax


def test_after_the_gradients_the_update_ratios_of_cells_are_told(talk: Talk) -> None:
    talk.ask(m.Run())
    talk.ask(m.Backward())
    ratios = talk.only(m.UpdateRatios).ratios
    assert set(ratios) == {talk.id(name) for name in ("dense1", "dense2", "head")}
    assert all(ratio > 0 for ratio in ratios.values())


def test_gradients_before_a_run_are_refused(talk: Talk) -> None:
    failed = talk.ask(m.Backward())
    assert isinstance(failed, m.CommandFailed)
    assert failed.fix


def test_a_watched_wire_is_told_and_remembered(talk: Talk) -> None:
    edge = talk.edge("head->loss")
    talk.change(c.SetWatch(items.Watch(target=edge.node, input=edge.port)))
    for _ in range(2):
        talk.ask(m.Run())
        assert talk.only(m.EdgeValue).edge == edge
    result = talk.ask(m.Inspect(edge, "history"))
    assert isinstance(result, m.InspectionResult)
    assert result.history is not None
    assert len(result.history) == 2


def test_a_patch_that_misses_one_before_it_is_refused(talk: Talk) -> None:
    talk.document.apply(c.SetTitle("one that the session never sees"))
    failed = talk.change(c.SetTitle("two"))
    assert isinstance(failed, m.CommandFailed)
    assert "revision" in failed.message


def test_weights_stay_through_a_change_elsewhere(talk: Talk) -> None:
    talk.ask(m.Run())
    before = talk.only(m.RunFinished).loss
    talk.change(c.RenameNode(talk.id("relu1"), "first"))
    talk.ask(m.Run())
    assert talk.only(m.RunFinished).loss == before


def test_an_open_port_is_a_problem_with_its_node(talk: Talk) -> None:
    edge = talk.edge("dense1->relu1")
    loaded = talk.change(c.Disconnect(edge.node, edge.port))
    assert isinstance(loaded, m.DocumentLoaded)
    problem = loaded.problems[0]
    assert (problem.node, problem.port) == (edge.node, edge.port)
    assert problem.fix
    failed = talk.ask(m.Run())
    assert isinstance(failed, m.CommandFailed)
    assert failed.fix


def test_text_that_is_no_document_leaves_the_one_that_is_there(talk: Talk) -> None:
    failed = talk.ask(m.LoadDocument("{", "/nowhere/model.cellwire"))
    assert isinstance(failed, m.CommandFailed)
    assert "model.cellwire" in failed.message
    talk.ask(m.Run())
    assert talk.only(m.RunFinished)


def test_a_document_is_loaded_beside_its_data(tmp_path: Path) -> None:
    rows = {"inputs": np.ones((10, 3), np.float32), "labels": np.zeros(10, np.int32)}
    np.savez(tmp_path / "rows.npz", allow_pickle=False, **rows)
    document = Document()
    node = items.NodeItem(id="d", type="data.npz", name="data", params={"path": "rows.npz"})
    document.apply(c.AddNode(node))
    talk = Talk(document)
    loaded = talk.load(str(tmp_path / "model.cellwire"))
    assert isinstance(loaded, m.DocumentLoaded)
    assert loaded.problems == ()
    talk.ask(m.Run())
    assert talk.only(m.NodeFinished).avals["inputs"] == "8×3 f32"


def trained(document: Document, **settings: int) -> Document:
    """The document with other training settings."""
    training = msgspec.structs.replace(document.training, **settings)
    document.apply(c.SetTraining(training))
    return document


def weights_of(talk: Talk, folder: Path) -> dict[str, np.ndarray]:
    """The session's weights."""
    talk.ask(m.SaveWeights(str(folder / "now.safetensors")))
    return load_file(folder / "now.safetensors")


def test_a_training_tells_its_progress_its_epochs_and_its_end() -> None:
    talk = Talk(small_net())
    talk.ask(m.Train())
    epochs = talk.all(m.EpochFinished)
    assert [event.epoch for event in epochs] == [1, 2]
    assert epochs[1].loss < epochs[0].loss
    end = talk.only(m.TrainingFinished)
    assert (end.step, end.epoch, end.stopped) == (24, 2, False)
    assert end.held_out_accuracy == epochs[1].held_out_accuracy
    losses = [pair for event in talk.all(m.TrainingProgress) for pair in event.losses]
    assert [step for step, _ in losses] == list(range(1, 25))
    assert [event.state for event in talk.all(m.StateChanged)][-2:] == ["training", "ready"]
    assert talk.all(m.UpdateRatios)


def test_two_trainings_with_one_seed_are_the_same_and_another_seed_differs(tmp_path: Path) -> None:
    talk = Talk(trained(small_net(), epochs=1))
    found = []
    for seed in (0, 0, 1):
        trained(talk.document, epochs=1, seed=seed)
        talk.load()
        talk.ask(m.Train(steps=3))
        found.append(weights_of(talk, tmp_path))
    first, second, third = found
    assert all(np.array_equal(first[key], second[key]) for key in first)
    assert not all(np.array_equal(first[key], third[key]) for key in first)


def test_a_training_goes_on_in_another_session_bit_for_bit(tmp_path: Path) -> None:
    document = small_net()
    whole, part = str(tmp_path / "whole.safetensors"), str(tmp_path / "part.safetensors")
    Talk(document).ask(m.Train(save=whole))
    Talk(document).ask(m.Train(save=part, steps=7))
    other = Talk(document)
    other.ask(m.ResumeTraining(part, save=part))
    assert other.only(m.TrainingFinished).step == 24
    assert Path(whole).read_bytes() == Path(part).read_bytes()


def test_a_training_pauses_between_steps_and_goes_on() -> None:
    talk = Talk(small_net())
    talk.ask(m.Train(), work=False)
    assert talk.session.work()
    talk.ask(m.PauseTraining())
    paused = talk.only(m.TrainingPaused)
    assert (paused.reason, paused.step) == ("user", 1)
    assert talk.only(m.StateChanged).state == "training paused"
    talk.ask(m.ResumeTraining())
    assert talk.only(m.TrainingFinished).step == 24


def test_a_run_is_refused_while_a_training_goes_on() -> None:
    talk = Talk(small_net())
    talk.ask(m.Train(), work=False)
    failed = talk.ask(m.Run(), work=False)
    assert isinstance(failed, m.CommandFailed)
    assert failed.fix
    talk.ask(m.StopTraining())
    assert talk.only(m.TrainingFinished).stopped


def test_a_loss_that_is_no_number_pauses_with_the_node_that_began_it() -> None:
    document = small_net()
    talk = Talk(document)
    talk.change(c.SetParameters(talk.id("scale"), {"factor": 1e38}))
    talk.ask(m.Train())
    paused = talk.only(m.TrainingPaused)
    assert paused.reason == "nan"
    assert paused.node == talk.id("scale")
    assert paused.fix


def test_a_breakpoint_stops_a_training_step_where_its_tensors_can_be_seen() -> None:
    talk = Talk(small_net())
    edge = talk.edge("dense1->relu1")
    talk.ask(m.SetBreakpoints((Breakpoint(edge, "hit == 2"),)))
    talk.ask(m.Train())
    assert talk.only(m.Paused).edge == edge
    assert talk.only(m.TrainingPaused).reason == "breakpoint"
    result = talk.ask(m.Inspect(edge))
    assert isinstance(result, m.InspectionResult)
    assert result.stats.shape == (128, 128)
    talk.ask(m.SetBreakpoints(()))
    talk.ask(m.ResumeTraining())
    assert talk.only(m.TrainingFinished).step == 24


def test_an_edit_while_training_is_taken_up_at_the_next_step() -> None:
    talk = Talk(small_net())
    talk.ask(m.Train(), work=False)
    for _ in range(3):
        talk.session.work()
    change = c.RenameNode(talk.id("relu1"), "first")
    talk.document.apply(change)
    talk.ask(m.Patch(change))
    assert talk.only(m.TrainingFinished).step == 24


def test_an_edit_that_breaks_a_training_pauses_it() -> None:
    talk = Talk(small_net())
    talk.ask(m.Train(), work=False)
    talk.session.work()
    edge = talk.edge("dense1->relu1")
    talk.change(c.Disconnect(edge.node, edge.port))
    paused = talk.only(m.TrainingPaused)
    assert paused.reason == "error"
    assert paused.fix


def test_watched_wires_have_a_history_over_training_steps() -> None:
    talk = Talk(small_net())
    edge = talk.edge("head->loss")
    talk.change(c.SetWatch(items.Watch(target=edge.node, input=edge.port)))
    labels = talk.edge("digits.labels->loss")
    for wire in (edge, labels):
        gradient = items.Watch(target=wire.node, input=wire.port, direction="gradient")
        talk.change(c.SetWatch(gradient))
    talk.ask(m.Train())
    told = talk.all(m.EdgeValue)
    assert {event.direction for event in told} == {"forward", "gradient"}
    assert all(event.edge == edge and event.step > 0 for event in told)


def test_overfitting_one_batch_leaves_the_weights_alone(tmp_path: Path) -> None:
    talk = Talk(small_net())
    before = weights_of(talk, tmp_path)
    talk.ask(m.OverfitOneBatch(60))
    result = talk.only(m.OverfitFinished)
    assert result.passed
    assert result.last_loss < result.first_loss
    assert talk.all(m.StateChanged)[-1].state == "ready"
    after = weights_of(talk, tmp_path)
    assert all(np.array_equal(before[key], after[key]) for key in before)


def test_weights_beside_a_document_come_with_it(tmp_path: Path) -> None:
    document = small_net()
    path = str(tmp_path / "model.cellwire")
    talk = Talk(document)
    talk.ask(m.Train(save=str(tmp_path / "model.safetensors")))
    talk.ask(m.Run())
    loss = talk.only(m.RunFinished).loss
    other = Talk(document)
    other.load(path)
    other.ask(m.Run())
    assert other.only(m.RunFinished).loss == loss


@pytest.mark.parametrize("place", ["", "file/w.safetensors"])
def test_weights_that_cannot_be_saved_are_told(talk: Talk, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("in the way of a folder")
    for steps in (None, 2):
        if steps is not None:
            talk.ask(m.Train(steps=steps))
        failed = talk.ask(m.SaveWeights(str(tmp_path / place) if place else ""))
        assert isinstance(failed, m.CommandFailed)
        assert failed.fix
        assert failed.traceback == ""


def test_weights_of_another_graph_are_refused(talk: Talk, tmp_path: Path) -> None:
    np_file = tmp_path / "other.safetensors"
    save_file({"x": np.ones(3, np.float32)}, np_file)
    failed = talk.ask(m.LoadWeights(str(np_file)))
    assert isinstance(failed, m.CommandFailed)
    assert "another graph" in failed.message
    failed = talk.ask(m.LoadWeights(str(tmp_path / "none.safetensors")))
    assert isinstance(failed, m.CommandFailed)


def group(talk: Talk, *names: str) -> str:
    """Make a group of these nodes."""
    made = items.Group(id="g", name="block", nodes=tuple(map(talk.id, names)))
    talk.change(c.AddGroup(made))
    return made.id


def test_a_group_compiles_reports_and_runs(talk: Talk) -> None:
    talk.ask(m.Run())
    loss = talk.only(m.RunFinished).loss
    id = group(talk, "dense1", "relu1", "dense2", "relu2")
    report = talk.ask(m.CompileGroup(id))
    assert isinstance(report, m.GroupReport)
    assert len(report.nodes) == 4
    assert report.kernels
    assert report.parity < 1e-5
    assert [event.state for event in talk.all(m.GroupChanged)] == ["compiling", "compiled"]
    talk.ask(m.Run())
    assert id in [event.node for event in talk.all(m.NodeFinished)]
    assert talk.only(m.RunFinished).loss == pytest.approx(loss, rel=1e-5)


def test_a_breakpoint_inside_a_compiled_group_still_stops(talk: Talk) -> None:
    id = group(talk, "dense1", "relu1", "dense2")
    talk.ask(m.CompileGroup(id))
    edge = talk.edge("relu1->dense2")
    talk.ask(m.SetBreakpoints((Breakpoint(edge),)))
    talk.ask(m.Run())
    assert talk.only(m.Paused).edge == edge
    talk.ask(m.Continue())
    assert talk.only(m.RunFinished)


def test_a_change_inside_a_group_makes_it_stale_and_one_outside_does_not(talk: Talk) -> None:
    id = group(talk, "dense1", "relu1")
    talk.ask(m.CompileGroup(id))
    talk.change(c.RenameNode(talk.id("relu2"), "second"))
    assert talk.all(m.GroupChanged) == []
    talk.change(c.SetParameters(talk.id("dense1"), {"out_channels": 32}))
    assert talk.only(m.GroupChanged).state == "stale"
    talk.ask(m.Run())
    assert talk.only(m.GroupChanged).state == "compiled"
    talk.ask(m.DiscardGroup(id))
    assert talk.only(m.GroupChanged).state == "eager"
    talk.ask(m.Run())
    assert id not in [event.node for event in talk.all(m.NodeFinished)]


def states(talk: Talk) -> list[str]:
    """The states that the groups came to, in order."""
    return [event.state for event in talk.all(m.GroupChanged)]


def test_a_group_is_compiled_again_after_an_edit_and_after_a_training() -> None:
    talk = Talk(small_net(), renew_groups=True)
    id = group(talk, "dense1", "relu1", "dense2")
    assert states(talk) == ["stale"]
    talk.ask(m.CompileGroup(id))
    talk.change(c.SetParameters(talk.id("dense1"), {"out_channels": 32}))
    assert states(talk) == ["stale", "compiling", "compiled"]
    assert talk.only(m.GroupReport).group == id
    talk.ask(m.Train())
    assert states(talk) == ["stale", "compiling", "compiled"]
    talk.ask(m.Run())
    assert id in [event.node for event in talk.all(m.NodeFinished)]
    assert states(talk) == []


def test_a_group_outlives_a_drawing_that_cannot_run_for_a_while() -> None:
    talk = Talk(small_net(), renew_groups=True)
    id = group(talk, "dense2", "relu2")
    talk.ask(m.CompileGroup(id))
    edge = talk.edge("dense1->relu1")
    talk.change(c.Disconnect(edge.node, edge.port))
    assert states(talk) == []
    assert not talk.session.work()
    talk.change(c.Connect(items.Edge(talk.id("dense1"), "out", edge.node, edge.port)))
    assert states(talk) == []
    talk.ask(m.Run())
    assert id in [event.node for event in talk.all(m.NodeFinished)]


def test_a_group_that_a_path_leaves_is_refused(talk: Talk) -> None:
    id = group(talk, "dense1", "dense2")
    failed = talk.ask(m.CompileGroup(id))
    assert isinstance(failed, m.CommandFailed)
    assert "relu1" in failed.message + failed.fix


def test_an_export_names_its_files_and_keeps_the_drawings_weights(tmp_path: Path) -> None:
    talk = Talk(small_net())
    talk.load(str(tmp_path / "model.cellwire"))
    exported = talk.ask(m.Export(str(tmp_path / "net.py")))
    assert isinstance(exported, m.Exported)
    assert {Path(file).name for file in exported.files} == {"net.py", "net.safetensors"}
    failed = talk.ask(m.Export(str(tmp_path / "model.py")))
    assert isinstance(failed, m.CommandFailed)
    assert "weights" in failed.message


def test_after_an_edit_only_what_lies_downstream_of_it_runs_again(talk: Talk) -> None:
    talk.ask(m.Run())
    talk.change(c.SetParameters(talk.id("dense2"), {"out_channels": 32}))
    assert talk.all(m.StateChanged)[-1].state == "paused"
    result = talk.ask(m.Inspect(talk.edge("dense1->relu1")))
    assert isinstance(result, m.InspectionResult)
    talk.ask(m.Continue())
    ran = [talk.session.name(event.node) for event in talk.all(m.NodeFinished)]
    assert ran == ["dense2", "relu2", "head", "loss"]
    assert talk.only(m.RunFinished).loss


def test_an_edit_of_the_data_runs_everything_again(talk: Talk) -> None:
    talk.ask(m.Run())
    talk.change(c.SetParameters(talk.id("digits"), {"split_seed": 5}))
    assert talk.all(m.StateChanged)[-1].state == "ready"
    assert isinstance(talk.ask(m.Continue()), m.CommandFailed)


def test_a_training_that_cannot_be_saved_pauses_and_keeps_what_it_has(tmp_path: Path) -> None:
    talk = Talk(small_net())
    (tmp_path / "file").write_text("in the way of a folder")
    talk.ask(m.Train(save=str(tmp_path / "file" / "x.safetensors")))
    paused = talk.only(m.TrainingPaused)
    assert (paused.reason, paused.step) == ("error", 12)
    assert "cannot be written" in paused.message
    talk.ask(m.ResumeTraining(save=str(tmp_path / "x.safetensors")))
    assert talk.only(m.TrainingFinished).step == 24
    assert (tmp_path / "x.state.safetensors").exists()


def test_an_error_of_the_session_itself_is_told_and_ends_the_work(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr("cellwire.app.session.running.Running.slice", broken)
    talk.ask(m.Run(), work=False)
    assert not talk.session.work()
    failed = talk.only(m.CommandFailed)
    assert (failed.request, failed.message) == (0, "RuntimeError: out of order")
    assert "out of order" in failed.traceback
