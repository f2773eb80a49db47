"""Optimizer updates: each returns the new parameter and its new state."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..dtype import bool_
from ..shape import Aval
from ..tensor import Tensor
from . import arithmetic, logic, math, reduce
from .cast import as_tensor, cast_to
from .registry import Call, Composite, op
from .rules import broadcast, require_same_dtype


def _state_rule(count: int) -> Any:
    def infer(*avals: Aval, **_: Any) -> tuple[Aval, ...]:
        for number, aval in enumerate(avals[1 : count + 1]):
            named = {"param": avals[0], f"state{number}": aval}
            require_same_dtype("update", **named)
            broadcast("update", **named)
        return tuple(avals[:count])

    return infer


def _prepare(tensors: tuple[Any, ...], scalars: tuple[Any, ...]) -> tuple[Tensor, ...]:
    dtype = tensors[0].dtype
    return (
        *(cast_to(tensor, dtype) for tensor in tensors),
        *(cast_to(as_tensor(value, dtype), dtype) for value in scalars),
    )


def _expand_sgd(
    param: Tensor, accum: Tensor, grad: Tensor, lr: Tensor, **attrs: Any
) -> tuple[Tensor, Tensor]:
    momentum, dampening = attrs["momentum"], attrs["dampening"]
    if attrs["weight_decay"]:
        grad = arithmetic.add(grad, arithmetic.mul(param, attrs["weight_decay"]))
    if not momentum:
        return arithmetic.sub(param, arithmetic.mul(grad, lr)), accum
    fresh = arithmetic.mul(grad, 1.0 if attrs["first"] else 1.0 - dampening)
    accum = arithmetic.add(arithmetic.mul(accum, momentum), fresh)
    step = arithmetic.add(grad, arithmetic.mul(accum, momentum)) if attrs["nesterov"] else accum
    return arithmetic.sub(param, arithmetic.mul(step, lr)), accum


def _sgd_kernel(
    param: np.ndarray, accum: np.ndarray, grad: np.ndarray, lr: np.ndarray, **attrs: Any
) -> tuple[np.ndarray, np.ndarray]:
    number = param.dtype.type
    momentum = number(attrs["momentum"])
    if attrs["weight_decay"]:
        grad = grad + param * number(attrs["weight_decay"])
    if not attrs["momentum"]:
        return param - grad * lr, accum
    accum = accum * momentum
    accum += grad if attrs["first"] else grad * number(1.0 - attrs["dampening"])
    step = grad + accum * momentum if attrs["nesterov"] else accum
    return param - step * lr, accum


@op(
    infer=_state_rule(2),
    kernel=_sgd_kernel,
    lowering=Composite(_expand_sgd),
    category="optimizer",
    inputs=("param", "accum", "grad", "lr"),
    primitive="SGD",
)
def sgd_update(
    param: Tensor,
    accum: Tensor,
    grad: Tensor,
    lr: Any,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    first: bool = False,
) -> Call:
    """Take one step of stochastic gradient descent.

    Parameters
    ----------
    param, accum, grad : Tensor
        Weights, accumulated gradient and gradient, of one shape.
    lr : Tensor or float
        Learning rate.
    momentum, dampening : float
        Share of the old accumulation kept; share of the gradient left out of it.
    weight_decay : float
        Times the weights is added to the gradient.
    nesterov : bool
        Whether to look one step ahead.
    first : bool
        Whether this is the first step, which is not dampened.

    Returns
    -------
    tuple of Tensor
        New weights and accumulation.
    """
    return _prepare((param, accum, grad), (lr,)), {
        "momentum": float(momentum), "dampening": float(dampening),
        "weight_decay": float(weight_decay), "nesterov": bool(nesterov), "first": bool(first),
    }  # fmt: skip


def _expand_momentum(
    param: Tensor, accum: Tensor, grad: Tensor, lr: Tensor, **attrs: Any
) -> tuple[Tensor, Tensor]:
    momentum = attrs["momentum"]
    if attrs["weight_decay"]:
        grad = arithmetic.add(grad, arithmetic.mul(param, attrs["weight_decay"]))
    accum = arithmetic.add(arithmetic.mul(accum, momentum), grad)
    step = arithmetic.add(grad, arithmetic.mul(accum, momentum)) if attrs["use_nesterov"] else accum
    return arithmetic.sub(param, arithmetic.mul(step, lr)), accum


def _momentum_kernel(
    param: np.ndarray, accum: np.ndarray, grad: np.ndarray, lr: np.ndarray, **attrs: Any
) -> tuple[np.ndarray, np.ndarray]:
    number = param.dtype.type
    momentum = number(attrs["momentum"])
    if attrs["weight_decay"]:
        grad = grad + param * number(attrs["weight_decay"])
    accum = accum * momentum
    accum += grad
    step = grad + accum * momentum if attrs["use_nesterov"] else accum
    return param - step * lr, accum


@op(
    infer=_state_rule(2),
    kernel=_momentum_kernel,
    lowering=Composite(_expand_momentum),
    category="optimizer",
    inputs=("param", "accum", "grad", "lr"),
    primitive="ApplyMomentum",
)
def momentum_update(
    param: Tensor,
    accum: Tensor,
    grad: Tensor,
    lr: Any,
    momentum: float = 0.9,
    weight_decay: float = 0.0,
    use_nesterov: bool = False,
) -> Call:
    """Take one step of gradient descent with momentum.

    Parameters
    ----------
    param, accum, grad : Tensor
        Weights, accumulated gradient and gradient, of one shape.
    lr : Tensor or float
        Learning rate.
    momentum : float
        Share of the old accumulation that is kept.
    weight_decay : float
        Times the weights is added to the gradient.
    use_nesterov : bool
        Whether to look one step ahead.

    Returns
    -------
    tuple of Tensor
        New weights and accumulation.

    References
    ----------
    Sutskever et al., On the importance of initialization and momentum in deep learning, 2013.
    """
    return _prepare((param, accum, grad), (lr,)), {
        "momentum": float(momentum), "weight_decay": float(weight_decay),
        "use_nesterov": bool(use_nesterov),
    }  # fmt: skip


def _adam_step(
    param: Any, m: Any, v: Any, grad: Any, scalars: tuple[Any, ...], attrs: dict[str, Any]
) -> tuple[Any, Any, Any]:
    """Write Adam's step in operators, for tensors and arrays alike."""
    lr, beta1_power, beta2_power, root = scalars
    beta1, beta2, eps = attrs["beta1"], attrs["beta2"], attrs["eps"]
    if attrs["weight_decay"]:
        grad = grad + param * attrs["weight_decay"]
    m = m * beta1 + grad * (1.0 - beta1)
    v = v * beta2 + grad * grad * (1.0 - beta2)
    rate = lr * root(1.0 - beta2_power) / (1.0 - beta1_power)
    ahead = m * beta1 + grad * (1.0 - beta1) if attrs["use_nesterov"] else m
    return param - rate * ahead / (root(v) + eps), m, v


def _expand_adam(
    param: Tensor, m: Tensor, v: Tensor, grad: Tensor, lr: Tensor, beta1_power: Tensor,
    beta2_power: Tensor, **attrs: Any,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    return _adam_step(param, m, v, grad, (lr, beta1_power, beta2_power, math.sqrt), attrs)


def _adam_kernel(
    param: np.ndarray, m: np.ndarray, v: np.ndarray, grad: np.ndarray, lr: np.ndarray,
    beta1_power: np.ndarray, beta2_power: np.ndarray, **attrs: Any,
) -> tuple[np.ndarray, ...]:  # fmt: skip
    return _adam_step(param, m, v, grad, (lr, beta1_power, beta2_power, np.sqrt), attrs)


@op(
    infer=_state_rule(3),
    kernel=_adam_kernel,
    lowering=Composite(_expand_adam),
    category="optimizer",
    inputs=("param", "m", "v", "grad", "lr", "beta1_power", "beta2_power"),
    primitive="Adam",
)
def adam_update(
    param: Tensor,
    m: Tensor,
    v: Tensor,
    grad: Tensor,
    lr: Any,
    beta1_power: Any,
    beta2_power: Any,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    use_nesterov: bool = False,
) -> Call:
    """Take one step of Adam.

    Parameters
    ----------
    param, m, v, grad : Tensor
        Weights, first and second moment and gradient, of one shape.
    lr : Tensor or float
        Learning rate.
    beta1_power, beta2_power : Tensor or float
        ``beta1 ** t`` and ``beta2 ** t`` at step ``t``, the first step being 1.
    beta1, beta2 : float
        Decay of the moments.
    eps : float
        Added to the root of the second moment.
    weight_decay : float
        Times the weights is added to the gradient.
    use_nesterov : bool
        Whether to look one step ahead.

    Returns
    -------
    tuple of Tensor
        New weights and moments.

    References
    ----------
    Kingma and Ba, Adam: A Method for Stochastic Optimization, 2014.
    """
    return _prepare((param, m, v, grad), (lr, beta1_power, beta2_power)), {
        "beta1": float(beta1), "beta2": float(beta2), "eps": float(eps),
        "weight_decay": float(weight_decay), "use_nesterov": bool(use_nesterov),
    }  # fmt: skip


def _expand_all_finite(*tensors: Tensor) -> Tensor:
    checks = [reduce.all(logic.isfinite(tensor)) for tensor in tensors]
    return functools.reduce(logic.logical_and, checks)


@op(
    infer=lambda *tensors: Aval((), bool_),
    kernel=lambda *tensors: np.bool_(all(bool(np.isfinite(t).all()) for t in tensors)),
    lowering=Composite(_expand_all_finite),
    category="optimizer",
    inputs=("tensors",),
    variadic=True,
)
def all_finite(tensors: Any) -> Call:
    """Return whether no tensor of a list has an infinity or NaN, a bool scalar.

    Parameters
    ----------
    tensors : Tensor, or sequence of Tensor
        Of any shapes and float dtypes.

    Returns
    -------
    Tensor
        Whether all elements are finite.

    Raises
    ------
    ValueError
        If there are no tensors.
    """
    items = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
    if not items:
        raise ValueError("all_finite needs at least one tensor.")
    return items, {}
