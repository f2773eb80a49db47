"""`cellwire info FILE`: lists nodes, shapes, parameter counts and problems."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec
from rich.text import Text

from ...nodes.infer import Inference
from ..session.messages import Problem
from .driver import Driver
from .exits import Exit
from .output import Output, table


def add(commands: argparse._SubParsersAction, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "info",
        parents=[shared],
        help="list nodes, shapes, parameters and problems",
        description="Lists what is in a document without running it. Ends with code 2 when its "
        "graph cannot run.",
    )
    parser.add_argument("file", type=Path)
    parser.set_defaults(carry_out=carry_out)


def carry_out(options: argparse.Namespace, output: Output) -> int:
    """Show the document as inference sees it."""
    with Driver(output) as driver:
        loaded = driver.open(options.file, runnable=False)
        inference = driver.session.inference
        document = driver.session.document
        listed = [_node(driver, inference, id) for id in _ordered(driver, inference)]
        problems = [_problem(driver, problem) for problem in loaded.problems]
        output.record(
            "info",
            title=document.title,
            nodes=listed,
            parameters=loaded.parameters,
            problems=problems,
        )
        rows = [
            (n["name"], n["summary"], ", ".join(n["outputs"].values()), f"{n['parameters']:,}")
            for n in listed
        ]
        output.say(table(("node", "kind", "output", "parameters>"), rows))
        output.say(
            f"{document.title}: {loaded.nodes} nodes, {len(document.edges)} wires, "
            f"{loaded.parameters:,} parameters"
        )
        for problem in loaded.problems:
            style = "bold red" if problem.severity == "error" else "yellow"
            where = f"{driver.name(problem.node)}: " if problem.node else ""
            text = f"{where}{problem.message} {problem.fix}".rstrip()
            output.say(Text.assemble((f"{problem.severity}: ", style), text))
        broken = any(problem.severity == "error" for problem in loaded.problems)
    return Exit.USAGE if broken else Exit.OK


def _ordered(driver: Driver, inference: Inference) -> list[str]:
    """All nodes, those of a cycle last."""
    rest = sorted(driver.session.document.nodes.keys() - set(inference.order))
    return [*inference.order, *rest]


def _node(driver: Driver, inference: Inference, id: str) -> dict:
    node = driver.session.document.nodes[id]
    cost = inference.costs.get(id)
    return {
        "name": node.name,
        "type": node.type,
        "summary": inference.summaries.get(id, node.type),
        "outputs": {
            port: str(aval) for (owner, port), aval in inference.avals.items() if owner == id
        },
        "parameters": cost.parameters if cost else 0,
    }


def _problem(driver: Driver, problem: Problem) -> dict:
    return msgspec.structs.asdict(problem) | {"node": driver.name(problem.node)}
