"""Optimizers: they take gradients and write parameters."""

from .adafactor import AdaFactor
from .adam import Adam, AdaMax, AdamW, AdamWeightDecay, LazyAdam
from .adaptive import FTRL, Adadelta, Adagrad, ProximalAdagrad, RMSProp
from .base import Optimizer
from .gradient_descent import ASGD, SGD, Momentum, Rprop
from .groups import Rate
from .layerwise import LARS, Lamb

__all__ = [
    "ASGD",
    "FTRL",
    "LARS",
    "SGD",
    "AdaFactor",
    "AdaMax",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "AdamWeightDecay",
    "Lamb",
    "LazyAdam",
    "Momentum",
    "Optimizer",
    "ProximalAdagrad",
    "RMSProp",
    "Rate",
    "Rprop",
]
