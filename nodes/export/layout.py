"""Python text at 100 columns, as a formatter would leave it."""

from collections.abc import Sequence

WIDTH = 100


def literal(value: object) -> str:
    """A value as source: double quotes, tuples for lists, `1 / 16` for a reciprocal."""
    if isinstance(value, str):
        text = "".join(_escaped(ch) for ch in value)
        return f"'{text}'" if '"' in value and "'" not in value else f'"{_quoted(text)}"'
    if isinstance(value, (list, tuple)):
        inner = ", ".join(literal(item) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)


def _escaped(ch: str) -> str:
    return ch if ch.isprintable() and ch != "\\" else ch.encode("unicode_escape").decode()


def _quoted(text: str) -> str:
    return text.replace('"', '\\"')


def factor(value: float) -> str:
    """A factor as a person writes it: `(1 / 16)` for 0.0625."""
    if 0 < abs(value) < 1 and 1 / round(1 / value) == value:
        return f"({'-' if value < 0 else ''}1 / {abs(round(1 / value))})"
    return repr(value) if value >= 0 else f"({value!r})"


def call(
    indent: int, prefix: str, arguments: Sequence[str], suffix: str = ")", comment: str = ""
) -> list[str]:
    """A call on one line where it fits; its comment is left out where there is no room."""
    pad = " " * indent
    line = f"{pad}{prefix}{', '.join(arguments)}{suffix}"
    if comment and len(line) + len(comment) + 4 <= WIDTH:
        return [f"{line}  # {comment}"]
    if len(line) <= WIDTH or not arguments:
        return [line]
    inner = f"{pad}    {', '.join(arguments)}"
    if len(inner) <= WIDTH:
        return [f"{pad}{prefix}", inner, f"{pad}{suffix}"]
    return [f"{pad}{prefix}", *(f"{pad}    {item}," for item in arguments), f"{pad}{suffix}"]


def sentence(text: str, length: int = 60) -> str:
    """A title as it may stand in a docstring: no quotes or backslashes, not too long."""
    plain = text.replace('"', "'").replace("\\", "/")
    return plain if len(plain) <= length else plain[: length - 1] + "…"
