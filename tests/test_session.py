"""A session in this process: runs, steps, stops, shows, saves, exports a drawing."""

from pathlib import Path

import numpy as np
import pytest
from cellwire.app.session import messages as m
from cellwire.engine.run.breakpoints import Breakpoint
from cellwire.nodes import changes as c
from cellwire.nodes import items
from cellwire.nodes.document import Document
from safetensors.numpy import save_file
from session_talk import Talk, small_net


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
