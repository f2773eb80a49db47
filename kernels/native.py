"""Native code: kernels become machine code once; after that they load from a disk cache."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

from .codegen import emit_objects
from .loading import Code, link
from .object_cache import load_object, object_key, store_object
from .target import Target, host

_LOCK: Final = threading.RLock()


class Kernel(Protocol):
    """What can be compiled: a loop `Function`, a `Gemm`, a plan's `Program`."""

    @property
    def name(self) -> str:
        """The symbol's name, unique in its module."""
        ...

    @property
    def text(self) -> str:
        """A canonical description; equal text means equal code."""
        ...

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition; put what it calls into `declarations`, by name."""
        ...


def account(kernel: Kernel) -> str:
    """Return what a kernel does, for people: its own account, or its text."""
    return getattr(kernel, "account", kernel.text)


@dataclass(frozen=True)
class Library:
    """Loaded machine code; it stays in memory while this object is referenced."""

    addresses: dict[str, int]
    key: str
    """What the code is kept by on disk."""
    compiled: bool
    seconds: float
    _code: Code = field(repr=False, compare=False)

    def __getitem__(self, name: str) -> int:
        return self.addresses[name]


def compile_module(
    kernels: Sequence[Kernel],
    target: Target | None = None,
    imports: Mapping[str, int] | None = None,
) -> Library:
    """Return the kernels' machine code, compiled together or loaded from the disk cache.

    The target is this machine unless one with shorter vectors is asked for. ``imports`` are
    addresses of functions that the kernels call but do not bring along.
    """
    return compile_modules([kernels], target, imports)[0]


def compile_modules(
    modules: Sequence[Sequence[Kernel]],
    target: Target | None = None,
    imports: Mapping[str, int] | None = None,
    threads: int = 1,
) -> list[Library]:
    """Return the machine code of several modules, each compiled or loaded from the disk cache.

    On several threads, where there are more, the result is the same.
    """
    started = time.perf_counter()
    target = target or host()
    names = [[kernel.name for kernel in kernels] for kernels in modules]
    flat = [name for own in names for name in own]
    if len(set(flat)) != len(flat):
        raise ValueError(f"kernels of one module need different names, got {flat}")
    keys = [module_key(kernels, target) for kernels in modules]
    with _LOCK:
        images = {key: load_object(key) for key in keys}
        made = [i for i, key in enumerate(keys) if images[key] is None]
        jobs = [(partial(module_text, modules[i], target), _is_quick(modules[i])) for i in made]
        for i, image in zip(made, emit_objects(jobs, target, threads), strict=True):
            images[keys[i]] = image
            store_object(keys[i], image)
        found = [image for key in keys if (image := images[key]) is not None]
        code = link(found, flat, imports or {})
    seconds = time.perf_counter() - started
    return [
        Library({name: code.addresses[name] for name in own}, key, i in made, seconds, code)
        for i, (own, key) in enumerate(zip(names, keys, strict=True))
    ]


def _is_quick(kernels: Sequence[Kernel]) -> bool:
    """Return whether no kernel of a module is worth the time that good code takes to make."""
    return all(getattr(kernel, "quick", False) for kernel in kernels)


def module_key(kernels: Sequence[Kernel], target: Target | None = None) -> str:
    """Return what the machine code of these kernels is kept by."""
    return object_key([kernel.text for kernel in kernels], target or host())


def load_modules(
    modules: Sequence[tuple[Sequence[str], str]], imports: Mapping[str, int] | None = None
) -> list[Library] | None:
    """Return machine code from the disk cache by names and keys, or None if some is not there."""
    started = time.perf_counter()
    images: list[bytes] = []
    for _, key in modules:
        image = load_object(key)
        if image is None:
            return None
        images.append(image)
    with _LOCK:
        code = link(images, [name for names, _ in modules for name in names], imports or {})
    seconds = time.perf_counter() - started
    return [
        Library({name: code.addresses[name] for name in names}, key, False, seconds, code)
        for names, key in modules
    ]


def module_text(kernels: Sequence[Kernel], target: Target | None = None) -> str:
    """Return the LLVM module of the kernels: what `CELLWIRE_DEBUG` shows."""
    target = target or host()
    declarations: dict[str, str] = {}
    definitions = [kernel.llvm(target, declarations) for kernel in kernels]
    for kernel in kernels:
        declarations.pop(kernel.name, None)
    return "\n\n".join([*definitions, "\n".join(declarations.values())]) + "\n"
