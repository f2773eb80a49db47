"""Object code in memory: linked, and gone when nothing refers to it any more.

LLVM's engine never forgets the libraries that it linked, some 20 KB each, until it is disposed of
itself. So an engine links a limited number of them, and ends with the last one still in use.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Mapping, Sequence
from typing import Final

from llvmlite import binding

from .codegen import initialize

LIBRARIES: Final = 64
"""How many libraries an engine links."""
_SERIAL: Final = itertools.count()


class _Engine:
    """LLVM's engine with the libraries that are in use."""

    __slots__ = ("jit", "left", "live")

    def __init__(self) -> None:
        initialize()
        self.jit = binding.create_lljit_compiler()
        self.left = LIBRARIES
        self.live: set[int] = set()


engines: Final[dict[int, _Engine]] = {}
"""Engines that are not disposed of, by identity; the last one links what comes next."""


class Code:
    """Linked object code; its addresses are valid as long as this object is referenced."""

    __slots__ = ("__weakref__", "addresses")

    def __init__(self, addresses: dict[str, int]) -> None:
        self.addresses = addresses


def link(images: Sequence[bytes], names: Sequence[str], imports: Mapping[str, int]) -> Code:
    """Link objects; ``imports`` are addresses of what they call but do not bring along.

    One thread at a time may link.
    """
    number = next(_SERIAL)
    engine = _engine(number)
    builder = binding.JITLibraryBuilder().add_current_process()
    for image in images:
        builder.add_object_img(image)
    for name, address in imports.items():
        builder.import_symbol(name, address)
    for name in names:
        builder.export_symbol(name)
    try:
        tracker = builder.link(engine.jit, f"cellwire{number}")
    except RuntimeError:
        engine.live.discard(number)
        raise
    code = Code({name: tracker[name] for name in names})
    # Run by whichever thread drops the code, perhaps while another links: it takes no lock.
    weakref.finalize(code, _forget, tracker, engine, number).atexit = False
    return code


def _engine(number: int) -> _Engine:
    """Return the engine that links next, with a library of this number in use."""
    last = engines[next(reversed(engines))] if engines else None
    if last is None or not last.left:
        if last is not None and not last.live:
            _dispose(last)
        last = _Engine()
        engines[id(last)] = last
    last.live.add(number)  # first, so that no other thread disposes of the engine
    last.left -= 1
    return last


def _forget(tracker: binding.ResourceTracker, engine: _Engine, number: int) -> None:
    tracker.close()
    engine.live.discard(number)
    if not engine.left and not engine.live:
        _dispose(engine)


def _dispose(engine: _Engine) -> None:
    if engines.pop(id(engine), None) is not None:  # by one thread alone
        engine.jit.close()
