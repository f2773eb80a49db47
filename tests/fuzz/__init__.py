"""Differential fuzzing: random graphs and random Python code, eager against compiled.

``python -m tests.fuzz`` is the long run; ``tests/test_fuzz.py`` has a short one.
"""

import sys
from pathlib import Path

TABLES = str(Path(__file__).resolve().parents[1] / "tables")
if TABLES not in sys.path:  # where the samples of ops are; pytest knows it by its settings
    sys.path.insert(0, TABLES)
