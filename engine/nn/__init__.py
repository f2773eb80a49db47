"""Cells: layers, activations, losses, containers and optimizers, under MindSpore's names."""

from .activation import (
    ELU,
    GELU,
    LeakyReLU,
    LogSoftmax,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
    get_activation,
)
from .cell import Cell
from .container import CellDict, CellList, SequentialCell
from .layers import Conv2d, Dense, Embedding
from .loss import (
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    L1Loss,
    MAELoss,
    MSELoss,
    NLLLoss,
    SoftmaxCrossEntropyWithLogits,
)
from .norm import BatchNorm1d, BatchNorm2d, Dropout, LayerNorm
from .optim import SGD, Adam, AdamWeightDecay, Momentum, Optimizer
from .shaping import AvgPool2d, Flatten, Identity, MaxPool2d

__all__ = [
    "ELU",
    "GELU",
    "SGD",
    "Adam",
    "AdamWeightDecay",
    "AvgPool2d",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "Cell",
    "CellDict",
    "CellList",
    "Conv2d",
    "CrossEntropyLoss",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "Identity",
    "L1Loss",
    "LayerNorm",
    "LeakyReLU",
    "LogSoftmax",
    "MAELoss",
    "MSELoss",
    "MaxPool2d",
    "Momentum",
    "NLLLoss",
    "Optimizer",
    "ReLU",
    "SequentialCell",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "SoftmaxCrossEntropyWithLogits",
    "Softplus",
    "Tanh",
    "get_activation",
]
