"""The table of operators: for each ONNX operator a function that runs it by Cellwire's ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .call import Call

Handler = Callable[..., Any]
"""``handler(call, *inputs)`` returns one value, or a tuple or list of as many as outputs."""

OPERATORS: dict[tuple[str, str], Handler] = {}
"""The operators by domain (empty for ONNX's own) and name."""


READS: dict[tuple[str, str], frozenset[int]] = {}
"""Which inputs an operator reads as numbers: weights there are constants, not Parameters."""


def operator(
    *names: str, domain: str = "", reads: tuple[int, ...] = ()
) -> Callable[[Handler], Handler]:
    """Declare the function that runs an operator; several names may share one."""

    def declare(handler: Handler) -> Handler:
        for name in names:
            if (domain, name) in OPERATORS:
                raise ValueError(f"the operator {name} is declared twice.")
            OPERATORS[domain, name] = handler
            READS[domain, name] = frozenset(reads)
        return handler

    return declare


def handler_of(call: Call) -> Handler | None:
    """Return what runs this node, or None where no function of the table does."""
    return OPERATORS.get((call.domain, call.op_type))


def operators_known() -> list[str]:
    """Return the names of the operators in the table, those of other domains with theirs."""
    return sorted(f"{domain}.{name}" if domain else name for domain, name in OPERATORS)
