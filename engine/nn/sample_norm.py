"""Normalisation of each sample alone: of its last axes, its groups of channels, its neighbours."""

from __future__ import annotations

from typing import ClassVar

from .. import ops
from ..dtype import DType, dtype_of, float32
from ..parameter import Parameter
from ..tensor import Tensor
from .batch_norm import given
from .cell import Cell
from .initializer import initializer
from .layers import Init, positive


class LayerNorm(Cell):
    """Layer normalization: the last axes of each example to mean 0 and variance 1.

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
        self.gamma = Parameter(initializer(given(gamma_init, "ones"), shape, kind))
        self.beta = Parameter(initializer(given(beta_init, "zeros"), shape, kind))

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


class RMSNorm(Cell):
    """Divides the last axes of each example by their root mean square, then scales.

    Parameters
    ----------
    normalized_shape : int or tuple of int
        Sizes of the last axes, which are normalised together.
    epsilon : float
        Added to the mean square.
    gamma_init : Tensor, str, Initializer or number
        Initial scale.
    dtype : DType
        Type of the parameters.
    x : Tensor
        ``[..., *normalized_shape]``.

    References
    ----------
    Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.
    """

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        epsilon: float = 1e-6,
        gamma_init: Init = "ones",
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        single = isinstance(normalized_shape, int)
        sizes = (normalized_shape,) if single else tuple(normalized_shape)
        self.normalized_shape = tuple(positive("RMSNorm", "a size", size) for size in sizes)
        self.epsilon = epsilon
        start = initializer(given(gamma_init, "ones"), self.normalized_shape, dtype_of(dtype))
        self.gamma = Parameter(start)

    def construct(self, x: Tensor) -> Tensor:
        """Normalise."""
        return ops.rms_norm(x, self.gamma, self.epsilon)[0]

    def extend_repr(self) -> str:
        """Sizes."""
        return f"normalized_shape={self.normalized_shape}, epsilon={self.epsilon}"


class GroupNorm(Cell):
    """Group normalization: groups of channels of each example to mean 0 and variance 1.

    Parameters
    ----------
    num_groups : int
        How many groups the channels are split into.
    num_channels : int
        Channels of the input.
    eps : float
        Added to the variance.
    affine : bool
        Whether scale and shift are trained.
    gamma_init, beta_init : Tensor, str, Initializer or number
        Initial scale and shift.
    dtype : DType
        Type of the parameters.
    x : Tensor
        ``[n, num_channels, ...]``.

    Raises
    ------
    TypeError, ValueError
        If a size is no positive int, or the channels do not divide into the groups.

    References
    ----------
    Wu and He, Group Normalization, 2018.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        gamma_init: Init = "ones",
        beta_init: Init = "zeros",
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        self.num_groups = positive("GroupNorm", "num_groups", num_groups)
        self.num_channels = positive("GroupNorm", "num_channels", num_channels)
        if num_channels % num_groups:
            raise ValueError(
                f"GroupNorm: num_channels {num_channels} must be a multiple of num_groups"
                f" {num_groups}."
            )
        self.eps, self.affine = eps, bool(affine)
        kind, shape = dtype_of(dtype), (num_channels,)
        gamma = initializer(given(gamma_init, "ones"), shape, kind)
        beta = initializer(given(beta_init, "zeros"), shape, kind)
        self.gamma = Parameter(gamma, requires_grad=self.affine)
        self.beta = Parameter(beta, requires_grad=self.affine)

    def construct(self, x: Tensor) -> Tensor:
        """Normalise."""
        return ops.group_norm(x, self.num_groups, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        """Sizes."""
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}, eps={self.eps}"


class InstanceNorm(Cell):
    """What normalisation of single channels shares over any number of axes."""

    axes: ClassVar[int] = 0

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        gamma_init: Init = "ones",
        beta_init: Init = "zeros",
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.num_features = positive(owner, "num_features", num_features)
        if not 0 <= momentum <= 1:
            raise ValueError(f"{owner}: momentum must be in 0..1, it is {momentum}.")
        self.eps, self.momentum, self.affine = eps, momentum, bool(affine)
        kind, shape = dtype_of(dtype), (num_features,)
        gamma = initializer(given(gamma_init, "ones"), shape, kind)
        beta = initializer(given(beta_init, "zeros"), shape, kind)
        self.gamma = Parameter(gamma, requires_grad=self.affine)
        self.beta = Parameter(beta, requires_grad=self.affine)
        self.moving_mean = Parameter(initializer("zeros", shape, kind), requires_grad=False)
        self.moving_variance = Parameter(initializer("ones", shape, kind), requires_grad=False)

    def construct(self, x: Tensor) -> Tensor:
        """Normalise, always by each example's own statistics; training moves the running ones."""
        if len(x.shape) != self.axes + 2:
            owner = type(self).__name__
            raise ValueError(f"{owner}: x must have {self.axes + 2} axes, it has {len(x.shape)}.")
        if self.training:
            self._move(ops.stop_gradient(x))
        return ops.instance_norm(x, self.gamma, self.beta, self.eps)

    def _move(self, x: Tensor) -> None:
        axes = tuple(range(2, self.axes + 2))
        mean = ops.mean(ops.mean(x, axes), 0)
        variance = ops.mean(ops.var(x, axes, 1), 0)
        keep = float(self.momentum)
        for moving, found in ((self.moving_mean, mean), (self.moving_variance, variance)):
            moving.set_data(moving * keep + ops.cast(found, moving.dtype) * (1.0 - keep))

    def extend_repr(self) -> str:
        """Sizes and statistics."""
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum},"
            f" affine={self.affine}"
        )


class InstanceNorm1d(InstanceNorm):
    """Instance normalization: each channel of each sequence to mean 0 and variance 1.

    Parameters
    ----------
    num_features : int
        Channels of the input.
    eps : float
        Added to the variance.
    momentum : float
        Share of the old running statistics that is kept; they are recorded, but never used.
    affine : bool
        Whether scale and shift are trained.
    gamma_init, beta_init : Tensor, str, Initializer or number
        Initial scale and shift.
    dtype : DType
        Type of the parameters.
    x : Tensor
        ``[n, num_features, length]``.

    References
    ----------
    Ulyanov, Vedaldi and Lempitsky, Instance Normalization, 2016.
    """

    axes = 1


class InstanceNorm2d(InstanceNorm):
    """Instance normalization: each channel of each image to mean 0 and variance 1.

    Parameters
    ----------
    num_features : int
        Channels of the input.
    eps : float
        Added to the variance.
    momentum : float
        Share of the old running statistics that is kept; they are recorded, but never used.
    affine : bool
        Whether scale and shift are trained.
    gamma_init, beta_init : Tensor, str, Initializer or number
        Initial scale and shift.
    dtype : DType
        Type of the parameters.
    x : Tensor
        ``[n, num_features, h, w]``.

    References
    ----------
    Ulyanov, Vedaldi and Lempitsky, Instance Normalization, 2016.
    """

    axes = 2


class InstanceNorm3d(InstanceNorm):
    """Instance normalization: each channel of each volume to mean 0 and variance 1.

    Parameters
    ----------
    num_features : int
        Channels of the input.
    eps : float
        Added to the variance.
    momentum : float
        Share of the old running statistics that is kept; they are recorded, but never used.
    affine : bool
        Whether scale and shift are trained.
    gamma_init, beta_init : Tensor, str, Initializer or number
        Initial scale and shift.
    dtype : DType
        Type of the parameters.
    x : Tensor
        ``[n, num_features, d, h, w]``.

    References
    ----------
    Ulyanov, Vedaldi and Lempitsky, Instance Normalization, 2016.
    """

    axes = 3


class LRN(Cell):
    """Local response normalization: divides by a power of neighbouring channels' squares.

    Parameters
    ----------
    depth_radius : int
        How many channels on either side count.
    bias : float
        Added to the scaled sum of squares.
    alpha : float
        What the sum of squares is multiplied by.
    beta : float
        The power.
    norm_region : {"ACROSS_CHANNELS"}
        The one region there is.
    x : Tensor
        ``[n, c, h, w]``.

    References
    ----------
    Krizhevsky, Sutskever and Hinton, ImageNet Classification, 2012, section 3.3.
    """

    def __init__(
        self,
        depth_radius: int = 5,
        bias: float = 1.0,
        alpha: float = 1.0,
        beta: float = 0.5,
        norm_region: str = "ACROSS_CHANNELS",
    ) -> None:
        super().__init__()
        if norm_region != "ACROSS_CHANNELS":
            raise ValueError(f"LRN: norm_region must be 'ACROSS_CHANNELS', it is {norm_region!r}.")
        self.depth_radius, self.bias, self.alpha, self.beta = depth_radius, bias, alpha, beta
        self.norm_region = norm_region

    def construct(self, x: Tensor) -> Tensor:
        """Normalise."""
        return ops.lrn(x, self.depth_radius, self.bias, self.alpha, self.beta, self.norm_region)

    def extend_repr(self) -> str:
        """Radius and numbers."""
        return (
            f"depth_radius={self.depth_radius}, bias={self.bias}, alpha={self.alpha},"
            f" beta={self.beta}, norm_region={self.norm_region}"
        )
