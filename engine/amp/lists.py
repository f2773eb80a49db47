"""Which Cells and ops compute in low precision, and which never do."""

from __future__ import annotations

from typing import Any

from .. import nn, ops

WHITE_CELLS = (
    "Conv1d", "Conv2d", "Conv3d", "Conv1dTranspose", "Conv2dTranspose", "Conv3dTranspose",
    "Dense", "LSTMCell", "RNNCell", "GRUCell",
)  # fmt: skip
WHITE_PRIMITIVES = (
    "Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose", "MatMul", "BatchMatMul", "PReLU",
    "ReLU",
)  # fmt: skip
BLACK_CELLS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LayerNorm")

AUTO_WHITE = frozenset({
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "matmul", "bmm", "dense", "mm", "mv", "addmm", "addbmm", "addmv", "baddbmm", "einsum",
    "prelu", "bidense",
})  # fmt: skip
"""Ops of level ``auto`` that gain by low precision and lose little: sums of products."""
AUTO_BLACK = frozenset({
    "pow", "acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log1p", "reciprocal", "rsqrt",
    "sinh", "tan", "softplus", "layer_norm", "batch_norm", "group_norm", "kl_div",
    "smooth_l1_loss", "multilabel_margin_loss", "soft_margin_loss", "triplet_margin_loss",
    "binary_cross_entropy_with_logits", "cross_entropy", "nll_loss", "mse_loss", "cdist", "pdist",
    "prod", "softmax", "log_softmax", "cumprod", "cumsum", "sum", "norm", "logsumexp",
    "var", "std",
})  # fmt: skip
"""Ops of level ``auto`` that overflow or lose digits in low precision."""


def get_white_list() -> list[Any]:
    """Return the Cell and primitive classes of level O1.

    Returns
    -------
    list of class
        A new list.
    """
    return _found(nn, WHITE_CELLS) + _found(ops, WHITE_PRIMITIVES)


def get_black_list() -> list[Any]:
    """Return the Cell classes that level O2 leaves in float32.

    Returns
    -------
    list of class
        A new list.
    """
    return _found(nn, BLACK_CELLS)


def _found(module: Any, names: tuple[str, ...]) -> list[Any]:
    return [getattr(module, name) for name in names]
