"""Compiled groups in a session: reports, breakpoints inside, what makes them stale."""

from __future__ import annotations

import pytest
from cellwire.app.session import messages as m
from cellwire.engine.run.breakpoints import Breakpoint
from cellwire.nodes import changes as c
from cellwire.nodes import items
from session_talk import Talk, small_net


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
