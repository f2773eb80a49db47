"""A content-addressed cache of machine code on disk, safe under concurrent processes.

A file is written beside its place and renamed, and begins with the checksum of what follows. A file
that does not pass is treated as absent, and written again. A folder that cannot be written is
reported once as a warning; kernels are then compiled in every process.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import llvmlite
import platformdirs
from llvmlite import binding

from .target import Target

_MAGIC = b"cellwire object 1\n"
_DIGEST = 32
_REPORTED: set[Path] = set()

PRINTERS = (
    "control.py",
    "conv_native.py",
    "emitter.py",
    "gemm.py",
    "gemm_blas.py",
    "gemm_code.py",
    "gemm_tile.py",
    "interleave.py",
    "llvm.py",
    "native.py",
    "power.py",
    "runtime.py",
    "scalar_ops.py",
    "vecmath.py",
)
"""The files that decide what machine code a kernel becomes; an edit there makes every key new."""


def cache_folder() -> Path:
    """Return where objects are kept: `CELLWIRE_CACHE_DIR`, else the user's cache folder.

    MindSpore's name `MS_COMPILER_CACHE_PATH` for it is read too.
    """
    names = ("CELLWIRE_CACHE_DIR", "MS_COMPILER_CACHE_PATH")
    chosen = next((os.environ[name] for name in names if os.environ.get(name)), None)
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("cellwire"))


def object_key(texts: Sequence[str], target: Target) -> str:
    """Return the key of a module: everything its machine code depends on."""
    digest = hashlib.sha256(_toolchain().encode())
    for part in (target.triple, target.cpu, target.features, str(target.vector_bytes), *texts):
        digest.update(f"\0{len(part)}\0".encode())
        digest.update(part.encode())
    return digest.hexdigest()


@cache
def _toolchain() -> str:
    """The printers' sources and the compiler's versions: what turns text into code."""
    folder = Path(__file__).parent
    printers = hashlib.sha256()
    for name in PRINTERS:
        printers.update((folder / name).read_bytes())
    llvm = ".".join(map(str, binding.llvm_version_info))
    return f"{printers.hexdigest()}, llvmlite {llvmlite.__version__}, LLVM {llvm}, opt 3"


def _path(key: str) -> Path:
    return cache_folder() / "objects" / key[:2] / f"{key[2:]}.o"


def load_object(key: str) -> bytes | None:
    """Return a cached object, or None if there is none that is whole."""
    try:
        content = _path(key).read_bytes()
    except OSError:
        return None
    image = content[len(_MAGIC) + _DIGEST :]
    head = _MAGIC + hashlib.sha256(image).digest()
    return image if image and content.startswith(head) else None


def store_object(key: str, image: bytes) -> None:
    """Put an object into the cache."""
    path = _path(key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".new")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(image).digest() + image)
            os.replace(name, path)
        except OSError:
            os.unlink(name)
            raise
    except OSError as error:
        _report(cache_folder(), error)


def _report(folder: Path, error: OSError) -> None:
    if folder in _REPORTED:
        return
    _REPORTED.add(folder)
    warnings.warn(
        f"compiled kernels cannot be kept in {folder} ({error}); "
        "set CELLWIRE_CACHE_DIR to a folder that can be written",
        stacklevel=2,
    )
