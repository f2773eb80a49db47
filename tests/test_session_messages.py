"""Every message survives the wire, and every command carries the number of its answer."""

import io
import typing

import msgspec
import numpy as np
import pytest
from cellwire.app.session import messages as m
from cellwire.app.session.framing import FramingError, read_frame, write_frame
from cellwire.engine.run.breakpoints import Breakpoint
from cellwire.engine.run.graph import Edge
from cellwire.engine.run.inspect import heat_map, histogram, image_grid, statistics, table
from cellwire.nodes import changes as c
from cellwire.nodes import items

EDGE = Edge("relu1", "x")
ARRAY = np.array([[1.0, np.nan], [np.inf, -0.0]], np.float32)
STATS = statistics(ARRAY)
NODE = items.NodeItem(id="a", type="nn.Dense", name="dense1", params={"out_channels": 3})
GROUP = items.Group(id="g", name="block", nodes=("a", "b"))

COMMANDS = [
    m.LoadDocument("{}", "/tmp/model.cellwire", request=1, revision=7),
    m.Patch(c.AddNode(NODE), request=2, revision=8),
    m.Patch(c.Compound("paste", (c.AddNode(NODE), c.AddGroup(GROUP))), request=3),
    m.Patch(c.Connect(items.Edge("a", "out", "b", "x"))),
    m.Run(breakpoints=False),
    m.Step(),
    m.StepBack(),
    m.Continue(),
    m.Pause(),
    m.Stop(),
    m.RunTo("a"),
    m.RerunFrom("a"),
    m.Backward(),
    m.SetMode(True),
    m.PinBatch(False),
    m.SetBreakpoints((Breakpoint(EDGE, "absmax > 100", direction="gradient"),)),
    m.Inspect(EDGE, "table", "0, :", gradient=True, row=50),
    m.CompileGroup("g"),
    m.DiscardGroup("g"),
    m.Train(steps=3, seconds=1.5, save="/tmp/model.safetensors"),
    m.ResumeTraining("/tmp/model.safetensors"),
    m.PauseTraining(),
    m.StopTraining(),
    m.OverfitOneBatch(50),
    m.Export("/tmp/model.py"),
    m.SaveWeights("/tmp/model.safetensors"),
    m.LoadWeights("/tmp/model.safetensors"),
    m.Shutdown(request=99),
]
RESULT = {"request": 4, "edge": EDGE, "stats": STATS}
EVENTS = [
    m.Ready(1, "CPU", 2),
    m.CommandDone(1, "Run"),
    m.CommandFailed(1, "Run", "no", "do", "a", "Traceback"),
    m.DocumentLoaded(1, 2, 3, 4, (m.Problem("a", "x", "not connected", "wire it"),)),
    m.StateChanged("paused", "a", 2),
    m.NodeStarted("a"),
    m.NodeFinished("a", 0.5, {"out": "32×10 f32"}),
    m.EdgeValue(EDGE, "2×2 f32", STATS, "gradient", 3),
    m.Paused("a", "breakpoint", EDGE, "nan", 2, STATS),
    m.BreakpointNoted(Breakpoint(EDGE, action="log"), 1, STATS),
    m.RunFinished(1.5, 0.25),
    m.NodeFailed("a", None, "bad", "mend", "Traceback", {"x": "2×2 f32"}),
    m.UpdateRatios({"a": 1e-3}, 4),
    m.GroupChanged("g", "stale", "dense1 changed"),
    m.GroupReport(
        1,
        "g",
        "block",
        ("a", "b"),
        (m.KernelLine("k", ("a",)),),
        (m.HostStep("sort", ("b",), "no kernel"),),
        1.0,
        2.0,
        0.5,
        1e-7,
        64,
    ),
    m.TrainingProgress(1, 10, 1, 2, 0.5, 0.9, 1.5, 12.0, ((1, 0.6), (2, 0.5))),
    m.EpochFinished(1, 2, 45, 0.5, 0.9, 0.6, 0.8, 3.0),
    m.TrainingPaused("nan", 3, "loss1", "not finite", "lower the learning rate"),
    m.TrainingFinished(90, 2, 0.1, 0.2, 0.97, 6.0, True),
    m.OverfitFinished(200, 2.3, 0.01, 1.0, True, "learned"),
    m.InspectionResult(what="stats", **RESULT),
    m.InspectionResult(what="histogram", histogram=histogram(ARRAY), **RESULT),
    m.InspectionResult(what="heat_map", heat_map=heat_map(ARRAY), **RESULT),
    m.InspectionResult(what="images", images=image_grid(ARRAY), **RESULT),
    m.InspectionResult(what="table", table=table(ARRAY), **RESULT),
    m.InspectionResult(what="history", history=(m.HistoryPoint(1, STATS),), **RESULT),
    m.Exported(1, ("model.py", "model.safetensors")),
    m.Log("warning", "sort runs in NumPy", "a"),
    m.Memory(1 << 40, None),
    m.SessionLost(-9, "killed", "last words"),
]


def same(left: msgspec.Struct, right: msgspec.Struct) -> bool:
    """Equal, with NaN equal to NaN."""
    return repr(left) == repr(right)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda message: type(message).__name__)
def test_a_command_comes_back_as_it_was(command: m.AnyCommand) -> None:
    assert same(m.decode_command(m.encode(command)), command)


@pytest.mark.parametrize("event", EVENTS, ids=lambda message: type(message).__name__)
def test_an_event_comes_back_as_it_was(event: m.Event) -> None:
    assert same(m.decode_event(m.encode(event)), event)


@pytest.mark.parametrize(("union", "examples"), [(m.AnyCommand, COMMANDS), (m.Event, EVENTS)])
def test_no_message_is_left_out_here(union: object, examples: list[object]) -> None:
    assert {type(example) for example in examples} == set(typing.get_args(union))


def test_every_message_says_what_it_is_for() -> None:
    for kind in (*typing.get_args(m.AnyCommand), *typing.get_args(m.Event)):
        assert kind.__doc__
        assert len(kind.__doc__) > 10


def test_an_event_is_no_command() -> None:
    with pytest.raises(msgspec.ValidationError):
        m.decode_command(m.encode(m.Ready(1, "CPU", 2)))


def test_frames_keep_messages_apart() -> None:
    stream = io.BytesIO()
    for data in (b"", b"one", bytes(70_000)):
        write_frame(stream, data)
    stream.seek(0)
    assert [read_frame(stream) for _ in range(4)] == [b"", b"one", bytes(70_000), None]


@pytest.mark.parametrize("cut", [1, 3, 5])
def test_half_a_frame_is_the_end(cut: int) -> None:
    stream = io.BytesIO()
    write_frame(stream, b"one")
    assert read_frame(io.BytesIO(stream.getvalue()[:cut])) is None


def test_bytes_that_are_no_frames_are_noticed() -> None:
    with pytest.raises(FramingError, match="bytes"):
        read_frame(io.BytesIO(b"Hello, I am a print statement."))
