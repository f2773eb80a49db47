"""Callbacks that tell how a training goes."""

from __future__ import annotations

import math
import time
from typing import Any

from .base import Callback, RunContext, loss_of, step_in_epoch, values_of


class LossMonitor(Callback):
    """Prints the loss, and ends a training whose loss is no number.

    Parameters
    ----------
    per_print_times : int
        How many steps lie between two prints; 0 prints none.

    Raises
    ------
    ValueError
        If it is negative; in a training, if the loss is NaN or infinite.
    """

    def __init__(self, per_print_times: int = 1) -> None:
        if not isinstance(per_print_times, int) or per_print_times < 0:
            raise ValueError(
                f"LossMonitor: per_print_times must be an int from 0 on, not {per_print_times!r}."
            )
        self._every = per_print_times
        self._last = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        """Count anew."""
        self._last = 0

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Print the loss, once in a while."""
        args = run_context.original_args()
        if not self._every or args.cur_step_num - self._last < self._every:
            return
        self._last = args.cur_step_num
        loss = loss_of(args.net_outputs)
        step = step_in_epoch(args)
        if not math.isfinite(loss):
            raise ValueError(
                f"epoch {args.cur_epoch_num} step {step}: the loss is {loss}; the training ends."
                " Lower the learning rate, or look for what is not a number."
            )
        print(f"epoch: {args.cur_epoch_num} step: {step}, loss is {loss}", flush=True)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Print the metrics, where ``Model.fit`` has evaluated."""
        args = run_context.original_args()
        if args.eval_results:
            print(
                f"Eval result: epoch {args.cur_epoch_num}, metrics: {args.eval_results}",
                flush=True,
            )


class TimeMonitor(Callback):
    """Prints how long epochs and steps take.

    Parameters
    ----------
    data_size : int, optional
        How many steps an epoch has; by default as many as there were.
    data_time : bool
        Whether the time that data took is printed too.
    """

    def __init__(self, data_size: int | None = None, data_time: bool = False) -> None:
        if data_size is not None and (not isinstance(data_size, int) or data_size < 1):
            raise ValueError(f"TimeMonitor: data_size must be a positive int, not {data_size!r}.")
        self.data_size, self.data_time = data_size, bool(data_time)
        # by mode: an evaluation may lie between the steps of an epoch of training and its end
        self._started: dict[str, float] = {}
        self._step_ended: dict[str, float] = {}
        self._waited: dict[str, float] = {}

    def epoch_begin(self, run_context: RunContext) -> None:
        """Look at the clock."""
        mode = run_context.original_args().mode
        self._started[mode] = self._step_ended[mode] = time.perf_counter()
        self._waited[mode] = 0.0

    def step_begin(self, run_context: RunContext) -> None:
        """Count the time since the last step."""
        mode = run_context.original_args().mode
        self._waited[mode] += time.perf_counter() - self._step_ended[mode]

    def step_end(self, run_context: RunContext) -> None:
        """Look at the clock."""
        self._step_ended[run_context.original_args().mode] = time.perf_counter()

    def epoch_end(self, run_context: RunContext) -> None:
        """Print what passed up to the last step."""
        args = run_context.original_args()
        milliseconds = (self._step_ended[args.mode] - self._started[args.mode]) * 1e3
        steps = self.data_size or args.batch_num or 1
        name = "Eval" if args.mode == "eval" else "Train"
        text = f"{name} epoch time: {milliseconds:5.3f} ms, per step time: "
        text += f"{milliseconds / steps:5.3f} ms"
        if self.data_time:
            text += f", data time: {self._waited[args.mode] * 1e3 / steps:5.3f} ms per step"
        print(text, flush=True)


class History(Callback):
    """Keeps the loss and the metrics of each epoch of a training.

    ``epoch`` has the epochs' numbers under ``"epoch"``, ``history`` a list for each value: the
    last loss of the epoch under ``"net_output"``, and the metrics under their names.
    """

    def __init__(self) -> None:
        self.history: dict[str, list[Any]] = {}
        self.epoch: dict[str, list[int]] = {"epoch": []}

    def begin(self, run_context: RunContext) -> None:
        """Begin anew with each training."""
        if run_context.original_args().mode != "eval":
            self.history, self.epoch = {}, {"epoch": []}

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Keep what the epoch gave."""
        args = run_context.original_args()
        self.epoch["epoch"].append(args.cur_epoch_num)
        for name, value in values_of(args).items():
            if name == "loss":
                self.history.setdefault("net_output", []).append(value)
            elif name.startswith("eval_"):
                self.history.setdefault(name, []).append(value)
