"""Hooks on single tensors: functions that see, and may change, a tensor's whole gradient."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..ops import array, registry
from ..ops.registry import Composite, GradContext, Grads, Op
from ..parameter import switches
from ..shape import shape_text
from ..tensor import Tensor, wrap

Hook = Callable[[Tensor], Any]
Whole = tuple[Tensor, ...]
_keys = itertools.count()


@dataclass(slots=True)
class Hooked:
    """A tensor that has hooks, in the order of registration."""

    tensor: weakref.ref[Tensor]
    hooks: dict[int, Hook] = field(default_factory=dict)


hooked: dict[int, Hooked] = {}
"""Tensors with hooks by identity: empty where there are none, which is quick to ask."""


class TensorHookHandle:
    """Takes one hook off its tensor again; taking it off twice is no error."""

    __slots__ = ("_entry", "_key")

    def __init__(self, entry: Hooked, key: int) -> None:
        self._entry = entry
        self._key = key

    def remove(self) -> None:
        """Take the hook off."""
        if self._entry.hooks.pop(self._key, None) is None:
            return
        switches[0] += 1
        tensor = self._entry.tensor()
        if tensor is not None and not self._entry.hooks:
            hooked.pop(id(tensor), None)


def register_hook(self: Tensor, hook_fn: Hook) -> TensorHookHandle:
    """Call a function with this tensor's gradient whenever one is computed.

    Parameters
    ----------
    self : Tensor
        The tensor: an argument, a Parameter, or what an op gave.
    hook_fn : callable
        Takes the gradient, summed over all uses of the tensor; gives None to leave it or
        another tensor of its shape and dtype to take its place.

    Returns
    -------
    TensorHookHandle
        Its ``remove()`` takes the hook off.

    Raises
    ------
    TypeError
        If ``hook_fn`` cannot be called; on the way back, if it gives no tensor of that dtype.
    ValueError
        On the way back, if it gives another shape.
    """
    if not callable(hook_fn):
        raise TypeError(f"register_hook needs a function, not {type(hook_fn).__name__}.")
    entry = hooked.get(id(self))
    if entry is None:
        number = id(self)
        entry = Hooked(weakref.ref(self, lambda _: hooked.pop(number, None)))
        _announce(self, entry)
        hooked[number] = entry
    key = next(_keys)
    entry.hooks[key] = hook_fn
    switches[0] += 1
    return TensorHookHandle(entry, key)


def _announce(tensor: Tensor, entry: Hooked) -> None:
    """Tell the trace that takes ops now, so that what it makes has the hooks as well."""
    trace: Any = registry.active_trace()
    if trace is not None:
        trace.hook(tensor, lambda: hook_op(lambda grads: (apply_hooks(entry, grads[0]),)))


def apply_hooks(entry: Hooked, grad: Tensor) -> Tensor:
    """Return the gradient after a tensor's hooks."""
    for hook in list(entry.hooks.values()):
        found = hook(grad)
        if found is None:
            continue
        if not isinstance(found, Tensor) or found.dtype is not grad.dtype:
            kind = found.dtype if isinstance(found, Tensor) else type(found).__name__
            raise TypeError(f"a tensor's hook must give a {grad.dtype} tensor or None, not {kind}.")
        if tuple(found.shape) != tuple(grad.shape):
            raise ValueError(
                f"a tensor's hook gave shape {shape_text(found.shape)} for a gradient of shape"
                f" {shape_text(grad.shape)}."
            )
        grad = found
    return grad


def hooks_of(tensor: Tensor) -> tuple[int, ...]:
    """Return the numbers of a tensor's hooks."""
    entry = hooked.get(id(tensor))
    return () if entry is None else tuple(entry.hooks)


def any_hooked(tensors: Iterable[Tensor]) -> bool:
    """Return whether one of the tensors has hooks."""
    return bool(hooked) and any(id(tensor) in hooked for tensor in tensors)


def hook_op(rule: Callable[[Whole], Whole]) -> Op:
    """Return an op without arithmetic whose gradients go through ``rule``.

    Each is an op of its own, so that no cached gradient graph forgets the hooks.
    """

    def expand(*given: Tensor) -> tuple[Tensor, ...]:
        return tuple(array.identity(tensor) for tensor in given)

    def grad(ctx: GradContext) -> Grads:
        if all(dout is None for dout in ctx.douts):
            return (None,) * len(ctx.inputs)
        pairs = zip(ctx.outputs, ctx.douts, strict=True)
        zeros = registry.OPS["zeros_like"].function
        return rule(tuple(zeros(out) if dout is None else dout for out, dout in pairs))

    name = f"tensor_hook_{next(_keys)}"
    return Op(
        name, ("inputs",), {}, "gradient", lambda *avals: avals, lambda *arrays: arrays, grad,
        Composite(expand), name, "Runs hooks on the way back.", expand, variadic=True,
    )  # fmt: skip


class HookBackward:
    """Passes tensors on and calls a function with their gradients.

    Parameters
    ----------
    hook_fn : callable
        Takes a tuple with the gradient of each tensor; gives None to leave them, or the
        gradient, or tuple of them, to take their place.
    cell_id : str
        Kept for MindSpore's scripts.

    Raises
    ------
    TypeError
        If ``hook_fn`` cannot be called.
    """

    def __init__(self, hook_fn: Callable[..., Any], cell_id: str = "") -> None:
        if not callable(hook_fn):
            raise TypeError(f"HookBackward needs a function, not {type(hook_fn).__name__}.")
        self.hook_fn = hook_fn
        self.cell_id = cell_id

    def __call__(self, *inputs: Tensor) -> Any:
        """Return the tensors; of one alone not as a tuple."""
        for item in inputs:
            if not isinstance(item, Tensor):
                raise TypeError(f"HookBackward passes tensors, not {type(item).__name__}.")
        trace = registry.active_trace()
        op = hook_op(self._changed)
        if trace is not None:
            outputs = registry.apply(op, inputs, {})
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        else:
            outputs = tuple(wrap(tensor.data) for tensor in inputs)
            registry.log(op, inputs, outputs, {})
        return outputs if len(inputs) > 1 else outputs[0]

    def _changed(self, grads: Whole) -> Whole:
        found = self.hook_fn(grads)
        if found is None:
            return grads
        given = tuple(found) if isinstance(found, tuple | list) else (found,)
        if len(given) != len(grads):
            raise ValueError(
                f"HookBackward: the hook gave {len(given)} gradients for {len(grads)}; it takes"
                " the tuple of gradients, and gives one for each, or None."
            )
        return given


setattr(Tensor, "register_hook", register_hook)  # noqa: B010 - a type checker knows the declared one
