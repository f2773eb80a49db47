"""The profiler: what it sees, what it writes, and that nothing is left of it."""

from __future__ import annotations

import csv
import gc
import importlib
import json
import threading
from pathlib import Path
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops, profiler
from cellwire.engine.compiler import jitted
from cellwire.engine.compiler.jitted import Jitted
from cellwire.engine.compiler.runs import Plan
from cellwire.engine.ops import registry
from cellwire.engine.profiler.events import Event
from cellwire.engine.profiler.writing import covered
from cellwire.engine.tensor import syncs
from cellwire.profiler import ProfilerAction, mstx

X = cw.Tensor(np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32))
Y = cw.Tensor(np.arange(8, dtype=np.int32) % 3)


def table(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def live_tensors() -> int:
    gc.collect()
    # by their types: asking objects of other packages for their class may make them warn
    return sum(issubclass(type(item), cw.Tensor) for item in gc.get_objects())


class Training:
    """Some steps of a small training, compiled prediction and all."""

    def __init__(self) -> None:
        self.net = nn.SequentialCell(nn.Dense(4, 5), nn.ReLU(), nn.Dense(5, 3))
        self.optimizer = nn.Adam(self.net.trainable_params())
        loss = nn.CrossEntropyLoss()
        self.derived = cw.value_and_grad(
            lambda x, y: loss(self.net(x), y), None, self.optimizer.parameters
        )
        self.predict = cw.jit(self.net, fullgraph=True)

    def step(self) -> float:
        value, grads = self.derived(X, Y)
        self.optimizer(grads)
        self.predict(X)
        return float(value)


@pytest.fixture
def training() -> Training:
    made = Training()
    for _ in range(3):
        made.step()
    return made


def test_row_40_stop_alone_writes_what_ran_on_the_cpu(tmp_path: Path, training: Training) -> None:
    watched = cw.Profiler(output_path=str(tmp_path))
    for _ in range(2):
        training.step()
    watched.stop()
    assert {path.name for path in tmp_path.iterdir()} == {
        "op_statistic.csv", "kernel_details.csv", "step_trace_time.csv", "api_statistic.csv",
        "trace_view.json",
    }  # fmt: skip
    rows = {row["OP Type"]: row for row in table(tmp_path / "op_statistic.csv")}
    assert rows["dense"]["Count"] == "4"
    assert rows["relu"]["Count"] == rows["cross_entropy"]["Count"] == "2"
    for row in rows.values():
        whole = float(row["Total Time(us)"])
        assert 0 < float(row["Kernel Time(us)"]) <= whole
        assert float(row["Host Time(us)"]) + float(row["Kernel Time(us)"]) == pytest.approx(
            whole, abs=0.01
        )
    assert sum(float(row["Ratio(%)"]) for row in rows.values()) == pytest.approx(100, abs=0.1)
    calls = {(row["Level"], row["API Name"]): row for row in table(tmp_path / "api_statistic.csv")}
    assert calls["cell", "Dense"]["Count"] == "4"
    assert calls["update", "optimizer"]["Count"] == "2"
    assert calls["gradient", "gradients"]["Count"] == "2"
    assert calls["jit", "SequentialCell"]["Count"] == "2"
    assert calls["sync", "read back"]["Count"] == "2"


def test_a_compiled_call_is_one_event_with_its_plan(tmp_path: Path, training: Training) -> None:
    with cw.Profiler(output_path=tmp_path) as watched:
        training.predict(X)
    assert not watched.result.of("op")
    (call,) = watched.result.of("jit")
    (plan,) = watched.result.of("plan")
    assert call.start <= plan.start <= plan.end <= call.end
    assert call.kernel == plan.kernel == plan.duration
    assert "gemm" in watched.result.reports[plan.name]
    assert dict(plan.detail)["detail"].endswith("kernels")
    details = table(tmp_path / "kernel_details.csv")
    assert [row["Type"] for row in details] == ["plan"]


def test_steps_are_told_apart(tmp_path: Path, training: Training) -> None:
    watched = cw.Profiler(output_path=tmp_path, start_profile=False)
    training.step()
    watched.start()
    for _ in range(3):
        training.step()
        watched.step()
    watched.analyse()
    rows = table(tmp_path / "step_trace_time.csv")
    assert [row["Step"] for row in rows] == ["0", "1", "2", "3"]
    assert [row["Syncs"] for row in rows] == ["1", "1", "1", "0"]
    assert [row["Ops"] for row in rows] == ["4", "4", "4", "0"]
    assert [row["Plans"] for row in rows] == ["3", "3", "3", "0"]
    for row in rows:
        parts = sum(float(row[f"{name}(us)"]) for name in ("Computing", "Host", "Free"))
        assert parts == pytest.approx(float(row["Stage(us)"]), abs=0.01)


def test_row_59_the_trace_is_one_that_viewers_read(tmp_path: Path, training: Training) -> None:
    with cw.Profiler(output_path=tmp_path, profile_memory=True) as watched:
        watched.add_metadata("model", "small")
        number = mstx.range_start("one step")
        training.step()
        mstx.range_end(number)
        mstx.mark("done")
    trace = json.loads((tmp_path / "trace_view.json").read_text())
    assert trace["otherData"] == {"model": "small"}
    by_phase: dict[str, list[Any]] = {}
    for event in trace["traceEvents"]:
        by_phase.setdefault(event["ph"], []).append(event)
        assert {"name", "ph", "pid"} <= event.keys()
    assert {row["tid"] for row in by_phase["X"]} <= {row["tid"] for row in by_phase["M"]}
    spans = {event["name"]: event for event in by_phase["X"]}
    step, dense = spans["one step"], spans["dense"]
    assert step["ts"] <= dense["ts"]
    assert dense["ts"] + dense["dur"] <= step["ts"] + step["dur"]
    assert dense["args"]["inputs"] == "8×5 f32, 3×5 f32, 3 f32"
    assert spans["done"]["dur"] < step["dur"]
    assert {event["name"] for event in by_phase["C"]} == {"memory of results", "memory of process"}
    assert spans["read back"]["args"]["detail"].startswith(f"{__file__}:")


def test_memory_of_results_is_followed_until_it_is_freed(tmp_path: Path) -> None:
    with cw.Profiler(output_path=tmp_path, profile_memory=True) as watched:
        held = ops.add(X, 1.0)
        for _ in range(3):
            ops.mul(X, 2.0)
        del held
        ops.mul(X, 3.0)
    size = X.nbytes
    assert [count for _, count in watched.result.memory] == [size, *[2 * size] * 3, size]
    assert len(table(tmp_path / "memory_record.csv")) == 5


def test_row_49_changing_shapes_hold_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jitted, "MAX_SPECIALISATIONS", 5)
    net = nn.SequentialCell(nn.Dense(4, 6), nn.ReLU(), nn.Dense(6, 2))
    compiled = cw.jit(ops.relu, fullgraph=True)
    with cw.Profiler(output_path=tmp_path, profile_memory=True) as watched:
        for size in range(1, 15):
            x = cw.Tensor(np.ones((size, 4), np.float32))
            net(x)
            compiled(x)
        largest = max(count for _, count in watched.result.memory)
        ops.add(X, 1.0)
        assert watched.result.memory[-1][1] == X.nbytes
    assert largest <= 3 * size * 6 * 4
    assert len(compiled.situations) <= 5
    param = cw.Parameter(np.zeros(3, np.float32), "w")
    optimizer = nn.SGD([param], 0.1)
    tensors = live_tensors()
    for size in range(1, 9):
        derived = cw.grad(lambda w, n=size: ops.sum(ops.tile(w, (n,))), 0)
        optimizer((derived(param),))
    assert live_tensors() <= tensors + 2


def test_nothing_is_left_when_it_is_off(tmp_path: Path, training: Training) -> None:
    before = [Jitted.__call__, Plan.run, nn.Cell.__call__]
    counted = syncs.count
    with cw.Profiler(output_path=tmp_path):
        assert registry.records
        training.step()
        assert Jitted.__call__ is not before[0]
    assert [Jitted.__call__, Plan.run, nn.Cell.__call__] == before
    assert not registry.records
    assert syncs.count == counted + 1
    with pytest.raises(KeyError), cw.Profiler(output_path=tmp_path):
        raise KeyError("an error of the program")
    assert not registry.records
    assert mstx.range_start("off") == 0
    mstx.range_end(0)


def test_results_are_those_of_a_run_without_it(tmp_path: Path) -> None:
    losses = []
    for watched in (False, True):
        cw.set_seed(4)
        training = Training()
        if watched:
            with cw.Profiler(output_path=tmp_path):
                losses.append([training.step() for _ in range(6)])
        else:
            losses.append([training.step() for _ in range(6)])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6)


def test_other_threads_run_unseen(tmp_path: Path) -> None:
    results = []
    with cw.Profiler(output_path=tmp_path) as watched:
        thread = threading.Thread(target=lambda: results.append(ops.relu(X)))
        thread.start()
        thread.join()
        ops.tanh(X)
    assert [event.name for event in watched.result.of("op")] == ["tanh"]
    np.testing.assert_array_equal(results[0].asnumpy(), np.maximum(X.asnumpy(), 0))


def test_one_profiler_at_a_time(tmp_path: Path) -> None:
    with cw.Profiler(output_path=tmp_path), pytest.raises(RuntimeError, match="on already"):
        cw.Profiler(output_path=tmp_path)
    idle = cw.Profiler(output_path=tmp_path, start_profile=False)
    with pytest.raises(RuntimeError, match="not on"):
        idle.stop()


def test_a_schedule_waits_warms_up_and_records() -> None:
    plan = profiler.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    none, warm, record, save = ProfilerAction
    expected = [none, *[none, warm, record, save] * 2, none, none]
    assert [plan(step) for step in range(11)] == expected
    with pytest.raises(ValueError, match="active"):
        profiler.schedule(wait=0, active=0)


def test_rounds_are_handed_over_as_they_end(tmp_path: Path) -> None:
    handler = profiler.tensorboard_trace_handler(tmp_path, "round")
    with profiler.profile(
        schedule=profiler.schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=handler
    ) as watched:
        for _ in range(9):
            ops.tanh(X)
            watched.step()
    folders = sorted(path.name for path in tmp_path.iterdir())
    assert folders == ["round_0", "round_1"]
    for number, folder in enumerate(folders):
        rows = table(tmp_path / folder / "op_statistic.csv")
        assert [(row["OP Type"], row["Count"]) for row in rows] == [("tanh", "2")]
        steps = [row["Step"] for row in table(tmp_path / folder / "step_trace_time.csv")]
        assert steps == [str(2 + 4 * number), str(3 + 4 * number)]


def test_without_a_schedule_all_is_taken_down(tmp_path: Path) -> None:
    with profiler.profile(output_path=tmp_path) as watched:
        ops.tanh(X)
        watched.step()
        ops.tanh(X)
    (tally,) = watched.op_ranking()
    assert (tally.name, tally.count) == ("tanh", 2)
    assert (tmp_path / "trace_view.json").exists()
    assert "tanh" in watched.summary()
    assert "syncs 0, steps 2" in watched.summary()


def test_stretches_that_overlap_are_counted_once() -> None:
    events = [
        Event("op", "a", start, end, 0, 0) for start, end in ((2, 5), (4, 6), (4, 5), (8, 12))
    ]
    assert covered(events, 0, 10) == 6
    assert covered([], 0, 10) == 0


def test_complaint_11_a_benchmark_of_dispatch_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parent.parent))
    blocks = importlib.import_module("benchmarks.mlp_blocks")
    training = importlib.import_module("benchmarks.training")
    monkeypatch.setattr(blocks, "BLOCKS", 1)
    x = np.random.default_rng(0).standard_normal((blocks.BATCH, blocks.WIDTH)).astype(np.float32)
    calls = training.cellwire_steps(blocks.make_weights(np.random.default_rng(0)), x, x)
    assert {"cellwire eager", "cellwire jit", "cellwire optimizer"} <= set(calls)
    training.check(calls)


def test_a_file_says_which_steps_are_taken_down(tmp_path: Path, training: Training) -> None:
    settings = tmp_path / "settings"
    monitor = profiler.DynamicProfilerMonitor(settings, tmp_path / "out")
    file = settings / "profiler_config.json"
    assert json.loads(file.read_text())["start_step"] == -1
    file.write_text('{"start_step": 2, "stop_step": 3}')
    for _ in range(4):
        training.step()
        monitor.step()
    (folder,) = (tmp_path / "out").iterdir()
    assert folder.name == "rank0_start2_stop3"
    steps = table(folder / "step_trace_time.csv")
    assert len(steps) == 2
    profiler.analyse(tmp_path)
    with pytest.raises(FileNotFoundError, match="no profile"):
        profiler.analyse(settings)
    for text, words in (("{", "no JSON"), ('{"start_step": "x"}', "integers"), ("[]", "object")):
        file.write_text(text)
        with pytest.raises(ValueError, match=words):
            profiler.DynamicProfilerMonitor(settings)
