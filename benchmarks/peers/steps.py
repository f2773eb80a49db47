"""Training steps of Cellwire as one static graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire as cw


def cellwire_step(
    net: Any, loss: Callable[..., Any], optimizer: str, inputs: tuple[Any, ...]
) -> Callable[[], Any]:
    """Return a training step, forward, backward and update in one ``jit``."""
    net.set_train()
    for parameter in net.get_parameters():
        parameter.asnumpy()  # its first numbers are drawn when they are asked for
    made = {
        "adam": lambda: cw.nn.Adam(net.trainable_params(), 1e-3),
        "momentum": lambda: cw.nn.Momentum(net.trainable_params(), 1e-2, 0.9),
    }[optimizer]()
    derive = cw.value_and_grad(loss, None, made.parameters)

    @cw.jit(fullgraph=True)
    def step(*given: Any) -> Any:
        value, grads = derive(*given)
        made(grads)
        return value

    return lambda: step(*inputs)
