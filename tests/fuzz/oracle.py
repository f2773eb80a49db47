"""The other side of every comparison: eager mode with nothing compiled in it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from cellwire.engine.autograd import gradgraph
from cellwire.engine.compiler import eager, in_place
from cellwire.engine.compiler.graph import interpret
from cellwire.engine.context import context
from cellwire.engine.ops import registry


@contextlib.contextmanager
def purely_eager() -> Iterator[None]:
    """Run every op by its NumPy kernel: eager mode, too, compiles what recurs."""
    saved = gradgraph.GradGraph.run, in_place.InPlace.run, context.jit
    gradgraph.GradGraph.run = _interpreted  # pyright: ignore[reportAttributeAccessIssue]
    in_place.InPlace.run = _called  # pyright: ignore[reportAttributeAccessIssue]
    context.jit = False
    registry.set_eager_compiler(None)
    try:
        yield
    finally:
        gradgraph.GradGraph.run, in_place.InPlace.run, context.jit = saved
        eager.install()


def _interpreted(made: Any, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    return interpret(made.graph, inputs)


def _called(_plans: Any, function: Any, tensors: Sequence[Any]) -> None:
    function(*tensors)
