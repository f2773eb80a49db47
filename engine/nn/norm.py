"""Normalisation and dropout."""

from __future__ import annotations

from .. import ops
from ..dtype import DType, dtype_of, float32
from ..parameter import Parameter
from ..tensor import Tensor
from .cell import Cell
from .initializer import Initializer, initializer
from .layers import Init, positive


def _given(init: Init, default: str) -> Tensor | str | Initializer | float:
    return default if init is None else init


class _BatchNorm(Cell):
    """Statistics and affine parameters of `BatchNorm1d` and `BatchNorm2d`."""

    axes: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Init = "ones",
        beta_init: Init = "zeros",
        moving_mean_init: Init = "zeros",
        moving_var_init: Init = "ones",
        use_batch_statistics: bool | None = None,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.num_features = positive(owner, "num_features", num_features)
        if not 0 <= momentum <= 1:
            raise ValueError(f"{owner}: momentum must be in 0..1, it is {momentum}.")
        self.eps, self.momentum, self.affine = eps, momentum, bool(affine)
        self.use_batch_statistics = use_batch_statistics
        kind, shape = dtype_of(dtype), (num_features,)

        def parameter(init: Init, trained: bool) -> Parameter:
            return Parameter(initializer(_given(init, "zeros"), shape, kind), requires_grad=trained)

        self.moving_mean = parameter(moving_mean_init, False)
        self.moving_variance = parameter(moving_var_init, False)
        self.gamma = parameter(gamma_init, self.affine)
        self.beta = parameter(beta_init, self.affine)

    def construct(self, x: Tensor) -> Tensor:
        """Normalise; in training by the batch's statistics, which also move the running ones."""
        if len(x.shape) not in self.axes:
            owner, wanted = type(self).__name__, " or ".join(map(str, self.axes))
            raise ValueError(f"{owner}: x must have {wanted} axes, it has {len(x.shape)}.")
        asked = self.use_batch_statistics
        training = self.training if asked is None else asked
        statistics = (self.moving_mean, self.moving_variance, self.gamma, self.beta)
        if not training:
            return ops.batch_norm(x, *statistics, eps=self.eps)
        share = 1.0 - self.momentum
        out, mean, variance = ops.batch_norm(x, *statistics, True, share, self.eps)
        self.moving_mean.set_data(mean)
        self.moving_variance.set_data(variance)
        return out

    def extend_repr(self) -> str:
        """Sizes and statistics."""
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum},"
            f" affine={self.affine}"
        )


class BatchNorm1d(_BatchNorm):
    """Brings each feature of a batch to mean 0 and variance 1, then scales and shifts it.

    Parameters
    ----------
    num_features : int
        Features of the input.
    eps : float
        Added to the variance.
    momentum : float
        Share of the old running statistics that is kept.
    affine : bool
        Whether scale and shift are trained.
    gamma_init, beta_init, moving_mean_init, moving_var_init : Tensor, str, Initializer or number
        Initial scale, shift and running statistics.
    use_batch_statistics : bool, optional
        Always (or never) the batch's statistics; by default in training only.
    dtype : DType
        Type of the parameters.
    x : Tensor
        ``[n, num_features]`` or ``[n, num_features, length]``.

    References
    ----------
    Ioffe and Szegedy, Batch Normalization, 2015.
    """

    axes = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Brings each channel of a batch of images to mean 0 and variance 1, then scales and shifts it.

    Parameters
    ----------
    num_features : int
        Channels of the input.
    eps : float
        Added to the variance.
    momentum : float
        Share of the old running statistics that is kept.
    affine : bool
        Whether scale and shift are trained.
    gamma_init, beta_init, moving_mean_init, moving_var_init : Tensor, str, Initializer or number
        Initial scale, shift and running statistics.
    use_batch_statistics : bool, optional
        Always (or never) the batch's statistics; by default in training only.
    dtype : DType
        Type of the parameters.
    x : Tensor
        ``[n, num_features, h, w]``.

    References
    ----------
    Ioffe and Szegedy, Batch Normalization, 2015.
    """

    axes = (4,)


class LayerNorm(Cell):
    """Brings the last axes of each example to mean 0 and variance 1, then scales and shifts.

    Parameters
    ----------
    normalized_shape : int or tuple of int
        Sizes of the last axes, which scale and shift have.
    begin_norm_axis : int
        The first of the axes that are normalised; by default the last axis alone.
    begin_params_axis : int
        The first of the axes with scale and shift, those of `normalized_shape`.
    gamma_init, beta_init : Tensor, str, Initializer or number
        Initial scale and shift.
    epsilon : float
        Added to the variance.
    dtype : DType
        Type of the parameters.
    x : Tensor
        ``[..., *normalized_shape]``.

    References
    ----------
    Ba, Kiros and Hinton, Layer Normalization, 2016.
    """

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        begin_norm_axis: int = -1,
        begin_params_axis: int = -1,
        gamma_init: Init = "ones",
        beta_init: Init = "zeros",
        epsilon: float = 1e-7,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        single = isinstance(normalized_shape, int)
        sizes = (normalized_shape,) if single else tuple(normalized_shape)
        self.normalized_shape = tuple(positive("LayerNorm", "a size", size) for size in sizes)
        self.begin_norm_axis, self.begin_params_axis = begin_norm_axis, begin_params_axis
        self.epsilon = epsilon
        kind = dtype_of(dtype)
        shape = self.normalized_shape
        self.gamma = Parameter(initializer(_given(gamma_init, "ones"), shape, kind))
        self.beta = Parameter(initializer(_given(beta_init, "zeros"), shape, kind))

    def construct(self, x: Tensor) -> Tensor:
        """Normalise."""
        axis = self.begin_norm_axis
        first = axis if axis >= 0 else axis + len(x.shape)
        normalized = tuple(x.shape[first:])
        if normalized == self.normalized_shape:
            return ops.layer_norm(x, normalized, self.gamma, self.beta, self.epsilon)
        out = ops.layer_norm(x, normalized, eps=self.epsilon)
        return ops.add(ops.mul(out, self.gamma), self.beta)

    def extend_repr(self) -> str:
        """Sizes."""
        return (
            f"normalized_shape={self.normalized_shape}, begin_norm_axis={self.begin_norm_axis},"
            f" begin_params_axis={self.begin_params_axis}"
        )


class Dropout(Cell):
    """Sets elements to zero at random while training, and scales the others up.

    Parameters
    ----------
    keep_prob : float
        Probability of keeping an element; used when `p` is not given.
    p : float, optional
        Probability of zero.
    x : Tensor
        Any shape.

    Raises
    ------
    ValueError
        If a probability is not in 0..1.

    References
    ----------
    Srivastava et al., Dropout, 2014.
    """

    def __init__(self, keep_prob: float = 0.5, p: float | None = None) -> None:
        super().__init__()
        dropped = 1.0 - keep_prob if p is None else p
        if not 0 <= dropped < 1:
            raise ValueError(f"Dropout: the probability of zero must be in 0..1, it is {dropped}.")
        self.p = dropped

    def construct(self, x: Tensor) -> Tensor:
        """Drop elements in training; give the input back otherwise."""
        return ops.dropout(x, self.p, self.training)

    def extend_repr(self) -> str:
        """The probability."""
        return f"p={self.p}"
