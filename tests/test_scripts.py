"""The scripts in ``scripts/``: what MindSpore's tutorials call, with only the import changed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine.compiler import JitWarning
from cellwire.engine.context import context
from files import module_at

FOLDER = Path(__file__).resolve().parent / "scripts"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "data")

ONE_MODE = {
    "beginner_autograd", "beginner_dataset", "beginner_tensor", "beginner_transforms",
    "compile_dynamic_shape", "compile_operators", "compile_python_builtin_functions",
    "compile_statements", "compile_static_graph", "compile_static_graph_expert_programming",
    "debug_profiler", "debug_pynative",
}  # fmt: skip
"""Scripts without a Cell of their own to compile, or that choose the mode themselves."""

RUNS_EAGERLY = {
    "beginner_accelerate_with_static_graph-graph": {"fresh"},
    "beginner_accelerate_with_static_graph-pynative": {"fresh"},
    "compile_python_builtin_functions-pynative": {"kinds", "numbers", "of_arrays"},
    "compile_static_graph-pynative": {"construct", "reverses", "with_arrays"},
    "custom_program_hook_program-graph": {"eager_call"},
}
"""Functions by case that do what no graph holds: they run, and a warning says why."""

CASES = [
    pytest.param(name, mode, id=f"{name}-{label}")
    for name in NAMES
    for label, mode in (("pynative", cw.PYNATIVE_MODE), ("graph", cw.GRAPH_MODE))
    if mode == cw.PYNATIVE_MODE or name not in ONE_MODE
]


def main_of(name: str) -> Callable[[Path], None]:
    module = module_at(FOLDER / f"{name}.py", f"script_{name}")
    main: Any = vars(module)["main"]
    return main


@pytest.fixture
def settings_as_before() -> Iterator[None]:
    mode, kept = context.mode, dict(context.kept)
    random, numbers = cw.get_rng_state(), np.random.get_state()
    yield
    context.mode, context.kept = mode, kept
    cw.set_rng_state(random)
    np.random.set_state(numbers)


@pytest.mark.usefixtures("settings_as_before")
@pytest.mark.parametrize(("name", "mode"), CASES)
def test_script(name: str, mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(FOLDER))
    cw.set_context(mode=mode)
    cw.set_seed(1)
    np.random.seed(1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("error")
        warnings.simplefilter("always", JitWarning)
        main_of(name)(tmp_path)
    label = "graph" if mode == cw.GRAPH_MODE else "pynative"
    messages = [str(warning.message) for warning in told]
    eagerly = {message.split(" runs eagerly")[0] for message in messages}
    assert eagerly == RUNS_EAGERLY.get(f"{name}-{label}", set()), messages
