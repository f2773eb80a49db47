"""A callback that saves checkpoints while a training goes on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...checkpoint import save_checkpoint
from ...nn.cell import Cell
from ...tensor import Tensor
from .base import Callback, CallbackParams, RunContext, step_in_epoch

SUFFIX = ".ckpt"


class CheckpointConfig:
    """When checkpoints are saved, and how many are kept.

    Parameters
    ----------
    save_checkpoint_steps : int, optional
        Steps between two checkpoints.
    save_checkpoint_seconds : int, optional
        Seconds between two checkpoints; steps count where both are given.
    keep_checkpoint_max : int, optional
        How many are kept; the oldest go. 0 or None keeps all.
    keep_checkpoint_per_n_minutes : int, optional
        Keeps one every so many minutes instead, where `keep_checkpoint_max` is 0 or None.
    integrated_save, async_save : bool
        Taken for MindSpore's scripts: a checkpoint is whole, and written before training goes on.
    saved_network : Cell, optional
        What is saved instead of the trained network and its optimizer's state.
    append_info : list, optional
        What is saved besides: ``"epoch_num"``, ``"step_num"``, or dicts of numbers and tensors.
    exception_save : bool
        Whether a checkpoint is saved when an error ends the training.

    Raises
    ------
    ValueError
        If a number is negative, or nothing says when to save.
    TypeError
        If `append_info` has something else in it.
    """

    def __init__(
        self,
        save_checkpoint_steps: int | None = 1,
        save_checkpoint_seconds: int | None = 0,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_per_n_minutes: int | None = 0,
        integrated_save: bool = True,
        async_save: bool = False,
        saved_network: Cell | None = None,
        append_info: Sequence[Any] | None = None,
        exception_save: bool = False,
    ) -> None:
        self.save_checkpoint_steps = save_checkpoint_steps or 0
        self.save_checkpoint_seconds = 0 if save_checkpoint_steps else save_checkpoint_seconds or 0
        self.keep_checkpoint_max = keep_checkpoint_max or 0
        self.keep_checkpoint_per_n_minutes = (
            0 if keep_checkpoint_max else keep_checkpoint_per_n_minutes or 0
        )
        self.saved_network = saved_network
        self.append_info = list(append_info or ())
        self.exception_save = bool(exception_save)
        given = (save_checkpoint_steps, save_checkpoint_seconds, keep_checkpoint_max,
                 keep_checkpoint_per_n_minutes)  # fmt: skip
        if any(number is not None and number < 0 for number in given):
            raise ValueError(f"CheckpointConfig: numbers must not be negative: {given}.")
        if not self.save_checkpoint_steps and not self.save_checkpoint_seconds:
            raise ValueError(
                "CheckpointConfig: give save_checkpoint_steps or save_checkpoint_seconds."
            )
        for item in self.append_info:
            if item not in ("epoch_num", "step_num") and not isinstance(item, dict):
                raise TypeError(
                    "CheckpointConfig: append_info holds 'epoch_num', 'step_num' and dicts, not"
                    f" {item!r}."
                )


class ModelCheckpoint(Callback):
    """Saves checkpoints as ``PREFIX-EPOCH_STEP.ckpt``, in the course of a training and at its end.

    Parameters
    ----------
    prefix : str or callable
        How the files' names begin; a function gets the run's parameters. Where files of the name
        are there already, ``_1`` and so on is added.
    directory : str or callable, optional
        Where they are written, by default where the program runs.
    config : CheckpointConfig, optional
        When they are saved and how many are kept.

    Raises
    ------
    ValueError
        If the prefix is empty or has a slash.
    """

    def __init__(
        self,
        prefix: Any = "CKP",
        directory: Any = None,
        config: CheckpointConfig | None = None,
    ) -> None:
        if not callable(prefix) and (not isinstance(prefix, str) or not prefix or "/" in prefix):
            raise ValueError(f"ModelCheckpoint: prefix must be a name without '/', not {prefix!r}.")
        self.prefix, self.directory = prefix, directory
        self.config = CheckpointConfig() if config is None else config
        self._name = ""
        self._files: list[tuple[Path, float]] = []
        self._last_step = 0
        self._last_time = 0.0
        self._args: CallbackParams | None = None

    @property
    def latest_ckpt_file_name(self) -> str:
        """The checkpoint that was saved last; empty before."""
        return str(self._files[-1][0]) if self._files else ""

    def on_train_begin(self, run_context: RunContext) -> None:
        """Choose the files' name."""
        args = run_context.original_args()
        self._args = args
        self._files, self._last_step = [], 0
        self._last_time = time.monotonic()
        name = self.prefix(args) if callable(self.prefix) else self.prefix
        taken = {path.name for path in self._folder(args).glob(f"{name}*{SUFFIX}")}
        number, chosen = 0, name
        while any(file.startswith(f"{chosen}-") for file in taken):
            number += 1
            chosen = f"{name}_{number}"
        self._name = chosen

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Save, if it is time."""
        args = run_context.original_args()
        steps, seconds = self.config.save_checkpoint_steps, self.config.save_checkpoint_seconds
        if steps:
            due = args.cur_step_num - self._last_step >= steps
        else:
            due = time.monotonic() - self._last_time >= seconds
        if due:
            self.save(args)

    def on_train_end(self, run_context: RunContext) -> None:
        """Save what the last steps made."""
        args = run_context.original_args()
        if args.cur_step_num and args.cur_step_num != self._last_step:
            self.save(args)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is not None and self.config.exception_save and self._args is not None:
            self.save(self._args, "_breakpoint")

    def save(self, args: CallbackParams, ending: str = "") -> None:
        """Write a checkpoint of this step, and remove what is not kept."""
        self._last_step, self._last_time = args.cur_step_num or 0, time.monotonic()
        folder = self._folder(args)
        folder.mkdir(parents=True, exist_ok=True)
        place = f"{args.cur_epoch_num}_{step_in_epoch(args)}"
        path = folder / f"{self._name}-{place}{ending}{SUFFIX}"
        alone = self.config.saved_network
        state = _state_of(
            alone if alone is not None else args.network or args.train_network,
            args.optimizer if alone is None else None,
        )
        save_checkpoint([*state, *self._appended(args)], str(path))
        args.latest_ckpt_file, args.last_save_ckpt_step = str(path), self._last_step
        self._files = [item for item in self._files if item[0] != path]
        self._files.append((path, time.monotonic()))
        self._remove()

    def _appended(self, args: CallbackParams) -> list[dict[str, Any]]:
        known = {"epoch_num": args.cur_epoch_num, "step_num": args.cur_step_num}
        values: dict[str, Any] = {}
        for item in self.config.append_info:
            values.update({item: known[item]} if isinstance(item, str) else item)
        return [
            {"name": name, "data": value if isinstance(value, Tensor) else Tensor(np.array(value))}
            for name, value in values.items()
        ]

    def _folder(self, args: CallbackParams) -> Path:
        folder: Any = self.directory(args) if callable(self.directory) else self.directory
        return Path(folder or ".")

    def _remove(self) -> None:
        most, minutes = self.config.keep_checkpoint_max, self.config.keep_checkpoint_per_n_minutes
        gone: list[tuple[Path, float]] = []
        if most:
            gone = self._files[:-most]
        elif minutes and len(self._files) > 2:
            middle, before = self._files[-2], self._files[-3]
            gone = [middle] if middle[1] - before[1] < minutes * 60 else []
        for item in gone:
            item[0].unlink(missing_ok=True)
            self._files.remove(item)


def _state_of(network: Cell, optimizer: Cell | None) -> list[dict[str, Any]]:
    """The network's parameters, then what the optimizer keeps besides, by their names."""
    named = list(network.parameters_and_names())
    weights = {id(param) for _, param in named}
    if optimizer is not None:
        named += [(n, p) for n, p in optimizer.parameters_and_names() if id(p) not in weights]
    return [{"name": name, "data": param} for name, param in named]
