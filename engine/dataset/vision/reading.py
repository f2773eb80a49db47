"""Image files: read, written, looked at. Damaged ones are named."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from ..files import DataError
from .images import as_array, as_pillow, is_pillow
from .options import ImageReadMode

# modes whose pixels fit into 8 bits, so that converting to RGB or grey loses no digits
_EIGHT_BITS = ("1", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr",
               "HSV", "LAB")  # fmt: skip


def decoded(data: bytes, mode: str | None, where: str) -> Any:
    """A whole image from bytes, in one of Pillow's modes or as it is.

    Raises
    ------
    DataError
        If the bytes are no image, end too early, or hold more digits than the mode.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data)) as opened:
            opened.load()
            if mode is None or opened.mode == mode:
                return opened.copy()
            if opened.mode not in _EIGHT_BITS:
                raise DataError(
                    f"{where}: the image has pixels of mode {opened.mode}, which 8 bits a channel"
                    " cannot hold.",
                    "Read it by vision.read_image, or save it with 8 bits a channel.",
                )
            return opened.convert(mode)
    except UnidentifiedImageError as error:
        raise DataError(
            f"{where}: {len(data)} bytes that begin with {data[:8]!r} are no image.",
            "Give a JPEG, PNG, BMP, GIF, TIFF or WebP file.",
        ) from error
    except (OSError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        raise DataError(
            f"{where}: the image of {len(data)} bytes is damaged: {error}.", "Get the file anew."
        ) from error


def file_bytes(filename: str | Path) -> bytes:
    """What a file holds; DataError where it cannot be read."""
    try:
        return Path(filename).read_bytes()
    except OSError as error:
        raise DataError(f"{filename} cannot be read: {error.strerror}.", "Set the path.") from error


def read_file(filename: str | Path) -> np.ndarray:
    """The bytes of a file as a row of uint8.

    Parameters
    ----------
    filename : str or Path
        The file.

    Returns
    -------
    ndarray
        uint8, one axis.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    return np.frombuffer(file_bytes(filename), np.uint8).copy()


def write_file(filename: str | Path, data: np.ndarray) -> None:
    """Write a row of uint8 to a file.

    Parameters
    ----------
    filename : str or Path
        The file; what it held is replaced.
    data : ndarray
        uint8, one axis.

    Raises
    ------
    TypeError
        If the data is something else.
    """
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim != 1:
        raise TypeError("write_file: data must be an array of uint8 with one axis.")
    Path(filename).write_bytes(data.tobytes())


def read_image(filename: str | Path, mode: ImageReadMode = ImageReadMode.UNCHANGED) -> np.ndarray:
    """Read an image file.

    Parameters
    ----------
    filename : str or Path
        A JPEG, PNG, BMP, TIFF, GIF or WebP file.
    mode : ImageReadMode
        As it is, as grey, or as red, green and blue.

    Returns
    -------
    ndarray
        H×W×C, uint8, or what the file has.

    Raises
    ------
    DataError
        If it cannot be read, or is damaged.
    """
    wanted = {ImageReadMode.GRAYSCALE: "L", ImageReadMode.COLOR: "RGB"}.get(ImageReadMode(mode))
    image = decoded(file_bytes(filename), wanted, str(filename))
    if image.mode in ("P", "1"):  # indices into a palette are no brightness
        image = image.convert("RGB" if image.mode == "P" else "L")
    array = np.array(image)
    return array[:, :, None] if array.ndim == 2 else array


def encode_png(image: np.ndarray, compression_level: int = 6) -> np.ndarray:
    """An image as the bytes of a PNG file.

    Parameters
    ----------
    image : ndarray
        H×W×C or H×W, uint8.
    compression_level : int
        0 (fast) to 9 (small).

    Returns
    -------
    ndarray
        uint8, one axis.
    """
    return _encoded(image, "encode_png", "PNG", compress_level=compression_level)


def encode_jpeg(image: np.ndarray, quality: int = 75) -> np.ndarray:
    """An image as the bytes of a JPEG file.

    Parameters
    ----------
    image : ndarray
        H×W×3, H×W×1 or H×W, uint8.
    quality : int
        1 (small) to 100 (true).

    Returns
    -------
    ndarray
        uint8, one axis.
    """
    return _encoded(image, "encode_jpeg", "JPEG", quality=quality)


def write_png(filename: str | Path, image: np.ndarray, compression_level: int = 6) -> None:
    """Write an image to a PNG file.

    Parameters
    ----------
    filename : str or Path
        The file.
    image : ndarray
        H×W×C or H×W, uint8.
    compression_level : int
        0 (fast) to 9 (small).
    """
    write_file(filename, encode_png(image, compression_level))


def write_jpeg(filename: str | Path, image: np.ndarray, quality: int = 75) -> None:
    """Write an image to a JPEG file.

    Parameters
    ----------
    filename : str or Path
        The file.
    image : ndarray
        H×W×3, H×W×1 or H×W, uint8.
    quality : int
        1 (small) to 100 (true).
    """
    write_file(filename, encode_jpeg(image, quality))


def _encoded(image: Any, where: str, form: str, **options: int) -> np.ndarray:
    stream = io.BytesIO()
    pillow = image if is_pillow(image) else as_pillow(np.asarray(image), where)
    pillow.save(stream, form, **options)
    return np.frombuffer(stream.getvalue(), np.uint8).copy()


def get_image_size(image: Any) -> list[int]:
    """Height and width of an image.

    Parameters
    ----------
    image : ndarray or Pillow image
        H×W×C or H×W.

    Returns
    -------
    list of int
        Height and width.
    """
    return list(as_array(image).shape[:2])


def get_image_num_channels(image: Any) -> int:
    """How many channels an image has.

    Parameters
    ----------
    image : ndarray or Pillow image
        H×W×C or H×W.

    Returns
    -------
    int
        The number of channels.
    """
    array = as_array(image)
    return 1 if array.ndim == 2 else array.shape[2]
