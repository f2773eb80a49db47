"""Datasets: rows from arrays or Python, shuffled, mapped and batched, under MindSpore's names."""

from .digits import DigitsDataset, load_digits
from .files import DataError, load_csv, load_npz
from .pipeline import Dataset, RowIterator
from .sources import GeneratorDataset, NumpySlicesDataset
from .split import split_rows

__all__ = [
    "DataError",
    "Dataset",
    "DigitsDataset",
    "GeneratorDataset",
    "NumpySlicesDataset",
    "RowIterator",
    "load_csv",
    "load_digits",
    "load_npz",
    "split_rows",
]
