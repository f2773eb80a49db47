"""One generator for every width: plans of each kernel family as AVX2, SSE2 and NEON code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine.compiler import binding
from cellwire.engine.compiler import plan as plans
from cellwire.engine.compiler.graph import Graph
from cellwire.engine.compiler.trace import trace
from cellwire.kernels import target
from cellwire.kernels.codegen import emit_object
from cellwire.kernels.native import module_text
from cellwire.kernels.target import LEVELS, host, using

ops = cw.ops
X86 = host().triple.startswith("x86_64")
RUNS = [n for n, t in LEVELS.items() if X86 and t.triple == target.X86]
RUNS = [n for n in RUNS if LEVELS[n].vector_bytes <= min(32, host().vector_bytes)]
LSTM = cw.nn.LSTM(7, 5)


def image(x: Any) -> Any:
    weights = cw.Tensor(np.linspace(-1, 1, 5 * 3 * 9, dtype="f4").reshape(5, 3, 3, 3))
    return ops.max_pool2d(ops.relu(ops.conv2d(x, weights, pad_mode="same")), 2, 2)


def elementary(x: Any) -> Any:
    y = ops.exp(-x * x) + ops.log(ops.abs(x) + 1.0) + ops.erf(x) + ops.sin(3.0 * x)
    return y * ops.sigmoid(x) + ops.rsqrt(x * x + 1.0) + ops.pow(ops.abs(x) + 0.5, x)


FAMILIES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "elementwise with a tail": (lambda x: ops.gelu(x) * 2.0, ((5, 21),)),
    "elementary functions": (elementary, ((3, 19),)),
    "rows": (lambda x: ops.softmax(x, -1) + x.mean(-1, keepdims=True), ((4, 37),)),
    "columns": (lambda x: (x * x).sum(0), ((9, 35),)),
    "product": (lambda a, b: ops.relu(ops.matmul(a, b) + 1.0), ((6, 33), (33, 18))),
    "transposed product": (lambda a, b: ops.matmul(a.T, b), ((13, 6), (13, 21))),
    "batched product": (ops.matmul, ((3, 5, 17), (3, 17, 9))),
    "convolution and pool": (image, ((2, 3, 9, 11),)),
    "recurrent": (lambda x: LSTM(x)[0], ((3, 2, 7),)),
    "strided": (lambda x: x[:, ::2] * 2.0 + x[:, 1::2], ((4, 38),)),
    "derivative": (cw.grad(lambda y: image(y).square().sum()), ((1, 3, 8, 8),)),
}


def arrays(shapes: tuple[tuple[int, ...], ...]) -> list[np.ndarray]:
    draw = np.random.default_rng(0)
    return [draw.standard_normal(shape).astype(np.float32) for shape in shapes]


def traced(family: str) -> tuple[Graph, list[np.ndarray], list[np.ndarray]]:
    function, shapes = FAMILIES[family]
    given = arrays(shapes)
    call = trace(function, [cw.Tensor(a).aval for a in given])
    expected = function(*map(cw.Tensor, given)).asnumpy()
    return call.graph, [*given, *(t.asnumpy() for t in call.captured_now())], [expected]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("level", RUNS)
def test_every_width_computes_the_same(level: str, family: str) -> None:
    graph, given, expected = traced(family)
    with using(LEVELS[level]):
        plan = plans.compile_graph(graph)
        assert plan.report.kernels
        for got, want in zip(plan(*given), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


class CollectedError(Exception):
    """Kernels were made; nothing is to be linked."""


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_made_for_neon(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []

    def collect(program: Any, kernels: list[Any]) -> None:
        found.extend([*kernels, program])
        raise CollectedError

    graph, _, _ = traced(family)  # which compiles by itself what recurs
    monkeypatch.setattr(binding, "build_entry", collect)
    with using(LEVELS["aarch64"]) as neon:
        with pytest.raises(CollectedError):
            plans.compile_graph(graph)
        for kernel in found:
            image = emit_object(module_text([kernel], neon), neon)
            assert image[:4] == b"\x7fELF"
            assert int.from_bytes(image[18:20], "little") == 183  # EM_AARCH64


def test_a_level_is_chosen_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELLWIRE_TARGET", "pentium")
    with pytest.raises(ValueError, match=r"CELLWIRE_TARGET is .pentium.; this .* may run as"):
        host()
    for name in RUNS:
        monkeypatch.setenv("CELLWIRE_TARGET", name)
        assert host() is LEVELS[name]
    if X86:
        monkeypatch.setenv("CELLWIRE_TARGET", "aarch64")
        with pytest.raises(ValueError, match="may run as one of"):
            host()


def test_plans_of_other_targets_have_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    from cellwire.engine.compiler import kept_plans

    monkeypatch.setenv("CELLWIRE_KEPT_PLANS", "1")
    monkeypatch.setattr(kept_plans, "SMALLEST", 0)
    graph, _, _ = traced("rows")
    keys = {kept_plans.plan_key(graph, {})}
    for level in LEVELS.values():
        with using(level):
            keys.add(kept_plans.plan_key(graph, {}))
    assert len(keys) == 1 + len(LEVELS)
