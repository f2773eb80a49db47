"""A program as LLVM text: one function for one thread, or one that runs single tickets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from .runtime import Program, Slot, Step

DATA_OFFSET: Final = object.__basicsize__
"""Where a NumPy array object holds its data pointer: after the object's head."""
HEAD: Final = 2
"""Words of the bound part before the buffers: the workers' state and their `share`; 0: none."""


def print_program(program: Program, declarations: dict[str, str]) -> str:
    """Return the LLVM definition of a program; what it calls is put into `declarations`."""
    if program.parts == 1:
        body = _Body(program, _places(program))
        for step in program.steps:
            body.call(step, declarations)
            body.stop([step])
        lines = [f"define void @{program.name}(ptr %call) nounwind {{", "entry:", *body.lines]
        return "\n".join([*lines, "  ret void", "}"])
    return f"{_tickets(program, declarations)}\n\n{_shared(program)}"


class _Body:
    """Instructions of one block; the words it needs are loaded where they are first used."""

    def __init__(self, program: Program, places: dict[str, int], prefix: str = "") -> None:
        self.program = program
        self.prefix = prefix
        self.places = places
        self.lines: list[str] = [f"  %{prefix}bound = load ptr, ptr %call, align 8"]
        self._loaded: dict[str, str] = {}
        self._count = 0

    def fresh(self) -> str:
        self._count += 1
        return f"%{self.prefix}x{self._count}"

    def pointer(self, slot: Slot) -> str:
        """Return the address of a buffer."""
        key = f"{slot.kind}{slot.index}"
        if key not in self._loaded:
            if slot.kind == "array":
                held = self._word("%call", 1 + slot.index, "ptr")
                place = self.fresh()
                self.lines.append(f"  {place} = getelementptr i8, ptr {held}, i64 {DATA_OFFSET}")
                self._loaded[key] = self._load(place, "ptr")
            else:
                self._loaded[key] = self._word(f"%{self.prefix}bound", HEAD + slot.index, "ptr")
        if not slot.offset:
            return self._loaded[key]
        moved = self.fresh()
        self.lines.append(
            f"  {moved} = getelementptr i8, ptr {self._loaded[key]}, i64 {slot.offset}"
        )
        return moved

    def number(self, value: int | str) -> str:
        """Return an int: a number, or a word of the bound part."""
        if isinstance(value, int):
            return str(value)
        if value not in self._loaded:
            word = HEAD + self.program.fixed + self.places[value]
            self._loaded[value] = self._word(f"%{self.prefix}bound", word, "i64")
        return self._loaded[value]

    def _word(self, base: str, index: int, kind: str) -> str:
        place = self.fresh()
        self.lines.append(f"  {place} = getelementptr i64, ptr {base}, i64 {index}")
        return self._load(place, kind)

    def _load(self, place: str, kind: str) -> str:
        found = self.fresh()
        self.lines.append(f"  {found} = load {kind}, ptr {place}, align 8")
        return found

    def call(self, step: Step, declarations: dict[str, str], part: str | None = None) -> None:
        """Call a step's kernel: all of it, or a share of its rows."""
        pointers = [self.pointer(slot) for slot in step.buffers]
        numbers = [self.number(value) for value in step.ints]
        if part is not None and step.rows is not None:
            first, numbers[step.rows.count] = self._share(
                numbers[step.rows.count], part, step.rows.grain
            )
            pointers = [
                self._moved(pointer, first, width)
                for pointer, width in zip(pointers, step.rows.advance, strict=True)
            ]
            if step.rows.first is not None:
                numbers[step.rows.first] = first
            if step.rows.apart:
                pointers = [
                    self._moved(pointer, part, width)
                    for pointer, width in zip(pointers, step.rows.apart, strict=True)
                ]
        kinds = ["ptr"] * len(pointers) + ["i64"] * len(numbers)
        given = [f"{kind} {name}" for kind, name in zip(kinds, [*pointers, *numbers], strict=True)]
        declarations[step.kernel] = f"declare void @{step.kernel}({', '.join(kinds)})"
        self.lines.append(f"  call void @{step.kernel}({', '.join(given)})")

    def stop(self, steps: Sequence[Step]) -> None:
        """Return to the caller if one of these steps, which have run, said so."""
        for step in steps:
            if step.stop is None:
                continue
            word = self._load(self.pointer(step.stop), "i64")
            right = self.fresh()
            self._count += 1
            stopped, on = (f"{self.prefix}{word}{self._count}" for word in ("stopped", "on"))
            self.lines += [
                f"  {right} = icmp slt i64 {word}, 0",
                f"  br i1 {right}, label %{on}, label %{stopped}",
                f"{stopped}:", "  ret void", f"{on}:",
            ]  # fmt: skip

    def _share(self, count: str, part: str, grain: int) -> tuple[str, str]:
        """Return the first row of a part and how many rows it has."""
        key = f"share of {count} by {grain}"
        if key not in self._loaded:
            following, rows = self.fresh(), self.fresh()
            self.lines.append(f"  {following} = add i64 {part}, 1")
            first = self._border(count, part, grain)
            last = self._border(count, following, grain)
            self.lines.append(f"  {rows} = sub i64 {last}, {first}")
            self._loaded[key], self._loaded[f"rows of {key}"] = first, rows
        return self._loaded[key], self._loaded[f"rows of {key}"]

    def _border(self, count: str, part: str, grain: int) -> str:
        """Return where a part begins: its due row, or the next that a share may begin with."""
        work, due = self.fresh(), self.fresh()
        self.lines += [
            f"  {work} = mul i64 {count}, {part}",
            f"  {due} = udiv i64 {work}, {self.program.parts}",
        ]
        if grain == 1:
            return due
        more, grains, at, late, border = (self.fresh() for _ in range(5))
        self.lines += [
            f"  {more} = add i64 {due}, {grain - 1}",
            f"  {grains} = udiv i64 {more}, {grain}",
            f"  {at} = mul i64 {grains}, {grain}",
            f"  {late} = icmp ugt i64 {at}, {count}",
            f"  {border} = select i1 {late}, i64 {count}, i64 {at}",
        ]
        return border

    def _moved(self, pointer: str, count: str, width: int) -> str:
        if not width:
            return pointer
        key = f"{count} times {width}"
        if key not in self._loaded:
            self._loaded[key] = self.fresh()
            self.lines.append(f"  {self._loaded[key]} = mul i64 {count}, {width}")
        moved = self.fresh()
        self.lines.append(f"  {moved} = getelementptr i8, ptr {pointer}, i64 {self._loaded[key]}")
        return moved


def _places(program: Program) -> dict[str, int]:
    """Return where each size stands among the program's."""
    return {name: place for place, name in enumerate(program.ints)}


def _tickets(program: Program, declarations: dict[str, str]) -> str:
    """Return the function that runs one ticket: a share of one region."""
    declarations["cellwire_wait"] = "declare void @cellwire_wait(ptr, i64)"
    starts = np.cumsum([0, *program.tickets])
    cases, blocks, places = [], [], _places(program)
    at = 0
    for region, (count, tickets) in enumerate(zip(program.regions, program.tickets, strict=True)):
        first = int(starts[region])
        cases += [f"    i64 {first + i}, label %region{region}" for i in range(tickets)]
        body = _Body(program, places, f"r{region}.")
        body.stop(program.steps[:at])
        part = None
        if tickets > 1:
            part = f"%r{region}.part"
            body.lines.append(f"  {part} = sub i64 %ticket, {first}")
        for step in program.steps[at : at + count]:
            body.call(step, declarations, part)
            body.stop([step])
        at += count
        wait = f"  call void @cellwire_wait(ptr %state, i64 {first})"
        blocks += [f"region{region}:", *([wait] if first else []), *body.lines, "  ret void"]
    head = (
        f"define internal void @{program.name}.work(ptr %call, i64 %ticket, ptr %state) nounwind {{"
    )
    switch = ["entry:", "  switch i64 %ticket, label %none [", *cases, "  ]", "none:", "  ret void"]
    return "\n".join([head, *switch, *blocks, "}"])


def _shared(program: Program) -> str:
    """Return the program's entry: its tickets by the workers, or all by the caller."""
    total = sum(program.tickets)
    return f"""\
define void @{program.name}(ptr %call) nounwind {{
entry:
  %bound = load ptr, ptr %call, align 8
  %state = load ptr, ptr %bound, align 8
  %place = getelementptr i64, ptr %bound, i64 1
  %share = load ptr, ptr %place, align 8
  %alone = icmp eq ptr %state, null
  br i1 %alone, label %next, label %together
together:
  call void %share(ptr %state, ptr @{program.name}.work, ptr %call, i64 {total})
  ret void
next:
  %ticket = phi i64 [0, %entry], [%more, %one]
  %done = icmp uge i64 %ticket, {total}
  br i1 %done, label %end, label %one
one:
  call void @{program.name}.work(ptr %call, i64 %ticket, ptr null)
  %more = add i64 %ticket, 1
  br label %next
end:
  ret void
}}"""
