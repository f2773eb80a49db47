"""Random numbers in plans: the bits that NumPy draws, fused into what uses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine.compiler.jit import explain
from cellwire.kernels import streams

ops = cw.ops
RNG = np.random.default_rng(11)


def tensor(*shape: int, dtype: Any = np.float32) -> cw.Tensor:
    return cw.Tensor(RNG.standard_normal(shape).astype(dtype))


def both(fn: Callable[..., Any], *given: cw.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Return what eager and compiled give from one state, after a call that compiles."""
    compiled = cw.jit(fn, fullgraph=True)
    compiled(*given)
    found = []
    for run in (fn, compiled):
        cw.set_seed(5)
        run(*given)
        found.append(run(*given).asnumpy())
    return found[0], found[1]


DERIVE = cw.grad(lambda x: ops.sum(ops.square(ops.dropout(x, 0.3))))
CASES: dict[str, tuple[Callable[[cw.Tensor], cw.Tensor], cw.Tensor]] = {
    "three": (lambda x: ops.dropout(x, 0.3), tensor(3)),
    "whole blocks": (lambda x: ops.dropout(x, 0.3), tensor(16)),
    "blocks and more": (lambda x: ops.dropout(x, 0.3), tensor(7, 5)),
    "several threads": (lambda x: ops.dropout(x, 0.1), tensor(300, 301)),
    "all": (lambda x: ops.dropout(x, 1.0), tensor(4, 5)),
    "float16": (lambda x: ops.dropout(x, 0.4), tensor(40, 5, dtype=np.float16)),
    "float64": (lambda x: ops.dropout(x, 0.4), tensor(40, 5, dtype=np.float64)),
    "channels": (lambda x: ops.dropout2d(x, 0.3), tensor(4, 5, 6, 7)),
    "own stream": (lambda x: ops.dropout(x, 0.3, seed=3), tensor(40)),
    "gradient": (lambda x: DERIVE(x), tensor(9, 33)),  # noqa: PLW0108 - a trace enters functions
    "uniform": (lambda x: x + ops.rand(4, 33), tensor(4, 33)),
    "uniform whole": (lambda x: ops.uniform((4, 33), 3, 9, dtype=cw.int32), tensor(1)),
    "normal": (lambda x: x + ops.standard_normal((4, 33)), tensor(4, 33)),
    "normal, tails too": (lambda x: ops.randn(70_000), tensor(1)),
    "normal float64": (lambda x: ops.randn(70_000, dtype=cw.float64), tensor(1)),
    "normal float16": (lambda x: ops.randn(999, dtype=cw.float16), tensor(1)),
    "normal by tensors": (lambda x: ops.normal((4, 33), 0.5, x), tensor(4, 33)),
    "few whole numbers": (lambda x: ops.randint(-3, 9, (7, 5)), tensor(1)),
    "all whole numbers": (lambda x: ops.randint(-(2**63), 2**63, (7, 5)), tensor(1)),
    "whole float32": (lambda x: ops.randint_like(x, 0, 5), tensor(40)),
    "one whole number": (lambda x: ops.randint(4, 5, (3,)), tensor(1)),
    "order": (lambda x: ops.randperm(300), tensor(1)),
    "order from 3 on": (lambda x: ops.randperm(30, offset=3, dtype=cw.int32), tensor(1)),
    "shuffled": (lambda x: ops.shuffle(x), tensor(70, 2)),  # noqa: PLW0108
    "laplace": (lambda x: ops.standard_laplace((5, 7)), tensor(1)),
    "bernoulli": (lambda x: ops.bernoulli(x, 0.3) + ops.bernoulli(x, x), ops.sigmoid(tensor(90))),
    "uniform float64": (lambda x: x + ops.rand(3, 7, dtype=cw.float64), tensor(3, 7, dtype=float)),
}


@pytest.mark.parametrize("name", CASES)
def test_compiled_code_draws_as_eager(name: str) -> None:
    fn, given = CASES[name]
    eager, compiled = both(fn, given)
    np.testing.assert_array_equal(compiled, eager)
    assert compiled.dtype == eager.dtype
    assert "host" not in str(explain(fn)(given))


@pytest.mark.parametrize("wrong", [-0.1, 1.5, np.nan])
def test_no_probability_is_an_error_in_compiled_code_too(wrong: float) -> None:
    given = cw.Tensor(np.array([0.5, wrong], np.float32))
    with pytest.raises(ValueError, match=r"p must lie in 0\.\.1"):
        cw.jit(lambda x: ops.bernoulli(x, x), fullgraph=True)(given)


def test_numbers_of_which_numpy_keeps_how_they_are_drawn_stay_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "function_address", lambda _: 0)
    report = str(explain(lambda x: x + ops.randn(3))(tensor(3)))
    assert "host normal_by_key" in report


@pytest.mark.parametrize("p", [0.0009765625, 0.25, 0.3, 0.9999999])
def test_the_limit_is_where_numpy_compares(p: float) -> None:
    eager, compiled = both(lambda x: ops.dropout(x, p), tensor(5000))
    np.testing.assert_array_equal(compiled, eager)


def test_the_mask_is_drawn_once_for_forward_and_backward() -> None:
    net = cw.nn.SequentialCell(cw.nn.Dense(16, 24), cw.nn.ReLU(), cw.nn.Dropout(p=0.2))
    net.set_train()
    parameters = net.trainable_params()
    derive = cw.value_and_grad(lambda x: ops.sum(ops.square(net(x))), None, parameters)
    report = str(explain(lambda x: derive(x))(tensor(32, 16)))  # noqa: PLW0108
    assert "host" not in report
    assert report.count("random_kept") == 1
    dense = next(line for line in report.splitlines() if "dense" in line)
    assert "select" in dense
