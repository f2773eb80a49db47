"""A content-addressed cache on disk, for machine code and plans, safe under concurrent processes.

A file is written beside its place and renamed, and begins with the checksum of what follows. A file
that does not pass is told of, treated as absent and written again. A folder that cannot be used is
told of once; code is then compiled in every process. What was used least recently goes when the
folder has grown beyond `CELLWIRE_CACHE_BYTES` (1 GB), and so does what crashed processes left.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import llvmlite
import platformdirs
from llvmlite import binding

from .target import Target

_LOG: Final = logging.getLogger("cellwire.cache")
_MAGIC: Final = b"cellwire object 2\n"
_DIGEST: Final = 32
_REPORTED: Final[set[str]] = set()
_UNSWEPT: Final[dict[Path, int]] = {}
"""Bytes that this process wrote to a folder since the folder was last swept."""

KINDS: Final = {"objects": ".o", "plans": ".plan"}
DEFAULT_BYTES: Final = 10**9
TOUCHED: Final = 600.0
"""Seconds for which a file that was used counts as just used."""
SWEPT: Final = 3600.0
"""Seconds from one sweep to the next, and the age at which an unfinished file is a crash's."""


def cache_folder() -> Path | None:
    """Return where the cache is: `CELLWIRE_CACHE_DIR`, else the user's cache folder.

    MindSpore's name `MS_COMPILER_CACHE_PATH` for it is read too. None where the user has no
    home folder.
    """
    names = ("CELLWIRE_CACHE_DIR", "MS_COMPILER_CACHE_PATH")
    chosen = next((os.environ[name] for name in names if os.environ.get(name)), None)
    if chosen:
        return Path(chosen)
    folder = Path(platformdirs.user_cache_dir("cellwire"))
    if folder.is_absolute():
        return folder
    _report("compiled code cannot be kept, as the user has no home folder; set CELLWIRE_CACHE_DIR")
    return None


def cache_bytes() -> int:
    """Return how large the cache may grow: `CELLWIRE_CACHE_BYTES`, else 1 GB."""
    wanted = os.environ.get("CELLWIRE_CACHE_BYTES", "")
    if wanted.isdigit():
        return int(wanted)
    if wanted:
        _report(f"CELLWIRE_CACHE_BYTES must be a number of bytes, not {wanted!r}; it is 1 GB now")
    return DEFAULT_BYTES


def object_key(texts: Sequence[str], target: Target) -> str:
    """Return the key of a module: everything its machine code depends on."""
    digest = hashlib.sha256(toolchain_key().encode())
    for part in (target.triple, target.cpu, target.features, str(target.vector_bytes), *texts):
        digest.update(f"\0{len(part)}\0".encode())
        digest.update(part.encode())
    return digest.hexdigest()


@cache
def toolchain_key() -> str:
    """Return the sources of this folder and the compiler: what turns text into code."""
    folder = Path(__file__).parent
    printers = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        printers.update(path.read_bytes())
    return f"{printers.hexdigest()}, {compiler_key()}"


def compiler_key() -> str:
    """Return the versions of what turns LLVM's text into code."""
    llvm = ".".join(map(str, binding.llvm_version_info))
    return f"llvmlite {llvmlite.__version__}, LLVM {llvm}, opt 3"


# -- files -------------------------------------------------------------------------------------


def load_file(kind: str, key: str) -> bytes | None:
    """Return what is kept under a key, or None if there is nothing that is whole."""
    folder = cache_folder()
    if folder is None:
        return None
    path = _path(folder, kind, key)
    try:
        with path.open("rb") as file:
            if time.time() - os.fstat(file.fileno()).st_mtime > TOUCHED:
                _touch(path)
            found = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        _LOG.warning("%s cannot be read (%s); its code is compiled again", path, error)
        return None
    content = found[len(_MAGIC) + _DIGEST :]
    if content and found.startswith(_MAGIC + hashlib.sha256(content).digest()):
        return content
    _LOG.warning("%s is damaged; its code is compiled again", path)
    return None


def store_file(kind: str, key: str, content: bytes) -> None:
    """Put something under a key."""
    folder = cache_folder()
    if folder is None:
        return
    path = _path(folder, kind, key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".new")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(content).digest() + content)
            os.replace(name, path)
        except OSError:
            os.unlink(name)
            raise
        _sweep_if_due(folder, len(content))
    except OSError as error:
        _report(
            f"compiled code cannot be kept in {folder} ({error.strerror}); "
            "set CELLWIRE_CACHE_DIR to a folder that can be written"
        )


def load_object(key: str) -> bytes | None:
    """Return cached machine code, or None if there is none that is whole."""
    return load_file("objects", key)


def store_object(key: str, image: bytes) -> None:
    """Put machine code into the cache."""
    store_file("objects", key, image)


def _path(folder: Path, kind: str, key: str) -> Path:
    return folder / kind / key[:2] / f"{key[2:]}{KINDS[kind]}"


def _touch(path: Path) -> None:
    """Note that a file was used; in a folder that cannot be written nothing is ever swept."""
    if os.access(path, os.W_OK):
        os.utime(path)


# -- sweeping ----------------------------------------------------------------------------------


def _sweep_if_due(folder: Path, written: int) -> None:
    """Sweep once an hour, and when this process has written a good part of what is allowed."""
    unswept = _UNSWEPT.get(folder, 0) + written
    stamp = folder / "swept"
    often = unswept * 16 > cache_bytes()
    if not often and stamp.exists() and time.time() - stamp.stat().st_mtime < SWEPT:
        _UNSWEPT[folder] = unswept
        return
    _UNSWEPT[folder] = 0
    stamp.touch()
    sweep(folder, cache_bytes())


def sweep(folder: Path, limit: int) -> None:
    """Remove unfinished files of crashed processes, and what was used least recently.

    Three quarters of the limit stay. Other processes may sweep at the same time, and read what is
    removed: a file that is gone is a file that was not there.
    """
    now, files = time.time(), []
    for path in _files(folder):
        try:
            stat = path.stat()
        except FileNotFoundError:
            continue
        if path.suffix != ".new":
            files.append((stat.st_mtime, stat.st_size, path))
        elif now - stat.st_mtime > SWEPT:
            path.unlink(missing_ok=True)
    total = sum(size for _, size, _ in files)
    if total <= limit:
        return
    for _, size, path in sorted(files):
        path.unlink(missing_ok=True)
        total -= size
        if total * 4 <= limit * 3:
            return


def _files(folder: Path) -> Iterator[Path]:
    for kind in KINDS:
        for part in (folder / kind).glob("??"):
            yield from part.iterdir()


def _report(message: str) -> None:
    """Tell something once."""
    if message not in _REPORTED:
        _REPORTED.add(message)
        _LOG.warning("%s", message)
