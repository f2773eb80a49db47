"""Registration: which parameters, sub-Cells and buffers a Cell has, and under which names."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakSet

from ..ops.registry import records, traces
from ..parameter import Parameter, ParameterTuple
from ..tensor import Tensor

if TYPE_CHECKING:
    from .cell import Cell

_warned_of: WeakSet[type] = WeakSet()
"""Classes of Cells that were seen being made inside a training step."""


class Registered:
    """What a Cell holds: parameters, sub-Cells and buffers, set as its attributes."""

    def __init__(self, auto_prefix: bool) -> None:
        fields = self.__dict__
        fields["_params"] = {}
        fields["_cells"] = {}
        fields["_buffers"] = {}
        fields["_auto_prefix"] = auto_prefix
        fields["_param_prefix"] = ""

    # setting attributes

    def __setattr__(self, name: str, value: Any) -> None:
        fields = self.__dict__
        if "_params" not in fields:
            raise AttributeError(
                f"{type(self).__name__}: call super().__init__() before setting {name!r}."
            )
        if isinstance(value, Parameter):
            self.insert_param_to_cell(name, value)
        elif isinstance(value, Registered):
            self.insert_child_to_cell(name, cast("Cell", value))
        elif isinstance(value, Tensor) and name in self._params:
            self._params[name].set_data(value)
        else:
            self._check_slot(name, value)
            if isinstance(value, list | tuple):
                self._register_items(name, value)
            fields[name] = value
            if name == "construct":
                fields["hooks"].version += 1  # compiled calls look at it

    def _check_slot(self, name: str, value: Any) -> None:
        for kind, table in (("Cell", self._cells), ("Parameter", self._params)):
            if name in table and value is not None:
                raise TypeError(
                    f"{type(self).__name__}.{name} is a {kind}; it cannot become"
                    f" {type(value).__name__}."
                )
        if name in self._buffers and not (value is None or isinstance(value, Tensor)):
            raise TypeError(
                f"{type(self).__name__}.{name} is a buffer; it takes a Tensor or None, not"
                f" {type(value).__name__}."
            )
        self._cells.pop(name, None)
        self._params.pop(name, None)

    def _register_items(self, name: str, value: list[Any] | tuple[Any, ...]) -> None:
        """Register the parameters of a ParameterTuple; warn of Cells that a list would hide."""
        if isinstance(value, ParameterTuple):
            for number, item in enumerate(value):
                key = item.name
                if self._params.get(key, item) is not item or key in self._cells:
                    key = f"{name}.{number}"
                self.insert_param_to_cell(key, item, check_name_contain_dot=False)
        elif any(
            isinstance(item, Registered) and not any(item is cell for cell in self._cells.values())
            for item in value
        ):
            warnings.warn(
                f"{type(self).__name__}.{name} is a {type(value).__name__} of Cells: their"
                " parameters are not registered and not trained; use nn.CellList.",
                stacklevel=4,
            )

    def __getattr__(self, name: str) -> Any:
        for table in ("_params", "_cells"):
            found = self.__dict__.get(table, {})
            if name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}.")

    def __delattr__(self, name: str) -> None:
        found = name in self.__dict__
        for table in (self._params, self._cells, self._buffers):
            found = table.pop(name, self) is not self or found
        if not found:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}.")
        self.__dict__.pop(name, None)
        if name == "construct":
            self.__dict__["hooks"].version += 1

    def insert_param_to_cell(
        self, param_name: str, param: Parameter, check_name_contain_dot: bool = True
    ) -> None:
        """Register a parameter under a name.

        Raises
        ------
        KeyError
            If the name is empty or has a dot.
        TypeError
            If `param` is no Parameter, or the name is that of a Cell.
        """
        _check_name(param_name, check_name_contain_dot)
        if not isinstance(param, Parameter):
            raise TypeError(
                f"{param_name!r} must be a Parameter to be registered, not {type(param).__name__}."
            )
        if param_name in self._cells:
            raise TypeError(f"{type(self).__name__}.{param_name} is a Cell, not a Parameter.")
        if records and not traces:
            self._warn_of_late_parameters()
        if param.name == "Parameter":
            param.name = param_name
        self._buffers.pop(param_name, None)
        self._params[param_name] = param
        self.__dict__[param_name] = param

    def _warn_of_late_parameters(self) -> None:
        """Say once of each class that what a training step makes anew is not trained by it."""
        kind = type(self)
        if kind not in _warned_of:
            _warned_of.add(kind)
            warnings.warn(
                f"{kind.__name__} was made inside the function that is derived: its parameters"
                " are new at every call and are not trained; make it in __init__.",
                stacklevel=4,
            )

    def insert_child_to_cell(self, child_name: str, child_cell: Cell) -> None:
        """Register a sub-Cell under a name; its parameters' names then begin with it.

        Raises
        ------
        KeyError
            If the name is empty or has a dot.
        TypeError
            If `child_cell` is no Cell.
        ValueError
            If the name is that of something else.
        """
        _check_name(child_name, True)
        if not isinstance(child_cell, Registered):
            raise TypeError(
                f"{child_name!r} must be a Cell to be registered, not {type(child_cell).__name__}."
            )
        taken = child_name in self.__dict__ and self.__dict__[child_name] is not None
        if child_name in self._params or (taken and child_name not in self._cells):
            raise ValueError(
                f"{type(self).__name__} has another attribute {child_name!r}; give the Cell"
                " another name."
            )
        if self._auto_prefix:
            before = f"{self._param_prefix}." if self._param_prefix else ""
            child_cell.update_parameters_name(f"{before}{child_name}.")
        self._cells[child_name] = child_cell
        self.__dict__[child_name] = child_cell

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a tensor that is state but no parameter, as an attribute.

        Parameters
        ----------
        name : str
            The attribute's name.
        tensor : Tensor or None
            Any shape; None is a place to be filled later.
        persistent : bool
            Whether ``state_dict`` has it.

        Raises
        ------
        KeyError
            If the name is empty, has a dot, or is that of something else.
        TypeError
            If `tensor` is neither a Tensor nor None, or is a Parameter.
        """
        _check_name(name, True)
        if isinstance(tensor, Parameter) or not (tensor is None or isinstance(tensor, Tensor)):
            raise TypeError(
                f"{name!r} must be a Tensor or None to be a buffer, not {type(tensor).__name__}."
            )
        if name not in self._buffers and (hasattr(type(self), name) or name in self.__dict__):
            raise KeyError(f"{type(self).__name__} has another attribute {name!r}.")
        self._buffers[name] = bool(persistent)
        self.__dict__[name] = tensor

    # names

    @property
    def param_prefix(self) -> str:
        """What the names of this Cell's parameters begin with: its path from the outermost Cell."""
        return self._param_prefix

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Name each parameter by its path from this Cell, after a prefix."""
        for name, param in self.parameters_and_names(expand=recurse):
            param.name = f"{prefix}{name}"
        cells = self.cells_and_names() if recurse else [("", self)]
        for name, cell in cells:
            cell.__dict__["_param_prefix"] = f"{prefix}{name}".removesuffix(".")

    def check_names(self) -> None:
        """Check that no two parameters have the same name.

        Raises
        ------
        ValueError
            If two have.
        """
        self.parameters_dict()

    # what is in it

    def cells_and_names(
        self, cells: set[Cell] | None = None, name_prefix: str = ""
    ) -> Iterator[tuple[str, Cell]]:
        """Yield this Cell and all below it, each once, with their names from here.

        Parameters
        ----------
        cells : set of Cell, optional
            Cells that are passed over; those that are yielded are added to it.
        name_prefix : str
            What the names begin with.
        """
        seen: Any = set() if cells is None else cells
        pending: list[tuple[str, Cell]] = [(name_prefix, cast("Cell", self))]
        while pending:
            name, cell = pending.pop()
            if cell in seen:
                continue
            seen.add(cell)
            yield name, cell
            dot = f"{name}." if name else ""
            children = [(f"{dot}{key}", child) for key, child in cell._cells.items()]
            pending += reversed(children)

    def cells(self) -> Iterable[Cell]:
        """The Cells directly below this one."""
        return self._cells.values()

    def name_cells(self) -> dict[str, Cell]:
        """The Cells directly below this one, by name."""
        return dict(self._cells)

    def get_sub_cell(self, target: str) -> Cell:
        """The Cell of that name from here, as ``"layers.0"``; itself for ``""``.

        Raises
        ------
        AttributeError
            If there is none.
        """
        cell: Any = self
        for part in target.split(".") if target else []:
            if part not in cell._cells:
                raise AttributeError(f"{type(cell).__name__} has no Cell {part!r} ({target!r}).")
            cell = cell._cells[part]
        return cell

    def parameters_and_names(
        self, name_prefix: str = "", expand: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters, each once, with their names from here."""
        cells = self.cells_and_names(None, name_prefix) if expand else [(name_prefix, self)]
        seen: set[int] = set()
        for name, cell in cells:
            dot = f"{name}." if name else ""
            for key, param in cell._params.items():
                if id(param) not in seen:
                    seen.add(id(param))
                    yield f"{dot}{key}", param

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """Yield the parameters, each once."""
        for _, param in self.parameters_and_names(expand=expand):
            yield param

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The parameters that are trained."""
        return [param for param in self.get_parameters(recurse) if param.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The parameters that are not trained."""
        return [param for param in self.get_parameters(recurse) if not param.requires_grad]

    def parameters_dict(self, recurse: bool = True) -> dict[str, Parameter]:
        """The parameters by their own names.

        Raises
        ------
        ValueError
            If two have the same name.
        """
        found: dict[str, Parameter] = {}
        for param in self.get_parameters(recurse):
            if param.name in found:
                raise ValueError(f"two parameters are named {param.name!r}; give them other names.")
            found[param.name] = param
        return found

    def init_parameters_data(self) -> dict[Parameter, Parameter]:
        """Make the data of all parameters now, instead of when each is first read.

        Returns
        -------
        dict of Parameter to Parameter
            Each parameter by itself: none is replaced.
        """
        for param in self.get_parameters():
            param.init_data()
        return {param: param for param in self.get_parameters()}

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Yield the buffers that are no None, with their names from here."""
        cells = self.cells_and_names(None, prefix) if recurse else [(prefix, self)]
        for name, cell in cells:
            dot = f"{name}." if name else ""
            for key in cell._buffers:
                if cell.__dict__[key] is not None:
                    yield f"{dot}{key}", cell.__dict__[key]

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers that are no None."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer


def _check_name(name: Any, check_dot: bool) -> None:
    if not isinstance(name, str):
        raise TypeError(f"a registered name must be a str, not {type(name).__name__}.")
    if not name or (check_dot and "." in name):
        raise KeyError(f"a registered name must not be empty nor have a dot: {name!r}.")
