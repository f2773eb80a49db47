"""The base of optimizers: groups, rates, decay, and one compiled update a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import ops
from ...compiler.in_place import InPlace, take_step
from ...dtype import float32, int32
from ...parameter import Parameter, ParameterTuple
from ...tensor import Tensor
from ..cell import Cell
from .groups import Rate, first_rate, groups_of


class Optimizer(Cell):
    """The base of optimizers; calling one with gradients updates the parameters.

    In eager mode the update of all parameters is one call of machine code. A subclass defines
    ``update``, which writes one parameter, or ``construct`` as a whole.

    Parameters
    ----------
    learning_rate : float, sequence of float, LearningRateSchedule or callable
        One rate, a rate a step (the last one stays), or a function of the step's number.
    parameters : iterable of Parameter, or list of dict
        What is trained. Dictionaries have ``params`` and, where it differs, ``lr``,
        ``weight_decay`` and ``grad_centralization``; one with ``order_params`` alone gives the
        order in which gradients come.
    weight_decay : float or Cell
        Times the weights is added to the gradients, but for the scales and shifts of norms where
        no groups are given. A Cell gives it for the step's number.
    loss_scale : float
        What the loss was multiplied by; gradients are divided by it.

    Raises
    ------
    ValueError
        If there are no parameters, one comes twice, or a rate is negative.
    TypeError
        If something is no Parameter.
    """

    decays_all = False
    """Whether weight decay reaches the scales and shifts of norms too (``gamma``, ``beta``)."""
    decays_itself = False
    """Whether ``update`` takes the decay itself, else it comes with the gradient."""

    def __init__(
        self,
        learning_rate: Rate,
        parameters: Any,
        weight_decay: float | Cell = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(auto_prefix=False)
        self.__dict__["_updates"] = InPlace()
        self.__dict__["_dependent"] = [self._updates]
        _check_decay(self._words, weight_decay)
        if loss_scale <= 0:
            raise ValueError(f"{self._words}: loss_scale must be positive, it is {loss_scale}.")
        self.loss_scale = float(loss_scale)
        groups, params, grouped = groups_of(self._words, parameters, weight_decay)
        self.groups = tuple(groups)
        self.parameters = ParameterTuple(params)
        number_of = {id(p): i for i, group in enumerate(groups) for p in group.params}
        self._numbers = tuple(number_of[id(p)] for p in params)
        self._plain = tuple(
            grouped or self.decays_all or not ("beta" in p.name or "gamma" in p.name)
            for p in params
        )
        self.is_group = grouped
        self.is_group_lr = any(group.rate is not None for group in groups)
        self.global_step = Parameter(np.zeros((), np.int32), "global_step", requires_grad=False)
        self._rates: dict[int, Any] = {}
        self._decays: dict[int, Any] = {}
        self._set_rate(-1, "learning_rate", learning_rate)
        self.weight_decay = weight_decay
        for number, group in enumerate(groups):
            if group.rate is not None:
                self._set_rate(number, f"learning_rate_{number}", group.rate)
            self._set_decay(number, group.weight_decay)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, int | float) and name.startswith("learning_rate"):
            held = self.__dict__.get("_params", {}).get(name)
            if held is not None:  # a number goes where compiled steps read it
                held.set_data(np.broadcast_to(first_rate(self._words, value), held.shape))
                return
        super().__setattr__(name, value)
        for plans in self.__dict__.get("_dependent", ()):  # they were made for the old settings
            plans.clear()

    @property
    def _words(self) -> str:
        return type(self).__name__

    @property
    def target(self) -> str:
        """Where parameters are updated: the CPU."""
        return "CPU"

    def _set_rate(self, number: int, name: str, rate: Rate) -> None:
        """Keep a rate: a Parameter of one rate or of a row of them, or what is asked each step."""
        if isinstance(rate, Cell):
            self.insert_child_to_cell(name, rate)
            self._rates[number] = rate
        elif callable(rate) and not isinstance(rate, Tensor):
            self._rates[number] = rate
        else:
            param = Parameter(first_rate(self._words, rate), name, requires_grad=False)
            self.insert_param_to_cell(name, param)
            self._rates[number] = param

    def _set_decay(self, number: int, decay: float | Cell) -> None:
        _check_decay(self._words, decay)
        if isinstance(decay, Cell):
            self.insert_child_to_cell(f"weight_decay_{number}", decay)
            self._decays[number] = decay

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Put a prefix before the names of the optimizer's own state; weights keep theirs."""
        weights = {id(param) for param in self.parameters}
        for param in self.get_parameters(recurse):
            if id(param) not in weights:
                param.name = f"{prefix}{param.name}"

    def moments(self, name: str, value: float = 0.0) -> list[Parameter]:
        """Make state like each parameter, filled with `value`, registered as ``name.PARAMETER``."""
        made: list[Parameter] = []
        for number, param in enumerate(self.parameters):
            filled = np.full(param.shape, value, param.dtype.numpy)
            moment = Parameter(filled, f"{name}.{param.name}", requires_grad=False)
            key = moment.name if moment.name not in self._params else f"{name}.{number}"
            self.insert_param_to_cell(key, moment, check_name_contain_dot=False)
            made.append(moment)
        return made

    # rates and decay of a step

    def get_lr(self) -> Any:
        """The learning rate of the next step: a float32 scalar, or one a group in a tuple."""
        if not self.is_group_lr:
            return self._rate_now(-1)
        return tuple(self._rate_now(self._rate_key(n)) for n in range(len(self.groups)))

    def get_lr_parameter(self, param: Any) -> Any:
        """What gives the learning rate of a parameter, or of each in a list.

        Raises
        ------
        ValueError
            If a parameter is not among those that are trained.
        """
        if not isinstance(param, Parameter):
            return [self.get_lr_parameter(item) for item in param]
        for at, own in enumerate(self.parameters):
            if own is param:
                return self._rates[self._rate_key(self._numbers[at])]
        raise ValueError(f"{self._words}: {param.name!r} is not among the trained parameters.")

    def get_weight_decay(self) -> Any:
        """The weight decay of the next step, or one a group in a tuple."""
        values = tuple(
            self._decays[number](self.global_step) if number in self._decays else group.weight_decay
            for number, group in enumerate(self.groups)
        )
        return values if self.is_group else values[0]

    def _rate_key(self, number: int) -> int:
        return number if number in self._rates else -1

    def _rate_now(self, number: int) -> Tensor:
        rate = self._rates[number]
        if isinstance(rate, Parameter):
            if not rate.shape:
                return rate
            return ops.gather(rate, ops.minimum(self.global_step, rate.shape[0] - 1), 0)
        return ops.cast(rate(self.global_step), float32)

    def values_of_step(self) -> dict[str, Tensor]:
        """What is computed anew for each step: the rates and decays that schedules give."""
        values: dict[str, Tensor] = {}
        for number, rate in self._rates.items():
            if not isinstance(rate, Parameter) or rate.shape:
                values[f"rate{number}"] = self._rate_now(number)
        for number, decay in self._decays.items():
            values[f"decay{number}"] = ops.cast(decay(self.global_step), float32)
        return values

    # the step

    def construct(self, gradients: Sequence[Tensor]) -> bool:
        """Update all parameters by their gradients, given in the order of ``parameters``."""
        grads = (gradients,) if isinstance(gradients, Tensor) else tuple(gradients)
        if len(grads) != len(self.parameters):
            raise ValueError(
                f"{self._words}: {len(self.parameters)} parameters, but {len(grads)} gradients."
            )
        for param, grad in zip(self.parameters, grads, strict=True):
            if grad is None:
                raise TypeError(
                    f"{self._words}: the gradient of {param.name!r} is None; give zeros, or leave"
                    " the parameter out of the optimizer."
                )
        take_step(self, self._updates, grads)
        return True

    def apply_gradients(self, grads: Sequence[Tensor], values: dict[str, Tensor]) -> None:
        """Write all parameters and the state; `values` are those of ``values_of_step``."""
        self.write([self.prepared(at, grad, values) for at, grad in enumerate(grads)], values, True)

    def prepared(self, at: int, grad: Tensor, values: dict[str, Tensor]) -> Tensor:
        """The gradient of parameter number `at` as ``update`` takes it: unscaled, with decay."""
        param = self.parameters[at]
        if grad.shape != param.shape:
            raise ValueError(
                f"{self._words}: the gradient of {param.name!r} has shape {list(grad.shape)}, the"
                f" parameter {list(param.shape)}."
            )
        grad = self.scaled(grad)
        if self.groups[self._numbers[at]].centralised:
            grad = centralised(grad)
        decay = 0.0 if self.decays_itself else self.decay_of(at, values)
        return grad if _is_zero(decay) else grad + param * decay

    def write(self, grads: Sequence[Tensor], values: dict[str, Tensor], decays: bool) -> None:
        """Write all parameters by prepared gradients, and count the step."""
        self.start_step()
        for at, param in enumerate(self.parameters):
            decay = self.decay_of(at, values) if decays and self.decays_itself else 0.0
            self.update(at, param, grads[at], self.rate_of(at, values), decay)
        self.global_step.set_data(ops.cast(ops.add(self.global_step, 1), int32))

    def rate_of(self, at: int, values: dict[str, Tensor]) -> Tensor:
        """The learning rate of parameter number `at` in this step."""
        key = self._rate_key(self._numbers[at])
        return values[f"rate{key}"] if f"rate{key}" in values else self._rates[key]

    def decay_of(self, at: int, values: dict[str, Tensor]) -> Any:
        """The weight decay of parameter number `at` in this step."""
        number = self._numbers[at]
        if not self._plain[at]:
            return 0.0
        if f"decay{number}" in values:
            return values[f"decay{number}"]
        return float(self.groups[number].weight_decay)  # pyright: ignore[reportArgumentType]

    def scaled(self, grad: Tensor) -> Tensor:
        """The gradient without the loss's scale."""
        return grad if self.loss_scale == 1.0 else ops.mul(grad, 1.0 / self.loss_scale)

    def start_step(self) -> None:
        """Do what a step does once for all parameters."""

    def update(self, at: int, param: Parameter, grad: Tensor, rate: Tensor, decay: Any) -> None:
        """Update the parameter number `at`."""
        raise NotImplementedError(f"{self._words} must define update(...) or construct(...).")

    def clear_grad(self) -> None:
        """Do nothing: gradients are results of ``grad``, none are kept to be cleared."""

    # for subclasses that write ``construct`` themselves

    def scale_grad(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The gradients without the loss's scale."""
        return tuple(self.scaled(grad) for grad in gradients)

    def decay_weight(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The gradients with weight decay times the weights added."""
        values = self.values_of_step()
        decays = [self.decay_of(at, values) for at in range(len(self.parameters))]
        return tuple(
            grad if _is_zero(decay) else grad + param * decay
            for grad, param, decay in zip(gradients, self.parameters, decays, strict=True)
        )

    def gradients_centralization(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The gradients of groups with ``grad_centralization`` without their means."""
        return tuple(
            centralised(grad) if self.groups[number].centralised else grad
            for grad, number in zip(gradients, self._numbers, strict=True)
        )


def centralised(grad: Tensor) -> Tensor:
    """Take from a gradient of two axes or more its mean over all axes but the first.

    References
    ----------
    Yong et al., Gradient Centralization: A New Optimization Technique for Deep Neural Networks,
    2020.
    """
    axes = tuple(range(1, len(grad.shape)))
    return grad - ops.mean(grad, axes, True) if axes else grad


def _is_zero(decay: Any) -> bool:
    return not isinstance(decay, Tensor) and decay == 0.0


def _check_decay(owner: str, decay: Any) -> None:
    if not isinstance(decay, Cell) and decay < 0:
        raise ValueError(f"{owner}: weight_decay must not be negative: {decay}.")
