"""Checkpoints: parameters in a safetensors file, by name."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .array_file import SUFFIX, ArrayFileError, read_arrays, write_arrays
from .nn.cell import Cell
from .parameter import Parameter
from .tensor import Tensor

SUFFIXES = {"ckpt": ".ckpt", "safetensors": SUFFIX}
"""Endings by MindSpore's names of formats; the content is safetensors in both."""
TEXTS, CRC = "texts", "crc32"
"""What the file's metadata has besides: appended texts, and the arrays' checksum."""

Choice = Callable[[str], bool]


class CheckpointError(ValueError, RuntimeError):
    """A checkpoint that cannot be written, read or loaded into a network."""


def save_checkpoint(
    save_obj: Any,
    ckpt_file_name: str | Path,
    integrated_save: bool = True,
    async_save: bool | str = False,
    append_dict: Mapping[str, Any] | None = None,
    enc_key: bytes | None = None,
    enc_mode: str = "AES-GCM",
    choice_func: Choice | None = None,
    crc_check: bool = False,
    format: str = "ckpt",
) -> None:
    """Write parameters to a file, in one step: readers see the old file or the new one.

    Parameters
    ----------
    save_obj : Cell, dict of str to Tensor, or list of dict
        What is saved; the entries of a list have ``name`` and ``data``.
    ckpt_file_name : str or Path
        The file; the format's ending is added where it has none. The content is safetensors
        under both endings.
    integrated_save : bool
        Kept for MindSpore's scripts: parameters are never split over devices.
    async_save : bool or str
        Kept for MindSpore's scripts: the file is there when the call returns, in any case.
    append_dict : dict of str, optional
        Numbers, texts and tensors to save besides.
    enc_key : None
        Encryption is not offered.
    enc_mode : str
        Without effect, as there is no key.
    choice_func : callable, optional
        Takes a name and says whether that parameter is saved.
    crc_check : bool
        Whether a checksum is written, for ``load_checkpoint`` to compare.
    format : {"ckpt", "safetensors"}
        Which ending the file gets.

    Raises
    ------
    TypeError
        If `save_obj`, or something in `append_dict`, is of another kind.
    ValueError
        If a key is given, or the format is another one.
    """
    _refuse_key("save_checkpoint", enc_key)
    if format not in SUFFIXES:
        raise ValueError(
            f"save_checkpoint: format must be 'ckpt' or 'safetensors', not {format!r}."
        )
    if not isinstance(async_save, bool) and async_save not in ("thread", "process"):
        raise ValueError(
            "save_checkpoint: async_save must be a bool, 'thread' or 'process', it is"
            f" {async_save!r}."
        )
    arrays = {
        name: np.asarray(value.data)
        for name, value in _entries(save_obj)
        if choice_func is None or choice_func(name)
    }
    metadata = _append(arrays, append_dict or {})
    if crc_check:
        metadata[CRC] = str(_checksum(arrays))
    path = Path(ckpt_file_name)
    if not path.name.endswith(tuple(SUFFIXES.values())):
        path = path.with_name(path.name + SUFFIXES[format])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_arrays(path, arrays, metadata)


def load_checkpoint(
    ckpt_file_name: str | Path,
    net: Cell | None = None,
    strict_load: bool = False,
    filter_prefix: str | Sequence[str] | None = None,
    dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM",
    specify_prefix: str | Sequence[str] | None = None,
    choice_func: Choice | None = None,
    crc_check: bool = False,
    remove_redundancy: bool = False,
    format: str = "ckpt",
) -> dict[str, Any]:
    """Read the parameters of a file, and load them into `net` if it is given.

    Parameters
    ----------
    ckpt_file_name : str or Path
        The file, as it was given to ``save_checkpoint``.
    net : Cell, optional
        The network to load into; see ``load_param_into_net``.
    strict_load : bool
        Whether every parameter of either side must be on the other.
    filter_prefix : str or sequence of str, optional
        Names that begin so are left out.
    dec_key : None
        Encryption is not offered.
    dec_mode : str
        Without effect, as there is no key.
    specify_prefix : str or sequence of str, optional
        Only names that begin so are read.
    choice_func : callable, optional
        Takes a name and says whether that parameter is read.
    crc_check : bool
        Whether the file's checksum is compared.
    remove_redundancy : bool
        Kept for MindSpore's scripts: no file is split over devices, so nothing was left out of it.
    format : {"ckpt", "safetensors"}
        Without effect: the content says what it is.

    Returns
    -------
    dict of str to Parameter
        The parameters by name; texts that were appended are str.

    Raises
    ------
    CheckpointError
        If the file is missing or damaged, has nothing of what is asked for, or does not fit `net`.
    """
    _refuse_key("load_checkpoint", dec_key)
    path = _existing(Path(ckpt_file_name))
    try:
        arrays, metadata = read_arrays(path)
    except ArrayFileError as error:
        raise CheckpointError(str(error)) from error
    if crc_check:
        _compare_checksum(path, arrays, metadata)
    found: dict[str, Any] = {name: Parameter(array, name) for name, array in arrays.items()}
    found.update(json.loads(metadata.get(TEXTS, "{}")))
    left = _prefixes("filter_prefix", filter_prefix)
    wanted = _prefixes("specify_prefix", specify_prefix)
    kept = {
        name: value
        for name, value in found.items()
        if not (left and name.startswith(left))
        and (not wanted or name.startswith(wanted))
        and (choice_func is None or choice_func(name))
    }
    if found and not kept:
        raise CheckpointError(f"{path} has no parameter of the names asked for: {list(found)}.")
    if net is not None:
        load_param_into_net(net, kept, strict_load)
    return kept


def load_param_into_net(
    net: Cell,
    parameter_dict: Mapping[str, Any],
    strict_load: bool = False,
    remove_redundancy: bool = False,
) -> tuple[list[str], list[str]]:
    """Write loaded parameters into those of a network that have the same names.

    Parameters
    ----------
    net : Cell
        The network.
    parameter_dict : dict of str to Tensor
        The parameters by name: the path from `net`, or else the parameter's own name.
    strict_load : bool
        Whether every parameter of either side must be on the other, in the same dtype. Else
        floats are converted to floats, and integers to integers.
    remove_redundancy : bool
        Kept for MindSpore's scripts: no file is split over devices.

    Returns
    -------
    tuple of list of str
        The names in `net` that were not loaded, and those loaded that `net` does not have.

    Raises
    ------
    TypeError
        If `net` is no Cell, or `parameter_dict` no dict.
    CheckpointError
        If shapes or dtypes do not fit, or names under `strict_load`; nothing is written then.
    """
    if not isinstance(net, Cell):
        raise TypeError(f"load_param_into_net takes a Cell, not {type(net).__name__}.")
    if not isinstance(parameter_dict, Mapping):
        raise TypeError(
            f"load_param_into_net takes a dict of parameters, not {type(parameter_dict).__name__};"
            " load_checkpoint gives one."
        )
    keys: dict[str, str] = {}
    for name, param in net.parameters_and_names():
        keys[name] = name if name in parameter_dict else param.name
    own = dict(net.parameters_and_names())
    shared = {name: key for name, key in keys.items() if key in parameter_dict}
    for name, key in shared.items():
        _check_fits(name, own[name], parameter_dict[key], strict_load)
    missing = [name for name in own if name not in shared]
    unknown = [name for name in parameter_dict if name not in set(shared.values())]
    if strict_load and (missing or unknown):
        raise CheckpointError(
            f"the checkpoint lacks {missing or 'nothing'} and has {unknown or 'nothing'} besides;"
            " load it without strict_load to take what fits."
        )
    for name, key in shared.items():
        own[name].set_data(parameter_dict[key])
    return missing, unknown


def _check_fits(name: str, param: Parameter, value: Any, strict: bool) -> None:
    if not isinstance(value, Tensor):
        raise CheckpointError(f"parameter {name!r} is given as {type(value).__name__}, no Tensor.")
    if tuple(param.shape) != tuple(value.shape):
        raise CheckpointError(
            f"parameter {name!r} has shape {list(param.shape)}, the checkpoint's"
            f" {list(value.shape)}; load a checkpoint of this network, or change its sizes."
        )
    have, given = param.dtype, value.dtype
    alike = have.is_float == given.is_float and have.is_int == given.is_int
    if have is not given and (strict or not alike):
        raise CheckpointError(
            f"parameter {name!r} is {have}, the checkpoint's {given}; convert one of them with"
            " set_dtype."
        )


def _entries(save_obj: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(save_obj, Cell):
        return save_obj.parameters_and_names()
    if isinstance(save_obj, Mapping):
        return save_obj.items()
    if isinstance(save_obj, (list, tuple)) and all(isinstance(e, Mapping) for e in save_obj):
        return [(entry["name"], entry["data"]) for entry in save_obj]
    raise TypeError(
        f"save_checkpoint takes a Cell, a dict or a list of dicts, not {type(save_obj).__name__}."
    )


def _append(arrays: dict[str, np.ndarray], more: Mapping[str, Any]) -> dict[str, str]:
    """Add numbers and tensors to the arrays; the metadata that holds the texts."""
    texts: dict[str, str] = {}
    for name, value in more.items():
        if isinstance(value, str):
            texts[name] = value
        elif isinstance(value, Tensor):
            arrays[name] = np.asarray(value.data)
        elif isinstance(value, bool | int | float | np.generic):
            arrays[name] = np.asarray(value)
        else:
            raise TypeError(
                f"save_checkpoint: append_dict[{name!r}] must be a number, a text or a tensor, not"
                f" {type(value).__name__}."
            )
    return {TEXTS: json.dumps(texts)} if texts else {}


def _checksum(arrays: Mapping[str, np.ndarray]) -> int:
    total = 0
    for name in sorted(arrays):
        total = zlib.crc32(name.encode(), total)
        total = zlib.crc32(np.ascontiguousarray(arrays[name]).tobytes(), total)
    return total


def _compare_checksum(
    path: Path, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]
) -> None:
    if CRC not in metadata:
        raise CheckpointError(f"{path} has no checksum; save it with crc_check=True.")
    if metadata[CRC] != str(_checksum(arrays)):
        raise CheckpointError(f"{path} is damaged: its checksum differs; take another copy of it.")


def _existing(path: Path) -> Path:
    """The file of that name, or the one whose ending was added when it was saved."""
    if path.exists():
        return path
    others = [path.with_name(path.name + suffix) for suffix in SUFFIXES.values()]
    return next((other for other in others if other.exists()), path)


def _prefixes(name: str, given: str | Sequence[str] | None) -> tuple[str, ...]:
    found = () if given is None else (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(item, str) for item in found):
        raise TypeError(f"load_checkpoint: {name} must be a str or a sequence of them.")
    return found


def _refuse_key(owner: str, key: bytes | None) -> None:
    if key is not None:
        raise ValueError(f"{owner}: encryption is not offered; encrypt the file with another tool.")
