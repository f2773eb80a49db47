"""From bytes to pixels, and from pixels to the numbers that networks take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dtype import dtype_of
from ...tensor import Tensor
from ..transforms.base import ArrayTransform, Transform
from .images import ImageTransform, as_array, as_pillow, checked_image, is_pillow, numbers
from .options import ConvertMode
from .reading import decoded


class Decode(Transform):
    """Decode the bytes of an image file to pixels in red, green and blue.

    Parameters
    ----------
    to_pil : bool
        Whether the result is a Pillow image instead of an array H×W×3 uint8.

    Raises
    ------
    ValueError
        If, when called, the bytes are no whole image.
    """

    def __init__(self, to_pil: bool = False) -> None:
        self.to_pil = bool(to_pil)

    def __call__(self, data: Any) -> Any:
        """Decode bytes, or a row of uint8."""
        where = f"Decode, {data.file}" if getattr(data, "file", "") else "Decode"
        if isinstance(data, np.ndarray):
            if data.ndim != 1 or data.dtype != np.uint8:
                raise TypeError(
                    f"Decode: needs the bytes of a file, one axis of uint8; this is {data.dtype}"
                    f" of shape {data.shape}, which seems to be decoded."
                )
            data = data.tobytes()
        elif not isinstance(data, bytes | bytearray):
            raise TypeError(f"Decode: needs the bytes of a file, not {type(data).__name__}.")
        image = decoded(bytes(data), "RGB", where)
        return image if self.to_pil else np.array(image)


class Rescale(ArrayTransform):
    """Multiply pixels by a factor and add a shift; the result is float32.

    Parameters
    ----------
    rescale : float
        The factor, as ``1 / 255``.
    shift : float
        What is added.
    """

    def __init__(self, rescale: float, shift: float) -> None:
        self.rescale, self.shift = float(rescale), float(shift)

    def apply(self, array: np.ndarray, leading: int) -> np.ndarray:
        """Scale the array."""
        scaled = array.astype(np.float32)
        scaled *= np.float32(self.rescale)
        scaled += np.float32(self.shift)
        return scaled


class Normalize(ArrayTransform):
    """Take the mean away and divide by the standard deviation, channel by channel; float32.

    Parameters
    ----------
    mean : list of float
        One number a channel, in the units of the pixels.
    std : list of float
        As many, above zero.
    is_hwc : bool
        Whether channels are the last axis; else they are the first.

    Raises
    ------
    ValueError
        If the lists differ in length, or, when called, the image has other channels.
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], is_hwc: bool = True) -> None:
        self.mean, self.std = numbers("Normalize", "mean", mean), numbers("Normalize", "std", std)
        if len(self.mean) != len(self.std):
            raise ValueError(f"Normalize: {len(self.mean)} means, but {len(self.std)} deviations.")
        if not (self.std > 0).all():
            raise ValueError(f"Normalize: std must be above zero, it is {self.std.tolist()}.")
        self.is_hwc = bool(is_hwc)

    def apply(self, array: np.ndarray, leading: int) -> np.ndarray:
        """Normalize an image H×W×C, C×H×W, or H×W with one mean."""
        axes = array.ndim - leading
        if axes not in (2, 3):
            raise ValueError(f"Normalize: an image has 2 or 3 axes, this has {axes}.")
        channels = 1 if axes == 2 else array.shape[-1 if self.is_hwc else leading]
        if channels != len(self.mean):
            order = "H×W×C" if self.is_hwc else "C×H×W"
            raise ValueError(
                f"Normalize: {len(self.mean)} means for {channels} channels of an image {order}"
                f" with shape {array.shape[leading:]}; see is_hwc."
            )
        shape = (-1,) if self.is_hwc or axes == 2 else (-1, 1, 1)
        result = array.astype(np.float32)
        result -= self.mean.reshape(shape)
        result /= self.std.reshape(shape)
        return result


class NormalizePad(Normalize):
    """Normalize, and add a channel of zeros.

    Parameters
    ----------
    mean, std : list of float
        As in `Normalize`.
    dtype : str
        ``"float32"`` or ``"float16"``.
    is_hwc : bool
        Whether channels are the last axis.
    """

    def __init__(
        self,
        mean: Sequence[float],
        std: Sequence[float],
        dtype: str = "float32",
        is_hwc: bool = True,
    ) -> None:
        super().__init__(mean, std, is_hwc)
        if dtype not in ("float32", "float16"):
            raise ValueError(f"NormalizePad: dtype must be float32 or float16, it is {dtype!r}.")
        self.dtype = dtype

    def apply(self, array: np.ndarray, leading: int) -> np.ndarray:
        """Normalize an image with three axes and add the channel."""
        if array.ndim - leading != 3:
            raise ValueError("NormalizePad: needs an image with channels.")
        result = super().apply(array, leading).astype(self.dtype)
        axis = result.ndim - 1 if self.is_hwc else leading
        zeros = np.zeros_like(np.take(result, [0], axis))
        return np.concatenate([result, zeros], axis)


class HWC2CHW(ArrayTransform):
    """Put the channels first: H×W×C becomes C×H×W, and H×W stays."""

    def apply(self, array: np.ndarray, leading: int) -> np.ndarray:
        """Move the axis."""
        axes = array.ndim - leading
        if axes not in (2, 3):
            raise ValueError(f"HWC2CHW: an image has 2 or 3 axes, this has {axes}.")
        return np.ascontiguousarray(np.moveaxis(array, -1, leading)) if axes == 3 else array


class ToTensor(ArrayTransform):
    """Pixels as C×H×W in 0..1: integers are divided by 255, floats stay as they are.

    Parameters
    ----------
    output_type : numpy dtype
        Element type of the result.
    """

    def __init__(self, output_type: Any = np.float32) -> None:
        self.output_type = dtype_of(output_type).numpy

    def apply(self, array: np.ndarray, leading: int) -> np.ndarray:
        """The image as C×H×W; H×W gets one channel."""
        axes = array.ndim - leading
        if axes not in (2, 3):
            raise ValueError(f"ToTensor: an image has 2 or 3 axes, this has {axes}.")
        planes = array[..., None] if axes == 2 else array
        moved = np.moveaxis(planes, -1, leading)
        if moved.dtype.kind in "iu":
            moved = moved.astype(np.float32) / np.float32(255)
        return np.ascontiguousarray(moved, self.output_type)


class ToPIL(Transform):
    """An array H×W(×C) of uint8 as a Pillow image."""

    def __call__(self, image: Any) -> Any:
        """The Pillow image."""
        image = checked_image(image, "ToPIL")
        return image if is_pillow(image) else as_pillow(image, "ToPIL")


class ToNumpy(Transform):
    """A Pillow image or Tensor as an array."""

    def __call__(self, image: Any) -> np.ndarray:
        """The array."""
        return image.asnumpy() if isinstance(image, Tensor) else np.array(image)


class ToType(ArrayTransform):
    """Change the element type of an image.

    Parameters
    ----------
    data_type : numpy dtype
        The type to change to.
    """

    def __init__(self, data_type: Any) -> None:
        self.data_type = dtype_of(data_type).numpy

    def apply(self, array: np.ndarray, leading: int) -> np.ndarray:
        """Cast the array."""
        return array.astype(self.data_type)


class LinearTransformation(Transform):
    """Flatten an image, take a mean away and multiply by a matrix, as for whitening.

    Parameters
    ----------
    transformation_matrix : ndarray
        D×D, where D is how many numbers an image has.
    mean_vector : ndarray
        D numbers.

    Raises
    ------
    ValueError
        If the sizes do not go together.
    """

    def __init__(self, transformation_matrix: np.ndarray, mean_vector: np.ndarray) -> None:
        self.matrix = np.asarray(transformation_matrix)
        self.mean = np.asarray(mean_vector).reshape(-1)
        if self.matrix.shape != (len(self.mean), len(self.mean)):
            raise ValueError(
                f"LinearTransformation: a mean of {len(self.mean)} numbers needs a matrix of"
                f" {len(self.mean)}×{len(self.mean)}, not {self.matrix.shape}."
            )

    def __call__(self, image: Any) -> np.ndarray:
        """The image's numbers transformed, in its shape."""
        array = np.asarray(image)
        if array.size != len(self.mean):
            raise ValueError(
                f"LinearTransformation: the image has {array.size} numbers, the mean"
                f" {len(self.mean)}."
            )
        moved = (array.reshape(-1) - self.mean) @ self.matrix
        return moved.reshape(array.shape).astype(np.result_type(array.dtype, np.float32))


class ConvertColor(ImageTransform):
    """Change from one order of colours to another.

    Parameters
    ----------
    convert_mode : ConvertMode
        From which to which. Grey is 0.299 red + 0.587 green + 0.114 blue, rounded, as ITU-R BT.601
        has it.
    """

    def __init__(self, convert_mode: ConvertMode) -> None:
        self.convert_mode = ConvertMode(convert_mode)

    def apply(self, image: Any) -> np.ndarray:
        """The image as an array with the other channels."""
        array = as_array(image)
        source, target = self.convert_mode.value.split()
        channels = {"gray": 1, "rgba": 4}.get(source, 3)
        found = 1 if array.ndim == 2 else array.shape[2]
        if found != channels:
            raise ValueError(f"ConvertColor: {source} has {channels} channels, not {found}.")
        if source == "gray":
            plane = array.reshape(array.shape[:2])
            return np.stack([plane] * 3, 2)
        rgb = array[:, :, 2::-1] if source == "bgr" else array[:, :, :3]
        if target == "gray":
            return grey(rgb)
        if target == "rgba":
            full = 255 if array.dtype == np.uint8 else 1
            return np.dstack([rgb, np.full(rgb.shape[:2], full, array.dtype)])
        return np.ascontiguousarray(rgb[:, :, ::-1] if target == "bgr" else rgb)


def grey(rgb: np.ndarray) -> np.ndarray:
    """The brightness H×W of red, green and blue, of the same element type."""
    weights = np.array([0.299, 0.587, 0.114])  # ITU-R BT.601
    plane = rgb[:, :, :3].astype(np.float64) @ weights
    return np.rint(plane).astype(rgb.dtype) if rgb.dtype.kind in "iu" else plane.astype(rgb.dtype)
