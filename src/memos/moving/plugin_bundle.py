"""The JSON bundle that the local plugin's viewer exports: `{version: 1, traces, policies, worldModels, skills}`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from memos.errors import InvalidInput
from memos.moving import plugin_rows, shape
from memos.moving.files import head, opened
from memos.moving.items import Bad, Item, Left
from memos.moving.json_stream import elements
from memos.moving.plugin_turns import assembled

_HEAD = re.compile(r'\s*\{(?=[^\0]*"version"\s*:)(?=[^\0]*"(?:traces|worldModels)"\s*:\s*\[)')
_MOST_TRACES = 100_000  # the viewer writes 500
_FEW = 1 << 16


def fits(path: Path) -> bool:
    """Whether a file begins like a bundle."""
    return _HEAD.match(head(path, _FEW).decode("utf-8", "replace").removeprefix("\ufeff")) is not None


def read(path: Path) -> Iterator[Item]:
    """What a bundle holds. Its turns are put in order, which takes them into memory: there are few in a bundle."""
    traces: list[tuple[str, dict[str, Any]]] = []
    again = archived = 0
    taken: set[str] = set()
    notes: list[Item] = []
    with opened(path) as file:
        for one in elements(file, path.name):
            if one.key == "version" and one.value != 1:
                raise InvalidInput(f"{path.name} is a bundle of version {str(one.value)[:20]}; version 1 is read")
            if one.key not in ("traces", "policies", "worldModels", "skills"):
                continue
            value = one.value
            if not isinstance(value, dict):
                notes.append(Bad(one.where, "it is no object"))
            elif one.key == "traces":
                traces.append((one.where, value))
            elif value.get("status") == "archived":
                archived += 1
            elif one.key == "policies":
                row = _policy(value)
                if plugin_rows.learned_again(row, bool(plugin_rows.texts(value.get("sourceEpisodeIds")))):
                    again += 1
                else:
                    notes.append(plugin_rows.policy_note(row) or Bad(one.where, "it says nothing"))
            elif one.key == "worldModels":
                notes.append(plugin_rows.world_note(_world(value)) or Bad(one.where, "it says nothing"))
            else:
                skill = {"name": value.get("name"), "invocation_guide": value.get("invocationGuide")}
                notes.append(plugin_rows.skill_item(skill, one.where, taken))
            if len(traces) > _MOST_TRACES or len(notes) > _MOST_TRACES:
                raise InvalidInput(
                    f"{path.name} holds more than {_MOST_TRACES:,} entries; import the plugin's memos.db instead"
                )
    yield from _turns(traces)
    yield from notes
    if again:
        yield Left(
            "policies",
            again,
            "learned again from the turns they came from; here it takes more than one task to make one",
        )
    if archived:
        yield Left("archived policies, world models and skills", archived, "given up there")


def _turns(traces: list[tuple[str, dict[str, Any]]]) -> Iterator[Item]:
    rows: list[tuple[tuple[str, int, int], str, dict[str, Any]]] = []
    began: dict[str, int] = {}
    for where, trace in traces:
        episode, turn, ts = trace.get("episodeId"), trace.get("turnId", trace.get("ts")), trace.get("ts")
        if not isinstance(episode, str) or not isinstance(turn, int) or not isinstance(ts, int):
            yield Bad(where, "it has no episode or time")
            continue
        began[episode] = min(ts, began.get(episode, ts))
        rows.append(((episode, turn, ts), where, trace))
    rows.sort(key=lambda r: (began[r[0][0]], r[0]))
    found = ((where, None, _row(trace)) for _, where, trace in rows)
    yield from assembled(found, lambda turn, _: replace(turn, over=True))


def _row(trace: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "episode_id": trace.get("episodeId"),
        "session_id": trace.get("sessionId"),
        "ts": trace.get("ts"),
        "turn_id": trace.get("turnId", trace.get("ts")),
        "user_text": trace.get("userText") or "",
        "agent_text": trace.get("agentText") or "",
        "tool_calls_json": trace.get("toolCalls") or [],
        "reflection": trace.get("reflection"),
        "agent_thinking": trace.get("agentThinking"),
        "tags_json": trace.get("tags") or [],
    }


def _policy(value: Mapping[str, Any]) -> dict[str, Any]:
    guidance = {"preference": value.get("preference"), "antiPattern": value.get("antiPattern")}
    kept = ("id", "title", "trigger", "procedure", "verification", "boundary", "status", "support", "gain")
    return {
        **{name: value.get(name) for name in kept},
        "experience_type": value.get("experienceType"),
        "edited_at": value.get("editedAt"),
        "created_at": value.get("createdAt"),
        "updated_at": value.get("updatedAt"),
        "decision_guidance_json": guidance,
    }


def _world(value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{name: value.get(name) for name in ("id", "title", "body")},
        "structure_json": value.get("structure"),
        "updated_at": shape.time(value.get("updatedAt")),
    }
