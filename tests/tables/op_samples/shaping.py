"""Samples of ops that arrange, join, cut and repeat: values as NumPy says them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from cellwire.engine import ops
from scipy import linalg

from op_samples.sample import N, Sample, integers, normal

X, CUBE = normal(N, 4), normal(N, 3, 4)
Y = normal(N, 4, seed=1)


def _views() -> list[Sample]:
    return [
        Sample("swapaxes", lambda x: ops.swapaxes(x, 0, -1), (CUBE,), lambda x: x.swapaxes(0, 2)),
        Sample("flatten", ops.flatten, (CUBE,), lambda x: x.reshape(N, -1)),
        Sample("flatten", lambda x: ops.flatten(x, "F", start_dim=0), (CUBE,),
               lambda x: x.flatten("F")),
        Sample("movedim", lambda x: ops.movedim(x, (0, 1), (2, 0)), (CUBE,),
               lambda x: np.moveaxis(x, (0, 1), (2, 0))),
        Sample("flip", lambda x: ops.flip(x, (0, 2)), (CUBE,), lambda x: np.flip(x, (0, 2))),
        Sample("fliplr", ops.fliplr, (X,), np.fliplr),
        Sample("flipud", ops.flipud, (X,), np.flipud),
        Sample("rot90", lambda x: ops.rot90(x, 3), (CUBE,), lambda x: np.rot90(x, 3)),
        Sample("rot90", lambda x: ops.rot90(x, 2, (1, 2)), (CUBE,),
               lambda x: np.rot90(x, 2, (1, 2))),
        Sample("roll", lambda x: ops.roll(x, (1, -2), (0, 1)), (X,),
               lambda x: np.roll(x, (1, -2), (0, 1))),
        Sample("roll", lambda x: ops.roll(x, 3), (X,), lambda x: np.roll(x, 3)),
        Sample("ravel", ops.ravel, (CUBE,), np.ravel),
        Sample("unflatten", lambda x: ops.unflatten(x, 1, (2, -1)), (X,),
               lambda x: x.reshape(N, 2, 2)),
        Sample("narrow", lambda x: ops.narrow(x, 1, 1, 2), (X,), lambda x: x[:, 1:3]),
        Sample("atleast_1d", ops.atleast_1d, (normal(),), np.atleast_1d),
        Sample("atleast_2d", ops.atleast_2d, (normal(4),), np.atleast_2d),
        Sample("atleast_3d", ops.atleast_3d, (X,), np.atleast_3d),
        Sample("atleast_3d", ops.atleast_3d, (normal(4),), np.atleast_3d),
    ]  # fmt: skip


def _joined() -> list[Sample]:
    rows = (normal(4), normal(2, 4, seed=1))
    a, b = normal(2, 3), normal(4, seed=1)
    return [
        Sample("hstack", lambda *t: ops.hstack(t), (X, Y[:, :2]), lambda *t: np.hstack(t)),
        Sample("hstack", lambda *t: ops.hstack(t), (rows[0], b), lambda *t: np.hstack(t)),
        Sample("vstack", lambda *t: ops.vstack(t), rows, lambda *t: np.vstack(t)),
        Sample("dstack", lambda *t: ops.dstack(t), (X, Y),
               lambda *t: np.dstack(t)),
        Sample("column_stack", lambda *t: ops.column_stack(t), (X, X[:, 0]),
               lambda *t: np.column_stack(t)),
        Sample("block_diag", ops.block_diag, (a, b, normal(2, 1)),
               linalg.block_diag),
        Sample("broadcast_tensors", ops.broadcast_tensors, (X, b),
               lambda *t: tuple(np.broadcast_arrays(*t))),
        Sample("meshgrid", ops.meshgrid, (normal(N), b, normal(2)),
               lambda *t: tuple(np.meshgrid(*t))),
        Sample("meshgrid", lambda *t: ops.meshgrid(*t, indexing="ij"), (normal(N), b),
               lambda *t: tuple(np.meshgrid(*t, indexing="ij"))),
        Sample("cartesian_prod", ops.cartesian_prod, (normal(2), b),
               lambda *t: np.array(list(itertools.product(*t)))),
        Sample("combinations", lambda x: ops.combinations(x, 2), (b,),
               lambda x: np.array(list(itertools.combinations(x, 2)))),
        Sample("combinations", lambda x: ops.combinations(x, 3, True), (normal(3),),
               lambda x: np.array(list(itertools.combinations_with_replacement(x, 3)))),
    ]  # fmt: skip


def _cut() -> list[Sample]:
    def pieces(cut: Any, *args: Any) -> Any:
        return lambda x: tuple(cut(x, *args))

    wide = normal(N, 7)
    return [
        Sample("split", lambda x: ops.split(x, 3, 1), (wide,), pieces(np.split, [3, 6], 1)),
        Sample("split", lambda x: ops.split(x, (1, 6), 1), (wide,), pieces(np.split, [1], 1)),
        Sample("tensor_split", lambda x: ops.tensor_split(x, 3, 1), (wide,),
               pieces(np.array_split, 3, 1)),
        Sample("tensor_split", lambda x: ops.tensor_split(x, (2, -2), 1), (wide,),
               pieces(np.array_split, [2, -2], 1)),
        Sample("hsplit", lambda x: ops.hsplit(x, 2), (X,), pieces(np.hsplit, 2)),
        Sample("vsplit", lambda x: ops.vsplit(x, (1,)), (normal(3, 4),), pieces(np.vsplit, [1])),
        Sample("dsplit", lambda x: ops.dsplit(x, 2), (CUBE,), pieces(np.dsplit, 2)),
        Sample("chunk", lambda x: ops.chunk(x, 3, 1), (wide,), pieces(np.split, [3, 6], 1)),
        Sample("unbind", lambda x: ops.unbind(x, 1), (X,), lambda x: tuple(x.T)),
    ]  # fmt: skip


def _asked() -> list[Sample]:
    def turned(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        out = x.copy()
        for row, length in enumerate(lengths.astype(int)):
            out[row, :, :length] = x[row, :, :length][..., ::-1]
        return out

    return [
        Sample("tensor_shape", ops.tensor_shape, (normal(2, 3),), lambda x: np.array(x.shape),
               differentiable=False),
        Sample("slice", lambda x: ops.slice(x, (0, 1, 0), (-1, 2, 3)), (CUBE,),
               lambda x: x[:, 1:3, :3]),
        Sample("reverse_sequence", lambda x, n: ops.reverse_sequence(x, n, 2),
               (CUBE, integers(N, high=5)), turned),
    ]  # fmt: skip


SAMPLES = [*_views(), *_joined(), *_cut(), *_asked()]
