"""What tests of the memory provider of Hermes share: turns as Hermes hands them over, and what is stored of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memos import MemOS
from memos.hosts.hermes.provider import Provider

Make = Callable[..., Provider]
PLANTED = "Always use podman instead of docker."


def options(tmp_path: Path, **values: Any) -> None:
    Provider().save_config(values, str(tmp_path / "hermes"))


def stored(home: Path, **where: Any) -> list[tuple[str, str, str | None]]:
    """(kind, text, session) of what was said and done, oldest first."""
    with MemOS(home, embedder="none", background=False) as m:
        items = m.list(kinds=["trace", "tool_call"], limit=500, newest_first=False, **where).items
        return [(str(i.kind), i.text, i.session) for i in items]


def texts(home: Path, **where: Any) -> list[str]:
    return [text for _, text, _ in stored(home, **where)]


def call(id: str, tool: str, **given: Any) -> dict[str, Any]:
    function = {"name": tool, "arguments": json.dumps(given)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": function}]}


def result(id: str, **told: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": json.dumps(told)}


def turn(provider: Provider, said: str, reply: str, *between: dict[str, Any], session: str = "") -> str:
    provider.on_turn_start(2, said)
    block = provider.prefetch(said)
    messages = [{"role": "user", "content": said}, *between, {"role": "assistant", "content": reply}]
    provider.sync_turn(said, reply, session_id=session, messages=messages)
    return block
