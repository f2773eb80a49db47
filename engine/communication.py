"""Groups of processes under MindSpore's names: there is one process, which is a group of one."""

from __future__ import annotations

BACKENDS = ("gloo", "hccl", "mccl", "nccl")
_started: list[bool] = []


def init(backend_name: str | None = None) -> None:
    """Start communication, as scripts for several devices do first.

    Parameters
    ----------
    backend_name : {"gloo", "hccl", "mccl", "nccl"}, optional
        What several processes would speak through.

    Raises
    ------
    TypeError
        If it is no str.
    ValueError
        If there is no such backend.
    """
    if backend_name is not None and not isinstance(backend_name, str):
        raise TypeError(f"init: backend_name must be a str, it is {backend_name!r}.")
    if backend_name is not None and backend_name not in BACKENDS:
        raise ValueError(
            f"init: backend_name must be one of {', '.join(BACKENDS)}, not {backend_name!r}."
        )
    _started[:] = [True]


def release() -> None:
    """End communication; ``init`` may follow again."""
    _started.clear()


def get_rank(group: str = "world") -> int:
    """Return this process's number in a group.

    Parameters
    ----------
    group : str
        The group's name.

    Returns
    -------
    int
        0, as there is one process.

    Raises
    ------
    RuntimeError
        If ``init`` was not called.
    """
    return _only("get_rank", group) - 1


def get_group_size(group: str = "world") -> int:
    """Return how many processes a group has.

    Parameters
    ----------
    group : str
        The group's name.

    Returns
    -------
    int
        1, as there is one process.

    Raises
    ------
    RuntimeError
        If ``init`` was not called.
    """
    return _only("get_group_size", group)


get_local_rank = get_rank
get_local_rank_size = get_group_size


def _only(name: str, group: str) -> int:
    if not _started:
        raise RuntimeError(f"{name}: call communication.init() first.")
    if not isinstance(group, str):
        raise TypeError(f"{name}: group must be a str, it is {group!r}.")
    return 1


__all__ = ["get_group_size", "get_local_rank", "get_local_rank_size", "get_rank", "init", "release"]
