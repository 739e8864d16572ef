"""A skill as a guide to read: Markdown made of its fields, the same for the same skill. What stands in it that tools said or were
given is data: it is quoted as code, and cannot become a heading or a fence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memos.memory.learned import Action, Parameter, SkillBody
from memos.text.template import fill

_SPACE = re.compile(r"\s+")


def render(body: SkillBody) -> str:
    """The guide of a skill. One that has free text (`guide`) is that text."""
    if body.guide:
        return body.guide
    parts = [f"# {body.name}", one_line(body.description)]
    parts += _section("When", map(one_line, body.preconditions))
    parts += _section("Parameters", map(_parameter, body.parameters))
    parts += _section("Steps", map(action_text, body.procedure), numbered=True)
    parts += _section("Check", (one_line(body.verification),))
    parts += _section("Pitfalls", map(one_line, body.pitfalls))
    parts += _section("Examples", map(one_line, body.examples))
    return "\n\n".join(part for part in parts if part)


def action_text(action: Action) -> str:
    """One action as a line: the tool and what it is given, or words."""
    if not action.tool:
        return one_line(action.input)
    given = fill(action.input, {})  # of what is no parameter, as it was
    tool = code(one_line(action.tool))
    return f"{tool}: {code(given)}" if given.strip() else tool


def code(text: str) -> str:
    """A text as Markdown code, whatever it holds; of several lines, as a block below."""
    text = text.strip()
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    if "\n" in text:
        fence = ticks if len(ticks) > 3 else "```"
        indented = "\n".join(f"   {line}".rstrip() for line in text.splitlines())
        return f"\n\n   {fence}\n{indented}\n   {fence}"
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def one_line(text: str) -> str:
    """A text without line breaks, so that nothing in it begins a line."""
    return _SPACE.sub(" ", text).strip()


def _parameter(parameter: Parameter) -> str:
    about = one_line(parameter.description) or _FROM.get(parameter.source, "")
    seen = f" Seen: {', '.join(code(one_line(e)) for e in parameter.examples)}." if parameter.examples else ""
    optional = "" if parameter.required else " (optional)"
    return f"`{{{parameter.name}}}`{optional}{f': {about}.' if about else '.'}{seen}"


_FROM = {"goal": "as the task names it", "error": "as the error names it", "input": "as the call before has it"}


def _section(title: str, lines: Iterable[str], *, numbered: bool = False) -> Sequence[str]:
    listed = [
        f"{number}. {line}" if numbered else f"- {line}" for number, line in enumerate((x for x in lines if x), 1)
    ]
    return (f"## {title}", "\n".join(listed)) if listed else ()
