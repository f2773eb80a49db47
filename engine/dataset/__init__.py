"""Datasets under MindSpore's names: rows of arrays, Python and files, transformed and batched."""

from . import config, debug, text, transforms, vision
from .batching import BatchInfo
from .cifar import Cifar10Dataset, Cifar100Dataset
from .digits import DigitsDataset, load_digits
from .files import DataError, load_csv, load_npz
from .image_folder import ImageFolderDataset
from .iterators import RowIterator
from .mnist import (
    EMnistDataset,
    FashionMnistDataset,
    KMnistDataset,
    MnistDataset,
    QMnistDataset,
)
from .operations import zip_datasets as zip
from .pipeline import Dataset
from .records import MindDataset
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
from .tables import TableDataset
from .text_files import CSVDataset, TextFileDataset
from .workers import RowError

__all__ = [
    "BatchInfo",
    "CSVDataset",
    "Cifar10Dataset",
    "Cifar100Dataset",
    "DataError",
    "Dataset",
    "DigitsDataset",
    "DistributedSampler",
    "EMnistDataset",
    "FashionMnistDataset",
    "GeneratorDataset",
    "ImageFolderDataset",
    "IterSampler",
    "KMnistDataset",
    "MindDataset",
    "MnistDataset",
    "NumpySlicesDataset",
    "PKSampler",
    "QMnistDataset",
    "RandomSampler",
    "RowError",
    "RowIterator",
    "Sampler",
    "Schema",
    "SequentialSampler",
    "Shuffle",
    "SubsetRandomSampler",
    "SubsetSampler",
    "TableDataset",
    "TextFileDataset",
    "WeightedRandomSampler",
    "config",
    "debug",
    "load_csv",
    "load_digits",
    "load_npz",
    "split_rows",
    "text",
    "transforms",
    "vision",
    "zip",
]
