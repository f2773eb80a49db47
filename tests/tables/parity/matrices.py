"""Products, einsum, triangles and decompositions of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from cellwire import ops

from parity.pair import Case, Draw, Pair

Fn = Callable[..., Any]


def _on(name: str, ours: Fn, theirs: Fn, *shapes: tuple[int, ...], **more: Any) -> Pair:
    """Return a pair on normal numbers of given shapes; a size 0 is drawn, the same for all."""

    def build(draw: Draw) -> Case:
        size = draw.size(1, 4)
        arrays = tuple(draw.normal(*(side or size for side in shape)) for shape in shapes)
        return Case(ours, theirs, arrays)

    return Pair(name, build, **more)


def _square(name: str, ours: Fn, theirs: Fn, *more: tuple[int, ...], **options: Any) -> Pair:
    """Return a pair on matrices far from singular, and on arrays of other shapes."""

    def build(draw: Draw) -> Case:
        batch = draw.size(1, 3)
        matrix = draw.normal(batch, 3, 3) + 4 * np.eye(3)
        others = tuple(draw.normal(*(side or batch for side in shape)) for shape in more)
        return Case(ours, theirs, (matrix, *others))

    return Pair(name, build, **options)


def _symmetric(x: Any) -> Any:
    return (x + x.swapaxes(-1, -2)) / 2


def _gram(x: Any) -> Any:
    return x @ x.swapaxes(-1, -2)


def _condition(x: Any) -> Any:
    # PyTorch's own of this norm cannot be derived.
    sizes = (torch.linalg.matrix_norm(m) for m in (x, torch.linalg.inv(x)))
    return next(sizes) * next(sizes)


def _einsum(number: int, equation: str, *shapes: tuple[int, ...]) -> Pair:
    return _on(
        f"ops.einsum {number}",
        lambda *t: ops.einsum(equation, *t),
        lambda *t: torch.einsum(equation, *t),
        *shapes,
    )


def _without_signs(q: Any) -> Any:
    """Return what of an orthonormal basis does not depend on the columns' signs."""
    return q @ q.swapaxes(-1, -2)


_EQUATIONS = [
    ("bij,bjk->bik", (0, 2, 3), (0, 3, 2)), ("ij,jk,kl->il", (0, 3), (3, 2), (2, 4)),
    ("bhqd,bhkd->bhqk", (0, 2, 3, 2), (0, 2, 4, 2)), ("bii->bi", (0, 3, 3)),
    ("...i,...i->...", (0, 3), (0, 3)), ("ij->", (0, 3)), ("i,j->ij", (0,), (3,)),
]  # fmt: skip

PAIRS: list[Pair] = [
    _on("ops.matmul", ops.matmul, torch.matmul, (0, 2, 3), (3, 4)),
    _on("ops.bmm", ops.bmm, torch.bmm, (0, 2, 3), (0, 3, 4)),
    _on("ops.mm", ops.mm, torch.mm, (0, 3), (3, 2)), _on("ops.mv", ops.mv, torch.mv, (0, 3), (3,)),
    _on("ops.dot", ops.dot, torch.dot, (0,), (0,)),
    _on("ops.vdot", ops.vdot, torch.vdot, (0,), (0,)),
    _on("ops.inner", ops.inner, torch.inner, (0, 3), (2, 3)),
    _on("ops.outer", ops.outer, torch.outer, (0,), (3,)),
    _on("ops.tensordot", lambda a, b: ops.tensordot(a, b, ((1, 0), (0, 1))),
        lambda a, b: torch.einsum("ijk,jil->kl", a, b), (0, 3, 2), (3, 0, 2)),
    _on("ops.kron", ops.kron, torch.kron, (0, 2), (2, 3)),
    _on("ops.dense", ops.dense, torch.nn.functional.linear, (0, 3), (4, 3), (4,)),
    _on("ops.bias_add", ops.bias_add, lambda x, b: x + b[:, None], (0, 3, 2), (3,)),
    _on("ops.addmm", lambda *t: ops.addmm(*t, beta=0.5, alpha=2),
        lambda *t: torch.addmm(*t, beta=0.5, alpha=2), (2,), (0, 3), (3, 2)),
    _on("ops.addmv", ops.addmv, torch.addmv, (0,), (0, 3), (3,)),
    _on("ops.addr", ops.addr, torch.addr, (3,), (0,), (3,)),
    _on("ops.baddbmm", ops.baddbmm, torch.baddbmm, (4,), (0, 2, 3), (0, 3, 4)),
    _on("ops.addbmm", ops.addbmm, torch.addbmm, (4,), (0, 2, 3), (0, 3, 4)),
    _on("ops.multi_dot", lambda *t: ops.multi_dot(t), lambda *t: torch.linalg.multi_dot(t),
        (0, 4), (4, 2), (2, 3)),
    _on("ops.cross", lambda a, b: ops.cross(a, b, 1), torch.linalg.cross, (0, 3), (0, 3)),
    _on("ops.vander", lambda x: ops.vander(x, 4, True), lambda x: torch.linalg.vander(x, N=4),
        (3,)),
    *(_einsum(number, *case) for number, case in enumerate(_EQUATIONS)),
    _on("ops.tril", lambda x: ops.tril(x, 1), lambda x: torch.tril(x, 1), (0, 3, 4)),
    _on("ops.triu", lambda x: ops.triu(x, -1), lambda x: torch.triu(x, -1), (0, 3, 4)),
    _on("ops.diagonal", lambda x: ops.diagonal(x, 1, 2, 1),
        lambda x: torch.diagonal(x, 1, 2, 1), (0, 3, 4)),
    _on("ops.trace", ops.trace, torch.trace, (0, 3)),
    _on("ops.diag", ops.diag, torch.diag, (0,)),
    _on("ops.diagflat", ops.diagflat, torch.diagflat, (0, 2)),
    _square("ops.matrix_power", lambda x: ops.matrix_power(x, -2),
            lambda x: torch.linalg.matrix_power(x, -2)),
    _square("ops.inverse", ops.inverse, torch.linalg.inv),
    _square("ops.det", ops.det, torch.linalg.det), _square("ops.logdet", ops.logdet, torch.logdet),
    _square("ops.slogdet", ops.slogdet, lambda x: tuple(torch.linalg.slogdet(x))),
    _square("ops.solve", ops.solve, torch.linalg.solve, (0, 3, 2)),
    _square("ops.solve_triangular", lambda a, b: ops.solve_triangular(a, b, lower=True),
            lambda a, b: torch.linalg.solve_triangular(torch.tril(a), b, upper=False), (0, 3, 2)),
    _square("ops.cholesky", lambda x: ops.cholesky(_gram(x)),
            lambda x: torch.linalg.cholesky(_gram(x))),
    _square("ops.cholesky_solve", lambda x, b: ops.cholesky_solve(b, ops.tril(x)),
            lambda x, b: torch.cholesky_solve(b, torch.tril(x)), (0, 3, 2)),
    _square("ops.cholesky_inverse", lambda x: ops.cholesky_inverse(ops.tril(x)),
            lambda x: torch.cholesky_inverse(torch.tril(x))),
    _square("ops.qr", ops.qr, lambda x: tuple(torch.linalg.qr(x))),
    _square("ops.lu_factor", ops.lu_factor,
            lambda x: tuple(torch.linalg.lu_factor(x))),
    _square("ops.lu_unpack", lambda x: ops.lu_unpack(*ops.lu_factor(x)),
            lambda x: tuple(torch.linalg.lu(x))),
    _square("ops.lu_solve", lambda x, b: ops.lu_solve(b, *ops.lu_factor(x)),
            lambda x, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(x), b), (0, 3, 2)),
    _square("ops.eigvalsh", lambda x: ops.eigvalsh(_symmetric(x)),
            lambda x: torch.linalg.eigvalsh(_symmetric(x)), tolerance=3.0),
    _square("ops.eigh", lambda x: ops.eigh(_symmetric(x))[0],
            lambda x: torch.linalg.eigh(_symmetric(x))[0], tolerance=3.0),
    _on("ops.svdvals", ops.svdvals, torch.linalg.svdvals, (0, 4, 2)),
    _on("ops.svd", lambda x: (ops.svd(x)[0], _without_signs(ops.svd(x)[1])),
        lambda x: (torch.linalg.svd(x, False)[1], _without_signs(torch.linalg.svd(x, False)[0])),
        (0, 4, 1)),
    _on("ops.pinv", ops.pinv, torch.linalg.pinv, (0, 6, 2), tolerance=10.0),
    _square("ops.matrix_exp", lambda x: ops.matrix_exp(x / 4), lambda x: torch.matrix_exp(x / 4)),
    _on("ops.lstsq", ops.lstsq, lambda a, b: torch.linalg.pinv(a) @ b, (6, 2), (6, 3),
        tolerance=10.0),
    _on("ops.matrix_norm", lambda x: ops.matrix_norm(x, "nuc"),
        lambda x: torch.linalg.matrix_norm(x, "nuc"), (0, 4, 2)),
    _on("ops.norm", lambda x: ops.norm(x, 1, (0, 2), True),
        lambda x: torch.linalg.norm(x, 1, (0, 2), True), (0, 4, 2)),
    _square("ops.matrix_cond", lambda x: ops.matrix_cond(x, "fro"), _condition),
    _square("ops.matrix_rank", ops.matrix_rank, torch.linalg.matrix_rank, grad=False),
]  # fmt: skip
