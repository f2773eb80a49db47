"""Hooks: functions that a Cell calls around its `construct` and around its gradient."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ..ops import identity, zeros_like
from ..ops.registry import Composite, GradContext, Op, log, records, traces
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

    What goes in and what comes out pass through an op without arithmetic, whose gradient rules run
    the hooks: the outputs' rule first, on the way back.
    """

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.grad_output: Tensors = ()

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Pass the arguments."""
        return _replace(args, _pass(_tensors(args), self._to_inputs))

    def leave(self, output: Any) -> Any:
        """Pass the output."""
        return _replace(output, _pass(_tensors(output), self._to_outputs))

    def _to_outputs(self, douts: Tensors) -> Tensors:
        for hook, _ in self.cell.hooks.of("backward_pre"):
            douts = _chosen(self.cell, douts, hook(self.cell, douts))
        self.grad_output = douts
        return douts

    def _to_inputs(self, douts: Tensors) -> Tensors:
        for hook, _ in self.cell.hooks.of("backward"):
            douts = _chosen(self.cell, douts, hook(self.cell, douts, self.grad_output))
        return douts


def _chosen(cell: Cell, grads: Tensors, found: Any) -> Tensors:
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
    items = value if isinstance(value, tuple | list) else (value,)
    return tuple(item for item in items if isinstance(item, Tensor))


def _replace(value: Any, tensors: Sequence[Tensor]) -> Any:
    """`value` with its tensors replaced, in order."""
    rest = iter(tensors)
    if isinstance(value, tuple | list):
        return type(value)(next(rest) if isinstance(item, Tensor) else item for item in value)
    return next(rest) if isinstance(value, Tensor) else value


def _pass(tensors: Tensors, rule: Callable[[Tensors], Tensors]) -> Tensors:
    """Return the tensors under new handles, whose gradients go through `rule`."""

    def grad(ctx: GradContext) -> Tensors:
        pairs = zip(ctx.outputs, ctx.douts, strict=True)
        return rule(tuple(zeros_like(out) if dout is None else dout for out, dout in pairs))

    def expand(*given: Tensor) -> Tensors:
        return tuple(identity(tensor) for tensor in given)

    if not tensors or not (records or traces):
        return tensors
    # Each call has an op of its own, so that no cached gradient graph forgets the hooks.
    name = f"hook_{next(_keys)}"
    op = Op(
        name, ("inputs",), {}, "gradient", lambda *avals: avals, lambda *arrays: arrays, grad,
        Composite(expand), name, "Runs backward hooks.", expand, variadic=True,
    )  # fmt: skip
    if traces:
        outputs = traces[-1].emit(op, tensors, {})
    else:
        outputs = tuple(wrap(tensor.data) for tensor in tensors)
    log(op, tensors, outputs, {})
    return outputs
