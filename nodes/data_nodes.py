"""The data nodes: the digits, files of the user's own, an input fed from outside, a constant."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..engine.dataset import files
from ..engine.dataset.files import DataError
from ..engine.dataset.split import held_out_count
from ..engine.dtype import dtype_of
from ..engine.shape import Aval, SymDim
from ..engine.tensor import Tensor, from_numpy
from . import data
from .data import DataSource
from .inspection import DTYPE_NAMES
from .spec import DataRule, NodeSpec, Params, ParamSpec, Port

N = SymDim("N")
SPLIT = (
    ParamSpec("held_out", "float", 0.2, "Share of the rows kept for evaluation.", 0, 0.9),
    ParamSpec("split_seed", "int", 0, "Seed of the split into training and held-out rows.", 0),
)
LABELLED = (Port("inputs", "What the model is given."), Port("labels", "What it is to say."))


def _number(params: Params, name: str) -> Any:
    return params[name]


def _path(params: Params, base: Path | None) -> Path:
    text = str(params["path"])
    if not text:
        raise DataError("No file is chosen.", "Set the node's path.")
    try:
        path = (base or Path()) / Path(text).expanduser()
        path.resolve().exists()
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: no such user after ~
        raise DataError(f"The path {text[:80]!r} names no file: {error}.") from error
    return path


def _split_words(rows: tuple[int, int]) -> str:
    return f"{rows[0]:,} train · {rows[1]:,} test"


def _split_rows(total: int, params: Params) -> tuple[int, int]:
    held = held_out_count(total, _number(params, "held_out"))
    return total - held, held


def _source(arrays: dict[str, np.ndarray], params: Params, name: str) -> DataSource:
    return DataSource(arrays, _number(params, "held_out"), _number(params, "split_seed"), name)


def _digits_avals(params: Params, base: Path | None) -> dict[str, Aval]:
    return {
        "images": Aval((N, 1, 8, 8), dtype_of("uint8")),
        "labels": Aval((N,), dtype_of("int32")),
    }


def _digits_rows(params: Params, base: Path | None) -> tuple[int, int]:
    return _split_rows(len(data.digits()["labels"]), params)


DIGITS = NodeSpec(
    "data.digits",
    "Digits",
    "Data",
    "data",
    "digits",
    outputs=(
        Port("images", "N×1×8×8 uint8, grey values from 0 to 16."),
        Port("labels", "N int32, the digit from 0 to 9."),
    ),
    params=SPLIT,
    doc="1,797 hand-written digits of 8×8 grey values with their labels.",
    data=DataRule(
        _digits_avals,
        lambda params, base: _source(data.digits(), params, "digits"),
        _digits_rows,
    ),
    summarize=lambda spec, params: _split_words(_digits_rows(params, None)),
    keywords=("dataset", "mnist", "images", "labels"),
)


def _stamped(read: Callable[..., Any]) -> Callable[..., Any]:
    """`read(path, …)`, run again only when the file has changed."""

    @lru_cache(maxsize=8)
    def cached(stamp: tuple[int, int], path: Path, *rest: Any) -> Any:
        return read(path, *rest)

    def call(path: Path, *rest: Any) -> Any:
        try:
            status = path.stat()
        except OSError:
            return read(path, *rest)
        return cached((status.st_mtime_ns, status.st_size), path, *rest)

    return call


_npz_headers = _stamped(files.npz_headers)
_npz_arrays = _stamped(lambda path, names: files.load_npz(path, dict(names)))
_csv_layout = _stamped(files.csv_layout)
_csv_arrays = _stamped(files.load_csv)


def _npz_names(params: Params) -> tuple[tuple[str, str], ...]:
    return tuple((port.name, str(params[port.name])) for port in LABELLED)


def _npz_found(params: Params, base: Path | None) -> dict[str, tuple[int, files.Header]]:
    names = tuple(name for _, name in _npz_names(params))
    return _npz_headers(_path(params, base), names)


def _npz_avals(params: Params, base: Path | None) -> dict[str, Aval]:
    headers = _npz_found(params, base)
    avals: dict[str, Aval] = {}
    for port, name in _npz_names(params):
        shape, dtype = headers[name][1]
        avals[port] = Aval((N, *shape), dtype_of(dtype))
    return avals


def _npz_rows(params: Params, base: Path | None) -> tuple[int, int]:
    headers = _npz_found(params, base)
    return _split_rows(headers[str(params["labels"])][0], params)


def _file_summary(spec: NodeSpec, params: Params) -> str:
    return Path(str(params["path"])).name or "no file chosen"


NPZ = NodeSpec(
    "data.npz",
    "NumPy file",
    "Data",
    "data",
    "dataset",
    outputs=LABELLED,
    params=(
        ParamSpec("path", "path", "", "A .npz file, from the document's folder."),
        ParamSpec("inputs", "str", "inputs", "Name of the inputs' array in the file."),
        ParamSpec("labels", "str", "labels", "Name of the labels' array in the file."),
        *SPLIT,
    ),
    doc="Inputs and labels from a .npz file, written with numpy.savez.",
    data=DataRule(
        _npz_avals,
        lambda params, base: _source(
            _npz_arrays(_path(params, base), _npz_names(params)),
            params,
            _path(params, base).name,
        ),
        _npz_rows,
    ),
    summarize=_file_summary,
    keywords=("dataset", "numpy", "npz", "file"),
)


def _csv_avals(params: Params, base: Path | None) -> dict[str, Aval]:
    layout = _csv_layout(_path(params, base), str(params["label"]))
    labels = "int32" if params["target"] == "class" else "float32"
    return {
        "inputs": Aval((N, len(layout.inputs)), dtype_of("float32")),
        "labels": Aval((N,), dtype_of(labels)),
    }


def _csv_open(params: Params, base: Path | None) -> DataSource:
    path = _path(params, base)
    arrays = _csv_arrays(path, str(params["label"]), str(params["target"]))
    return _source(arrays, params, path.name)


CSV = NodeSpec(
    "data.csv",
    "CSV file",
    "Data",
    "data",
    "dataset",
    outputs=LABELLED,
    params=(
        ParamSpec("path", "path", "", "A comma-separated file, from the document's folder."),
        ParamSpec("label", "str", "", "Column of the labels; empty for the last one."),
        ParamSpec(
            "target",
            "choice",
            "class",
            "Labels are classes (int32) or values to predict (float32).",
            choices=("class", "value"),
        ),
        *SPLIT,
    ),
    doc="Inputs N×F float32 and labels from a comma-separated text file.",
    data=DataRule(
        _csv_avals,
        _csv_open,
        lambda params, base: _split_rows(_csv_open(params, base).rows, params),
    ),
    summarize=_file_summary,
    keywords=("dataset", "table", "csv", "file"),
)


def _filled_with(shape: tuple[int, ...], dtype: str, fill: str) -> Tensor:
    if fill == "normal":
        random = np.random.Generator(np.random.Philox(0))
        return from_numpy(random.standard_normal(shape).astype(dtype))
    return from_numpy(np.full(shape, 1 if fill == "ones" else 0, dtype))


def _shape_of(params: Params) -> tuple[int, ...]:
    shape: Any = params["shape"]
    return tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)


def _shape_words(spec: NodeSpec, params: Params) -> str:
    sizes = "×".join(str(size) for size in _shape_of(params)) or "scalar"
    return f"{sizes} {dtype_of(params['dtype']).short}"


DTYPE = ParamSpec("dtype", "choice", "float32", "Element type.", choices=DTYPE_NAMES)
INPUT = NodeSpec(
    "data.input",
    "Input",
    "Data",
    "data",
    "input",
    outputs=(Port("out", "N rows of the given shape."),),
    params=(
        ParamSpec("shape", "shape", [64], "Shape of one row, without the batch.", 1),
        DTYPE,
        ParamSpec(
            "fill",
            "choice",
            "normal",
            "What it holds while nothing is fed.",
            choices=("normal", "zeros", "ones"),
        ),
        ParamSpec("rows", "int", 32, "How many rows it holds while nothing is fed.", 1),
    ),
    doc="A tensor fed from outside, N rows of one shape.",
    data=DataRule(
        lambda params, base: {"out": Aval((N, *_shape_of(params)), dtype_of(params["dtype"]))},
        lambda params, base: (
            lambda: _filled_with(
                (_number(params, "rows"), *_shape_of(params)),
                str(params["dtype"]),
                str(params["fill"]),
            )
        ),
    ),
    summarize=lambda spec, params: f"N×{_shape_words(spec, params)}",
    keywords=("placeholder", "feed"),
)
CONSTANT = NodeSpec(
    "data.constant",
    "Constant",
    "Data",
    "data",
    "constant",
    outputs=(Port("out", "The constant."),),
    params=(
        ParamSpec("value", "float", 1.0, "The value of every element."),
        ParamSpec("shape", "shape", [], "Its shape; empty for one number.", 0),
        DTYPE,
    ),
    doc="A tensor whose elements all have one value.",
    data=DataRule(
        lambda params, base: {"out": Aval(_shape_of(params), dtype_of(params["dtype"]))},
        lambda params, base: (
            lambda: from_numpy(np.full(_shape_of(params), params["value"], str(params["dtype"])))
        ),
    ),
    summarize=lambda spec, params: f"{params['value']:g} · {_shape_words(spec, params)}",
    keywords=("number", "full"),
)
DATA_NODES = (DIGITS, NPZ, CSV, INPUT, CONSTANT)
