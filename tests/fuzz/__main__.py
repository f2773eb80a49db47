"""The long run: ``python -m tests.fuzz --cases 10000``, ``python -m tests.fuzz --faults``."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from .session import KINDS, Kind
from .shares import FAULTS, look_for, run_share

SHARE = 50
"""Cases that a process takes at a time."""


def main() -> int:
    """Run what the command line asks for; return 1 if the compiler was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="graphs and programs in all")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--only", choices=KINDS, help="only cases of one kind")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this long")
    parser.add_argument("--faults", action="store_true", help="look for seeded faults instead")
    parser.add_argument("--budget", type=int, default=1000, help="cases in which to find a fault")
    parser.add_argument("--fault", default="", help="only faults with this in their names")
    given = parser.parse_args()
    if given.faults:
        return find_faults(given.budget, given.seed, given.jobs, given.fault)
    kinds: tuple[Kind, ...] = (given.only,) if given.only else KINDS
    return fuzz(kinds, given.seed, given.cases, given.seconds, given.jobs)


def fuzz(kinds: tuple[Kind, ...], first: int, cases: int, seconds: float, jobs: int = 1) -> int:
    """Run so many cases, by turns of each kind; tell of those that fail and of how it goes."""
    started, failed, done = time.monotonic(), 0, 0
    shares = [range(at, min(at + SHARE, cases)) for at in range(0, cases, SHARE)]
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        waiting = {pool.submit(run_share, kinds, first, share): share for share in shares}
        for future in as_completed(waiting):
            troubles = future.result()
            done, failed = done + len(waiting[future]), failed + len(troubles)
            print(*troubles, sep="\n\n", end="\n\n" if troubles else "", flush=True)
            spent = time.monotonic() - started
            if done % 500 < SHARE:
                print(f"{done} cases, {failed} failed, {spent:.0f} s", flush=True)
            if spent > seconds:
                pool.shutdown(wait=False, cancel_futures=True)
                break
    spent = time.monotonic() - started
    print(f"{done} cases from seed {first}: {failed} failed, {spent:.0f} s")
    return 1 if failed else 0


def find_faults(budget: int, first: int, jobs: int, named: str) -> int:
    """Look for every seeded fault in so many cases; tell where each was noticed."""
    wanted = [at for at, fault in enumerate(FAULTS) if named in fault.name]
    missed = 0
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for future in as_completed(pool.submit(look_for, at, budget, first) for at in wanted):
            what, seed = future.result()
            missed += seed is None
            print(f"{'MISSED' if seed is None else seed:>6} {what}", flush=True)
    print(f"{len(wanted) - missed} of {len(wanted)} faults caught in {budget} cases")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
