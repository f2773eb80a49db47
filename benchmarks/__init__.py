"""Measurements against PyTorch and JAX, in one run each."""
