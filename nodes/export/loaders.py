"""Functions of an exported file that load its data: one form for each kind of data node."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .layout import call, literal
from .model import ExportError, Model, Step


@dataclass(frozen=True)
class Loader:
    """A function that returns the arrays of a data node's ports."""

    step: Step
    function: str
    lines: list[str]
    reads: bool = False
    splits: bool = False
    path: bool = False

    def gives(self, model: Model) -> list[str]:
        """The variables that take the arrays, `_` for a port that nobody reads."""
        ports = [(self.step.item.id, port.name) for port in self.step.spec.outputs]
        used = model.data_ports
        return [model.variables[port] if port in used else "_" for port in ports]


def loader_of(step: Step, name: str, base: Path, folder: Path) -> Loader:
    """The function of this name that loads a data node's rows.

    Its paths start from the exported file's `folder`.
    """
    form = _FORMS.get(step.item.type)
    if form is None:
        raise ExportError(f"{step.item.name} cannot be exported.", (step.item.name,))
    return form(step, name, base, folder)


def _labelled(step: Step, name: str, inputs: str, read: list[str], path: bool = False) -> Loader:
    """A function that returns inputs and labels of the rows held out, or of all."""
    share = step.params["held_out"]
    lines = [
        f"def {name}() -> tuple[np.ndarray, np.ndarray]:",
        f'    """Return {inputs} and labels of {"all" if share == 0 else "the held-out"} rows."""',
        *read,
    ]
    pick = ""
    if share != 0:
        pick = "[rows]"
        drawn = f"{share!r}, {step.params['split_seed']!r}"
        lines.append(f'    _, rows = dataset.split_rows(len(data["labels"]), {drawn})')
    lines.append(f'    return data["{inputs}"]{pick}, data["labels"]{pick}')
    return Loader(step, name, lines, True, share != 0, path)


def _digits(step: Step, name: str, base: Path, folder: Path) -> Loader:
    return _labelled(step, name, "images", ["    data = dataset.load_digits()"])


def _npz(step: Step, name: str, base: Path, folder: Path) -> Loader:
    names = {port.name: str(step.params[port.name]) for port in step.spec.outputs}
    pairs = ", ".join(f'"{port}": {literal(name)}' for port, name in names.items())
    given = [_file(step, base, folder), f"{{{pairs}}}"]
    return _labelled(step, name, "inputs", call(4, "data = dataset.load_npz(", given, ")"), True)


def _csv(step: Step, name: str, base: Path, folder: Path) -> Loader:
    given = [_file(step, base, folder)]
    given += [
        f"{option}={literal(step.params[option])}"
        for option, usual in (("label", ""), ("target", "class"))
        if step.params[option] != usual
    ]
    return _labelled(step, name, "inputs", call(4, "data = dataset.load_csv(", given, ")"), True)


def _input(step: Step, name: str, base: Path, folder: Path) -> Loader:
    params: Any = step.params
    shape = params["shape"] if isinstance(params["shape"], (list, tuple)) else [params["shape"]]
    size, dtype = literal([params["rows"], *shape]), f"np.{params['dtype']}"
    made = {
        "normal": f"np.random.default_rng(0).standard_normal({size}).astype({dtype})",
        "zeros": f"np.zeros({size}, {dtype})",
        "ones": f"np.ones({size}, {dtype})",
    }
    lines = [
        f"def {name}() -> np.ndarray:",
        '    """Return an example of the input: replace it by data of your own."""',
        f"    return {made[params['fill']]}",
    ]
    return Loader(step, name, lines)


def _file(step: Step, base: Path, folder: Path) -> str:
    """The data file from the exported file's folder, as source."""
    source = base / Path(str(step.params["path"])).expanduser()
    relative = Path(os.path.relpath(source.resolve(), folder)).as_posix()
    return f"Path(__file__).parent / {literal(relative)}"


_FORMS: dict[str, Callable[[Step, str, Path, Path], Loader]] = {
    "data.digits": _digits,
    "data.npz": _npz,
    "data.csv": _csv,
    "data.input": _input,
}
