"""Calls of machine code from Python without an argument being looked at in Python.

`fast_call` makes a function object of Python's own kind over one piece of machine code, which
reads tensors and arrays as they lie in memory: it compares shapes, strides and dtypes with those
of a plan, gathers the addresses and calls the plan's entry. A call costs some 0.1 µs, where ctypes
and the comparisons in Python cost 0.6 µs.

The offsets are those of CPython and NumPy; `_layout` looks whether they hold on this machine.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from .native import Library, compile_module
from .once import once
from .program_code import DATA_OFFSET
from .target import Target

TYPE_OFFSET: Final = 8
NDIM_OFFSET: Final = DATA_OFFSET + 8
SHAPE_OFFSET: Final = DATA_OFFSET + 16
STRIDES_OFFSET: Final = DATA_OFFSET + 24
DTYPE_OFFSET: Final = DATA_OFFSET + 40
BYTES_OFFSET: Final = bytes.__basicsize__ - 1
"""Where a bytes object holds its bytes: its size counts one for the zero at the end."""
METH_FASTCALL: Final = 0x80
HEAD: Final = 10
"""Words of a description before the words of the call."""


@dataclass(frozen=True, slots=True)
class Expected:
    """A tensor that a call takes: what its array must be like, and its place among the arrays."""

    place: int
    array: np.ndarray
    """An array of the shape, strides and dtype that are asked for."""


class _FastCallCode:
    """The function that all fast calls share; `self` is the description, a bytes object."""

    name = "cellwire_fast_call"
    text = f"fast call 1 {DATA_OFFSET} {BYTES_OFFSET}"

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        return _TEXT


class _NothingCode:
    """Code that does nothing: for calls that only look at their arguments."""

    name = "cellwire_nothing"
    text = "nothing"

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        return "define void @cellwire_nothing(ptr %call) nounwind {\n  ret void\n}"


def _word(name: str, base: str, index: str, kind: str = "i64") -> str:
    """Return the lines that load one word."""
    return (
        f"  %{name}.at = getelementptr i64, ptr {base}, i64 {index}\n"
        f"  %{name} = load {kind}, ptr %{name}.at, align 8"
    )


def _field(name: str, base: str, offset: int | str, kind: str) -> str:
    """Return the lines that load a field of an object."""
    return (
        f"  %{name}.at = getelementptr i8, ptr {base}, i64 {offset}\n"
        f"  %{name} = load {kind}, ptr %{name}.at, align 4"
    )


_TEXT = f"""\
define ptr @cellwire_fast_call(ptr %self, ptr %args, i64 %given) nounwind {{
entry:
  %spec = getelementptr i8, ptr %self, i64 {BYTES_OFFSET}
{_word("run", "%spec", "0", "ptr")}
{_word("words", "%spec", "1")}
{_word("count", "%spec", "2")}
{_word("release", "%spec", "3", "ptr")}
{_word("acquire", "%spec", "4", "ptr")}
{_word("true", "%spec", "5", "ptr")}
{_word("false", "%spec", "6", "ptr")}
{_word("hold", "%spec", "7", "ptr")}
{_word("kind", "%spec", "8", "ptr")}
{_word("offset", "%spec", "9")}
  %template = getelementptr i64, ptr %spec, i64 {HEAD}
  %first = getelementptr i64, ptr %template, i64 %words
  %call = alloca i64, i64 %words, align 8
  %right = icmp eq i64 %given, %count
  br i1 %right, label %copy, label %other
copy:
  %i = phi i64 [0, %entry], [%i.next, %copy]
{_word("word", "%template", "%i")}
  %to = getelementptr i64, ptr %call, i64 %i
  store i64 %word, ptr %to, align 8
  %i.next = add i64 %i, 1
  %copied = icmp eq i64 %i.next, %words
  br i1 %copied, label %next, label %copy
next:
  %n = phi i64 [0, %copy], [%n.next, %placed]
  %at = phi ptr [%first, %copy], [%after, %placed]
  %more = icmp ult i64 %n, %count
  br i1 %more, label %look, label %ready
look:
{_word("object", "%args", "%n", "ptr")}
{_word("place", "%at", "0")}
{_word("dtype", "%at", "1", "ptr")}
{_word("ndim", "%at", "2")}
  %axes = getelementptr i64, ptr %at, i64 3
  %trusted = icmp eq ptr %dtype, null
  br i1 %trusted, label %placed, label %tensor
tensor:
{_field("its.kind", "%object", TYPE_OFFSET, "ptr")}
  %is.tensor = icmp eq ptr %its.kind, %kind
  br i1 %is.tensor, label %data, label %other
data:
{_field("array", "%object", "%offset", "ptr")}
  %has = icmp ne ptr %array, null
  br i1 %has, label %header, label %other
header:
{_field("its.dtype", "%array", DTYPE_OFFSET, "ptr")}
  %same.dtype = icmp eq ptr %its.dtype, %dtype
{_field("its.ndim", "%array", NDIM_OFFSET, "i32")}
  %its.rank = sext i32 %its.ndim to i64
  %same.ndim = icmp eq i64 %its.rank, %ndim
  %alike = and i1 %same.dtype, %same.ndim
{_field("shape", "%array", SHAPE_OFFSET, "ptr")}
{_field("strides", "%array", STRIDES_OFFSET, "ptr")}
  br i1 %alike, label %axis, label %other
axis:
  %a = phi i64 [0, %header], [%a.next, %size]
  %some = icmp ult i64 %a, %ndim
  br i1 %some, label %size, label %placed
size:
{_word("its.size", "%shape", "%a")}
{_word("its.stride", "%strides", "%a")}
  %pair = shl i64 %a, 1
  %second = or i64 %pair, 1
{_word("want.size", "%axes", "%pair")}
{_word("want.stride", "%axes", "%second")}
  %same.size = icmp eq i64 %its.size, %want.size
  %same.stride = icmp eq i64 %its.stride, %want.stride
  %same = and i1 %same.size, %same.stride
  %a.next = add i64 %a, 1
  br i1 %same, label %axis, label %other
placed:
  %found = phi ptr [%object, %look], [%array, %axis]
  %target = getelementptr i64, ptr %call, i64 %place
  store ptr %found, ptr %target, align 8
  %pairs = shl i64 %ndim, 1
  %after = getelementptr i64, ptr %axes, i64 %pairs
  %n.next = add i64 %n, 1
  br label %next
ready:
  %long = icmp ne ptr %release, null
  br i1 %long, label %alone, label %short
short:
  call void %run(ptr %call)
  br label %done
alone:
  %thread = call ptr %release()
  call void %run(ptr %call)
  call void %acquire(ptr %thread)
  br label %done
done:
  call void %hold(ptr %true)
  ret ptr %true
other:
  call void %hold(ptr %false)
  ret ptr %false
}}"""


class _MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


@dataclass(frozen=True, slots=True)
class _Shared:
    """What all fast calls have in common; it lasts as long as the process."""

    library: Library
    method: _MethodDef
    make: Callable[..., Any]
    release: int
    acquire: int
    hold: int


@once
def _shared() -> _Shared:
    library = compile_module([_FastCallCode(), _NothingCode()])
    method = _MethodDef(b"fast_call", library[_FastCallCode.name], METH_FASTCALL, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    names = ("PyEval_SaveThread", "PyEval_RestoreThread", "Py_IncRef")
    found = [ctypes.cast(getattr(ctypes.pythonapi, n), ctypes.c_void_p).value or 0 for n in names]
    return _Shared(library, method, make, *found)


def _read(address: int, kind: Any = ctypes.c_void_p) -> int:
    return kind.from_address(address).value or 0


@cache
def slot_offset(kind: type) -> int | None:
    """Return where instances of a class hold the slot `data`; None where that is not found."""
    array = np.zeros(1)
    probe = object.__new__(kind)
    probe.data = array  # pyright: ignore[reportAttributeAccessIssue]
    for offset in range(DATA_OFFSET, kind.__basicsize__, 8):
        if _read(id(probe) + offset) == id(array):
            return offset
    return None


@cache
def _layout() -> bool:
    """Return whether objects lie in memory as the machine code reads them."""
    probe = np.zeros((3, 5), np.float32)[:, 1:4]
    shape, strides = _read(id(probe) + SHAPE_OFFSET), _read(id(probe) + STRIDES_OFFSET)
    spelt = b"cellwire"
    return (
        _read(id(probe) + TYPE_OFFSET) == id(np.ndarray)
        and _read(id(probe) + NDIM_OFFSET, ctypes.c_int) == 2
        and _read(id(probe) + DTYPE_OFFSET) == id(probe.dtype)
        and [_read(shape + 8 * i) for i in range(2)] == [3, 3]
        and [_read(strides + 8 * i) for i in range(2)] == [20, 4]
        and ctypes.string_at(id(spelt) + BYTES_OFFSET, len(spelt)) == spelt
    )


def fast_call(
    function: int | None,
    words: Sequence[int],
    arguments: Sequence[Expected | int],
    tensor: type,
) -> Callable[..., bool] | None:
    """Return a function that checks its arguments and runs machine code; None if there is none.

    Parameters
    ----------
    function : int or None
        Address of the code, which takes a pointer to the words of a call; other threads of Python
        may run meanwhile. None only checks.
    words : sequence of int
        Those words; the ones that arguments fill are of no matter.
    arguments : sequence of Expected or int
        What each argument must be: a tensor, or an array that is taken as it is, by its place
        among the words.
    tensor : type
        The exact class of tensors, whose slot ``data`` holds the array.

    Returns
    -------
    callable
        It returns False, and has done nothing, where an argument is not what was expected.
    """
    offset = slot_offset(tensor) if _layout() else None
    if offset is None:
        return None
    shared = _shared()
    gil = (0, 0) if function is None else (shared.release, shared.acquire)
    run = shared.library[_NothingCode.name] if function is None else function
    spec = [run, len(words), len(arguments), *gil, id(True), id(False), shared.hold]
    spec += [id(tensor), offset, *words]
    for argument in arguments:
        if isinstance(argument, int):
            spec += [argument, 0, 0]
            continue
        array = argument.array
        spec += [argument.place, id(array.dtype), array.ndim]
        spec += [number for pair in zip(array.shape, array.strides, strict=True) for number in pair]
    packed = struct.pack(f"{len(spec)}q", *spec)
    return shared.make(ctypes.addressof(shared.method), packed, None)
