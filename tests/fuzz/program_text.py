"""Random Python: a world of state, functions over it, and what happens between the calls.

Local tensors ``a b c d`` all have the shape ``[n, 4]``, so that any statement may be left out, and
what is left still runs: that is how a failing program becomes small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .between import session_steps
from .world import WORLD_CELLS, WORLD_OBJECTS

Rng = np.random.Generator
Body = list["Statement"]


@dataclass(frozen=True)
class Statement:
    """Lines of code, or clauses with bodies (``if``/``else``, loops, ``try``)."""

    text: str = ""
    clauses: tuple[tuple[str, tuple[Statement, ...]], ...] = ()

    def lines(self, indent: int) -> Iterator[str]:
        """Yield the lines, indented."""
        space = "    " * indent
        yield from (space + line for line in self.text.splitlines())
        for head, body in self.clauses:
            yield space + head
            if not body:
                yield space + "    pass"
            for statement in body:
                yield from statement.lines(indent + 1)


@dataclass(frozen=True)
class Program:
    """A function's statements, those of the helpers, and the steps of the session with it."""

    seed: int
    body: tuple[Statement, ...]
    inner: tuple[Statement, ...]
    construct: tuple[Statement, ...]
    steps: tuple[str, ...]
    result: str = "a, b"

    @property
    def source(self) -> str:
        """The module after the world: the functions, and the objects made of them."""
        parts = [
            *_function("def inner(a):", ["global COUNT, BUF"], self.inner, "a", 0),
            WORLD_CELLS,
            *_function("def construct(self, a):", [], self.construct, "a", 1),
            WORLD_OBJECTS,
            *_function(
                "def main(x, y, k=2, opts=None, *more, name='p'):",
                ["global COUNT, ALPHA, BUF", "a, b, c, d = x, x * 0.5 + y, x - y, y * x",
                 "n, s, word, found = 0, 0, '', []"],
                self.body, self.result, 0,
            ),
        ]  # fmt: skip
        return "\n".join(parts) + "\n"

    def __str__(self) -> str:
        steps = "\n".join(f"    {step}" for step in self.steps)
        own = self.source.replace(WORLD_CELLS, "    # WORLD_CELLS")
        own = own.replace(WORLD_OBJECTS, "# WORLD_OBJECTS")
        return f"program of seed {self.seed}, in the WORLD of world.py\n{own}\n{steps}"


def _function(
    head: str, first: Sequence[str], body: Sequence[Statement], result: str, indent: int
) -> list[str]:
    space = "    " * (indent + 1)
    lines = [line for statement in body for line in statement.lines(indent + 1)]
    return ["    " * indent + head, *[space + f for f in first], *lines, space + f"return {result}"]


NAMES = "abcd"
FLOAT_CODE = (
    "ALPHA", "COUNT", "LIST[0]", "LIST[-1]", "TABLE[MODE]", "TABLE['p']", "PAIR[1][0]", "k",
    "SETTING.gain", "SETTING.deep['rate'][1]", "HOLDER.power", "HOLDER.doubled", "Holder.rate",
    "(n + 1)", "len(LIST)", "(0.5 if FLAG else 2.0)", "sum(LIST)", "max(LIST)", "net.scale",
    "(opts or TABLE)['p']", "(opts or {'p': 1})['p']", "Net.shift", "k", "helper.__defaults__[0]",
    "len(MODE)", "getattr(SETTING, 'gain')", "SETTING.depth", "min(v for v in LIST)", "STEPS",
    "a.shape[0]", "LIST[n % len(LIST)]", "dict(TABLE, p=3.0)['p']",
)  # fmt: skip
TENSOR_CODE = (
    "{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / (ops.abs({1}) + 1)", "ops.tanh({0})",
    "ops.sigmoid({0}) * {1}", "ops.relu({0})", "ops.maximum({0}, {1})", "-{0}", "abs({0})",
    "{0} * {f}", "{0} + {f}", "{f} - {0}", "{0} * {f} + {1} * {f}", "ops.exp(ops.tanh({0}))",
    "{0} - ops.mean({0}, 0, True)", "ops.softmax({0}, -1)", "ops.log_softmax({0}, 0)",
    "ops.sum({0}, 0, True) * 0.1 + {1}", "ops.amax({0}, -1, True) + {1}",
    "ops.where({0} > {1} + 0.0137, {0}, {1} * {f})", "ops.clamp({0}, -1.0, 1.0)", "{0}[::-1] + {1}",
    "ops.transpose(ops.transpose({0}, (1, 0)) * {f}, (1, 0))", "ops.cumsum({0}, 0)",
    "ops.reshape(ops.reshape({0}, (-1,)) * 2, (-1, 4))", "ops.flip({0}, (1,))",
    "ops.concat(({0}[:1], {1}[1:]), 0)", "ops.mean(ops.stack(({0}, {1})), 0)", "ops.tanh({0} @ W)",
    "ops.tanh(ops.matmul({0}, W.T if FLAG else W)) + {1}", "ops.gelu({0})",
    "ops.layer_norm({0}, (4,))", "ops.cast({0} > {1} + 0.0137, {0}.dtype) * {1}",
    "ops.square({0}).sqrt()", "{0} * BUF", "{0} + BUF[0]", "{0} - EDGE", "inner({0})",
    "scaled({0})", "helper({0})", "helper({0}, {f})", "PARTIAL({0})", "HOLDER({0})",
    "HOLDER.apply({0})", "{0} + (opts or TABLE).get('q', 0.5)", "jitted({0})", "ops.tanh(net({0}))",
    "cw.jit(scaled)({0})", "sum([{0} * v for v in LIST])",
    "functools.reduce(lambda p, q: p + q * {f}, [{0}, {1}])", "ops.zeros_like({0}) + {1}",
    "ops.cond(ops.sum({0}) > 0.0137, lambda t: t * 2, lambda t: t - ALPHA, {1})",
    "ops.fori_loop(0, COUNT, lambda i, t: t * 0.5 + i, {0})",
    "ops.scan(lambda h, t: (h * 0.5 + t, h + t * ALPHA), BUF, {0})[1]",
    "cw.grad(lambda t: ops.sum(ops.tanh(t * ALPHA) * {1}))({0})",
    "cw.vmap(lambda r: r * ops.sum(r))({0})", "(lambda t: t * {f})({0})",
    "{0} * Tensor(np.float32(0.5))", "ops.minimum({0}, {f})", "{0} ** 2", "ops.sort({0}, 0)[0]",
    "ops.gather({0}, Tensor(np.array([1, 0, 2, 3])), 1)", "ops.stop_gradient({0}) + {1}",
    "ops.tanh({0} @ ops.transpose({1}, (1, 0)) @ {0})", "{0}.astype('float64').astype({0}.dtype)",
)  # fmt: skip
PYTHON_TESTS = (
    "FLAG", "COUNT > 2", "MODE == 'p'", "k > 2", "len(LIST) > 3", "SETTING.depth == 2",
    "SETTING.on", "net.training", "a.shape[0] > 2", "TABLE['p'] > 1", "NOTHING is None",
    "'q' in TABLE", "isinstance(k, int)", "opts", "HOLDER.power > 1", "hasattr(SETTING, 'late')",
    "name == 'p'", "more", "W.requires_grad", "not LOG", "n % 2", "0.5 in LIST",
    "a.shape[0] == x.shape[0]", "x.shape[0] < 4", "a.shape[0] % 2 == 1", "a.size > 8",
    "net.mode == 'p'", "PAIR[1][1] == 2", "a.dtype == cw.float32", "callable(scaled)",
)  # fmt: skip
TENSOR_TESTS = (
    "ops.sum({0}) > 0.0137", "({0} > 1.5).any()", "bool(ops.mean({0}) > ops.mean({1}) + 0.0137)",
    "{0}[0, 0] < {1}[0, 1] + 0.0137", "int(ops.sum({0} > 0.0137)) % 2", "({0} > -9).all()",
    "float({0}[0, 0]) > 0.25", "ops.sum({0}).item() > 1", "STEPS > 1",
    "int(ops.argmax({0}[0])) > 1",
)  # fmt: skip
IN_PLACE = (
    "a = a + 0\na[0] = b[-1]", "a = a * 1\na[:, 1] = {f}", "a = a + 0\na[0, 2] += 1.0",
    "c = c + 0\nc[1:] = a[1:] * 2", "b = b + 0\nb[b > 0.5] = 0.0", "d = d + 0\nd[k % 2 - 1] = c[0]",
    "a = a + 0\nc = a[0]\na[0] = 0.5\nc = a * c", "b += a", "c *= {f}", "d -= b",
    "x[0] = 0.5", "a[-1, -1] = {f}", "b = b + 0\nb[:, ::2] = 1.0\na = a + b",
    "d = d + 0\nfor i in range(a.shape[0]):\n    d[i] = a[i] * i",
)  # fmt: skip
WRITES = (
    "W.set_data(W * 0.9)", "ops.assign(W, W + 0.01)", "BUF[0] = 0.25", "ops.assign_add(STEPS, 1)",
    "W[1] = 0.1", "BUF[1:] = BUF[:-1] * 1", "STEPS.set_data(STEPS + ops.sum(a).astype('float32'))",
    "net.dense.weight.set_data(net.dense.weight * 0.95)", "BUF += 0.125",
    "ops.assign(BUF, BUF * ALPHA)", "view = W[1]\nW.set_data(W * 0.9)\na = a + view",
    "view = BUF[::-1]\nops.assign(BUF, BUF + 0.5)\nb = b * view",
)  # fmt: skip
EFFECTS = (
    "print('k is', k, MODE)", "LOG.append(k)", "COUNT += 1", "SETTING.gain = SETTING.gain + 0.1",
    "net.calls += 1", "TABLE['p'] = 0.7", "LIST.append(0.1)", "change(0.75)", "ALPHA = ALPHA * 0.9",
    "HOLDER.power += 0.25", "found.append(k)", "opts is None or opts.update(p=9.0)",
    "LOG.append(float(ops.sum(a)))", "print(a.shape, ops.sum(b) > 0.0137)", "LIST[0] = 0.125",
    "setattr(SETTING, 'late', 1)", "SETTING.deep['rate'][1] *= 2", "LOG.extend([1, 2])",
)  # fmt: skip
DRAWS = (
    "a = ops.dropout(a, 0.5)", "b = b + ops.standard_normal(b.shape).astype(b.dtype)",
    "c = net.drop(c)", "d = d * ops.rand(4).astype(d.dtype)",
)  # fmt: skip
TRAINING = (
    "loss, grads = train_step(ops.tanh(a).astype('float32'))\noptimizer(grads)\na = a + loss",
    "loss, grads = slope(ops.tanh(b).astype('float32'))\nadam(grads)\nb = b * loss",
    "loss, grads = slope(a.astype('float32'))\nif loss > 0.01:\n    W.set_data(W - 0.1 * grads[0])",
)  # fmt: skip
PYTHON = (
    "n = n + k", "word = MODE + str(k)", "s = int(ops.sum(a) > 0.0137)",
    "found = [v * 2 for v in LIST]",
    "n, s = s, n", "word = f'{k}-{MODE}'", "n += len(found)", "found = sorted(LIST)[:2]",
    "found = [a, {'b': b}]", "n = max(n, COUNT)", "d, c = c, d", "word = word + name",
    "s = s + (opts or {'p': 1})['p']", "n = a.shape[0] * 2", "s = float(k) / 2",
)  # fmt: skip
ERRORS = (
    "if k == 3:\n    raise ValueError(f'k is {k}')", "assert k != 3, 'three'",
    "if a.shape[0] == 5:\n    a = a @ a", "s = TABLE[word or 'p']", "s = LIST[k]",
    "if ops.sum(a) > 3:\n    raise RuntimeError('large')",
)  # fmt: skip
RESULTS = (
    "a, b", "{'a': a, 'c': c, 'n': n}", "[a, (b, c), d], word, s", "a + b + c + d", "found, a, n",
    "a, a, x", "ops.sum(a), ops.sum(b), c, d", "b", "W + 0, BUF * 1, a", "d, STEPS + 0",
)  # fmt: skip
CONSTRUCT = (
    "a = a * self.scale", "a = self.dense(a)", "if self.training:\n    a = a * 0.5",
    "for layer in self.layers:\n    a = layer(a)", "if self.mode == 'p':\n    a = a + 0.5",
    "a = a + self.shift", "a = a * self.rates[0]", "a = self.drop(a)", "a = self.norm(a)",
    "a = a * getattr(self, 'scale')", "for rate in self.rates:\n    a = a + rate",
    "a = ops.tanh(a * ALPHA)", "a = a + len(self.layers)",
)  # fmt: skip
INNER = (
    "a = a * ALPHA", "a = a + COUNT", "if FLAG:\n    a = a * 0.5", "a = ops.tanh(a)",
    "a = a * SETTING.gain", "for v in LIST:\n    a = a * v", "a = scaled(a)", "a = a + BUF",
    "if ops.sum(a) > 0.0137:\n    a = a - 1", "a = helper(a, shift=TABLE['p'])",
)  # fmt: skip


@dataclass
class Writer:
    """Writes one program; what kinds of statements it has is decided at first."""

    rng: Rng
    kinds: list[tuple[str, float]] = field(default_factory=list)

    def one(self, texts: Sequence[str]) -> str:
        return texts[self.rng.integers(len(texts))]

    def name(self) -> str:
        return NAMES[self.rng.integers(4)]

    def filled(self, text: str) -> str:
        """Put tensors and numbers into a piece of code."""
        while "{f}" in text:
            text = text.replace("{f}", self.one(FLOAT_CODE), 1)
        return text.replace("{0}", self.name()).replace("{1}", self.name())

    def tensor(self) -> str:
        return self.filled(self.one(TENSOR_CODE))

    def test(self) -> str:
        by_value = any(kind == "branch" for kind, _ in self.kinds) and self.rng.random() < 0.5
        return self.filled(self.one(TENSOR_TESTS if by_value else PYTHON_TESTS))

    def statements(self, depth: int, count: int) -> tuple[Statement, ...]:
        return tuple(self.statement(depth) for _ in range(count))

    def statement(self, depth: int) -> Statement:
        weights = np.array([weight for _, weight in self.kinds])
        kind = self.kinds[self.rng.choice(len(weights), p=weights / weights.sum())][0]
        texts = {
            "in place": IN_PLACE, "write": WRITES, "effect": EFFECTS, "draw": DRAWS,
            "train": TRAINING, "python": PYTHON, "error": ERRORS,
        }.get(kind)  # fmt: skip
        if texts is not None:
            return Statement(self.filled(self.one(texts)))
        if kind in ("block", "branch") and depth < 2:
            return self.compound(depth)
        return Statement(f"{self.name()} = {self.tensor()}")

    def compound(self, depth: int) -> Statement:
        body = self.statements(depth + 1, int(self.rng.integers(1, 3)))
        other = self.statements(depth + 1, 1)
        kind = self.rng.integers(8)
        if kind < 3:
            parts = [(f"if {self.test()}:", body)]
            if self.rng.random() < 0.3:
                parts.append((f"elif {self.test()}:", self.statements(depth + 1, 1)))
            return Statement(clauses=(*parts, ("else:", other)))
        if kind == 3:
            heads = ("for i in range(COUNT):", "for v in LIST:", "for i in range(k):",
                     "for key, v in TABLE.items():", "for i in range(SETTING.depth):",
                     "for i, v in enumerate(LIST):", "for t in (a, b):")  # fmt: skip
            return Statement(clauses=((self.one(heads), body),))
        if kind == 4:
            count = Statement("n += 1")
            return Statement(clauses=(("while n < k:", (*body, count)),))
        if kind == 5:
            return Statement(clauses=(("try:", body), ("except (ValueError, IndexError):", other)))
        if kind == 6:
            return Statement(clauses=((f"if {self.test()}:", (*body, Statement("return a, n"))),))
        grow = Statement("a = a * 1.25 + 0.25")
        head = "while ops.sum(ops.abs(a)) < 9 and n < 9:"
        return Statement(clauses=((head, (grow, Statement("n += 1"))),))


def random_program(seed: int) -> Program:
    """Return the program of a seed."""
    rng = np.random.default_rng([seed, 7])
    writer = Writer(rng)
    writer.kinds = [("tensor", 4.0), ("python", 1.0), ("block", 1.5)]
    for kind, chance in (("in place", 0.4), ("write", 0.35), ("effect", 0.3), ("draw", 0.25),
                         ("train", 0.2), ("error", 0.2), ("branch", 0.4)):  # fmt: skip
        if rng.random() < chance:
            writer.kinds.append((kind, 1.0))
    construct = tuple(Statement(writer.one(CONSTRUCT)) for _ in range(rng.integers(1, 4)))
    inner = tuple(Statement(writer.one(INNER)) for _ in range(rng.integers(1, 4)))
    body = writer.statements(0, int(rng.integers(2, 8)))
    made = Program(seed, body, inner, construct, (), writer.one(RESULTS))
    text = "\n".join(line for s in body for line in s.lines(0)) + made.result
    if "inner(" in text or "jitted(" in text:
        text += "\n".join(line for s in inner for line in s.lines(0))
    if "net(" in text or "train_step(" in text:
        text += "net(" + "\n".join(line for s in construct for line in s.lines(0))
    return replace(made, steps=tuple(session_steps(rng, text)))
