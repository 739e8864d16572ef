"""The export of ChatGPT: `conversations.json` (or several, numbered), in its zip, its folder, or alone. Of a conversation
that was edited, the branch that is shown at the end is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memos.moving import shape
from memos.moving.files import members
from memos.moving.items import Bad, Item, Left, Said, Source, Told
from memos.moving.json_stream import elements
from memos.moving.looks import first_element

_FILES = re.compile(r"(?:[^/]+/)?conversations(?:-\d+)?\.json")
_PROFILE = ("about_user_message", "user_profile", "about_model_message", "user_instructions")


def _fits(path: Path) -> bool:
    found = first_element(path, _FILES)
    return isinstance(found, dict) and isinstance(found.get("mapping"), dict)


def _read(path: Path) -> Iterator[Item]:
    counts = _Counts()
    for name, file in members(path, _FILES):
        for element in elements(file, name):
            where = element.within(name)
            conversation = element.value
            if not isinstance(conversation, dict) or not isinstance(conversation.get("mapping"), dict):
                yield Bad(where, "it is no conversation: it has no mapping of messages")
                continue
            yield from _conversation(conversation, where, counts)
    yield from counts.left()


class _Counts:
    """What is left out, and the instructions that were seen last."""

    def __init__(self) -> None:
        self.branches = self.hidden = self.tools = self.media = 0
        self.told: set[str] = set()

    def left(self) -> Iterator[Left]:
        """A line for each kind of what is left out."""
        for what, count, why in (
            ("messages of branches that were edited away", self.branches, "only the branch shown at the end is taken"),
            ("system messages and notes of the app", self.hidden, "nobody said them"),
            ("calls and answers of tools, and thoughts of the model", self.tools, "they are not part of what was said"),
            ("pictures and other media", self.media, "the export names them only"),
        ):
            if count:
                yield Left(what, count, why)


def _conversation(conversation: Mapping[str, Any], where: str, counts: _Counts) -> Iterator[Item]:
    nodes = conversation["mapping"]
    session = shape.name(conversation.get("conversation_id")) or shape.name(conversation.get("id"))
    session = session or shape.mark(str(conversation.get("title")), str(conversation.get("create_time")))
    title = shape.text(conversation.get("title"))
    path = _branch(nodes, conversation.get("current_node"))
    shown = set(path)
    counts.branches += sum(1 for id in nodes if id not in shown and _message(nodes.get(id)) is not None)
    for id in path:
        message = _message(nodes[id])
        if message is not None:
            yield from _one(id, message, session, title, f"{where}.mapping.{id}"[:200], counts)


def _branch(nodes: Mapping[str, Any], current: Any) -> list[str]:
    """The ids from the root to the node that is shown; without such a node, to the last one made."""
    if not isinstance(current, str) or current not in nodes:
        leaves = [id for id, node in nodes.items() if isinstance(node, dict) and not node.get("children")]
        current = max(leaves, key=lambda leaf: _made(nodes[leaf]), default=None)
    path: list[str] = []
    met: set[str] = set()
    while isinstance(current, str) and current in nodes and current not in met:
        met.add(current)
        path.append(current)
        node = nodes[current]
        current = node.get("parent") if isinstance(node, dict) else None
    return path[::-1]


def _made(node: Mapping[str, Any]) -> float:
    message = _message(node)
    made = message.get("create_time") if message is not None else None
    return float(made) if isinstance(made, (int, float)) else 0.0


def _message(node: Any) -> dict[str, Any] | None:
    message = node.get("message") if isinstance(node, dict) else None
    return message if isinstance(message, dict) else None


def _one(
    id: str, message: Mapping[str, Any], session: str, title: str | None, where: str, counts: _Counts
) -> Iterator[Item]:
    author, about, content = (message.get(key) for key in ("author", "metadata", "content"))
    author, about = (one if isinstance(one, dict) else {} for one in (author, about))
    if not isinstance(content, dict):
        yield Bad(where, "its content is no object")
        return
    kind, at = content.get("content_type"), shape.time(message.get("create_time"))
    if kind == "user_editable_context":
        yield from _instructions(content, at, counts)
        return
    role = shape.role(author.get("role"))
    if (
        role == "tool"
        or message.get("recipient", "all") not in ("all", None)
        or kind in ("thoughts", "reasoning_recap")
    ):
        counts.tools += 1
        return
    if role == "system" or about.get("is_visually_hidden_from_conversation") is True:
        counts.hidden += 1
        return
    if role is None:
        yield Bad(where, "its author has no role that is known")
        return
    said = _text(content, counts)
    if not said.strip():
        counts.hidden += 1
        return
    model = shape.text(about.get("model_slug"))
    info = {key: value for key, value in (("title", title), ("model", model)) if value is not None}
    yield Said(session, role, said, at, shape.name(message.get("id")) or id, info=info)


def _text(content: Mapping[str, Any], counts: _Counts) -> str:
    """What a message says: its parts that are words."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        said = shape.text(content.get("text")) or shape.text(content.get("result")) or ""
        if content.get("content_type") == "code" and said:
            return (
                f"```{language if (language := content.get('language')) not in (None, 'unknown') else ''}\n{said}\n```"
            )
        return said
    words = []
    for part in parts:
        if isinstance(part, str):
            words.append(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):  # what was spoken
            words.append(part["text"])
        else:
            counts.media += 1
    return "\n\n".join(one for one in words if one.strip())


def _instructions(content: Mapping[str, Any], at: str | None, counts: _Counts) -> Iterator[Item]:
    """What the user told the app of themselves; each conversation repeats it."""
    said = [found for key in _PROFILE if (found := shape.text(content.get(key))) is not None]
    text = "\n\n".join(dict.fromkeys(said))
    id = shape.mark(text)
    if text and id not in counts.told and len(counts.told) < 10_000:
        counts.told.add(id)
        yield Told(text, at, f"instructions-{id}", "instructions", role="user")


SOURCE = Source("chatgpt", "ChatGPT: the export of one's data (zip, folder, or conversations.json)", _fits, _read)
