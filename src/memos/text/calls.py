"""A call of a tool as one line of text: the tool in backticks, a colon, and what it is given in backticks of its own, so that
this can be copied as it stands; for people and agents, and read back from it. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memos.memory.learned import Action
from memos.text.secrets import without_secrets

INPUT = 400  # characters of what a tool is given that are shown
LINE_BREAK = " ⏎ "  # stands for a line break in what a tool is given
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_BETWEEN = ": "  # a tool and what it is given


def call(action: Action) -> str:
    """A step to take: the tool and what it is given, each in backticks (more of them where it holds some); words without a
    tool as they are. Credentials are left out.
    """
    said = " ".join(LINE_BREAK.join(clipped(without_secrets(action.input), INPUT).splitlines()).split())
    if not action.tool:
        return said
    tool = _code(" ".join(action.tool.split()))
    return f"{tool}{_BETWEEN}{_code(said)}" if said else tool


def procedure(actions: Iterable[Action]) -> str:
    """Steps to take, one after another."""
    return "; then ".join(map(call, actions))


def calls_in(line: str) -> list[str]:
    """The calls in a line (`tool input` each), in order: what `call` wrote. A piece of code that is none stands for itself."""
    found = [*_CODE.finditer(line)]
    out, at = [], 0
    while at < len(found):
        said = _inside(found[at])
        if at + 1 < len(found) and line[found[at].end() : found[at + 1].start()] == _BETWEEN:
            at += 1
            said = f"{said} {_inside(found[at])}"
        out.append(said)
        at += 1
    return out


def clipped(text: str, most: int) -> str:
    """A text cut to so many characters, with a sign where it was."""
    text = text.strip()
    return text if len(text) <= most else f"{text[: most - 2].rstrip()} …"


def counted(number: int, what: str) -> str:
    """A number of things: "1 step", "2 steps"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def _code(said: str) -> str:
    fence = "`"
    while fence in said:
        fence += "`"
    return f"{fence} {said} {fence}" if "`" in said else f"`{said}`"


def _inside(found: re.Match[str]) -> str:
    return found[2].strip() if len(found[1]) > 1 else found[2]
