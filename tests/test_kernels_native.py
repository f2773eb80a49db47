"""Compiling, the cache of machine code, and running a plan's program as one native call."""

from __future__ import annotations

import ctypes
import functools
import gc
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cellwire.kernels import loading, native, object_cache, runtime
from cellwire.kernels.codegen import emit_objects
from cellwire.kernels.gemm import BlasGemm, Product, blas_address
from cellwire.kernels.loops import FLOAT32, Buffer, Function, Loop, Store, affine, load
from cellwire.kernels.native import compile_module
from cellwire.kernels.runtime import Program, SingleKernel, Slot, Step, build_entry
from cellwire.kernels.target import host

X, Y = Buffer("x", FLOAT32), Buffer("y", FLOAT32)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CELLWIRE_CACHE_DIR", str(tmp_path))
    return tmp_path


def scale(factor: float, name: str = "scale") -> Function:
    """y = x * factor over n elements."""
    body = (Store("y", affine("i"), load(X, affine("i")) * factor),)
    return Function(name, (X, Y), ("n",), (Loop("i", "n", body, True),))


def chain(*names: str) -> Program:
    """A program: array 0 through the kernels in turn, by fixed buffer 0, into array 1."""
    slots = [Slot("array", 0), *[Slot("fixed", 0)] * (len(names) - 1), Slot("array", 1)]
    steps = [Step(n, (slots[k], slots[k + 1]), ("n",)) for k, n in enumerate(names)]
    return Program("main", 2, 1, ("n",), tuple(steps))


def single(name: str, count: int) -> Program:
    """A program of one step over a constant number of elements."""
    step = Step(name, (Slot("array", 0), Slot("array", 1)), (count,))
    return Program("main", 2, 0, (), (step,))


def run_scale(factor: float) -> tuple[Any, np.ndarray]:
    entry = build_entry(single("scale", 3), [scale(factor)])
    x, y = np.ones(3, np.float32), np.zeros(3, np.float32)
    entry.bind()(x, y)
    return entry.library, y


# -- the cache ---------------------------------------------------------------------------------


def test_a_second_load_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compile_module([scale(2.0)]).compiled

    def refuse(*_: Any) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(native, "module_text", refuse)
    library = compile_module([scale(2.0)])
    assert not library.compiled
    assert library["scale"]
    with pytest.raises(AssertionError, match="compiled again"):
        compile_module([scale(3.0)])


def test_one_object_serves_one_text(cache: Path) -> None:
    compile_module([scale(2.0)])
    compile_module([scale(2.0), scale(2.0, "other")])
    assert len(list(cache.rglob("*.o"))) == 2
    assert not list(cache.rglob(".*.new"))


def test_the_key_covers_text_and_machine() -> None:
    here = host()
    keys = {object_cache.object_key(texts, target) for texts, target in [
        (["a", "b"], here), (["ab", ""], here), (["a"], here),
        (["a"], type(here)(here.triple, "other", here.features, 64, 32)),
        (["a"], type(here)(here.triple, here.cpu, here.features, 16, 32)),
    ]}  # fmt: skip
    assert len(keys) == 5


def test_names_in_a_module_differ() -> None:
    with pytest.raises(ValueError, match="different names"):
        compile_module([scale(1.0), scale(2.0)])


def test_threads_may_compile_at_once() -> None:
    results: list[bool] = []

    def work(k: int) -> None:
        results.append(bool((run_scale(float(k))[1] == k).all()))  # fmt: skip

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4


# -- programs ----------------------------------------------------------------------------------


def test_a_program_runs_its_steps_in_order() -> None:
    entry = build_entry(chain("twice", "thrice"), [scale(2.0, "twice"), scale(3.0, "thrice")])
    between = np.zeros(50, np.float32)
    bound = entry.bind([between], {"n": 40})
    x, y = np.arange(50, dtype=np.float32), np.zeros(50, np.float32)
    bound(x, y)
    np.testing.assert_array_equal(y[:40], 6 * x[:40])
    np.testing.assert_array_equal(y[40:], 0)
    np.testing.assert_array_equal(between[:40], 2 * x[:40])
    smaller = entry.bind([between], {"n": 3})
    smaller(y, x)
    np.testing.assert_array_equal(x[:4], [0, 36, 72, 3])


def test_offsets_into_one_arena() -> None:
    first = Step("twice", (Slot("array", 0), Slot("fixed", 0, 64)), (16,))
    second = Step("twice", (Slot("fixed", 0, 64), Slot("array", 1, 4)), ("n",))
    entry = build_entry(Program("main", 2, 1, ("n",), (first, second)), [scale(2.0, "twice")])
    arena = np.zeros(32, np.float32)
    x, y = np.ones(16, np.float32), np.zeros(4, np.float32)
    entry.bind([arena], {"n": 2})(x, y)
    np.testing.assert_array_equal(y, [0, 4, 4, 0])
    np.testing.assert_array_equal(arena, [0] * 16 + [2] * 16)


def test_a_bound_program_keeps_its_code_and_buffers_alive() -> None:
    bound = build_entry(chain("a", "b"), [scale(2.0, "a"), scale(2.0, "b")]).bind(
        [np.zeros(8, np.float32)], {"n": 8}
    )
    gc.collect()
    x, y = np.ones(8, np.float32), np.zeros(8, np.float32)
    bound(x, y)
    np.testing.assert_array_equal(y, 4)


def test_addresses_are_bound_like_buffers() -> None:
    kernel = BlasGemm("product", Product(FLOAT32, 2, 2, 2))
    slots = tuple(Slot("array", k) for k in range(3))
    program = Program("main", 3, 1, (), (Step("product", (*slots, Slot("fixed", 0))),))
    bound = build_entry(program, [kernel]).bind([blas_address(FLOAT32)])
    a, b = np.float32([[1, 2], [3, 4]]), np.float32([[5, 6], [7, 8]])
    c = np.zeros((2, 2), np.float32)
    bound(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def test_calls_from_several_threads_do_not_mix() -> None:
    bound = build_entry(single("f", 1000), [scale(2.0, "f")]).bind()
    wrong: list[int] = []

    def work(k: int) -> None:
        x, y = np.full(1000, k, np.float32), np.zeros(1000, np.float32)
        for _ in range(300):
            y[:] = 0
            bound(x, y)
            if not (y == 2 * k).all():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_single_kernel_is_called_with_arrays_and_sizes() -> None:
    call = SingleKernel(scale(2.0), 2, ("n",))
    x, y = np.arange(6, dtype=np.float32), np.zeros(6, np.float32)
    for n in (2, 5, 2):
        y[:] = 0
        call(x, y, n=n)
        np.testing.assert_array_equal(y, [*(2 * x[:n]), *[0] * (6 - n)])


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="main calls missing, which is not among"):
        build_entry(chain("missing"), [scale(1.0)])
    entry = build_entry(chain("scale"), [scale(1.0)])
    with pytest.raises(ValueError, match="binds 1 buffers and sizes"):
        entry.bind([], {"n": 1})
    with pytest.raises(ValueError, match="binds 1 buffers and sizes"):
        entry.bind([np.zeros(1)], {"m": 1})


def test_a_program_reads_as_text() -> None:
    assert chain("a", "b").text == (
        "program main(2 arrays, 1 fixed, ('n',))\n"
        "  a(array0+0, fixed0+0, n)\n"
        "  b(fixed0+0, array1+0, n)\n"
    )


def test_code_is_gone_with_what_refers_to_it() -> None:
    kept = compile_module([scale(1.0)])
    before = set(loading.engines)
    for number in range(3 * loading.LIBRARIES):
        compile_module([scale(float(number % 2))])
    gc.collect()
    new = [engine for key, engine in loading.engines.items() if key not in before]
    assert sum(bool(engine.left) for engine in loading.engines.values()) <= 1
    assert len(new) <= 1
    assert all(not engine.live for engine in new)
    x, y = np.ones(3, np.float32), np.zeros(3, np.float32)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(kept["scale"])
    run(x.ctypes.data, y.ctypes.data, 3)
    np.testing.assert_array_equal(y, 1)


def test_a_symbol_that_is_missing_leaves_no_library() -> None:
    program = single("nowhere", 3)
    with pytest.raises(RuntimeError, match="Failed to materialize"):
        compile_module([program])
    assert run_scale(2.0)[1].tolist() == [2, 2, 2]


def test_two_threads_make_the_same_code() -> None:
    modules = [[scale(float(k), f"scale{k}")] for k in range(5)]
    jobs = [(functools.partial(native.module_text, module), False) for module in modules]
    assert emit_objects(jobs, host(), 2) == emit_objects(jobs, host(), 1)

    def broken() -> str:
        return "define void @f() { nonsense }"

    for threads in (1, 2):
        with pytest.raises(RuntimeError, match="expected instruction"):
            emit_objects([*jobs, (broken, False), *jobs], host(), threads)


def test_long_programs_are_compiled_quickly_and_run_alike() -> None:
    kernels = [scale(2.0, "twice"), scale(0.5, "half")]
    for count in (1, runtime.MOST_STEPS):
        program = chain("twice", *["twice", "half"] * count)
        assert program.quick is (count > 1)
        x, y = np.ones(5, np.float32), np.zeros(5, np.float32)
        build_entry(program, kernels).bind([np.zeros(5, np.float32)], {"n": 5})(x, y)
        assert y.tolist() == [2] * 5
