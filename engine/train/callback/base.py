"""What a callback is, what it is told, and how several are told in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, Self

import numpy as np

from ...tensor import Tensor


class CallbackParams(dict[str, Any]):
    """What a run tells its callbacks, as attributes; what is not set is None."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class RunContext:
    """What a callback is called with: what the run tells, and the wish to stop it.

    Parameters
    ----------
    original_args : CallbackParams
        What the run tells: ``cur_epoch_num``, ``cur_step_num``, ``net_outputs`` and others.
    """

    def __init__(self, original_args: CallbackParams) -> None:
        self._args = original_args
        self._stops = False

    def original_args(self) -> CallbackParams:
        """What the run tells."""
        return self._args

    def request_stop(self) -> None:
        """End the run after this step or epoch."""
        self._stops = True

    def get_stop_requested(self) -> bool:
        """Whether the run shall end."""
        return self._stops


class Callback:
    """The base of callbacks; a subclass defines what it wants to be told of.

    The names without ``on_`` are told of training and of evaluation alike. As a context manager
    a callback changes nothing; subclasses may clean up.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def begin(self, run_context: RunContext) -> None:
        """Before the first epoch."""

    def epoch_begin(self, run_context: RunContext) -> None:
        """Before each epoch."""

    def epoch_end(self, run_context: RunContext) -> None:
        """After each epoch."""

    def step_begin(self, run_context: RunContext) -> None:
        """Before each step."""

    def step_end(self, run_context: RunContext) -> None:
        """After each step."""

    def end(self, run_context: RunContext) -> None:
        """After the last epoch."""

    def on_train_begin(self, run_context: RunContext) -> None:
        """Before a training."""
        self.begin(run_context)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Before each epoch of a training."""
        self.epoch_begin(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """After each epoch of a training."""
        self.epoch_end(run_context)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Before each step of a training."""
        self.step_begin(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """After each step of a training."""
        self.step_end(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        """After a training."""
        self.end(run_context)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Before an evaluation."""
        self.begin(run_context)

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        """Before the pass of an evaluation."""
        self.epoch_begin(run_context)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """After the pass of an evaluation."""
        self.epoch_end(run_context)

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        """Before each batch of an evaluation."""
        self.step_begin(run_context)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """After each batch of an evaluation."""
        self.step_end(run_context)

    def on_eval_end(self, run_context: RunContext) -> None:
        """After an evaluation."""
        self.end(run_context)


MOMENTS = tuple(name for name in vars(Callback) if name.startswith("on_"))
"""The moments that callbacks are told of."""


class Callbacks:
    """Several callbacks, told in their order.

    Parameters
    ----------
    given : Callback, or sequence of Callback, or None
        The callbacks.

    Raises
    ------
    TypeError
        If one is no Callback.
    """

    def __init__(self, given: Any) -> None:
        items = [] if given is None else [given] if isinstance(given, Callback) else list(given)
        for item in items:
            if not isinstance(item, Callback):
                raise TypeError(f"callbacks must be Callbacks, one is {type(item).__name__}.")
        self.items: list[Callback] = items

    def tell(self, moment: str, run_context: RunContext) -> None:
        """Tell all of one moment, as ``on_train_step_end``."""
        for item in self.items:
            getattr(item, moment)(run_context)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Enter all for the body; each is left again, also where another one fails to."""
        with ExitStack() as stack:
            for item in self.items:
                stack.enter_context(item)
            yield


class LambdaCallback(Callback):
    """Calls functions at moments of a run.

    Parameters
    ----------
    on_train_epoch_begin, on_train_epoch_end : callable, optional
        Called with the run's context before and after each epoch of a training.
    on_train_step_begin, on_train_step_end : callable, optional
        Before and after each step of a training.
    on_train_begin, on_train_end : callable, optional
        Before and after a training.
    on_eval_epoch_begin, on_eval_epoch_end : callable, optional
        Before and after the pass of an evaluation.
    on_eval_step_begin, on_eval_step_end : callable, optional
        Before and after each batch of an evaluation.
    on_eval_begin, on_eval_end : callable, optional
        Before and after an evaluation.
    """

    def __init__(
        self,
        on_train_epoch_begin: Callable[[RunContext], Any] | None = None,
        on_train_epoch_end: Callable[[RunContext], Any] | None = None,
        on_train_step_begin: Callable[[RunContext], Any] | None = None,
        on_train_step_end: Callable[[RunContext], Any] | None = None,
        on_train_begin: Callable[[RunContext], Any] | None = None,
        on_train_end: Callable[[RunContext], Any] | None = None,
        on_eval_epoch_begin: Callable[[RunContext], Any] | None = None,
        on_eval_epoch_end: Callable[[RunContext], Any] | None = None,
        on_eval_step_begin: Callable[[RunContext], Any] | None = None,
        on_eval_step_end: Callable[[RunContext], Any] | None = None,
        on_eval_begin: Callable[[RunContext], Any] | None = None,
        on_eval_end: Callable[[RunContext], Any] | None = None,
    ) -> None:
        given = locals()
        for moment in MOMENTS:
            if given[moment] is not None:
                setattr(self, moment, given[moment])


def step_in_epoch(args: CallbackParams) -> int:
    """Return the number of the last step in its epoch, from 1; 0 before the first one.

    How many steps an epoch has is known, of data without a length, after the first one.
    """
    if not args.cur_step_num or not args.batch_num:
        return args.cur_step_num or 0
    return (args.cur_step_num - 1) % args.batch_num + 1


def loss_of(outputs: Any) -> float:
    """Return the loss as a number, from what a training step gave.

    Raises
    ------
    TypeError
        If there is none.
    """
    first = outputs[0] if isinstance(outputs, tuple | list) and outputs else outputs
    if isinstance(first, Tensor):
        return float(first.asnumpy().mean())
    if isinstance(first, int | float | np.ndarray | np.generic):
        return float(np.asarray(first).mean())
    raise TypeError(f"a training step must give its loss, it gave {type(outputs).__name__}.")


def values_of(args: CallbackParams) -> dict[str, float]:
    """Return what callbacks can watch: the loss, and metrics with ``eval_`` before their names."""
    found: dict[str, float] = {}
    if args.net_outputs is not None:
        found["loss"] = loss_of(args.net_outputs)
    results: dict[str, Any] = args.eval_results or {}
    pairs: Iterable[tuple[str, Any]] = results.items()
    for name, value in pairs:
        found[f"eval_{name}"] = value
        if name not in found:
            found[name] = value
    return found
