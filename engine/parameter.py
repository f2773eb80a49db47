"""Parameter: a tensor with a name and a fixed buffer, which training writes into."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from .dtype import dtype_of
from .ops.registry import active_trace, note_write, own_trace, records
from .shape import Aval
from .tensor import Initializer, LazyTensor, Tensor, to_array

switches = [0]
"""How often a Parameter's ``requires_grad`` or name was changed: compiled calls look at it."""


class Parameter(LazyTensor):
    """A trainable tensor.

    Parameters
    ----------
    default_input : Tensor, array, number or sequence
        Initial data, copied; a tensor made by ``initializer`` allocates at the first read.
    name : str, optional
        Name in its Cell.
    requires_grad : bool
        Whether it is trained.
    layerwise_parallel, parallel_optimizer : bool
        How MindSpore spreads it over several devices; kept, and of no effect on one.

    Raises
    ------
    TypeError
        If the name is no string.
    """

    __slots__ = (
        "_name", "_requires_grad", "comm_fusion", "layerwise_parallel", "parallel_optimizer",
        "version",
    )  # fmt: skip

    def __init__(
        self,
        default_input: Any,
        name: str | None = None,
        requires_grad: bool = True,
        layerwise_parallel: bool = False,
        parallel_optimizer: bool = True,
    ) -> None:
        self.name = name
        self._requires_grad = bool(requires_grad)
        self.layerwise_parallel = layerwise_parallel
        self.parallel_optimizer = parallel_optimizer
        self.comm_fusion = 1
        self.version = 0
        if isinstance(default_input, LazyTensor):
            self._aval = default_input.aval
            self._init: Initializer = default_input.initial
        else:
            data = to_array(default_input)
            self._aval = Aval(data.shape, dtype_of(data.dtype))
            self.data = data

    @property
    def name(self) -> str:
        """Name in its Cell; ``"Parameter"`` before it has one."""
        return self._name

    @name.setter
    def name(self, value: str | None) -> None:
        if value is not None and not isinstance(value, str):
            raise TypeError(f"a parameter's name is a string, not {type(value).__name__}.")
        name = "Parameter" if value is None else value
        if getattr(self, "_name", name) != name:
            switches[0] += 1
        self._name = name

    @property
    def requires_grad(self) -> bool:
        """Whether it is trained."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if bool(value) is not self._requires_grad:
            self._requires_grad = bool(value)
            switches[0] += 1

    @property
    def is_made(self) -> bool:
        """Whether the buffer exists already."""
        try:
            object.__getattribute__(self, "data")
        except AttributeError:
            return False
        return True

    def set_data(self, data: Any, slice_shape: bool = False) -> Parameter:
        """Write ``data`` into this parameter's buffer and count the write.

        A tensor or array must have this parameter's shape; it is converted to its dtype. With
        ``slice_shape`` the shape may differ, and the parameter takes a new buffer of it.

        Raises
        ------
        ValueError
            If the shapes differ.
        """
        trace: Any = active_trace()
        if trace is not None and trace.thread == threading.get_ident():
            trace.write(self, data)
            return self
        source = data.data if isinstance(data, Tensor) else np.asarray(data)
        if records:
            # What ops read of it before is kept: running statistics change in the forward pass.
            note_write(self, self.data.copy())
        if source.shape != self.shape:
            if not slice_shape:
                raise ValueError(
                    f"parameter {self.name!r} has shape {list(self.shape)}, the new data"
                    f" {list(source.shape)}; they must be equal."
                )
            self._aval = Aval(source.shape, self.dtype)
            self.data = np.array(source, self.dtype.numpy)
        elif self.is_made:
            np.copyto(self.data, source, casting="unsafe")
        else:
            self.data = np.array(source, self.dtype.numpy)
        self.version += 1
        return self

    def set_dtype(self, dtype: Any) -> Parameter:
        """Convert this parameter to another element type, in a new buffer.

        Raises
        ------
        RuntimeError
            If it is called while a function is traced.
        """
        if own_trace() is not None:
            raise RuntimeError(f"parameter {self.name!r}: set_dtype cannot be compiled.")
        wanted = dtype_of(dtype)
        if wanted is not self.dtype:
            made = self.is_made
            self._aval = Aval(self.shape, wanted)
            if made:
                self.data = self.data.astype(wanted.numpy)
            self.version += 1
        return self

    def assign_value(self, value: Any) -> Parameter:
        """Write new values into this parameter: ``set_data`` by another name."""
        return self.set_data(value)

    def init_data(self, layout: Any = None, set_sliced: bool = False) -> Parameter:
        """Make the buffer now and return this parameter.

        Parameters
        ----------
        layout, set_sliced
            How MindSpore cuts it for several devices; of no effect on one.
        """
        self.data  # noqa: B018 - reading the unset slot makes it
        return self

    def value(self) -> Tensor:
        """Return the values as a tensor that later writes into this parameter do not change."""
        from .ops.array import identity

        return identity(self)

    @property
    def inited_param(self) -> Parameter:
        """This parameter: there is no other one whose buffer was made."""
        return self

    def clone(self, init: Any = "same") -> Parameter:
        """Return a new parameter of the same shape, dtype and settings.

        Parameters
        ----------
        init : str, Tensor, Initializer or number
            ``"same"`` for the same values, else what ``initializer`` takes, as ``"zeros"``.
        """
        from .nn.initializer import initializer

        if not (isinstance(init, str) and init == "same"):
            data: Any = initializer(init, self.shape, self.dtype)
        elif self.is_made:
            data = self.data
        else:  # the same values, drawn when they are first read
            data = LazyTensor(self.shape, self.dtype, self._init)
        twin = Parameter(
            data, self.name, self.requires_grad, self.layerwise_parallel,
            self.parallel_optimizer,
        )  # fmt: skip
        twin.comm_fusion = self.comm_fusion
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        return (Parameter, (self.data, self.name, self.requires_grad))

    def __repr__(self) -> str:
        return (
            f"Parameter (name={self.name}, shape={self.shape}, dtype={self.dtype},"
            f" requires_grad={self.requires_grad})"
        )


class ParameterTuple(tuple[Parameter, ...]):
    """A tuple of Parameters.

    Parameters
    ----------
    parameters : iterable of Parameter
        The Parameters.

    Raises
    ------
    TypeError
        If an element is not a Parameter.
    """

    def __new__(cls, parameters: Any = ()) -> ParameterTuple:
        items = tuple(parameters)
        for item in items:
            if not isinstance(item, Parameter):
                raise TypeError(f"ParameterTuple holds Parameters, not {type(item).__name__}.")
        return super().__new__(cls, items)

    def clone(self, prefix: str, init: Any = "same") -> ParameterTuple:
        """Return new parameters of the same shapes, named ``prefix.name``: an optimizer's state.

        Parameters
        ----------
        prefix : str
            What the names begin with.
        init : str, Tensor, Initializer or number
            As of ``Parameter.clone``.
        """
        if not isinstance(prefix, str):
            raise TypeError(f"clone: prefix must be a string, not {type(prefix).__name__}.")
        twins = [parameter.clone(init) for parameter in self]
        for twin in twins:
            twin.name = f"{prefix}.{twin.name}"
        return ParameterTuple(twins)
