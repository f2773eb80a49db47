"""The operators, one file a family; importing this package fills the table."""

from . import (  # noqa: F401
    casting,
    control,
    convolution,
    detection,
    elementwise,
    indexing,
    linear,
    normalisation,
    pooling,
    random,
    recurrent,
    reduction,
    resizing,
    sequences,
    shaping,
    signal,
)
