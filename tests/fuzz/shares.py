"""Shares of a long run, each in a process of its own."""

from __future__ import annotations

from .session import Kind, small_case, trouble_of


def run_share(kinds: tuple[Kind, ...], first: int, share: range) -> list[str]:
    """Run some of the cases; return those that failed, made small."""
    cases = [(kinds[number % len(kinds)], first + number // len(kinds)) for number in share]
    return [small_case(kind, seed) for kind, seed in cases if trouble_of(kind, seed)]
