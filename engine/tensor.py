"""Tensor: a thin handle over one NumPy array."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .dtype import DType, bfloat16, dtype_of, float32, int64
from .shape import Aval
from .syncs import syncs
from .tensor_spec import Symbol, TensorSpec, has_open_size
from .tensor_text import tensor_text

Initializer = Callable[[tuple[int, ...], DType], np.ndarray]
"""Makes initial data: ``init(shape, dtype) -> ndarray``."""

_new = object.__new__


class Tensor:
    """An array of numbers that ops read and make.

    Parameters
    ----------
    input_data : Tensor, ndarray, scalar or nested sequence, optional
        Python floats become ``Float32``, ints ``Int64``; a NumPy array is copied as it is.
    dtype : DType, optional
        Element type to convert to.
    shape : tuple of int, Symbol or None, optional
        Shape of a tensor given by ``init``. With ``None`` or a ``Symbol`` for a size and no data
        the call gives a ``TensorSpec``.
    init : callable, optional
        Makes the data, ``init(shape, dtype) -> ndarray``, at the first read.
    const_arg : bool
        MindSpore's mark of arguments that its compiler takes as constants; it changes nothing.

    Raises
    ------
    TypeError
        If the data is not numeric.
    ValueError
        If neither data nor ``shape`` and ``init`` are given, or rows differ in length.
    """

    __slots__ = ("__weakref__", "data")
    data: np.ndarray
    __array_priority__ = 100
    __hash__ = object.__hash__

    def __new__(
        cls,
        input_data: Any = None,
        dtype: Any = None,
        shape: Sequence[int | Symbol | None] | int | None = None,
        init: Initializer | None = None,
        const_arg: bool = False,
    ) -> Tensor:
        if cls is Tensor and init is not None:
            return LazyTensor(shape, dtype, init)  # pyright: ignore[reportArgumentType]
        if has_open_size(shape):
            # MindSpore's spelling of a spec; it is no tensor, so __init__ does not follow.
            return TensorSpec(shape, dtype or float32)  # pyright: ignore[reportReturnType]
        return _new(cls)

    def __init__(
        self,
        input_data: Any = None,
        dtype: Any = None,
        shape: Sequence[int | Symbol | None] | int | None = None,
        init: Initializer | None = None,
        const_arg: bool = False,
    ) -> None:
        if input_data is None:
            raise ValueError("Tensor(...) needs input_data, or shape and init, or use TensorSpec.")
        if shape is not None or init is not None:
            raise ValueError("Tensor(...) takes input_data or shape with init, not both.")
        self.data = to_array(input_data, None if dtype is None else dtype_of(dtype))

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return self.data.shape

    @property
    def dtype(self) -> DType:
        """Element type."""
        return dtype_of(self.data.dtype)

    @property
    def aval(self) -> Aval:
        """Shape and element type as one value."""
        return Aval(self.shape, self.dtype)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.data.size

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis."""
        return self.data.strides

    def asnumpy(self) -> np.ndarray:
        """Return the values as a NumPy array that shares this tensor's memory."""
        syncs.count += 1
        return self.data

    numpy = asnumpy

    def item(self, index: int | tuple[int, ...] | None = None) -> Any:
        """Return one element as a Python scalar; without ``index`` the only one there is."""
        syncs.count += 1
        if index is not None:
            return self.data.item(index)
        if self.data.size != 1:
            raise ValueError(
                f"item() needs a tensor of one element, this one has shape {list(self.shape)};"
                " give an index or reduce it first."
            )
        return self.data.item()

    def tolist(self) -> Any:
        """Return the values as nested lists of Python scalars."""
        syncs.count += 1
        return self.data.tolist()

    @staticmethod
    def from_numpy(array: np.ndarray) -> Tensor:
        """Return a tensor that shares the memory of a NumPy array."""
        return from_numpy(array)

    def value(self) -> Tensor:
        """Return this tensor."""
        return self

    def init_data(self) -> Tensor:
        """Make the data now, where an initialiser has it still to make, and return this tensor."""
        return self

    def contiguous(self) -> Tensor:
        """Return this tensor, or its copy in row-major memory where it is a strided view."""
        return self if self.is_contiguous() else self.reshape(-1).reshape(self.shape)

    def is_contiguous(self) -> bool:
        """Whether the elements lie in memory in row-major order."""
        return self.data.flags.c_contiguous

    def numel(self) -> int:
        """Return the number of elements."""
        return self.size

    def dim(self) -> int:
        """Return the number of axes."""
        return self.ndim

    ndimension = dim

    def element_size(self) -> int:
        """Return the bytes of one element."""
        return self.itemsize

    def is_floating_point(self) -> bool:
        """Whether the elements are floats."""
        return self.dtype.is_float

    def is_signed(self) -> bool:
        """Whether the elements can be negative."""
        return self.dtype.is_float or self.dtype.numpy.kind == "i"

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        value = self.item()
        if not isinstance(value, int):
            raise TypeError(f"a {self.dtype} tensor cannot be an index; cast it to int64 first.")
        return int(value)

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                f"the truth of a tensor of shape {list(self.shape)} is ambiguous;"
                " use .any() or .all()."
            )
        return bool(self.item())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a tensor without axes.")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape:
            raise TypeError("a tensor without axes cannot be iterated.")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: object) -> bool:
        return value in self.asnumpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.asnumpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __repr__(self) -> str:
        return tensor_text(self.asnumpy(), self.dtype.name)

    def __str__(self) -> str:
        return str(self.asnumpy())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return wrap(self.data.copy())

    def __reduce__(self) -> tuple[Any, ...]:
        return (wrap, (self.data,))

    if TYPE_CHECKING:
        # Methods and operators come from the op table (engine/ops), which sets them on this class.
        def __getattr__(self, name: str) -> Any: ...
        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __iadd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __isub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __imul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __itruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __rfloordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __rmod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __pos__(self) -> Tensor: ...
        def __round__(self, ndigits: int | None = None) -> Tensor: ...
        def __divmod__(self, other: Any) -> tuple[Tensor, Tensor]: ...
        def __rdivmod__(self, other: Any) -> tuple[Tensor, Tensor]: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __rand__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __ror__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __rxor__(self, other: Any) -> Tensor: ...
        def __lshift__(self, other: Any) -> Tensor: ...
        def __rlshift__(self, other: Any) -> Tensor: ...
        def __rshift__(self, other: Any) -> Tensor: ...
        def __rrshift__(self, other: Any) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __eq__(self, other: Any) -> Any: ...
        def __ne__(self, other: Any) -> Any: ...
        def __getitem__(self, index: Any) -> Tensor: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...


class LazyTensor(Tensor):
    """A tensor whose data is made by its initialiser at the first read."""

    __slots__ = ("_aval", "_init")
    _aval: Aval
    _init: Initializer

    def __init__(
        self,
        shape: Sequence[int] | int | None = None,
        dtype: Any = None,
        init: Initializer | None = None,
        input_data: None = None,
        const_arg: bool = False,
    ) -> None:
        if shape is None or init is None:
            raise ValueError("Tensor(shape=..., dtype=..., init=...) needs both shape and init.")
        sizes = (shape,) if isinstance(shape, int) else tuple(int(size) for size in shape)
        self._aval = Aval(sizes, float32 if dtype is None else dtype_of(dtype))
        self._init = init

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        return _new(cls)

    @property
    def aval(self) -> Aval:
        """Shape and element type, known before the data is made."""
        return self._aval

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return self._aval.shape  # pyright: ignore[reportReturnType]

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self._aval.dtype

    def initial(self, shape: tuple[int, ...], dtype: DType) -> np.ndarray:
        """Return new initial data, leaving this tensor as it is."""
        array = np.asarray(self._init(shape, dtype), dtype.numpy)
        return np.array(np.broadcast_to(array, shape), order="C")

    def init_data(self) -> Tensor:
        """Make the data now and return this tensor."""
        self.data  # noqa: B018 - reading the unset slot makes it
        return self

    def __getattr__(self, name: str) -> Any:
        if name != "data":
            raise AttributeError(f"'Tensor' object has no attribute {name!r}")
        self.data = self.initial(self.shape, self.dtype)
        return self.data


def wrap(array: np.ndarray) -> Tensor:
    """Return a tensor over ``array`` itself, without a copy or a check."""
    tensor = _new(Tensor)
    tensor.data = array
    return tensor


def tensor(
    input_data: Any = None,
    dtype: Any = None,
    shape: Sequence[int] | int | None = None,
    init: Initializer | None = None,
    const_arg: bool = False,
) -> Tensor:
    """Return a new tensor: ``Tensor(...)`` as a function.

    Parameters
    ----------
    input_data : Tensor, ndarray, scalar or nested sequence, optional
        The elements, of any shape; they are copied.
    dtype : DType, optional
        Element type to convert to.
    shape : tuple of int, optional
        Shape of a tensor given by ``init``.
    init : callable, optional
        Makes the data at the first read.
    const_arg : bool
        Changes nothing; see ``Tensor``.

    Returns
    -------
    Tensor
        The tensor.
    """
    if isinstance(input_data, Tensor) and shape is None and init is None:
        from . import ops  # with a trace there is no data yet that could be copied

        if ops.registry.active_trace() is not None:
            made = ops.stop_gradient(input_data.copy())
            return made if dtype is None else ops.cast(made, dtype)
    return Tensor(input_data, dtype, shape, init, const_arg)


def from_numpy(array: np.ndarray) -> Tensor:
    """Return a tensor that shares the memory of ``array``.

    Parameters
    ----------
    array : ndarray
        Any shape, of a known element type.

    Returns
    -------
    Tensor
        A tensor over the same memory: writes into one show in the other.

    Raises
    ------
    TypeError
        If ``array`` is not a NumPy array of a known element type.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"from_numpy needs a NumPy array, not {type(array).__name__}.")
    dtype_of(array.dtype)
    return wrap(array)


def to_array(value: Any, dtype: DType | None = None) -> np.ndarray:
    """Return a new array of ``value``'s elements; Python floats become float32, ints int64."""
    if isinstance(value, Tensor):
        return np.array(value.data, None if dtype is None else dtype.numpy)
    if isinstance(value, np.ndarray | np.generic):
        if dtype is None:
            dtype = dtype_of(value.dtype)
        return np.array(value, dtype.numpy)
    if isinstance(value, list | tuple):
        value = [_plain(item) for item in value]
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError("Tensor(...) needs rows of equal length, these differ.") from error
    if array.dtype.kind in "OUSV" and array.dtype != bfloat16.numpy:
        raise TypeError(
            f"Tensor(...) needs numbers, not {type(value).__name__} of {array.dtype}; give a"
            " number, a sequence of numbers or a NumPy array."
        )
    if dtype is None:
        dtype = _default_dtype(array)
    return np.array(array, dtype.numpy)


def _plain(item: Any) -> Any:
    if isinstance(item, Tensor):
        return item.data
    return [_plain(part) for part in item] if isinstance(item, list | tuple) else item


def _default_dtype(array: np.ndarray) -> DType:
    if array.dtype == np.float64:
        return float32
    return (
        int64 if array.dtype.kind in "iu" and array.dtype.itemsize == 8 else dtype_of(array.dtype)
    )
