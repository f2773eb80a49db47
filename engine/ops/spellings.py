"""One parameter under the several names that MindSpore's reductions have for it."""

from __future__ import annotations

from collections.abc import Iterable

KEEPING = ("keepdims", "keep_dims", "keepdim")
"""How MindSpore's reductions and its methods of Tensor call one and the same parameter."""


def other_spellings(names: Iterable[str]) -> dict[str, str]:
    """Return the parameters of a reduction by the names that other reductions have for them."""
    names = set(names)
    own = next((name for name in KEEPING if name in names), None)
    if own is None:
        return {}
    others = {name: own for name in KEEPING if name != own}
    for name, other in (("axis", "dim"), ("dim", "axis")):
        if name in names and other not in names:
            others[other] = name
    return others
