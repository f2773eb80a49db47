"""Datasets: rows from arrays or Python, shuffled, mapped and batched, under MindSpore's names."""

from .pipeline import Dataset
from .sources import GeneratorDataset, NumpySlicesDataset

__all__ = ["Dataset", "GeneratorDataset", "NumpySlicesDataset"]
