"""What is made once in a process is made once, whichever thread asks first."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest
from cellwire.kernels.once import once

FIRST_CALLS = """
import threading
import numpy as np
import cellwire as cw

run = cw.jit(lambda x: cw.ops.tanh(x * 2) + x.sum(), fullgraph=True)
wrong = []

def work(start):
    for size in range(1, 6):
        x = np.full(size, start + 0.5, np.float32)
        for _ in range(4):
            found = run(cw.Tensor(x)).asnumpy()
            if not np.allclose(found, np.tanh(x * 2) + x.sum(), rtol=1e-5):
                wrong.append((start, size))

threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong, wrong
"""


def test_two_threads_that_ask_at_once_get_the_same_thing() -> None:
    calls: list[int] = []

    @once
    def made() -> object:
        calls.append(1)
        time.sleep(0.02)
        return object()

    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(made())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert len(found) == 4
    assert len(set(map(id, found))) == 1


def test_an_error_is_raised_and_the_next_call_tries_again() -> None:
    answers = [ValueError("not yet"), None]

    @once
    def made() -> int:
        answer = answers.pop(0)
        if answer is not None:
            raise answer
        return 3

    with pytest.raises(ValueError, match="not yet"):
        made()
    assert made() == made() == 3


def test_the_first_compiled_calls_of_a_process_may_come_from_many_threads() -> None:
    command = [sys.executable, "-c", FIRST_CALLS]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
