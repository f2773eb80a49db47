"""Loss scales: small gradients are kept from vanishing in float16, large ones from overflowing."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..dtype import dtype_of, int32
from ..nn.cell import Cell
from ..nn.wrap import DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell, next_scale
from ..parameter import Parameter
from ..tensor import Tensor


class LossScaler:
    """The base of loss scalers, which scale losses, unscale gradients and adjust themselves."""

    def scale(self, inputs: Any) -> Any:
        """Return a tensor, or a list or tuple of them, times the scale."""
        raise NotImplementedError(f"{type(self).__name__} must define scale(inputs).")

    def unscale(self, inputs: Any) -> Any:
        """Return a tensor, or a list or tuple of them, over the scale."""
        raise NotImplementedError(f"{type(self).__name__} must define unscale(inputs).")

    def adjust(self, grads_finite: Tensor) -> Any:
        """Learn whether the gradients were finite."""
        raise NotImplementedError(f"{type(self).__name__} must define adjust(grads_finite).")


class StaticLossScaler(LossScaler):
    """A scale that stays.

    Parameters
    ----------
    scale_value : float
        The scale, 1 or more.

    Raises
    ------
    ValueError
        If it is below 1.
    """

    def __init__(self, scale_value: float) -> None:
        self.scale_value = _scale_parameter(type(self).__name__, scale_value)

    def scale(self, inputs: Any) -> Any:
        """Return a tensor, or a list or tuple of them, times the scale."""
        return _times(inputs, self.scale_value)

    def unscale(self, inputs: Any) -> Any:
        """Return a tensor, or a list or tuple of them, over the scale."""
        return _times(inputs, 1.0 / self.scale_value)

    def adjust(self, grads_finite: Tensor) -> bool:
        """Leave the scale as it is, and return False."""
        return False


class DynamicLossScaler(LossScaler):
    """A scale that falls where gradients overflow, and rises after a while without.

    Parameters
    ----------
    scale_value : float
        The first scale, 1 or more.
    scale_factor : int
        By what it falls and rises.
    scale_window : int
        Steps without overflow after which it rises.

    Raises
    ------
    ValueError
        If the scale is below 1, or a number not positive.

    References
    ----------
    Micikevicius et al., Mixed Precision Training, 2017.
    """

    def __init__(self, scale_value: float, scale_factor: int, scale_window: int) -> None:
        _require_positive(type(self).__name__, scale_factor, scale_window)
        self.scale_value = _scale_parameter(type(self).__name__, scale_value)
        self._factor, self._window = float(scale_factor), int(scale_window)
        self.counter = Parameter(np.zeros((), np.int32), "counter", requires_grad=False)

    @property
    def scale_factor(self) -> float:
        """By what the scale falls and rises."""
        return self._factor

    @property
    def scale_window(self) -> int:
        """Steps without overflow after which the scale rises."""
        return self._window

    def scale(self, inputs: Any) -> Any:
        """Return a tensor, or a list or tuple of them, times the scale."""
        return _times(inputs, self.scale_value)

    def unscale(self, inputs: Any) -> Any:
        """Return a tensor, or a list or tuple of them, over the scale."""
        return _times(inputs, 1.0 / self.scale_value)

    def adjust(self, grads_finite: Tensor) -> bool:
        """Move the scale, and return True."""
        finite = grads_finite if isinstance(grads_finite, Tensor) else Tensor(bool(grads_finite))
        scale, counter = next_scale(
            self.scale_value, self.counter, finite, self._factor, self._window
        )
        # A scale that has risen to infinity would leave every gradient out.
        self.scale_value.set_data(ops.where(ops.isfinite(scale), scale, self.scale_value))
        self.counter.set_data(ops.cast(counter, int32))
        return True


class LossScaleManager:
    """The base of what gives ``train.Model`` its loss scale."""

    def get_loss_scale(self) -> float:
        """The scale now."""
        raise NotImplementedError(f"{type(self).__name__} must define get_loss_scale().")

    def update_loss_scale(self, overflow: bool) -> None:
        """Learn whether a step overflowed."""
        raise NotImplementedError(f"{type(self).__name__} must define update_loss_scale(...).")

    def get_update_cell(self) -> Cell | None:
        """The Cell that moves the scale in a training step, or None."""
        raise NotImplementedError(f"{type(self).__name__} must define get_update_cell().")


class FixedLossScaleManager(LossScaleManager):
    """A loss scale that stays.

    Parameters
    ----------
    loss_scale : float
        The scale; without `drop_overflow_update` the optimizer must be made with it too.
    drop_overflow_update : bool
        Whether steps that overflow are left out.

    Raises
    ------
    ValueError
        If the scale is below 1.
    """

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True) -> None:
        _require_scale(type(self).__name__, loss_scale)
        self._loss_scale, self._drops = float(loss_scale), bool(drop_overflow_update)

    def get_loss_scale(self) -> float:
        """The scale."""
        return self._loss_scale

    def get_drop_overflow_update(self) -> bool:
        """Whether steps that overflow are left out."""
        return self._drops

    def update_loss_scale(self, overflow: bool) -> None:
        """Leave the scale as it is."""

    def get_update_cell(self) -> Cell | None:
        """The Cell for ``nn.TrainOneStepWithLossScaleCell``; None where no step is left out."""
        return FixedLossScaleUpdateCell(self._loss_scale) if self._drops else None


class DynamicLossScaleManager(LossScaleManager):
    """A loss scale that falls where gradients overflow, and rises after a while without.

    Parameters
    ----------
    init_loss_scale : float
        The first scale.
    scale_factor : int
        By what it falls and rises.
    scale_window : int
        Steps without overflow after which it rises.

    Raises
    ------
    ValueError
        If the scale is below 1, or a number not positive.
    """

    def __init__(
        self, init_loss_scale: float = 2.0**24, scale_factor: int = 2, scale_window: int = 2000
    ) -> None:
        _require_scale(type(self).__name__, init_loss_scale)
        _require_positive(type(self).__name__, scale_factor, scale_window)
        self.loss_scale = float(init_loss_scale)
        self.scale_factor, self.scale_window = int(scale_factor), int(scale_window)
        self._good = 0

    def get_loss_scale(self) -> float:
        """The scale now."""
        return self.loss_scale

    def get_drop_overflow_update(self) -> bool:
        """Steps that overflow are left out."""
        return True

    def update_loss_scale(self, overflow: bool) -> None:
        """Move the scale."""
        if overflow:
            self.loss_scale = max(self.loss_scale / self.scale_factor, 1.0)
            self._good = 0
            return
        self._good += 1
        if self._good >= self.scale_window:
            self.loss_scale *= self.scale_factor
            self._good = 0

    def get_update_cell(self) -> Cell:
        """The Cell for ``nn.TrainOneStepWithLossScaleCell``."""
        return DynamicLossScaleUpdateCell(self.loss_scale, self.scale_factor, self.scale_window)


def all_finite(inputs: Any, status: Any = None) -> Tensor:
    """Return whether all gradients are finite, a bool scalar.

    Parameters
    ----------
    inputs : Tensor, or sequence of Tensor
        The gradients.
    status : Tensor, optional
        Taken for MindSpore's scripts; the answer is read off the values.

    Returns
    -------
    Tensor
        Whether no element is infinite or NaN.
    """
    return ops.all_finite(inputs)


def init_status() -> Tensor:
    """Return what MindSpore's scripts hand to ``all_finite``.

    Returns
    -------
    Tensor
        Eight zeros, float32, that nothing is read from.
    """
    return Tensor(np.zeros(8, np.float32))


def _times(inputs: Any, factor: Tensor) -> Any:
    """Return tensors times a float32 factor, which may lie outside of what float16 can hold."""
    if isinstance(inputs, Tensor):
        return ops.cast(inputs * factor, inputs.dtype)
    if isinstance(inputs, list | tuple):
        return type(inputs)([_times(item, factor) for item in inputs])
    raise TypeError(f"a loss scaler takes tensors, not {type(inputs).__name__}.")


def _scale_parameter(owner: str, value: Any) -> Parameter:
    _require_scale(owner, float(value))
    array = np.asarray(float(value), dtype_of("float32").numpy)
    return Parameter(array, "scale_value", requires_grad=False)


def _require_scale(owner: str, value: float) -> None:
    if value < 1:
        raise ValueError(f"{owner}: the scale must be 1 or more, it is {value}.")


def _require_positive(owner: str, factor: float, window: int) -> None:
    if factor <= 0 or window <= 0:
        raise ValueError(
            f"{owner}: scale_factor {factor} and scale_window {window} must be positive."
        )
