"""Arrays in a safetensors file, written in one step: readers see the old file or the new one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, deserialize, safe_open
from safetensors.numpy import save

from .dtype import bfloat16

SUFFIX = ".safetensors"


class ArrayFileError(ValueError):
    """A file of arrays that is missing or damaged."""


def write_arrays(
    path: Path, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None
) -> None:
    """Write arrays and metadata to a safetensors file.

    Raises
    ------
    OSError
        It cannot be written; an older file stays.
    """
    os.replace(write_beside(path, arrays, metadata or {}), path)


def write_beside(path: Path, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> Path:
    """Write the file that is to replace `path` into the same folder, and return where it is.

    Raises
    ------
    OSError
        It cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    # safetensors takes an array's buffer as it lies, so it must be contiguous.
    lying = {key: np.asarray(array, order="C") for key, array in arrays.items()}
    try:
        # Written by Python, so that the file gets the rights that the user's new files have.
        temporary.write_bytes(save(lying, dict(metadata)))
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def read_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays and the metadata of a safetensors file.

    Raises
    ------
    ArrayFileError
        It does not exist or is damaged.
    """
    if not path.exists():
        raise ArrayFileError(f"{path} does not exist; save first, or give another path")
    try:
        with safe_open(path, framework="numpy") as file:
            keys = file.keys()
            brains = [key for key in keys if file.get_slice(key).get_dtype() == "BF16"]
            arrays = {key: file.get_tensor(key) for key in keys if key not in brains}
            metadata = file.metadata() or {}
        return arrays | (_bfloat16_arrays(path, brains) if brains else {}), metadata
    except (SafetensorError, OSError) as error:
        raise ArrayFileError(
            f"{path} is damaged ({error}); take another copy of it, or train anew"
        ) from error


def _bfloat16_arrays(path: Path, names: list[str]) -> dict[str, np.ndarray]:
    """The arrays of a type that safetensors knows and its NumPy reader does not."""
    parts = {name: part for name, part in deserialize(path.read_bytes()) if name in names}
    return {
        name: np.frombuffer(part["data"], bfloat16.numpy).reshape(part["shape"]).copy()
        for name, part in parts.items()
    }
