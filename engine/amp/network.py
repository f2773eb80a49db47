"""A whole training network of one's network, loss and optimizer, in mixed precision."""

from __future__ import annotations

from typing import Any

from ..dtype import bfloat16, float16, float32
from ..nn.cell import Cell
from ..nn.optim import Optimizer
from ..nn.precision import cast_floats
from ..nn.wrap import TrainOneStepCell, TrainOneStepWithLossScaleCell, WithLossCell
from ..tensor import Tensor
from .mixed import LEVELS, auto_mixed_precision
from .scaling import DynamicLossScaleManager, LossScaleManager

OPTIONS = {"cast_model_type", "keep_batchnorm_fp32", "loss_scale_manager"}


class Float32Loss(WithLossCell):
    """A network and its loss, which sees the outputs in float32.

    Parameters
    ----------
    backbone : Cell
        The network, of the data.
    loss_fn : Cell
        The loss, of the network's output and the labels.
    """

    def construct(self, data: Tensor, label: Tensor) -> Tensor:
        """Return the loss."""
        output = cast_floats(self._backbone(data), float32)
        return self._loss_fn(output, cast_floats(label, float32))


def build_train_network(
    network: Cell,
    optimizer: Optimizer,
    loss_fn: Cell | None = None,
    level: str = "O0",
    boost_level: str = "O0",
    **kwargs: Any,
) -> Cell:
    """Make a Cell whose call is one training step in mixed precision.

    Parameters
    ----------
    network : Cell
        The network; without `loss_fn` it gives the loss.
    optimizer : Optimizer
        Updates its parameters.
    loss_fn : Cell, optional
        The loss, of the network's output and the labels.
    level : {"O0", "O1", "O2", "O3", "auto"}
        How the network computes; see ``auto_mixed_precision``.
    boost_level : {"O0"}
        Taken for MindSpore's scripts.
    **kwargs
        ``cast_model_type`` (float16, bfloat16 or float32), ``keep_batchnorm_fp32`` and
        ``loss_scale_manager``, by which the level's own are replaced. ``O2`` has a
        ``DynamicLossScaleManager``, the others none.

    Returns
    -------
    Cell
        Gives the loss; with a loss scale that moves ``(loss, overflow, scale)``.

    Raises
    ------
    ValueError
        If the level or an option is not known.
    TypeError
        If an argument is no Cell, or no optimizer.
    """
    _check(network, optimizer, loss_fn, level, kwargs)
    low = kwargs.get("cast_model_type", float16)
    if low is not float32 and level != "O0":
        chosen = level
        if level in ("O2", "O3") and "keep_batchnorm_fp32" in kwargs:
            chosen = "O2" if kwargs["keep_batchnorm_fp32"] else "O3"
        auto_mixed_precision(network, chosen, bfloat16 if low is bfloat16 else float16)
    whole = network
    if loss_fn is not None:
        whole = (WithLossCell if level == "O0" else Float32Loss)(network, loss_fn)
    manager = kwargs.get("loss_scale_manager")
    if manager is None and level == "O2" and "loss_scale_manager" not in kwargs:
        manager = DynamicLossScaleManager()
    update = None if manager is None else manager.get_update_cell()
    if update is not None:
        return TrainOneStepWithLossScaleCell(whole, optimizer, update).set_train()
    scale = None if manager is None else manager.get_loss_scale()
    return TrainOneStepCell(whole, optimizer, scale).set_train()


def _check(network: Any, optimizer: Any, loss_fn: Any, level: str, options: dict[str, Any]) -> None:
    if not isinstance(network, Cell) or not isinstance(optimizer, Optimizer):
        raise TypeError("build_train_network takes a Cell and an nn.Optimizer.")
    if loss_fn is not None and not isinstance(loss_fn, Cell):
        raise TypeError(f"build_train_network: loss_fn must be a Cell, not {type(loss_fn)}.")
    if level not in LEVELS:
        raise ValueError(
            f"build_train_network: level must be one of {', '.join(LEVELS)}, not {level!r}."
        )
    unknown = options.keys() - OPTIONS
    if unknown:
        raise ValueError(f"build_train_network has no option {sorted(unknown)[0]!r}.")
    manager = options.get("loss_scale_manager")
    if manager is not None and not isinstance(manager, LossScaleManager):
        raise TypeError(f"loss_scale_manager must be a LossScaleManager, not {type(manager)}.")
