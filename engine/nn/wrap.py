"""Cells around a network: its loss, its gradients, and whole training steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops
from ..autograd import GradOperation, value_and_grad
from ..dtype import float32
from ..parameter import Parameter, ParameterTuple
from ..tensor import Tensor
from .cell import Cell
from .optim import Optimizer


class WithLossCell(Cell):
    """A network and its loss: gives the loss of data and labels.

    Parameters
    ----------
    backbone : Cell
        The network, of the data.
    loss_fn : Cell
        The loss, of the network's output and the labels.
    """

    def __init__(self, backbone: Cell, loss_fn: Cell) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = backbone
        self._loss_fn = loss_fn

    def construct(self, data: Tensor, label: Tensor) -> Tensor:
        """Return the loss."""
        return self._loss_fn(self._backbone(data), label)

    @property
    def backbone_network(self) -> Cell:
        """The network."""
        return self._backbone


class WithEvalCell(Cell):
    """A network and its loss: gives the loss, the outputs and the labels, for metrics.

    Parameters
    ----------
    network : Cell
        The network, of the data.
    loss_fn : Cell or None
        The loss, of the network's output and the labels; without it the loss is zero.
    add_cast_fp32 : bool
        Whether outputs and labels of lower precision become float32 before the loss.
    """

    def __init__(self, network: Cell, loss_fn: Cell | None, add_cast_fp32: bool = False) -> None:
        super().__init__(auto_prefix=False)
        self._network = network
        self._loss_fn = loss_fn
        self.add_cast_fp32 = bool(add_cast_fp32)

    def construct(self, data: Tensor, label: Tensor) -> Any:
        """Return the loss, the outputs and the labels."""
        outputs = self._network(data)
        if self.add_cast_fp32:
            outputs = ops.cast(outputs, float32)
            label = ops.cast(label, float32) if label.dtype.is_float else label
        if self._loss_fn is None:
            return 0, outputs, label
        return self._loss_fn(outputs, label), outputs, label


class ForwardValueAndGrad(Cell):
    """A network's value together with its gradients.

    Parameters
    ----------
    network : Cell
        What is derived.
    weights : sequence of Parameter, optional
        The parameters to derive by, where `get_by_list`; by default the trained ones.
    get_all : bool
        Whether to derive by all inputs.
    get_by_list : bool
        Whether to derive by weights.
    sens_param : bool
        Whether the call's last argument is the gradient of the value.
    """

    def __init__(
        self,
        network: Cell,
        weights: Sequence[Parameter] | None = None,
        get_all: bool = False,
        get_by_list: bool = False,
        sens_param: bool = False,
    ) -> None:
        super().__init__(auto_prefix=False)
        self.network = network
        self.weights = ParameterTuple(network.trainable_params() if weights is None else weights)
        self.get_all, self.get_by_list = bool(get_all), bool(get_by_list)
        self.sens_param = bool(sens_param)

    def construct(self, *inputs: Any) -> Any:
        """Return the value and the gradients."""
        if not self.sens_param:
            positions = tuple(range(len(inputs))) if self.get_all else 0
            weights = self.weights if self.get_by_list else None
            wanted = None if self.get_by_list and not self.get_all else positions
            return value_and_grad(self.network, wanted, weights)(*inputs)
        derive = GradOperation(self.get_all, self.get_by_list, True)
        return self.network(*inputs[:-1]), derive(self.network, self.weights)(*inputs)


class DistributedGradReducer(Cell):
    """Gradients averaged over devices; on one device they are what they were.

    Parameters
    ----------
    parameters : sequence of Parameter
        The trained parameters.
    mean : bool, optional
        Whether gradients are averaged, else summed: the same on one device.
    degree : int, optional
        The number of devices, 1.

    Raises
    ------
    ValueError
        If `degree` is not 1.
    """

    def __init__(
        self, parameters: Sequence[Parameter], mean: bool | None = None, degree: int | None = None
    ) -> None:
        super().__init__(auto_prefix=False)
        if degree not in (None, 1):
            raise ValueError(f"DistributedGradReducer: there is one device, not {degree}.")
        self.count = len(list(parameters))

    def construct(self, grads: Any) -> Any:
        """Return the gradients."""
        return grads


class TrainOneStepCell(Cell):
    """One step of training: loss, gradients, update.

    Parameters
    ----------
    network : Cell
        Gives the loss; its trained parameters must be the optimizer's.
    optimizer : Optimizer
        Updates the parameters.
    sens : float or Tensor, optional
        What the loss's gradient begins with, 1 by default; the optimizer's ``loss_scale`` divides
        by it again.
    return_grad : bool
        Whether the call gives the gradients too, by the parameters' names.

    Raises
    ------
    TypeError
        If `optimizer` is no Optimizer.
    """

    def __init__(
        self,
        network: Cell,
        optimizer: Optimizer,
        sens: Any = None,
        return_grad: bool = False,
    ) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                f"{type(self).__name__}: optimizer must be an nn.Optimizer, not"
                f" {type(optimizer).__name__}."
            )
        self.network = network
        self.optimizer = optimizer
        self.weights = optimizer.parameters
        self.sens = 1.0 if sens is None else sens
        self.return_grad = bool(return_grad)
        # by these names, steps that are written over this one derive and reduce
        self.grad = GradOperation(get_by_list=True, sens_param=True)
        self.grad_no_sens = GradOperation(get_by_list=True)
        self.reducer_flag = False
        self.grad_reducer = DistributedGradReducer(self.weights)
        self.network.set_train()

    def construct(self, *inputs: Any) -> Any:
        """Return the loss, after the update."""
        plain = isinstance(self.sens, int | float) and self.sens == 1
        loss, grads = self.derived(inputs, None if plain else self.sens)
        self.optimizer(grads)
        if self.return_grad:
            return loss, dict(zip([p.name for p in self.weights], grads, strict=True))
        return loss

    def derived(self, inputs: tuple[Any, ...], scale: Any) -> tuple[Any, tuple[Tensor, ...]]:
        """Return the loss and the gradients of the loss times `scale`."""
        if scale is None:
            return value_and_grad(self.network, None, self.weights)(*inputs)

        def scaled(*given: Any) -> Any:
            loss = self.network(*given)
            return ops.mul(loss, ops.cast(_scalar(scale), loss.dtype)), loss

        (_, loss), grads = value_and_grad(scaled, None, self.weights, has_aux=True)(*inputs)
        return loss, grads


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """One step of training in low precision: a step that overflows is left out.

    Parameters
    ----------
    network : Cell
        Gives the loss.
    optimizer : Optimizer
        Updates the parameters.
    scale_sense : Tensor or Cell
        What the loss is multiplied by: a tensor of one element, or an update cell with
        ``get_loss_scale``, which is told of each overflow and gives the next scale
        (``nn.DynamicLossScaleUpdateCell``, ``nn.FixedLossScaleUpdateCell``).

    Raises
    ------
    TypeError
        If `scale_sense` is neither.
    ValueError
        If a tensor has more than one element.
    """

    def __init__(self, network: Cell, optimizer: Optimizer, scale_sense: Any) -> None:
        super().__init__(network, optimizer)
        if isinstance(scale_sense, Cell):
            self.loss_scaling_manager = scale_sense
            first = np.float32(scale_sense.get_loss_scale())
        elif isinstance(scale_sense, Tensor):
            if scale_sense.size != 1:
                raise ValueError(
                    "TrainOneStepWithLossScaleCell: scale_sense must have one element, not"
                    f" {scale_sense.size}."
                )
            self.loss_scaling_manager = None
            first = np.float32(scale_sense.item())
        else:
            raise TypeError(
                "TrainOneStepWithLossScaleCell: scale_sense must be a Tensor or an update Cell,"
                f" not {type(scale_sense).__name__}."
            )
        self.scale_sense = Parameter(first, "scale_sense", requires_grad=False)
        self.hyper_map = ops.HyperMap()

    def construct(self, *inputs: Any) -> Any:
        """Return the loss, whether gradients overflowed, and the scale of this step."""
        scale = self.scale_sense * 1.0
        loss, grads = self.derived(inputs, scale)
        grads = tuple(grad * ops.cast(1.0 / scale, grad.dtype) for grad in grads)
        overflow = self.get_overflow_status(None, grads)
        if not self.process_loss_scale(overflow):
            self.optimizer(grads)
        return loss, overflow, scale

    def start_overflow_check(self, pre_cond: Any, compute_input: Any) -> tuple[None, Any]:
        """Return no status and `compute_input`: gradients themselves tell of an overflow."""
        return None, compute_input

    def get_overflow_status(self, status: Any, compute_output: Any) -> Tensor:
        """Return whether a value of `compute_output`, one tensor or several, is not finite."""
        found = (compute_output,) if isinstance(compute_output, Tensor) else compute_output
        return ops.logical_not(ops.all_finite(tuple(found)))

    def process_loss_scale(self, overflow: Tensor) -> Tensor:
        """Tell the update cell of an overflow, take the scale it gives, and return `overflow`."""
        if self.loss_scaling_manager is not None:
            self.scale_sense.set_data(self.loss_scaling_manager(self.scale_sense * 1.0, overflow))
        return overflow

    def set_sense_scale(self, sens: Tensor) -> None:
        """Set what the loss is multiplied by from now on."""
        self.scale_sense.set_data(_scalar(sens))


class FixedLossScaleUpdateCell(Cell):
    """A loss scale that stays.

    Parameters
    ----------
    loss_scale_value : float
        The scale.
    """

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        self.loss_scale_value = float(loss_scale_value)

    def get_loss_scale(self) -> float:
        """The scale."""
        return self.loss_scale_value

    def construct(self, scale: Tensor, overflow: Tensor) -> Tensor:
        """Return the next step's scale."""
        return scale


class DynamicLossScaleUpdateCell(Cell):
    """A loss scale that falls where gradients overflow, and rises after a while without.

    Parameters
    ----------
    loss_scale_value : float
        The first scale.
    scale_factor : int
        By what it falls and rises.
    scale_window : int
        Steps without overflow after which it rises.
    """

    def __init__(self, loss_scale_value: float, scale_factor: int, scale_window: int) -> None:
        super().__init__()
        self.loss_scale_value = float(loss_scale_value)
        self.scale_factor, self.scale_window = int(scale_factor), int(scale_window)
        self.good_steps = Parameter(np.zeros((), np.int32), "good_steps", requires_grad=False)

    def get_loss_scale(self) -> float:
        """The first scale."""
        return self.loss_scale_value

    def construct(self, scale: Tensor, overflow: Tensor) -> Tensor:
        """Return the next step's scale."""
        scale, good = next_scale(
            scale, self.good_steps, ops.logical_not(overflow), self.scale_factor, self.scale_window
        )
        self.good_steps.set_data(good)
        return scale


def next_scale(
    scale: Tensor, good: Tensor, finite: Tensor, factor: float, window: int
) -> tuple[Tensor, Tensor]:
    """Return the next loss scale and count of steps without overflow.

    References
    ----------
    Micikevicius et al., Mixed Precision Training, 2017.
    """
    counted = good + 1
    rises = ops.logical_and(finite, counted >= window)
    risen = ops.where(rises, scale * float(factor), scale)
    fallen = ops.maximum(scale / float(factor), 1.0)
    count = ops.where(ops.logical_or(rises, ops.logical_not(finite)), good * 0, counted)
    return ops.where(finite, risen, fallen), ops.cast(count, good.dtype)


def _scalar(value: Any) -> Tensor:
    tensor = value if isinstance(value, Tensor) else Tensor(np.float32(value))
    return ops.reshape(tensor, ()) if tensor.shape else tensor
