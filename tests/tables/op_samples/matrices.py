"""Samples of products, einsum, triangles and decompositions of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from cellwire.engine import ops
from cellwire.engine.ops import decomposition, determinants, lu
from scipy import linalg

from op_samples.sample import N, Sample, integers, normal

X, M = normal(N, 3), normal(3, 4, seed=1)
B1, B2 = normal(N, 2, 3), normal(N, 3, 4, seed=1)
RIGHT = normal(N, 3, 1, seed=1)
V, W = normal(3, seed=2), normal(4, seed=3)
SQUARE = normal(N, 3, 3, seed=4) + 2 * np.eye(3)
TALL = normal(N, 4, 3, seed=6)
NO: dict[str, Any] = {"differentiable": False}


def _symmetric(x: Any) -> Any:
    return (x + x.swapaxes(-1, -2)) / 2


def _positive(x: Any) -> Any:
    return x @ x.swapaxes(-1, -2)


def _products() -> list[Sample]:
    def add(x: Any, product: Any) -> Any:
        return 0.5 * x + 2 * product

    scale = {"beta": 0.5, "alpha": 2}
    return [
        Sample("mm", ops.mm, (X, M), np.matmul), Sample("mv", ops.mv, (X, V), np.matmul),
        Sample("dot", ops.dot, (X, M), np.dot), Sample("dot", ops.dot, (X, B2), np.dot),
        Sample("vdot", ops.vdot, (V, V + 1), np.vdot),
        Sample("inner", ops.inner, (X, M.T), np.inner),
        Sample("inner", ops.inner, (B1, V), np.inner), Sample("outer", ops.outer, (V, W), np.outer),
        Sample("tensordot", lambda a, b: ops.tensordot(a, b, 1), (B1, M),
               lambda a, b: np.tensordot(a, b, 1)),
        Sample("tensordot", lambda a, b: ops.tensordot(a, b, ((0, 2), (0, 1))), (B1, B2),
               lambda a, b: np.tensordot(a, b, ((0, 2), (0, 1)))),
        Sample("kron", ops.kron, (X, M), np.kron), Sample("kron", ops.kron, (V, M), np.kron),
        Sample("addmm", lambda *t: ops.addmm(*t, **scale), (W, X, M),
               lambda x, a, b: add(x, a @ b)),
        Sample("addmv", lambda *t: ops.addmv(*t, **scale), (np.ones(1), X, V),
               lambda x, a, b: add(x, a @ b)),
        Sample("addr", lambda *t: ops.addr(*t, **scale), (M, V, W),
               lambda x, a, b: add(x, np.outer(a, b))),
        Sample("baddbmm", lambda *t: ops.baddbmm(*t, **scale), (W, B1, B2),
               lambda x, a, b: add(x, a @ b)),
        Sample("addbmm", lambda *t: ops.addbmm(*t, **scale), (W, B1, B2),
               lambda x, a, b: add(x, (a @ b).sum(0))),
        Sample("multi_dot", lambda *t: ops.multi_dot(t), (X, M, M.T, V),
               lambda a, b, c, d: a @ b @ c @ d),
        *(Sample("matrix_power", lambda x, n=n: ops.matrix_power(x, n), (SQUARE,),
                 lambda x, n=n: np.linalg.matrix_power(x, n)) for n in (0, 1, 5, -2)),
        Sample("cross", ops.cross, (X, V), np.cross),
        Sample("cross", lambda a, b: ops.cross(a, b, 0), (X.T, V[:, None]),
               lambda a, b: np.cross(a, b, axis=0), symbolic=False),
        Sample("vander", lambda x: ops.vander(x, 4), (V,), lambda x: np.vander(x, 4)),
    ]  # fmt: skip


def _einsum() -> list[Sample]:
    cases: list[tuple[str, tuple[np.ndarray, ...]]] = [
        ("ij,jk->ik", (X, M)), ("bij,bjk->bik", (B1, B2)), ("bij,bjk", (B1, B2)), ("ij->ji", (X,)),
        ("bii->bi", (SQUARE,)), ("bii", (SQUARE,)), ("bij,kj,j->bk", (B1, M.T, V)),
        ("...ij,...jk->...ik", (B1, M)), ("i,j->ij", (V, W)), ("bij,bij->b", (B1, B1 + 1)),
        ("ij,i->j", (X, normal(N))), ("b...->...", (B1,)), ("ij,jk,kl,l->i", (X, M, M.T, V)),
        ("ij,ij->ij", (X, X[:1])), ("bij->", (B1,)), ("i...,i...->...", (X, X + 1)),
    ]  # fmt: skip
    return [
        Sample("einsum", lambda *t, e=equation: ops.einsum(e, *t), arrays,
               lambda *t, e=equation: np.einsum(e, *t))
        for equation, arrays in cases
    ]  # fmt: skip


def _triangles() -> list[Sample]:
    cube = normal(N, 3, 4)
    return [
        Sample("tril", ops.tril, (cube,), np.tril),
        Sample("tril", lambda x: ops.tril(x, 1), (cube,), lambda x: np.tril(x, 1)),
        Sample("triu", lambda x: ops.triu(x, -1), (cube,), lambda x: np.triu(x, -1)),
        Sample("triu", ops.triu, (integers(N, 3, 3),), np.triu, **NO),
        Sample("diagonal", lambda x: ops.diagonal(x, 1, 1, 2), (cube,),
               lambda x: np.diagonal(x, 1, 1, 2)),
        Sample("diagonal", lambda x: ops.diagonal(x, -1, -1, 1), (cube,),
               lambda x: np.diagonal(x, -1, -1, 1)),
        Sample("trace", lambda x: ops.trace(x, axis1=1, axis2=2), (cube,),
               lambda x: np.trace(x, axis1=1, axis2=2)),
        Sample("diag", ops.diag, (M,), np.diag),
        Sample("diag", lambda x: ops.diag(x, -1), (V,), lambda x: np.diag(x, -1)),
        Sample("diagflat", ops.diagflat, (M[:2, :2],), np.diagflat),
    ]  # fmt: skip


def _systems() -> list[Sample]:
    low = np.tril(SQUARE) + np.eye(3)

    def solved(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.linalg.inv(a) @ b

    return [
        Sample("inverse", ops.inverse, (SQUARE,), np.linalg.inv),
        Sample("det", ops.det, (SQUARE,), np.linalg.det),
        Sample("cofactors", determinants.cofactors, (SQUARE,),
               lambda x: np.linalg.det(x)[:, None, None] * np.linalg.inv(x).swapaxes(-1, -2)),
        Sample("slogdet", ops.slogdet, (SQUARE,), np.linalg.slogdet),
        Sample("logdet", lambda x: ops.logdet(_positive(x)), (SQUARE,),
               lambda x: np.linalg.slogdet(_positive(x))[1]),
        Sample("solve", ops.solve, (SQUARE, RIGHT), solved),
        Sample("solve", ops.solve, (SQUARE, V), solved),
        Sample("solve", ops.solve, (SQUARE, M), solved),
        Sample("solve_triangular", lambda a, b: ops.solve_triangular(a, b, lower=True),
               (low, RIGHT), solved),
        Sample("solve_triangular", lambda a, b: ops.solve_triangular(a, b, 1), (SQUARE, V),
               lambda a, b: solved(np.triu(a).swapaxes(-1, -2), b)),
        Sample("solve_triangular",
               lambda a, b: ops.solve_triangular(a, b, lower=True, unit_diagonal=True), (low, M),
               lambda a, b: solved(np.tril(a, -1) + np.eye(3), b)),
        Sample("lu_factor", lambda x: ops.lu_factor(x)[0], (SQUARE,),
               lambda x: np.stack([linalg.lu_factor(a)[0] for a in x])),
        Sample("lu_unpack", lambda x: ops.lu_unpack(*ops.lu_factor(x)), (SQUARE,), linalg.lu),
        Sample("lu_solve", lambda b, x: ops.lu_solve(b, *ops.lu_factor(x)), (RIGHT, SQUARE),
               lambda b, x: solved(x, b)),
        Sample("exchange_matrix", lu.exchange_matrix, (np.array([[3, 3, 3]] * N, np.int32),), **NO),
    ]  # fmt: skip


def _decomposed() -> list[Sample]:
    def svd(x: np.ndarray) -> tuple[np.ndarray, ...]:
        u, s, v = np.linalg.svd(x, False)
        return s, u, v.swapaxes(-1, -2)

    return [
        Sample("cholesky", lambda x: ops.cholesky(_positive(x)), (SQUARE,),
               lambda x: np.linalg.cholesky(_positive(x))),
        Sample("cholesky", lambda x: ops.cholesky(_positive(x), upper=True), (SQUARE,),
               lambda x: np.linalg.cholesky(_positive(x)).swapaxes(-1, -2)),
        Sample("cholesky_solve", lambda b, x: ops.cholesky_solve(b, ops.tril(x)), (RIGHT, SQUARE),
               lambda b, x: np.linalg.inv(_positive(np.tril(x))) @ b),
        Sample("cholesky_inverse", lambda x: ops.cholesky_inverse(ops.triu(x), True), (SQUARE,),
               lambda x: np.linalg.inv(np.triu(x).swapaxes(-1, -2) @ np.triu(x))),
        Sample("qr", ops.qr, (TALL,), np.linalg.qr), Sample("qr", ops.qr, (SQUARE,), np.linalg.qr),
        Sample("qr", lambda x: ops.qr(x, "complete"), (TALL,),
               lambda x: np.linalg.qr(x, "complete"), **NO),
        Sample("eigh", lambda x: ops.eigh(_symmetric(x)), (SQUARE,),
               lambda x: np.linalg.eigh(_symmetric(x))),
        Sample("eigvalsh", lambda x: ops.eigvalsh(_symmetric(x)), (SQUARE,),
               lambda x: np.linalg.eigvalsh(_symmetric(x))),
        Sample("svd", ops.svd, (TALL,), svd),
        Sample("svd", ops.svd, (TALL.swapaxes(1, 2).copy(),), svd),
        Sample("svd", lambda x: ops.svd(x, compute_uv=False), (SQUARE,), lambda x: svd(x)[0]),
        Sample("singular_decomposition",
               lambda x: decomposition.singular_decomposition(x, False), (SQUARE,), svd),
        Sample("svdvals", ops.svdvals, (TALL,), lambda x: svd(x)[0]),
        Sample("pinv", ops.pinv, (TALL,), np.linalg.pinv),
        Sample("pinv", ops.pinv, (B1,), np.linalg.pinv),
        Sample("matrix_exp", ops.matrix_exp, (SQUARE / 4,), linalg.expm),
        Sample("lstsq", ops.lstsq, (TALL[0], normal(4, 2)),
               lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0]),
        Sample("lstsq", ops.lstsq, (TALL[0].T.copy(), V),
               lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0]),
        Sample("matrix_rank", ops.matrix_rank, (TALL * (np.arange(N) > 0)[:, None, None],),
               np.linalg.matrix_rank, **NO),
    ]  # fmt: skip


def _norms() -> list[Sample]:
    conditions: list[Any] = [None, -2, 1, "fro"]
    orders: list[Any] = ["fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf]
    return [
        *(Sample("matrix_norm", lambda x, p=p: ops.matrix_norm(x, p), (TALL,),
                 lambda x, p=p: np.linalg.norm(x, p, (-2, -1))) for p in orders),
        Sample("matrix_norm", lambda x: ops.matrix_norm(x, 1, (2, 0), True), (TALL,),
               lambda x: np.linalg.norm(x, 1, (2, 0), keepdims=True)),
        Sample("norm", ops.norm, (TALL,), lambda x: np.linalg.norm(x.reshape(-1))),
        Sample("norm", lambda x: ops.norm(x, 3, 1), (TALL,), lambda x: np.linalg.norm(x, 3, 1)),
        Sample("norm", lambda x: ops.norm(x, "nuc", (0, 2), True), (TALL,),
               lambda x: np.linalg.norm(x, "nuc", (0, 2), keepdims=True), symbolic=False),
        *(Sample("matrix_cond", lambda x, p=p: ops.matrix_cond(x, p), (SQUARE,),
                 lambda x, p=p: np.linalg.cond(x, p)) for p in conditions),
    ]  # fmt: skip


SAMPLES: list[Sample] = [
    *_products(), *_einsum(), *_triangles(), *_systems(), *_decomposed(), *_norms(),
]  # fmt: skip
