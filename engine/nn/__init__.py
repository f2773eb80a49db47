"""Cells: layers, activations, losses, containers and optimizers, under MindSpore's names."""

# An index: every name imported here without an underscore is public. The modules come in
# alphabetical order, their names packed into lines.
# ruff: noqa: F401
# fmt: off
# isort: off
import sys as _sys
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import Any as _Any

from .activation import (
    ELU, GELU, LeakyReLU, LogSoftmax, ReLU, Sigmoid, SiLU, Softmax, Softplus, Tanh, get_activation,
)
from .adaptive_pooling import (
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
)
from .attention import MultiheadAttention
from .basic import ClipByNorm, Flatten, Identity, OneHot, Roll, Unflatten
from .batch_norm import BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm
from .cell import Cell
from .container import CellDict, CellList, SequentialCell
from .conv_transpose import Conv1dTranspose, Conv2dTranspose, Conv3dTranspose
from .convolution import Conv1d, Conv2d, Conv3d
from .dropout import Dropout, Dropout1d, Dropout2d, Dropout3d
from .embedding import Embedding, EmbeddingLookup
from .graph_cell import GraphCell
from .layers import BiDense, Dense
from .learning_rate import (
    cosine_decay_lr, exponential_decay_lr, inverse_decay_lr, natural_exp_decay_lr,
    piecewise_constant_lr, polynomial_decay_lr, warmup_lr,
)
from .loss import (
    BCEWithLogitsLoss, CrossEntropyLoss, L1Loss, LossBase, MAELoss, MSELoss, NLLLoss,
    SoftmaxCrossEntropyWithLogits,
)
from .margin_loss import (
    CosineEmbeddingLoss, HingeEmbeddingLoss, MarginRankingLoss, MultilabelMarginLoss,
    MultiLabelSoftMarginLoss, MultiMarginLoss, SoftMarginLoss, TripletMarginLoss,
)
from .optim import (
    ASGD, FTRL, LARS, SGD, Adadelta, AdaFactor, Adagrad, Adam, AdaMax, AdamW, AdamWeightDecay, Lamb,
    LazyAdam, Momentum, Optimizer, ProximalAdagrad, RMSProp, Rprop,
)
from .padding import (
    ConstantPad1d, ConstantPad2d, ConstantPad3d, Pad, ReflectionPad1d, ReflectionPad2d,
    ReflectionPad3d, ReplicationPad1d, ReplicationPad2d, ReplicationPad3d, ZeroPad2d,
)
from .piecewise_activation import (
    Hardtanh, HShrink, HSigmoid, HSwish, PReLU, ReLU6, RReLU, SoftShrink, Threshold,
)
from .pooling import AvgPool1d, AvgPool2d, AvgPool3d, MaxPool1d, MaxPool2d, MaxPool3d
from .regression_loss import (
    BCELoss, GaussianNLLLoss, HuberLoss, KLDivLoss, PoissonNLLLoss, RMSELoss, SmoothL1Loss,
)
from .rnn import GRU, LSTM, RNN
from .rnn_cells import GRUCell, LSTMCell, RNNCell
from .sample_norm import (
    LRN, GroupNorm, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, LayerNorm, RMSNorm,
)
from .sampled_softmax import SampledSoftmaxLoss
from .schedule import (
    CosineDecayLR, ExponentialDecayLR, InverseDecayLR, LearningRateSchedule, NaturalExpDecayLR,
    PolynomialDecayLR, WarmUpLR,
)
from .segmentation_loss import DiceLoss, FocalLoss, MultiClassDiceLoss
from .sequence_loss import CTCLoss
from .smooth_activation import (
    CELU, GLU, FastGelu, LogSigmoid, Mish, SeLU, Softmax2d, Softmin, Softsign, Tanhshrink,
)
from .transformer import Transformer, TransformerDecoder, TransformerEncoder
from .transformer_layers import TransformerDecoderLayer, TransformerEncoderLayer
from .unpooling import (
    FractionalMaxPool2d, FractionalMaxPool3d, LPPool1d, LPPool2d, MaxUnpool1d, MaxUnpool2d,
    MaxUnpool3d,
)
from .upsampling import ChannelShuffle, PixelShuffle, PixelUnshuffle, ResizeBilinear, Upsample
from .wrap import (
    DistributedGradReducer, DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell,
    ForwardValueAndGrad, TrainOneStepCell, TrainOneStepWithLossScaleCell, WithEvalCell,
    WithLossCell,
)
# fmt: on

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    name
    for name, value in globals().items()
    if not name.startswith("_") and value.__class__ is not _ModuleType
]


def __getattr__(name: str) -> _Any:
    """Return a metric, which MindSpore has among its Cells too; the metrics stand on the Cells."""
    metrics = _import_module("..train.metrics", __package__)
    if name not in metrics.__all__:
        # with these two, Python's traceback asks "Did you mean ...?"
        raise AttributeError(f"cellwire.nn has no {name!r}", name=name, obj=_sys.modules[__name__])
    return getattr(metrics, name)
