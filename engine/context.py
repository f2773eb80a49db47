"""Settings of the whole process: eager or graph mode, and the device."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from typing import Any

GRAPH_MODE = 0
PYNATIVE_MODE = 1
STRICT = 0
COMPATIBLE = 1
LAX = 2
"""Values of MindSpore's setting ``jit_syntax_level``; Cellwire always does as LAX says."""
DEVICES = ("CPU", "GPU", "Ascend", "auto")

KEPT: dict[str, Any] = {
    "aoe_config": {}, "aoe_tune_mode": "", "ascend_config": {}, "check_bprop": True,
    "compile_cache_path": "", "conv_allow_tf32": False, "debug_level": 0,
    "deterministic": "ON", "device_id": 0, "disable_format_transform": False,
    "enable_auto_mixed_precision": False, "enable_compile_cache": True, "enable_dump": False,
    "enable_graph_kernel": False, "enable_mem_offload": False, "enable_profiling": False,
    "enable_reduce_precision": False, "enable_sparse": False, "env_config_path": "",
    "exec_order": "dfs", "gpu_config": {}, "grad_for_scalar": False, "graph_kernel_flags": "",
    "graph_memory_max_size": "0", "hccl_watchdog": False, "host_scheduling_max_threshold": 1000,
    "inter_op_parallel_num": 0, "jit_config": {}, "jit_enable_inplace_ops": True,
    "jit_syntax_level": 2, "max_call_depth": 1000, "max_device_memory": "1024GB",
    "memory_offload": "OFF", "memory_optimize_level": "O0", "mempool_block_size": "1GB",
    "op_timeout": 900, "precompile_only": False, "print_file_path": "", "profiling_options": "",
    "pynative_synchronize": True, "reserve_class_name_in_scope": True, "runtime_num_threads": 30,
    "save_compile_cache": True, "save_dump_path": ".", "save_graphs": 0, "save_graphs_path": ".",
    "support_binary": False, "variable_memory_max_size": "30GB",
}  # fmt: skip
"""MindSpore's other settings: they are kept and given back, and change nothing here. The values
say what Cellwire does: operations answer at once, repeat exactly, and `bprop` is checked."""


def _wants_jit() -> bool:
    names = ("CELLWIRE_JIT", "MS_JIT")
    return all(os.environ.get(name, "1") != "0" for name in names)


@dataclass(slots=True)
class Context:
    """The process's settings; change them with `set_context`.

    Parameters
    ----------
    mode : int
        ``PYNATIVE_MODE`` or ``GRAPH_MODE``.
    device_target : str
        Where arrays live.
    device_was_set : str, optional
        What `set_device` chose, after which it refuses another one.
    jit : bool
        Whether `jit` and graph mode compile; the environment variable CELLWIRE_JIT=0, or MS_JIT=0,
        switches them off when the process starts.
    kept : dict
        Settings that are kept for scripts and change nothing here.
    told : set of str
        Devices of which a warning said that they are not here.
    """

    mode: int = PYNATIVE_MODE
    device_target: str = "CPU"
    device_was_set: str | None = None
    jit: bool = field(default_factory=_wants_jit)
    kept: dict[str, Any] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)


context = Context()
"""The settings in force."""


def set_context(**settings: Any) -> None:
    """Change settings of the process, at any time.

    Parameters
    ----------
    **settings : object
        Settings by name. ``mode`` is ``PYNATIVE_MODE`` or ``GRAPH_MODE``: whether a Cell runs op by
        op, or compiled; plain functions are compiled by `jit` alone. ``device_target`` is
        ``"CPU"``, ``"GPU"``, ``"Ascend"`` or ``"auto"``: where tensors live; a device that this
        machine lacks is answered by the CPU, with a warning the first time. MindSpore's other
        settings are kept for `get_context` and change nothing; operations always answer at once,
        repeat exactly, and check what a ``bprop`` gives.

    Raises
    ------
    ValueError
        If a setting, or its value, is not known.
    """
    for name, value in settings.items():
        if name == "mode":
            if value not in (GRAPH_MODE, PYNATIVE_MODE) or isinstance(value, bool):
                raise ValueError(
                    f"set_context: mode must be GRAPH_MODE (0) or PYNATIVE_MODE (1), not {value!r}."
                )
        elif name == "device_target":
            _check_device("set_context: device_target", value)
        elif name not in KEPT:
            raise ValueError(f"set_context: there is no setting {name!r}.")
    for name, value in settings.items():
        if name == "mode":
            context.mode = value
        elif name == "device_target":
            _choose_device(value)
        else:
            context.kept[name] = value


def get_context(attr_key: str) -> Any:
    """Return the value of a setting.

    Parameters
    ----------
    attr_key : str
        Its name, as for `set_context`.

    Returns
    -------
    object
        The value; of settings that were not changed, what Cellwire does.

    Raises
    ------
    ValueError
        If it is not known.
    """
    if attr_key in ("mode", "device_target"):
        return getattr(context, attr_key)
    if attr_key not in KEPT:
        raise ValueError(f"get_context: there is no setting {attr_key!r}.")
    return context.kept.get(attr_key, KEPT[attr_key])


def set_device(device_target: str, device_id: int | None = None) -> None:
    """Choose the device once, before the work begins.

    Parameters
    ----------
    device_target : {"CPU", "GPU", "Ascend", "auto"}
        As for `set_context`.
    device_id : int, optional
        Which of several.

    Raises
    ------
    ValueError
        If there is no such device, or `device_id` is negative.
    RuntimeError
        If another device was set before.
    """
    _check_device("set_device: device_target", device_target)
    if device_id is not None and device_id < 0:
        raise ValueError(f"set_device: device_id must not be negative, it is {device_id}.")
    if context.device_was_set not in (None, device_target):
        raise RuntimeError(
            f"set_device: the device is {context.device_was_set!r} already; a process has one,"
            " so set it once, at its start."
        )
    _choose_device(device_target)
    context.device_was_set = device_target
    context.kept["device_id"] = device_id or 0


def _check_device(what: str, name: Any) -> None:
    if name not in DEVICES:
        raise ValueError(f"{what} must be one of {', '.join(DEVICES)}, not {name!r}.")


def _choose_device(name: str) -> None:
    if name in ("GPU", "Ascend") and name not in context.told:
        context.told.add(name)
        message = f"device_target {name!r} is not available here; tensors stay on the CPU."
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    context.device_target = "CPU"
