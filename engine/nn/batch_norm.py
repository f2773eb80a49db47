"""Normalisation over batches, with running statistics."""

from __future__ import annotations

from typing import Literal

from .. import ops
from ..dtype import DType, dtype_of, float32
from ..parameter import Parameter
from ..tensor import Tensor
from .cell import Cell
from .convolution import channels_back, channels_first, image_format
from .initializer import Initializer, initializer
from .layers import Init, positive


def given(init: Init, default: str) -> Tensor | str | Initializer | float:
    """Return the initial values, those by default if none are given."""
    return default if init is None else init


class _BatchNorm(Cell):
    """Statistics and affine parameters of normalisation over batches."""

    axes: tuple[int, ...] = ()
    written_params = frozenset({"moving_mean", "moving_variance"})

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
            return Parameter(initializer(given(init, "zeros"), shape, kind), requires_grad=trained)

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
    """Batch normalization: each feature of a batch to mean 0 and variance 1, scaled and shifted.

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
    """Batch normalization: each channel of images to mean 0 and variance 1, scaled and shifted.

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
    data_format : {"NCHW", "NHWC"}
        Whether channels come before rows and columns, or last.
    dtype : DType
        Type of the parameters.
    x : Tensor
        ``[n, num_features, h, w]``.

    References
    ----------
    Ioffe and Szegedy, Batch Normalization, 2015.
    """

    axes = (4,)

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
        data_format: Literal["NCHW", "NHWC"] = "NCHW",
        dtype: DType = float32,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init,
            moving_var_init, use_batch_statistics, dtype,
        )  # fmt: skip
        self.data_format = image_format("BatchNorm2d", data_format)

    def construct(self, x: Tensor) -> Tensor:
        """Normalise; in training by the batch's statistics, which also move the running ones."""
        if self.data_format == "NCHW":
            return super().construct(x)
        images = channels_first(x, self.data_format)
        return channels_back(super().construct(images), self.data_format)


class BatchNorm3d(_BatchNorm):
    """Batch normalization: each channel of volumes to mean 0 and variance 1, scaled and shifted.

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
        ``[n, num_features, d, h, w]``.

    References
    ----------
    Ioffe and Szegedy, Batch Normalization, 2015.
    """

    axes = (5,)


class SyncBatchNorm(_BatchNorm):
    """Normalisation over the batch of all devices; there is one, so it is that of `BatchNorm2d`.

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
    process_groups : list of list of int, optional
        Which devices share a batch; there is one device, of rank 0.
    dtype : DType
        Type of the parameters.
    x : Tensor
        ``[n, num_features, ...]``, of two to five axes.

    Raises
    ------
    ValueError
        If a group names a device that does not exist.

    References
    ----------
    Ioffe and Szegedy, Batch Normalization, 2015.
    """

    axes = (2, 3, 4, 5)

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
        process_groups: list[list[int]] | None = None,
        dtype: DType = float32,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init,
            moving_var_init, use_batch_statistics, dtype,
        )  # fmt: skip
        if process_groups is not None and process_groups != [[0]]:
            raise ValueError(
                f"SyncBatchNorm: process_groups must be [[0]], there is one device; they are"
                f" {process_groups}."
            )
