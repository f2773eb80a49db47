"""Checkpoints: parameters in a safetensors file, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .array_file import SUFFIX, ArrayFileError, read_arrays, write_arrays
from .nn.cell import Cell
from .parameter import Parameter
from .tensor import Tensor


class CheckpointError(ValueError):
    """A checkpoint that cannot be written, read or loaded into a network."""


def save_checkpoint(save_obj: Any, ckpt_file_name: str | Path) -> None:
    """Write parameters to a file, in one step.

    Parameters
    ----------
    save_obj : Cell, dict of str to Tensor, or list of dict
        What is saved; the entries of a list have ``name`` and ``data``.
    ckpt_file_name : str or Path
        The file; ``.safetensors`` is added where it has no suffix.

    Raises
    ------
    TypeError
        If `save_obj` is something else.
    """
    arrays = {name: np.asarray(value.data) for name, value in _entries(save_obj)}
    path = _path(ckpt_file_name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_arrays(path, arrays)


def load_checkpoint(
    ckpt_file_name: str | Path, net: Cell | None = None, strict_load: bool = False
) -> dict[str, Parameter]:
    """Read the parameters of a file, and load them into `net` if it is given.

    Returns
    -------
    dict of str to Parameter
        The parameters by name.

    Raises
    ------
    CheckpointError
        If the file is missing or damaged, or does not fit `net`.
    """
    path = _path(ckpt_file_name)
    try:
        arrays, _ = read_arrays(path)
    except ArrayFileError as error:
        raise CheckpointError(str(error)) from error
    found = {name: Parameter(array, name) for name, array in arrays.items()}
    if net is not None:
        load_param_into_net(net, found, strict_load)
    return found


def load_param_into_net(
    net: Cell, parameter_dict: Mapping[str, Tensor], strict_load: bool = False
) -> tuple[list[str], list[str]]:
    """Write loaded parameters into those of a network that have the same names.

    Parameters
    ----------
    net : Cell
        The network.
    parameter_dict : dict of str to Tensor
        The parameters by name.
    strict_load : bool
        Whether every parameter of either side must be on the other.

    Returns
    -------
    tuple of list of str
        The names in `net` that were not loaded, and those loaded that `net` does not have.

    Raises
    ------
    CheckpointError
        If shapes differ, or names under `strict_load`; nothing is written then.
    """
    own = dict(net.parameters_and_names())
    shared = [name for name in own if name in parameter_dict]
    for name in shared:
        have, given = own[name].shape, tuple(parameter_dict[name].shape)
        if have != given:
            raise CheckpointError(
                f"parameter {name!r} has shape {list(have)}, the checkpoint's {list(given)};"
                " load a checkpoint of this network, or change its sizes."
            )
    missing = [name for name in own if name not in parameter_dict]
    unknown = [name for name in parameter_dict if name not in own]
    if strict_load and (missing or unknown):
        raise CheckpointError(
            f"the checkpoint lacks {missing or 'nothing'} and has {unknown or 'nothing'} besides;"
            " load it without strict_load to take what fits."
        )
    for name in shared:
        own[name].set_data(parameter_dict[name])
    return missing, unknown


def _entries(save_obj: Any) -> Iterable[tuple[str, Tensor]]:
    if isinstance(save_obj, Cell):
        return save_obj.parameters_and_names()
    if isinstance(save_obj, Mapping):
        return save_obj.items()
    if isinstance(save_obj, (list, tuple)) and all(isinstance(e, Mapping) for e in save_obj):
        return [(entry["name"], entry["data"]) for entry in save_obj]
    raise TypeError(
        f"save_checkpoint takes a Cell, a dict or a list of dicts, not {type(save_obj).__name__}."
    )


def _path(name: str | Path) -> Path:
    path = Path(name)
    return path if path.suffix else path.with_name(path.name + SUFFIX)
