"""Functions of an exported file that load its data: one form for each kind of data node."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..data import csv_layout, npz_headers
from .layout import literal
from .model import ExportError, Model, Step
from .naming import identifier


@dataclass(frozen=True)
class Loader:
    """A function that returns the arrays of a data node's ports."""

    step: Step
    function: str
    lines: list[str]
    modules: tuple[str, ...] = ()
    splits: bool = False
    path: bool = False

    def gives(self, model: Model) -> list[str]:
        """The variables that take the arrays, `_` for a port that nobody reads."""
        ports = [(self.step.item.id, port.name) for port in self.step.spec.outputs]
        used = model.data_ports
        return [model.variables[port] if port in used else "_" for port in ports]


def loader_of(step: Step, base: Path, folder: Path) -> Loader:
    """The function that loads a data node's rows; paths start from the exported file's `folder`."""
    form = _FORMS.get(step.item.type)
    if form is None:
        raise ExportError(f"{step.item.name} cannot be exported.", (step.item.name,))
    return form(step, base, folder)


def _name(step: Step) -> str:
    return f"load_{identifier(step.item.name)}"


def _rows(step: Step, counted: str) -> tuple[list[str], str, bool]:
    """Lines that choose the held-out rows, what to write behind an array, whether they split."""
    share: Any = step.params["held_out"]
    if share == 0:
        return [], "", False
    seed = step.params["split_seed"]
    return [f"    rows = held_out_rows({counted}, {share!r}, {seed!r})"], "[rows]", True


def _digits(step: Step, base: Path, folder: Path) -> Loader:
    chosen, pick, splits = _rows(step, "len(labels)")
    lines = [
        f"def {_name(step)}() -> tuple[np.ndarray, np.ndarray]:",
        f'    """Return {_which(splits)} digits: images N×1×8×8 and labels N."""',
        '    file = resources.files("cellwire.assets") / "data" / "digits.npz"',
        '    with file.open("rb") as stream, np.load(stream) as data:',
        '        images = data["images"].reshape(-1, 1, 8, 8)',
        '        labels = data["labels"].astype(np.int32)',
        *chosen,
        f"    return images{pick}, labels{pick}",
    ]
    return Loader(step, _name(step), lines, ("resources",), splits)


def _npz(step: Step, base: Path, folder: Path) -> Loader:
    chosen, pick, splits = _rows(step, "len(labels)")
    source = base / Path(str(step.params["path"])).expanduser()
    headers = npz_headers(source)
    arrays = [(port.name, str(step.params[port.name])) for port in step.spec.outputs]
    lines = [
        f"def {_name(step)}() -> tuple[np.ndarray, np.ndarray]:",
        f'    """Return inputs and labels of {_which(splits)} rows."""',
        f"    file = Path(__file__).parent / {_relative(source, folder)}",
        "    with np.load(file) as data:",
        *(
            f"        {port} = data[{literal(name)}].astype(np.{headers[name][1][1].name})"
            for port, name in arrays
        ),
        *chosen,
        f"    return inputs{pick}, labels{pick}",
    ]
    return Loader(step, _name(step), lines, splits=splits, path=True)


def _csv(step: Step, base: Path, folder: Path) -> Loader:
    chosen, pick, splits = _rows(step, "len(labels)")
    source = base / Path(str(step.params["path"])).expanduser()
    layout = csv_layout(source, str(step.params["label"]))
    first = "[1:]" if layout.titled else ""
    lines = [
        f"def {_name(step)}() -> tuple[np.ndarray, np.ndarray]:",
        f'    """Return inputs and labels of {_which(splits)} rows."""',
        f"    file = Path(__file__).parent / {_relative(source, folder)}",
        '    with file.open(newline="", encoding="utf-8-sig") as stream:',
        f"        table = [row for row in csv.reader(stream) if row]{first}",
        f"    labels = np.array([row.pop({layout.label}).strip() for row in table])",
        "    inputs = np.array(table, dtype=np.float32)",
        *_csv_labels(step),
        *chosen,
        f"    return inputs{pick}, labels{pick}",
    ]
    return Loader(step, _name(step), lines, ("csv",), splits, path=True)


def _csv_labels(step: Step) -> list[str]:
    if step.params["target"] == "value":
        return ["    labels = labels.astype(np.float32)"]
    return [
        "    if not all(label.isdigit() for label in labels):",
        "        labels = np.unique(labels, return_inverse=True)[1]",
        "    labels = labels.astype(np.int32)",
    ]


def _input(step: Step, base: Path, folder: Path) -> Loader:
    params: Any = step.params
    shape = params["shape"] if isinstance(params["shape"], (list, tuple)) else [params["shape"]]
    size, dtype = literal([params["rows"], *shape]), f"np.{params['dtype']}"
    made = {
        "normal": f"np.random.default_rng(0).standard_normal({size}).astype({dtype})",
        "zeros": f"np.zeros({size}, {dtype})",
        "ones": f"np.ones({size}, {dtype})",
    }
    lines = [
        f"def {_name(step)}() -> np.ndarray:",
        '    """Return an example of the input: replace it by data of your own."""',
        f"    return {made[params['fill']]}",
    ]
    return Loader(step, _name(step), lines)


def _which(splits: bool) -> str:
    return "the held-out" if splits else "all"


def _relative(source: Path, folder: Path) -> str:
    """The path of a data file from the exported file's folder, as source."""
    return literal(Path(os.path.relpath(source.resolve(), folder)).as_posix())


_FORMS: dict[str, Callable[[Step, Path, Path], Loader]] = {
    "data.digits": _digits,
    "data.npz": _npz,
    "data.csv": _csv,
    "data.input": _input,
}
