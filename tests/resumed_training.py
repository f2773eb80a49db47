"""Trains a small network in this process; run by the tests to resume in another one.

`python resumed_training.py start FOLDER` trains it whole, and half of it that it saves;
`python resumed_training.py resume FOLDER` goes on with the half. Both print what came out.
"""

import hashlib
import sys
from pathlib import Path

import numpy as np
from cellwire.engine import nn, ops
from cellwire.engine.random import RandomState, using
from cellwire.engine.run.graph import Graph, Node, Source
from cellwire.engine.run.settings import TrainingData, TrainingSettings
from cellwire.engine.run.training import TrainingRun

STEPS = 5
WIDTH = 64


def network() -> Graph:
    with using(RandomState(1)):
        first, norm, drop = nn.Dense(64, WIDTH), nn.LayerNorm(WIDTH), nn.Dropout(p=0.3)
        head = nn.Dense(WIDTH, 10)
        for cell in (first, norm, head):
            for parameter in cell.get_parameters():
                parameter.init_data()

    def node(id_: str, call: object, source: str, port: str = "out") -> Node:
        return Node(id_, id_, call, {"x": Source(source, port)}, kind="cell")  # pyright: ignore[reportArgumentType]

    wires = {"logits": Source("head", "out"), "labels": Source("data", "y")}
    return Graph(
        [
            Node("data", "data", lambda: None, outputs=("x", "y"), kind="data"),
            node("first", first, "data", "x"),
            node("norm", norm, "first"),
            node("gelu", ops.gelu, "norm"),
            node("drop", drop, "gelu"),
            node("head", head, "drop"),
            Node("loss", "loss", nn.CrossEntropyLoss(), wires, kind="loss"),
        ]
    )


def training(compile_step: bool) -> TrainingRun:
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 3, 128).astype(np.int32)
    points = rng.normal(0, 1, (128, 64)).astype(np.float32) + labels[:, None]
    settings = TrainingSettings(
        batch_size=32, epochs=3, learning_rate=0.05, compile_step=compile_step
    )
    return TrainingRun(network(), TrainingData({"data": {"x": points, "y": labels}}), settings)


def finish(run: TrainingRun) -> str:
    while not run.finished:
        run.step()
    arrays = [*run.weights.arrays().values(), np.array(run.history.losses)]
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


def main(mode: str, folder: Path) -> None:
    for compile_step in (False, True):
        run = training(compile_step)
        base = folder / f"run{compile_step:d}"
        if mode == "start":
            print(finish(run))
            half = training(compile_step)
            for _ in range(STEPS):
                half.step()
            half.save(base)
        else:
            run.restore(base)
            print(finish(run))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
