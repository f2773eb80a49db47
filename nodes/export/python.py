"""Export to Python: the drawing as a file against `cellwire`, with its weights beside it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...engine.array_file import SUFFIX, write_arrays
from ...engine.nn.cell import Cell
from ...engine.run.graph import Graph
from ..document import Document
from ..infer import Inference, infer
from ..inspection import DTYPE_NAMES, FLOAT_NAMES
from ..spec import ParamSpec
from .layout import WIDTH, call, factor, literal, sentence
from .loaders import Loader, loader_of
from .model import ExportError, Model, Step, read_model
from .naming import identifier

__all__ = ["ExportError", "Exported", "export_python", "python_source"]
BATCH = 256
"""Rows that the exported file puts through the model at once."""


@dataclass(frozen=True)
class Exported:
    """The files that an export wrote; a model without parameters has no weights."""

    source: Path
    weights: Path | None


def export_python(
    document: Document,
    graph: Graph,
    path: Path,
    *,
    base: Path | None = None,
    inference: Inference | None = None,
) -> Exported:
    """Write the drawing as a Python file, and the weights of `graph` as `.safetensors` beside it.

    Parameters
    ----------
    document : Document
    graph : Graph
        Built from the document; its Cells hold the weights.
    path : Path
        The file to write, ending in `.py`.
    base : Path, optional
        The folder that the document's data paths start from.
    inference : Inference, optional
        That of the document as it is, if the caller has it.

    Raises
    ------
    ExportError
        Nodes stand in the way (listed), the name cannot be imported, or a file cannot be written.
    """
    if path.suffix != ".py" or not path.stem.isidentifier():
        raise ExportError(
            f"{path.name} cannot be imported: end it in .py, and use letters, digits and _ alone."
        )
    model = read_model(document, inference or infer(document, base))
    arrays = _weights(model, graph)
    text = _Writer(model, bool(arrays), base or Path(), path.resolve().parent).text()
    weights = path.with_suffix(SUFFIX) if arrays else None
    try:
        if weights is not None:
            write_arrays(weights, arrays)
        _write_text(path, text)
    except OSError as error:
        raise ExportError(f"{path} cannot be written: {error}.") from error
    return Exported(path, weights)


def python_source(
    document: Document, *, base: Path | None = None, inference: Inference | None = None
) -> str:
    """The text that `export_python` would write into the document's folder.

    Raises
    ------
    ExportError
        Nodes stand in the way (listed).
    """
    known = inference or infer(document, base)
    model = read_model(document, known)
    folder = base or Path()
    return _Writer(model, known.cost.parameters > 0, folder, folder.resolve()).text()


def _write_text(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _weights(model: Model, graph: Graph) -> dict[str, np.ndarray]:
    """Each parameter by the name it has in the exported class."""
    arrays: dict[str, np.ndarray] = {}
    for step in model.steps:
        cell = graph.nodes[step.item.id].call
        if isinstance(cell, Cell):
            for name, parameter in cell.parameters_and_names():
                key = f"{model.attributes[step.item.id]}.{name}"
                arrays[key] = parameter.data
    return arrays


class _Writer:
    """Writes one file, part by part."""

    def __init__(self, model: Model, has_weights: bool, base: Path, folder: Path) -> None:
        self.model = model
        self.has_weights = has_weights
        needed = {id for id, _ in model.data_ports}
        self.loaders: list[Loader] = [
            loader_of(step, model.functions[step.item.id], base, folder)
            for step in model.data
            if step.item.id in needed
        ]

    def text(self) -> str:
        """The whole file."""
        parts = [self._class(), *(loader.lines for loader in self.loaders)]
        parts += [self._load_model(), self._predict(), self._main()]
        blocks = ["\n".join(part) for part in parts if part]
        end = 'if __name__ == "__main__":\n    main()\n'
        return "\n".join(self._head()) + "\n\n\n" + "\n\n\n".join([*blocks, end])

    def _head(self) -> list[str]:
        title = sentence(self.model.title)
        lines = [f'"""{title}: a model drawn in Cellwire.', ""]
        weights = " with the weights that lie beside it" if self.has_weights else ""
        lines += [f"Run this file to evaluate the model{weights}.", '"""', ""]
        if self.has_weights or any(loader.path for loader in self.loaders):
            lines += ["from pathlib import Path", ""]
        lines += ["import cellwire as cw", "import numpy as np"]
        names = ["dataset"] if any(loader.reads for loader in self.loaders) else []
        names += ["nn", "ops"] if self._uses_ops() else ["nn"]
        lines.append(f"from cellwire import {', '.join(names)}")
        if self.has_weights:
            lines += ["", 'WEIGHTS = Path(__file__).with_suffix(".safetensors")']
        return lines

    def _uses_ops(self) -> bool:
        steps = [*self.model.steps, *self.model.losses]
        return any(s.item.type.startswith("ops.") and s.item.type != "ops.scale" for s in steps)

    def _class(self) -> list[str]:
        model = self.model
        lines = [f"class {model.class_name}(nn.Cell):", f'    """{sentence(model.title)}."""', ""]
        made = [step for step in [*model.constants, *model.steps] if step.spec.kind != "op"]
        if made:
            lines += ["    def __init__(self) -> None:", "        super().__init__()"]
            for step in made:
                lines += self._attribute(step)
            lines.append("")
        arguments = [f"{model.variables[port]}: cw.Tensor" for port in model.arguments]
        several = ", ".join(["cw.Tensor"] * len(model.results))
        returns = several if len(model.results) == 1 else f"tuple[{several}]"
        lines += call(4, "def construct(", ["self", *arguments], f") -> {returns}:")
        shapes = [f"{model.variables[port]} {model.avals[port]}" for port in model.arguments]
        words = f"Return {self._result_words()} for {', '.join(shapes) or 'nothing'}."
        fits = len(words) + 14 <= WIDTH
        lines.append(f'        """{words if fits else "Return the results for these inputs."}"""')
        for step in model.steps:
            lines += self._statement(step)
        results = ", ".join(model.variables[port] for port in model.results)
        return [*lines, f"        return {results}"]

    def _result_words(self) -> str:
        words = [f"{self.model.variables[port]}" for port in self.model.results]
        return " and ".join(words)

    def _attribute(self, step: Step) -> list[str]:
        name = self.model.attributes[step.item.id]
        if step.spec.kind == "data":
            shape = literal(step.params["shape"])
            arguments = [shape, literal(step.params["value"]), f"np.{step.params['dtype']}"]
            return call(8, f"self.{name} = cw.Tensor(np.full(", arguments, "))")
        return call(8, f"self.{name} = {step.item.type}(", self._settings(step))

    def _statement(self, step: Step) -> list[str]:
        model = self.model
        shape = ", ".join(map(str, step.avals))
        names = [model.variables[port] for port in step.outs]
        prefix = f"{(step.spec.nested or ', '.join(['{}'] * len(names))).format(*names)} = "
        values = self._values(step)
        if step.item.type == "ops.scale":
            number = step.params["factor"]
            scale = factor(number) if isinstance(number, float) else literal(number)
            return call(8, f"{prefix}{values[0]} * {scale}", [], "", shape)
        if step.spec.kind == "cell":
            return call(8, f"{prefix}self.{model.attributes[step.item.id]}(", values, ")", shape)
        if step.spec.leading is not None:
            values = [*(literal(step.params[name]) for name in step.spec.leading), *values]
        elif any(port.variadic for port in step.spec.inputs):
            values = [f"({', '.join(values)}{',' if len(values) == 1 else ''})"]
        if step.spec.by_name:
            ports = zip(step.spec.inputs, values, strict=False)
            values = [f"{port.name}={value}" for port, value in ports]
        return call(8, f"{prefix}{step.item.type}(", [*values, *self._settings(step)], ")", shape)

    def _values(
        self, step: Step, variables: Mapping[tuple[str, str], str] | None = None
    ) -> list[str]:
        """What a node is called on; inputs left open at the end are left out."""
        names = variables or self.model.variables
        values = ["None" if e is None else names[e.source, e.output] for _, e in step.inputs]
        if step.spec.packs:
            values = _packed(values, step.spec.packs)
        while values and values[-1] == "None":
            values.pop()
        return values

    def _settings(self, step: Step) -> list[str]:
        """Constructor or op arguments: what is needed in order, the rest where it is unusual."""
        leading = step.spec.leading or ()
        needed = [p for p in step.spec.params if p.required and p.name not in leading]
        rest = [p for p in step.spec.params if not p.required and step.params[p.name] != p.default]
        if step.spec.by_name:
            needed, rest = [], [*needed, *rest]
        given = [_value(param, step.params[param.name]) for param in needed]
        return given + [f"{param.name}={_value(param, step.params[param.name])}" for param in rest]

    def _load_model(self) -> list[str]:
        name = self.model.class_name
        lines = [f"def load_model() -> {name}:"]
        if not self.has_weights:
            lines.append('    """Return the model, ready to evaluate."""')
            return [
                *lines,
                f"    model = {name}()",
                "    model.set_train(False)",
                "    return model",
            ]
        return [
            *lines,
            '    """Return the model with its weights, ready to evaluate."""',
            f"    model = {name}()",
            "    weights = cw.load_checkpoint(str(WEIGHTS))",
            "    missing, unused = cw.load_param_into_net(model, weights)",
            "    if missing or unused:",
            '        raise ValueError(f"{WEIGHTS} does not fit: {missing=}, {unused=}")',
            "    model.set_train(False)",
            "    return model",
        ]

    def _predict(self) -> list[str]:
        """A function that puts many rows through the model, where it has one result."""
        if not self._batched():
            return []
        (argument,) = self.model.arguments
        name = self.model.variables[argument]
        return [
            *call(
                0,
                "def predict(",
                [f"model: {self.model.class_name}", f"{name}: np.ndarray"],
                ") -> np.ndarray:",
            ),
            f'    """Return what the model gives for all rows, {BATCH} at a time."""',
            "    results = []",
            f"    for start in range(0, len({name}), {BATCH}):",
            f"        batch = cw.Tensor({name}[start : start + {BATCH}])",
            "        results.append(model(batch).asnumpy())",
            "    return np.concatenate(results)",
        ]

    def _batched(self) -> bool:
        model = self.model
        rows = [model.avals[port] for port in [*model.arguments, *model.results]]
        by_rows = all(aval.ndim and str(aval.shape[0]) == "N" for aval in rows)
        return by_rows and len(model.results) == 1 and len(model.arguments) == 1

    def _main(self) -> list[str]:
        model = self.model
        lines = ["def main() -> None:", '    """Evaluate the model and print what it gives."""']
        lines.append("    model = load_model()")
        for loader in self.loaders:
            lines.append(f"    {', '.join(loader.gives(model))} = {loader.function}()")
        read = {(e.source, e.output) for step in model.losses for _, e in step.inputs if e}
        wanted = [p for p in model.results if p in read or not model.losses]
        results = ", ".join(model.variables[p] if p in wanted else "_" for p in model.results)
        if self._batched():
            lines.append(f"    {results} = predict(model, {model.variables[model.arguments[0]]})")
        else:
            given = [f"cw.Tensor({model.variables[port]})" for port in model.arguments]
            lines += call(4, f"{results} = model(", given)
        for step in model.losses:
            lines += self._loss(step)
        if not model.losses:
            lines += [f'    print("{name}", {name}.shape)' for name in results.split(", ")]
        return lines

    def _loss(self, step: Step) -> list[str]:
        model = self.model
        own = "loss" if len(model.losses) == 1 else identifier(step.item.name)
        variables = dict(model.variables)
        for port in [*model.data_ports, *(model.results if self._batched() else [])]:
            variables[port] = f"cw.Tensor({model.variables[port]})"
        for constant in model.constants:
            variables[constant.outs[0]] = f"model.{model.attributes[constant.item.id]}"
        values = self._values(step, variables)
        if step.spec.type.startswith("nn."):
            made = f"{step.item.type}({', '.join(self._settings(step))})("
            lines = call(4, f"{own} = {made}", values)
        else:
            lines = call(4, f"{own} = {step.item.type}(", [*values, *self._settings(step)])
        lines.append(f'    print(f"{own} {{{own}.asnumpy().mean():.4f}}")')
        return lines + self._accuracy(step)

    def _as_array(self, port: tuple[str, str]) -> str:
        """A value in `main` as a NumPy array: what `predict` and loaders give are such."""
        for constant in self.model.constants:
            if port == constant.outs[0]:
                return f"model.{self.model.attributes[constant.item.id]}.asnumpy()"
        tensor = port in self.model.results and not self._batched()
        return f"{self.model.variables[port]}{'.asnumpy()' if tensor else ''}"

    def _accuracy(self, step: Step) -> list[str]:
        """The share of right answers, where the loss compares scores with class labels."""
        ports = [(e.source, e.output) for _, e in step.inputs if e is not None][:2]
        avals = [self.model.avals[port] for port in ports]
        if len(avals) < 2 or avals[0].ndim != 2 or avals[1].ndim != 1 or avals[1].dtype.is_float:
            return []
        scores, labels = (self._as_array(port) for port in ports)
        rows = "held-out rows" if any(loader.splits for loader in self.loaders) else "rows"
        return [
            f"    accuracy = np.mean({scores}.argmax(axis=1) == {labels})",
            f'    print(f"accuracy {{accuracy:.2%}} on {{len({labels})}} {rows}")',
        ]


def _packed(values: Sequence[str], packs: Sequence[str]) -> list[str]:
    """Inputs that are passed together, as the text of a tuple; "None" where all are left open."""
    found: list[str] = []
    for argument in dict.fromkeys(packs):
        members = [v for name, v in zip(packs, values, strict=True) if name == argument]
        together = packs.count(argument) > 1 and any(value != "None" for value in members)
        found.append(f"({', '.join(members)})" if together else members[0])
    return found


def _value(param: ParamSpec, value: object) -> str:
    if param.choices in (DTYPE_NAMES, FLOAT_NAMES) and isinstance(value, str):
        return "cw.bool_" if value == "bool" else f"cw.{value}"
    if param.kind == "float" and isinstance(value, int) and not isinstance(value, bool):
        return repr(float(value))
    return literal(value)
