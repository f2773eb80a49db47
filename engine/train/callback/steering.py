"""Callbacks that steer a training: its learning rate and its end."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...parameter import Parameter
from .base import Callback, RunContext, values_of

MODES = ("auto", "min", "max")


class LearningRateScheduler(Callback):
    """Sets the learning rate after each step.

    Parameters
    ----------
    learning_rate_function : callable
        Takes the rate and the number of the step that was taken, gives the next rate.
    """

    def __init__(self, learning_rate_function: Callable[[float, int], float]) -> None:
        self.learning_rate_function = learning_rate_function

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Ask for the next rate."""
        args = run_context.original_args()
        rate = rate_parameter(args, "LearningRateScheduler")
        set_rate(rate, self.learning_rate_function(float(rate.asnumpy()), args.cur_step_num))


class _Watching(Callback):
    """Watches one value of a training for the better."""

    def __init__(self, monitor: str, mode: str, min_delta: float, patience: int) -> None:
        name = type(self).__name__
        if mode not in MODES:
            raise ValueError(f"{name}: mode must be one of {', '.join(MODES)}, not {mode!r}.")
        if not isinstance(patience, int) or patience < 0:
            raise ValueError(f"{name}: patience must be an int from 0 on, not {patience!r}.")
        self.monitor, self.patience = monitor, patience
        rises = mode == "max" or (mode == "auto" and "acc" in monitor)
        self.sign = 1.0 if rises else -1.0
        self.min_delta = abs(float(min_delta))
        self.best = -math.inf
        """The best value, times the sign that makes larger better."""
        self.waited = 0

    def better(self, value: float) -> bool:
        """Whether a value is better than the best by more than `min_delta`."""
        return self.sign * value > self.best + self.min_delta

    def watched(self, run_context: RunContext) -> float | None:
        """The value, or None where this epoch has not evaluated it."""
        args = run_context.original_args()
        values = values_of(args)
        if self.monitor in values:
            return float(values[self.monitor])
        if self.monitor.startswith("eval_") and not args.eval_results:
            return None
        raise ValueError(
            f"{type(self).__name__}: there is no value {self.monitor!r} to watch; there are"
            f" {', '.join(values)}. Give Model the metric, and Model.fit a valid_dataset."
        )


class EarlyStopping(_Watching):
    """Ends a training when a value does not become better any more.

    Parameters
    ----------
    monitor : str
        ``loss``, or a metric of ``Model.fit`` with ``eval_`` before its name.
    min_delta : float
        By how much a value must be better to count.
    patience : int
        How many epochs without a better value are waited for.
    verbose : bool
        Whether it prints what it does.
    mode : {"auto", "min", "max"}
        Whether smaller or larger is better; ``auto`` takes larger for accuracies.
    baseline : float, optional
        What the value must be better than in the first epochs.
    restore_best_weights : bool
        Whether the weights of the best epoch are put back at the end.

    Raises
    ------
    ValueError
        If a setting is not known; in a training, if there is no such value.
    """

    def __init__(
        self,
        monitor: str = "eval_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: bool = False,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        super().__init__(monitor, mode, min_delta, patience)
        self.verbose, self.baseline = bool(verbose), baseline
        self.restore_best_weights = bool(restore_best_weights)
        self.stopped_epoch = 0
        self._weights: dict[str, np.ndarray] = {}

    def on_train_begin(self, run_context: RunContext) -> None:
        """Begin anew."""
        self.waited = self.stopped_epoch = 0
        self.best = -math.inf if self.baseline is None else self.sign * self.baseline
        self._weights = {}

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Look at the value."""
        value = self.watched(run_context)
        if value is None:
            return
        args = run_context.original_args()
        if self.better(value):
            self.best, self.waited = self.sign * value, 0
            if self.restore_best_weights:
                named = args.train_network.parameters_and_names()
                self._weights = {name: p.asnumpy().copy() for name, p in named}
            return
        self.waited += 1
        if self.waited >= self.patience:
            self.stopped_epoch = args.cur_epoch_num
            run_context.request_stop()

    def on_train_end(self, run_context: RunContext) -> None:
        """Put the best weights back."""
        if self.stopped_epoch and self.verbose:
            print(f"Epoch {self.stopped_epoch}: early stopping", flush=True)
        if self._weights:
            named = dict(run_context.original_args().train_network.parameters_and_names())
            for name, array in self._weights.items():
                named[name].set_data(array)


class ReduceLROnPlateau(_Watching):
    """Lowers the learning rate when a value does not become better any more.

    Parameters
    ----------
    monitor : str
        ``loss``, or a metric of ``Model.fit`` with ``eval_`` before its name.
    factor : float
        What the rate is multiplied by, in 0..1.
    patience : int
        How many epochs without a better value are waited for.
    verbose : bool
        Whether it prints what it does.
    mode : {"auto", "min", "max"}
        Whether smaller or larger is better; ``auto`` takes larger for accuracies.
    min_delta : float
        By how much a value must be better to count.
    cooldown : int
        Epochs after a change in which none is counted.
    min_lr : float
        The least rate.

    Raises
    ------
    ValueError
        If a setting is not known; in a training, if there is no such value.
    """

    def __init__(
        self,
        monitor: str = "eval_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: bool = False,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
    ) -> None:
        super().__init__(monitor, mode, min_delta, patience)
        if not 0 < factor < 1 or cooldown < 0 or min_lr < 0:
            raise ValueError(
                f"ReduceLROnPlateau: factor {factor} must be in 0..1, cooldown {cooldown} and"
                f" min_lr {min_lr} not negative."
            )
        self.factor, self.verbose = float(factor), bool(verbose)
        self.cooldown, self.min_lr = int(cooldown), float(min_lr)
        self._cooling = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        """Begin anew."""
        self.best, self.waited, self._cooling = -math.inf, 0, 0

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Look at the value."""
        value = self.watched(run_context)
        if value is None:
            return
        if self._cooling:
            self._cooling -= 1
            self.waited = 0
        if self.better(value):
            self.best, self.waited = self.sign * value, 0
        elif not self._cooling:
            self.waited += 1
            if self.waited >= self.patience:
                self._reduce(run_context)

    def _reduce(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        rate = rate_parameter(args, "ReduceLROnPlateau")
        old = float(rate.asnumpy())
        new = max(old * self.factor, self.min_lr)
        self._cooling, self.waited = self.cooldown, 0
        if new < old:
            set_rate(rate, new)
            if self.verbose:
                print(f"Epoch {args.cur_epoch_num}: learning rate {old:g} -> {new:g}", flush=True)


def rate_parameter(args: Any, owner: str) -> Parameter:
    """Return the optimizer's learning rate, which can be set.

    Raises
    ------
    ValueError
        If there is no optimizer, or its rate follows a schedule.
    """
    optimizer = args.optimizer or getattr(args.train_network, "optimizer", None)
    rate = getattr(optimizer, "learning_rate", None)
    if not isinstance(rate, Parameter) or rate.shape:
        raise ValueError(
            f"{owner} needs an optimizer with one learning rate, a number; this one has"
            f" {'none' if rate is None else 'a schedule'}."
        )
    return rate


def set_rate(rate: Parameter, value: float) -> None:
    """Write a learning rate where compiled and eager steps read it."""
    rate.set_data(np.float32(value))
