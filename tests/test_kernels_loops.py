"""The loop IR: what its verifier refuses, how it reads as text and LLVM, what its loops compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cellwire.kernels.loops import (
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    Accumulator,
    Buffer,
    Call,
    Const,
    ExprBuilder,
    Function,
    Let,
    Load,
    Loop,
    LoopError,
    Reduce,
    Scratch,
    Store,
    Var,
    affine,
    call,
    cast,
    const,
    load,
    select,
)
from cellwire.kernels.native import module_text
from cellwire.kernels.target import Target
from cellwire.kernels.verify import verify
from loop_functions import SHORT, X_I, X, Y, over_i, run

# -- the verifier ------------------------------------------------------------------------------

TOTAL = Accumulator("total", "sum", FLOAT32)
STORE = Store("y", affine("i"), X_I)

REFUSED = {
    "is not defined here": over_i(Store("y", affine("i"), Var("t", FLOAT32))),
    "is used as float64 but is float32": over_i(
        Let("t", X_I), Store("y", affine("i"), cast(Var("t", FLOAT64), FLOAT32))
    ),
    "t is defined twice": over_i(Let("t", X_I), Let("t", X_I)),
    "'1x' is not a name": over_i(Let("1x", X_I)),
    "y holds float32, got float64": over_i(Store("y", affine("i"), cast(X_I, FLOAT64))),
    "x holds float32, loaded as int64": over_i(Let("t", Load("x", affine("i"), INT64))),
    "z is neither a buffer nor a scratch array": over_i(Store("z", affine("i"), X_I)),
    "index of x: k is not an int64 defined here": over_i(Let("t", load(X, affine("k")))),
    "index of x: s is no integer parameter": over_i(Let("t", load(X, affine(("i", "s"))))),
    "does not move with vector loop i": over_i(Store("y", affine(offset=3), X_I)),
    "at an index that a vector lane computes": over_i(
        Let("at", cast(X_I, INT64)), Store("y", affine("i", "at"), X_I)
    ),
    "lies inside vector loop i": over_i(Loop("j", 4, (), vector=True)),
    "extent m is no integer parameter": Function("f", (X,), (), (Loop("i", "m", ()),)),
    "extent -1 is negative": Function("f", (X,), (), (Loop("i", -1, ()),)),
    "total is no accumulator of the loop that holds its Reduce": over_i(
        Loop("j", 4, (Reduce("total", X_I),)), accumulators=(TOTAL,)
    ),
    "total sums float32, got float64": over_i(
        Reduce("total", cast(X_I, FLOAT64)), accumulators=(TOTAL,)
    ),
    "'mean' is not one of": over_i(accumulators=(Accumulator("t", "mean", FLOAT32),)),
    "no sum of bool": over_i(accumulators=(Accumulator("t", "sum", BOOL),)),
    "arguments must share one dtype": over_i(
        Let("t", Call("add", (X_I, const(1, INT64)), FLOAT32))
    ),
    "add is defined for float and int": over_i(
        Let("t", Call("add", (const(True, BOOL), const(True, BOOL)), BOOL))
    ),
    "exp takes 1 arguments": over_i(Let("t", Call("exp", (X_I, X_I), FLOAT32))),
    "'frobnicate' is not a scalar op": over_i(Let("t", Call("frobnicate", (X_I,), FLOAT32))),
    "must hold 1..262144 bytes": over_i(scratch=(Scratch("row", FLOAT32, 70000),)),
    "has dtype complex64": over_i(buffers=(X, Buffer("y", np.dtype(np.complex64)))),
    "constant of dtype complex128": over_i(Let("t", Const(1, np.dtype(complex)))),
}


@pytest.mark.parametrize("reason", REFUSED, ids=lambda text: text.replace(" ", "-"))
def test_verifier_refuses(reason: str) -> None:
    with pytest.raises(LoopError, match="kernel f: ") as caught:
        verify(REFUSED[reason])
    assert reason in str(caught.value)


def test_half_floats_are_only_stored_and_cast() -> None:
    half = Buffer("h", FLOAT16)
    with pytest.raises(LoopError, match="add is defined for float and int"):
        load(half, affine("i")) + 1.0
    verify(
        over_i(Store("y", affine("i"), cast(load(half, affine("i")), FLOAT32)), buffers=(half, Y))
    )


def test_expressions_check_themselves_when_they_are_built() -> None:
    with pytest.raises(LoopError, match="not a scalar op"):
        call("frobnicate", X_I)
    with pytest.raises(LoopError, match="select takes a bool"):
        select(X_I, X_I, X_I)
    with pytest.raises(LoopError, match="at least one expression"):
        call("add", 1.0, 2.0)
    with pytest.raises(AttributeError, match="no scalar op 'frobnicate'"):
        ExprBuilder().frobnicate(X_I)


def test_the_builder_speaks_every_op() -> None:
    b = ExprBuilder()
    assert b.maximum(X_I, 0).op == "maximum"
    assert b.and_(b.lt(X_I, 1), b.not_(b.isnan(X_I))).dtype == BOOL
    assert b.select(X_I > 0, X_I, 0).dtype == FLOAT32


# -- text --------------------------------------------------------------------------------------


def softmax(width: int, dtype: Any = FLOAT32) -> Function:
    source, target = Buffer("src", dtype), Buffer("dst", dtype, noalias=True)
    row = Scratch("row", dtype, width)
    x, top, e, total = (Var(name, dtype) for name in ("x", "top", "e", "total"))

    def at(name: str) -> Any:
        return affine(("i", width), name)

    body = (
        Loop(
            "j",
            width,
            (Let("x", load(source, at("j"))), Store("row", affine("j"), x), Reduce("top", x)),
            True,
            (Accumulator("top", "max", dtype),),
        ),
        Loop(
            "k",
            width,
            (
                Let("e", call("exp", load(row, affine("k")) - top)),
                Store("row", affine("k"), e),
                Reduce("total", e),
            ),
            True,
            (Accumulator("total", "sum", dtype),),
        ),
        Loop("m", width, (Store("dst", at("m"), load(row, affine("m")) / total),), True),
    )
    return Function("softmax", (source, target), ("n",), (Loop("i", "n", body),), (row,))


def test_a_function_reads_as_text() -> None:
    assert str(softmax(64)) == (
        "softmax(src: float32, dst: float32 noalias, n: int):\n"
        "  scratch row: float32[64]\n"
        "  for i < n:\n"
        "    vector j < 64 top=max:float32:\n"
        "      x = src[i*64 + j]\n"
        "      row[j] = x\n"
        "      top <- x\n"
        "    vector k < 64 total=sum:float32:\n"
        "      e = exp(sub(row[k], top))\n"
        "      row[k] = e\n"
        "      total <- e\n"
        "    vector m < 64:\n"
        "      dst[i*64 + m] = div(row[m], total)\n"
    )


def test_shared_parts_are_named_once_and_constants_are_exact() -> None:
    square = X_I * X_I
    for _ in range(60):  # 2^60 nodes if it were a tree
        square = square + square
    text = str(over_i(Store("y", affine("i"), square + 0.1)))
    assert "%0 = x[i]\n" in text
    assert len(text.splitlines()) == 64
    assert "0x1.99999a0000000p-4:float32" in text


def test_the_fingerprint_leaves_out_the_name() -> None:
    one, two = softmax(8), softmax(8)
    renamed = Function("other", two.buffers, two.ints, two.body, two.scratch)
    assert one.fingerprint == renamed.fingerprint != softmax(9).fingerprint


def test_a_function_prints_as_llvm() -> None:
    target = Target("x86_64-unknown-linux-gnu", "skylake-avx512", "", 64, 32)
    scale = Store("y", affine("i"), X_I * 2.0 + 1.0)
    function = Function("scale", (X, Y), (), (Loop("i", 12, (scale,), True),))
    bits = ", ".join(["i1 true"] * 12 + ["i1 false"] * 4)
    assert module_text([function], target) == (
        "define void @scale(ptr %arg.x, ptr %arg.y) nounwind {\n"
        "entry:\n"
        "  %p1 = getelementptr float, ptr %arg.x, i64 0\n"
        "  %v2 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %p1, "
        f"<16 x i1> <{bits}>, <16 x float> zeroinitializer)\n"
        "  %v3 = fmul contract <16 x float> %v2, splat (float 0x4000000000000000)\n"
        "  %v4 = fadd contract <16 x float> %v3, splat (float 0x3FF0000000000000)\n"
        "  %p5 = getelementptr float, ptr %arg.y, i64 0\n"
        "  call void @llvm.masked.store.v16f32.p0(<16 x float> %v4, ptr align 4 %p5, "
        f"<16 x i1> <{bits}>)\n"
        "  ret void\n"
        "}\n\n"
        "declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)\n"
        "declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)\n"
    )


# -- loops -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("target", [None, SHORT], ids=["host", "short"])
def test_tails_of_every_length(dtype: Any, target: Target | None) -> None:
    kind = np.dtype(dtype)
    x, y = Buffer("x", kind), Buffer("y", kind)
    value = load(x, affine("i")) * 3.0
    function = over_i(Store("y", affine("i"), value), buffers=(x, y))
    data = np.arange(80, dtype=dtype)
    for length in range(66):
        out = np.full(80, -1, dtype)
        run(function, [data, out], [length], target)
        np.testing.assert_array_equal(out[:length], 3 * data[:length])
        assert (out[length:] == -1).all(), length


@pytest.mark.parametrize("width", [1, 2, 3, 7, 10, 16, 31, 64, 65, 100])
@pytest.mark.parametrize("target", [None, SHORT], ids=["host", "short"])
def test_softmax_is_one_kernel(width: int, target: Target | None) -> None:
    data = np.random.default_rng(width).normal(size=(5, width)).astype(np.float32) * 20
    out = np.empty_like(data)
    run(softmax(width), [data, out], [5], target)
    exact = np.exp((data - data.max(1, keepdims=True)).astype(np.float64))
    np.testing.assert_allclose(out, exact / exact.sum(1, keepdims=True), rtol=3e-6, atol=1e-44)


def test_softmax_of_nan_and_infinity() -> None:
    data = np.array([[1, np.nan, 2], [-np.inf, 0, 0], [np.inf, 0, 1]], np.float32)
    out = np.empty_like(data)
    run(softmax(3), [data, out], [3])
    assert np.isnan(out[0]).all()
    np.testing.assert_array_equal(out[1], [0, 0.5, 0.5])
    assert np.isnan(out[2, 0])


REDUCERS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8])
@pytest.mark.parametrize("count", [1, 5, 16, 33, 200])
def test_several_reductions_of_one_loop(dtype: Any, count: int) -> None:
    kind = np.dtype(dtype)
    x, y = Buffer("x", kind), Buffer("y", kind)
    accumulators = tuple(Accumulator(name, name, kind) for name in REDUCERS)
    reduces = tuple(Reduce(name, load(x, affine("i"))) for name in REDUCERS)
    stores = tuple(
        Store("y", affine(offset=place), Var(name, kind)) for place, name in enumerate(REDUCERS)
    )
    data = np.random.default_rng(count).integers(1, 4, count).astype(dtype)
    data[: count // 2] = 1
    for extent in (count, "n"):
        loop = Loop("i", extent, reduces, True, accumulators)
        out = np.zeros(4, dtype)
        run(Function("f", (x, y), ("n",), (loop, *stores)), [data, out], [count])
        expected = [r(data, dtype=dtype) if n in ("sum", "prod") else r(data)
                    for n, r in REDUCERS.items()]  # fmt: skip
        np.testing.assert_allclose(out, np.array(expected, dtype), rtol=1e-6)


def test_max_and_min_pass_nan_on_wherever_it_is() -> None:
    accumulators = (Accumulator("top", "max", FLOAT32), Accumulator("low", "min", FLOAT32))
    loop = Loop("i", "n", (Reduce("top", X_I), Reduce("low", X_I)), True, accumulators)
    stores = (
        Store("y", affine(), Var("top", FLOAT32)),
        Store("y", affine(offset=1), Var("low", FLOAT32)),
    )
    function = Function("f", (X, Y), ("n",), (loop, *stores))
    for place in range(0, 70, 3):
        data, out = np.ones(70, np.float32), np.zeros(2, np.float32)
        data[place] = np.nan
        run(function, [data, out], [70])
        assert np.isnan(out).all(), place


def test_any_and_all_of_bools() -> None:
    flags, out = Buffer("x", BOOL), Buffer("y", BOOL)
    accumulators = (Accumulator("any", "max", BOOL), Accumulator("all", "min", BOOL))
    value = load(flags, affine("i"))
    loop = Loop("i", "n", (Reduce("any", value), Reduce("all", value)), True, accumulators)
    stores = (
        Store("y", affine(), Var("any", BOOL)),
        Store("y", affine(offset=1), Var("all", BOOL)),
    )
    function = Function("f", (flags, out), ("n",), (loop, *stores))
    for data in (np.zeros(40, bool), np.ones(40, bool), np.arange(40) == 37):
        result = np.zeros(2, bool)
        run(function, [data, result], [40])
        assert list(result) == [data.any(), data.all()]


def column_sums(dtype: Any) -> Function:
    x, y = Buffer("x", dtype), Buffer("y", dtype)
    inner = Loop(
        "i",
        "rows",
        (Reduce("total", load(x, affine(("i", "columns"), "j"))),),
        accumulators=(Accumulator("total", "sum", dtype),),
    )
    outer = Loop("j", "columns", (inner, Store("y", affine("j"), Var("total", dtype))), True)
    return Function("columns", (x, y), ("rows", "columns"), (outer,))


@pytest.mark.parametrize("shape", [(1, 1), (7, 10), (33, 64), (5, 200), (0, 3)])
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
@pytest.mark.parametrize("target", [None, SHORT], ids=["host", "short"])
def test_sums_down_the_columns(shape: Any, dtype: Any, target: Target | None) -> None:
    data = np.random.default_rng(1).normal(size=shape).astype(dtype)
    out = np.full(shape[1], np.nan, dtype)
    run(column_sums(dtype), [data, out], shape, target)
    np.testing.assert_allclose(out, data.sum(0), rtol=1e-4, atol=1e-5)


def layer_norm_grad(width: int) -> Function:
    """dx of a layer norm without scale: (dy - mean(dy) - h * mean(dy * h)) * r."""
    x, dy, dx = (Buffer(name, FLOAT32) for name in ("x", "dy", "dx"))
    hats = Scratch("hats", FLOAT32, width)

    def at(name: str) -> Any:
        return affine(("i", width), name)

    def var(name: str) -> Var:
        return Var(name, FLOAT32)

    def sums(*names: str) -> Any:
        return tuple(Accumulator(name, "sum", FLOAT32) for name in names)

    n = float(width)
    d, g, h = var("d"), var("g"), var("h")
    centre = (
        Let("d", load(x, at("k")) - var("mean")),
        Store("hats", affine("k"), d),
        Reduce("q", d * d),
    )
    project = (
        Let("h", load(hats, affine("m")) * var("r")),
        Store("hats", affine("m"), h),
        Let("g", load(dy, at("m"))),
        Reduce("a", g),
        Reduce("b", g * h),
    )
    result = load(dy, at("o")) - var("a") / n - load(hats, affine("o")) * (var("b") / n)
    body = (
        Loop("j", width, (Reduce("s", load(x, at("j"))),), True, sums("s")),
        Let("mean", var("s") / n),
        Loop("k", width, centre, True, sums("q")),
        Let("r", call("rsqrt", var("q") / n + 1e-5)),
        Loop("m", width, project, True, sums("a", "b")),
        Loop("o", width, (Store("dx", at("o"), result * var("r")),), True),
    )
    return Function("grad", (x, dy, dx), ("n",), (Loop("i", "n", body),), (hats,))


def test_the_backward_of_layer_norm_is_one_kernel() -> None:
    x, dy = np.random.default_rng(3).normal(size=(2, 6, 50)).astype(np.float32)
    dx = np.empty_like(x)
    run(layer_norm_grad(50), [x, dy, dx], [6])
    x64, dy64 = x.astype(np.float64), dy.astype(np.float64)
    r = 1 / np.sqrt(x64.var(1, keepdims=True) + 1e-5)
    h = (x64 - x64.mean(1, keepdims=True)) * r
    expected = (dy64 - dy64.mean(1, keepdims=True) - h * (dy64 * h).mean(1, keepdims=True)) * r
    np.testing.assert_allclose(dx, expected, atol=2e-6)
