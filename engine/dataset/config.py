"""Settings of all datasets of the process: seed, workers, rows prepared ahead, debugging."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import random


@dataclass
class _Settings:
    workers: int = 1
    prefetch: int = 0
    debug: bool = False
    numa: bool = False
    hooks: list[Callable[..., Any]] = field(default_factory=list)
    start_method: str | None = None
    stream: random.RandomState | None = None
    seedings: int = 0


_settings = _Settings()


def set_seed(seed: int) -> None:
    """Give datasets made from now on a random stream of their own, until the next ``set_seed``.

    Parameters
    ----------
    seed : int
        Zero or above. A later ``cellwire.set_seed`` takes precedence again.

    Raises
    ------
    TypeError
        If the seed is not an int.
    ValueError
        If it is negative.
    """
    _require_int("set_seed", "seed", seed, 0)
    _settings.stream = random.RandomState(int(seed), 0)
    _settings.seedings = random.seedings()


def get_seed() -> int:
    """The seed of the stream that datasets draw their keys from."""
    return (own_stream() or random.state()).seed


def own_stream() -> random.RandomState | None:
    """The datasets' own stream, None where ``cellwire.set_seed`` was called after it was set."""
    if _settings.stream is not None and _settings.seedings != random.seedings():
        _settings.stream = None
    return _settings.stream


def set_num_parallel_workers(num: int) -> None:
    """Set how many workers an operation has that is not told a number; at first 1.

    Parameters
    ----------
    num : int
        With 1 rows are made by the thread that iterates.

    Raises
    ------
    TypeError
        If it is not an int.
    ValueError
        If it is below 1.
    """
    _require_int("set_num_parallel_workers", "num", num, 1)
    _settings.workers = int(num)


def get_num_parallel_workers() -> int:
    """How many workers an operation has that is not told a number."""
    return _settings.workers


def set_prefetch_size(size: int) -> None:
    """Set how many rows (or batches) a thread prepares while others are used; at first 0.

    Parameters
    ----------
    size : int
        With 0 no thread is started: a row is made when it is asked for.

    Raises
    ------
    TypeError
        If it is not an int.
    ValueError
        If it is negative.
    """
    _require_int("set_prefetch_size", "size", size, 0)
    _settings.prefetch = int(size)


def get_prefetch_size() -> int:
    """How many rows (or batches) are prepared ahead of their use."""
    return _settings.prefetch


def set_multiprocessing_start_method(start_method: str) -> None:
    """Set how worker processes start: ``fork`` (the default where it exists) or ``spawn``.

    Parameters
    ----------
    start_method : str
        What a spawned worker works on must be importable; a forked one inherits it.

    Raises
    ------
    ValueError
        If this system has no such method.
    """
    known = _start_methods()
    if start_method not in known or start_method == "forkserver":
        raise ValueError(
            f"set_multiprocessing_start_method: no method {start_method!r} here; use fork or spawn."
        )
    _settings.start_method = start_method


def get_multiprocessing_start_method() -> str:
    """How worker processes start."""
    if _settings.start_method is not None:
        return _settings.start_method
    return "fork" if "fork" in _start_methods() else "spawn"


def _start_methods() -> list[str]:
    import multiprocessing  # at the first use: imports stay light

    return multiprocessing.get_all_start_methods()


def set_enable_shared_mem(enable: bool) -> None:
    """Taken for MindSpore's scripts: rows of worker processes come through pipes either way.

    Parameters
    ----------
    enable : bool
        Changes nothing.

    Raises
    ------
    TypeError
        If it is no bool.
    """
    if not isinstance(enable, bool):
        raise TypeError(f"set_enable_shared_mem: enable must be a bool, it is {enable!r}.")


def set_numa_enable(numa_enable: bool) -> None:
    """Taken for MindSpore's scripts: the system places workers on its memory either way.

    Parameters
    ----------
    numa_enable : bool
        Kept for ``get_numa_enable``; changes nothing else.

    Raises
    ------
    TypeError
        If it is no bool.
    """
    if not isinstance(numa_enable, bool):
        raise TypeError(f"set_numa_enable: numa_enable must be a bool, it is {numa_enable!r}.")
    _settings.numa = numa_enable


def get_numa_enable() -> bool:
    """What ``set_numa_enable`` was given; at first False."""
    return _settings.numa


def set_debug_mode(
    debug_mode_flag: bool, debug_hook_list: Sequence[Callable[..., Any]] | None = None
) -> None:
    """Switch debugging on: no workers, nothing ahead, and hooks see what passes through `map`.

    Parameters
    ----------
    debug_mode_flag : bool
        Whether it is on.
    debug_hook_list : list of callable, optional
        Called with the values before the first operation of each `map` and after each operation;
        see ``dataset.debug``.

    Raises
    ------
    TypeError
        If the flag is no bool or a hook is not callable.
    """
    if not isinstance(debug_mode_flag, bool):
        raise TypeError(f"set_debug_mode: the flag must be a bool, it is {debug_mode_flag!r}.")
    hooks = list(debug_hook_list or ())
    for hook in hooks:
        if not callable(hook):
            raise TypeError(f"set_debug_mode: {hook!r} is not callable.")
    _settings.debug, _settings.hooks = debug_mode_flag, hooks if debug_mode_flag else []


def get_debug_mode() -> bool:
    """Whether debugging is on."""
    return _settings.debug


def debug_hooks() -> list[Callable[..., Any]]:
    """The hooks of the debug mode."""
    return _settings.hooks


def workers_for(asked: int | None) -> int:
    """How many workers an operation gets that asked for so many."""
    if _settings.debug:
        return 1
    return _settings.workers if asked is None else asked


def _require_int(function: str, name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{function}: {name} must be an int, it is {value!r}.")
    if value < least:
        raise ValueError(f"{function}: {name} must be at least {least}, it is {value}.")
