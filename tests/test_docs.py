"""Every public name says in numpydoc what goes in, what comes out and what is refused."""

from __future__ import annotations

import importlib
import inspect
import re
from enum import Enum
from pathlib import Path
from typing import Any

import cellwire as cw
import pytest
from cellwire.engine import compiler
from cellwire.nn import Cell
from files import module_at
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

DOCS = Path(__file__).resolve().parent.parent / "docs"
CODES = {
    "GL08": "no docstring",
    "PR04": "a parameter has no type",
    "PR07": "a parameter has no description",
    "RT03": "what is returned has no description",
    "SS03": "the summary does not end with a full stop",
}
"""numpydoc's findings that are held against a docstring."""


reference: Any = module_at(DOCS / "reference.py", "docs_reference")
PAGES = [page for page in reference.pages() if page.names]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.file)
def test_docstrings(page: Any) -> None:
    paths = [f"{page.module}.{name}" for name in page.names]
    assert not {path: found for path in paths if (found := _lacking(path))}


def _lacking(path: str) -> list[str]:
    """What a docstring lacks, or has too much of."""
    module, _, name = path.rpartition(".")
    value = getattr(importlib.import_module(module), name)
    found = [f"{code}: {text}" for code, text in validate(path)["errors"] if code in CODES]
    doc = NumpyDocString(inspect.getdoc(value) or "")
    described = {
        word.strip().lstrip("*")
        for section in ("Parameters", "Other Parameters")
        for parameter in doc[section]
        for word in parameter.name.split(",")
    }
    taken, inputs = _parameters(value), set()
    if inspect.isclass(value) and issubclass(value, cw.nn.Cell):
        inputs = _parameters(value.construct)  # a Cell describes what it is called with as well
    if value is not Cell:
        taken -= {"auto_prefix", "flags"}  # the same for every Cell
    found += [f"{name} is not described" for name in sorted(taken - described)]
    found += [f"{name} does not exist" for name in sorted(described - taken - inputs)]
    if inspect.isfunction(value) and not (doc["Returns"] or doc["Yields"]):
        found += [] if _gives_nothing(value) else ["what it returns is not described"]
    return found


def _parameters(value: Any) -> set[str]:
    if inspect.isclass(value) and issubclass(value, Enum):
        return set()  # its members are fixed; nobody makes more
    try:
        return set(inspect.signature(value).parameters) - {"self"}
    except ValueError:
        return set()


def _gives_nothing(function: Any) -> bool:
    return inspect.signature(function).return_annotation in (None, "None")


def test_pages_cover_all_public_modules() -> None:
    public = {name for name in cw.__all__ if inspect.ismodule(getattr(cw, name))}
    covered = {path.removeprefix("cellwire.").partition(".")[0] for path in reference.MODULES}
    assert public <= covered | {"dtype", "initializer"}


def test_the_compiler_lists_its_files_by_stage() -> None:
    files = {path.stem for path in Path(compiler.__file__).parent.glob("*.py")} - {"__init__"}
    assert compiler.__doc__
    assert set(" ".join(re.findall("``(.*?)``", compiler.__doc__, re.DOTALL)).split()) == files
