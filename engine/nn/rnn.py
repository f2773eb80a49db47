"""Recurrent networks over whole sequences: `RNN`, `LSTM` and `GRU`."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..dtype import DType, dtype_of, float32
from ..ops.rnn import check_nonlinearity
from ..tensor import Tensor
from .cell import Cell
from .layers import positive
from .rnn_cells import recurrent_parameter

Pair = tuple[Tensor, Tensor]


class _Recurrent(Cell):
    """Layers of one kind, one above the other, in one direction or two."""

    blocks = 1
    states = 1
    """How many states a step hands on."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.input_size = positive(owner, "input_size", input_size)
        self.hidden_size = positive(owner, "hidden_size", hidden_size)
        self.num_layers = positive(owner, "num_layers", num_layers)
        if isinstance(dropout, bool) or not 0 <= dropout < 1:
            raise ValueError(f"{owner}: dropout must be in 0..1 and less than 1, it is {dropout}.")
        self.has_bias, self.batch_first = bool(has_bias), bool(batch_first)
        self.dropout, self.bidirectional = float(dropout), bool(bidirectional)
        self.directions = 2 if bidirectional else 1
        self._make_parameters(dtype_of(dtype))

    def _make_parameters(self, dtype: DType) -> None:
        rows = self.blocks * self.hidden_size
        for layer in range(self.num_layers):
            width = self.hidden_size * self.directions if layer else self.input_size
            for direction in range(self.directions):
                end = _suffix(layer, direction)
                shapes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (rows, width),
                    "weight_hh": (rows, self.hidden_size),
                }
                if self.has_bias:
                    shapes.update(bias_ih=(rows,), bias_hh=(rows,))
                for name, shape in shapes.items():
                    param = recurrent_parameter(shape, self.hidden_size, dtype)
                    self.insert_param_to_cell(f"{name}{end}", param)

    def _run_layer(
        self,
        gates: Tensor,
        states: tuple[Tensor, ...],
        end: str,
        lengths: Tensor | None,
        reverse: bool,
    ) -> tuple[Tensor, ...]:
        """Run one layer in one direction: its output and its last states."""
        raise NotImplementedError

    def _input_bias(self, end: str) -> Tensor | None:
        """The bias that the product with the input takes along."""
        if not self.has_bias:
            return None
        return ops.add(getattr(self, f"bias_ih{end}"), getattr(self, f"bias_hh{end}"))

    def _check(self, x: Tensor, states: tuple[Tensor, ...]) -> None:
        owner = type(self).__name__
        if len(x.shape) != 3 or x.shape[-1] != self.input_size:
            order = "[n, steps" if self.batch_first else "[steps, n"
            raise ValueError(
                f"{owner}: x must be {order}, {self.input_size}], its shape is {list(x.shape)}."
            )
        batch = x.shape[0 if self.batch_first else 1]
        wanted = (self.num_layers * self.directions, batch, self.hidden_size)
        for state in states:
            if tuple(state.shape) != wanted:
                raise ValueError(
                    f"{owner}: a state must have the shape {list(wanted)}, it has"
                    f" {list(state.shape)}."
                )

    def _run(
        self, x: Tensor, states: tuple[Tensor, ...], seq_length: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        self._check(x, states)
        out = ops.transpose(x, (1, 0, 2)) if self.batch_first else x
        last: list[tuple[Tensor, ...]] = []
        for layer in range(self.num_layers):
            if layer and self.dropout:
                out = ops.dropout(out, self.dropout, self.training)
            found: list[Tensor] = []
            for direction in range(self.directions):
                end = _suffix(layer, direction)
                gates = ops.dense(out, getattr(self, f"weight_ih{end}"), self._input_bias(end))
                number = layer * self.directions + direction
                begin = tuple(state[number] for state in states)
                if not begin:
                    zeros = ops.zeros((out.shape[1], self.hidden_size), gates.dtype)
                    begin = (zeros,) * self.states
                result = self._run_layer(gates, begin, end, seq_length, direction == 1)
                found.append(result[0])
                last.append(result[1:])
            out = found[0] if len(found) == 1 else ops.concat(found, -1)
        ends = tuple(ops.stack([part[i] for part in last], 0) for i in range(self.states))
        return (ops.transpose(out, (1, 0, 2)) if self.batch_first else out), ends

    def extend_repr(self) -> str:
        """Sizes and choices."""
        return (
            f"input_size={self.input_size}, hidden_size={self.hidden_size},"
            f" num_layers={self.num_layers}, has_bias={self.has_bias},"
            f" batch_first={self.batch_first}, dropout={self.dropout},"
            f" bidirectional={self.bidirectional}"
        )


def _suffix(layer: int, direction: int) -> str:
    return f"_l{layer}_reverse" if direction else f"_l{layer}"


class RNN(_Recurrent):
    """Plain recurrent layers over a batch of sequences.

    Parameters
    ----------
    input_size : int
        Features of the input.
    hidden_size : int
        Features of the state.
    num_layers : int
        Layers, each fed with the output of the one below.
    nonlinearity : {"tanh", "relu"}
        What follows each step's sum.
    has_bias : bool
        Whether biases are added.
    batch_first : bool
        Whether input and output are ``[n, steps, ...]``; else ``[steps, n, ...]``.
    dropout : float
        Probability of zero between the layers, in training.
    bidirectional : bool
        Whether each layer also runs from the last step to the first; the output has both.
    dtype : DType
        Type of the parameters.
    x : Tensor
        ``[steps, n, input_size]``.
    hx : Tensor, optional
        States at the start, ``[num_layers * directions, n, hidden_size]``; zeros by default.
    seq_length : Tensor, optional
        Integers ``[n]``: how many steps each sequence has. The output is zero after them, and the
        last state is that of a sequence's own last step.

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
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: DType = float32,
    ) -> None:
        super().__init__(
            input_size, hidden_size, num_layers, has_bias, batch_first, dropout, bidirectional,
            dtype,
        )  # fmt: skip
        self.nonlinearity = check_nonlinearity("RNN", nonlinearity)

    def _run_layer(
        self,
        gates: Tensor,
        states: tuple[Tensor, ...],
        end: str,
        lengths: Tensor | None,
        reverse: bool,
    ) -> tuple[Tensor, ...]:
        weight = getattr(self, f"weight_hh{end}")
        return ops.rnn_layer(gates, states[0], weight, lengths, self.nonlinearity, reverse)

    def construct(
        self, x: Tensor, hx: Tensor | None = None, seq_length: Tensor | None = None
    ) -> Pair:
        """Run all layers: the output of the last one, and the last state of each."""
        out, ends = self._run(x, () if hx is None else (hx,), seq_length)
        return out, ends[0]


class LSTM(_Recurrent):
    """Layers of long short-term memory over a batch of sequences.

    Parameters
    ----------
    input_size : int
        Features of the input.
    hidden_size : int
        Features of hidden state and cell state.
    num_layers : int
        Layers, each fed with the output of the one below.
    has_bias : bool
        Whether biases are added.
    batch_first : bool
        Whether input and output are ``[n, steps, ...]``; else ``[steps, n, ...]``.
    dropout : float
        Probability of zero between the layers, in training.
    bidirectional : bool
        Whether each layer also runs from the last step to the first; the output has both.
    dtype : DType
        Type of the parameters; the rows of the weights are input gate, forget gate, candidate and
        output gate.
    x : Tensor
        ``[steps, n, input_size]``.
    hx : tuple of Tensor, optional
        Hidden and cell states at the start, ``[num_layers * directions, n, hidden_size]`` each;
        zeros by default.
    seq_length : Tensor, optional
        Integers ``[n]``: how many steps each sequence has. The output is zero after them, and the
        last states are those of a sequence's own last step.

    Raises
    ------
    ValueError
        If a size does not fit.

    References
    ----------
    Hochreiter and Schmidhuber, Long Short-Term Memory, 1997; forget gates of Gers et al., 2000.
    """

    blocks = 4
    states = 2

    def _run_layer(
        self,
        gates: Tensor,
        states: tuple[Tensor, ...],
        end: str,
        lengths: Tensor | None,
        reverse: bool,
    ) -> tuple[Tensor, ...]:
        state, cell = states
        weight = getattr(self, f"weight_hh{end}")
        return ops.lstm_layer(gates, state, cell, weight, lengths, reverse)

    def construct(
        self, x: Tensor, hx: Pair | None = None, seq_length: Tensor | None = None
    ) -> tuple[Tensor, Pair]:
        """Run all layers: the output of the last one, and the last states of each."""
        out, ends = self._run(x, () if hx is None else tuple(hx), seq_length)
        return out, (ends[0], ends[1])


class GRU(_Recurrent):
    """Layers of gated recurrent units over a batch of sequences.

    Parameters
    ----------
    input_size : int
        Features of the input.
    hidden_size : int
        Features of the state.
    num_layers : int
        Layers, each fed with the output of the one below.
    has_bias : bool
        Whether biases are added.
    batch_first : bool
        Whether input and output are ``[n, steps, ...]``; else ``[steps, n, ...]``.
    dropout : float
        Probability of zero between the layers, in training.
    bidirectional : bool
        Whether each layer also runs from the last step to the first; the output has both.
    dtype : DType
        Type of the parameters; the rows of the weights are reset gate, update gate and candidate.
    x : Tensor
        ``[steps, n, input_size]``.
    hx : Tensor, optional
        States at the start, ``[num_layers * directions, n, hidden_size]``; zeros by default.
    seq_length : Tensor, optional
        Integers ``[n]``: how many steps each sequence has. The output is zero after them, and the
        last state is that of a sequence's own last step.

    Raises
    ------
    ValueError
        If a size does not fit.

    References
    ----------
    Cho et al., Learning Phrase Representations using RNN Encoder-Decoder, 2014.
    """

    blocks = 3

    def _run_layer(
        self,
        gates: Tensor,
        states: tuple[Tensor, ...],
        end: str,
        lengths: Tensor | None,
        reverse: bool,
    ) -> tuple[Tensor, ...]:
        weight = getattr(self, f"weight_hh{end}")
        bias = getattr(self, f"bias_hh{end}") if self.has_bias else None
        return ops.gru_layer(gates, states[0], weight, bias, lengths, reverse)

    def _input_bias(self, end: str) -> Any:
        return getattr(self, f"bias_ih{end}") if self.has_bias else None

    def construct(
        self, x: Tensor, hx: Tensor | None = None, seq_length: Tensor | None = None
    ) -> Pair:
        """Run all layers: the output of the last one, and the last state of each."""
        out, ends = self._run(x, () if hx is None else (hx,), seq_length)
        return out, ends[0]
