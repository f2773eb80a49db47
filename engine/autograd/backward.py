"""The backward walk: gradient rules applied to a record, last op first.

It runs on whatever tensors the record holds: on traced ones it builds the gradient graph, under
an outer record it is itself recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import origin as origins
from ..ops import arithmetic, array, creation
from ..ops.registry import OPS, Composite, Entry, GradContext, Grads, Op
from ..tensor import Tensor
from ..unwatched import call_unwatched
from .record import Record
from .tensor_hooks import apply_hooks, hooked


def needed_entries(
    entries: Sequence[Entry], outputs: Sequence[Tensor], wrt: Sequence[Tensor]
) -> list[tuple[Entry, tuple[bool, ...]]]:
    """Return the entries on a way from ``wrt`` to ``outputs``, with the inputs that matter."""
    reached = {id(tensor) for tensor in wrt}
    forward: list[tuple[Entry, tuple[bool, ...]]] = []
    for entry in entries:
        needs = tuple([id(tensor) in reached for tensor in entry.inputs])
        if entry.op.has_grad and any(needs):
            reached.update(id(tensor) for tensor in entry.outputs)
            forward.append((entry, needs))
    wanted = {id(tensor) for tensor in outputs}
    kept = []
    for entry, needs in reversed(forward):
        if any(id(tensor) in wanted for tensor in entry.outputs):
            wanted.update(
                id(tensor) for tensor, need in zip(entry.inputs, needs, strict=True) if need
            )
            kept.append((entry, needs))
    return kept[::-1]


def run_backward(
    entries: Sequence[Entry],
    outputs: Sequence[Tensor],
    douts: Sequence[Tensor | None],
    wrt: Sequence[Tensor],
) -> list[Tensor | None]:
    """Return the gradients of ``outputs``, weighted by ``douts``, to ``wrt``; None: none flows."""
    grads: dict[int, Tensor] = {}
    passed: set[int] = set()
    for tensor, dout in zip(outputs, douts, strict=True):
        if dout is not None:
            _accumulate(grads, tensor, dout)
    for entry, needs in reversed(call_unwatched(needed_entries, entries, outputs, wrt)):
        if hooked:
            passed.update(_pass_hooks(entry.outputs, grads))
        held = tuple([grads.get(id(tensor)) for tensor in entry.outputs])
        if all(grad is None for grad in held):
            continue
        origin = None if entry.origin is None else entry.origin.gradient()
        with origins.at(origin):
            _apply_rule(entry, held, needs, grads)
    if hooked:
        _pass_hooks([tensor for tensor in wrt if id(tensor) not in passed], grads)
    return [grads.get(id(tensor)) for tensor in wrt]


def _pass_hooks(tensors: Sequence[Tensor], grads: dict[int, Tensor]) -> set[int]:
    """Let the tensors' hooks see the gradients, which are whole now; return who had their turn."""
    turns = dict.fromkeys(id(tensor) for tensor in tensors)
    for turn in turns:
        if turn in hooked and turn in grads:
            grads[turn] = apply_hooks(hooked[turn], grads[turn])
    return set(turns)


def _apply_rule(
    entry: Entry,
    douts: Grads,
    needs: tuple[bool, ...],
    grads: dict[int, Tensor],
) -> None:
    context = GradContext(entry.inputs, entry.outputs, douts, entry.attrs, needs)
    op = entry.op
    if OPS.get(op.name) is op:  # whose rule runs no code of the user's
        found = call_unwatched(rule_gradients, op, context)
    else:
        found = rule_gradients(op, context)
    for tensor, need, grad in zip(entry.inputs, needs, found, strict=True):
        if need and grad is not None:
            _accumulate(grads, tensor, grad)


def rule_gradients(op: Op, context: GradContext) -> Grads:
    """Return the gradients to an op's inputs, by its rule or through its expansion."""
    found = NotImplemented if op.grad is None else op.grad(context)
    return _derive_expansion(op, context) if found is NotImplemented else found


def _derive_expansion(op: Op, context: GradContext) -> Grads:
    if not isinstance(op.lowering, Composite):
        raise NotImplementedError(f"{op.name}: no gradient is defined for these inputs.")
    return derive_through(op.lowering.fn, context)


def derive_through(fn: Callable[..., Any], context: GradContext) -> Grads:
    """Return the gradients to an op's inputs, ``fn`` being what the op does, in other ops."""
    with Record() as record:
        # Fresh handles, so that an input given twice gets two gradients.
        inputs = tuple(array.identity(tensor) for tensor in context.inputs)
        result = fn(*inputs, **context.attrs)
    outputs = result if isinstance(result, tuple) else (result,)
    wrt = [tensor for tensor, need in zip(inputs, context.needs, strict=True) if need]
    found = iter(run_backward(record.entries, outputs, context.douts, wrt))
    return tuple(next(found) if need else None for need in context.needs)


def _accumulate(grads: dict[int, Tensor], tensor: Tensor, grad: Tensor) -> None:
    held = grads.get(id(tensor))
    grads[id(tensor)] = grad if held is None else arithmetic.add(held, grad)


def ones_for(tensor: Tensor) -> Tensor:
    """Return the gradient that starts a backward pass: ones like ``tensor``."""
    return creation.ones_like(tensor)


def zeros_for(tensor: Tensor) -> Tensor:
    """Return the gradient of a tensor on which nothing depends: zeros like it."""
    return creation.full(tuple(tensor.shape), 0, tensor.dtype)
