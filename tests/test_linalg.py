"""Linear algebra: equations, chains, and matrices that cannot be taken apart."""

from __future__ import annotations

import importlib

import cellwire as cw
import numpy as np
import pytest
from cellwire import ops

einsums = importlib.import_module("cellwire.engine.ops.einsum")
RNG = np.random.default_rng(0)


def tensor(*shape: int) -> cw.Tensor:
    return cw.Tensor(RNG.standard_normal(shape))


def test_one_path_a_shape() -> None:
    a, b, c = tensor(2, 30), tensor(30, 4), tensor(4, 50)
    before = einsums._path.cache_info().misses
    for _ in range(3):
        ops.einsum("ij,jk,kl->il", a, b, c)
    assert einsums._path.cache_info().misses == before + 1


def test_sizes_of_one_broadcast_in_equations() -> None:
    a, b = tensor(3, 1), tensor(1, 4)
    np.testing.assert_allclose(
        ops.einsum("ij,ij->ij", a, b).asnumpy(), a.asnumpy() * b.asnumpy(), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("equation", "says"),
    [("ij,jk", "2 terms, 1 operand"), ("ijk", "does not fit"), ("ij->ik", "name letters"),
     ("i1->i", "letters")],
)  # fmt: skip
def test_equations_that_do_not_fit(equation: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        ops.einsum(equation, tensor(2, 3))


def test_letters_of_two_sizes() -> None:
    with pytest.raises(ValueError, match="size 3 and one of size 4"):
        ops.einsum("ij,jk", tensor(2, 3), tensor(4, 5))


def test_a_singular_matrix_is_told_by_name() -> None:
    with pytest.raises(ValueError, match="inverse: Singular matrix"):
        ops.inverse(cw.Tensor(np.zeros((2, 2))))
    with pytest.raises(ValueError, match=r"cholesky: .*positive definite"):
        ops.cholesky(cw.Tensor(-np.eye(2)))
    with pytest.raises(ValueError, match="must hold square matrices"):
        ops.det(tensor(2, 3))


def test_gradients_that_are_not_defined_raise() -> None:
    with pytest.raises(ValueError, match="full_matrices=False"):
        cw.grad(lambda x: ops.sum(ops.svd(x, True)[1]))(tensor(4, 2))
    with pytest.raises(ValueError, match="rows as columns"):
        cw.grad(lambda x: ops.sum(ops.qr(x)[1]))(tensor(2, 4))


def test_a_chain_is_multiplied_in_the_cheapest_order() -> None:
    from cellwire.engine.ops.matrix_products import _best_order

    # Cormen et al., 15.2: ((A1 (A2 A3)) ((A4 A5) A6)).
    split = _best_order((30, 35, 15, 5, 10, 20, 25))
    assert (split[0][5], split[0][2], split[3][5]) == (2, 0, 4)


def test_half_precision_is_taken_apart_in_float32() -> None:
    x = cw.Tensor(np.array([[2.0, 1.0], [1.0, 3.0]], np.float16))
    assert ops.inverse(x).dtype is cw.float16
    np.testing.assert_allclose(ops.det(x).asnumpy(), 5, rtol=1e-3)


def test_primitives_of_products_take_operands_transposed() -> None:
    a, b = tensor(2, 5, 4, 3), tensor(2, 5, 6, 3)
    expected = a.asnumpy() @ b.asnumpy().swapaxes(-1, -2)
    product = ops.BatchMatMul(transpose_b=True)
    np.testing.assert_allclose(product(a, b).asnumpy(), expected, rtol=1e-12)
    flipped = ops.BatchMatMul(True, False)(a.swapaxes(-1, -2), b.swapaxes(-1, -2))
    np.testing.assert_allclose(flipped.asnumpy(), expected, rtol=1e-12)
    one = ops.MatMul(transpose_b=True)(a[0, 0], b[0, 0])
    np.testing.assert_allclose(one.asnumpy(), expected[0, 0], rtol=1e-12)
    with pytest.raises(ValueError, match="two axes"):
        ops.MatMul()(a, b)
    with pytest.raises(ValueError, match="equal sizes"):
        ops.BatchMatMul()(a, b[:1])
    with pytest.raises(TypeError, match="transpose_a must be a bool"):
        ops.MatMul(1)


def test_determinants_of_singular_matrices_have_slopes() -> None:
    # the slope to each element is its cofactor, of which rank two leaves some and rank one none
    two = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    slopes = cw.grad(lambda x: ops.sum(ops.det(x)))(cw.Tensor(np.stack([two, np.ones((3, 3))])))
    wanted = [[-3.0, 6.0, -3.0], [6.0, -12.0, 6.0], [-3.0, 6.0, -3.0]]
    np.testing.assert_allclose(slopes.asnumpy()[0], wanted, atol=1e-12)
    np.testing.assert_allclose(slopes.asnumpy()[1], np.zeros((3, 3)), atol=1e-12)
