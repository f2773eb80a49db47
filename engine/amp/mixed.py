"""Networks in mixed precision: by levels, or by lists of one's own."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ..dtype import DType, bfloat16, dtype_of, float16, float32
from ..nn.cell import Cell
from ..nn.precision import cast_floats
from ..ops.primitives import Primitive
from .casting import Policy, cast_ops_of
from .lists import AUTO_BLACK, AUTO_WHITE, get_black_list, get_white_list

LEVELS = ("O0", "O1", "O2", "O3", "auto")


def auto_mixed_precision(network: Cell, amp_level: str = "O0", dtype: Any = float16) -> Cell:
    """Let a network compute in mixed precision; parameters stay float32.

    Parameters
    ----------
    network : Cell
        The network, which is changed.
    amp_level : {"O0", "O1", "O2", "O3", "auto"}
        ``O0`` changes nothing; ``O1`` casts the Cells and ops of the white list, which give
        float32; ``O2`` casts everything but the Cells of the black list, and ``O3`` everything,
        the network's outputs being float32; ``auto`` casts op by op, by lists of its own.
    dtype : DType
        ``float16`` or ``bfloat16``.

    Returns
    -------
    Cell
        The network.

    Raises
    ------
    ValueError
        If the level or type is another.
    TypeError
        If `network` is no Cell.

    References
    ----------
    Micikevicius et al., Mixed Precision Training, 2017.
    """
    low = _checked(network, dtype)
    if amp_level not in LEVELS:
        raise ValueError(
            f"auto_mixed_precision: amp_level must be one of {', '.join(LEVELS)}, not"
            f" {amp_level!r}."
        )
    if amp_level == "O1":
        _by_white_list(network, get_white_list(), low)
    elif amp_level in ("O2", "O3"):
        _by_black_list(network, get_black_list() if amp_level == "O2" else [], low)
        network.register_forward_hook(_output_to_float32)
    elif amp_level == "auto":
        cast_ops_of(network, Policy(low, AUTO_WHITE, AUTO_BLACK))
    return network


def custom_mixed_precision(
    network: Cell,
    *,
    white_list: Sequence[Any] | None = None,
    black_list: Sequence[Any] | None = None,
    dtype: Any = float16,
) -> Cell:
    """Let a network compute in mixed precision, by a list of Cells and primitives.

    Parameters
    ----------
    network : Cell
        The network, which is changed.
    white_list : list of class, optional
        Cell and primitive classes that compute in low precision, and give float32.
    black_list : list of class, optional
        Those that stay in float32 while everything else computes in low precision.
    dtype : DType
        ``float16`` or ``bfloat16``.

    Returns
    -------
    Cell
        The network.

    Raises
    ------
    ValueError
        If not exactly one list is given.
    TypeError
        If something in it is no class of Cells or primitives.
    """
    low = _checked(network, dtype)
    if (white_list is None) is (black_list is None):
        raise ValueError("custom_mixed_precision takes a white_list or a black_list, one of them.")
    given = white_list if black_list is None else black_list
    for kind in given or ():
        if not inspect.isclass(kind) or not issubclass(kind, (Cell, Primitive)):
            raise TypeError(
                f"custom_mixed_precision: lists hold classes of Cells and primitives, not {kind!r}."
            )
    if black_list is None:
        _by_white_list(network, list(white_list or ()), low)
    else:
        _by_black_list(network, list(black_list), low)
    return network


def _checked(network: Any, dtype: Any) -> DType:
    if not isinstance(network, Cell):
        raise TypeError(f"mixed precision is for Cells, not {type(network).__name__}.")
    low = dtype_of(dtype)
    if low not in (float16, bfloat16):
        raise ValueError(f"mixed precision needs float16 or bfloat16, not {low}.")
    return low


def _by_white_list(network: Cell, white: list[Any], low: DType) -> None:
    kinds = tuple(kind for kind in white if issubclass(kind, Cell))
    for _, cell in network.cells_and_names():
        if isinstance(cell, kinds):
            cell.to_float(low)
            cell.register_forward_hook(_output_to_float32)
    names = _op_names(white)
    if names:
        cast_ops_of(network, Policy(low, white=names, restore=True))


def _by_black_list(network: Cell, black: list[Any], low: DType) -> None:
    network.to_float(low)
    kinds = tuple(kind for kind in black if issubclass(kind, Cell))
    for _, cell in network.cells_and_names():
        if kinds and isinstance(cell, kinds):
            cell.to_float(float32)
            cell.register_forward_hook(lambda cell, args, output: cast_floats(output, low))
    names = _op_names(black)
    if names:
        cast_ops_of(network, Policy(low, black=names, restore=True))


def _op_names(kinds: list[Any]) -> frozenset[str]:
    return frozenset(kind.op.name for kind in kinds if issubclass(kind, Primitive))


def _output_to_float32(cell: Cell, args: Any, output: Any) -> Any:
    return cast_floats(output, float32)
