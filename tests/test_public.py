"""The public face: names, modules, and what an import costs."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import cellwire as cw

ROOT = Path(__file__).resolve().parent.parent


def test_every_public_name_is_there() -> None:
    for name in cw.__all__:
        assert hasattr(cw, name), name
    for module in (cw.nn, cw.ops, cw.dataset):
        for name in module.__all__:
            assert hasattr(module, name), name


def test_modules_import_by_their_public_names() -> None:
    for name, own in (("nn", cw.nn), ("ops", cw.ops), ("dataset", cw.dataset)):
        assert importlib.import_module(f"cellwire.{name}") is own
    from cellwire.nn import Dense
    from cellwire.ops import relu

    assert Dense is cw.nn.Dense
    assert relu is cw.ops.relu


def test_mindspores_paths_lead_to_the_modules_of_the_engine() -> None:
    from cellwire.common import Tensor, set_seed
    from cellwire.common import dtype as mstype
    from cellwire.common.tensor import Tensor as OwnTensor
    from cellwire.dataset.transforms import c_transforms
    from cellwire.numpy import random
    from cellwire.ops import functional as F
    from cellwire.train.serialization import load_checkpoint

    assert Tensor is OwnTensor is cw.Tensor
    assert set_seed is cw.set_seed
    assert mstype is cw.dtype
    assert c_transforms is cw.dataset.transforms
    assert random is importlib.import_module("cellwire.numpy.random")
    assert F is importlib.import_module("cellwire.ops.operations") is cw.ops
    assert load_checkpoint is cw.load_checkpoint
    assert callable(cw.tensor)  # the function, though `common.tensor` is a module
    assert not [name for name in vars(cw) if "." in name]


def test_the_version_is_the_packages() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert cw.__version__ == settings["project"]["version"]


def test_the_import_is_light() -> None:
    heavy = "PySide6 pyqtgraph networkx torch PIL pygments rich cellwire.nodes cellwire.app"
    code = f"import sys, cellwire; print([m for m in {heavy.split()!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_python_dash_m_is_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cellwire", "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "train" in done.stdout
