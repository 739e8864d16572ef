"""Puts the traces of the local plugin, one for each step, together into turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memos.moving import shape
from memos.moving.agent_turns import MOST_CALLS, OWN_TOOLS, ended, plain
from memos.moving.injected import said_only
from memos.moving.items import Bad, Call, Item, Worked
from memos.moving.plugin_rows import owner, parsed
from memos.moving.transcript import MOST_TEXT, fit, plain_call

Trace = Mapping[str, Any]  # a trace by the names of its columns


def assembled(
    traces: Iterable[tuple[str, str | None, Trace]], closed: Callable[[Worked, str], Worked]
) -> Iterator[Item]:
    """The turns of traces that come in order: (place, what is wrong with it, trace). `closed` gives the last turn of an episode,
    with how it went.
    """
    group: _Group | None = None
    for where, bad, row in traces:
        why = bad or _odd(row)
        if why:
            yield Bad(where, why)
            continue
        key = (row["episode_id"], row["turn_id"])
        if group is None or group.key != key:
            if group is not None:
                turn = _worked(group)
                yield closed(turn, group.key[0]) if group.key[0] != key[0] else turn
            group = _Group(key, row, shape.time(row["turn_id"]) or shape.time(row["ts"]))
        why = _took(group, row)
        if why:
            yield Bad(where, why)
    if group is not None:
        yield closed(_worked(group), group.key[0])


@dataclass(slots=True)
class _Group:
    """The rows of one turn, as they are put together. `key`: episode and turn."""

    key: tuple[Any, Any]
    first: Trace
    at: str | None
    text: str = ""
    said: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    reflections: list[str] = field(default_factory=list)
    thinking: str = ""
    tags: dict[str, None] = field(default_factory=dict)


def _odd(row: Trace) -> str | None:
    for column in ("episode_id", "session_id"):
        if not isinstance(row[column], str) or not row[column].strip():
            return f"its {column} is no text"
    if not isinstance(row["turn_id"], int) or not isinstance(row["ts"], int):
        return "its time is no number"
    if not isinstance(row["user_text"], str) or not isinstance(row["agent_text"], str):
        return "it has no text"
    return None


def _took(group: _Group, row: Trace) -> str | None:
    """Add a trace to its turn; says what of it was left."""
    group.text = group.text or said_only(row["user_text"])
    if row["agent_text"].strip() and row["agent_text"].strip() not in group.said:
        group.said.append(row["agent_text"].strip()[:MOST_TEXT])
        del group.said[100:-100]
    if isinstance(said := row.get("reflection"), str) and said.strip() and len(group.reflections) < 20:
        group.reflections.append(said.strip()[:4_000])
    if isinstance(thought := row.get("agent_thinking"), str) and not group.thinking:
        group.thinking = thought.strip()[:4_000]
    group.tags.update(dict.fromkeys(shape.tags(parsed(row.get("tags_json"), list))))
    calls = row["tool_calls_json"]
    found = parsed(calls, list)
    for call in found:
        if isinstance(call, Mapping) and (made := tool_call(call)) is not None:
            if len(group.calls) >= MOST_CALLS:
                return f"its turn has more than {MOST_CALLS:,} calls; the rest was left"
            group.calls.append(made)
    if not found and isinstance(calls, str) and calls.strip() not in ("", "[]", "null"):
        return "its tool calls are no JSON list; its words were taken"
    return None


def tool_call(call: Mapping[str, Any]) -> Call | None:
    """A tool call of the plugin; None for one of the memory's own tools, or none."""
    name = shape.name(call.get("name", call.get("tool")))
    if name is None or name.startswith(OWN_TOOLS):
        return None
    tool, given = plain_call(name, call.get("input", call.get("args", call.get("arguments"))))
    failed = shape.name(call.get("errorCode"))
    begun, over = call.get("startedAt"), call.get("endedAt")
    took = None
    if all(isinstance(t, (int, float)) and not isinstance(t, bool) for t in (begun, over)) and 0 <= over - begun < 1e9:  # type: ignore[operator]
        took = (over - begun) / 1e3  # type: ignore[operator]
    made = Call(tool, given, duration=took, at=shape.time(begun), id=shape.name(call.get("toolCallId")))
    words = plain(call.get("output", call.get("result")))
    if failed is not None:
        return ended(made, f"{failed}\n{words}" if words and failed not in words else words or failed, False)
    return ended(made, words, None if call.get("output", call.get("result")) is None else True)


def _worked(group: _Group) -> Worked:
    row = group.first
    info = {"source": "local-plugin", "episode": row["episode_id"]}
    if group.tags:
        info["tags"] = ", ".join(group.tags)[:500]
    if group.thinking:
        info["thinking"] = group.thinking
    if whose := owner(row):
        info["owner"] = whose
    return Worked(
        row["session_id"],
        f"{row['episode_id']}:{row['turn_id']}",
        fit(group.text, MOST_TEXT),
        fit("\n\n".join(group.said), MOST_TEXT),
        tuple(group.calls),
        group.at,
        "\n".join(group.reflections) or None,
        info=info,
    )
