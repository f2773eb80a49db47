"""Optimizers: they take gradients and write parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import ops
from ..dtype import float32, int32
from ..parameter import Parameter, ParameterTuple
from ..tensor import Tensor
from .cell import Cell

Rate = float | Sequence[float] | np.ndarray | Tensor | Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class _Group:
    """Parameters with a learning rate and weight decay of their own (`None`: the common rate)."""

    params: tuple[Parameter, ...]
    rate: Rate | None
    weight_decay: float


class Optimizer(Cell):
    """The base of optimizers; calling one with gradients updates the parameters.

    Parameters
    ----------
    learning_rate : float, sequence of float, or callable of the step
        One rate, a rate a step (the last one stays), or a function of the step's number.
    parameters : iterable of Parameter, or list of dict
        What is trained. Dictionaries have ``params`` and, where it differs, ``lr`` and
        ``weight_decay``.
    weight_decay : float
        Times the weights is added to the gradients, but for the scales and shifts of norms.
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

    def __init__(
        self,
        learning_rate: Rate,
        parameters: Any,
        weight_decay: float = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(auto_prefix=False)
        if weight_decay < 0:
            raise ValueError(f"{self._words}: weight_decay must not be negative: {weight_decay}.")
        if loss_scale <= 0:
            raise ValueError(f"{self._words}: loss_scale must be positive, it is {loss_scale}.")
        self.loss_scale = float(loss_scale)
        self.groups = tuple(_groups(self._words, parameters, weight_decay))
        self.parameters = ParameterTuple(p for group in self.groups for p in group.params)
        _require_distinct(self._words, self.parameters)
        self.global_step = Parameter(np.zeros((), np.int32), "global_step", requires_grad=False)
        self.learning_rate = self._rate_parameter("learning_rate", learning_rate)
        self._schedules: dict[int, Any] = {-1: _schedule(learning_rate)}
        for number, group in enumerate(self.groups):
            if group.rate is not None:
                name = f"learning_rate_{number}"
                self.insert_param_to_cell(name, self._rate_parameter(name, group.rate))
                self._schedules[number] = _schedule(group.rate)

    @property
    def _words(self) -> str:
        return type(self).__name__

    def _rate_parameter(self, name: str, rate: Rate) -> Parameter:
        """The rate of this step: the value itself, or where a schedule begins."""
        value = rate if isinstance(rate, (int, float)) else _first(rate)
        if value < 0:
            raise ValueError(
                f"{self._words}: the learning rate must not be negative, it is {value}."
            )
        return Parameter(np.float32(value), name, requires_grad=False)

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Put a prefix before the names of the optimizer's own state; weights keep theirs."""
        weights = {id(param) for param in self.parameters}
        for param in self.get_parameters(recurse):
            if id(param) not in weights:
                param.name = f"{prefix}{param.name}"

    def moments(self, name: str) -> list[Parameter]:
        """Make zeros like each parameter, registered as ``name.PARAMETER``."""
        made: list[Parameter] = []
        for number, param in enumerate(self.parameters):
            zeros = np.zeros(param.shape, param.dtype.numpy)
            moment = Parameter(zeros, f"{name}.{param.name}", requires_grad=False)
            self.insert_param_to_cell(f"{name}.{number}", moment, check_name_contain_dot=False)
            made.append(moment)
        return made

    def get_lr(self, group: int = -1) -> Tensor:
        """The learning rate of the next step, a float32 scalar."""
        schedule = self._schedules.get(group)
        if schedule is None:
            return self.learning_rate if group < 0 else getattr(self, f"learning_rate_{group}")
        if isinstance(schedule, Tensor):
            last = schedule.shape[0] - 1
            return ops.gather(schedule, ops.minimum(self.global_step, last), 0)
        return ops.cast(schedule(self.global_step), float32)

    def construct(self, gradients: Sequence[Tensor]) -> bool:
        """Update all parameters by their gradients, given in the order of ``parameters``."""
        grads = (gradients,) if isinstance(gradients, Tensor) else tuple(gradients)
        if len(grads) != len(self.parameters):
            raise ValueError(
                f"{self._words}: {len(self.parameters)} parameters, but {len(grads)} gradients."
            )
        self.start_step()
        at = 0
        for number, group in enumerate(self.groups):
            rate = self.get_lr(number if number in self._schedules else -1)
            for param in group.params:
                grad = grads[at]
                if self.loss_scale != 1.0:
                    grad = ops.mul(grad, 1.0 / self.loss_scale)
                plain = self.decays_all or not ("beta" in param.name or "gamma" in param.name)
                self.update(at, param, grad, rate, group.weight_decay if plain else 0.0)
                at += 1
        self.global_step.set_data(ops.cast(ops.add(self.global_step, 1), int32))
        return True

    def start_step(self) -> None:
        """Do what a step does once for all parameters."""

    def update(
        self, at: int, param: Parameter, grad: Tensor, rate: Tensor, weight_decay: float
    ) -> None:
        """Update the parameter number `at`."""
        raise NotImplementedError


def _first(rate: Any) -> float:
    if isinstance(rate, Tensor):
        rate = rate.asnumpy()
    if callable(rate):
        return 0.0
    values = np.asarray(rate, np.float32).reshape(-1)
    if values.size == 0 or (values < 0).any():
        raise ValueError("a list of learning rates must have at least one, and none negative.")
    return float(values[0])


def _schedule(rate: Any) -> Any:
    """A table of rates, a function of the step, or None for one rate."""
    if isinstance(rate, (int, float)) or (isinstance(rate, Tensor) and rate.ndim == 0):
        return None
    if callable(rate):
        return rate
    values = rate.asnumpy() if isinstance(rate, Tensor) else rate
    return Tensor(np.asarray(values, np.float32))


def _groups(owner: str, parameters: Any, weight_decay: float) -> Iterable[_Group]:
    given = list(parameters)
    if not given:
        raise ValueError(f"{owner}: there are no parameters to train.")
    if not isinstance(given[0], dict):
        yield _Group(_checked(owner, given), None, weight_decay)
        return
    for entry in given:
        if not isinstance(entry, dict) or "params" not in entry:
            raise ValueError(f"{owner}: each group is a dictionary with 'params'.")
        unknown = entry.keys() - {"params", "lr", "weight_decay"}
        if unknown:
            raise ValueError(f"{owner}: a group has no {', '.join(sorted(unknown))}.")
        decay = float(entry.get("weight_decay", weight_decay))
        yield _Group(_checked(owner, list(entry["params"])), entry.get("lr"), decay)


def _checked(owner: str, params: list[Any]) -> tuple[Parameter, ...]:
    for param in params:
        if not isinstance(param, Parameter):
            raise TypeError(f"{owner}: it trains Parameters, not {type(param).__name__}.")
    return tuple(params)


def _require_distinct(owner: str, params: ParameterTuple) -> None:
    if len({id(param) for param in params}) != len(params):
        raise ValueError(f"{owner}: a parameter is given twice.")


class SGD(Optimizer):
    """Stochastic gradient descent.

    Parameters
    ----------
    params : iterable of Parameter, or list of dict
        What is trained.
    learning_rate : float, sequence of float, or callable of the step
        Size of a step.
    momentum, dampening : float
        Share of the old accumulation kept; share of the gradient left out of it.
    weight_decay : float
        Times the weights is added to the gradients.
    nesterov : bool
        Whether to look one step ahead.
    loss_scale : float
        What the loss was multiplied by.

    Raises
    ------
    ValueError
        If `nesterov` is asked for without momentum, or with dampening.
    """

    decays_all = True

    def __init__(
        self,
        params: Any,
        learning_rate: Rate = 0.1,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("SGD: nesterov needs momentum above 0 and dampening 0.")
        if momentum < 0:
            raise ValueError(f"SGD: momentum must not be negative, it is {momentum}.")
        self.momentum, self.dampening, self.nesterov = momentum, dampening, bool(nesterov)
        self.accum = tuple(self.moments("accum")) if momentum else ()

    def update(
        self, at: int, param: Parameter, grad: Tensor, rate: Tensor, weight_decay: float
    ) -> None:
        """Step against the gradient."""
        accum = self.accum[at] if self.accum else grad
        if self.accum and self.dampening:
            # The first step is not dampened.
            share = ops.where(self.global_step == 0, 1.0, 1.0 - self.dampening)
            grad = ops.mul(ops.add(grad, ops.mul(param, weight_decay)), share)
            weight_decay = 0.0
        new, moved = ops.sgd_update(
            param, accum, grad, rate, self.momentum, 0.0, weight_decay, self.nesterov
        )
        param.set_data(new)
        if self.accum:
            self.accum[at].set_data(moved)


class Momentum(Optimizer):
    """Gradient descent with momentum.

    Parameters
    ----------
    params : iterable of Parameter, or list of dict
        What is trained.
    learning_rate : float, sequence of float, or callable of the step
        Size of a step.
    momentum : float
        Share of the old accumulation that is kept.
    weight_decay : float
        Times the weights is added to the gradients.
    loss_scale : float
        What the loss was multiplied by.
    use_nesterov : bool
        Whether to look one step ahead.

    Raises
    ------
    ValueError
        If `momentum` is negative.

    References
    ----------
    Sutskever et al., On the importance of initialization and momentum in deep learning, 2013.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Rate,
        momentum: float,
        weight_decay: float = 0.0,
        loss_scale: float = 1.0,
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if momentum < 0:
            raise ValueError(f"Momentum: momentum must not be negative, it is {momentum}.")
        self.momentum, self.use_nesterov = momentum, bool(use_nesterov)
        self.accum = tuple(self.moments("accum"))

    def update(
        self, at: int, param: Parameter, grad: Tensor, rate: Tensor, weight_decay: float
    ) -> None:
        """Step along the accumulation."""
        new, moved = ops.momentum_update(
            param, self.accum[at], grad, rate, self.momentum, weight_decay, self.use_nesterov
        )
        param.set_data(new)
        self.accum[at].set_data(moved)


class Adam(Optimizer):
    """Adam: steps scaled by running moments of the gradients.

    Parameters
    ----------
    params : iterable of Parameter, or list of dict
        What is trained.
    learning_rate : float, sequence of float, or callable of the step
        Size of a step.
    beta1, beta2 : float
        Decay of the first and second moment, in 0..1.
    eps : float
        Added to the root of the second moment.
    use_locking : bool
        Taken for MindSpore's scripts; updates are never run side by side.
    use_nesterov : bool
        Whether to look one step ahead.
    weight_decay : float
        Times the weights is added to the gradients.
    loss_scale : float
        What the loss was multiplied by.

    Raises
    ------
    ValueError
        If a decay is not in 0..1, or `eps` not positive.

    References
    ----------
    Kingma and Ba, Adam: A Method for Stochastic Optimization, 2014.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Rate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: float = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _check_decays("Adam", beta1, beta2, eps)
        self.beta1, self.beta2, self.eps = beta1, beta2, eps
        self.use_nesterov = bool(use_nesterov)
        self.beta1_power = Parameter(np.float32(1), "beta1_power", requires_grad=False)
        self.beta2_power = Parameter(np.float32(1), "beta2_power", requires_grad=False)
        self.moment1 = tuple(self.moments("moment1"))
        self.moment2 = tuple(self.moments("moment2"))

    def start_step(self) -> None:
        """Move the powers of the decays that correct the moments' bias."""
        self.beta1_power.set_data(ops.mul(self.beta1_power, self.beta1))
        self.beta2_power.set_data(ops.mul(self.beta2_power, self.beta2))

    def update(
        self, at: int, param: Parameter, grad: Tensor, rate: Tensor, weight_decay: float
    ) -> None:
        """Step along the corrected moments."""
        m, v = self.moment1[at], self.moment2[at]
        new, new_m, new_v = ops.adam_update(
            param, m, v, grad, rate, self.beta1_power, self.beta2_power, self.beta1, self.beta2,
            self.eps, weight_decay, self.use_nesterov,
        )  # fmt: skip
        param.set_data(new)
        m.set_data(new_m)
        v.set_data(new_v)


class AdamWeightDecay(Optimizer):
    """Adam without bias correction, whose weight decay does not pass through the moments.

    Parameters
    ----------
    params : iterable of Parameter, or list of dict
        What is trained.
    learning_rate : float, sequence of float, or callable of the step
        Size of a step.
    beta1, beta2 : float
        Decay of the first and second moment, in 0..1.
    eps : float
        Added to the root of the second moment.
    weight_decay : float
        Times the weights is added to the step, before the learning rate.

    Raises
    ------
    ValueError
        If a decay is not in 0..1, or `eps` not positive.

    References
    ----------
    Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2017.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Rate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        _check_decays("AdamWeightDecay", beta1, beta2, eps)
        self.beta1, self.beta2, self.eps = beta1, beta2, eps
        self.adam_m = tuple(self.moments("adam_m"))
        self.adam_v = tuple(self.moments("adam_v"))

    def update(
        self, at: int, param: Parameter, grad: Tensor, rate: Tensor, weight_decay: float
    ) -> None:
        """Step along the moments and towards zero."""
        m, v = self.adam_m[at], self.adam_v[at]
        new_m = m * self.beta1 + grad * (1.0 - self.beta1)
        new_v = v * self.beta2 + ops.square(grad) * (1.0 - self.beta2)
        step = new_m / (ops.sqrt(new_v) + self.eps)
        if weight_decay:
            step = step + param * weight_decay
        param.set_data(param - step * rate)
        m.set_data(new_m)
        v.set_data(new_v)


def _check_decays(owner: str, beta1: float, beta2: float, eps: float) -> None:
    if not (0 < beta1 < 1 and 0 < beta2 < 1) or eps <= 0:
        raise ValueError(
            f"{owner}: beta1 {beta1} and beta2 {beta2} must be in 0..1, eps {eps} positive."
        )
