"""What is wrong with a model, in words about the model."""

from __future__ import annotations


class OnnxError(ValueError):
    """A model that cannot be read or run: what is wrong, in which node, and what to do."""
