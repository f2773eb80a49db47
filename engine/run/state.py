"""Weights and training state in two safetensors files that are replaced together."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from .settings import TrainingError

WEIGHTS = ".safetensors"
STATE = ".state.safetensors"
_STAMP = "cellwire.save"


def weights_path(base: str | Path) -> Path:
    """The file of the weights for `NAME`."""
    return Path(f"{base}{WEIGHTS}")


def state_path(base: str | Path) -> Path:
    """The file of moments, counters and history for `NAME`."""
    return Path(f"{base}{STATE}")


def write_arrays(
    path: Path, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None
) -> None:
    """Write a safetensors file in one step: readers see the old file or the new one."""
    temporary = _write_beside(path, arrays, metadata or {})
    os.replace(temporary, path)


def read_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays and the metadata of a safetensors file.

    Raises
    ------
    TrainingError
        It does not exist or is damaged.
    """
    if not path.exists():
        raise TrainingError(f"{path} does not exist; save first, or give another path")
    try:
        with safe_open(path, framework="numpy") as file:
            keys = file.keys()
            return {key: file.get_tensor(key) for key in keys}, file.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise TrainingError(
            f"{path} is damaged ({error}); take another copy of it, or train anew"
        ) from error


def write_pair(
    base: str | Path,
    weights: Mapping[str, np.ndarray],
    state: Mapping[str, np.ndarray],
    metadata: Mapping[str, str],
) -> None:
    """Write weights and state so that a crash at any moment leaves a pair that fits together.

    The old weights stay under `NAME.safetensors~` until the new state is in place; `read_pair`
    takes them when only the weights were replaced.
    """
    stamp = _digest(weights, state)
    weights_file, state_file = weights_path(base), state_path(base)
    weights_file.parent.mkdir(parents=True, exist_ok=True)
    new_weights = _write_beside(weights_file, weights, {_STAMP: stamp})
    new_state = _write_beside(state_file, state, {**metadata, _STAMP: stamp})
    last = _last(weights_file)
    last.unlink(missing_ok=True)
    if weights_file.exists():
        _link(weights_file, last)
    os.replace(new_weights, weights_file)
    os.replace(new_state, state_file)
    last.unlink(missing_ok=True)


def read_pair(
    base: str | Path,
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], dict[str, str]]:
    """Weights, state arrays and metadata that were written together.

    Raises
    ------
    TrainingError
        A file is missing or damaged, or the two are of different saves.
    """
    state, metadata = read_arrays(state_path(base))
    weights_file = weights_path(base)
    candidates = [path for path in (weights_file, _last(weights_file)) if path.exists()]
    for path in candidates or [weights_file]:
        weights, stamped = read_arrays(path)
        if stamped.get(_STAMP) == metadata.get(_STAMP):
            return weights, state, metadata
    raise TrainingError(
        f"{weights_file} and {state_path(base)} were not saved together; load the weights alone "
        "to go on from them with fresh optimizer state"
    )


def _link(path: Path, other: Path) -> None:
    try:
        os.link(path, other)
    except OSError:  # a file system without hard links
        shutil.copyfile(path, other)


def _digest(*tables: Mapping[str, np.ndarray]) -> str:
    """What the two files of one save share: the same arrays always give the same files."""
    digest = hashlib.sha256()
    for table in tables:
        for key, array in sorted(table.items()):
            digest.update(f"{key} {array.dtype} {array.shape}".encode())
            digest.update(np.asarray(array, order="C").tobytes())
    return digest.hexdigest()


def _last(path: Path) -> Path:
    return path.with_name(path.name + "~")


def _write_beside(
    path: Path, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]
) -> Path:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        # safetensors takes an array's buffer as it lies, so it must be contiguous.
        save_file(
            {key: np.asarray(array, order="C") for key, array in arrays.items()},
            temporary,
            metadata=dict(metadata),
        )
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary
