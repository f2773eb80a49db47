"""Datasets: rows from arrays, Python and files, transformed and batched, under MindSpore's names."""

from . import config
from .batching import BatchInfo
from .digits import DigitsDataset, load_digits
from .files import DataError, load_csv, load_npz
from .iterators import RowIterator
from .operations import zip_datasets as zip
from .pipeline import Dataset
from .samplers import (
    DistributedSampler,
    IterSampler,
    PKSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    Shuffle,
    SubsetRandomSampler,
    SubsetSampler,
    WeightedRandomSampler,
)
from .schema import Schema
from .sources import GeneratorDataset, NumpySlicesDataset
from .split import split_rows
from .workers import RowError

__all__ = [
    "BatchInfo",
    "DataError",
    "Dataset",
    "DigitsDataset",
    "DistributedSampler",
    "GeneratorDataset",
    "IterSampler",
    "NumpySlicesDataset",
    "PKSampler",
    "RandomSampler",
    "RowError",
    "RowIterator",
    "Sampler",
    "Schema",
    "SequentialSampler",
    "Shuffle",
    "SubsetRandomSampler",
    "SubsetSampler",
    "WeightedRandomSampler",
    "config",
    "load_csv",
    "load_digits",
    "load_npz",
    "split_rows",
    "zip",
]
