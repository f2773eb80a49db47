"""One step of a recurrent network: `RNNCell`, `LSTMCell` and `GRUCell`."""

from __future__ import annotations

import math

from .. import ops
from ..dtype import DType, dtype_of, float32
from ..ops.rnn import check_nonlinearity
from ..parameter import Parameter
from ..tensor import Tensor
from .cell import Cell
from .initializer import Uniform, initializer
from .layers import positive


def recurrent_parameter(shape: tuple[int, ...], hidden_size: int, dtype: DType) -> Parameter:
    """A weight or bias of a recurrent layer, uniform within ``sqrt(1 / hidden_size)``."""
    return Parameter(initializer(Uniform(1.0 / math.sqrt(hidden_size)), shape, dtype))


class _StepCell(Cell):
    """Weights of one step, of `blocks` gates."""

    blocks = 1

    def __init__(
        self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: DType = float32
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.input_size = positive(owner, "input_size", input_size)
        self.hidden_size = positive(owner, "hidden_size", hidden_size)
        self.has_bias = bool(has_bias)
        kind, rows = dtype_of(dtype), self.blocks * hidden_size
        self.weight_ih = recurrent_parameter((rows, input_size), hidden_size, kind)
        self.weight_hh = recurrent_parameter((rows, hidden_size), hidden_size, kind)
        self.bias_ih: Parameter | None = None
        self.bias_hh: Parameter | None = None
        if has_bias:
            self.bias_ih = recurrent_parameter((rows,), hidden_size, kind)
            self.bias_hh = recurrent_parameter((rows,), hidden_size, kind)

    def _state(self, x: Tensor, hx: Tensor | None) -> Tensor:
        """The state given, checked, or zeros."""
        owner = type(self).__name__
        if len(x.shape) not in (1, 2) or x.shape[-1] != self.input_size:
            raise ValueError(
                f"{owner}: x must be [n, {self.input_size}], its shape is {list(x.shape)}."
            )
        wanted = (*x.shape[:-1], self.hidden_size)
        if hx is None:
            return ops.zeros(wanted, x.dtype)
        if tuple(hx.shape) != wanted:
            raise ValueError(
                f"{owner}: the state must have the shape {list(wanted)}, it has {list(hx.shape)}."
            )
        return hx

    def _gates(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """The shares of the input and of the state in the gates."""
        return (
            ops.dense(x, self.weight_ih, self.bias_ih),
            ops.dense(state, self.weight_hh, self.bias_hh),
        )

    def extend_repr(self) -> str:
        """Sizes and bias."""
        return (
            f"input_size={self.input_size}, hidden_size={self.hidden_size},"
            f" has_bias={self.has_bias}"
        )


class RNNCell(_StepCell):
    """One step of a plain recurrent network: ``tanh(W_ih x + b_ih + W_hh h + b_hh)``.

    Parameters
    ----------
    input_size : int
        Features of the input.
    hidden_size : int
        Features of the state.
    has_bias : bool
        Whether biases are added.
    nonlinearity : {"tanh", "relu"}
        What follows the sum.
    dtype : DType
        Type of the parameters.
    x : Tensor
        ``[n, input_size]``.
    hx : Tensor, optional
        The state ``[n, hidden_size]``; zeros by default. The output is the next one.

    Raises
    ------
    ValueError
        If a size does not fit, or the nonlinearity is another one.

    References
    ----------
    Elman, Finding Structure in Time, 1990.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        has_bias: bool = True,
        nonlinearity: str = "tanh",
        dtype: DType = float32,
    ) -> None:
        super().__init__(input_size, hidden_size, has_bias, dtype)
        self.nonlinearity = check_nonlinearity("RNNCell", nonlinearity)

    def construct(self, x: Tensor, hx: Tensor | None = None) -> Tensor:
        """Take one step."""
        both = ops.add(*self._gates(x, self._state(x, hx)))
        return ops.tanh(both) if self.nonlinearity == "tanh" else ops.relu(both)


class LSTMCell(_StepCell):
    """One step of a long short-term memory.

    Parameters
    ----------
    input_size : int
        Features of the input.
    hidden_size : int
        Features of hidden state and cell state.
    has_bias : bool
        Whether biases are added.
    dtype : DType
        Type of the parameters; the rows of the weights are input gate, forget gate, candidate and
        output gate.
    x : Tensor
        ``[n, input_size]``.
    hx : tuple of Tensor, optional
        Hidden state and cell state, ``[n, hidden_size]`` each; zeros by default. The output is
        the next two.

    Raises
    ------
    ValueError
        If a size does not fit.

    References
    ----------
    Hochreiter and Schmidhuber, Long Short-Term Memory, 1997; forget gates of Gers et al., 2000.
    """

    blocks = 4

    def construct(
        self, x: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Take one step."""
        state, cell = (self._state(x, part) for part in ((None, None) if hx is None else hx))
        return ops.lstm_step(ops.add(*self._gates(x, state)), cell)


class GRUCell(_StepCell):
    """One step of a gated recurrent unit.

    Parameters
    ----------
    input_size : int
        Features of the input.
    hidden_size : int
        Features of the state.
    has_bias : bool
        Whether biases are added.
    dtype : DType
        Type of the parameters; the rows of the weights are reset gate, update gate and candidate.
    x : Tensor
        ``[n, input_size]``.
    hx : Tensor, optional
        The state ``[n, hidden_size]``; zeros by default. The output is the next one.

    Raises
    ------
    ValueError
        If a size does not fit.

    References
    ----------
    Cho et al., Learning Phrase Representations using RNN Encoder-Decoder, 2014.
    """

    blocks = 3

    def construct(self, x: Tensor, hx: Tensor | None = None) -> Tensor:
        """Take one step."""
        state = self._state(x, hx)
        return ops.gru_step(*self._gates(x, state), state)
