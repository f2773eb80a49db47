"""Older files brought up to this version, one step a version, on plain JSON data."""

from collections.abc import Callable, Mapping

from .state import DocumentError

VERSION = 1
Raw = dict[str, object]
Step = Callable[[Raw], Raw]

STEPS: Mapping[int, Step] = {}
"""For each older version the step to the next; version 1 is the first and needs none."""


def migrate(raw: Raw, steps: Mapping[int, Step] = STEPS, version: int = VERSION) -> Raw:
    """`raw`, a decoded file, as a file of `version`.

    Raises
    ------
    DocumentError
        The file names no version, a newer one, or one that no step leads on from.
    """
    found = raw.get("version")
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise DocumentError(
            f"version is {found!r}; a Cellwire document has the number of its format there."
        )
    if found > version:
        raise DocumentError(
            f"it was saved by a newer Cellwire (format {found}; this one reads up to {version}): "
            "update Cellwire to open it."
        )
    for number in range(found, version):
        if number not in steps:
            raise DocumentError(f"nothing here reads format {number} any more.")
        raw = steps[number](raw) | {"version": number + 1}
    return raw
