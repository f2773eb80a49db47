"""Shares of a long run, each in a process of its own."""

from __future__ import annotations

from . import graph_faults, program_faults  # noqa: F401 - they fill the table of faults
from .faults import FAULTS, cases_until_caught
from .session import Kind, small_case, trouble_of


def run_share(kinds: tuple[Kind, ...], first: int, share: range) -> list[str]:
    """Run some of the cases; return those that failed, made small."""
    cases = [(kinds[number % len(kinds)], first + number // len(kinds)) for number in share]
    return [small_case(kind, seed) for kind, seed in cases if trouble_of(kind, seed)]


def look_for(fault: int, budget: int, first: int) -> tuple[str, int | None]:
    """Return what a fault of the table is, and the seed at which it is noticed, if it is."""
    chosen = FAULTS[fault]
    return f"{chosen.kind:9} {chosen.name}", cases_until_caught(chosen, budget, first)
