"""Settings of the whole process: eager or graph mode, and the device."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

GRAPH_MODE = 0
PYNATIVE_MODE = 1
DEVICES = ("CPU", "GPU", "Ascend", "auto")
ACCEPTED = frozenset(
    {"device_id", "save_graphs", "save_graphs_path", "max_call_depth", "enable_graph_kernel",
     "pynative_synchronize", "jit_config", "jit_syntax_level", "deterministic"}
)  # fmt: skip
"""Settings of MindSpore's that are taken and change nothing here."""


@dataclass(slots=True)
class Context:
    """The process's settings; change them with `set_context`."""

    mode: int = PYNATIVE_MODE
    device_target: str = "CPU"


context = Context()
"""The settings in force."""


def set_context(**settings: Any) -> None:
    """Change settings of the process, at any time.

    Parameters
    ----------
    mode : {PYNATIVE_MODE, GRAPH_MODE}
        Whether a Cell runs op by op, or compiled.
    device_target : {"CPU", "GPU", "Ascend", "auto"}
        Where tensors live; a device that this machine lacks is answered by the CPU, with a warning.

    Raises
    ------
    ValueError
        If a setting, or its value, is not known.
    """
    for name, value in settings.items():
        if name == "mode":
            if value not in (GRAPH_MODE, PYNATIVE_MODE):
                raise ValueError(
                    f"set_context: mode must be GRAPH_MODE (0) or PYNATIVE_MODE (1), not {value!r}."
                )
            context.mode = value
        elif name == "device_target":
            _set_device(value)
        elif name not in ACCEPTED:
            raise ValueError(f"set_context: there is no setting {name!r}.")


def get_context(name: str) -> Any:
    """Return the value of a setting.

    Raises
    ------
    ValueError
        If it is not known.
    """
    if name not in ("mode", "device_target"):
        raise ValueError(f"get_context: there is no setting {name!r}.")
    return getattr(context, name)


def _set_device(name: Any) -> None:
    if name not in DEVICES:
        raise ValueError(
            f"set_context: device_target must be one of {', '.join(DEVICES)}, not {name!r}."
        )
    if name in ("GPU", "Ascend"):
        message = f"device_target {name!r} is not available here; tensors stay on the CPU."
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    context.device_target = "CPU"
