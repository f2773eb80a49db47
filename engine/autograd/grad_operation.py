"""``GradOperation``: MindSpore's older way to make gradient functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from .positions import apart, check_flag, check_weights
from .transforms import derive, take_sens


class GradOperation:
    """Makes gradient functions of functions and Cells.

    Parameters
    ----------
    get_all : bool
        Whether to derive by all tensor inputs, else by the first.
    get_by_list : bool
        Whether to derive by weights.
    sens_param : bool
        Whether the call takes the gradient of the output, last or as ``sens=``.
    """

    def __init__(
        self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False
    ) -> None:
        for name, flag in (
            ("get_all", get_all), ("get_by_list", get_by_list), ("sens_param", sens_param),
        ):  # fmt: skip
            check_flag("GradOperation", name, flag)
        self.get_all = get_all
        self.get_by_list = get_by_list
        self.sens_param = sens_param

    def __call__(self, fn: Callable[..., Any], weights: Any = None) -> Callable[..., Any]:
        """Return the gradient function of ``fn``."""
        if self.get_by_list and weights is None:
            if not hasattr(fn, "trainable_params"):
                raise ValueError("GradOperation: get_by_list needs weights for a plain function.")
            weights = tuple(fn.trainable_params())  # pyright: ignore[reportFunctionMemberAccess]
        chosen = check_weights("GradOperation", weights) if self.get_by_list else None
        parameters = chosen or ()

        @functools.wraps(fn, updated=())
        def derived(*args: Any, **kwargs: Any) -> Any:
            sens = None
            if self.sens_param:
                args, sens = take_sens("GradOperation", args, kwargs)
            args = apart(args)
            inputs = [arg for arg in args if isinstance(arg, Tensor)]
            if not self.get_all:
                inputs = [] if self.get_by_list else inputs[:1]
            _, grads = derive(fn, args, kwargs, [*inputs, *parameters], False, sens)
            return self._pack(grads, len(inputs))

        return derived

    def _pack(self, grads: list[Tensor], inputs: int) -> Any:
        of_inputs, of_weights = tuple(grads[:inputs]), tuple(grads[inputs:])
        if self.get_all and self.get_by_list:
            return of_inputs, of_weights
        if self.get_by_list:
            return of_weights
        return of_inputs if self.get_all or not of_inputs else of_inputs[0]
