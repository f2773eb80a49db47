"""Writes the pages of the API reference: one a module, or a family of one, from public names."""

from __future__ import annotations

import importlib
import inspect
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cellwire as cw
from cellwire.engine.ops.registry import OPS

ROOT = "cellwire"
MODULES = {
    ROOT: "Tensors, gradients, compiling, context",
    "cellwire.context": "Modes and devices",
    "cellwire.runtime": "Runtime",
    "cellwire.communication": "Groups of processes",
    "cellwire.ops": "Ops",
    "cellwire.nn": "Cells, losses, optimizers",
    "cellwire.common.initializer": "Initializers",
    "cellwire.numpy": "NumPy's names",
    "cellwire.numpy.linalg": "NumPy's linear algebra",
    "cellwire.dataset": "Datasets",
    "cellwire.dataset.text": "Transforms of text",
    "cellwire.dataset.transforms": "Transforms of any data",
    "cellwire.dataset.vision": "Transforms of images",
    "cellwire.amp": "Mixed precision",
    "cellwire.train": "Training",
    "cellwire.profiler": "Profiling",
    "cellwire.mindrecord": "Files of records",
}
"""The public modules and what their pages are called."""

BASES = frozenset({"Cell", "Tensor", "Parameter", "Optimizer", "Dataset", "Model", "Callback"})
"""Classes whose methods are shown: those that users call or override."""


@dataclass(frozen=True)
class Page:
    """One page: its file, its heading and the names on it, importable from ``module``."""

    file: str
    title: str
    module: str
    names: tuple[str, ...]


def version() -> str:
    """Return the version of the package that is documented."""
    return cw.__version__


def public_names(module: Any) -> list[str]:
    """Return the names a module publishes that need documenting: its classes and functions."""
    own = (name for name, value in vars(module).items() if _is_own(module, name, value))
    names = getattr(module, "__all__", None) or own
    return [name for name in names if _is_documented(getattr(module, name))]


def _is_own(module: Any, name: str, value: Any) -> bool:
    return not name.startswith("_") and getattr(value, "__module__", "") == module.__name__


def _is_documented(value: Any) -> bool:
    return inspect.isclass(value) or inspect.isfunction(value)


def pages() -> Iterator[Page]:
    """Yield the pages in the order of the reference."""
    elsewhere = _listed_elsewhere()
    for path, title in MODULES.items():
        module = importlib.import_module(path)
        file = path.removeprefix("cellwire.").replace(".", "-")
        families: dict[str, list[str]] = {}
        for name in public_names(module):
            if path == ROOT and id(getattr(module, name)) in elsewhere:
                continue
            families.setdefault(_family(path, getattr(module, name)), []).append(name)
        for family, names in sorted(families.items()):
            heading = f"{title}: {family}" if family else title
            ending = f"-{family.replace(' ', '-')}" if family else ""
            yield Page(f"{file}{ending}", heading, path, tuple(sorted(names, key=str.lower)))


def _listed_elsewhere() -> set[int]:
    """Return what a module below the root has too, by identity: it is described there."""
    modules = [importlib.import_module(path) for path in MODULES if path != ROOT]
    return {id(getattr(module, name)) for module in modules for name in public_names(module)}


def _family(path: str, value: Any) -> str:
    """Return what a large module's names are grouped by; empty in the others."""
    if path == "cellwire.ops":
        row = OPS.get(getattr(value, "__name__", ""))
        return "others" if row is None else row.category
    if path == "cellwire.nn":
        return value.__module__.rpartition(".")[2].replace("_", " ")
    return ""


def write(folder: Path) -> None:
    """Write all pages and their index into ``folder``, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    made = list(pages())
    for page in made:
        (folder / f"{page.file}.rst").write_text(_text(page), encoding="utf-8")
    listed = "\n".join(f"   {page.file}" for page in made)
    text = f"{_heading('API reference')}\n.. toctree::\n   :maxdepth: 1\n\n{listed}\n"
    (folder / "index.rst").write_text(text, encoding="utf-8")


def _heading(title: str) -> str:
    return f"{title}\n{'=' * len(title)}\n"


def _text(page: Page) -> str:
    module = importlib.import_module(page.module)
    table = "\n".join(f"   {name}" for name in page.names)
    parts = [_heading(page.title), f".. currentmodule:: {page.module}\n",
             f".. autosummary::\n\n{table}\n"]  # fmt: skip
    for name in page.names:
        kind = "autoclass" if inspect.isclass(getattr(module, name)) else "autofunction"
        members = "   :members:\n" if name in BASES else ""
        parts.append(f".. {kind}:: {name}\n{members}")
    return "\n".join(parts)
