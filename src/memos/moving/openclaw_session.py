"""A session of OpenClaw: entries of a tree, of which the branch that was gone on with is taken, as turns."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from memos.moving import shape
from memos.moving.agent_turns import Turns
from memos.moving.foreign_sqlite import ForeignSqlite
from memos.moving.items import Bad, Item, Left

Entry = dict[str, Any]

_NOBODY = frozenset({"inter_session", "internal_system"})
_WITHOUT_PEOPLE = ("cron:", "hook:", ":cron:", ":subagent:", "temp:", ":heartbeat")
_SCHEDULED = ("[cron:", "[cron]", "Read HEARTBEAT.md")
_EVENT = ("seq", "event_json", "event_zstd", "navigation_json")
_MOST_EVENT = 4 << 20  # bytes, as OpenClaw allows


def is_header(start: bytes) -> bool:
    """Whether a file begins with the header of a session."""
    first, _, _ = start.partition(b"\n")
    try:
        told = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(told, dict)
        and told.get("type") == "session"
        and isinstance(told.get("id"), str)
        and "timestamp" in told
    )


def branch(entries: Iterable[Entry]) -> set[str] | None:
    """The ids of the entries that lead to the last one; None where entries name no parents, so that all are of one branch."""
    parents: dict[str, str | None] = {}
    last: str | None = None
    linked = False
    for entry in entries:
        id, parent = entry.get("id"), entry.get("parentId")
        if entry.get("type") == "session" or not isinstance(id, str):
            continue
        linked |= "parentId" in entry
        # One whose parent is not there goes on with what stands before it.
        parents[id] = (
            parent
            if isinstance(parent, str) and parent in parents
            else None
            if parent is None and last is None
            else last
        )
        last = id
    if not linked or last is None:
        return None
    found: set[str] = set()
    at: str | None = last
    while at is not None and at not in found:
        found.add(at)
        at = parents.get(at)
    return found


def stored(db: ForeignSqlite, session: str, keys: dict[str, str]) -> Iterator[Item]:
    """A session of an agent's database."""

    def entries() -> Iterator[tuple[str, Entry | None]]:
        for row in db.rows("transcript_events", _EVENT, "session_id = ?", (session,), "seq"):
            where = f"session {session!r:.80}, event {row.get('seq')}"
            packed, plain = row.get("event_zstd"), row.get("event_json")
            if plain is None and isinstance(packed, bytes):
                plain = unpacked(packed)
                yield where, _parsed(plain) if plain is not None else _outline(row.get("navigation_json"))
            else:
                yield where, _parsed(plain)

    followed = branch(entry for _, entry in entries() if entry is not None)
    yield from items(entries(), followed, session, keys)


def unpacked(packed: bytes) -> str | None:
    """A compressed event; None where there is nothing here to read it with, or it is none."""
    try:
        import zstandard
    except ImportError:
        return None
    try:
        with zstandard.ZstdDecompressor(max_window_size=2 * _MOST_EVENT).stream_reader(io.BytesIO(packed)) as stream:
            data = stream.read(_MOST_EVENT + 1)
        return data.decode() if len(data) <= _MOST_EVENT else "null"
    except (zstandard.ZstdError, UnicodeDecodeError):
        return "null"


def _outline(navigation: Any) -> Entry:
    """What is told of a compressed event beside it: what it is, and where it stands."""
    told = _parsed(navigation) or {}
    entry = told.get("navigation")
    kept = {name: entry.get(name) for name in ("type", "id", "parentId")} if isinstance(entry, dict) else {}
    return {**kept, "compressed": True}


def _parsed(text: Any) -> Entry | None:
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def items(
    entries: Iterable[tuple[str, Entry | None]], followed: set[str] | None, session: str, keys: dict[str, str]
) -> Iterator[Item]:
    """The turns of a session, from its entries with their places."""
    turns: Turns | None = None
    aside = scheduled = packed = 0
    for where, entry in entries:
        if entry is None:
            yield Bad(where, "it is no JSON object on one line")
            continue
        if entry.get("type") == "session":
            session = shape.name(entry.get("id")) or session
            continue
        message = entry.get("message")
        if entry.get("type") == "message" and entry.get("compressed") is True:
            packed += 1
            continue
        if entry.get("type") != "message" or not isinstance(message, dict):
            continue
        if followed is not None and isinstance(entry.get("id"), str) and entry["id"] not in followed:
            aside += 1
            continue
        key = keys.get(session, "")
        if key.startswith(_WITHOUT_PEOPLE) or any(part in key for part in _WITHOUT_PEOPLE[2:]):
            scheduled += 1
            continue
        if turns is None:
            turns = Turns(session, {"source": "openclaw", **({"session_key": key[:200]} if key else {})})
        yield from _message(turns, entry, message, where)
    if turns is not None:
        yield from turns.end()
    if aside:
        yield Left("messages of other branches", aside, "they were taken back, and the session went on elsewhere")
    if packed:
        yield Left(
            "compressed messages",
            packed,
            "pip install '.[openclaw]' in a checkout brings what reads them; then import again",
        )
    if scheduled:
        yield Left("messages of schedules and sub-agents", scheduled, "nobody spoke in them")


def _message(turns: Turns, entry: Entry, message: Entry, where: str) -> Iterator[Item]:
    role, content = message.get("role"), message.get("content")
    at = shape.time(message.get("timestamp")) or shape.time(entry.get("timestamp"))
    id = shape.name(entry.get("id")) or shape.mark(where, str(at))
    if role == "user":
        yield from _user(turns, message, shape.words(content), id, at)
    elif role == "assistant":
        _assistant(turns, message, content, id, at)
    elif role in ("toolResult", "tool"):
        call = str(message.get("toolCallId") or message.get("tool_call_id") or "")
        ok, took = _went(message)
        turns.result(call, shape.words(content), ok=ok, tool=str(message.get("toolName") or "")[:200], duration=took)
    elif not isinstance(role, str):
        yield Bad(where, "the message has no role")


def _user(turns: Turns, message: Entry, text: str, id: str, at: str | None) -> Iterator[Item]:
    origin = message.get("provenance")
    if isinstance(origin, dict) and str(origin.get("kind")) in _NOBODY:
        return
    if not text.lstrip().startswith(_SCHEDULED):
        yield from turns.user(text, id=id, at=at)


def _assistant(turns: Turns, message: Entry, content: Any, id: str, at: str | None) -> None:
    if isinstance(content, str):
        turns.assistant(content, id=id, at=at)
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        if kind == "text" and isinstance(block.get("text"), str):
            turns.assistant(block["text"], id=id, at=at)
        elif kind == "thinking" and isinstance(block.get("thinking"), str):
            turns.thought(block["thinking"])
        elif kind in ("toolCall", "tool_use", "toolUse"):
            given = block.get("arguments", block.get("input"))
            name = block.get("name")
            if name == "tool_call" and isinstance(given, dict) and isinstance(given.get("id"), str):  # a tool by its id
                name, given = given["id"], given.get("args")
            turns.call(str(block.get("id") or ""), str(name or "tool")[:200], given, at=at)
    old = message.get("tool_calls")
    for call in old if isinstance(old, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            turns.call(
                str(call.get("id") or ""), str(function.get("name") or "tool")[:200], function.get("arguments"), at=at
            )


def _went(message: Entry) -> tuple[bool | None, float | None]:
    """Whether a call worked, and how many seconds it took. A command that fails is no error there: its exit code tells."""
    details, failed = message.get("details"), message.get("isError")
    ok = not failed if isinstance(failed, bool) else None
    if not isinstance(details, dict):
        return ok, None
    code, took = details.get("exitCode"), details.get("durationMs")
    if isinstance(code, int) and not isinstance(code, bool):
        ok = code == 0
    if isinstance(took, bool) or not isinstance(took, (int, float)) or not 0 <= took < 1e12:
        return ok, None
    return ok, took / 1e3
