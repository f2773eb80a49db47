"""The cache on disk: damaged files, folders that fail, concurrent processes, crashes, its size."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import platformdirs
import pytest
from cellwire.kernels import object_cache
from cellwire.kernels.loops import FLOAT32, Buffer, Function, Loop, Store, affine, load
from cellwire.kernels.native import compile_module

X, Y = Buffer("x", FLOAT32), Buffer("y", FLOAT32)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CELLWIRE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(object_cache, "_REPORTED", set())
    monkeypatch.setattr(object_cache, "_UNSWEPT", {})
    return tmp_path


def scale(factor: float) -> Function:
    """y = x * factor over n elements."""
    body = (Store("y", affine("i"), load(X, affine("i")) * factor),)
    return Function("scale", (X, Y), ("n",), (Loop("i", "n", body, True),))


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name == "cellwire.cache"]


def flipped(content: bytes) -> bytes:
    return content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]


DAMAGES: dict[str, Any] = {
    "empty": lambda c: b"",
    "cut off": lambda c: c[: len(c) // 2],
    "head only": lambda c: c[:50],
    "one bit": flipped,
    "another format": lambda c: b"cellwire object 1\n" + c[18:],
    "no format": lambda c: b"garbage",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_told_compiled_and_written_again(
    cache: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert compile_module([scale(2.0)]).compiled
    (file,) = cache.rglob("*.o")
    content = file.read_bytes()
    file.write_bytes(DAMAGES[damage](content))
    assert compile_module([scale(2.0)]).compiled
    assert told(caplog) == [f"{file} is damaged; its code is compiled again"]
    assert file.read_bytes()[:50] == content[:50]
    assert not compile_module([scale(2.0)]).compiled
    assert len(told(caplog)) == 1


def test_what_cannot_be_read_is_told_and_compiled(
    cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    compile_module([scale(2.0)])
    (file,) = cache.rglob("*.o")
    file.unlink()
    file.mkdir()
    assert compile_module([scale(2.0)]).compiled
    assert "cannot be read" in told(caplog)[0]


def test_a_folder_that_cannot_be_written_is_told_once(
    cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = cache / "file"
    blocked.write_text("")
    monkeypatch.setenv("CELLWIRE_CACHE_DIR", str(blocked))
    assert compile_module([scale(2.0)]).compiled
    assert compile_module([scale(5.0)]).compiled
    (message,) = told(caplog)
    assert "set CELLWIRE_CACHE_DIR to a folder that can be written" in message


def test_without_a_home_folder_nothing_is_kept(
    cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("CELLWIRE_CACHE_DIR")
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda name: f"~/.cache/{name}")
    monkeypatch.chdir(cache)
    assert compile_module([scale(2.0)]).compiled
    assert not [*cache.iterdir()]
    assert "no home folder" in told(caplog)[0]
    assert len(told(caplog)) == 1


# -- processes ---------------------------------------------------------------------------------

HEAD = """
import sys
from cellwire.kernels.loops import *
from cellwire.kernels.native import compile_module
x, y = Buffer("x", FLOAT32), Buffer("y", FLOAT32)
def made(factor):
    body = (Store("y", affine("i"), load(x, affine("i")) * float(factor)),)
    return compile_module([Function("f", (x, y), ("n",), (Loop("i", "n", body, True),))])
"""


def start(code: str, cache: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "CELLWIRE_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", HEAD + code, str(cache)]
    return subprocess.Popen(command, env=env, text=True, stdout=-1, stderr=-1)


SHARING = """
import os
for folder, size in (("ample", "1000000"), ("tiny", "3000")):
    os.environ["CELLWIRE_CACHE_DIR"] = sys.argv[1] + "/" + folder
    os.environ["CELLWIRE_CACHE_BYTES"] = size
    for i in range(6): made(i)
"""


def test_processes_share_a_cache(cache: Path) -> None:
    """They compile the same at once; those of a tiny cache also remove each other's files."""
    workers = [start(SHARING, cache) for _ in range(2)]
    results = [(*worker.communicate(timeout=60), worker.returncode) for worker in workers]
    assert results == [("", "", 0)] * 2
    files = list((cache / "ample").rglob("*.o"))
    assert len(files) == 6
    assert all(file.read_bytes().startswith(object_cache._MAGIC) for file in files)
    assert sum(file.stat().st_size for file in (cache / "tiny").rglob("*.o")) <= 3000
    assert not [*cache.rglob("*.new")]


def test_a_process_killed_while_it_writes_leaves_nothing_that_is_read(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = start(
        "import os, signal\nos.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\nmade(1)",
        cache,
    )
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL
    (left,) = cache.rglob("*.new")
    assert not [*cache.rglob("*.o")]
    object_cache.sweep(cache, 10**9)
    assert left.exists()  # its process might still be writing
    os.utime(left, (time.time() - 2 * object_cache.SWEPT,) * 2)
    object_cache.sweep(cache, 10**9)
    assert not left.exists()


FULL = """
import resource, signal, json, logging
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
print(json.dumps([made(1).compiled, made(1).compiled, made(2).compiled]))
"""


def test_a_disk_that_is_full_is_told_once(cache: Path) -> None:
    process = start(FULL, cache)
    printed, errors = process.communicate(timeout=60)
    assert json.loads(printed) == [True, True, True]
    assert errors.count("cannot be kept") == 1
    assert "File too large" in errors
    assert not [f for f in cache.rglob("*") if f.suffix in (".o", ".new")]


# -- size --------------------------------------------------------------------------------------


def test_what_was_used_least_recently_goes_first(cache: Path) -> None:
    for number in range(4):
        object_cache.store_file("objects", f"{number:064}", bytes(1000))
    files = sorted(cache.rglob("*.o"))
    for age, file in enumerate(files):
        os.utime(file, (time.time() - 10000 + age,) * 2)
    assert object_cache.load_file("objects", f"{0:064}") == bytes(1000)  # used just now
    object_cache.sweep(cache, 4500)
    assert sorted(cache.rglob("*.o")) == files
    object_cache.sweep(cache, 3200)
    assert sorted(cache.rglob("*.o")) == [files[0], files[3]]


def test_a_process_that_writes_much_sweeps_often(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CELLWIRE_CACHE_BYTES", "20000")
    for number in range(100):
        object_cache.store_file("objects", f"{number:064}", bytes(1000))
    assert sum(f.stat().st_size for f in cache.rglob("*.o")) <= 22000


def test_a_wrong_size_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CELLWIRE_CACHE_BYTES", "1 GB")
    with caplog.at_level(logging.WARNING):
        assert object_cache.cache_bytes() == object_cache.DEFAULT_BYTES
    assert "must be a number of bytes" in told(caplog)[0]
