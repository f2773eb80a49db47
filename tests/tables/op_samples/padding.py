"""Samples of ops that pad, and of tensors made from sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
from cellwire.engine import ops
from cellwire.engine.ops import padding
from scipy import signal

from op_samples.sample import N, Sample, normal

X, CUBE = normal(N, 4), normal(N, 3, 4)
NUMPY_MODES = {
    "constant": "constant", "reflect": "reflect", "symmetric": "symmetric",
    "replicate": "edge", "circular": "wrap",
}  # fmt: skip


def _padded(mode: str) -> Sample:
    def reference(x: np.ndarray) -> np.ndarray:
        return np.pad(x, ((0, 0), (0, 2), (3, 1)), NUMPY_MODES[mode])  # type: ignore[call-overload]

    return Sample("pad", lambda x: ops.pad(x, (3, 1, 0, 2), mode), (CUBE,), reference)


def _pads() -> list[Sample]:
    return [
        *map(_padded, NUMPY_MODES),
        Sample("pad", lambda x: ops.pad(x, ((1, 0), (-1, 2)), value=3.0), (X,),
               lambda x: np.pad(x[:, 1:], ((1, 0), (0, 2)), constant_values=3)),
        Sample("pad", lambda x: ops.pad(x, (-2, 1, -1, -1), "reflect"), (CUBE,),
               lambda x: np.pad(x[:, 1:2, 2:], ((0, 0), (0, 0), (0, 1)), "reflect")),
        Sample("pad_constant", lambda x: padding.pad_constant(x, ((1, 2),), 7.0), (X,),
               lambda x: np.pad(x, ((0, 0), (1, 2)), constant_values=7)),
    ]  # fmt: skip


def _diagonals() -> list[Sample]:
    def embedded(x: np.ndarray) -> np.ndarray:
        return np.stack([np.diag(row, 1) for row in x])

    def filled(x: np.ndarray, wrap: bool) -> np.ndarray:
        out = x.copy()
        np.fill_diagonal(out, 2.5, wrap)
        return out

    return [
        Sample("diag_embed", lambda x: ops.diag_embed(x, 1), (X,), embedded),
        Sample("diag_embed", lambda x: ops.diag_embed(x, -1, 0, 2), (X,),
               lambda x: np.stack([np.diag(row, -1) for row in x], 1)),
        Sample("fill_diagonal", lambda x: ops.fill_diagonal(x, 2.5), (X,),
               lambda x: filled(x, False)),
        Sample("fill_diagonal", lambda x: ops.fill_diagonal(x, 2.5, True), (normal(7, 3),),
               lambda x: filled(x, True)),
    ]  # fmt: skip


def _made(name: str, reference: Any, *args: Any, **attrs: Any) -> Sample:
    def call() -> Any:
        return getattr(ops, name)(*args, **attrs)

    return Sample(name, call, (), reference, differentiable=False)


def _windows() -> list[Sample]:
    kinds = {
        "bartlett_window": "bartlett", "blackman_window": "blackman", "hann_window": "hann",
        "hamming_window": "hamming", "kaiser_window": ("kaiser", 12.0),
    }  # fmt: skip

    def window(name: str, kind: Any, periodic: bool) -> Sample:
        def reference() -> np.ndarray:
            return signal.get_window(kind, 9, periodic).astype(np.float32)

        return _made(name, reference, 9, periodic)

    return [window(name, kind, p) for name, kind in kinds.items() for p in (True, False)]


def _grids() -> list[Sample]:
    return [
        _made("eye", lambda: np.eye(3, 4), 3, 4),
        _made("tril_indices", lambda: np.stack(np.tril_indices(3, 1, 4)), 3, 4, 1),
        _made("triu_indices", lambda: np.stack(np.triu_indices(3, -1, 4)), 3, 4, -1),
        Sample("linspace", lambda a, b: ops.linspace(a, b, 6), (normal(), normal(seed=1)),
               lambda a, b: np.linspace(a, b, 6)),
        Sample("logspace", lambda a, b: ops.logspace(a, b, 4, 2.0, dtype=a.dtype),
               (normal(), normal(seed=1)), lambda a, b: np.logspace(a, b, 4, base=2.0)),
        Sample("full_like", lambda x: ops.full_like(x, 2.5), (X,),
               lambda x: np.full_like(x, 2.5), differentiable=False),
    ]  # fmt: skip


SAMPLES = [*_pads(), *_diagonals(), *_windows(), *_grids()]
