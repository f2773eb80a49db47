"""The loop IR as text: what `str(function)` shows, what golden tests and cache keys are made of."""

from __future__ import annotations

from .expressions import Call, Const, Expr, Index, Load, Term, Var, walk
from .loops import Function, Let, Loop, Reduce, Statement, Store


def function_text(function: Function) -> str:
    """Print a function, a line a statement; parts used twice in a statement get a `%` name."""
    params = [f"{b.name}: {b.dtype}{' noalias' if b.noalias else ''}" for b in function.buffers]
    params += [f"{name}: int" for name in function.ints]
    lines = [f"{function.name}({', '.join(params)}):"]
    lines += [f"  scratch {s.name}: {s.dtype}[{s.size}]" for s in function.scratch]
    _body(function.body, 1, lines)
    return "\n".join(lines) + "\n"


def _body(body: tuple[Statement, ...], depth: int, lines: list[str]) -> None:
    pad = "  " * depth
    for statement in body:
        if isinstance(statement, Loop):
            accumulators = "".join(f" {a.name}={a.kind}:{a.dtype}" for a in statement.accumulators)
            word = "vector" if statement.vector else "for"
            lines.append(f"{pad}{word} {statement.var} < {statement.extent}{accumulators}:")
            _body(statement.body, depth + 1, lines)
            continue
        shared, value = expression_text(statement.value)
        lines += [f"{pad}{line}" for line in shared]
        match statement:
            case Let(name):
                lines.append(f"{pad}{name} = {value}")
            case Store(buffer, index):
                lines.append(f"{pad}{buffer}[{index_text(index)}] = {value}")
            case Reduce(name):
                lines.append(f"{pad}{name} <- {value}")


def index_text(index: Index) -> str:
    """Print an index as a sum."""
    parts = [_term(term) for term in index.terms]
    if index.offset or not parts:
        parts.append(str(index.offset))
    return " + ".join(parts)


def _term(term: Term) -> str:
    factors = [term.name, *([str(term.scale)] if term.scale != 1 else []), *term.params]
    return "*".join(factors)


def expression_text(root: Expr) -> tuple[list[str], str]:
    """Return definitions of the calls and loads used more than once, and the expression itself."""
    uses: dict[int, int] = {}
    nodes = list(walk(root))
    for node in nodes:
        if isinstance(node, Call):
            for arg in node.args:
                uses[id(arg)] = uses.get(id(arg), 0) + 1
    shown: dict[int, str] = {}
    definitions: list[str] = []
    for node in nodes:
        text = _node(node, shown)
        if isinstance(node, Call | Load) and uses.get(id(node), 0) > 1:
            definitions.append(f"%{len(definitions)} = {text}")
            text = f"%{len(definitions) - 1}"
        shown[id(node)] = text
    return definitions, shown[id(root)]


def _node(node: Expr, shown: dict[int, str]) -> str:
    match node:
        case Const(value, dtype):
            exact = value.hex() if isinstance(value, float) else repr(value)
            return f"{exact}:{dtype}"
        case Var(name):
            return name
        case Load(buffer, index):
            return f"{buffer}[{index_text(index)}]"
        case Call(op, args, dtype):
            name = f"cast:{dtype}" if op == "cast" else op
            return f"{name}({', '.join(shown[id(arg)] for arg in args)})"
    raise TypeError(f"{type(node).__name__} is not an expression")
