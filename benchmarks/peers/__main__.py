"""Runs the workloads and prints each as a ratio to the best peer, beside its limit."""

from __future__ import annotations

import argparse
import json
import statistics
from collections import defaultdict

from . import calls, first_calls, frameworks, images, mlp, pointwise, products, sequences
from .workload import OURS, PEERS, Figures, measure

FAMILIES = (pointwise, mlp, images, sequences, products, calls)


def main() -> None:
    """Measure what the command line names, by default everything."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("words", nargs="*", help="parts of the names of workloads to run")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--budget", type=float, default=0.1, help="seconds a contender a round")
    parser.add_argument("--without", action="append", default=[], help="a peer to leave out")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found: list[Figures] = []
    if not options.json:
        heads = "".join(f"{name:>15}" for name in (OURS, *PEERS))
        print(f"{'µs a call, ' + str(frameworks.THREADS) + ' threads':32}{heads}  ratio  limit")
    for workload in (w for family in FAMILIES for w in family.workloads()):
        if options.words and not any(word in workload.name for word in options.words):
            continue
        for peer in options.without:
            workload.contenders.pop(peer, None)
        figures = measure(workload, options.rounds, options.budget)
        found.append(figures)
        if not options.json:
            _print(figures)
    for figures in first_calls.measure(options.words, options.without):
        found.append(figures)
        if not options.json:
            _print(figures)
    if options.json:
        print(json.dumps({f.workload.name: {**f.times, "ratio": f.ratio} for f in found}))
        return
    _print_groups(found)


def _print(figures: Figures) -> None:
    times = "".join(
        f"{figures.times[name]:15.1f}" if name in figures.times else f"{'—':>15}"
        for name in (OURS, *PEERS)
    )
    mark = "  over" if figures.ratio > figures.workload.limit else ""
    print(
        f"{figures.workload.name:32}{times}  {figures.ratio:5.2f}  {figures.workload.limit:5.2f}"
        f"{mark}",
        flush=True,
    )


def _print_groups(found: list[Figures]) -> None:
    groups: dict[tuple[str, float], list[float]] = defaultdict(list)
    for figures in found:
        if figures.workload.group:
            key = figures.workload.group, figures.workload.group_limit
            groups[key].append(figures.ratio)
    for (name, limit), ratios in groups.items():
        mean = statistics.geometric_mean(ratios)
        mark = "  over" if mean > limit else ""
        print(f"{name + ', geometric mean':92}  {mean:5.2f}  {limit:5.2f}{mark}")


if __name__ == "__main__":
    main()
