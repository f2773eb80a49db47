"""Ops and Cells give PyTorch's values and gradients, eager and compiled, on drawn shapes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops
from cellwire.engine.ops.registry import OPS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from parity import PAIRS, WITHOUT_PEER  # noqa: E402
from parity.pair import Case, Draw, Pair  # noqa: E402

EXAMPLES = int(os.environ.get("CELLWIRE_PARITY_EXAMPLES", "2"))
"""Shapes drawn for each pair; more in a longer search."""
COMPILED = max(1, EXAMPLES // 2)
"""How many of them are compiled too, which takes most of the time."""
TOLERANCE = {np.float32: 3e-5, np.float64: 1e-10}
"""Of values, relative to the largest one; gradients may be off by five times as much."""


def leaves(value: Any) -> list[Any]:
    """Return the tensors of a result, from left to right."""
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def cast(array: np.ndarray, dtype: type) -> np.ndarray:
    return np.array(array, dtype if array.dtype.kind == "f" else array.dtype, order="C")


def close(ours: np.ndarray, theirs: np.ndarray, tolerance: float, what: str) -> None:
    assert ours.shape == theirs.shape, f"{what}: {ours.shape} against {theirs.shape}"
    if theirs.dtype.kind != "f":
        np.testing.assert_array_equal(ours, theirs, err_msg=what)
        return
    finite = theirs[np.isfinite(theirs)]
    scale = max(1.0, float(np.abs(finite).max())) if finite.size else 1.0
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * scale, err_msg=what)


class Peers:
    """One case in both frameworks: values, and gradients of a weighed sum of the float outputs."""

    def __init__(self, case: Case, dtype: type, grad: bool) -> None:
        self.case, self.grad = case, grad
        self.arrays = [cast(array, dtype) for array in case.arrays]
        self.positions = tuple(i for i, a in enumerate(self.arrays) if a.dtype.kind == "f")
        self.names = dict(case.weights or {})
        self.weights: list[Any] = []
        if case.weights is not None:
            module: Any = case.theirs
            module.to(getattr(torch, np.dtype(dtype).name))
            owned = dict(case.ours.parameters_and_names())  # type: ignore[attr-defined]
            peers = {**dict(module.named_parameters()), **dict(module.named_buffers())}
            for own, other in self.names.items():
                parameter = owned[own].set_dtype(dtype)
                parameter.set_data(peers[other].detach().numpy())
            self.weights = [owned[own] for own in self.names if owned[own].requires_grad]
            self.peer_weights = [
                peers[other] for own, other in self.names.items() if owned[own].requires_grad
            ]
        self.expected, self.expected_grads = self._theirs()

    def _theirs(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        tensors = [torch.from_numpy(array.copy()) for array in self.arrays]
        wrt = [tensors[i].requires_grad_(self.grad) for i in self.positions]
        wrt += self.peer_weights if self.weights else []
        outputs = leaves(self.case.theirs(*tensors))
        rng = np.random.default_rng(0)
        self.scales = [
            rng.standard_normal(tuple(out.shape)) if out.is_floating_point() else None
            for out in outputs
        ]
        grads: list[np.ndarray] = []
        if self.grad:
            pairs = [(o, s) for o, s in zip(outputs, self.scales, strict=True) if s is not None]
            loss = sum((out * torch.from_numpy(scale).to(out.dtype)).sum() for out, scale in pairs)
            found = torch.autograd.grad(loss, wrt, allow_unused=True)
            grads = [
                np.zeros(tuple(t.shape)) if g is None else g.numpy()
                for g, t in zip(found, wrt, strict=True)
            ]
        return [out.detach().numpy() for out in outputs], grads

    def _weighed(self) -> Callable[..., Any]:
        """Return ours as a function that gives a weighed sum of the float outputs beside them."""
        # In variables of its own: jit finds a function in a closure at once, one behind attributes
        # by a search of the whole heap.
        ours = self.case.ours
        scales = [
            None if scale is None else cw.Tensor(scale.astype(out.dtype))
            for scale, out in zip(self.scales, self.expected, strict=True)
        ]

        def weighed(*tensors: cw.Tensor) -> tuple[Any, Any]:
            outputs = leaves(ours(*tensors))
            total = None
            for out, scale in zip(outputs, scales, strict=True):
                if scale is not None:
                    part = cw.ops.sum(out * scale)
                    total = part if total is None else total + part
            return total, tuple(outputs)

        return weighed

    def check(self, compiled: bool, tolerance: float) -> None:
        """Compare values and gradients, op by op or as a static graph."""
        where = "compiled" if compiled else "eager"
        tensors = [cw.Tensor(array) for array in self.arrays]
        run: Any = self._weighed() if self.grad else self.case.ours
        if self.grad:
            run = cw.value_and_grad(run, self.positions, self.weights or None, has_aux=True)
        result = cw.jit(run, fullgraph=True)(*tensors) if compiled else run(*tensors)
        if not self.grad:
            outputs, grads = leaves(result), []
        else:
            (_, outputs), found = result
            grads = leaves(found)
        assert len(outputs) == len(self.expected)
        for ours, theirs in zip(outputs, self.expected, strict=True):
            close(ours.asnumpy(), theirs, tolerance, f"{where} value")
        assert len(grads) == len(self.expected_grads)
        for ours, theirs in zip(grads, self.expected_grads, strict=True):
            close(ours.asnumpy(), theirs, 5 * tolerance, f"{where} gradient")


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name.replace(" ", "-"))
def test_parity(pair: Pair, dtype: type) -> None:
    compiled: list[bool] = []

    @settings(
        max_examples=EXAMPLES, deadline=None, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(data=st.data())
    def on_drawn_shapes(data: st.DataObject) -> None:
        peers = Peers(pair.build(Draw(data.draw)), dtype, pair.grad)
        peers.check(False, TOLERANCE[dtype] * pair.tolerance)
        if not pair.eager_only and len(compiled) < COMPILED:
            compiled.append(True)
            peers.check(True, TOLERANCE[dtype] * pair.tolerance)

    on_drawn_shapes()


def test_every_public_op_and_cell_has_a_pair_or_a_reason() -> None:
    covered = {pair.covers for pair in PAIRS} | set(WITHOUT_PEER)
    rows = {f"ops.{name}" for name in ops.__all__ if name in OPS}
    cells = {
        f"nn.{name}"
        for name in nn.__all__
        if isinstance(getattr(nn, name), type) and issubclass(getattr(nn, name), nn.Cell)
    }
    assert len(rows) >= 250
    assert not sorted((rows | cells) - covered)


def test_pairs_have_names_of_their_own() -> None:
    names = [pair.name for pair in PAIRS]
    assert len(names) == len(set(names))
