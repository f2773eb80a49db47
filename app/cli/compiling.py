"""`cellwire compile FILE`: compiles groups of nodes and prints what they became."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from ...engine.run.graph import GraphError
from ...nodes.changes import AddGroup
from ...nodes.items import Group, new_id
from ..session.messages import CompileGroup, GroupReport
from .driver import Driver
from .exits import CliError, Exit
from .output import Output, duration, table


def add(commands: argparse._SubParsersAction, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "compile",
        parents=[shared],
        help="compile nodes into fused machine code and report",
        description="Compiles the document's groups, one of them, or a selection of nodes; "
        "compares the results with eager ones and measures both. The file is not changed.",
    )
    parser.add_argument("file", type=Path)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--group", metavar="NAME", help="a group of the document")
    which.add_argument("--nodes", metavar="A,B,C", help="names of nodes to compile together")
    parser.add_argument("--code", action="store_true", help="print the generated code too")
    parser.set_defaults(carry_out=carry_out)


def carry_out(options: argparse.Namespace, output: Output) -> int:
    """Compile and report."""
    with Driver(output) as driver:
        driver.open(options.file)
        if options.nodes is not None:
            groups = [_group_of(driver, options.nodes)]
        else:
            groups = _groups(driver, options.group)
        for group in groups:
            report = driver.ask(CompileGroup(group))
            if isinstance(report, GroupReport):
                _show(driver, output, report, code=options.code)
    return Exit.OK


def _group_of(driver: Driver, names: str) -> str:
    """A new group of the named nodes; the session's document alone gets it."""
    try:
        nodes = [driver.session.graph.node(name.strip()).id for name in names.split(",")]
    except GraphError as error:
        raise CliError(str(error), code=Exit.USAGE) from error
    group = Group(id=new_id(), name="selection", nodes=tuple(nodes))
    driver.patch(AddGroup(group))
    return group.id


def _groups(driver: Driver, name: str | None) -> list[str]:
    groups = driver.session.document.groups
    found = [group.id for group in groups.values() if name is None or name == group.name]
    if found:
        return found
    known = ", ".join(group.name for group in groups.values())
    if name is None:
        raise CliError(
            "The document has no compile groups.",
            "Name the nodes to compile: --nodes a,b,c",
            code=Exit.USAGE,
        )
    raise CliError(
        f"The document has no group {name!r}.",
        f"Its groups: {known}." if known else "Name the nodes to compile: --nodes a,b,c",
        code=Exit.USAGE,
    )


def _show(driver: Driver, output: Output, report: GroupReport, *, code: bool) -> None:
    fields = msgspec.structs.asdict(report)
    del fields["request"]
    fields["nodes"] = [driver.name(node) for node in report.nodes]
    if not code:
        del fields["code"]
    output.record("group", **fields)
    rows = [
        (kernel.kind, ", ".join(map(driver.name, kernel.nodes)), ", ".join(kernel.ops))
        for kernel in report.kernels
    ] + [
        ("host step", ", ".join(map(driver.name, step.nodes)), f"{step.op}: {step.reason}")
        for step in report.host_steps
    ]
    eager, compiled = report.eager_microseconds / 1e6, report.compiled_microseconds / 1e6
    ratio = eager / compiled if compiled > 0 else 0.0
    output.say(
        f"{report.name}: {len(report.nodes)} nodes, {len(report.kernels)} kernels, "
        f"{len(report.host_steps)} host steps",
        table(("kernel", "nodes", "ops"), rows),
        f"compiled in {duration(report.compile_milliseconds / 1e3)}; eager {duration(eager)}, "
        f"compiled {duration(compiled)} ({ratio:.2f} times as fast); largest deviation "
        f"{report.parity:.2g}; arena {report.arena_bytes} bytes",
    )
    if code:
        output.say(report.code)
