"""What each stage of the compiler makes of one small model: the blocks of ``compiler.md``.

``python docs/stages.py`` writes them anew; a test compares them with the page. Names of kernels,
seconds and the processor differ from machine to machine, so they are replaced.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cached_property
from inspect import getsource
from pathlib import Path

import cellwire as cw
from cellwire.engine.compiler.arena import arena_offsets
from cellwire.engine.compiler.cutting import Region
from cellwire.engine.compiler.differentiate import differentiate
from cellwire.engine.compiler.fuse import Fuser, Fusion
from cellwire.engine.compiler.graph import Graph, Node
from cellwire.engine.compiler.native_step import NativeStep
from cellwire.engine.compiler.planner import Planner
from cellwire.engine.compiler.recompute import recompute
from cellwire.engine.compiler.runs import NativeRun, Plan
from cellwire.engine.compiler.simplify import simplify
from cellwire.engine.compiler.specialisation import writes_in_place
from cellwire.engine.compiler.trace import TracedCall, trace
from cellwire.kernels.loops import Function
from cellwire.kernels.native import module_text
from cellwire.kernels.target import Target

PAGE = Path(__file__).parent / "compiler.md"
BLOCK = re.compile(r"(<!-- stage: (\w+) -->\n```\w*\n)(.*?)(\n?```\n)", re.DOTALL)
SHORT = Target("x86_64-unknown-linux-gnu", "x86-64", "", 16, 16)
"""A processor with vectors of four floats, for lines that fit the page."""
EXCERPT = 44
"""Lines of LLVM text that are shown."""


class Net(cw.nn.Cell):
    """Two dense layers with a ReLU between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first = cw.nn.Dense(16, 32, activation="relu")
        self.second = cw.nn.Dense(32, 4)

    def construct(self, x: cw.Tensor) -> cw.Tensor:
        return self.second(self.first(x))


def training_step(net: Net) -> Callable[[cw.Tensor, cw.Tensor], cw.Tensor]:
    optimizer = cw.nn.Momentum(net.trainable_params(), 0.1, 0.9)

    def loss(x: cw.Tensor, target: cw.Tensor) -> cw.Tensor:
        return cw.ops.mse_loss(net(x), target)

    derived = cw.value_and_grad(loss, None, optimizer.parameters)

    def step(x: cw.Tensor, target: cw.Tensor) -> cw.Tensor:
        value, grads = derived(x, target)
        optimizer(grads)
        return value

    return step


class Walk:
    """The model on its way through the compiler."""

    def __init__(self) -> None:
        self.net = Net()
        self.net.set_train()
        self.step = training_step(self.net)
        self.batch = cw.ops.zeros((64, 16)), cw.ops.zeros((64, 4))
        self.avals = [tensor.aval for tensor in self.batch]

    @cached_property
    def call(self) -> TracedCall:
        return trace(self.step, self.avals)

    @cached_property
    def simple(self) -> Graph:
        return simplify(self.call.graph)

    @cached_property
    def again(self) -> tuple[Graph, frozenset[Node]]:
        inputs, writes = self.call.graph.inputs, writes_in_place(self.call, len(self.avals))
        return recompute(self.simple, [inputs[i] for i in writes.values()])

    @cached_property
    def fused(self) -> tuple[Fuser, Fusion]:
        graph, late = self.again
        fuser = Fuser(graph, late=late)
        return fuser, fuser.run()

    @cached_property
    def planner(self) -> Planner:
        fuser, fusion = self.fused
        writes = writes_in_place(self.call, len(self.avals))
        planner = Planner(fusion, fuser, len(self.call.graph.outputs), {}, writes, frozenset())
        planner.threads = 1
        return planner

    @cached_property
    def steps(self) -> list[NativeStep]:
        steps = self.planner.lowered()
        return [step for step in steps if isinstance(step, NativeStep)]

    @cached_property
    def planned(self) -> tuple[Planner, Plan]:
        """The plan, and the planner that now knows what has memory of its own."""
        return self.planner, self.planner.plan([*self.steps])

    @cached_property
    def kernel(self) -> Function:
        """The loop kernel that is shown: the longest."""
        loops = [s.kernel for s in self.steps if isinstance(s.kernel, Function)]
        return max(loops, key=lambda kernel: len(kernel.text))


def _source(walk: Walk) -> str:
    return f"{getsource(Net)}\n\n{getsource(training_step)}".rstrip()


def _recomputed(walk: Walk) -> str:
    """Return the repeated nodes and what reads them."""
    graph, late = walk.again
    made = {value for node in late for value in node.outputs}
    shown = tuple(n for n in graph.nodes if n in late or not made.isdisjoint(n.inputs))
    return "\n".join(str(Graph((), shown, ())).split("\n")[1:-1])


def _differentiated(walk: Walk) -> str:
    loss = trace(lambda x, w: cw.ops.sum(cw.ops.relu(cw.ops.dense(x, w))),
                 [walk.avals[0], walk.net.first.weight.aval])  # fmt: skip
    derivative = differentiate(loss.graph, 1, (0, 1))
    return f"{derivative.forward}\n\n{derivative.backward}"


def _memory(walk: Walk) -> str:
    planner, _ = walk.planned
    offsets, total = arena_offsets([Region([step]) for step in walk.steps], planner.slot)
    lines = [f"{'value':8}{'aval':16}{'from':>8}{'to':>8}"]
    for value, start in offsets.items():
        size = value.aval.dtype.itemsize
        for extent in value.sizes:
            size *= extent
        lines.append(f"{value!r:8}{value.aval!s:16}{start:8}{start + size:8}")
    return "\n".join([*lines, f"{total} bytes"])


def _program(walk: Walk) -> str:
    part = walk.planned[1].parts[0]
    assert isinstance(part, NativeRun)
    return part.bound.entry.program.text.rstrip()


def _llvm(walk: Walk) -> str:
    lines = module_text([walk.kernel], SHORT).split("\n")
    return "\n".join([*lines[:EXCERPT], "  ..."])


def _report(walk: Walk) -> str:
    return str(walk.planned[0].report)


def _explained(walk: Walk) -> str:
    text = str(cw.jit.explain(training_step(Net()))(*walk.batch))  # pyright: ignore[reportFunctionMemberAccess]
    return re.sub(r"arena \d+ bytes", "arena … bytes", text)  # more on several threads


STAGES: dict[str, Callable[[Walk], str]] = {
    "source": _source,
    "graph": lambda walk: str(walk.call.graph),
    "differentiated": _differentiated,
    "simplified": lambda walk: str(walk.simple),
    "recomputed": _recomputed,
    "groups": lambda walk: str(walk.fused[1]),
    "loops": lambda walk: walk.kernel.text,
    "llvm": _llvm,
    "memory": _memory,
    "program": _program,
    "report": _report,
    "explained": _explained,
}


def blocks() -> dict[str, str]:
    """Return every block of the page by its name."""
    walk = Walk()
    names: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        kind = found[1]
        count = sum(name.startswith(f"{kind}_") for name in names.values())
        return names.setdefault(found[0], f"{kind}_{count + 1}")

    made = {name: make(walk) for name, make in STAGES.items()}
    for name, text in made.items():
        text = re.sub(r"\b([a-z]+)_[0-9a-f]{16}\b", number, text)
        text = re.sub(r"(compiled|from the cache) in [0-9.]+ ms", "compiled in … ms", text)
        made[name] = "\n".join(line.rstrip() for line in text.rstrip().split("\n"))
    return made


def page(text: str, made: dict[str, str]) -> str:
    """Return the page with its blocks filled."""
    return BLOCK.sub(lambda found: f"{found[1]}{made[found[2]]}\n```\n", text)


if __name__ == "__main__":
    written = page(PAGE.read_text(encoding="utf-8"), blocks())
    PAGE.write_text(written, encoding="utf-8")
    sys.stdout.write(f"{PAGE} is up to date\n")
