"""The outputs of the Cells and ops that give several tensors, and the inputs passed as one tuple.

Python's annotations say how many results there are, and not what they are called.
"""

from collections.abc import Mapping

from .spec import Port

OUT = (Port("out"),)
VALUES = (Port("values"), Port("indices", "Where each value was found."))


def _ports(*names: str) -> tuple[Port, ...]:
    return tuple(Port(name) for name in names)


RECURRENT = (Port("output", "The states of all steps."), Port("h", "The last hidden states."))
OUTPUTS: Mapping[str, tuple[Port, ...]] = {
    "nn.GRU": RECURRENT,
    "nn.LSTM": (*RECURRENT, Port("c", "The last cell states.")),
    "nn.LSTMCell": (Port("h", "The hidden state."), Port("c", "The cell state.")),
    "nn.MultiheadAttention": (Port("out"), Port("weights", "How much each key counts.")),
    "nn.RNN": RECURRENT,
    "ops.aminmax": _ports("min", "max"),
    "ops.batch_norm": OUT,
    "ops.cummax": VALUES,
    "ops.cummin": VALUES,
    "ops.eigh": _ports("values", "vectors"),
    "ops.gru_layer": _ports("states", "last"),
    "ops.kthvalue": VALUES,
    "ops.lstm_layer": _ports("states", "h", "c"),
    "ops.lstm_step": _ports("h", "c"),
    "ops.lu_factor": (Port("lu"), Port("pivots", "Which rows were exchanged.")),
    "ops.lu_unpack": _ports("p", "l", "u"),
    "ops.max": VALUES,
    "ops.median": VALUES,
    "ops.min": VALUES,
    "ops.mode": VALUES,
    "ops.nanmedian": VALUES,
    "ops.qr": _ports("q", "r"),
    "ops.rms_norm": (Port("out"), Port("rstd", "One over the root of the mean square.")),
    "ops.rnn_layer": _ports("states", "last"),
    "ops.slogdet": _ports("sign", "logarithm"),
    "ops.sort": VALUES,
    "ops.std_mean": _ports("std", "mean"),
    "ops.svd": _ports("s", "u", "v"),
    "ops.topk": VALUES,
    "ops.unique_with_pad": (Port("values"), Port("indices", "Where each element is in values.")),
    "ops.var_mean": _ports("var", "mean"),
}
"""The output ports by the node's type, where there is not just one of no particular name."""
NESTED: Mapping[str, str] = {"nn.LSTM": "{}, ({}, {})"}
"""How results stand in Python where they are not one flat tuple."""
PACKED: Mapping[str, Mapping[str, tuple[Port, ...]]] = {
    type: {
        "hx": (
            Port("h0", "Hidden states at the start; zeros where no wire is.", False, argument="hx"),
            Port("c0", "Cell states at the start; zeros where no wire is.", False, argument="hx"),
        )
    }
    for type in ("nn.LSTM", "nn.LSTMCell")
}
"""Arguments of a Cell that are tuples of tensors, by the node's type: a port for each tensor."""
