"""Trainings in a session: their progress, pauses, breakpoints, edits meanwhile and ends."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
from cellwire.app.session import messages as m
from cellwire.engine.run.breakpoints import Breakpoint
from cellwire.nodes import changes as c
from cellwire.nodes import items
from cellwire.nodes.document import Document
from safetensors.numpy import load_file
from session_talk import Talk, small_net


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
