"""What happens in a session with a random program: calls, and what changes between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

Rng = np.random.Generator

BETWEEN = {
    "ALPHA": ("ALPHA = {v}",),
    "COUNT": ("COUNT = {i}",),
    "FLAG": ("FLAG = not FLAG",),
    "MODE": ("MODE = 'q' if MODE == 'p' else 'p'",),
    "LIST": ("LIST[0] = {v}", "LIST.append({v})", "LIST = [{v}, 0.5]"),
    "TABLE": ("TABLE['p'] = {v}", "TABLE = {{'p': {v}, 'q': 1.0}}"),
    "PAIR": ("PAIR = (0.5, ({v}, {i}))",),
    "SETTING.gain": ("SETTING.gain = {v}",),
    "SETTING.depth": ("SETTING.depth = {i}",),
    "SETTING.on": ("SETTING.on = not SETTING.on",),
    "SETTING.deep": ("SETTING.deep['rate'][1] = {v}",),
    "'late'": ("SETTING.late = 1", "del SETTING.late"),
    "scaled": ("change({v})", "change({v})", "scaled, change = make_closure()"),
    "HOLDER": ("HOLDER.power = {v}", "HOLDER = Holder({v})", "HOLDER.table['k'] = {v}"),
    "HOLDER.apply": ("Holder.apply = lambda self, a: a * self.power - {v}",),
    "Holder.rate": ("Holder.rate = {v}",),
    "helper": (
        "helper.__defaults__ = ({v},)", "helper.__kwdefaults__ = {{'shift': {v}}}",
        "helper = lambda a, factor={v}, *, shift=0.1: a * factor - shift",
    ),
    "PARTIAL": ("PARTIAL = functools.partial(helper, factor={v})",
                "PARTIAL.keywords['factor'] = {v}"),
    "inner": ("inner = lambda a: a * ALPHA - {v}",),
    "NOTHING": ("NOTHING = 1 if NOTHING is None else None",),
    "not LOG": ("LOG.clear()", "LOG.append(1)"),
    "W": ("W.set_data(W * 0.5)", "W[0] = {v}", "ops.assign(W, W + {v})",
          "np.copyto(W.asnumpy(), 0.5)"),
    "requires_grad": ("W.requires_grad = not W.requires_grad",),
    "BUF": ("BUF[1] = {v}", "BUF = Tensor(np.full(4, {v}, np.float32))"),
    "STEPS": ("STEPS.set_data(Tensor(np.float32({i})))",),
    "net(": (
        "HOOK = net.register_forward_hook(plain_hook)",
        "HOOK = net.register_forward_hook(noisy_hook)",
        "HOOK = net.register_forward_hook(quiet_hook)",
        "HOOK = net.register_forward_pre_hook(pre_hook)",
        "HOOK = net.dense.register_forward_hook(plain_hook)", "HOOK.remove()",
        "plain_hook.__code__ = quiet_hook.__code__", "net.construct = lambda a: a * {v}",
        "net.dense = nn.Dense(4, 4)", "net.set_train(True)", "net.set_train(False)",
    ),
    "self.training": ("net.set_train(True)", "net.set_train(False)"),
    "net.training": ("net.set_train(True)", "net.set_train(False)"),
    "self.drop": ("net.drop.p = {v}", "net.set_train(True)"),
    "self.norm": ("net.norm.moving_mean.set_data(BUF * 1)", "net.set_train(True)"),
    "self.layers": ("net.layers = nn.CellList([nn.Dense(4, 4), nn.ReLU()])",),
    "self.scale": ("net.scale = {v}",),
    "net.scale": ("net.scale = {v}",),
    "self.dense": ("net.dense.weight.set_data(net.dense.weight * {v})",),
    "Net.shift": ("Net.shift = {v}",),
    "self.shift": ("Net.shift = {v}", "net.shift = {v}"),
    ".mode": ("net.mode = 'q' if net.mode == 'p' else 'p'",),
    "self.rates": ("net.rates.append({v})", "net.rates[0] = {v}"),
    "optimizer": ("net.dense.weight.requires_grad = not net.dense.weight.requires_grad",
                  "optimizer.learning_rate.set_data({v} * 0.1)"),
    "slope(": ("W.requires_grad = not W.requires_grad",),
}  # fmt: skip
"""What may happen between calls, by the word of the code that it changes the meaning of."""


@dataclass(frozen=True)
class Call:
    """One call's arguments: rows, seed, dtype and shift of the first, and the texts of the rest."""

    rows: int
    seed: int
    dtype: str
    shift: float
    y: str
    k: str
    rest: str

    def __str__(self) -> str:
        x = f"X({self.rows}, {self.seed}, '{self.dtype}', {self.shift})"
        y = self.y.format(seed=self.seed + 1, dtype=self.dtype, rows=self.rows)
        return f"ARGS = ({x}, {y}); RESULT = run(*ARGS, {self.k}{self.rest})"


OTHERS = (
    "Y({seed}, '{dtype}')", "X({rows}, {seed}, '{dtype}')", "0.5", "BUF", "W[0]", "W.T[1]",
)  # fmt: skip
RESTS = (
    "", "", ", {'p': 0.5}", ", {'p': 2.0, 'z': [1]}", ", None, 1, 2", ", name='q'",
    ", opts={'p': BUF}", ", {'p': 2, 'q': 3}", ", {'q': 2, 'p': 3}", ", opts={'p': W[0], 'q': BUF}",
    ", opts={'q': W[0], 'p': BUF}",
)  # fmt: skip
ASKED = {
    "k": {"k"}, "rest": {"opts", "name", "more"}, "rows": {"shape", "size"}, "dtype": {"dtype"},
    "y": {"y"}, "seed": {"sum", "mean", "float"},
}  # fmt: skip
"""The arguments of calls, by the words of code to which it matters how they differ."""


def random_call(rng: Rng) -> Call:
    """Return any call."""
    return Call(
        int(rng.choice([1, 2, 2, 3, 3, 4, 5, 17])),
        int(rng.integers(100)),
        str(rng.choice(["float32"] * 9 + ["float64", "float16"])),
        float(rng.choice([0.0, 0.0, 1.0, -1.0])),
        str(rng.choice(OTHERS)),
        str(rng.choice(["1", "2", "2", "3", "4", "0.5", "1.5", "True"])),
        str(rng.choice(RESTS)),
    )


def session_steps(rng: Rng, code: str) -> Iterator[str]:
    """Yield calls with what happens between them, mostly to what the code reads.

    Calls come again as they were, so that they go the short way, and most sessions change one of
    the arguments alone: what is compiled for one of them is looked for with the next.
    """
    read = [texts for word, texts in BETWEEN.items() if word in code]
    call = random_call(rng)
    words = {*re.findall(r"\w+", code)}
    alone = [name for name, asked in ASKED.items() if asked & words] or ["rows"]
    every = [field.name for field in fields(Call)]
    changed = every if rng.random() < 0.3 else [str(rng.choice(alone))]
    for _ in range(int(rng.integers(4, 8))):
        if rng.random() < 0.6:
            other = random_call(rng)
            call = replace(call, **{name: getattr(other, name) for name in changed})
        yield from [str(call)] * int(rng.choice([1, 1, 1, 2, 3]))
        for _ in range(int(rng.choice([0, 1, 1, 1, 2]))):
            texts = [*BETWEEN.values()] if rng.random() < 0.15 or not read else read
            value = rng.choice([0.5, -0.5, 0.0, 1.0, 2.0, 0.75, 1.5])
            some = texts[rng.integers(len(texts))]
            text = some[rng.integers(len(some))]
            yield text.format(v=value, i=int(rng.integers(0, 4)))
    yield str(call)
