"""The first call of each training step, in processes of their own: compiled anew, and kept.

``python -m benchmarks.peers.first_calls NAME CONTENDER`` is what such a process runs; it prints
the seconds that the call took, imports and the making of the model not included. The first
process finds an empty cache folder, the next ones what it left there.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import images, mlp, sequences
from .workload import OURS, Figures, Workload

COLD, KEPT = 0.5e6, 0.05e6
"""Microseconds that the first call may take, and that of a second process."""
AGAIN = 5
"""Processes whose median is the figure of a second one."""
COMPILING = ("torch.compile", "jax")
"""The peers that compile; PyTorch as it is has nothing to make or to keep."""


def steps() -> list[Workload]:
    """Return the training steps among the workloads."""
    rows = [w for family in (mlp, images, sequences) for w in family.workloads()]
    return [w for w in rows if "step" in w.name]


def measure(words: Sequence[str], without: Sequence[str]) -> Iterator[Figures]:
    """Yield two rows for each training step: compiled anew, and from the cache on disk."""
    for workload in steps():
        names = {f"first call: {workload.name}", f"kept: {workload.name}"}
        if words and not any(word in name for word in words for name in names):
            continue
        peers = {p for p in COMPILING if p in workload.contenders and p not in without}
        with tempfile.TemporaryDirectory() as folder:
            cold = {OURS: _first_call(workload.name, OURS, Path(folder))}
            kept = [_first_call(workload.name, OURS, Path(folder)) for _ in range(AGAIN)]
        for peer in sorted(peers):
            with tempfile.TemporaryDirectory() as folder:
                cold[peer] = _first_call(workload.name, peer, Path(folder))
        yield Figures(Workload(f"first call: {workload.name}", 1.0, {}, goal=COLD), cold)
        again = Workload(f"kept: {workload.name}", 1.0, {}, goal=KEPT)
        yield Figures(again, {OURS: statistics.median(kept)})


def _first_call(name: str, contender: str, folder: Path) -> float:
    """Return the microseconds of a first call in a new process."""
    caches = ("CELLWIRE_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
    environment = {**os.environ, **{variable: str(folder) for variable in caches}}
    command = [sys.executable, "-m", __spec__.name, name, contender]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(ran.stdout.split()[-1]) * 1e6


def _main(name: str, contender: str) -> None:
    (workload,) = (w for w in steps() if w.name == name)
    call = workload.contenders[contender]()
    began = time.perf_counter()
    call()
    print(time.perf_counter() - began)


if __name__ == "__main__":
    _main(*sys.argv[1:])
