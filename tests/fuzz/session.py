"""One case of either kind by its seed: whether compiled code is right, and if not, a small case."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from typing import Literal

from cellwire.engine.autograd import gradgraph
from cellwire.engine.compiler import eager, fuse
from cellwire.engine.ops import registry
from cellwire.kernels import runtime

from .graphs import check_graph, random_graph, shrink_graph
from .program_text import random_program
from .programs import check_program, shrink_program

Kind = Literal["graphs", "programs"]
KINDS: tuple[Kind, ...] = ("graphs", "programs")


@contextlib.contextmanager
def eager_is_numpy() -> Iterator[None]:
    """Leave eager mode's ops to NumPy in the body: else both sides would be compiled."""
    registry.set_eager_compiler(None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        eager.install()


def trouble_of(kind: Kind, seed: int) -> str:
    """Return what goes wrong with the case of a seed; empty if nothing."""
    with eager_is_numpy():
        if kind == "graphs":
            return check_graph(random_graph(seed))
        return check_program(random_program(seed)).trouble


def small_case(kind: Kind, seed: int) -> str:
    """Return a failing case as the smallest text found, and how to run it again."""
    with eager_is_numpy():
        if kind == "graphs":
            graph = shrink_graph(random_graph(seed))
            text, trouble = str(graph), check_graph(graph)
        else:
            program = shrink_program(random_program(seed), lambda p: check_program(p).trouble)
            text, trouble = str(program), check_program(program).trouble
    return f"{text}\n{trouble}\nagain: python -m tests.fuzz --only {kind} --seed {seed} --cases 1"


@contextlib.contextmanager
def machine_code_apart() -> Iterator[None]:
    """Keep nothing that is compiled in the body, and use nothing that was compiled before."""
    folder = tempfile.mkdtemp(prefix="cellwire-fuzz")
    before = os.environ.get("CELLWIRE_CACHE_DIR")
    os.environ["CELLWIRE_CACHE_DIR"] = folder
    _forget()
    try:
        yield
    finally:
        _forget()
        if before is None:
            del os.environ["CELLWIRE_CACHE_DIR"]
        else:
            os.environ["CELLWIRE_CACHE_DIR"] = before
        shutil.rmtree(folder, ignore_errors=True)


def _forget() -> None:
    gc.collect()
    runtime._libraries.clear()
    gradgraph._graphs.clear()
    fuse._no_expression.cache_clear()
