"""Matrix products, generated and by BLAS, in every layout, with edges and epilogues."""

from __future__ import annotations

import ctypes
from itertools import product
from typing import Any

import numpy as np
import pytest
from cellwire.kernels.gemm import (
    EPILOGUE_INTS,
    BlasGemm,
    Gemm,
    PackedGemm,
    Product,
    StreamGemm,
    blas_address,
    choose_gemm,
)
from cellwire.kernels.loops import (
    FLOAT32,
    FLOAT64,
    INT32,
    Buffer,
    Function,
    Let,
    Loop,
    LoopError,
    Store,
    Var,
    affine,
    call,
    load,
)
from cellwire.kernels.native import compile_module
from cellwire.kernels.target import Target, host
from hypothesis import given, settings
from hypothesis import strategies as st

SHORT = Target(host().triple, host().cpu, host().features, 16, 16)
TRANSPOSED = list(product([False, True], repeat=2))


def operand(rng: np.random.Generator, shape: Any, transposed: bool, dtype: Any) -> Any:
    """A random matrix (or batch of them) and how it is stored."""
    x = rng.standard_normal(shape).astype(dtype)
    return x, np.ascontiguousarray(x.swapaxes(-1, -2)) if transposed else x


def run(
    kernel: Any,
    a: np.ndarray,
    b: np.ndarray,
    c: np.ndarray | None,
    others: Any = (),
    ints: Any = (),
    target: Target | None = None,
) -> None:
    """Compile a product and run it."""
    pointers = [x.ctypes.data for x in (a, b, *([] if c is None else [c]), *others)]
    if isinstance(kernel, BlasGemm):
        pointers.append(blas_address(kernel.product.dtype))
    if isinstance(kernel, PackedGemm | StreamGemm):
        across = kernel.product.m if isinstance(kernel, StreamGemm) else kernel.product.n
        known = dict(zip(kernel.ints, ints, strict=True))
        wanted = (across, kernel.product.k)
        sizes = [known[size] if isinstance(size, str) else size for size in wanted]
        held = np.full(kernel.workspace(*sizes), np.nan, kernel.product.dtype)
        pointers.append(held.ctypes.data)
    library = compile_module([kernel], target)
    kinds = [ctypes.c_void_p] * len(pointers) + [ctypes.c_int64] * len(ints)
    ctypes.CFUNCTYPE(None, *kinds)(library[kernel.name])(*pointers, *ints)


def bias_relu(dtype: Any, n: Any) -> Function:
    """Add a value per column and one per row, a residual, and cut below zero."""
    c, bias, rows, residual = (Buffer(x, dtype) for x in ("c", "bias", "per_row", "residual"))
    at = affine(("first", n), ("i", n), "j")
    value = (
        load(c, at) + load(bias, affine("j")) + load(rows, affine("row", "i")) + load(residual, at)
    )
    body = (Let("x", value), Store("c", at, call("maximum", Var("x", dtype), 0.0)))
    ints = (*EPILOGUE_INTS, *([n] if isinstance(n, str) else []))
    loop = Loop("i", "rows", (Loop("j", n, body, True),))
    return Function("bias_relu", (c, bias, rows, residual), ints, (loop,))


SHAPES = [
    (1, 1, 1),
    (5, 3, 7),
    (13, 33, 17),
    (32, 64, 64),
    (70, 50, 300),
    (130, 17, 1),
    (3, 40, 513),
]


@pytest.mark.parametrize("kind", [Gemm, BlasGemm])
@pytest.mark.parametrize(("transpose_a", "transpose_b"), TRANSPOSED)
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
@pytest.mark.parametrize("target", [None, SHORT], ids=["host", "short"])
def test_products_of_constant_sizes(
    kind: Any, transpose_a: bool, transpose_b: bool, dtype: Any, target: Target
) -> None:
    rng = np.random.default_rng(1)
    for m, n, k in SHAPES:
        a, stored_a = operand(rng, (m, k), transpose_a, dtype)
        b, stored_b = operand(rng, (k, n), transpose_b, dtype)
        c = np.full((m, n), np.nan, dtype)
        kernel = kind("g", Product(dtype, m, n, k, transpose_a, transpose_b))
        run(kernel, stored_a, stored_b, c, target=target)
        tolerance = 1e-4 if dtype == FLOAT32 else 1e-12
        np.testing.assert_allclose(c, a.astype(np.float64) @ b, atol=tolerance)


@pytest.mark.parametrize("kind", [Gemm, BlasGemm, PackedGemm])
@pytest.mark.parametrize(("transpose_a", "transpose_b"), TRANSPOSED)
@settings(max_examples=12, deadline=None)
@given(m=st.integers(0, 40), n=st.integers(1, 70), k=st.integers(1, 300), batch=st.integers(1, 3))
def test_products_of_runtime_sizes_with_an_epilogue(
    kind: Any, transpose_a: bool, transpose_b: bool, m: int, n: int, k: int, batch: int
) -> None:
    rng = np.random.default_rng(2)
    a, stored_a = operand(rng, (batch, m, k), transpose_a, FLOAT32)
    b, stored_b = operand(rng, (batch, k, n), transpose_b, FLOAT32)
    bias, rows = rng.standard_normal(n), rng.standard_normal(m)
    residual = rng.standard_normal((batch, m, n))
    others = [x.astype(np.float32) for x in (bias, rows, residual)]
    c = np.full((batch, m, n), np.nan, np.float32)
    spec = Product(
        FLOAT32, "m", "n", "k", transpose_a, transpose_b, "batch", epilogue=bias_relu(FLOAT32, "n")
    )
    assert spec.ints == ("m", "n", "k", "batch")
    assert spec.others == ("bias", "per_row", "residual")
    run(kind("g", spec), stored_a, stored_b, c, others, [m, n, k, batch])
    expected = a.astype(np.float64) @ b + bias + rows[:, None] + residual
    np.testing.assert_allclose(c, np.maximum(expected, 0), atol=1e-4)


@pytest.mark.parametrize("kind", [Gemm, BlasGemm])
def test_an_epilogue_runs_panel_by_panel(kind: Any) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((300, 20)), rng.standard_normal((20, 33))
    others = [rng.standard_normal(33), rng.standard_normal(300), rng.standard_normal((300, 33))]
    expected = np.maximum(a @ b + others[0] + others[1][:, None] + others[2], 0)
    for m, ints in ((300, []), ("m", [300])):
        c = np.empty((300, 33))
        kernel = kind("g", Product(FLOAT64, m, 33, 20, epilogue=bias_relu(FLOAT64, 33)))
        run(kernel, a, b, c, others, ints)
        np.testing.assert_allclose(c, expected, atol=1e-12)


@pytest.mark.parametrize("kind", [Gemm, BlasGemm, PackedGemm])
@pytest.mark.parametrize(("share_a", "share_b"), TRANSPOSED)
@pytest.mark.parametrize("sum_batch", [False, True])
def test_batches_share_an_operand_or_are_summed(
    kind: Any, share_a: bool, share_b: bool, sum_batch: bool
) -> None:
    rng = np.random.default_rng(4)
    a = rng.standard_normal((1 if share_a else 5, 7, 270))
    b = rng.standard_normal((1 if share_b else 5, 270, 19))
    expected = np.broadcast_to(a @ b, (5, 7, 19))
    expected = expected.sum(0) if sum_batch else expected
    for batch, ints in ((5, []), ("count", [5])):
        c = np.full(expected.shape, np.nan)
        spec = Product(FLOAT64, 7, 19, 270, batch=batch, share_a=share_a, share_b=share_b,
                       sum_batch=sum_batch)  # fmt: skip
        run(kind("g", spec), a, b, c, ints=ints)
        np.testing.assert_allclose(c, expected, atol=1e-11)


@pytest.mark.parametrize("kind", [Gemm, BlasGemm, PackedGemm])
def test_an_empty_sum_is_zero(kind: Any) -> None:
    c = np.full((4, 5), np.nan, np.float32)
    run(
        kind("g", Product(FLOAT32, 4, 5, "k")),
        np.ones(4, np.float32),
        np.ones(5, np.float32),
        c,
        ints=[0],
    )
    np.testing.assert_array_equal(c, 0)


@pytest.mark.parametrize("kind", [Gemm, BlasGemm, PackedGemm])
def test_nan_and_infinity_pass_through_the_rows_they_touch(kind: Any) -> None:
    a, b = np.ones((3, 4), np.float32), np.ones((4, 20), np.float32)
    a[1, 2], b[0, 19] = np.nan, np.inf
    c = np.empty((3, 20), np.float32)
    run(kind("g", Product(FLOAT32, 3, 20, 4)), a, b, c)
    np.testing.assert_array_equal(c, a @ b)
    run(StreamGemm("g", Product(FLOAT32, 3, 20, 4, transpose_b=True)), a, b.T.copy(), c)
    np.testing.assert_array_equal(c, a @ b)


COLUMN_SHAPES = [(1, 1, 1), (5, 33, 7), (12, 32, 128), (13, 70, 130), (37, 95, 257), (70, 31, 300)]


@pytest.mark.parametrize("kind", [PackedGemm, StreamGemm])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
@pytest.mark.parametrize("target", [None, SHORT], ids=["host", "short"])
def test_shares_of_columns_are_the_columns_of_the_whole(
    kind: Any, transpose_a: bool, dtype: Any, target: Target
) -> None:
    rng = np.random.default_rng(5)
    transpose_b = kind is StreamGemm
    spec = Product(dtype, "m", "n", "k", transpose_a, transpose_b, width=1000, lda="lda")
    if not transpose_a:
        spec = Product(dtype, "m", "n", "k", transpose_a, transpose_b, width=1000)
    for m, n, k in COLUMN_SHAPES:
        a, stored_a = operand(rng, (m, k), transpose_a, dtype)
        b, stored_b = operand(rng, (k, n if transpose_b else 1000), transpose_b, dtype)
        c = np.full((m, 1000), np.nan, dtype)
        known = {"m": m, "n": n, "k": k, "lda": m}
        ints = [known[i] for i in spec.ints]
        pieces = (
            (stored_a, stored_b, c) if transpose_b else (stored_a, stored_b[:, 320:], c[:, 320:])
        )
        run(kind("g", spec), *pieces, ints=ints, target=target)
        share = slice(0, n) if transpose_b else slice(320, 320 + n)
        expected = a.astype(np.float64) @ (b if transpose_b else b[:, share])
        tolerance = 1e-4 if dtype == FLOAT32 else 1e-12
        np.testing.assert_allclose(c[:, share], expected, atol=tolerance)
        assert np.isnan(np.delete(c, np.r_[share], 1)).all()


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("transpose_a", "transpose_b"), TRANSPOSED)
def test_packed_products_cross_every_edge_of_a_tile(
    whole: bool, transpose_a: bool, transpose_b: bool
) -> None:
    rng = np.random.default_rng(6)
    for n in (31, 64):
        spec = Product(FLOAT32, "m", n, "k", transpose_a, transpose_b, whole=whole)
        for m, k in ((1, 1), (11, 16), (12, 33), (27, 256), (70, 15), (145, 4), (300, 513)):
            a, stored_a = operand(rng, (m, k), transpose_a, FLOAT32)
            b, stored_b = operand(rng, (k, n), transpose_b, FLOAT32)
            c = np.full((m, n), np.nan, FLOAT32)
            run(PackedGemm("g", spec), stored_a, stored_b, c, ints=[m, k])
            np.testing.assert_allclose(c, a.astype(np.float64) @ b, atol=1e-4)


def local_sum(n: int) -> Function:
    """Add the product to what `out` holds, the product being a block of the rows alone."""
    c, out = Buffer("c", FLOAT32), Buffer("out", FLOAT32)
    at = affine(("first", n), ("i", n), "j")
    value = load(c, affine(("i", n), "j")) + load(out, at)
    loop = Loop("i", "rows", (Loop("j", n, (Store("out", at, value),), True),))
    return Function("local_sum", (c, out), EPILOGUE_INTS, (loop,))


def test_a_product_that_is_not_kept_reaches_its_epilogue() -> None:
    rng = np.random.default_rng(7)
    for m, n, k, whole in ((200, 90, 20, True), (61, 700, 300, False), (3, 32, 8, True)):
        a, b = (rng.standard_normal(s).astype(np.float32) for s in ((m, k), (k, n)))
        out = rng.standard_normal((m, n)).astype(np.float32)
        expected = a.astype(np.float64) @ b + out
        spec = Product(FLOAT32, "m", n, k, local=True, whole=whole, epilogue=local_sum(n))
        run(PackedGemm("g", spec), a, b, None, [out], [m])
        np.testing.assert_allclose(out, expected, atol=1e-4)


def test_the_choice_follows_the_size_of_b() -> None:
    assert isinstance(choose_gemm("g", Product(FLOAT32, "m", 64, 64)), Gemm)
    assert isinstance(choose_gemm("g", Product(FLOAT32, "m", 1024, 1024)), BlasGemm)


def test_what_a_product_refuses() -> None:
    with pytest.raises(LoopError, match="computes in float32 or float64, got int32"):
        Product(INT32, 1, 1, 1)
    plain = Function("plain", (Buffer("c", FLOAT32),), ("n",), ())
    with pytest.raises(LoopError, match="begin its ints with"):
        Product(FLOAT32, 1, 1, 1, epilogue=plain)
    with pytest.raises(LoopError, match="can be local"):
        Product(FLOAT32, 1, 1, 1, local=True)
    with pytest.raises(LoopError, match="takes a transposed B"):
        StreamGemm("g", Product(FLOAT32, 1, 1, 1))
    with pytest.raises(LoopError, match="takes no epilogue"):
        Product(FLOAT32, 1, 1, 1, sum_batch=True, epilogue=bias_relu(FLOAT32, 1))
