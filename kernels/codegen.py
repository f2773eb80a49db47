"""LLVM text becomes machine code, on two threads where there is enough of it.

llvmlite holds one lock during every call of LLVM. Modules in contexts of their own share nothing,
so the one long call, the making of an object, is made without that lock. Its caller prints the
next modules meanwhile.
"""

from __future__ import annotations

import ctypes
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from llvmlite import binding

from .once import once
from .target import Target

Job = tuple[Callable[[], str], bool]
"""Prints one module, and whether its code is to be made quickly rather than well."""

_MACHINES: Final[dict[tuple[Target, bool], deque[binding.TargetMachine]]] = {}
"""Machines that no thread uses now; each is used by one thread at a time."""


def emit_objects(jobs: Sequence[Job], target: Target, threads: int) -> list[bytes]:
    """Return the object code of modules, in their order.

    With more than one thread a second one compiles what the caller prints; when all modules are
    printed, both compile what is left.
    """
    if len(jobs) < 2 or threads < 2:
        return [emit_object(job(), target, quick) for job, quick in jobs]
    found: list[bytes] = [b""] * len(jobs)
    failed: list[BaseException] = []
    waiting: queue.SimpleQueue[tuple[int, str, bool] | None] = queue.SimpleQueue()

    def compile_waiting() -> None:
        while (item := waiting.get()) is not None:
            try:
                found[item[0]] = emit_object(item[1], target, item[2])
            except BaseException as error:
                failed.append(error)

    helper = threading.Thread(target=compile_waiting, name="cellwire-codegen", daemon=True)
    helper.start()
    try:
        for number, (job, quick) in enumerate(jobs):
            waiting.put((number, job(), quick))
    finally:
        waiting.put(None)
        waiting.put(None)
        compile_waiting()
        helper.join()
    if failed:
        raise failed[0]
    return found


def emit_object(text: str, target: Target, quick: bool = False) -> bytes:
    """Return the object code of one module."""
    machines = _MACHINES.setdefault((target, quick), deque())
    machine = machines.pop() if machines else make_machine(target, quick)
    context = binding.create_context()
    module = parse(text, machine, context)
    try:
        return _emit(machine, module)
    finally:
        module.close()
        machines.append(machine)


def parse(
    text: str, machine: binding.TargetMachine, context: binding.ContextRef | None = None
) -> binding.ModuleRef:
    """Return a verified module for a machine."""
    module = binding.parse_assembly(text, context)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    return module


def make_machine(target: Target, quick: bool = False) -> binding.TargetMachine:
    """Return what makes code for a target."""
    initialize()
    if target.triple.partition("-")[0] != binding.get_process_triple().partition("-")[0]:
        initialize_others()
    return binding.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=0 if quick else 3,
        reloc="pic",
        codemodel="default",
        jit=True,
    )


@once
def initialize() -> None:
    """Make LLVM ready for this machine.

    Its reduction of address computations in loops is left out, in the whole process: the printers
    write addresses as they are to be, and it takes a third of all compile time.
    """
    binding.set_option("cellwire", "-disable-lsr")
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()


@once
def initialize_others() -> None:
    """Make LLVM ready to make code for other machines."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()


@once
def _unlocked() -> Callable[..., Any]:
    """Return LLVM's function that makes an object, called without llvmlite's lock."""
    locked = binding.ffi.lib.LLVMPY_TargetMachineEmitToMemory
    function = ctypes.CDLL(binding.ffi.lib._name).LLVMPY_TargetMachineEmitToMemory
    function.argtypes, function.restype = locked.argtypes, locked.restype
    return function


def _emit(machine: binding.TargetMachine, module: binding.ModuleRef) -> bytes:
    lib = binding.ffi.lib
    with binding.ffi.OutputString() as error:
        buffer = _unlocked()(machine, module, 1, error)
        if not buffer:
            raise RuntimeError(f"LLVM makes no object: {error}")
    try:
        return ctypes.string_at(lib.LLVMPY_GetBufferStart(buffer), lib.LLVMPY_GetBufferSize(buffer))
    finally:
        lib.LLVMPY_DisposeMemoryBuffer(buffer)
