"""Python numbers from outside that differ from call to call, while code is traced.

A ``HostNumber`` stands for one: arithmetic on it is noted as steps of a small program that each
call runs before the plan, comparisons are guards, and where it meets a tensor it becomes an input.
"""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ..dtype import DType
from ..ops.cast import literal
from ..shape import Aval
from ..tensor import Tensor, wrap
from .locations import Location
from .traced import TraceBreak, user_location

if TYPE_CHECKING:
    from .journal import Journal


class Ref(NamedTuple):
    """The result of an earlier step."""

    step: int


class Output(NamedTuple):
    """A tensor that the plan gives."""

    position: int


class Step(NamedTuple):
    """One operation on Python numbers: ``run(*operands)``."""

    run: Callable[..., Any]
    operands: tuple[Any, ...]
    expected: type | None = None
    """What kind of number it must give, where that is read from outside."""


class OtherKindError(Exception):
    """A place holds another kind of value than while it was traced."""


class Condition(NamedTuple):
    """The outcome of a step on which the traced code relied."""

    step: int
    outcome: Any
    where: str


@dataclass(slots=True)
class Program:
    """What is computed of numbers from outside at each call, and what must come of it."""

    steps: list[Step] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    needed: set[int] = field(default_factory=set)
    """Steps that something reads; the others are left out."""
    late: set[int] = field(default_factory=set)
    """Steps that need what the plan gives."""

    def add(self, run: Callable[..., Any], *operands: Any, expected: type | None = None) -> int:
        """Append a step; return its number."""
        number = len(self.steps)
        self.steps.append(Step(run, operands, expected))
        if any(
            isinstance(o, Tensor) or (isinstance(o, Ref) and o.step in self.late) for o in operands
        ):
            self.late.add(number)
        return number

    def locate(self, position_of: Callable[[Tensor], Output]) -> None:
        """Say which outputs of the plan the steps of use read."""
        for number in self.late & self.needed:
            step = self.steps[number]
            operands = [position_of(o) if isinstance(o, Tensor) else o for o in step.operands]
            self.steps[number] = step._replace(operands=tuple(operands))

    def need(self, step: int) -> None:
        """Note that a step and what leads to it is of use."""
        waiting = [step]
        while waiting:
            number = waiting.pop()
            if number not in self.needed:
                self.needed.add(number)
                waiting += [o.step for o in self.steps[number].operands if isinstance(o, Ref)]

    def run(self, outputs: Sequence[np.ndarray] | None = None) -> dict[int, Any]:
        """Compute all steps that are of use, the late ones only when there are outputs."""
        values: dict[int, Any] = {}

        def given(operand: Any) -> Any:
            if isinstance(operand, Ref):
                return values[operand.step]
            return outputs[operand.position] if outputs and isinstance(operand, Output) else operand

        for number in sorted(self.needed if outputs is not None else self.needed - self.late):
            run, operands, expected = self.steps[number]
            value = run(*[given(operand) for operand in operands])
            if expected is not None and type(value) is not expected:
                raise OtherKindError
            values[number] = value
        return values

    def broken(self, outputs: Sequence[np.ndarray] | None = None) -> Condition | None:
        """Return the first condition that does not hold now, of those that can be known."""
        try:
            values = self.run(outputs)
        except (OtherKindError, ArithmeticError, LookupError, TypeError, ValueError):
            return Condition(-1, None, "")
        known = (c for c in self.conditions if c.step in values)
        return next((c for c in known if not same(values[c.step], c.outcome)), None)

    @property
    def asks_late(self) -> bool:
        """Whether a condition can be known only when the plan has run."""
        return any(condition.step in self.late for condition in self.conditions)


def same(one: Any, other: Any) -> bool:
    """Return whether two numbers are alike to code: also in kind and in the sign of zero."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float) and (not one or math.isnan(one)):
        return str(one) == str(other)
    return one == other


class HostInput(Tensor):
    """An input of the graph that each call takes from a number outside."""

    __slots__ = ("_dtype", "_number")

    def __new__(cls, number: HostNumber, dtype: DType) -> Self:
        """Make the input; ``Tensor``'s own arguments are of no use here."""
        return object.__new__(cls)

    def __init__(self, number: HostNumber, dtype: DType) -> None:
        self._number = number
        self._dtype = dtype

    @property
    def aval(self) -> Aval:
        """No axes."""
        return Aval((), self._dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """No axes."""
        return ()

    @property
    def dtype(self) -> DType:
        """What the tensor that it meets makes of it."""
        return self._dtype

    @property
    def data(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number now."""
        value = self._number.now()
        with np.errstate(all="ignore"):
            array = np.asarray(value).astype(self._dtype.numpy)
        if self._dtype.is_int and array != value:
            raise ValueError(
                f"the number {value} does not fit {self._dtype}; cast the tensor to a wider type"
                " first."
            )
        return array

    def take(self) -> Tensor:
        """Return the number as a tensor of its own."""
        return wrap(self.data)


class HostTensor(Tensor):
    """An input of the graph that each call takes from a place outside."""

    __slots__ = ("_aval", "location")

    def __new__(cls, location: Location, tensor: Tensor) -> Self:
        """Make the input; ``Tensor``'s own arguments are of no use here."""
        return object.__new__(cls)

    def __init__(self, location: Location, tensor: Tensor) -> None:
        self.location = location
        self._aval = tensor.aval

    @property
    def aval(self) -> Aval:
        """What the tensor was like when it was traced; another one is another path."""
        return self._aval

    @property
    def shape(self) -> tuple[Any, ...]:
        """The traced tensor's."""
        return self._aval.shape

    @property
    def dtype(self) -> DType:
        """The traced tensor's."""
        return self._aval.dtype

    @property
    def data(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The array of the tensor that is there now."""
        return self.take().data

    def take(self) -> Tensor:
        """Return the tensor that is there now."""
        return self.location.read()


class HostNumber:
    """Stands for a Python number from outside in a trace."""

    __slots__ = ("inputs", "journal", "step", "value")

    def __init__(self, journal: Journal, step: int, value: float) -> None:
        self.journal = journal
        self.step = step
        self.value = value
        """The number in the call that is traced."""
        self.inputs: dict[DType, HostInput] = {}

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        """``isinstance`` finds the number's own kind."""
        return type(self.value)

    def now(self) -> float:
        """Return the number as a call finds it."""
        if self.journal.active:
            return self.value
        return self.journal.program.run()[self.step]

    def is_foreign(self) -> bool:
        """Whether another thread asks, or the trace is over: the number is only a number."""
        return not self.journal.active or self.journal.thread != threading.get_ident()

    def as_input(self, dtype: DType) -> Tensor:
        """Return the number as a tensor without axes."""
        if self.is_foreign():
            return wrap(np.asarray(self.value).astype(dtype.numpy))
        if self.step in self.journal.program.late:
            return literal(self.settled("given to an op"), dtype)
        self.journal.program.need(self.step)
        given = self.inputs.setdefault(dtype, HostInput(self, dtype))
        HostInput.data.fget(given)  # pyright: ignore[reportOptionalCall] - it must fit
        return given

    def settled(self, what: str) -> Any:
        """Return the number itself: from here on the code depends on it."""
        return self.value if self.is_foreign() else self.journal.settle(self, what)

    def _ask(self, relation: Callable[..., Any], other: Any) -> Any:
        if not is_number(other):
            return NotImplemented
        outcome = relation(self.value, plain(other))
        if not self.is_foreign():
            step = self.journal.program.add(relation, Ref(self.step), _operand(other))
            self.journal.expect(step, outcome)
        return outcome

    def _compute(self, run: Callable[..., Any], *operands: Any) -> Any:
        value = run(*[plain(operand) for operand in operands])
        if self.is_foreign():
            return value
        if type(value) not in (int, float):
            return run(*[_settled(operand) for operand in operands])
        step = self.journal.program.add(run, *[_operand(operand) for operand in operands])
        return HostNumber(self.journal, step, value)

    def __bool__(self) -> bool:
        return self._ask(operator.ne, 0)

    def __eq__(self, other: object) -> Any:
        return self._ask(operator.eq, other)

    def __ne__(self, other: object) -> Any:
        return self._ask(operator.ne, other)

    def __lt__(self, other: Any) -> Any:
        return self._ask(operator.lt, other)

    def __le__(self, other: Any) -> Any:
        return self._ask(operator.le, other)

    def __gt__(self, other: Any) -> Any:
        return self._ask(operator.gt, other)

    def __ge__(self, other: Any) -> Any:
        return self._ask(operator.ge, other)

    def __neg__(self) -> Any:
        return self._compute(operator.neg, self)

    def __pos__(self) -> Any:
        return self._compute(operator.pos, self)

    def __abs__(self) -> Any:
        return self._compute(abs, self)

    def __invert__(self) -> Any:
        return self._compute(operator.invert, self)

    def __hash__(self) -> int:
        return hash(self.settled("looked up"))

    def __int__(self) -> int:
        return int(self.settled("made an int"))

    def __float__(self) -> float:
        return float(self.settled("given to a function of Python floats"))

    def __index__(self) -> int:
        return operator.index(self.settled("used as an index or a size"))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.settled("made an array"), dtype)

    def __round__(self, digits: int | None = None) -> Any:
        return self._compute(round, self, digits) if digits else round(self.settled("rounded"))

    def __str__(self) -> str:
        return str(self.settled("made text"))

    def __repr__(self) -> str:
        return str(self)

    def __format__(self, spec: str) -> str:
        text = None if self.is_foreign() else self.journal.text_of(self, spec)
        return format(self.settled("made text"), spec) if text is None else text

    def __getattr__(self, name: str) -> Any:
        return getattr(self.settled(f"asked for {name}"), name)


def _two_sided(run: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def forward(self: HostNumber, other: Any) -> Any:
        return self._compute(run, self, other) if is_number(other) else NotImplemented

    def backward(self: HostNumber, other: Any) -> Any:
        return self._compute(run, other, self) if is_number(other) else NotImplemented

    return forward, backward


for _name, _run in {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "lshift": operator.lshift,
    "rshift": operator.rshift, "divmod": divmod,
}.items():  # fmt: skip
    _forward, _backward = _two_sided(_run)
    setattr(HostNumber, f"__{_name}__", _forward)
    setattr(HostNumber, f"__r{_name}__", _backward)


def is_number(value: Any) -> bool:
    """Return whether ``value`` is a Python number, or stands for one."""
    return type(value) in (int, float, bool, HostNumber)


def plain(value: Any) -> Any:
    """Return the number that ``value`` is in the call that is traced."""
    return value.value if type(value) is HostNumber else value


def _settled(value: Any) -> Any:
    """Return an operand of what gives neither an int nor a float."""
    return value.settled("an operand") if type(value) is HostNumber else value


def _operand(value: Any) -> Any:
    return Ref(value.step) if type(value) is HostNumber else value


def refuse_number(text: str, what: str) -> TraceBreak:
    """Return the reason why a number that each call changes cannot stay open."""
    return TraceBreak(
        f"the number {text}, which calls change, is {what}",
        "use it in arithmetic and comparisons only, or keep it in a tensor",
        user_location(),
    )


def concrete_attrs(attrs: dict[str, Any]) -> dict[str, Any]:
    """Return an op's attributes with the numbers themselves: a graph holds them."""
    return {name: _concrete(value, name) for name, value in attrs.items()}


def _concrete(value: Any, name: str) -> Any:
    if type(value) is HostNumber:
        return value.settled(f"the attribute {name!r} of an op")
    if type(value) is tuple:
        return tuple([_concrete(part, name) for part in value])
    return value
