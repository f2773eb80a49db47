"""The ops: functions on tensors by MindSpore's names, each one row of the op table."""

# An index: every name imported here without an underscore is public. The modules come in
# alphabetical order, their names packed into lines.
# ruff: noqa: F401
# fmt: off
# isort: off
import importlib as _importlib
from types import ModuleType as _ModuleType
from typing import Any as _Any

# The modules' gradient rules use each other; arithmetic opens the ring. The others act on Tensor.
from . import arithmetic as _arithmetic
from . import getitem as _getitem
from . import methods as _methods
from . import operators as _operators
from . import setitem as _setitem
from .activation import elu, gelu, hardtanh, leaky_relu, relu, silu, softplus
from .adaptive_max import adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d
from .adaptive_pool import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from .addmm import addbmm, addmm, addmv, addr, baddbmm
from .arithmetic import add, floor_div, maximum, minimum, mod, mul, pow, sub
from .aliases import (
    absolute, clip, eq, floor_divide, ge, gt, le, lt, multiply, ne, negative, sgn, subtract,
    true_divide,
)
from .array import (
    broadcast_to, expand, expand_dims, identity, permute, reshape, squeeze, stop_gradient, swapaxes,
    swapdims, transpose, unsqueeze,
)
from .assign import Assign, AssignAdd, AssignSub, assign, assign_add, assign_sub
from .attention import scaled_dot_product_attention
from .avg_pool import avg_pool1d, avg_pool2d, avg_pool3d
from .axes import flip, fliplr, flipud, moveaxis, movedim, narrow, reverse, roll, rot90
from .batch_norm import batch_norm
from .bessel import (
    bessel_i0, bessel_i0e, bessel_i1, bessel_i1e, bessel_j0, bessel_j1, bessel_k0, bessel_k0e,
    bessel_k1, bessel_k1e, bessel_y0, bessel_y1, i0, i0e, i1, i1e,
)
from .bilinear import bidense
from .bitwise import (
    bitwise_and, bitwise_left_shift, bitwise_not, bitwise_or, bitwise_right_shift, bitwise_xor,
    invert, logical_xor,
)
from .blocks import (
    batch_to_space_nd, channel_shuffle, depth_to_space, pixel_shuffle, pixel_unshuffle,
    space_to_batch_nd, space_to_depth,
)
from .candidate_sampling import log_uniform_candidate_sampler
from .cast import cast
from .clipping import clamp, clip_by_global_norm, clip_by_norm, clip_by_value, nan_to_num
from .composite_reductions import count_nonzero, logsumexp, nanmean, nansum, vector_norm
from .control import cond, fori_loop, scan, while_loop
from .conv import conv2d
from .conv_axes import conv1d, conv3d
from .conv_primitives import Conv2D, Conv2DTranspose, Conv3D, Conv3DTranspose
from .conv_transpose import conv_transpose1d, conv_transpose2d, conv_transpose3d
from .covariance import corrcoef, cov
from .creation import (
    arange, empty, empty_like, fill, full, full_like, ones, ones_like, range, zeros, zeros_like,
    eye, linspace, logspace,
)
from .cross_entropy import cross_entropy, nll_loss
from .ctc import ctc_loss
from .cumulative import cummax, cummin, cumprod, cumsum, diff, logcumsumexp, trapz
from .decomposition import cholesky, cholesky_inverse, cholesky_solve, eigh, eigvalsh, qr
from .determinants import det, logdet, slogdet
from .distance import cdist, cosine_similarity, l2_normalize, normalize, pairwise_distance, pdist
from .distributions import (
    laplace, standard_laplace, bernoulli, gamma, multinomial, multinomial_with_replacement, poisson,
    random_categorical, random_gamma, random_poisson,
)
from .division import div, divide, floor_mod, fmod, gcd, lcm, remainder, truncate_div, truncate_mod
from .dropout import alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout
from .einsum import einsum
from .exponentials import (
    cbrt, exp2, expm1, float_power, hypot, ldexp, log2, log10, logaddexp, logaddexp2, logit, xdivy,
    xlogy,
)
from .flattening import flatten, ravel, unflatten
from .folding import fold, unfold
from .fractional_pool import fractional_max_pool2d, fractional_max_pool3d
from .gathering import (
    embedding, gather_d, gather_elements, gather_nd, index_select, repeat_elements,
    repeat_interleave, select_ext, take, take_along_dim,
)
from .grid_sample import affine_grid, grid_sample
from .group_norm import group_norm, instance_norm, lrn, rms_norm
from .gru import gru_layer, gru_step
from .higher_order import (
    Depend, ForiLoop, HyperMap, Map, MultitypeFuncGraph, Partial, Scan, WhileLoop, depend, partial,
)
from .histograms import bincount, bucketize, histc, searchsorted
from .hyperbolic import acosh, arccosh, arcsinh, arctanh, asinh, atanh, cosh, sinh, tanh
from .index import gather, one_hot
from .indexed_update import (
    index_add, index_fill, index_put, inplace_add, inplace_sub, inplace_update, scatter,
    tensor_scatter_elements,
)
from .inversion import inverse, solve, solve_triangular
from .joining import cat, concat, stack, tile
from .label_loss import multi_margin_loss, multilabel_margin_loss, multilabel_soft_margin_loss
from .layer_norm import layer_norm
from .linalg import bias_add, bmm, dense, matmul
from .logic import (
    equal, greater, greater_equal, isfinite, isinf, isnan, less, less_equal, logical_and,
    logical_not, logical_or, not_equal, select, where,
)
from .loss import binary_cross_entropy_with_logits, l1_loss, mse_loss
from .loss_primitives import (
    ArgMaxWithValue, ArgMinWithValue, L2Loss, SoftmaxCrossEntropyWithLogits,
    SparseSoftmaxCrossEntropyWithLogits,
)
from .lp_pool import lp_pool1d, lp_pool2d
from .lstm import lstm_layer, lstm_step
from .lu import lu_factor, lu_solve, lu_unpack
from .margin_loss import (
    cosine_embedding_loss, hinge_embedding_loss, margin_ranking_loss, soft_margin_loss,
    triplet_margin_loss,
)
from .masking import (
    argwhere, masked_fill, masked_scatter, masked_select, nonzero, unique, unique_consecutive,
)
from .math import (
    abs, erf, exp, inv, log, log1p, neg, reciprocal, rsqrt, sigmoid, sign, sqrt, square,
)
from .matrix_functions import lstsq, matrix_exp, pinv
from .matrix_primitives import BatchMatMul, MatMul
from .matrix_products import chain_matmul, cross, matrix_power, multi_dot, vander
from .max_pool import max_pool1d, max_pool3d
from .max_pool2d import max_pool2d
from .norm_primitives import BatchNorm, LayerNorm
from .padding import pad
from .piecewise_activation import (
    hardshrink, hardsigmoid, hardswish, hsigmoid, hswish, prelu, relu6, softshrink, tanhshrink,
    threshold,
)
from .pool_primitives import AvgPool, AvgPool3D, MaxPool, MaxPool3D, MaxPoolWithArgmaxV2
from .predicates import allclose, approximate_equal, isclose, isneginf, isposinf, isreal
from .primitives import Primitive, Print
from .primitives import make_primitives as _make_primitives
from .products import dot, ger, inner, kron, mm, mv, outer, tensor_dot, tensordot, vdot
from .quantiles import median, nanmedian, nanquantile, quantile
from .random_activation import gumbel_softmax, rrelu
from .random_numbers import (
    normal, rand, rand_like, randint, randint_like, randn, randn_like, randperm, shuffle,
    standard_normal, uniform,
)
from .reduce import all, amax, amin, any, mean, prod, sum
from .registry import OPS, Op, apply
from .regression_loss import (
    binary_cross_entropy, gaussian_nll_loss, huber_loss, kl_div, poisson_nll_loss, smooth_l1_loss,
)
from .resize import interpolate, resize_bicubic, resize_bilinear, resize_nearest_neighbor, upsample
from .rnn import rnn_layer
from .rounding import ceil, fix, floor, frac, rint, round, trunc
from .scattering import (
    scatter_add, scatter_div, scatter_max, scatter_min, scatter_mul, scatter_nd, scatter_nd_add,
    scatter_nd_div, scatter_nd_max, scatter_nd_min, scatter_nd_mul, scatter_nd_sub,
    scatter_nd_update, scatter_sub, scatter_update, tensor_scatter_add, tensor_scatter_div,
    tensor_scatter_max, tensor_scatter_min, tensor_scatter_mul, tensor_scatter_sub,
    tensor_scatter_update, unsorted_segment_max, unsorted_segment_mean, unsorted_segment_min,
    unsorted_segment_prod, unsorted_segment_sum,
)
from .shapes import (
    dtype, is_tensor, numel, rank, reverse_sequence, shape, size, slice, tensor_shape,
)
from .signal_windows import (
    bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window,
)
from .signs import copysign, heaviside, nextafter, positive, signbit
from .singular_values import matrix_cond, matrix_norm, matrix_rank, norm, svd, svdvals
from .slicing import strided_slice
from .smooth_activation import (
    celu, fast_gelu, glu, logsigmoid, mish, selu, softmin, softsign, swish,
)
from .softmax import log_softmax, softmax
from .sorting import argsort, kthvalue, mode, msort, sort, topk, unique_with_pad
from .special import digamma, erfc, erfinv, igamma, igammac, lgamma, mvlgamma, polygamma, zeta
from .splitting import chunk, dsplit, hsplit, split, tensor_split, unbind, unstack, vsplit
from .stacking import (
    atleast_1d, atleast_2d, atleast_3d, block_diag, broadcast_tensors, cartesian_prod, column_stack,
    combinations, dstack, hstack, meshgrid, row_stack, vstack,
)
from .statistics import aminmax, argmax, argmin, max, min, std, std_mean, var, var_mean
from .triangles import (
    diag, diag_embed, diagflat, diagonal, fill_diagonal, trace, tril, tril_indices, triu,
    triu_indices,
)
from .trigonometry import (
    acos, arccos, arcsin, arctan, arctan2, asin, atan, atan2, cos, deg2rad, rad2deg, sin, sinc, tan,
)
from .unpool import max_unpool1d, max_unpool2d, max_unpool3d
from .update import adam_update, all_finite, momentum_update, sgd_update
from .weighted_sums import accumulate_n, addcdiv, addcmul, addn, lerp, squared_difference
# fmt: on

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    name
    for name, value in globals().items()
    if not name.startswith("_") and value.__class__ is not _ModuleType
]

_methods.attach_functions(globals())

_PRIMITIVES = _make_primitives()

_TRANSFORMS = {
    **dict.fromkeys(
        ("GradOperation", "HookBackward", "get_grad", "grad", "jacfwd", "jacrev", "jvp",
         "linearize", "value_and_grad", "vjp"), "..autograd",
    ),
    "vmap": "..vectorize",
}  # fmt: skip
"""Modules that stand on the ops, by the names that MindSpore has here too."""


def __getattr__(name: str) -> _Any:
    """Return the primitive class of that name, or a transform that MindSpore has among its ops."""
    if name in _TRANSFORMS:
        return getattr(_importlib.import_module(_TRANSFORMS[name], __package__), name)
    found = _PRIMITIVES.get(name)
    if found is None:
        raise AttributeError(f"cellwire.ops has no {name!r}.")
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PRIMITIVES, *_TRANSFORMS})
