"""Find what takes time: what MindSpore's tutorial ``debug/profiler`` calls.

A profiler in a callback of ``Model``, one around a loop, one that a file switches on while a
training runs, marks of one's own, and the files that are left.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import cellwire as ms
import numpy as np
from cellwire import Tensor, nn
from cellwire.dataset import GeneratorDataset
from cellwire.profiler import (
    AicoreMetrics,
    DynamicProfilerMonitor,
    HostSystem,
    ProfilerActivity,
    ProfilerLevel,
    mstx,
)
from cellwire.profiler.profiler import analyse


class Steps(ms.Callback):
    """Watches some steps of a training."""

    def __init__(self, first: int, last: int, folder: Path) -> None:
        super().__init__()
        self.first, self.last = first, last
        self.profiler = ms.profiler.profile(
            start_profile=False,
            experimental_config=ms.profiler._ExperimentalConfig(),
            schedule=ms.profiler.schedule(
                wait=0, warmup=0, active=last - first + 1, repeat=1, skip_first=0
            ),
            on_trace_ready=ms.profiler.tensorboard_trace_handler(str(folder)),
        )

    def on_train_step_begin(self, run_context: Any) -> None:
        if run_context.original_args().cur_step_num == self.first:
            self.profiler.start()

    def on_train_step_end(self, run_context: Any) -> None:
        number = run_context.original_args().cur_step_num
        if self.first <= number <= self.last:
            self.profiler.step()
        if number == self.last:
            self.profiler.stop()


def rows(count: int) -> Any:
    for _ in range(count):
        yield np.random.randn(4).astype(np.float32), np.array([1.0], np.float32)


def table(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Training:
    """Steps of a small training."""

    def __init__(self) -> None:
        self.net = nn.SequentialCell(nn.Dense(4, 8), nn.Tanh(), nn.Dense(8, 1))
        self.loss = nn.MSELoss()
        self.optimizer = nn.Momentum(self.net.trainable_params(), 0.1, 0.9)
        self.gradient = ms.value_and_grad(self.forward, None, self.optimizer.parameters)
        self.data = Tensor(np.random.randn(16, 4).astype(np.float32))

    def forward(self, x: Tensor) -> Tensor:
        return self.loss(self.net(x), x.sum(1, keepdims=True))

    def step(self) -> None:
        loss, grads = self.gradient(self.data)
        self.optimizer(grads)
        loss.asnumpy()


def by_callback(folder: Path) -> None:
    training = Training()
    dataset = GeneratorDataset(lambda: rows(24), ["data", "label"]).batch(4)
    model = ms.Model(training.net, training.loss, training.optimizer)
    model.train(1, dataset, callbacks=[Steps(2, 4, folder)], dataset_sink_mode=False)
    (steps,) = folder.rglob("step_trace_time.csv")
    assert len(table(steps)) == 3


def by_loop(folder: Path) -> None:
    training = Training()
    config = ms.profiler._ExperimentalConfig(
        profiler_level=ProfilerLevel.Level0,
        aic_metrics=AicoreMetrics.AiCoreNone,
        l2_cache=False,
        mstx=False,
        data_simplification=False,
        host_sys=[HostSystem.CPU, HostSystem.MEM],
    )
    with ms.profiler.profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
        schedule=ms.profiler.schedule(wait=1, warmup=0, active=2, repeat=1, skip_first=0),
        on_trace_ready=ms.profiler.tensorboard_trace_handler(str(folder)),
        profile_memory=False,
        experimental_config=config,
    ) as profiler:
        for _ in range(5):
            training.step()
            profiler.step()
    (kernels,) = folder.rglob("kernel_details.csv")
    assert {row["Step Id"] for row in table(kernels)} == {"1", "2"}
    (ops,) = folder.rglob("op_statistic.csv")
    print("longest:", table(ops)[0]["OP Type"])
    analyse(str(folder))


def by_file(folder: Path) -> None:
    training = Training()
    settings = folder / "settings" / "profiler_config.json"
    monitor = DynamicProfilerMonitor(cfg_path=settings.parent, output_path=folder)
    chosen = json.loads(settings.read_text())
    settings.write_text(json.dumps({**chosen, "start_step": 2, "stop_step": 3}))
    for number in range(1, 9):
        training.step()
        monitor.step()
        if number == 5:
            settings.write_text(json.dumps({**chosen, "start_step": 7, "stop_step": 7}))
    for name, steps in (("rank0_start2_stop3", 2), ("rank0_start7_stop7", 1)):
        assert len(table(folder / name / "step_trace_time.csv")) == steps


def by_hand(folder: Path) -> None:
    training = Training()
    profiler = ms.Profiler(output_path=str(folder))
    whole = mstx.range_start("train")
    mstx.mark("start")
    training.step()
    mstx.range_end(whole)
    profiler.stop()
    trace = json.loads((folder / "trace_view.json").read_text())
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    assert {"train", "start"} <= {event["name"] for event in events}


def main(folder: Path) -> None:
    by_callback(folder / "callback")
    by_loop(folder / "loop")
    by_file(folder / "file")
    by_hand(folder / "hand")
