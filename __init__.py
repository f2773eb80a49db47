"""Cellwire: build, debug and compile neural networks by wiring Cells and ops."""
