"""One process is a group of one, and says so after ``init``."""

from __future__ import annotations

from collections.abc import Iterator

import cellwire as cw
import pytest


@pytest.fixture(autouse=True)
def _released() -> Iterator[None]:
    cw.communication.release()
    yield
    cw.communication.release()


def test_there_is_one_process() -> None:
    from cellwire.communication import get_group_size, get_rank, init

    init("nccl")
    assert (get_rank(), get_group_size()) == (0, 1)


def test_questions_before_init_and_unknown_backends_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"call communication\.init\(\) first"):
        cw.communication.get_rank()
    with pytest.raises(ValueError, match="must be one of gloo"):
        cw.communication.init("smoke")
