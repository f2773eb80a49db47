"""The engine: tensors, ops, gradients, Cells, datasets, the compiler and the executor."""
