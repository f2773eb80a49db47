"""Model trains, evaluates and predicts; callbacks are told, and steer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops, train
from cellwire.dataset import NumpySlicesDataset

RNG = np.random.default_rng(0)
X = RNG.standard_normal((24, 3)).astype(np.float32)
Y = (X @ np.array([1.0, -2.0, 0.5], np.float32) > 0).astype(np.int32)


def data(batch: int = 8) -> Any:
    return NumpySlicesDataset((X, Y), ["data", "label"], shuffle=False).batch(batch)


def network() -> nn.Cell:
    cw.set_seed(2)
    return nn.SequentialCell(nn.Dense(3, 8), nn.Tanh(), nn.Dense(8, 2))


def model(net: nn.Cell | None = None, rate: Any = 0.1, **settings: Any) -> train.Model:
    net = network() if net is None else net
    optimizer = nn.Momentum(net.trainable_params(), rate, 0.9)
    settings.setdefault("metrics", {"accuracy", "loss"})
    return train.Model(net, nn.CrossEntropyLoss(), optimizer, **settings)


class Told(train.Callback):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.moments: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("on_"):

            def told(context: train.RunContext) -> None:
                args = context.original_args()
                self.moments.append(f"{name[3:]} {args.cur_epoch_num}.{args.cur_step_num}")
                found(context)

            return told
        return found


def test_training_lowers_the_loss_and_evaluation_tells_it() -> None:
    chosen = model()
    before = chosen.eval(data())
    chosen.train(10, data())
    after = chosen.eval(data())
    assert after["loss"] < before["loss"] * 0.5
    assert after["accuracy"] > 0.9
    logits = chosen.predict(cw.Tensor(X))
    assert float((logits.asnumpy().argmax(1) == Y).mean()) == after["accuracy"]
    assert not chosen.predict_network.training


def test_it_takes_the_steps_that_one_would_write() -> None:
    net = network()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    loss_fn = nn.CrossEntropyLoss()
    derived = cw.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)
    for _ in range(2):
        for x, y in data():
            optimizer(derived(x, y)[1])
    other = network()
    model(other).train(2, data())
    for one, two in zip(net.get_parameters(), other.get_parameters(), strict=True):
        np.testing.assert_allclose(one.data, two.data, rtol=1e-5, atol=1e-6)


def test_callbacks_are_told_of_every_moment_in_order() -> None:
    told = Told()
    model().fit(2, data(12), data(24), callbacks=[told])
    epoch = [
        "train_epoch_begin {}.{}", "train_step_begin {}.{}", "train_step_end {}.{}",
        "train_step_begin {}.{}", "train_step_end {}.{}", "eval_begin {}.0",
        "eval_epoch_begin {}.0", "eval_step_begin {}.1", "eval_step_end {}.1",
        "eval_epoch_end {}.1", "eval_end {}.1", "train_epoch_end {}.{}",
    ]  # fmt: skip
    steps = [0, 1, 1, 2, 2, 0, 0, 0, 0, 0, 0, 2]
    expected = ["train_begin 0.0"]
    for number in (1, 2):
        for text, step in zip(epoch, steps, strict=True):
            expected.append(text.format(number, step + 2 * (number - 1)))
    assert told.moments == [*expected, "train_end 2.4"]


def test_old_names_of_moments_are_told_too() -> None:
    seen: list[str] = []

    class Old(train.Callback):
        def begin(self, run_context: train.RunContext) -> None:
            seen.append("begin")

        def step_end(self, run_context: train.RunContext) -> None:
            args = run_context.original_args()
            assert args.batch_num == 3
            assert args.epoch_num == 1
            assert args.train_network.training
            assert len(args.train_dataset_element) == 2
            assert args.no_such_thing is None
            seen.append(f"step {args.cur_step_num}")
            if args.cur_step_num == 2:
                run_context.request_stop()

        def end(self, run_context: train.RunContext) -> None:
            seen.append("end")

    model().train(1, data(), callbacks=Old())
    assert seen == ["begin", "step 1", "step 2", "end"]


def test_monitors_print_in_mindspores_form(capsys: pytest.CaptureFixture[str]) -> None:
    model().fit(
        1, data(), data(), callbacks=[train.LossMonitor(2), train.TimeMonitor(data_time=True)]
    )
    printed = capsys.readouterr().out
    assert re.search(r"^epoch: 1 step: 2, loss is 0\.\d+$", printed, re.M)
    assert "step: 1," not in printed
    assert re.search(
        r"^Train epoch time: \d+\.\d{3} ms, per step time: \d+\.\d{3} ms", printed, re.M
    )
    assert "Eval result: epoch 1, metrics: {" in printed


def test_an_epochs_time_is_that_of_its_steps_without_the_evaluation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    clock = SimpleNamespace(perf_counter=lambda: now[0])
    monkeypatch.setattr("cellwire.engine.train.callback.monitors.time", clock)

    def later(seconds: float) -> Callable[[train.RunContext], None]:
        return lambda context: now.__setitem__(0, now[0] + seconds)

    ticks = train.LambdaCallback(
        on_train_step_begin=later(1.0), on_eval_step_begin=later(100.0), on_eval_end=later(9.0)
    )
    model().fit(1, data(), data(), callbacks=[train.TimeMonitor(), ticks])
    printed = capsys.readouterr().out
    assert "Train epoch time: 3000.000 ms, per step time: 1000.000 ms" in printed
    assert "Eval epoch time: 300000.000 ms, per step time: 100000.000 ms" in printed


def test_a_loss_that_is_no_number_ends_the_training() -> None:
    class Broken(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = cw.Parameter(np.ones(3, np.float32), "w")

        def construct(self, x: Any, y: Any) -> Any:
            return ops.log(ops.sum(self.w * x) * 0.0 - 1.0)

    net = Broken()
    chosen = train.Model(net, optimizer=nn.SGD(net.trainable_params()))
    with pytest.raises(ValueError, match="epoch 1 step 1: the loss is nan"):
        chosen.train(1, data(), callbacks=train.LossMonitor())


def test_the_learning_rate_follows_a_function() -> None:
    chosen = model()
    rates: list[float] = []
    note = train.LambdaCallback(
        on_train_step_end=lambda context: rates.append(
            float(context.original_args().optimizer.learning_rate)
        )
    )
    chosen.fit(
        1, data(), data(), callbacks=[train.LearningRateScheduler(lambda r, n: r / (n + 1)), note]
    )
    assert rates == pytest.approx([0.05, 0.05 / 3, 0.05 / 12])


class Frozen(nn.Cell):
    """A loss that goes as it is told."""

    def __init__(self, losses: list[float]) -> None:
        super().__init__()
        self.losses = iter(losses)
        self.w = cw.Parameter(np.float32(0), "w")

    def construct(self, x: Any, y: Any) -> Any:
        return self.w * 0.0 + next(self.losses)


def going(losses: list[float], callbacks: list[Any], rate: Any = 1.0) -> nn.Optimizer:
    net = Frozen(losses)
    optimizer = nn.SGD(net.trainable_params(), rate)
    train.Model(net, optimizer=optimizer).train(len(losses), data(24), callbacks=callbacks)
    return optimizer


def test_early_stopping_waits_and_stops() -> None:
    history = train.History()
    stop = train.EarlyStopping("loss", patience=2, min_delta=0.1)
    going([3.0, 2.0, 1.95, 1.92, 0.5, 0.1], [stop, history])
    assert stop.stopped_epoch == 4
    assert history.epoch == {"epoch": [1, 2, 3, 4]}
    assert history.history == {"net_output": pytest.approx([3.0, 2.0, 1.95, 1.92])}
    rising = train.EarlyStopping("loss", patience=1, mode="max")
    going([1.0, 2.0, 1.0, 3.0], [rising])
    assert rising.stopped_epoch == 3


def test_early_stopping_puts_the_best_weights_back() -> None:
    net = network()
    chosen = model(net, rate=0.1)
    kept: list[np.ndarray] = []

    def note(context: train.RunContext) -> None:
        kept.append(net[0].weight.asnumpy().copy())
        context.original_args().optimizer.learning_rate = 1000.0 if len(kept) == 2 else 0.1

    stop = train.EarlyStopping("eval_loss", patience=1, restore_best_weights=True)
    chosen.fit(4, data(), data(), callbacks=[train.LambdaCallback(on_train_epoch_end=note), stop])
    assert len(kept) == 3
    np.testing.assert_array_equal(net[0].weight.asnumpy(), kept[1])


def test_a_plateau_lowers_the_rate() -> None:
    plateau = train.ReduceLROnPlateau("loss", 0.5, patience=2, cooldown=1, min_lr=0.2)
    assert float(going([1.0] * 4, [plateau]).learning_rate) == 0.5
    assert float(going([1.0] * 5, [plateau]).learning_rate) == 0.25
    assert float(going([1.0] * 30, [plateau]).learning_rate) == pytest.approx(0.2)
    with pytest.raises(ValueError, match="schedule"):
        going([1.0] * 9, [plateau], rate=[0.1, 0.2])


def test_what_is_watched_must_be_there() -> None:
    with pytest.raises(ValueError, match="no value 'speed'"):
        going([1.0], [train.EarlyStopping("speed")])
    for make in (
        lambda: train.EarlyStopping(mode="up"), lambda: train.EarlyStopping(patience=-1),
        lambda: train.ReduceLROnPlateau(factor=2.0), lambda: train.LossMonitor(-1),
        lambda: train.TimeMonitor(0), lambda: train.CheckpointConfig(0),
        lambda: train.CheckpointConfig(-1), lambda: train.ModelCheckpoint("a/b"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r".+"):
            make()


def test_checkpoints_are_saved_kept_and_loaded(tmp_path: Path) -> None:
    config = train.CheckpointConfig(
        save_checkpoint_steps=2, keep_checkpoint_max=2,
        append_info=["epoch_num", {"share": 0.5}],
    )  # fmt: skip
    saver = train.ModelCheckpoint("net", str(tmp_path), config)
    net = network()
    chosen = model(net)
    chosen.train(3, data(), callbacks=saver)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["net-3_2.ckpt", "net-3_3.ckpt"]
    assert saver.latest_ckpt_file_name == str(tmp_path / "net-3_3.ckpt")
    held = cw.load_checkpoint(saver.latest_ckpt_file_name)
    assert int(held["epoch_num"]) == 3
    assert float(held["share"]) == 0.5
    other = network()
    not_in_file, _ = cw.load_param_into_net(other, held)
    assert not not_in_file
    for one, two in zip(net.get_parameters(), other.get_parameters(), strict=True):
        np.testing.assert_array_equal(one.data, two.data)
    resumed = nn.Momentum(other.trainable_params(), 0.1, 0.9)
    missing, _ = cw.load_param_into_net(resumed, held)
    assert not missing
    assert int(resumed.global_step) == 9
    again = train.ModelCheckpoint("net", str(tmp_path), config)
    chosen.train(1, data(), callbacks=again)
    assert again.latest_ckpt_file_name.endswith("net_1-1_3.ckpt")
    alone = train.CheckpointConfig(2, saved_network=net)
    saver = train.ModelCheckpoint("alone", str(tmp_path), alone)
    chosen.train(1, data(), callbacks=saver)
    held = cw.load_checkpoint(saver.latest_ckpt_file_name)
    assert sorted(held) == sorted(name for name, _ in net.parameters_and_names())


def test_a_checkpoint_when_an_error_ends_the_training(tmp_path: Path) -> None:
    def fail(context: train.RunContext) -> None:
        raise KeyError("step")

    config = train.CheckpointConfig(100, exception_save=True)
    saver = train.ModelCheckpoint("net", str(tmp_path), config)
    with pytest.raises(KeyError):
        model().train(1, data(), callbacks=[saver, train.LambdaCallback(on_train_step_end=fail)])
    assert [path.name for path in tmp_path.iterdir()] == ["net-1_1_breakpoint.ckpt"]


class Stream:
    """Rows of which nobody knows how many there are."""

    def __iter__(self) -> Iterator[list[cw.Tensor]]:
        return iter(data())


def test_steps_of_data_without_a_length_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saver = train.ModelCheckpoint("net", str(tmp_path))
    model().train(2, Stream(), callbacks=[saver, train.LossMonitor()])
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"net-{place}.ckpt" for place in ("1_2", "1_3", "2_1", "2_2", "2_3")]
    places = re.findall(r"epoch: (\d) step: (\d)", capsys.readouterr().out)
    assert places == [("1", "1"), ("1", "2"), ("1", "3"), ("2", "1"), ("2", "2"), ("2", "3")]


def test_every_callback_is_left_though_another_one_fails_to_be() -> None:
    left: list[str] = []

    class Leaves(train.Callback):
        def __exit__(self, *error: Any) -> None:
            left.append(type(error[1]).__name__)

    class Fails(train.Callback):
        def __exit__(self, *error: Any) -> None:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        model().train(1, data(), callbacks=[Leaves(), Fails()])
    assert left == ["OSError"]


def test_a_sink_counts_steps_over_the_ends_of_the_data() -> None:
    told = Told()
    model().train(2, data(), callbacks=told, dataset_sink_mode=True, sink_size=2)
    ends = [moment for moment in told.moments if moment.startswith("train_step_end")]
    assert ends == [f"train_step_end {e}.{s}" for e, s in ((1, 1), (1, 2), (2, 3), (2, 4))]
    told = Told()
    model().train(3, data(), callbacks=told, initial_epoch=2)
    assert told.moments[-1] == "train_end 3.3"


@pytest.mark.parametrize("level", ["O1", "O2", "O3", "auto"])
def test_row_42_model_trains_in_mixed_precision(level: str) -> None:
    manager = {"loss_scale_manager": cw.FixedLossScaleManager(256.0)} if level == "O3" else {}
    chosen = model(amp_level=level, **manager)
    before = chosen.eval(data())["loss"]
    history = train.History()
    chosen.train(12, data(), callbacks=history)
    assert chosen.eval(data())["loss"] < before * 0.7
    assert all(np.isfinite(history.history["net_output"]))


def test_rows_may_be_any_iterable_and_dictionaries() -> None:
    rows = [{"x": cw.Tensor(X), "y": cw.Tensor(Y)}]
    chosen = model()
    chosen.train(2, rows)
    assert set(chosen.eval([(cw.Tensor(X), cw.Tensor(Y))])) == {"accuracy", "loss"}
    with pytest.raises(ValueError, match="3 columns"):
        chosen.train(1, [(cw.Tensor(X), cw.Tensor(Y), cw.Tensor(Y))])


def test_an_evaluation_network_of_ones_own() -> None:
    class Squares(nn.Cell):
        def __init__(self, net: nn.Cell) -> None:
            super().__init__()
            self.net = net

        def construct(self, x: Any, y: Any) -> Any:
            return ops.cast(y, cw.float32) * 0.0, y, ops.mean(self.net(x))

    net = network()
    chosen = train.Model(
        net, nn.CrossEntropyLoss(), eval_network=Squares(net), eval_indexes=[2, 0, 1],
        metrics={"loss": train.Loss(), "error": train.MSE()},
    )  # fmt: skip
    result = chosen.eval(data(24))
    assert result["error"] == pytest.approx(float(np.mean(Y**2)))
    assert result["loss"] == pytest.approx(float(net(cw.Tensor(X)).asnumpy().mean()), rel=1e-5)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: train.Model(lambda x: x), TypeError),
        (lambda: train.Model(network(), optimizer=3), TypeError),
        (lambda: train.Model(network(), metrics={"accuracy"}), ValueError),
        (lambda: train.Model(network(), nn.MSELoss(), metrics={"a": 3}), TypeError),
        (lambda: train.Model(network(), nn.MSELoss(), eval_indexes=[1]), ValueError),
        (lambda: train.Model(network(), speed=3), ValueError),
        (lambda: model().train(0, data()), ValueError),
        (lambda: model().train(1, data(), initial_epoch=1), ValueError),
        (lambda: model().train(1, data(), callbacks=[print]), TypeError),
        (lambda: model().train(1, data(), True, sink_size=0), ValueError),
        (lambda: model().train(1, []), ValueError),
        (lambda: model().train(1, 5), TypeError),
        (lambda: model(metrics=None).eval(data()), ValueError),
        (lambda: model(metrics=None).fit(1, data(), data()), ValueError),
        (lambda: model().fit(1, data(), data(), valid_frequency=0), ValueError),
    ],
)
def test_mistakes_are_named(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()
