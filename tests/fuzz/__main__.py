"""The long run: ``python -m tests.fuzz --cases 10000``, ``python -m tests.fuzz --faults``."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "tables")]

from .faults import FAULTS, Fault, cases_until_caught  # noqa: E402
from .session import KINDS, Kind, small_case, trouble_of  # noqa: E402


def main() -> int:
    """Run what the command line asks for; return 1 if the compiler was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="graphs and programs in all")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--only", choices=KINDS, help="only cases of one kind")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this long")
    parser.add_argument("--faults", action="store_true", help="look for seeded faults instead")
    parser.add_argument("--budget", type=int, default=1000, help="cases in which to find a fault")
    given = parser.parse_args()
    if given.faults:
        return find_faults(given.budget, given.seed)
    kinds: tuple[Kind, ...] = (given.only,) if given.only else KINDS
    return fuzz(kinds, given.seed, given.cases, given.seconds)


def fuzz(kinds: tuple[Kind, ...], first: int, cases: int, seconds: float) -> int:
    """Run so many cases, by turns of each kind; tell of those that fail and of how it goes."""
    started, failed, done = time.monotonic(), 0, 0
    for number in range(cases):
        kind, seed = kinds[number % len(kinds)], first + number // len(kinds)
        if trouble_of(kind, seed):
            failed += 1
            print(small_case(kind, seed), end="\n\n", flush=True)
        done = number + 1
        if done % 500 == 0:
            print(f"{done} cases, {failed} failed, {time.monotonic() - started:.0f} s", flush=True)
        if time.monotonic() - started > seconds:
            break
    print(f"{done} cases from seed {first}: {failed} failed, {time.monotonic() - started:.0f} s")
    return 1 if failed else 0


def find_faults(budget: int, first: int) -> int:
    """Look for every seeded fault in so many cases; tell where each was noticed."""
    from . import graph_faults, program_faults  # noqa: F401 - they fill the table

    missed: list[Fault] = []
    for fault in FAULTS:
        seed = cases_until_caught(fault, budget, first)
        found = f"{fault.kind} {seed}" if seed is not None else "MISSED"
        print(f"{found:16} {fault.name}", flush=True)
        missed += [fault] if seed is None else []
    print(f"{len(FAULTS) - len(missed)} of {len(FAULTS)} faults caught in {budget} cases")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
