"""The export of Claude: conversations, what it remembers of the user, and the texts of projects; in its zip, its folder, or
one of its files alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memos.moving import shape
from memos.moving.files import members
from memos.moving.items import Bad, Item, Left, Said, Source, Told
from memos.moving.json_stream import Element, elements
from memos.moving.looks import first_elements

_FILES = re.compile(r"(?:[^/]+/)?(?:conversations|projects|memories)\.json")
_CHATS = re.compile(r"(?:[^/]+/)?conversations\.json")


def _fits(path: Path) -> bool:
    wanted = _CHATS if path.is_dir() or path.suffix.lower() == ".zip" else _FILES
    found = first_elements(path, wanted, 1)
    if not found or not isinstance(found[0].value, dict):
        return False
    value = found[0].value
    return isinstance(value.get("chat_messages"), list) or "conversations_memory" in value or "prompt_template" in value


def _read(path: Path) -> Iterator[Item]:
    counts = _Counts()
    for name, file in members(path, _FILES):
        for element in elements(file, name):
            yield from _element(element, element.within(name), counts)
    yield from counts.left()


class _Counts:
    """What is left out."""

    def __init__(self) -> None:
        self.branches = self.tools = self.files = self.blank = 0

    def left(self) -> Iterator[Left]:
        """A line for each kind of what is left out."""
        for what, count, why in (
            ("messages of branches that were edited away", self.branches, "only the last branch is taken"),
            ("calls and answers of tools, and thoughts of the model", self.tools, "they are not part of what was said"),
            ("files without their text", self.files, "the export names them only"),
            ("messages without words", self.blank, "there is nothing in them to keep"),
        ):
            if count:
                yield Left(what, count, why)


def _element(element: Element, where: str, counts: _Counts) -> Iterator[Item]:
    value = element.value
    if not isinstance(value, dict):
        yield Bad(where, "it is no object")
    elif isinstance(value.get("chat_messages"), list):
        yield from _conversation(value, where, counts)
    elif "conversations_memory" in value or "project_memories" in value:
        yield from _memories(value)
    elif "prompt_template" in value or isinstance(value.get("docs"), list):
        yield from _project(value, where)
    else:
        yield Bad(where, "it is neither a conversation, a memory nor a project")


def _conversation(value: Mapping[str, Any], where: str, counts: _Counts) -> Iterator[Item]:
    session = shape.name(value.get("uuid")) or shape.mark(str(value.get("name")), str(value.get("created_at")))
    title = shape.text(value.get("name"))
    messages = value["chat_messages"]
    shown = _branch(messages)
    counts.branches += len(messages) - len(shown)
    for index in shown:
        message, place = messages[index], f"{where}.chat_messages[{index}]"
        role = shape.role(message.get("sender")) if isinstance(message, dict) else None
        if role is None:
            yield Bad(place, "it is no message, or has no sender that is known")
            continue
        said = _text(message, counts)
        if not said.strip():
            counts.blank += 1
            continue
        info = {} if title is None else {"title": title}
        yield Said(
            session, role, said, shape.time(message.get("created_at")), shape.name(message.get("uuid")), info=info
        )


def _branch(messages: list[Any]) -> list[int]:
    """The places of the messages on the branch that ends in the last one; all where nothing tells of branches."""
    places = {m["uuid"]: n for n, m in enumerate(messages) if isinstance(m, dict) and isinstance(m.get("uuid"), str)}
    if len(places) != len(messages) or any(not isinstance(m.get("parent_message_uuid"), str) for m in messages):
        return list(range(len(messages)))
    path: list[int] = []
    at = max(range(len(messages)), key=lambda n: (str(messages[n].get("created_at") or ""), n), default=None)
    while at is not None and at not in path[-1:] and len(path) < len(messages):
        path.append(at)
        at = places.get(messages[at]["parent_message_uuid"])
    return sorted(set(path))


def _text(message: Mapping[str, Any], counts: _Counts) -> str:
    """What a message says, with the text of what was attached to it."""
    words: list[str] = []
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
            words.append(part["text"])
        else:
            counts.tools += 1
    if not any(one.strip() for one in words) and isinstance(message.get("text"), str):
        words = [message["text"]]
    attached = message.get("attachments")
    for one in attached if isinstance(attached, list) else ():
        text = shape.text(one.get("extracted_content")) if isinstance(one, dict) else None
        if text is None:
            counts.files += 1
        else:
            words.append(f"{shape.text(one.get('file_name')) or 'file'}:\n{text}")
    files = message.get("files")
    counts.files += len(files) if isinstance(files, list) else 0
    return "\n\n".join(one for one in words if one.strip())


def _memories(value: Mapping[str, Any]) -> Iterator[Item]:
    """What Claude remembers of the user, a paragraph each."""
    yield from _paragraphs(value.get("conversations_memory"), "memory")
    projects = value.get("project_memories")
    for project, text in projects.items() if isinstance(projects, dict) else ():
        yield from _paragraphs(text, f"memory-{project}")


def _paragraphs(value: Any, session: str) -> Iterator[Item]:
    for paragraph in re.split(r"\n\s*\n", value) if isinstance(value, str) else ():
        if shape.text(paragraph):
            yield Told(paragraph.strip(), None, f"{session}-{shape.mark(paragraph)}", session)


def _project(value: Mapping[str, Any], where: str) -> Iterator[Item]:
    title = shape.text(value.get("name")) or "project"
    session = shape.name(value.get("uuid")) or shape.mark(title)
    at = shape.time(value.get("created_at"))
    for key in ("description", "prompt_template"):
        if (said := shape.text(value.get(key))) is not None:
            yield Told(said, at, f"{session}-{key}", session, {"project": title}, role="user")
    docs = value.get("docs")
    for index, doc in enumerate(docs if isinstance(docs, list) else ()):
        said = shape.text(doc.get("content")) if isinstance(doc, dict) else None
        if said is None:
            yield Bad(f"{where}.docs[{index}]", "it is a document without a text")
            continue
        file = shape.text(doc.get("filename")) or ""
        id = shape.name(doc.get("uuid")) or shape.mark(file, said)
        yield Told(said, shape.time(doc.get("created_at")), id, session, {"project": title, "file": file}, role="user")


SOURCE = Source("claude", "Claude: the export of one's data (zip, folder, or one of its files)", _fits, _read)
