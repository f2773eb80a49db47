"""Random graphs: plans against kernels of NumPy, with taps, writes, threads and gradients."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from cellwire.engine.autograd import vjp
from cellwire.engine.compiler import cutting, planner
from cellwire.engine.compiler.differentiate import differentiate
from cellwire.engine.compiler.graph import Graph, Value, interpret, verify
from cellwire.engine.compiler.plan import Plan, compile_graph
from cellwire.engine.compiler.simplify import eliminate_dead
from cellwire.engine.compiler.trace import trace
from cellwire.engine.compiler.traced import TraceBreak
from cellwire.engine.dtype import dtype_of
from cellwire.engine.ops.registry import Host, Pointwise, View, apply, own_trace
from cellwire.engine.shape import Aval
from cellwire.engine.tensor import Tensor
from cellwire.kernels import conv_winograd_choice

from .graph_steps import DTYPES, MOST, STEPS, random_array, random_shape, update
from .oracle import purely_eager
from .spread import Spread, mismatch, spread

Arrays = list[np.ndarray]
BUILD_ERRORS = (ValueError, TypeError, IndexError, TraceBreak, NotImplementedError, RuntimeError)
"""What ops say to operands that do not fit: the step is left out."""


@dataclass(frozen=True)
class GraphCase:
    """A graph, arrays for its inputs, and how its plan is to be made."""

    seed: int
    graph: Graph
    arrays: Arrays
    taps: tuple[Value, ...] = ()
    writes: dict[int, int] = field(default_factory=dict)
    threads: int = 1
    derive: bool = False
    winograd: bool = False

    def __str__(self) -> str:
        lines = [f"graph of seed {self.seed}, {self.threads} threads, taps {self.taps},"
                 f" writes {self.writes}{', with gradient' if self.derive else ''}"
                 f"{', by Winograd' if self.winograd else ''}"]  # fmt: skip
        lines.append(str(self.graph))
        for value, array in zip(self.graph.inputs, self.arrays, strict=True):
            text = np.array2string(array, threshold=12, edgeitems=3).replace("\n", "")
            lines.append(f"  {value!r} = {text}")
        return "\n".join(lines)


def random_graph(seed: int) -> GraphCase:
    """Return the case of a seed."""
    rng = np.random.default_rng(seed)
    base = random_shape(rng)
    arrays: Arrays = []
    for number in range(rng.integers(1, 4)):
        shape = base if number == 0 or rng.random() < 0.5 else _broadcastable(rng, base)
        narrow = DTYPES[rng.integers(len(DTYPES) - 1)] if rng.random() < 0.3 else "float32"
        arrays.append(random_array(rng, shape, narrow.rstrip("_")))
    count = int(rng.integers(2, 14))
    weights = np.array([weight for weight, _ in STEPS])

    def build(*tensors: Tensor) -> list[Tensor]:
        pool = list(tensors)
        for _ in range(4 * count):
            if len(pool) < len(tensors) + count:
                _grow(rng, pool, STEPS[rng.choice(len(STEPS), p=weights / weights.sum())][1])
        if rng.random() < 0.3:
            _grow(rng, pool, lambda rng, pool: update(rng, pool, tensors))
        chances = [0.04] * len(tensors) + [0.25] * (len(pool) - len(tensors))
        ends = [t for t, chance in zip(pool, chances, strict=True) if rng.random() < chance]
        return [*ends, pool[-1]]

    avals = [Aval(array.shape, dtype_of(array.dtype)) for array in arrays]
    call = trace(build, avals, arrays)
    arrays += [tensor.data for tensor in call.captured_now()]
    graph = eliminate_dead(call.graph)
    return _situated(rng, GraphCase(seed, graph, arrays))


def _grow(rng: np.random.Generator, pool: list[Tensor], step: Callable[..., Any]) -> None:
    """Add what a step makes of the values so far, if they fit."""
    trace = own_trace()
    assert trace is not None
    with contextlib.suppress(*BUILD_ERRORS), np.errstate(all="ignore"):
        made = step(rng, pool)
        made = made if isinstance(made, tuple | list) else (made,)
        pool += [t for t in made if isinstance(t, Tensor) and t.size <= MOST]
    trace.broken = None  # pyright: ignore[reportAttributeAccessIssue]


def _broadcastable(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[int, ...]:
    kept = shape[rng.integers(len(shape) + 1) :]
    return tuple(1 if rng.random() < 0.3 else size for size in kept)


def _situated(rng: np.random.Generator, case: GraphCase) -> GraphCase:
    """Choose taps, writes, threads and whether the gradient is looked at too."""
    graph = case.graph
    made = [v for node in graph.nodes for v in node.outputs]
    taps = tuple(v for v in made if rng.random() < 0.1) if rng.random() < 0.3 else ()
    writes: dict[int, int] = {}
    if rng.random() < 0.5:
        for position, value in enumerate(graph.outputs):
            fits = [i for i, v in enumerate(graph.inputs) if v.aval == value.aval]
            fits = [i for i in fits if i not in writes.values()]
            if fits and value in made and graph.outputs.count(value) == 1:
                writes[position] = fits[rng.integers(len(fits))]
    derive = bool(rng.random() < 0.35)
    threads = int(rng.choice([1, 1, 2, 3]))
    winograd = bool(rng.random() < 0.5)
    found = replace(case, taps=taps, writes=writes, threads=threads, derive=derive)
    return replace(found, winograd=winograd)


@contextlib.contextmanager
def threads_for_all(count: int, keep: bool = True) -> Iterator[None]:
    """Cut whatever can be cut for so many threads, however little it is worth."""
    saved = cutting.WORTH_A_MEETING, cutting.WORTH_SHARING, planner.thread_count
    kept = os.environ.get("CELLWIRE_KEPT_PLANS")
    usual = keep and count == 1
    os.environ["CELLWIRE_KEPT_PLANS"] = "1" if usual else "0"  # plans on disk are not ours
    if count > 1:
        cutting.WORTH_A_MEETING = cutting.WORTH_SHARING = 0.0
    planner.thread_count = lambda: count  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        cutting.WORTH_A_MEETING, cutting.WORTH_SHARING, planner.thread_count = saved
        if kept is None:
            del os.environ["CELLWIRE_KEPT_PLANS"]
        else:
            os.environ["CELLWIRE_KEPT_PLANS"] = kept


@contextlib.contextmanager
def winograd_for_all(chosen: bool) -> Iterator[None]:
    """Convolve by Winograd's algorithm whatever can be, however little it is worth."""
    names = ("GAIN", "WORTH_COMPILING", "FEWEST")
    saved = [getattr(conv_winograd_choice, name) for name in names]
    for name, value in zip(names, (np.inf, 0, 1), strict=True):
        if chosen:
            setattr(conv_winograd_choice, name, value)
    try:
        yield
    finally:
        for name, value in zip(names, saved, strict=True):
            setattr(conv_winograd_choice, name, value)


def _compiled(case: GraphCase, graph: Graph, **options: Any) -> Plan:
    """Compile a graph as the case says; eager convolutions stay direct ones."""
    with winograd_for_all(case.winograd):
        return compile_graph(graph, **options)


def check_graph(case: GraphCase) -> str:
    """Return what the compiler does wrong with a case; empty if nothing."""
    try:
        threads = threads_for_all(case.threads, keep=not case.winograd)
        with threads, np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            found = _check_plan(case)
            return found or (_check_gradient(case) if case.derive else "")
    except Exception as error:  # nothing else than an answer is right
        return f"{type(error).__name__}: {error}"


def _check_plan(case: GraphCase) -> str:
    graph, arrays = case.graph, case.arrays
    verify(graph)
    try:
        wanted = interpret(graph, [a.copy() for a in arrays])
    except BUILD_ERRORS:  # data that an op refuses: there is nothing to compare with
        return ""
    plan = _compiled(case, graph, taps=case.taps, writes=dict(case.writes))
    for turn in ("first", "second"):
        given = [a.copy() for a in arrays]
        if case.taps:
            found, seen = _through(plan.segments(*given))
            trouble = _compare_taps(case, seen)
            if trouble:
                return trouble
        else:
            found = plan(*given)
        copies = [np.array(a) for a in found]
        trouble = _compare(case, graph, arrays, copies, wanted)
        trouble = trouble or _compare_inputs(case, plan, given, copies)
        trouble = trouble or _scribble(case, plan, found)
        trouble = trouble or _compare_inputs(case, plan, given, copies)
        if trouble:
            return f"{turn} call: {trouble}"
    return ""


def _through(steps: Any) -> tuple[tuple[np.ndarray, ...], list[tuple[Value, np.ndarray]]]:
    seen: list[tuple[Value, np.ndarray]] = []
    while True:
        try:
            value, array = next(steps)
        except StopIteration as end:
            return end.value, seen
        seen.append((value, np.array(array)))


def _compare_taps(case: GraphCase, seen: Sequence[tuple[Value, np.ndarray]]) -> str:
    if {v for v, _ in seen} != set(case.taps) or len(seen) != len(set(case.taps)):
        return f"taps {case.taps} were to be seen, {[v for v, _ in seen]} were"
    graph = replace(case.graph, outputs=tuple(v for v, _ in seen))
    wanted = interpret(graph, case.arrays)
    trouble = _compare(case, graph, case.arrays, [a for _, a in seen], wanted)
    return trouble and f"tapped {trouble}"


def _compare(
    case: GraphCase,
    graph: Graph,
    arrays: Arrays,
    found: Sequence[np.ndarray],
    wanted: Sequence[np.ndarray],
) -> str:
    if len(found) != len(wanted):
        return f"{len(found)} outputs instead of {len(wanted)}"
    allowed: list[Spread] | None = None
    for at, (mine, eager) in enumerate(zip(found, wanted, strict=True)):
        alike = mine.dtype == eager.dtype and mine.shape == eager.shape
        if alike and mine.tobytes() == np.ascontiguousarray(eager).tobytes():
            continue
        signs = _keeps_signs(graph, graph.outputs[at])
        if allowed is None:
            allowed = spread(graph, arrays, winograd=case.winograd)
        if not mismatch(mine, replace(allowed[at], base=eager), signs=signs):
            continue
        alone = replace(graph, outputs=(graph.outputs[at],))
        wider = spread(alone, arrays, 12, 6.0, case.winograd)[0]
        trouble = mismatch(mine, replace(wider, base=eager), signs=signs)
        # An op's NumPy kernel and the ops that it is made of may round to two sides of a threshold.
        if trouble and mismatch(mine, wider, signs=signs):
            return f"output {at}, {graph.outputs[at]!r}: {trouble}"
    return ""


def _keeps_signs(graph: Graph, output: Value) -> bool:
    """Whether the signs of zeros are fixed: NumPy takes either zero for the greater one."""
    either = ("maximum", "minimum", "relu", "relu6", "clamp", "hardtanh", "max")
    needed = eliminate_dead(replace(graph, outputs=(output,))).nodes
    return all(isinstance(n.op.lowering, Pointwise | View) and n.op.name not in either
               for n in needed)  # fmt: skip


def _scribble(case: GraphCase, plan: Plan, found: Sequence[np.ndarray]) -> str:
    """Overwrite the results: neither inputs nor each other nor the next call may change by that."""
    outputs, own = case.graph.outputs, set[int]()
    for position, (value, array) in enumerate(zip(outputs, found, strict=True)):
        if position not in plan.settled and value not in case.graph.inputs and array.size:
            own.add(position)
            array[...] = outputs.index(value) % 2
    for position in own:
        if (found[position] != outputs.index(outputs[position]) % 2).any():
            return f"output {position} shares its memory with another one"
    return ""


def _compare_inputs(
    case: GraphCase, plan: Plan, given: Sequence[np.ndarray], found: Sequence[np.ndarray]
) -> str:
    """Look whether inputs hold what was to be written into them, and the others what they held."""
    wanted = [array.tobytes() for array in case.arrays]
    for output in plan.settled:
        wanted[case.writes[output]] = found[output].tobytes()
    free = set(plan.in_place.values()) - {case.writes[output] for output in plan.settled}
    for at, (before, after) in enumerate(zip(wanted, given, strict=True)):
        if at not in free and before != after.tobytes():
            return f"input {at} holds something else afterwards"
    return ""


def replay(graph: Graph) -> Callable[..., tuple[Tensor, ...]]:
    """Return a function of tensors that applies a graph's ops one by one."""

    def run(*tensors: Tensor) -> tuple[Tensor, ...]:
        values = {v: Tensor(a) for v, a in graph.constants.items()}
        values.update(zip(graph.inputs, tensors, strict=True))
        for node in graph.nodes:
            made = apply(node.op, tuple(values[v] for v in node.inputs), node.attributes)
            made = made if isinstance(made, tuple) else (made,)
            values.update(zip(node.outputs, made, strict=True))
        return tuple(values[v] for v in graph.outputs)

    return run


def _check_gradient(case: GraphCase) -> str:
    """Compare the derived graph's plans with the gradient of the eager ops."""
    graph = case.graph
    ends = [v for v in graph.outputs if v.aval.dtype.is_float]
    wrt = [i for i, v in enumerate(graph.inputs) if v.aval.dtype.is_float]
    if not ends or not wrt or any(isinstance(n.op.lowering, Host) for n in graph.nodes):
        return ""
    graph = replace(graph, outputs=tuple(dict.fromkeys(ends)))
    rng = np.random.default_rng(case.seed)
    douts = [rng.normal(size=v.sizes).astype(v.aval.dtype.numpy) for v in graph.outputs]
    try:
        derivative = differentiate(graph, len(graph.outputs), wrt)
        wanted = _eager_gradient(graph, case.arrays, douts, wrt)
    except BUILD_ERRORS:  # an op without a second rule, alike in eager mode
        return ""
    forward = _compiled(case, derivative.forward)(*[a.copy() for a in case.arrays])
    kept = forward[len(graph.outputs) :]
    found = _compiled(case, derivative.backward)(*kept, *douts)
    whole = Graph(
        (*graph.inputs, *derivative.backward.inputs[len(kept) :]),
        (*graph.nodes, *derivative.backward.nodes),
        derivative.backward.outputs,
        {**graph.constants, **derivative.backward.constants},
    )
    trouble = _compare(case, whole, [*case.arrays, *douts], found, wanted)
    return trouble and f"gradient {trouble}"


def _eager_gradient(graph: Graph, arrays: Arrays, douts: Arrays, wrt: list[int]) -> Arrays:
    held = [Tensor(a) for a in arrays]

    def run(*chosen: Tensor) -> tuple[Tensor, ...]:
        given = list(held)
        for at, tensor in zip(wrt, chosen, strict=True):
            given[at] = tensor
        return replay(graph)(*given)

    with purely_eager():
        _, pull = vjp(run, *[held[i] for i in wrt])
        found = pull(*[Tensor(d) for d in douts])
    return [t.data for t in (found if isinstance(found, tuple) else (found,))]


def shrink_graph(case: GraphCase, check: Callable[[GraphCase], str] = check_graph) -> GraphCase:
    """Return the smallest graph found that still fails."""
    for smaller in (replace(case, derive=False), replace(case, threads=1),
                    replace(case, taps=()), replace(case, writes={})):  # fmt: skip
        if check(smaller):
            case = smaller
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(case):
            if check(smaller):
                case, changed = smaller, True
                break
    return case


def _smaller(case: GraphCase) -> Iterator[GraphCase]:
    graph = case.graph
    if not case.writes:
        ends = [(v,) for v in graph.outputs]
        ends += [] if case.taps else [node.outputs[:1] for node in reversed(graph.nodes)]
        yield from (_with_outputs(case, end) for end in ends if end != graph.outputs)
    shown = {*graph.outputs, *case.taps}
    for node in graph.nodes:  # what a node gives becomes an input
        if shown.isdisjoint(node.outputs):
            try:
                arrays = interpret(replace(graph, outputs=node.outputs), case.arrays)
            except BUILD_ERRORS:
                continue
            kept = tuple(other for other in graph.nodes if other is not node)
            inputs = (*graph.inputs, *node.outputs)
            made = Graph(inputs, kept, graph.outputs, graph.constants)
            yield _pruned(replace(case, graph=made, arrays=[*case.arrays, *arrays]))


def _with_outputs(case: GraphCase, outputs: tuple[Value, ...]) -> GraphCase:
    return _pruned(replace(case, graph=replace(case.graph, outputs=outputs)))


def _pruned(case: GraphCase) -> GraphCase:
    """Leave out the nodes and inputs that nothing needs."""
    needed = replace(case.graph, outputs=(*case.graph.outputs, *case.taps))
    graph = replace(eliminate_dead(needed), outputs=case.graph.outputs)
    read = {v for node in graph.nodes for v in node.inputs} | set(graph.outputs)
    kept = [i for i, v in enumerate(graph.inputs) if v in read or case.writes]
    made = replace(graph, inputs=tuple(graph.inputs[i] for i in kept))
    return replace(case, graph=made, arrays=[case.arrays[i] for i in kept])
