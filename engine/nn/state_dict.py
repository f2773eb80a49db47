"""A Cell's state by name: parameters and persistent buffers, taken out and put back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..parameter import Parameter
from ..tensor import Tensor, wrap

if TYPE_CHECKING:
    from .cell import Cell


class IncompatibleKeys(NamedTuple):
    """What ``load_state_dict`` could not match."""

    missing_keys: list[str]
    """Names of the Cell that were not given."""
    unexpected_keys: list[str]
    """Names given that the Cell does not have."""


def state_of(cell: Cell, prefix: str = "") -> Iterator[tuple[str, Cell, str, Tensor]]:
    """Yield each piece of state: its name from here, its owner, its attribute, its tensor."""
    seen: set[int] = set()
    for name, owner in cell.cells_and_names():
        dot = f"{prefix}{name}." if name else prefix
        for key, param in owner._params.items():
            if id(param) not in seen:
                seen.add(id(param))
                yield f"{dot}{key}", owner, key, param
        for key, persistent in owner._buffers.items():
            if persistent and owner.__dict__[key] is not None:
                yield f"{dot}{key}", owner, key, owner.__dict__[key]


def load_state(cell: Cell, state: Mapping[str, Any], strict: bool) -> IncompatibleKeys:
    """Write the tensors of `state` into what `cell` has under the same names.

    Raises
    ------
    TypeError
        If `state` is no mapping.
    RuntimeError
        If shapes differ, or names under `strict`; nothing is written then.
    """
    if not isinstance(state, Mapping):
        raise TypeError(f"load_state_dict takes a dict, not {type(state).__name__}.")
    own = {name: (owner, key, tensor) for name, owner, key, tensor in state_of(cell)}
    missing = [name for name in own if name not in state]
    unexpected = [name for name in state if name not in own]
    faults = [
        f"{name!r} has shape {list(tensor.shape)}, the given one {list(np.shape(state[name]))}"
        for name, (_, _, tensor) in own.items()
        if name in state and tuple(np.shape(state[name])) != tuple(tensor.shape)
    ]
    if strict and (missing or unexpected):
        faults.append(f"missing are {missing or 'none'}, unexpected {unexpected or 'none'}")
    if faults:
        raise RuntimeError(
            f"{type(cell).__name__}: the state does not fit: {'; '.join(faults)}. Give the state"
            " of such a network, or strict=False to take the names that both have."
        )
    for name, (owner, key, tensor) in own.items():
        if name not in state:
            continue
        if isinstance(tensor, Parameter):
            tensor.set_data(state[name])
        else:
            array = np.array(getattr(state[name], "data", state[name]), tensor.dtype.numpy)
            owner.__dict__[key] = wrap(array)
    return IncompatibleKeys(missing, unexpected)
