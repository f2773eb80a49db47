"""Cell: a part of a network, with its parameters, its sub-Cells and its `construct`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from ..context import GRAPH_MODE, context
from ..ops.registry import records, traces
from ..parameter import Parameter, ParameterTuple
from ..tensor import Tensor
from .hooks import HookHandle, Hooks, call_with_hooks


class Cell:
    """The base of every layer, loss and network.

    A subclass makes its parameters and sub-Cells in ``__init__`` and computes in ``construct``;
    calling the Cell runs it. Parameters and Cells that are set as attributes are registered under
    the attribute's name. A Cell starts in inference; ``set_train`` switches it and all below it.

    Parameters
    ----------
    auto_prefix : bool
        Whether the names of parameters of sub-Cells begin with the sub-Cell's name.
    """

    training: bool
    hooks: Hooks

    def __init__(self, auto_prefix: bool = True) -> None:
        fields = self.__dict__
        fields["_params"] = {}
        fields["_cells"] = {}
        fields["hooks"] = Hooks()
        fields["_auto_prefix"] = auto_prefix
        fields["_has_bprop"] = hasattr(self, "bprop")
        fields["training"] = False

    # registration

    def __setattr__(self, name: str, value: Any) -> None:
        fields = self.__dict__
        if "_params" not in fields:
            raise AttributeError(
                f"{type(self).__name__}: call super().__init__() before setting {name!r}."
            )
        if isinstance(value, Parameter):
            self.insert_param_to_cell(name, value)
        elif isinstance(value, Cell):
            self.insert_child_to_cell(name, value)
        elif isinstance(value, Tensor) and name in self._params:
            self._params[name].set_data(value)
        else:
            self._check_slot(name, value)
            if isinstance(value, list | tuple):
                self._register_items(name, value)
            fields[name] = value

    def _check_slot(self, name: str, value: Any) -> None:
        for kind, table in (("Cell", self._cells), ("Parameter", self._params)):
            if name in table and value is not None:
                raise TypeError(
                    f"{type(self).__name__}.{name} is a {kind}; it cannot become"
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
        elif any(isinstance(item, Cell) for item in value):
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
        if name in self._params:
            del self._params[name]
        elif name in self._cells:
            del self._cells[name]
        self.__dict__.pop(name, None)

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
        if param.name == "Parameter":
            param.name = param_name
        self._params[param_name] = param
        self.__dict__[param_name] = param

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
        if not isinstance(child_cell, Cell):
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
            child_cell.update_parameters_name(f"{child_name}.")
        self._cells[child_name] = child_cell
        self.__dict__[child_name] = child_cell

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Name each parameter by its path from this Cell, after a prefix."""
        for name, param in self.parameters_and_names(expand=recurse):
            param.name = f"{prefix}{name}"

    # running

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; every subclass that is called defines it."""
        raise AttributeError(
            f"For 'Cell', the method 'construct' is not defined in {type(self).__name__}."
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the Cell: its hooks and `construct`; compiled as a whole in graph mode."""
        if context.mode == GRAPH_MODE and not traces:
            from ..compiler.jit import call_compiled

            return call_compiled(self, args, kwargs)
        return self.eager_call(*args, **kwargs)

    def eager_call(self, *args: Any, **kwargs: Any) -> Any:
        """Run the Cell op by op, whatever the mode."""
        fields = self.__dict__
        run = self.construct
        if fields["_has_bprop"] and (records or traces):
            run = self._construct_with_bprop
        if fields["hooks"]:
            return call_with_hooks(self, run, args, kwargs)
        return run(*args, **kwargs)

    def _construct_with_bprop(self, *args: Any, **kwargs: Any) -> Any:
        from ..autograd.custom import custom_bprop

        return custom_bprop(self, args, kwargs)

    def register_forward_pre_hook(
        self, hook_fn: Callable[..., Any], with_kwargs: bool = False
    ) -> HookHandle:
        """Call ``hook_fn(cell, args)`` before ``construct``; its result replaces the arguments."""
        return self.hooks.add("forward_pre", hook_fn, with_kwargs)

    def register_forward_hook(
        self, hook_fn: Callable[..., Any], with_kwargs: bool = False
    ) -> HookHandle:
        """Call ``hook_fn(cell, args, output)`` after ``construct``; its result is the output."""
        return self.hooks.add("forward", hook_fn, with_kwargs)

    def register_backward_pre_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Call ``hook_fn(cell, grad_output)`` before the Cell's gradient is computed.

        Gradients come as tuples; a result that is not None replaces them.
        """
        return self.hooks.add("backward_pre", hook_fn)

    def register_backward_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Call ``hook_fn(cell, grad_input, grad_output)`` after the Cell's gradient is computed.

        Gradients come as tuples; a result that is not None replaces ``grad_input``. The hook runs
        where a gradient flows back to an input of the Cell.
        """
        return self.hooks.add("backward", hook_fn)

    # modes

    def set_train(self, mode: bool = True) -> Self:
        """Switch this Cell and all below it to training (or, `mode=False`, to inference)."""
        for _, cell in self.cells_and_names():
            cell.__dict__["training"] = bool(mode)
        return self

    # what is in it

    def cells_and_names(self, name_prefix: str = "") -> Iterator[tuple[str, Cell]]:
        """Yield this Cell and all below it, each once, with their names from here."""
        seen: set[int] = set()
        pending: list[tuple[str, Cell]] = [(name_prefix, self)]
        while pending:
            name, cell = pending.pop()
            if id(cell) in seen:
                continue
            seen.add(id(cell))
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

    def parameters_and_names(
        self, name_prefix: str = "", expand: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters, each once, with their names from here."""
        cells = self.cells_and_names(name_prefix) if expand else [(name_prefix, self)]
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

    def set_grad(self, requires_grad: bool = True) -> Self:
        """Kept for MindSpore's scripts: gradients are asked for by `grad` and `value_and_grad`."""
        return self

    # words

    def extend_repr(self) -> str:
        """What stands in the brackets of the Cell's repr."""
        return ""

    def __repr__(self) -> str:
        words, name = self.extend_repr(), type(self).__name__
        if not self._cells:
            return f"{name}<{words}>"
        parts = [words] if words else []
        parts += [f"({key}): {cell!r}" for key, cell in self._cells.items()]
        return f"{name}<" + "".join(f"\n{part}" for part in parts).replace("\n", "\n  ") + "\n  >"


def _check_name(name: Any, check_dot: bool) -> None:
    if not isinstance(name, str):
        raise TypeError(f"a registered name must be a str, not {type(name).__name__}.")
    if not name or (check_dot and "." in name):
        raise KeyError(f"a registered name must not be empty nor have a dot: {name!r}.")
