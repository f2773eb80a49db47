"""Under which heading of its category the palette lists a Cell or op: by where it is defined."""

from collections.abc import Iterable, Mapping

from ..engine.nn.cell import Cell
from ..engine.ops.registry import Op

OTHERS = "Others"


def _by_module(families: Mapping[str, str]) -> dict[str, str]:
    return {module: family for family, modules in families.items() for module in modules.split()}


CELLS = _by_module(
    {
        "Linear": "layers",
        "Convolution": "convolution conv_transpose",
        "Pooling": "pooling adaptive_pooling unpooling",
        "Normalization": "batch_norm sample_norm",
        "Activation": "activation smooth_activation piecewise_activation",
        "Dropout": "dropout",
        "Embedding": "embedding",
        "Recurrent": "rnn rnn_cells",
        "Attention": "attention transformer transformer_layers",
        "Shape": "basic",
        "Padding": "padding",
        "Resampling": "upsampling",
    }
)
LOSSES = _by_module(
    {
        "Classification": "loss label_loss",
        "Regression": "regression_loss",
        "Margins": "margin_loss",
        "Sequences and images": "sequence_loss segmentation_loss sampled_softmax",
    }
)
LOSS_NAMES = {
    name: family
    for family, names in {
        "Classification": "BCELoss BinaryCrossEntropy",
        "Regression": "L1Loss MAELoss MSELoss",
    }.items()
    for name in names.split()
}
"""Losses that stand apart from the module that defines them."""
OPS_BY_MODULE = _by_module(
    {
        "Arithmetic": "arithmetic division weighted_sums",
        "Functions": "math exponentials trigonometry angles hyperbolic rounding signs clipping",
        "Special functions": "special bessel",
        "Comparison and logic": "logic predicates",
        "Bits": "bitwise",
        "Reduction": "reduce cumulative norms",
        "Statistics": "covariance distance histograms statistics quantiles",
        "Shape": "array axes flattening folding blocks padding shapes slicing cast",
        "Joining and splitting": "joining stacking splitting",
        "Indexing": "index gathering masking indexed_update",
        "Scattering": "scattering",
        "Sorting": "sorting",
        "Creation": "creation grids",
    }
)
OPS_BY_CATEGORY = {
    "math": "Functions",
    "logic": "Comparison and logic",
    "reduce": "Reduction",
    "array": "Shape",
    "linalg": "Matrices",
    "activation": "Activation",
    "nn": "Layers",
}
"""The heading of ops whose category says it, whatever file they are in."""
WHOLE = frozenset({"linalg", "activation", "nn"})
"""Categories that no module takes an op out of."""
OPS_ORDER = (
    "Arithmetic", "Functions", "Activation", "Layers", "Matrices", "Reduction", "Shape",
    "Joining and splitting", "Indexing", "Scattering", "Sorting", "Comparison and logic",
    "Statistics", "Special functions", "Bits", "Creation",
)  # fmt: skip
ORDERS = {
    "Cells": tuple(dict.fromkeys(CELLS.values())),
    "Ops": OPS_ORDER,
    "Loss": tuple(dict.fromkeys(LOSSES.values())),
}
"""The headings of each category as the palette lists them."""
COMMON = (
    "nn.Dense", "nn.Conv2d", "nn.MaxPool2d", "nn.AvgPool2d", "nn.Flatten", "nn.BatchNorm1d",
    "nn.BatchNorm2d", "nn.LayerNorm", "nn.ReLU", "nn.GELU", "nn.Dropout", "nn.Embedding",
    "nn.LSTM", "nn.MultiheadAttention", "nn.Softmax", "ops.scale", "ops.add", "ops.mul",
    "ops.matmul", "ops.concat", "ops.reshape", "nn.CrossEntropyLoss", "nn.MSELoss",
)  # fmt: skip
"""What drawings are mostly made of: of names that fit a search equally well these come first."""
FAVOURITES = (
    "nn.Dense", "nn.Conv2d", "nn.MaxPool2d", "nn.BatchNorm2d", "nn.LayerNorm", "nn.ReLU",
    "nn.Dropout", "nn.Flatten", "ops.scale", "ops.add", "ops.concat", "nn.CrossEntropyLoss",
)  # fmt: skip
"""What the palette lists before all else."""


def family_of_cell(cell: type[Cell], *, loss: bool) -> str:
    """The heading of a Cell."""
    module = cell.__module__.rpartition(".")[2]
    if loss:
        return LOSS_NAMES.get(cell.__name__, LOSSES.get(module, OTHERS))
    return CELLS.get(module, OTHERS)


def family_of_op(op: Op) -> str:
    """The heading of an op."""
    module = op.function.__module__.rpartition(".")[2]
    if op.category == "loss":
        return LOSS_NAMES.get(op.primitive, LOSSES.get(module, OTHERS))
    known = {} if op.category in WHOLE else OPS_BY_MODULE
    return known.get(module, OPS_BY_CATEGORY.get(op.category, OTHERS))


def in_order(category: str, families: Iterable[str]) -> list[str]:
    """These headings of a category, each once, as the palette lists them."""
    wanted = set(families)
    return [family for family in (*ORDERS.get(category, ()), OTHERS) if family in wanted]
