"""Files of records under MindSpore's names, in a format of Cellwire's own (see ``format``)."""

from .cifar import Cifar10ToMR, Cifar100ToMR
from .reader import FileReader
from .writer import FileWriter

__all__ = ["Cifar10ToMR", "Cifar100ToMR", "FileReader", "FileWriter"]
