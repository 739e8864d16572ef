"""Exports of other systems, made by hand: as small as they can be, in the shape that the real ones have."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any


def said(
    id: str, parent: str | None, role: str, *parts: Any, at: float | None = 1_750_950_000.0, **more: Any
) -> dict[str, Any]:
    """A node of a ChatGPT conversation."""
    message = {
        "id": id,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at,
        "content": {"content_type": "text", "parts": list(parts)},
        "metadata": {},
        "recipient": "all",
        **more,
    }
    return {"id": id, "parent": parent, "children": [], "message": message}


def chatgpt_conversation(
    id: str, *nodes: dict[str, Any], current: str | None = None, title: str = "A chat"
) -> dict[str, Any]:
    root = {"id": "root", "parent": None, "children": [], "message": None}
    mapping = {node["id"]: node for node in (root, *nodes)}
    for node in nodes:
        mapping[node["parent"]]["children"].append(node["id"])
    return {
        "conversation_id": id,
        "title": title,
        "create_time": 1_750_950_000.0,
        "mapping": mapping,
        "current_node": current or nodes[-1]["id"],
    }


def chats(
    count: int, length: int = 4, *, first: int = 0, text: str = "I live in Oslo, number {}."
) -> list[dict[str, Any]]:
    """ChatGPT conversations, the newest first, as its export has them."""
    out = []
    for c in range(first + count - 1, first - 1, -1):
        nodes, parent = [], "root"
        for m in range(length):
            id, role = f"c{c}-m{m}", "user" if m % 2 == 0 else "assistant"
            nodes.append(said(id, parent, role, text.format(f"{c}-{m}"), at=1_700_000_000.0 + c * 86_400 + m * 60))
            parent = id
        out.append(chatgpt_conversation(f"chat-{c}", *nodes, title=f"Chat {c}"))
    return out


def written(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), "utf-8")
    return path


def zipped(path: Path, files: dict[str, Any]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in files.items():
            archive.writestr(name, value if isinstance(value, (str, bytes)) else json.dumps(value))
    return path


def claude_message(id: str, sender: str, text: str, at: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
    out = {
        "uuid": id,
        "text": text,
        "content": [{"type": "text", "text": text, "citations": []}],
        "sender": sender,
        "created_at": at,
        "updated_at": at,
        "attachments": [],
        "files": [],
        **more,
    }
    return out if parent is None else {**out, "parent_message_uuid": parent}


def claude_conversation(id: str, *messages: dict[str, Any]) -> dict[str, Any]:
    at = "2025-06-26T15:00:00.000000Z"
    return {
        "uuid": id,
        "name": "A talk",
        "created_at": at,
        "updated_at": at,
        "account": {"uuid": "a"},
        "chat_messages": list(messages),
    }
