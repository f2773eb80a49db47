"""The native side of a plan: one call runs a whole sequence of kernels.

A `Program` lists its steps. Compiled with its kernels it is an `Entry`; bound to fixed buffers
(arena, parameters, constants) and sizes it is a `Bound`, called with the arrays that change.
The native function takes one pointer, to 64-bit words: the address of the bound part, then the
array objects of this call. It reads each array's data pointer from the object itself, where NumPy's
C API puts it, because asking for it in Python costs a microsecond an array.
"""

from __future__ import annotations

import ctypes
import math
import struct
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np

from .blas_threads import THREADS_FROM, on_one_thread
from .conv_strided import StridedGrad
from .gemm import BlasGemm
from .native import (
    Kernel,
    Library,
    compile_module,
    compile_modules,
    load_modules,
    module_key,
)
from .program_code import DATA_OFFSET, print_program
from .target import Target
from .workers import thread_count, worker_library, workers

BlasCall: TypeAlias = "tuple[tuple[str, ...], tuple[int | str, ...]]"
"""A kernel's ints, and rows, columns and inner size of what it lets BLAS multiply in one call."""

MOST_STEPS: Final = 24
"""Programs of more steps are compiled without optimisation: 0.1 µs a step is not worth 0.4 ms."""


@dataclass(frozen=True)
class Slot:
    """A buffer of a step: the i-th array of the call, or the i-th fixed buffer, plus bytes."""

    kind: str  # "array" | "fixed"
    index: int
    offset: int = 0


@dataclass(frozen=True)
class Rows:
    """How a step is cut: its int number ``count`` is that of rows, any of which it can do alone.

    ``advance`` has for each buffer the bytes from one row to the next, 0 where all rows share it;
    ``apart`` the bytes from one part's own piece to the next part's, 0 where it has none. The int
    number ``first`` is the first row, for kernels that find their rows themselves. Shares begin at
    multiples of ``grain``. The rows may be columns, or what else can be done alone.
    """

    count: int
    advance: tuple[int, ...]
    apart: tuple[int, ...] = ()
    first: int | None = None
    grain: int = 1


@dataclass(frozen=True)
class Step:
    """One kernel call; ints are numbers or names of the program's ints."""

    kernel: str
    buffers: tuple[Slot, ...]
    ints: tuple[int | str, ...] = ()
    rows: Rows | None = None
    stop: Slot | None = None
    """Where the step writes a whole number; unless it is negative, no later step runs."""


@dataclass(frozen=True)
class Program:
    """Steps in order, over `arrays` arrays a call, `fixed` bound buffers and named sizes.

    With `parts` above 1 several threads may run it. `regions` counts the steps of each region:
    what its steps do for a share of the rows depends on that share alone, so its shares are
    tickets; the regions follow each other.
    """

    name: str
    arrays: int
    fixed: int
    ints: tuple[str, ...]
    steps: tuple[Step, ...]
    parts: int = 1
    regions: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The steps as text, one a line."""
        lines = [f"program {self.name}({self.arrays} arrays, {self.fixed} fixed, {self.ints})"]
        if self.parts > 1:
            lines.append(f"  {self.parts} parts, regions {self.regions}")
        for step in self.steps:
            slots = [f"{s.kind}{s.index}+{s.offset}" for s in step.buffers]
            cut = f" by {step.rows}" if step.rows and self.parts > 1 else ""
            cut += f" stops by {step.stop.kind}{step.stop.index}" if step.stop else ""
            lines.append(f"  {step.kernel}({', '.join([*slots, *map(str, step.ints)])}){cut}")
        return "\n".join(lines) + "\n"

    @property
    def quick(self) -> bool:
        """Whether its code is made quickly: calls in a row, of which there are many."""
        return len(self.steps) > MOST_STEPS

    @property
    def tickets(self) -> tuple[int, ...]:
        """How many tickets each region is."""
        found: list[int] = []
        at = 0
        for count in self.regions:
            cut = self.steps[at].rows is not None
            found.append(self.parts if cut else 1)
            at += count
        return tuple(found)

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition: load the words, call the kernels."""
        return print_program(self, declarations)


class Entry:
    """A compiled program."""

    __slots__ = ("_pack", "library", "parts", "products", "program", "run")

    def __init__(
        self,
        program: Program,
        library: Library,
        parts: Sequence[Library] = (),
        products: Mapping[str, BlasCall] | None = None,
    ) -> None:
        self.program = program
        self.products = dict(products or {})
        self.library = library
        self.parts = tuple(parts)
        self.run: Callable[[bytes], None] = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(
            library[program.name]
        )
        self._pack = struct.Struct(f"{1 + program.arrays}q").pack

    @property
    def compiled(self) -> bool:
        """Whether machine code was made for this entry, rather than loaded."""
        return any(library.compiled for library in (self.library, *self.parts))

    def bind(
        self,
        fixed: Sequence[np.ndarray | int] = (),
        ints: Mapping[str, int] | None = None,
        shared: bool = True,
    ) -> Bound:
        """Fix buffers (arrays, which are kept alive, or addresses) and sizes.

        ``shared`` says whether it is worth while to run a program of parts on several threads.
        """
        sizes = dict(ints or {})
        if len(fixed) != self.program.fixed or set(sizes) != set(self.program.ints):
            raise ValueError(
                f"program {self.program.name} binds {self.program.fixed} buffers and sizes "
                f"{self.program.ints}, got {len(fixed)} and {tuple(sizes)}"
            )
        pool = workers() if shared and self.program.parts > 1 else None
        words = [0, 0] if pool is None else [pool.state, pool.share]
        words += [item if isinstance(item, int) else item.ctypes.data for item in fixed]
        words += [sizes[name] for name in self.program.ints]
        table = struct.pack(f"{len(words)}q", *words)
        steps = self.program.steps
        work = [self._work(step, sizes) for step in steps if step.kernel in self.products]
        # Parts are the threads' share of a product; BLAS is not to cut it once more.
        single = work and (self.program.parts > 1 or max(work) < THREADS_FROM)
        run = on_one_thread(self.run) if single else self.run
        return Bound(self, run, self._pack, table, tuple(fixed), sizes)

    def _work(self, step: Step, sizes: Mapping[str, int]) -> int:
        """Return how many multiplications a step's call of BLAS does."""
        names, lengths = self.products[step.kernel]
        given = [sizes[i] if isinstance(i, str) else i for i in step.ints]
        known = dict(zip(names, given, strict=True))
        return math.prod(known[s] if isinstance(s, str) else s for s in lengths)


def blas_calls(kernels: Sequence[Kernel]) -> dict[str, BlasCall]:
    """Return what kernels let BLAS multiply in one call, by name; they may make many."""
    found: dict[str, BlasCall] = {}
    for kernel in kernels:
        if not isinstance(kernel, StridedGrad | BlasGemm):
            continue
        gemm = kernel.gemm if isinstance(kernel, StridedGrad) else kernel
        if isinstance(gemm, BlasGemm):
            product = gemm.product
            found[kernel.name] = kernel.ints, (product.m, product.n, product.k)
    return found


class Bound:
    """A program ready to run.

    `bound(*arrays)` runs every step. The arrays are C-contiguous, of the dtypes and sizes the
    kernels were made for: nothing is checked here. Calls from several threads may overlap as far as
    the fixed buffers allow.
    """

    __slots__ = ("_address", "_arrays", "_buffer", "_pack", "_run", "entry", "fixed", "ints")

    def __init__(
        self,
        entry: Entry,
        run: Callable[[bytes], None],
        pack: Callable[..., bytes],
        table: bytes,
        fixed: tuple[np.ndarray | int, ...],
        ints: Mapping[str, int],
    ) -> None:
        self._run, self._pack = run, pack
        self._arrays = entry.program.arrays
        self._buffer = ctypes.create_string_buffer(table, len(table) or 1)
        self._address = ctypes.addressof(self._buffer)
        self.entry, self.fixed, self.ints = entry, fixed, ints

    @property
    def parts(self) -> tuple[Callable[[bytes], None], Callable[..., bytes], int]:
        """What a call is made of: ``run(pack(address, *ids of the arrays))``."""
        return self._run, self._pack, self._address

    @property
    def address(self) -> int:
        """The first word of a call."""
        return self._address

    @property
    def arrays(self) -> int:
        """How many arrays a call takes."""
        return self._arrays

    @property
    def function(self) -> int:
        """The address of the machine code, which takes a pointer to a call's words."""
        return self.entry.library[self.entry.program.name]

    @property
    def keeps_blas_alone(self) -> bool:
        """Whether BLAS is held to one thread during a call."""
        return self._run is not self.entry.run

    def __call__(self, *arrays: np.ndarray) -> None:
        self._run(self._pack(self._address, *map(id, arrays)))


def build_entry(program: Program, kernels: Sequence[Kernel]) -> Entry:
    """Compile a program and the kernels its steps name.

    Several kernels are a module each, so that a program that shares kernels with an earlier one
    compiles only what is new.
    """
    known = {kernel.name for kernel in kernels}
    missing = [step.kernel for step in program.steps if step.kernel not in known]
    if missing:
        raise ValueError(f"program {program.name} calls {missing[0]}, which is not among {known}")
    imports, products = _imports(program), blas_calls(kernels)
    if len(kernels) == 1:
        library = compile_module([*kernels, program], imports=imports)
        return Entry(program, library, (), products)
    libraries = _libraries_of(kernels)
    imports |= {k.name: lib[k.name] for k, lib in zip(kernels, libraries, strict=True)}
    return Entry(program, compile_module([program], imports=imports), libraries, products)


def load_entry(
    program: Program,
    objects: Sequence[tuple[tuple[str, ...], str]],
    products: Mapping[str, BlasCall],
) -> Entry | None:
    """Return an entry whose machine code is on disk, or None if some of it is not there.

    ``objects`` are the names and the key of each module, the program's last.
    """
    *parts, last = objects
    known = {key: found for _, key in parts if (found := _libraries.get(key)) is not None}
    imports = _imports(program)
    for library in known.values():
        imports |= library.addresses
    wanted = [(names, key) for names, key in parts if key not in known]
    made = load_modules([*wanted, last], imports)
    if made is None:
        return None
    for (_, key), library in zip(wanted, made, strict=False):
        _libraries[key] = known[key] = library
    return Entry(program, made[-1], [known[key] for _, key in parts], products)


def _imports(program: Program) -> dict[str, int]:
    if program.parts == 1:
        return {}
    return {"cellwire_wait": worker_library()["cellwire_wait"]}


_libraries: weakref.WeakValueDictionary[str, Library] = weakref.WeakValueDictionary()


def _libraries_of(kernels: Sequence[Kernel]) -> list[Library]:
    """Return each kernel's machine code, the one in use already if there is one."""
    keys = [module_key([kernel]) for kernel in kernels]
    known = {key: found for key in keys if (found := _libraries.get(key)) is not None}
    wanted = {key: [kernel] for key, kernel in zip(keys, kernels, strict=True) if key not in known}
    made = compile_modules([*wanted.values()], threads=thread_count()) if wanted else []
    found = {key: replace(library, compiled=False, seconds=0.0) for key, library in known.items()}
    for key, library in zip(wanted, made, strict=True):
        _libraries[key] = found[key] = library
    return [found[key] for key in keys]


class SingleKernel:
    """One kernel as a program of its own: `kernel(*arrays, size=...)`, for eager use.

    Arrays are C-contiguous and come in the order of the kernel's buffers; addresses follow them.
    """

    __slots__ = ("_bound", "_entry", "_ints")

    def __init__(
        self, kernel: Kernel, arrays: int, ints: tuple[str, ...], addresses: tuple[int, ...] = ()
    ) -> None:
        slots = [Slot("array", k) for k in range(arrays)]
        slots += [Slot("fixed", k) for k in range(len(addresses))]
        step = Step(kernel.name, tuple(slots), ints)
        program = Program(f"{kernel.name}.call", arrays, len(addresses), ints, (step,))
        self._entry = build_entry(program, [kernel])
        self._ints = ints
        self._bound = lru_cache(64)(lambda *sizes: self._bind(addresses, sizes))

    def _bind(self, addresses: tuple[int, ...], sizes: tuple[int, ...]) -> Bound:
        return self._entry.bind(addresses, dict(zip(self._ints, sizes, strict=True)))

    def __call__(self, *arrays: np.ndarray, **sizes: int) -> None:
        self._bound(*[sizes[name] for name in self._ints])(*arrays)


def _check_layout() -> None:
    """Refuse to run where array objects are laid out otherwise than expected."""
    probe = np.zeros(3)
    found = ctypes.c_void_p.from_address(id(probe) + DATA_OFFSET).value
    if found != probe.ctypes.data:
        raise ImportError(
            "this Python lays out NumPy arrays in an unknown way; use CPython with NumPy 2"
        )


_check_layout()
