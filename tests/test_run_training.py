"""Training a drawn graph: it learns, stops on NaN and on breakpoints, and resumes bit for bit."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cellwire.engine import nn, ops
from cellwire.engine.run.breakpoints import Breakpoint, Breakpoints
from cellwire.engine.run.events import Failed, Paused
from cellwire.engine.run.graph import Edge, Graph, Node, Source
from cellwire.engine.run.history import StepResult
from cellwire.engine.run.nonfinite import NotFinite
from cellwire.engine.run.settings import TrainingData, TrainingError, TrainingSettings
from cellwire.engine.run.state import write_pair
from cellwire.engine.run.training import TrainingRun
from cellwire.engine.tensor import Tensor, from_numpy

RNG = np.random.default_rng(5)
LABELS = RNG.integers(0, 3, 60).astype(np.int32)
POINTS = (np.eye(3)[LABELS] * 2 + RNG.normal(0, 0.5, (60, 3))).astype(np.float32)
DATA = TrainingData(
    {"data": {"x": POINTS[:50], "y": LABELS[:50]}}, {"data": {"x": POINTS[50:], "y": LABELS[50:]}}
)
EAGER_AND_COMPILED = pytest.mark.parametrize("compile_step", [False, True])


def cell(id_: str, made: nn.Cell, source: str, port: str = "out") -> Node:
    rng = np.random.default_rng(len(id_))
    for parameter in made.trainable_params():
        if parameter.ndim == 2:
            drawn = rng.normal(0, 0.3, parameter.shape).astype(np.float32)
            parameter.set_data(from_numpy(drawn))
        elif parameter.name == "bias":
            parameter.set_data(np.zeros(parameter.shape, np.float32))
    return Node(id_, id_, made, {"x": Source(source, port)}, kind="cell")


def classifier(*middle: Node, last: str = "first") -> Graph:
    return Graph(
        [
            Node("data", "data", lambda: None, outputs=("x", "y"), kind="data"),
            cell("first", nn.Dense(3, 8), "data", "x"),
            *middle,
            cell("second", nn.Dense(8, 3), last),
            Node(
                "loss",
                "loss",
                nn.CrossEntropyLoss(),
                {"logits": Source("second", "out"), "labels": Source("data", "y")},
                kind="loss",
            ),
        ]
    )


def dropout_and_norm() -> Graph:
    return classifier(
        cell("norm", nn.BatchNorm1d(8), "first"),
        Node("relu", "relu", ops.relu, {"x": Source("norm", "out")}),
        cell("drop", nn.Dropout(p=0.3), "relu"),
        last="drop",
    )


def settings(**changes: object) -> TrainingSettings:
    base = {"batch_size": 16, "epochs": 3, "learning_rate": 0.05, "watch_every": 2}
    return TrainingSettings(**{**base, **changes})  # pyright: ignore[reportArgumentType]


def run_out(run: TrainingRun) -> list[StepResult]:
    results: list[StepResult] = []
    while not run.finished:
        result = run.step()
        assert isinstance(result, StepResult), result
        results.append(result)
    return results


@EAGER_AND_COMPILED
def test_a_classifier_learns(compile_step: bool) -> None:
    run = TrainingRun(classifier(), DATA, settings(compile_step=compile_step, epochs=10))
    results = run_out(run)
    assert len(results) == run.steps == 40
    assert run.path == ("compiled" if compile_step else "eager")
    ends = [r.epoch_end for r in results if r.epoch_end]
    assert [end.epoch for end in ends] == list(range(1, 11))
    assert ends[-1].held_out is not None
    assert ends[-1].held_out.examples == 10
    assert ends[-1].accuracy is not None
    assert ends[-1].accuracy > 0.9
    assert ends[-1].loss < ends[0].loss / 2
    assert set(run.history.update_ratios) == {"first", "second"}
    assert [step for step, _ in run.history.gradient_norms["first"]] == list(range(1, 41, 2))


def test_compiled_and_eager_steps_agree() -> None:
    losses = []
    for compile_step in (False, True):
        run = TrainingRun(classifier(), DATA, settings(compile_step=compile_step))
        losses.append([result.loss for result in run_out(run)])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)


@pytest.mark.parametrize("optimizer", ["SGD", "Momentum", "Adam"])
@EAGER_AND_COMPILED
def test_a_resumed_run_is_bit_for_bit_the_uninterrupted_one(
    tmp_path: Path, optimizer: str, compile_step: bool
) -> None:
    chosen = settings(optimizer=optimizer, schedule="cosine", compile_step=compile_step)
    whole = TrainingRun(dropout_and_norm(), DATA, chosen)
    run_out(whole)
    first = TrainingRun(dropout_and_norm(), DATA, chosen)
    for _ in range(5):
        first.step()
    first.save(tmp_path / "run")
    resumed = TrainingRun(dropout_and_norm(), DATA, chosen)
    resumed.restore(tmp_path / "run")
    assert resumed.done == 5
    run_out(resumed)
    assert resumed.history.losses == whole.history.losses
    assert resumed.history.update_ratios == whole.history.update_ratios
    for key, array in whole.weights.arrays().items():
        np.testing.assert_array_equal(resumed.weights.arrays()[key], array)
    kept = [(e.loss, e.accuracy, e.held_out) for e in whole.history.epochs]
    assert [(e.loss, e.accuracy, e.held_out) for e in resumed.history.epochs] == kept


def test_what_does_not_fit_a_saved_run_is_told(tmp_path: Path) -> None:
    run = TrainingRun(classifier(), DATA, settings())
    run.step()
    run.save(tmp_path / "run")
    other = TrainingRun(classifier(), DATA, settings(batch_size=8, seed=3))
    with pytest.raises(TrainingError, match="batch_size was 16, is 8; seed was 0, is 3"):
        other.restore(tmp_path / "run")
    shifted = TrainingRun(dropout_and_norm(), DATA, settings())
    with pytest.raises(TrainingError, match=r"belong to another graph|has no norm"):
        shifted.restore(tmp_path / "run")


@EAGER_AND_COMPILED
def test_a_nan_loss_names_the_node_and_changes_nothing(compile_step: bool) -> None:
    graph = classifier(Node("log", "log", ops.log, {"x": Source("first", "out")}), last="log")
    run = TrainingRun(graph, DATA, settings(compile_step=compile_step))
    before = {key: array.copy() for key, array in run.weights.arrays().items()}
    with np.errstate(invalid="ignore", divide="ignore"):
        found = run.step()
    assert isinstance(found, NotFinite)
    assert (found.node, found.port, found.direction, found.step) == ("log", "out", "forward", 1)
    assert found.stats.nan > 0
    assert "out of log has" in found.message
    assert run.done == 0
    for key, array in run.weights.arrays().items():
        np.testing.assert_array_equal(array, before[key])


def test_nan_in_the_data_is_to_be_taken_out_of_it() -> None:
    points = POINTS.copy()
    points[3, 1] = np.nan
    run = TrainingRun(
        classifier(), TrainingData({"data": {"x": points, "y": LABELS}}), settings(batch_size=60)
    )
    found = run.step()
    assert isinstance(found, NotFinite)
    assert (found.node, found.port) == ("data", "x")
    assert found.fix == "take these values out of what data reads, or fill them"


def test_breakpoints_stop_a_training_step_forward_and_back() -> None:
    points = Breakpoints(
        [
            Breakpoint(Edge("second", "x"), "hit == 2"),
            Breakpoint(Edge("second", "x"), "hit == 1", direction="gradient"),
        ]
    )
    run = TrainingRun(classifier(), DATA, settings(), breakpoints=points)
    paused = run.step()
    assert isinstance(paused, Paused)
    assert (paused.direction, paused.node) == ("gradient", "first")
    assert run.paused is not None
    assert run.paused.execution.gradient(Edge("second", "x")).shape == (16, 8)
    with pytest.raises(TrainingError, match="stands at a breakpoint"):
        run.save("unused")
    assert isinstance(run.step(), StepResult)
    paused = run.step()
    assert isinstance(paused, Paused)
    assert (paused.direction, paused.node) == ("forward", "second")
    run.stop()
    assert run.done == 1


def test_a_step_with_breakpoints_learns_what_one_without_does() -> None:
    runs = []
    for points in ([], [Breakpoint(Edge("second", "x"), "nan")]):
        run = TrainingRun(
            dropout_and_norm(),
            DATA,
            settings(compile_step=False),
            breakpoints=Breakpoints(points),
        )
        run_out(run)
        runs.append(run)
    np.testing.assert_allclose(runs[0].history.losses, runs[1].history.losses, rtol=1e-5)


def test_a_shape_error_in_a_step_stands_on_its_node() -> None:
    graph = classifier(cell("narrow", nn.Dense(5, 8), "first"), last="narrow")
    run = TrainingRun(graph, DATA, settings())
    failed = run.step()
    assert isinstance(failed, Failed)
    assert failed.node == "narrow"
    assert failed.inputs == {"x": "16×8 f32"}


def test_one_batch_can_be_overfitted() -> None:
    chosen = settings(overfit_one_batch=True, epochs=100, schedule="constant")
    run = TrainingRun(classifier(), DATA, chosen)
    results = run_out(run)
    assert len(results) == 100
    assert results[-1].accuracy == 1.0


def test_what_cannot_be_trained_is_told() -> None:
    nodes = list(classifier().nodes.values())
    with pytest.raises(TrainingError, match="has no loss"):
        TrainingRun(Graph(nodes[:-1]), DATA)
    twice = [*nodes, Node("other", "other", ops.mean, {"x": Source("second", "out")}, kind="loss")]
    with pytest.raises(TrainingError, match=r"several losses \(loss, other\)"):
        TrainingRun(Graph(twice), DATA)
    assert TrainingRun(Graph(twice), DATA, settings(loss="loss")).objective.loss.node == "loss"
    with pytest.raises(TrainingError, match="no Cell with weights"):
        TrainingRun(Graph([nodes[0], twice[-1].__class__("loss", "loss", ops.mean,
                    {"x": Source("data", "x")}, kind="loss")]), DATA)  # fmt: skip
    with pytest.raises(TrainingError, match="feeds elsewhere"):
        TrainingRun(classifier(), TrainingData({"elsewhere": {"x": POINTS}}))


def test_the_end_is_the_end() -> None:
    run = TrainingRun(classifier(), DATA, settings(epochs=1))
    run_out(run)
    with pytest.raises(TrainingError, match="the training is over"):
        run.step()


def test_a_branch_on_a_weight_keeps_the_step_eager_and_says_so() -> None:
    gate = nn.Dense(8, 8)

    def gated(x: Tensor) -> Tensor:
        return ops.relu(x) if float(ops.sum(gate.weight)) > 0 else x

    graph = classifier(Node("gated", "gated", gated, {"x": Source("first", "out")}), last="gated")
    run = TrainingRun(graph, DATA, settings())
    assert isinstance(run.step(), StepResult)
    assert run.path == "eager"
    assert "a branch depends on the value of a weight" in run.reason
    with pytest.raises(TrainingError, match="the step cannot be compiled: TraceBreak"):
        TrainingRun(graph, DATA, settings(compile_step=True)).step()


def test_a_state_that_is_no_training_is_told(tmp_path: Path) -> None:
    run = TrainingRun(classifier(), DATA, settings())
    write_pair(tmp_path / "run", run.weights.arrays(), {}, {})
    with pytest.raises(TrainingError, match="not one that this version of training has saved"):
        run.restore(tmp_path / "run")


def test_a_run_resumed_in_another_process_is_the_uninterrupted_one(tmp_path: Path) -> None:
    script = Path(__file__).with_name("resumed_training.py")
    printed = [
        subprocess.run(
            [sys.executable, str(script), mode, str(tmp_path)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for mode in ("start", "resume")
    ]
    assert printed[0] == printed[1]
    assert len(printed[0]) == 2
