"""Choices that transforms of images take."""

from __future__ import annotations

from enum import Enum, IntEnum, StrEnum


class Inter(IntEnum):
    """How pixels between pixels are computed; Pillow's filters, which smooth when they shrink."""

    NEAREST = 0
    ANTIALIAS = 1
    LINEAR = 2
    BILINEAR = 2
    CUBIC = 3
    BICUBIC = 3
    AREA = 4
    PILCUBIC = 5


class Border(StrEnum):
    """What lies around an image: one value, the edge, a reflection without or with the edge."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class ImageReadMode(IntEnum):
    """How a file is read: as it is, as grey, or as red, green and blue."""

    UNCHANGED = 0
    GRAYSCALE = 1
    COLOR = 2


class ConvertMode(Enum):
    """From which colours to which, for `ConvertColor`."""

    COLOR_BGR2RGB = "bgr rgb"
    COLOR_RGB2BGR = "rgb bgr"
    COLOR_BGR2GRAY = "bgr gray"
    COLOR_RGB2GRAY = "rgb gray"
    COLOR_GRAY2RGB = "gray rgb"
    COLOR_GRAY2BGR = "gray bgr"
    COLOR_RGBA2RGB = "rgba rgb"
    COLOR_RGB2RGBA = "rgb rgba"
    COLOR_RGBA2BGR = "rgba bgr"
    COLOR_RGBA2GRAY = "rgba gray"


class ImageBatchFormat(IntEnum):
    """Order of the axes of a batch of images."""

    NHWC = 0
    NCHW = 1


class SliceMode(IntEnum):
    """What `SlicePatches` does where an image does not divide evenly: pad it, or drop the rest."""

    PAD = 0
    DROP = 1
