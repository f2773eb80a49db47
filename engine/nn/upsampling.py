"""Cells without weights that change the size of images, or move pixels between channels."""

from __future__ import annotations

from typing import Literal

from .. import ops
from ..tensor import Tensor
from .cell import Cell

UpsampleMode = Literal[
    "nearest", "linear", "bilinear", "bicubic", "trilinear", "area", "nearest-exact"
]


class Upsample(Cell):
    """Resizes images, signals or volumes by interpolation.

    Parameters
    ----------
    size : int or tuple of int, optional
        The new sizes of the axes after the channels.
    scale_factor : float or tuple of float, optional
        What the sizes are multiplied by, in the place of `size`.
    mode : {"nearest", "linear", "bilinear", "bicubic", "trilinear", "area", "nearest-exact"}
        How pixels are read, as of ``ops.interpolate``.
    align_corners : bool, optional
        Whether the centres of the outer pixels stay where they are.
    recompute_scale_factor : bool, optional
        Whether pixels lie where the rounded sizes put them, else where `scale_factor` does.
    x : Tensor
        ``[n, c, w]``, ``[n, c, h, w]`` or ``[n, c, d, h, w]``.
    """

    def __init__(
        self,
        size: int | tuple[int, ...] | None = None,
        scale_factor: float | tuple[float, ...] | None = None,
        mode: UpsampleMode = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def construct(self, x: Tensor) -> Tensor:
        """Resize."""
        return ops.interpolate(
            x, self.size, self.scale_factor, self.mode, self.align_corners,
            self.recompute_scale_factor,
        )  # fmt: skip

    def extend_repr(self) -> str:
        """Size or factor, and mode."""
        given = (
            f"size={self.size}" if self.size is not None else f"scale_factor={self.scale_factor}"
        )
        return f"{given}, mode={self.mode}, align_corners={self.align_corners}"


class ResizeBilinear(Cell):
    """Resizes images by bilinear interpolation.

    Parameters
    ----------
    half_pixel_centers : bool
        Whether the image's edges stay where they are; else the first pixel's corner does.
    """

    def __init__(self, half_pixel_centers: bool = False) -> None:
        super().__init__()
        self.half_pixel_centers = half_pixel_centers

    def construct(
        self,
        x: Tensor,
        size: tuple[int, int] | None = None,
        scale_factor: int | None = None,
        align_corners: bool = False,
    ) -> Tensor:
        """Resize.

        Parameters
        ----------
        x : Tensor
            ``[n, c, h, w]``.
        size : tuple of int, optional
            The new height and width.
        scale_factor : int, optional
            What height and width are multiplied by, in the place of ``size``.
        align_corners : bool
            Whether the centres of the outer pixels stay where they are.

        Returns
        -------
        Tensor
            ``[n, c, *size]``.

        Raises
        ------
        ValueError
            If not one of ``size`` and ``scale_factor`` is given.
        """
        if (size is None) == (scale_factor is None):
            raise ValueError("ResizeBilinear: give either size or scale_factor.")
        if size is None:
            assert scale_factor is not None
            high, wide = x.shape[-2:]
            size = (high * scale_factor, wide * scale_factor)
        return ops.resize_bilinear(x, size, align_corners, self.half_pixel_centers)

    def extend_repr(self) -> str:
        """Where the pixels lie."""
        return f"half_pixel_centers={self.half_pixel_centers}"


class PixelShuffle(Cell):
    """Rearranges channels into larger images: each pixel's channels become a block of pixels.

    Parameters
    ----------
    upscale_factor : int
        The side r of a block.
    input : Tensor
        ``[..., c * r * r, h, w]``.

    References
    ----------
    Shi et al., Real-Time Single Image and Video Super-Resolution, 2016.
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def construct(self, input: Tensor) -> Tensor:
        """Shuffle."""
        return ops.pixel_shuffle(input, self.upscale_factor)

    def extend_repr(self) -> str:
        """The factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Cell):
    """Rearranges blocks of pixels into channels: `PixelShuffle` undone.

    Parameters
    ----------
    downscale_factor : int
        The side r of a block.
    input : Tensor
        ``[..., c, h * r, w * r]``.
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def construct(self, input: Tensor) -> Tensor:
        """Unshuffle."""
        return ops.pixel_unshuffle(input, self.downscale_factor)

    def extend_repr(self) -> str:
        """The factor."""
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Cell):
    """Interleaves the channels of all groups.

    Parameters
    ----------
    groups : int
        Number of groups, which divides the channels.
    x : Tensor
        ``[n, c, ...]``.

    References
    ----------
    Zhang et al., ShuffleNet, 2018.
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def construct(self, x: Tensor) -> Tensor:
        """Shuffle."""
        return ops.channel_shuffle(x, self.groups)

    def extend_repr(self) -> str:
        """The groups."""
        return f"groups={self.groups}"
