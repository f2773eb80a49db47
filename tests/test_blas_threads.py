"""Small products run on one thread of BLAS, so that a busy second core cannot hold them up."""

import ctypes

import cellwire as cw
import numpy as np
import pytest
from cellwire.kernels import blas_threads
from cellwire.kernels.blas_threads import THREADS_FROM, thread_setter


@pytest.fixture
def settings(monkeypatch):
    """What the thread counts were set to, in order, for a machine of four threads."""
    seen = []

    def setter(package):
        return (lambda count: seen.append((package, count))), 4

    monkeypatch.setattr(blas_threads, "thread_setter", setter)
    return seen


def test_an_eager_product_is_held_to_one_thread_and_the_count_put_back(settings):
    small = cw.Tensor(np.ones((64, 128), np.float32))
    weight = cw.Tensor(np.ones((256, 128), np.float32))
    cw.ops.dense(small, weight)
    assert settings == [("numpy", 1), ("numpy", 4)]


def test_tiny_and_large_products_are_left_alone(settings):
    tiny = np.ones((8, 8), np.float32)
    blas_threads.matmul(tiny, tiny)
    large = np.ones((256, 256), np.float32)
    assert large.size * 256 == THREADS_FROM
    blas_threads.matmul(large, large)
    assert settings == []


def test_the_count_is_put_back_after_an_error(settings):
    a = np.ones((64, 128), np.float32)
    with pytest.raises(ValueError, match="matmul"):
        blas_threads.matmul(a, np.ones((64, 128), np.float32))
    assert settings == [("numpy", 1), ("numpy", 4)]


def test_a_compiled_product_by_blas_is_held_to_one_thread(settings):
    weights = cw.Parameter(cw.Tensor(np.ones((2, 384, 512), np.float32)))
    run = cw.jit(lambda x: cw.ops.matmul(x, weights), fullgraph=True)
    x = cw.Tensor(np.ones((2, 4, 384), np.float32))
    for _ in range(2):
        assert run(x).asnumpy()[1, 0, 0] == 384
    assert settings == [("scipy", 1), ("scipy", 4)] * 2


def test_products_of_a_strided_convolutions_gradient_are_held_to_one_thread(settings):
    weight = cw.Parameter(cw.Tensor(np.ones((96, 1, 3, 3), np.float32)))
    derive = cw.grad(lambda x: cw.ops.sum(cw.ops.conv2d(x, weight, stride=2)))
    run, image = cw.jit(derive, fullgraph=True), cw.Tensor(np.ones((2, 1, 63, 63), np.float32))
    run(image)
    settings.clear()
    assert run(image).asnumpy()[0, 0, 1, 1] == 96
    assert settings == [("scipy", 1), ("scipy", 4)]


@pytest.mark.parametrize("shape", [(8, 64), (3, 40, 64)])
def test_products_of_float16_are_rounded_once(shape):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(shape), rng.standard_normal((64, 48))
    a, b = a.astype(np.float16), b.astype(np.float16)
    found = blas_threads.matmul(a, b)
    assert found.dtype == np.float16
    np.testing.assert_array_max_ulp(found, (a.astype(float) @ b).astype(np.float16), 1)
    with np.errstate(all="raise"):
        assert np.isinf(blas_threads.matmul(a * 0 + 2e3, b * 0 + 2e3)).all()


def test_the_real_counts_are_what_they_were():
    for package in ("numpy", "scipy"):
        found = thread_setter(package)
        if found is None:
            continue
        set_threads, count = found
        assert count > 1
        path = blas_threads._libraries(package)[0]
        library = ctypes.CDLL(str(path))
        suffix = "64_" if hasattr(library, "scipy_openblas_get_num_threads64_") else ""
        get = getattr(library, f"scipy_openblas_get_num_threads{suffix}")
        assert get() == count
        set_threads(1)
        assert get() == 1
        set_threads(count)
