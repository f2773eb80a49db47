"""Differential fuzzing: random graphs and random Python code, eager against compiled.

``python -m tests.fuzz`` is the long run; ``tests/test_fuzz.py`` has a short one.
"""
