"""Byte code is read as ``dis`` says it."""

from __future__ import annotations

import argparse
import inspect
import types
from collections.abc import Iterator

import numpy as np
import pytest
from cellwire.engine.compiler import bytecode, journal, lower, trace, walker
from cellwire.engine.nn.optim import base

MODULES = (argparse, inspect, np.lib.stride_tricks, journal, lower, trace, walker, base)


def codes_of(found: object, module: str) -> Iterator[types.CodeType]:
    if isinstance(found, types.FunctionType) and found.__module__ == module:
        yield from nested(found.__code__)
    elif isinstance(found, type) and found.__module__ == module:
        for part in vars(found).values():
            yield from codes_of(part, module)


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from nested(part)


@pytest.mark.skipif(not bytecode.PLAIN, reason="this Python's byte code is read by dis")
@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_it_reads_what_dis_says(module: types.ModuleType) -> None:
    codes = [c for found in vars(module).values() for c in codes_of(found, module.__name__)]
    assert len(codes) > 3 or module is np.lib.stride_tricks
    for code in codes:
        found, wanted = bytecode.plain_instructions(code), bytecode.told_instructions(code)
        assert [*map(repr, found)] == [*map(repr, wanted)], code
