"""Weights and training state in two safetensors files that are replaced together."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..array_file import SUFFIX, ArrayFileError, read_arrays, write_beside
from .settings import TrainingError

STATE = ".state.safetensors"
_STAMP = "cellwire.save"


def weights_path(base: str | Path) -> Path:
    """The file of the weights for `NAME`."""
    return Path(f"{base}{SUFFIX}")


def state_path(base: str | Path) -> Path:
    """The file of moments, counters and history for `NAME`."""
    return Path(f"{base}{STATE}")


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
    new_weights = write_beside(weights_file, weights, {_STAMP: stamp})
    new_state = write_beside(state_file, state, {**metadata, _STAMP: stamp})
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
    try:
        return _pair(weights_path(base), state_path(base))
    except ArrayFileError as error:
        raise TrainingError(str(error)) from error


def _pair(
    weights_file: Path, state_file: Path
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], dict[str, str]]:
    state, metadata = read_arrays(state_file)
    candidates = [path for path in (weights_file, _last(weights_file)) if path.exists()]
    for path in candidates or [weights_file]:
        weights, stamped = read_arrays(path)
        if stamped.get(_STAMP) == metadata.get(_STAMP):
            return weights, state, metadata
    raise TrainingError(
        f"{weights_file} and {state_file} were not saved together; load the weights alone "
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
