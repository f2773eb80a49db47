"""Runs the examples of pages and writes below each what it printed: ``python docs/examples.py``.

A block of Python after ``<!-- run -->`` is run, all blocks of a page in one module, and the block
of text that follows holds its output. A test runs them again and compares. Kernels are numbered,
and seconds and what depends on the number of threads left out.
"""

from __future__ import annotations

import io
import re
import sys
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

PAGES = (Path(__file__).parent / "jit.md",)
RUN = re.compile(r"<!-- run -->\n```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
FILE = "example.py"
"""What reasons call the file: lines count from each block's first."""


def ran(page: str) -> Iterator[tuple[re.Match[str], str]]:
    """Run the examples of a page in order; yield each with what it printed."""
    names: dict[str, str] = {}
    with _module() as module, warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = _show_warning
        for found in RUN.finditer(page):
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(compile(found[1], FILE, "exec"), module.__dict__)
            yield found, _neutral(printed.getvalue(), names)


@contextmanager
def _module() -> Iterator[types.ModuleType]:
    """Give the examples a module of their own, as a file has."""
    module = types.ModuleType("example")
    sys.modules[module.__name__] = module
    try:
        yield module
    finally:
        del sys.modules[module.__name__]


def _show_warning(message: Warning | str, category: type[Warning], *_: object) -> None:
    print(f"{category.__name__}: {message}")


def _neutral(text: str, names: dict[str, str]) -> str:
    """Return what is printed alike on every machine."""

    def number(found: re.Match[str]) -> str:
        count = sum(name.startswith(f"{found[1]}_") for name in names.values())
        return names.setdefault(found[0], f"{found[1]}_{count + 1}")

    text = re.sub(r"\b([a-z]+)_[0-9a-f]{16}\b", number, text)
    text = re.sub(r"(compiled|from the cache) in [0-9.]+ ms", "compiled in … ms", text)
    text = re.sub(r"arena \d+ bytes", "arena … bytes", text)
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def filled(page: str) -> str:
    """Return the page with the output of its examples."""
    parts, end = [], 0
    for found, printed in ran(page):
        output = f"\n```text\n{printed}```\n" if printed else ""
        parts += [page[end : found.start()], f"<!-- run -->\n```python\n{found[1]}```\n{output}"]
        end = found.end()
    return "".join([*parts, page[end:]])


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
        sys.stdout.write(f"{path} is up to date\n")
