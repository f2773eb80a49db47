"""The example drawings, made by the same changes as a user's.

`python -m cellwire.nodes.examples` writes them to the assets.
"""

import hashlib
import itertools
from collections.abc import Sequence
from typing import Any

import msgspec

from . import changes as c
from . import files
from .document import Document
from .items import Edge, Group, NodeItem, Point, Training, View

Row = tuple[str, str, dict[str, Any], Point]
Wire = tuple[str, str, str, str]


def digits_mlp() -> Document:
    """Digits through three dense layers, with normalisation and dropout between them.

    Layers and training settings were chosen by cross-validation on the training rows alone.
    """
    rows: list[Row] = [
        ("data.digits", "digits", {}, (0, 40)),
        ("ops.scale", "scale", {"factor": 1 / 16}, (190, 0)),
        ("nn.Flatten", "flatten", {}, (380, 0)),
        ("nn.Dense", "dense1", {"out_channels": 256}, (570, 0)),
        ("nn.BatchNorm1d", "norm1", {}, (760, 0)),
        ("ops.relu", "relu1", {}, (190, 160)),
        ("nn.Dropout", "dropout", {"p": 0.3}, (380, 160)),
        ("nn.Dense", "dense2", {"out_channels": 128}, (570, 160)),
        ("nn.BatchNorm1d", "norm2", {}, (760, 160)),
        ("ops.relu", "relu2", {}, (570, 320)),
        ("nn.Dense", "head", {"out_channels": 10}, (760, 320)),
        ("nn.CrossEntropyLoss", "loss", {}, (960, 320)),
    ]
    chain = [name for _, name, _, _ in rows[1:-1]]
    training = Training(
        optimizer="Adam", learning_rate=0.003, schedule="cosine", batch_size=32, epochs=30
    )
    return _drawn("Digits MLP", rows, chain, training)


def digits_cnn() -> Document:
    """Digits through two convolutions, with the convolutions as a compile group."""
    conv: dict[str, Any] = {"kernel_size": 3, "pad_mode": "same", "has_bias": True}
    rows: list[Row] = [
        ("data.digits", "digits", {}, (0, 40)),
        ("ops.scale", "scale", {"factor": 1 / 16}, (220, 0)),
        ("nn.Conv2d", "conv1", {"out_channels": 32} | conv, (420, 0)),
        ("ops.relu", "relu1", {}, (620, 0)),
        ("nn.Conv2d", "conv2", {"out_channels": 64} | conv, (420, 120)),
        ("ops.relu", "relu2", {}, (620, 120)),
        ("nn.MaxPool2d", "pool", {"kernel_size": 2, "stride": 2}, (800, 120)),
        ("nn.Flatten", "flatten", {}, (220, 280)),
        ("nn.Dropout", "dropout", {"p": 0.3}, (420, 280)),
        ("nn.Dense", "head", {"out_channels": 10}, (620, 280)),
        ("nn.CrossEntropyLoss", "loss", {}, (820, 280)),
    ]
    chain = [name for _, name, _, _ in rows[1:-1]]
    training = Training(
        optimizer="Adam", learning_rate=0.002, schedule="cosine", batch_size=32, epochs=20
    )
    document = _drawn("Digits CNN", rows, chain, training)
    members = tuple(_id("Digits CNN", name) for name in chain[1:6])
    group = Group(id=_id("Digits CNN", "features group"), name="features", nodes=members)
    document.apply(c.AddGroup(group))
    return document


EXAMPLES = {"digits_mlp": digits_mlp, "digits_cnn": digits_cnn}
"""Each example's file name, without its ending, and what draws it."""


def write() -> None:
    """Write the examples, and the file format's schema, to the assets."""
    for name, draw in EXAMPLES.items():
        files.save(draw(), files.ASSETS / "examples" / f"{name}.cellwire")
    text = msgspec.json.format(msgspec.json.encode(files.schema()), indent=2)
    (files.ASSETS / "cellwire.schema.json").write_bytes(text + b"\n")


def _drawn(title: str, rows: Sequence[Row], chain: Sequence[str], training: Training) -> Document:
    """A document with these nodes, images through the chain to the loss, labels to the loss."""
    document = Document(title)
    inputs = {}
    for type, name, params, position in rows:
        node = NodeItem(id=_id(title, name), type=type, name=name, params=params, position=position)
        document.apply(c.AddNode(node))
        inputs[name] = _first_input(type)
    wires: list[Wire] = [("digits", "images", chain[0], inputs[chain[0]])]
    wires += [(a, "out", b, inputs[b]) for a, b in itertools.pairwise(chain)]
    wires += [(chain[-1], "out", "loss", "logits"), ("digits", "labels", "loss", "labels")]
    for source, output, target, input in wires:
        document.apply(c.Connect(Edge(_id(title, source), output, _id(title, target), input)))
    document.apply(c.SetTraining(training))
    document.view = View(center=(545.0, 190.0), zoom=1.0)
    return document


def _first_input(type: str) -> str:
    from .library import LIBRARY

    inputs = LIBRARY[type].inputs
    return inputs[0].name if inputs else ""


def _id(title: str, name: str) -> str:
    """An id as random as any, and the same each time the examples are made."""
    return hashlib.sha256(f"{title}/{name}".encode()).hexdigest()[:10]


if __name__ == "__main__":
    write()
