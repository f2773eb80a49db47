"""Compiled Cellwire beside PyTorch (eager and compiled) and JAX: ``python -m benchmarks.peers``."""
