"""Both examples trained on the digits with five seeds: median held-out accuracy and wall time.

Run ``python -m benchmarks.digits`` (``--json`` for scripts). The training settings were chosen by
cross-validation on the training rows alone; nothing is selected on the held-out ones.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parent.parent / "assets" / "examples"
WANTED = {"digits_mlp": 0.97, "digits_cnn": 0.98}
SEEDS = range(5)


def train(example: str, seed: int, folder: Path) -> tuple[float, float]:
    """Held-out accuracy and seconds of `cellwire train`, start of the program included."""
    command = [sys.executable, "-m", "cellwire", "train", str(EXAMPLES / f"{example}.cellwire")]
    command += ["--seed", str(seed), "--out", str(folder / f"{example}{seed}"), "--json"]
    start = time.perf_counter()
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - start
    return json.loads(ran.stdout.splitlines()[-1])["held_out_accuracy"], seconds


def measure() -> list[dict[str, Any]]:
    """A row for each example."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for example, wanted in WANTED.items():
            runs = [train(example, seed, Path(folder)) for seed in SEEDS]
            rows.append(
                {
                    "example": example,
                    "wanted": wanted,
                    "median": statistics.median(accuracy for accuracy, _ in runs),
                    "accuracies": [accuracy for accuracy, _ in runs],
                    "longest_seconds": max(seconds for _, seconds in runs),
                }
            )
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    rows = measure()
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        each = " ".join(f"{accuracy:.2%}" for accuracy in row["accuracies"])
        print(
            f"{row['example']}: median {row['median']:.2%} (wanted {row['wanted']:.0%}), "
            f"longest run {row['longest_seconds']:.1f} s; seeds: {each}"
        )


if __name__ == "__main__":
    main()
