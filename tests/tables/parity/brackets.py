"""Square brackets on tensors, and writes: PyTorch's have NumPy's rules but for steps and order."""

from __future__ import annotations

from typing import Any

import cellwire as cw
import numpy as np
import torch

from parity.pair import Case, Draw, Pair


def _read(draw: Draw) -> Case:
    shape = draw.shape(2, 3)
    rows = draw.integers(-shape[0], shape[0], (draw.size(1, 3),))
    at = draw.choice(
        [0, -1, slice(1, None), (slice(None), 0), (Ellipsis, slice(None, None, 2)), None, "rows",
         "both"]
    )  # fmt: skip

    def picked(x: Any, make: Any) -> Any:
        if at == "rows":
            return x[make(rows)]
        return x[make(rows), make(rows % shape[1])] if at == "both" else x[at]

    return Case(
        lambda x: picked(x, cw.Tensor), lambda x: picked(x, torch.from_numpy),
        (draw.normal(*shape),),
    )  # fmt: skip


def _write(draw: Draw) -> Case:
    shape = draw.shape(2, 3)
    column = draw.size(0, shape[1] - 1)
    rows = np.arange(shape[0])[:: draw.choice((1, -1))].copy()

    def written(x: Any, value: Any, make: Any) -> Any:
        y = x * 2
        y[0] = value
        y[:, column] = x[:, 0] * x[:, column]
        y[make(rows), 0] = x[make(rows), -1] * 3
        return y * y

    return Case(
        lambda x, v: written(x, v, cw.Tensor), lambda x, v: written(x, v, torch.from_numpy),
        (draw.normal(*shape), draw.normal(*shape[1:])),
    )  # fmt: skip


PAIRS = [Pair("Tensor.getitem", _read), Pair("Tensor.setitem", _write)]
WITHOUT_PEER = {
    "ops.assign": "writes into a Parameter; tests/test_parameter.py",
    "ops.assign_add": "writes into a Parameter; tests/test_parameter.py",
    "ops.assign_sub": "writes into a Parameter; tests/test_parameter.py",
}
