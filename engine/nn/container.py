"""Containers: Cells in a list, by name, and run one after the other."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
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
        if isinstance(index, slice):
            part = type(self)()
            # The Cells are shared: their parameters keep the names that they have here.
            part._cells.update(_numbered(list(self._cells.items())[index]))
            part.__dict__.update(part._cells)
            return part
        return list(self._cells.values())[self._position(index)]

    def __setitem__(self, index: int | str, cell: Cell) -> None:
        key = index if isinstance(index, str) else list(self._cells)[self._position(index)]
        self.insert_child_to_cell(key, _require_cell(type(self).__name__, cell))

    def __delitem__(self, index: int | slice | str) -> None:
        keys = list(self._cells)
        if isinstance(index, str):
            if index not in self._cells:
                raise KeyError(f"{type(self).__name__}: no Cell {index!r}.")
            gone = [index]
        elif isinstance(index, slice):
            gone = keys[index]
        else:
            gone = [keys[self._position(index)]]
        self._renew([(key, cell) for key, cell in self._cells.items() if key not in gone])

    def __add__(self, other: Iterable[Cell]) -> Self:
        """A new list of these Cells and the others."""
        return type(self)().extend([*self, *other])

    def __iadd__(self, other: Iterable[Cell]) -> Self:
        return self.extend(other)

    def append(self, cell: Cell) -> Self:
        """Add a Cell at the end."""
        self.insert_child_to_cell(str(len(self)), _require_cell(type(self).__name__, cell))
        return self

    def insert(self, index: int, cell: Cell) -> None:
        """Put a Cell before the position `index`."""
        if not -len(self) <= index <= len(self):
            raise IndexError(f"{type(self).__name__}: no place {index} among {len(self)} Cells.")
        items = list(self._cells.items())
        items.insert(index, ("0", _require_cell(type(self).__name__, cell)))
        self._renew(items)

    def extend(self, cells: Iterable[Cell]) -> Self:
        """Add Cells at the end."""
        if isinstance(cells, Cell) and not isinstance(cells, _CellSequence):
            raise TypeError(f"{type(self).__name__}.extend takes Cells in a list, not one Cell.")
        for cell in list(cells):
            self.append(cell)
        return self

    def pop(self, index: int = -1) -> Cell:
        """Take the Cell at a position out, and return it."""
        cell = self[index]
        del self[index]
        return cell

    def _position(self, index: int) -> int:
        if isinstance(index, bool) or not isinstance(index, int):
            raise TypeError(
                f"{type(self).__name__}: an index must be an int, not {type(index).__name__}."
            )
        if not -len(self) <= index < len(self):
            raise IndexError(f"{type(self).__name__}: no Cell {index} among {len(self)}.")
        return index % len(self)

    def _renew(self, items: list[tuple[str, Cell]]) -> None:
        """Register these Cells and no others; those that had numbers get their new ones."""
        for key in self._cells:
            self.__dict__.pop(key, None)
        self._cells.clear()
        for key, cell in _numbered(items).items():
            self.insert_child_to_cell(key, cell)


def _numbered(items: list[tuple[str, Cell]]) -> dict[str, Cell]:
    """The Cells by their positions, but for those that have a name."""
    return {str(at) if key.isdigit() else key: cell for at, (key, cell) in enumerate(items)}


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


class CellDict(Cell):
    """Cells by name, registered under the names; it has no `construct` of its own.

    Parameters
    ----------
    *args : dict of str to Cell, CellDict, or iterable of pairs, optional
        The Cells with their names, in order.
    """

    def __init__(self, *args: Mapping[str, Cell] | Iterable[tuple[str, Cell]]) -> None:
        super().__init__()
        if len(args) > 1:
            raise TypeError(f"CellDict takes one dict or list of pairs, {len(args)} were given.")
        if args:
            self.update(args[0])

    def __len__(self) -> int:
        return len(self._cells)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._cells))

    def __contains__(self, key: object) -> bool:
        return key in self._cells

    def __getitem__(self, key: str) -> Cell:
        if key not in self._cells:
            raise KeyError(f"CellDict: no Cell {key!r}; it has {', '.join(self._cells) or 'none'}.")
        return self._cells[key]

    def __setitem__(self, key: str, cell: Cell) -> None:
        if isinstance(key, str) and key not in self._cells and hasattr(self, key):
            raise KeyError(f"CellDict has an attribute {key!r}; give the Cell another name.")
        self.insert_child_to_cell(key, _require_cell("CellDict", cell))

    def __delitem__(self, key: str) -> None:
        del self._cells[self._known(key)]
        del self.__dict__[key]

    def _known(self, key: str) -> str:
        self[key]
        return key

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._cells.keys()

    def values(self) -> ValuesView[Cell]:
        """The Cells."""
        return self._cells.values()

    def items(self) -> ItemsView[str, Cell]:
        """The names with the Cells."""
        return self._cells.items()

    def clear(self) -> None:
        """Take all Cells out."""
        for key in list(self):
            del self[key]

    def pop(self, key: str) -> Cell:
        """Take the Cell of that name out, and return it."""
        cell = self[key]
        del self[key]
        return cell

    def update(self, cells: Mapping[str, Cell] | Iterable[tuple[str, Cell]]) -> None:
        """Add Cells by name, in place of those that have the names already."""
        pairs: Any = cells.items() if isinstance(cells, Mapping | CellDict) else cells
        for pair in pairs:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise ValueError(f"CellDict takes pairs of a name and a Cell, one is {pair!r}.")
            self[pair[0]] = pair[1]

    def construct(self, *inputs: Any) -> Any:
        """Not there: call the Cells by their names."""
        raise NotImplementedError("CellDict has no construct; call the Cells in it.")


def _given(args: tuple[Any, ...]) -> list[Cell]:
    if len(args) == 1 and isinstance(args[0], (list, tuple, CellList)):
        return list(args[0])
    return list(args)


def _require_cell(owner: str, cell: Any) -> Cell:
    if not isinstance(cell, Cell):
        raise TypeError(f"{owner} holds Cells, not {type(cell).__name__}.")
    return cell
