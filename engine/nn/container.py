"""Containers: Cells in a list, and Cells run one after the other."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, Self

from ..tensor import Tensor
from .cell import Cell


class _CellSequence(Cell):
    """Cells by position, registered under their numbers."""

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[Cell]:
        return iter(tuple(self._cells.values()))

    def __bool__(self) -> bool:
        return len(self) > 0

    def __getitem__(self, index: int | slice | str) -> Any:
        if isinstance(index, str):
            return self._cells[index]
        cells = list(self._cells.values())
        if isinstance(index, slice):
            part = type(self)()
            part._cells.update({str(at): cell for at, cell in enumerate(cells[index])})
            return part
        return cells[self._position(index)]

    def __setitem__(self, index: int | str, cell: Cell) -> None:
        key = index if isinstance(index, str) else list(self._cells)[self._position(index)]
        self.insert_child_to_cell(key, _require_cell(type(self).__name__, cell))

    def __delitem__(self, index: int | slice | str) -> None:
        keys = list(self._cells)
        if isinstance(index, str):
            gone = [index]
        elif isinstance(index, slice):
            gone = keys[index]
        else:
            gone = [keys[self._position(index)]]
        self._renew([cell for key, cell in self._cells.items() if key not in gone])

    def append(self, cell: Cell) -> Self:
        """Add a Cell at the end."""
        self.insert_child_to_cell(str(len(self)), _require_cell(type(self).__name__, cell))
        return self

    def insert(self, index: int, cell: Cell) -> None:
        """Put a Cell before the position `index`."""
        if not -len(self) <= index <= len(self):
            raise IndexError(f"{type(self).__name__}: no place {index} among {len(self)} Cells.")
        cells = list(self._cells.values())
        cells.insert(index, _require_cell(type(self).__name__, cell))
        self._renew(cells)

    def extend(self, cells: Iterable[Cell]) -> Self:
        """Add Cells at the end."""
        for cell in cells:
            self.append(cell)
        return self

    def _position(self, index: int) -> int:
        if isinstance(index, bool) or not isinstance(index, int):
            raise TypeError(
                f"{type(self).__name__}: an index must be an int, not {type(index).__name__}."
            )
        if not -len(self) <= index < len(self):
            raise IndexError(f"{type(self).__name__}: no Cell {index} among {len(self)}.")
        return index % len(self)

    def _renew(self, cells: list[Cell]) -> None:
        """Register these Cells, and no others, under their numbers."""
        for key in self._cells:
            self.__dict__.pop(key, None)
        self._cells.clear()
        for number, cell in enumerate(cells):
            self.insert_child_to_cell(str(number), cell)


class CellList(_CellSequence):
    """Cells in a list that registers them; it has no `construct` of its own.

    Parameters
    ----------
    *args : Cell or list of Cell
        The Cells.
    """

    def __init__(self, *args: Cell | list[Cell] | tuple[Cell, ...]) -> None:
        super().__init__()
        self.extend(_given(args))

    def construct(self, *inputs: Any) -> Any:
        """Not there: call the Cells of the list."""
        raise NotImplementedError("CellList has no construct; call the Cells in it.")


class SequentialCell(_CellSequence):
    """Cells that run one after the other.

    Parameters
    ----------
    *args : Cell, list of Cell, or OrderedDict of str to Cell
        The Cells, in order.
    """

    def __init__(self, *args: Cell | list[Cell] | tuple[Cell, ...] | OrderedDict[str, Cell]):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], dict):
            for name, cell in args[0].items():
                self.insert_child_to_cell(name, _require_cell("SequentialCell", cell))
        else:
            self.extend(_given(args))

    def construct(self, input: Tensor) -> Any:
        """Feed the first Cell, and each other one with what the one before gives."""
        for cell in self._cells.values():
            input = cell(input)
        return input


def _given(args: tuple[Any, ...]) -> list[Cell]:
    if len(args) == 1 and isinstance(args[0], (list, tuple, _CellSequence)):
        return list(args[0])
    return list(args)


def _require_cell(owner: str, cell: Any) -> Cell:
    if not isinstance(cell, Cell):
        raise TypeError(f"{owner} holds Cells, not {type(cell).__name__}.")
    return cell
