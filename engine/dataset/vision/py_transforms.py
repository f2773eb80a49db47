"""Older scripts' ``vision.py_transforms``: the same, but ``Decode`` gives Pillow's images."""

from __future__ import annotations

import importlib
from typing import Any

from . import convert


class Decode(convert.Decode):
    """Decode the bytes of an image file to a Pillow image in red, green and blue."""

    def __init__(self) -> None:
        super().__init__(to_pil=True)


def __getattr__(name: str) -> Any:
    """Any other transform."""
    return getattr(importlib.import_module(__name__.rpartition(".")[0]), name)
