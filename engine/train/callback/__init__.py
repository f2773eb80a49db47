"""Callbacks: what is done at the moments of a training."""

from .base import Callback, CallbackParams, LambdaCallback, RunContext
from .checkpoints import CheckpointConfig, ModelCheckpoint
from .monitors import History, LossMonitor, TimeMonitor
from .steering import EarlyStopping, LearningRateScheduler, ReduceLROnPlateau

__all__ = [
    "Callback",
    "CallbackParams",
    "CheckpointConfig",
    "EarlyStopping",
    "History",
    "LambdaCallback",
    "LearningRateScheduler",
    "LossMonitor",
    "ModelCheckpoint",
    "ReduceLROnPlateau",
    "RunContext",
    "TimeMonitor",
]
