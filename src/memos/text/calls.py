"""A call of a tool as one line of text: ``tool input`` in backticks, for people and agents, and read back from it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memos.memory.learned import Action

INPUT = 400  # characters of what a tool is given that are shown
LINE_BREAK = " ⏎ "  # stands for a line break in what a tool is given
_CALL = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def call(action: Action) -> str:
    """A step to take: the tool and what it is given, in backticks (more of them where it holds some); words without a tool as
    they are.
    """
    said = " ".join(LINE_BREAK.join(clipped(action.input, INPUT).splitlines()).split())
    if not action.tool:
        return said
    text = f"{' '.join(action.tool.split())} {said}".strip()
    fence = "`"
    while fence in text:
        fence += "`"
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def procedure(actions: Iterable[Action]) -> str:
    """Steps to take, one after another."""
    return "; then ".join(map(call, actions))


def calls_in(line: str) -> list[str]:
    """The calls in a line (`tool input` each), in order: what `call` wrote."""
    return [m[2].strip() if len(m[1]) > 1 else m[2] for m in _CALL.finditer(line)]


def clipped(text: str, most: int) -> str:
    """A text cut to so many characters, with a sign where it was."""
    text = text.strip()
    return text if len(text) <= most else f"{text[: most - 2].rstrip()} …"
