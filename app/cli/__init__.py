"""The command line: `cellwire run | debug | train | compile | export | info | open FILE`."""

from .entry import main

__all__ = ["main"]
