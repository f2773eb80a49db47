"""What ``jit`` tells: reasons with file, line and what to write instead, and explanations."""

from __future__ import annotations

import ast
import os
import random
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops
from cellwire.engine.compiler import JitError, explain

ROOT = Path(cw.__file__).parent
SETTINGS = types.SimpleNamespace(rate=0.5, count=0, kept=[], array=np.ones(2, np.float32))
numbers = iter([1.0, 2.0])
parts = [SETTINGS]


def deletes(x: Any) -> Any:
    del SETTINGS.rate
    return x


def writes_to_an_array(x: Any) -> Any:
    SETTINGS.array[0] = 3.0
    return x


def writes_without_a_name(x: Any) -> Any:
    for n in range(1):
        parts[n].count += 1
    return x


def looks_into_what_it_changes(x: Any) -> Any:
    SETTINGS.kept.append(x)
    return x * len(SETTINGS.kept)


def counts_sizes(x: Any) -> Any:
    SETTINGS.count += 1
    return ops.concat([x] * SETTINGS.count)


def keeps_an_object(x: Any) -> Any:
    SETTINGS.kept = types.SimpleNamespace(x=x)
    return x


def asks_for_the_class(x: Any) -> Any:
    return x if (x + 1).__class__ is cw.Tensor else -x


def branch_draws(x: Any) -> Any:
    return ops.cond(x.sum() > 0, lambda a: a + ops.standard_normal((2,)), lambda a: a, x)


REASONS: list[tuple[Callable[..., Any], str]] = [
    (lambda x: cw.Tensor(x.asnumpy()), "use Cellwire ops"),
    (lambda x: x * time.perf_counter(), "pass the value as a tensor"),
    (lambda x: x * random.random(), "use Cellwire's random ops"),
    (lambda x: x * len(os.listdir(".")), "gives another value|outside"),
    (lambda x: x * float(Path(__file__).read_text()[:0] or 1), "pass what comes of it"),
    (lambda x: x * next(numbers), "take the values outside"),
    (lambda x: x[x > 0], "keep the shape with ops.where"),
    (lambda x: (breakpoint(), x)[1], "do it outside"),
    (lambda x: types.SimpleNamespace(x=x), "return tensors, numbers and text"),
    (lambda x: x if type(x + 1) is cw.Tensor else -x, "give it a name first"),
    (deletes, "assign None instead"),
    (writes_to_an_array, "return the value instead"),
    (writes_without_a_name, "give it a name first"),
    (looks_into_what_it_changes, "look into it outside"),
    (counts_sizes, "arithmetic and comparisons only"),
    (keeps_an_object, "keep tensors, numbers and text"),
    (asks_for_the_class, "give it a name first"),
    (branch_draws, "draw as often in both"),
]


@pytest.mark.parametrize(("fn", "advice"), REASONS)
def test_reasons_name_file_line_and_what_to_write_instead(
    fn: Callable[..., Any], advice: str
) -> None:
    x = cw.Tensor([1.0, 2.0])
    with pytest.raises(JitError, match=rf"test_jit_reasons\.py:\d+: .*({advice})"):
        cw.jit(fn, fullgraph=True)(x)
    assert (SETTINGS.rate, SETTINGS.count, SETTINGS.kept) == (0.5, 0, [])
    assert SETTINGS.array.tolist() == [1, 1]


INNER = {"arguments.py", "asking.py", "open_sizes.py", "jitted.py", "watch.py"}
"""Where reasons only choose another way of compiling, and reach nobody."""


def test_every_reason_says_what_to_do() -> None:
    silent = []
    for path in (ROOT / "engine").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "TraceBreak":
                advice = node.args[1] if len(node.args) > 1 else None
                if advice is None or (isinstance(advice, ast.Constant) and not advice.value):
                    silent.append((path.name, node.lineno))
    assert {name for name, _ in silent} <= INNER | {"encoding.py"}
    assert sum(name == "encoding.py" for name, _ in silent) == 2  # a size, a promoted number


def test_an_array_outside_is_read_at_an_index() -> None:
    array = np.array([1.0, 2.0], np.float32)
    run = cw.jit(lambda x: x * array[0] + float(array[1]), fullgraph=True)
    assert run(cw.Tensor([1.0])).item() == 3
    array[:] = 4.0, 5.0
    assert run(cw.Tensor([1.0])).item() == 9


def test_a_mask_chooses_where_a_number_is_written() -> None:
    def numbers(x: Any) -> Any:
        y = x * 2
        y[y > 1] = 0.5
        y[y < -2] = 0.0
        return y

    def rows(x: Any) -> Any:
        y = x * 2
        y[y.sum(1) > 0] = cw.Tensor([7.0, 8.0])
        return y

    x = cw.Tensor(np.array([[1, -1], [-2, 0.25]], np.float32))
    for function in (numbers, rows):
        got, wanted = cw.jit(function, fullgraph=True)(x), function(x)
        np.testing.assert_array_equal(got.asnumpy(), wanted.asnumpy())


def test_branches_of_the_graph_draw_what_eager_draws() -> None:
    def fn(x: Any) -> Any:
        y = ops.cond(
            x.sum() > 0, lambda a: a + ops.standard_normal((1,)),
            lambda a: a * ops.standard_normal((1,)), x,
        )  # fmt: skip
        return y, ops.standard_normal((1,))

    found = []
    for run in (fn, cw.jit(fn, fullgraph=True)):
        cw.set_seed(3)
        found.append([[t.item() for t in run(cw.Tensor([v]))] for v in (1.0, -1.0, 2.0)])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


def test_an_explanation_tells_everything() -> None:
    settings = types.SimpleNamespace(rate=0.5, calls=0, kept=[])

    def fn(x: Any) -> Any:
        settings.calls += 1
        settings.kept.append(x)
        print("called")
        if x.sum() > 0:
            x = x * 2
        return ops.relu(x) * settings.rate

    run = cw.jit(fn, fullgraph=True)
    for size, rate in ((2, 0.5), (2, 0.25), (3, 0.25)):
        settings.rate = rate
        run(cw.Tensor(np.ones(size, np.float32)))
    told = explain(run)(cw.Tensor(np.ones(3, np.float32)))
    assert told.effects == ("prints", "sets settings.calls", "adds to a list")
    assert len(told.branches) == 1
    assert told.open_sizes == ("axis 0 of input 0",)
    assert told.open_numbers == ("settings.rate",)
    assert "settings is the same SimpleNamespace" in told.guards
    assert told.specialisations == 3
    text = str(told)
    for part in (
        "mul, relu", "kernels", "graph of", "went: True at", "at each call: prints",
        "read anew: settings.rate", "compiled anew: settings.rate has changed",
        "compiled anew: axis 0 of input 0 was 2, now 3", "plans so far: 3",
    ):  # fmt: skip
        assert part in text
    assert (settings.calls, len(settings.kept)) == (3, 3)
    refused = explain(lambda x: cw.Tensor(x.asnumpy()))(cw.Tensor([1.0]))
    assert str(refused).startswith("runs eagerly: ")


def test_a_cell_with_state_is_explained_by_its_names() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.scale = 2.0
            self.seen = 0

        def construct(self, x: Any) -> Any:
            self.seen += 1
            return x * self.scale

    told = explain(Net())(cw.Tensor([1.0]))
    assert told.effects == ("sets self.seen",)
    assert "self.scale is 2.0" in told.guards


def test_guards_on_numbers_are_told_as_they_are_written() -> None:
    settings = types.SimpleNamespace(shift=0.0, scale=-2.5, times=3)
    told = cw.jit.explain(lambda x: x * settings.scale * settings.times + settings.shift)(
        cw.Tensor([1.0])
    )
    wanted = {"settings.shift is 0.0", "settings.scale is -2.5", "settings.times is 3"}
    assert wanted <= set(told.guards)
