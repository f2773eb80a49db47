"""`map`: functions and transforms of columns, row by row, by workers, or on whole blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import config, workers
from .columns import Row, named_array, positive, require_columns, require_distinct
from .operations import Over
from .pipeline import Dataset
from .randomness import Drawing, new_key, seed_python
from .workers import RowError

Task = tuple[int, int, Row]
"""Pass, number and values of a row."""


@dataclass
class RowFunction:
    """What `map` does to the values of one row; a worker process gets it as a whole."""

    operations: list[Callable[..., Any]]
    inputs: list[str]
    outputs: list[str]
    key: np.ndarray
    source: str
    seeds_python: bool = False
    hooks: list[Callable[..., Any]] = field(default_factory=list)

    def __call__(self, task: Task) -> Row:
        epoch, number, values = task
        if self.seeds_python:
            seed_python(self.key, epoch, number)
        with Drawing(self.key, epoch, number):
            results: tuple[Any, ...] = values
            for hook in self.hooks:
                hook(*results)
            for operation in self.operations:
                results = self._apply(operation, results, number)
                for hook in self.hooks:
                    hook(*results)
        if len(results) != len(self.outputs):
            raise ValueError(
                f"map: the operations give {len(results)} results for {len(self.outputs)} columns"
                f" ({', '.join(self.outputs)}) in row {number}."
            )
        try:
            return tuple(map(named_array, results, self.outputs))
        except TypeError as error:
            raise RowError(f"{self._place(self.operations[-1], number)}: {error}") from error

    def _apply(
        self, operation: Callable[..., Any], values: tuple[Any, ...], number: int
    ) -> tuple[Any, ...]:
        try:
            found = operation(*values)
        except Exception as error:
            raise RowError(
                f"{self._place(operation, number)}: {type(error).__name__}: {error}"
            ) from error
        return found if isinstance(found, tuple) else (found,)

    def _place(self, operation: Callable[..., Any], number: int) -> str:
        name = getattr(operation, "__name__", None) or type(operation).__name__
        return f"{self.source}, map of {', '.join(self.inputs)}, row {number}, operation {name}"


class Mapped(Over):
    """Columns put through operations; the results stand where the first input was."""

    def __init__(
        self,
        source: Dataset,
        operations: list[Callable[..., Any]],
        inputs: list[str],
        outputs: list[str],
        workers_asked: int | None,
        processes: bool,
    ) -> None:
        require_columns("map", inputs, source.column_names)
        for operation in operations:
            if not callable(operation):
                raise TypeError(f"map: the operation {operation!r} is not callable.")
        if not operations:
            raise ValueError("map: give at least one operation.")
        kept = [name for name in source.column_names if name not in inputs]
        first = source.column_names.index(inputs[0])
        at = len([name for name in source.column_names[:first] if name in kept])
        columns = [*kept[:at], *outputs, *kept[at:]]
        require_distinct("map", columns)
        super().__init__(source, columns)
        if workers_asked is not None:
            positive("map", "num_parallel_workers", workers_asked)
        self.workers, self.processes = workers_asked, processes
        self.function = RowFunction(operations, inputs, outputs, new_key(), source.origin)
        self._inputs = [source.column_names.index(name) for name in inputs]
        self._kept = {name: source.column_names.index(name) for name in kept}

    def rows(self, epoch: int) -> Iterator[Row]:
        """Yield the rows, mapped by this thread or by workers."""
        count = config.workers_for(self.workers)
        self.function.hooks = config.debug_hooks()
        held = deque[Row]()  # rows whose values are with the workers, oldest first

        def tasks() -> Iterator[Task]:
            for number, row in enumerate(self.source.rows(epoch)):
                held.append(row)
                yield epoch, number, tuple(row[at] for at in self._inputs)

        self.function.seeds_python = self.processes and count > 1
        if count == 1:
            results: Iterator[Row] = map(self.function, tasks())
        elif self.processes:
            where = f"map of {', '.join(self.function.inputs)}"
            results = workers.in_processes(self.function, tasks(), count, where)
        else:
            results = workers.in_threads(self.function, tasks(), count)
        for result in results:
            yield self._ordered(held.popleft(), result)

    def _ordered(self, row: Row, results: Row) -> Row:
        values = dict(zip(self.function.outputs, results, strict=True))
        return tuple(
            values[name] if name in values else row[self._kept[name]] for name in self.column_names
        )

    @property
    def stacked(self) -> bool:
        """Whether every operation can take rows stacked, and the source gives them so."""
        one = len(self.function.inputs) == len(self.function.outputs) == 1
        return (
            one
            and config.workers_for(self.workers) == 1
            and not config.debug_hooks()
            and self.source.stacked
            and all(getattr(op, "takes_blocks", False) for op in self.function.operations)
        )

    def blocks(self, epoch: int, size: int) -> Iterator[Row]:
        """Yield blocks, each mapped at once where the operations can."""
        if not self.stacked:
            yield from super().blocks(epoch, size)
            return
        first = 0
        for block in self.source.blocks(epoch, size):
            yield self._ordered(block, (self._mapped(block[self._inputs[0]], epoch, first),))
            first += len(block[0])

    def _mapped(self, block: np.ndarray, epoch: int, first: int) -> np.ndarray:
        mapped: Any = block
        try:
            for operation in self.function.operations:
                mapped = operation.block(mapped)  # pyright: ignore[reportFunctionMemberAccess]
        except Exception:
            for number, row in enumerate(block):  # the error of the row, which names it
                self.function((epoch, first + number, (row,)))
            raise
        return mapped
