"""Which groups of a fusion must run before which, while groups are being merged.

Edges are kept as they are, not closed over paths, so that a merge costs what lies near it and not
what the whole graph holds. A search for a path is cut short by ``high``: a group's and all its
ancestors' last place in the program, beyond which none of them can have got anything.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence


class Dependences:
    """The graph of groups by number; a merged group goes by the number of the first."""

    def __init__(self) -> None:
        self.needs: dict[int, set[int]] = {}
        self.readers: dict[int, set[int]] = {}
        self.first: dict[int, float] = {}
        self.high: dict[int, float] = {}

    def add(self, number: int, needs: Iterable[int], place: float) -> None:
        """Add a group of one node at ``place`` in the program, after the groups it needs."""
        self.needs[number] = {other for other in needs if other != number}
        self.readers[number] = set()
        self.first[number] = place
        self.high[number] = max([place, *(self.high[n] for n in self.needs[number])])
        for other in self.needs[number]:
            self.readers[other].add(number)

    def remove(self, number: int) -> None:
        """Drop a group that nothing reads."""
        for other in self.needs.pop(number):
            self.readers[other].discard(number)
        del self.readers[number], self.first[number], self.high[number]

    def convex(self, numbers: Sequence[int]) -> bool:
        """Return whether no path leaves these groups and comes back to them.

        It is looked for from both ends in turn: one of them often leads nowhere soon, and where
        both meet there is one.
        """
        start = min(self.first[number] for number in numbers)
        end = max(self.high[number] for number in numbers)
        back = [n for number in numbers for n in self.needs[number] if n not in numbers]
        forth = [n for number in numbers for n in self.readers[number] if n not in numbers]
        needed, reached = set(back), set(forth)
        if not needed.isdisjoint(reached):
            return False
        while back and forth:
            number = back.pop()
            if self.high[number] >= start:
                for other in self.needs[number]:
                    if other in numbers or other in reached:
                        return False
                    if other not in needed:
                        needed.add(other)
                        back.append(other)
            number = forth.pop()
            if self.first[number] <= end:
                for other in self.readers[number]:
                    if other in numbers or other in needed:
                        return False
                    if other not in reached:
                        reached.add(other)
                        forth.append(other)
        return True

    def merge(self, numbers: Sequence[int]) -> None:
        """Let the first of these groups stand for all."""
        kept = numbers[0]
        needs = {n for number in numbers for n in self.needs[number]} - set(numbers)
        readers = {n for number in numbers for n in self.readers[number]} - set(numbers)
        first = min(self.first[number] for number in numbers)
        high = max(self.high[number] for number in numbers)
        for number in numbers:
            for other in self.needs[number]:
                self.readers[other].discard(number)
            for other in self.readers[number]:
                self.needs[other].discard(number)
            if number != kept:
                del self.needs[number], self.readers[number], self.first[number], self.high[number]
        self.needs[kept], self.readers[kept], self.first[kept] = needs, readers, first
        for other in needs:
            self.readers[other].add(kept)
        for other in readers:
            self.needs[other].add(kept)
        self._raise(kept, high)

    def _raise(self, number: int, high: float) -> None:
        self.high[number] = high
        waiting = [number]
        while waiting:
            for reader in self.readers[waiting.pop()]:
                if self.high[reader] < high:
                    self.high[reader] = high
                    waiting.append(reader)

    def ordered(self, wanted: Mapping[int, float]) -> list[int]:
        """Return the groups so that each comes after those it needs, else by ``wanted``."""
        missing = {number: len(needs) for number, needs in self.needs.items()}
        ready = [(wanted[number], number) for number, count in missing.items() if not count]
        heapq.heapify(ready)
        order: list[int] = []
        while ready:
            _, number = heapq.heappop(ready)
            order.append(number)
            for reader in self.readers[number]:
                missing[reader] -= 1
                if not missing[reader]:
                    heapq.heappush(ready, (wanted[reader], reader))
        if len(order) < len(missing):
            raise ValueError("fusion made groups that wait for each other")
        return order
