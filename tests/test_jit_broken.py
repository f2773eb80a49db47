"""What broke `jit` once: code that compiled and eager must see alike, call after call."""

from __future__ import annotations

import builtins
import copy
import functools
import json
import operator
import types
import warnings
from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from alike import alike, one, told_and_right
from cellwire import nn, ops
from cellwire.engine.compiler import JitError, JitWarning
from cellwire.engine.compiler.kept_plans import graph_text
from cellwire.engine.compiler.trace import trace
from cellwire.engine.ops.declarations import composite


def test_a_global_that_hides_a_builtin_is_seen() -> None:
    names: dict[str, Any] = {}
    exec("def scaled(x):\n    return x * max(1.0, 3.0)", names)
    alike(
        names["scaled"],
        lambda: names.update(max=min),
        lambda: names.update(max=lambda *_: 7.0),
        lambda: names.pop("max"),
    )


def test_one_of_our_functions_in_the_place_of_another_is_seen() -> None:
    box = types.SimpleNamespace(act=ops.relu)
    alike(lambda x: box.act(x - 3), lambda: setattr(box, "act", ops.abs))


def test_our_own_functions_may_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    alike(ops.relu, lambda: monkeypatch.setattr(ops, "relu", ops.neg))


def test_what_super_leads_to_is_seen() -> None:
    class Base:
        def run(self, x: Any) -> Any:
            return x * 2

    class Middle(Base):
        pass

    class Last(Middle):
        def run(self, x: Any) -> Any:
            return super().run(x) + 1

    last = Last()
    alike(
        last.run,
        lambda: setattr(Base, "run", lambda self, x: x * 9),
        lambda: setattr(Middle, "run", lambda self, x: x * 5),
        lambda: setattr(Base, "run", lambda self, x: x),
    )


def test_lambdas_as_properties_and_operators_are_seen() -> None:
    class Scale:
        factor = property(lambda self: 2.0)

        def __len__(self) -> int:
            return 1

    scale = Scale()
    alike(
        lambda x: x * scale.factor * len(scale),
        lambda: setattr(Scale, "factor", property(lambda self: 3.0)),
        lambda: setattr(Scale, "factor", property(lambda self: 4.0)),
        lambda: setattr(Scale, "__len__", lambda self: 5),
        lambda: setattr(Scale, "__len__", lambda self: 6),
        lambda: setattr(Scale, "factor", 7.0),
    )


def test_a_method_of_its_own_of_an_object_in_a_loop_is_seen() -> None:
    class Part:
        def run(self, x: Any) -> Any:
            return x * 2

    class Block(nn.Cell):
        def run(self, x: Any) -> Any:
            return x * 3

    parts, blocks = [Part(), Part()], [Block(), Block()]

    def chained(x: Any) -> Any:
        for part in parts:
            x = part.run(x)
        for block in blocks:
            x = block.run(x)
        return x

    alike(
        chained,
        lambda: setattr(parts[0], "run", lambda x: x + 100),
        lambda: setattr(blocks[1], "run", lambda x: x + 1000),
        lambda: delattr(parts[0], "run"),
    )


def test_the_name_of_a_parameter_is_seen() -> None:
    p = cw.Parameter(one(), name="first")
    alike(lambda x: x * p * len(p.name), lambda: setattr(p, "name", "p"))


def test_reading_a_descriptor_runs_it_once() -> None:
    class Counted:
        reads = 0

        def __get__(self, instance: object, owner: type) -> float:
            Counted.reads += 1
            return 2.0

    class Holder:
        value = Counted()

    holder = Holder()
    compiled = cw.jit(lambda x: x * holder.value)
    with pytest.warns(cw.engine.compiler.JitWarning, match="reads"):
        found = [compiled(one()).item() for _ in range(3)]
    assert found == [2.0] * 3
    assert Counted.reads == 3


def test_a_cached_property_is_not_filled_by_a_trace() -> None:
    class Table:
        @functools.cached_property
        def values(self) -> Any:
            return one(1.0) * 2

    table = Table()
    with pytest.raises(JitError, match="the cached property 'values' is computed inside"):
        cw.jit(lambda x: x * table.values, fullgraph=True)(one())
    assert "values" not in vars(table)
    assert table.values.item() == 2.0
    alike(lambda x: x * table.values, lambda: setattr(table, "values", one(5.0)))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x * operator.attrgetter("a")(BOX), "what an attrgetter reads or keeps"),
        (lambda x: x * cw.get_context("mode"), r"get_context\(\) reads"),
        (lambda x: x * (cw.get_seed() or 1), r"get_seed\(\) reads"),
        (lambda x: x * cached(2), "lru_cache"),
    ],
)
def test_what_nobody_sees_is_refused(function: Callable[..., Any], reason: str) -> None:
    with pytest.raises(JitError, match=reason):
        cw.jit(function, fullgraph=True)(one())


BOX = types.SimpleNamespace(a=1.0)


@functools.cache
def cached(number: int) -> float:
    return number / 2


def test_whether_two_arguments_are_one_object_is_refused() -> None:
    def told(a: Any, b: Any) -> Any:
        return a * 2 if a is b else a * 3

    x = one()
    with pytest.raises(JitError, match="'a' and 'b' are one object is asked"):
        cw.jit(told, fullgraph=True)(x, x)
    assert cw.jit(lambda a, b: a if b is None else b, fullgraph=True)(x, None).item() == 1.0


def test_a_copy_of_a_cell_runs_its_own_methods() -> None:
    class Net(nn.Cell):
        factor = 2.0

        @cw.jit
        def scaled(self, x: Any) -> Any:
            return x * self.factor

    net = Net()
    assert net.scaled(one()).item() == 2.0
    other = copy.copy(net)
    other.factor = 7.0
    assert other.scaled(one()).item() == 7.0
    assert net.scaled(one()).item() == 2.0


def test_keys_that_are_equal_are_told_apart() -> None:
    compiled = cw.jit(lambda table: {key: value * 2 for key, value in table.items()})
    for key in (1, True, 1.0):
        assert [*map(type, compiled({key: one()}))] == [type(key)]


def test_what_is_made_of_numbers_alone_stays_a_number() -> None:
    compiled = cw.jit(lambda x, k: (x * k, k * 2))
    for k in (1.5, 2.5, 3.5):
        _, doubled = compiled(one(), k)
        assert type(doubled) is float
        assert doubled == 2 * k


def test_numbers_outside_have_all_operators() -> None:
    box = types.SimpleNamespace(n=6)

    def mixed(x: Any) -> Any:
        box.n += 1
        n = box.n
        return x * (n << 1) + (n & 5) + (n | 8) - (n ^ 3) + (n >> 1) + ~n + (1 << (n & 3))

    compiled, found = cw.jit(mixed, fullgraph=True), []
    for run in (mixed, compiled):
        box.n = 6
        found.append([run(one()).item() for _ in range(4)])
    assert found[0] == found[1]
    assert box.n == 10


def test_the_type_of_a_number_outside_is_its_own() -> None:
    box = types.SimpleNamespace(n=0)

    def told(x: Any) -> Any:
        box.n += 1
        n = box.n
        return x * (2 if type(n) is int else 3)

    with pytest.raises(JitError, match="the type of the number 'n' is asked for"):
        cw.jit(told, fullgraph=True)(one())


@pytest.mark.parametrize("kind", ["check", "host"])
def test_an_error_in_a_plan_leaves_what_eager_code_leaves(kind: str) -> None:
    found = []
    for wrap in (lambda fn: fn, cw.jit):
        cw.set_seed(3)
        p, q = cw.Parameter(one(1.0, 2.0), name="p"), cw.Parameter(one(1.0), name="q")
        seen: list[Any] = []

        def step(m: Any, i: Any, p: Any = p, q: Any = q, seen: Any = seen) -> Any:
            p.set_data(p * 2 + 1 + ops.standard_normal((2,)))
            seen.append(p.sum())
            q.set_data(q + (ops.gather(p, i, 0) if kind == "check" else ops.cholesky(m).sum()))
            return q + p[0]

        run, good, bad = wrap(step), np.eye(2, dtype=np.float32), -np.eye(2, dtype=np.float32)
        states = []
        for position in (0, 1, 9, 0, 9, 1):
            m = cw.Tensor(bad if position == 9 else good)
            try:
                result: Any = run(m, cw.Tensor([position])).tolist()
            except (IndexError, ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
                result = type(error)
            states.append((result, p.tolist(), q.tolist(), len(seen), str(cw.get_rng_state())))
        found.append(states)
    for eager, compiled in zip(*found, strict=True):
        assert compiled[3:] == eager[3:]
        for one_, other in zip(eager[:3], compiled[:3], strict=True):
            if isinstance(one_, type):
                assert one_ is other
            else:
                np.testing.assert_allclose(one_, other, rtol=1e-5)


def test_plans_of_ops_that_the_user_declares_are_not_kept() -> None:
    from cellwire.engine.ops.registry import OPS

    @composite(lambda x: ops.add(x, x), category="math")
    def users_own_double(x: Any) -> Any:
        return (x,), {}

    try:
        call = trace(users_own_double, [one().aval])
        assert graph_text(call.graph) is None
    finally:
        del OPS["users_own_double"]


def test_numbers_that_change_meet_functions_that_want_python_numbers() -> None:
    box = types.SimpleNamespace(rate=1.0)
    changes = [lambda value=value: setattr(box, "rate", value) for value in (2.5, 4.0, 8.25, 9.0)]
    alike(lambda x: x * json.loads(json.dumps({"a": box.rate}))["a"], *changes)
    alike(lambda x: x * len(f"{box.rate:.3f}" + "%d" % box.rate), *changes)  # noqa: UP031
    compiled = cw.jit(lambda x: x * float.__add__(box.rate, 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JitWarning)
        for change in changes:
            change()
            assert compiled(one(2.0)).tolist() == [2.0 * (box.rate + 1.0)]


def test_a_global_named_print_that_appears_later_is_seen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names: dict[str, Any] = {}
    exec("def told(x):\n    print('old')\n    return x * 2", names)
    compiled, seen = cw.jit(names["told"], fullgraph=True), []
    for _ in range(2):
        compiled(one())
    names["print"] = seen.append
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JitWarning)
        for count in (1, 2):
            try:
                cw.jit(compiled.function)(one())
            finally:
                assert len(seen) == count
    try:
        compiled(one())
    except JitError:
        names["told"](one())
    assert seen == ["old"] * 3
    assert capsys.readouterr().out == "old\n" * 2
    assert names["print"] is not builtins.print


class Settings:
    def __init__(self) -> None:
        self.rate = 2.0
        self.inner = types.SimpleNamespace(rate=3.0)
        self.reads = 0

    @property
    def given(self) -> Any:
        return self.inner

    def give(self) -> Any:
        return self

    def __getattr__(self, name: str) -> float:
        if name != "counted":
            raise AttributeError(name)
        self.reads += 1
        return 2.0


def test_attributes_of_what_a_function_or_property_gives_are_seen() -> None:
    settings = Settings()
    alike(lambda x: x * settings.given.rate, lambda: setattr(settings.inner, "rate", 5.0))
    alike(lambda x: x * settings.give().rate, lambda: setattr(settings, "rate", 5.0))
    alike(lambda x: x * settings.give().inner.rate, lambda: setattr(settings.inner, "rate", 7.0))


def test_a_getattr_that_counts_is_run_as_often_as_the_code_asks() -> None:
    settings = Settings()
    told_and_right(lambda x: x * settings.counted)
    before = settings.reads
    with pytest.raises(JitError):
        cw.jit(lambda x: x * settings.counted, fullgraph=True)(one())
    assert settings.reads == before


def test_attributes_of_what_has_no_name_are_seen() -> None:
    part = Settings()
    parts, named = [part], {"a": part}
    reads: list[Callable[[Any], Any]] = [
        lambda x: x * parts[len(parts) - 1].rate,
        lambda x: x * named.get("a").rate,  # pyright: ignore[reportOptionalMemberAccess]
        lambda x: x * (part if x.ndim else parts[0]).rate,
        lambda x: x * (parts or [part])[0].inner.rate,
    ]
    for read in reads:
        alike(
            read,
            lambda: setattr(part, "rate", part.rate + 1),
            lambda: setattr(part.inner, "rate", part.inner.rate + 1),
        )
