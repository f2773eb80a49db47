"""Byte code is read as ``dis`` says it."""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterator

import pytest
from cellwire.engine.compiler import bytecode

MODULES = (
    "argparse",
    "inspect",
    "cellwire.engine.compiler.journal",
    "cellwire.engine.compiler.lower",
    "cellwire.engine.compiler.trace",
    "cellwire.engine.compiler.walker",
    "cellwire.engine.nn.optim.base",
)


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
@pytest.mark.parametrize("name", MODULES)
def test_it_reads_what_dis_says(name: str) -> None:
    module = importlib.import_module(name)
    codes = [code for found in vars(module).values() for code in codes_of(found, name)]
    assert len(codes) > 10
    for code in codes:
        found, wanted = bytecode.plain_instructions(code), bytecode.told_instructions(code)
        assert [*map(repr, found)] == [*map(repr, wanted)], code
