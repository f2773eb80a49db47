"""Hooks: functions that a Cell calls around its `construct` and around its gradient."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..dtype import float32
from ..ops import full, identity, zeros_like
from ..ops.registry import Composite, GradContext, Grads, Op, apply, log, records, traces
from ..tensor import Tensor, wrap

if TYPE_CHECKING:
    from .cell import Cell

Kind = Literal["forward_pre", "forward", "backward_pre", "backward"]
Hook = Callable[..., Any]
Tensors = tuple[Tensor, ...]
_keys = itertools.count()


class HookHandle:
    """Takes one hook off again; taking it off twice is no error."""

    def __init__(self, hooks: Hooks, kind: Kind, key: int) -> None:
        self._hooks = hooks
        self._kind: Kind = kind
        self._key = key

    def remove(self) -> None:
        """Take the hook off."""
        self._hooks.discard(self._kind, self._key)


class Hooks:
    """The hooks of one Cell, each kind in the order of registration.

    ``version`` counts changes: a compiled call that passed the Cell is traced anew after one.
    """

    __slots__ = ("_kinds", "version")

    def __init__(self) -> None:
        self._kinds: dict[Kind, dict[int, tuple[Hook, bool]]] = {}
        self.version = 0

    def __bool__(self) -> bool:
        return bool(self._kinds)

    def of(self, kind: Kind) -> list[tuple[Hook, bool]]:
        """The hooks of one kind, and whether each takes the keyword arguments too."""
        return list(self._kinds.get(kind, {}).values())

    def add(self, kind: Kind, hook: Hook, with_kwargs: bool = False) -> HookHandle:
        """Add a hook and return its handle.

        Raises
        ------
        TypeError
            If it cannot be called.
        """
        if not callable(hook):
            raise TypeError(f"a hook must be callable, this is {type(hook).__name__}.")
        key = next(_keys)
        self._kinds.setdefault(kind, {})[key] = (hook, with_kwargs)
        self.version += 1
        return HookHandle(self, kind, key)

    def discard(self, kind: Kind, key: int) -> None:
        """Remove a hook by its key, if it is there."""
        table = self._kinds.get(kind, {})
        if table.pop(key, None) is not None:
            self.version += 1
            if not table:
                del self._kinds[kind]


def call_with_hooks(
    cell: Cell, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call `run`, the Cell's `construct`, between the Cell's hooks."""
    hooks = cell.hooks
    for hook, with_kwargs in hooks.of("forward_pre"):
        found = hook(cell, args, kwargs) if with_kwargs else hook(cell, args)
        if found is None:
            continue
        if with_kwargs:
            args, kwargs = found
        else:
            args = found if isinstance(found, tuple) else (found,)
    gate = BackwardGate(cell) if hooks.of("backward") or hooks.of("backward_pre") else None
    if gate is None:
        output = run(*args, **kwargs)
    else:
        output = gate.leave(run(*gate.enter(args), **kwargs))
    for hook, with_kwargs in hooks.of("forward"):
        found = hook(cell, args, kwargs, output) if with_kwargs else hook(cell, args, output)
        output = output if found is None else found
    return output


class BackwardGate:
    """Stands around one call of a Cell and shows its gradients to the backward hooks.

    What goes in and what comes out pass through ops without arithmetic, whose gradient rules run
    the hooks: the outputs' rule first, on the way back. A token, a number that nothing computes
    with, leads from the one op to the other: where it needs no gradient, no input does, and the
    hooks run as soon as the outputs' gradients are there.
    """

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.grad_output: Tensors = ()
        self.token: Tensors = ()
        self.inputs = 0

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Pass the arguments."""
        tensors = _tensors(args)
        self.inputs = len(tensors)
        if not tensors or not (records or traces):
            return args
        *passed, token = _pass(tensors, self._to_inputs, gives_token=True)
        self.token = (token,)
        return _replace(args, passed)

    def leave(self, output: Any) -> Any:
        """Pass the output."""
        tensors = _tensors(output)
        if not tensors or not (records or traces):
            return output
        return _replace(output, _pass((*tensors, *self.token), self._to_outputs))

    def _to_outputs(self, ctx: GradContext) -> Grads:
        douts = tuple(
            zeros_like(out) if dout is None else dout
            for out, dout in zip(ctx.outputs, ctx.douts, strict=True)
        )
        if self.token:
            douts = douts[:-1]
        for hook, _ in self.cell.hooks.of("backward_pre"):
            douts = _chosen(self.cell, douts, hook(self.cell, douts))
        self.grad_output = douts
        if not self.token:
            self._show((None,) * self.inputs)
            return douts
        if not ctx.needs[-1]:
            self._show((None,) * self.inputs)
            return (*douts, None)
        return (*douts, zeros_like(ctx.inputs[-1]))

    def _to_inputs(self, ctx: GradContext) -> Grads:
        found: list[Tensor | None] = []
        for tensor, dout, need in zip(ctx.inputs, ctx.douts, ctx.needs, strict=False):
            found.append(None if not need else zeros_like(tensor) if dout is None else dout)
        return self._show(tuple(found))

    def _show(self, douts: Grads) -> Grads:
        for hook, _ in self.cell.hooks.of("backward"):
            douts = _chosen(self.cell, douts, hook(self.cell, douts, self.grad_output))
        return douts


def _chosen(cell: Cell, grads: Any, found: Any) -> Any:
    if found is None:
        return grads
    given = tuple(found) if isinstance(found, tuple | list) else (found,)
    if len(given) != len(grads):
        raise ValueError(
            f"a backward hook of {type(cell).__name__} returned {len(given)} gradients for"
            f" {len(grads)}; return one for each, or None."
        )
    return given


def _tensors(value: Any) -> Tensors:
    """The tensors of nested tuples, lists and dictionaries, in order."""
    if isinstance(value, Tensor):
        return (value,)
    items = value.values() if isinstance(value, dict) else value
    if not isinstance(value, tuple | list | dict):
        return ()
    return tuple(tensor for item in items for tensor in _tensors(item))


def _replace(value: Any, tensors: Sequence[Tensor]) -> Any:
    """`value` with its tensors replaced, in order."""
    rest = iter(tensors)

    def fill(part: Any) -> Any:
        if isinstance(part, Tensor):
            return next(rest)
        if isinstance(part, dict):
            return {key: fill(item) for key, item in part.items()}
        if isinstance(part, tuple | list):
            items = [fill(item) for item in part]
            return type(part)(*items) if hasattr(part, "_fields") else type(part)(items)
        return part

    return fill(value)


def _pass(
    tensors: Tensors, rule: Callable[[GradContext], Grads], gives_token: bool = False
) -> Tensors:
    """Return the tensors under new handles, whose gradients go through `rule`."""
    made = (_TOKEN,) if gives_token else ()

    def expand(*given: Tensor) -> Tensors:
        token = (full((), 0.0, float32),) if gives_token else ()
        return (*[identity(tensor) for tensor in given], *token)

    # Each call has an op of its own, so that no cached gradient graph forgets the hooks.
    name = f"hook_{next(_keys)}"
    op = Op(
        name, ("inputs",), {}, "gradient", lambda *avals: (*avals, *[t.aval for t in made]),
        lambda *arrays: (*arrays, *[t.data for t in made]), rule, Composite(expand), name,
        "Runs backward hooks.", expand, variadic=True,
    )  # fmt: skip
    if traces:
        return apply(op, tensors, {})
    outputs = tuple(wrap(tensor.data) for tensor in (*tensors, *made))
    if records:
        log(op, tensors, outputs, {})
    return outputs


_TOKEN = wrap(np.zeros((), np.float32))
