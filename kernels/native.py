"""Native code: kernels become machine code once; after that they load from a disk cache."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, Protocol

from llvmlite import binding

from .object_cache import load_object, object_key, store_object
from .target import Target, host

_LOCK: Final = threading.RLock()
_SERIAL: Final = itertools.count()


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


@dataclass(frozen=True)
class Library:
    """Loaded machine code; it stays in memory while this object is referenced."""

    addresses: dict[str, int]
    key: str
    """What the code is kept by on disk."""
    compiled: bool
    seconds: float
    _tracker: object = field(repr=False, compare=False)

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
    started = time.perf_counter()
    target = target or host()
    names = [kernel.name for kernel in kernels]
    if len(set(names)) != len(names):
        raise ValueError(f"kernels of one module need different names, got {names}")
    key = module_key(kernels, target)
    with _LOCK:
        image = load_object(key)
        compiled = image is None
        if image is None:
            image = _compile(module_text(kernels, target), target)
            store_object(key, image)
        tracker = _link(image, names, imports or {})
    addresses = {name: tracker[name] for name in names}
    return Library(addresses, key, compiled, time.perf_counter() - started, tracker)


def module_key(kernels: Sequence[Kernel], target: Target | None = None) -> str:
    """Return what the machine code of these kernels is kept by."""
    return object_key([kernel.text for kernel in kernels], target or host())


def load_module(
    names: Sequence[str], key: str, imports: Mapping[str, int] | None = None
) -> Library | None:
    """Return machine code from the disk cache, or None if it is not there."""
    started = time.perf_counter()
    with _LOCK:
        image = load_object(key)
        if image is None:
            return None
        tracker = _link(image, names, imports or {})
    addresses = {name: tracker[name] for name in names}
    return Library(addresses, key, False, time.perf_counter() - started, tracker)


def module_text(kernels: Sequence[Kernel], target: Target | None = None) -> str:
    """Return the LLVM module of the kernels: what `CELLWIRE_DEBUG` shows."""
    target = target or host()
    declarations: dict[str, str] = {}
    definitions = [kernel.llvm(target, declarations) for kernel in kernels]
    for kernel in kernels:
        declarations.pop(kernel.name, None)
    return "\n\n".join([*definitions, "\n".join(declarations.values())]) + "\n"


def _compile(text: str, target: Target) -> bytes:
    machine = _machine(target)
    return machine.emit_object(_parse(text, machine))


def _parse(text: str, machine: binding.TargetMachine) -> binding.ModuleRef:
    module = binding.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    return module


@cache
def _machine(target: Target) -> binding.TargetMachine:
    _initialize()
    return binding.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=3,
        reloc="pic",
        codemodel="default",
        jit=True,
    )


@cache
def _initialize() -> None:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()


@cache
def _jit() -> binding.LLJIT:
    _initialize()
    return binding.create_lljit_compiler()


def _link(
    image: bytes, names: Sequence[str], imports: Mapping[str, int]
) -> binding.ResourceTracker:
    builder = binding.JITLibraryBuilder().add_object_img(image).add_current_process()
    for name, address in imports.items():
        builder.import_symbol(name, address)
    for name in names:
        builder.export_symbol(name)
    return builder.link(_jit(), f"cellwire{next(_SERIAL)}")
