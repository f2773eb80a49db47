"""Datasets: rows from arrays or Python, shuffled, mapped and batched, under MindSpore's names."""

from .digits import DigitsDataset
from .pipeline import Dataset, RowIterator
from .sources import GeneratorDataset, NumpySlicesDataset

__all__ = ["Dataset", "DigitsDataset", "GeneratorDataset", "NumpySlicesDataset", "RowIterator"]
