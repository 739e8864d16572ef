"""Prompts that a user picks in a host: begin with what is remembered, and say how it went."""

from __future__ import annotations

from collections.abc import Mapping

import mcp_types as types

from memos.errors import InvalidInput, NotFound
from memos.reading.parts import is_blank
from memos.tools.args import MOST_TEXT
from memos.tools.door import Door

PROMPTS: tuple[types.Prompt, ...] = (
    types.Prompt(
        name="recall",
        title="Begin with what is remembered",
        description="Puts what memory knows about a task in front of it.",
        arguments=[types.PromptArgument(name="task", description="What you are about to ask.", required=True)],
    ),
    types.Prompt(
        name="how_it_went",
        title="Say how it went",
        description="Has the agent report how the last task went, so that it learns from it.",
        arguments=[
            types.PromptArgument(name="verdict", description="In your words: 'good, but too slow'.", required=True),
        ],
    ),
)


async def filled(door: Door, name: str, given: Mapping[str, str]) -> types.GetPromptResult:
    """The messages of a prompt. Raises NotFound for one that is not there, InvalidInput for its arguments."""
    prompt = next((one for one in PROMPTS if one.name == name), None)
    if prompt is None:
        raise NotFound(f"there is no prompt {name!r:.60}; there are {', '.join(p.name for p in PROMPTS)}")
    (argument,) = (one.name for one in prompt.arguments or ())
    if unknown := sorted({*given} - {argument}):
        raise InvalidInput(f"{unknown[0]}: there is no such argument")
    text = given.get(argument, "")
    if is_blank(text) or len(text) > MOST_TEXT:
        raise InvalidInput(f"{argument}: a text is needed, of at most {MOST_TEXT:,} characters")
    if name == "recall":
        found = await door.system.recall(
            text, max_tokens=max(100, min(3_000, door.budget // 8)), **door.spoken(None), **door.where()
        )
        body = f"{found.context}\n\n{text}" if found.context else text
        return _message(body, prompt.description)
    asking = (
        f"The user says how the last task went:\n\n{text}\n\nReport it with memos_outcome: a score from -1 (it failed) to 1 "
        "(all went well) that says what the user says, and the user's own words as the comment. Then say in one line what you "
        "take from it."
    )
    return _message(asking, prompt.description)


def _message(text: str, description: str | None) -> types.GetPromptResult:
    message = types.PromptMessage(role="user", content=types.TextContent(text=text))
    return types.GetPromptResult(description=description, messages=[message])
