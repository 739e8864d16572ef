"""Dumps of MemOS cubes: a folder with `textual_memory.json` (general or tree memory), the file alone, a dump of preferences, or
nodes as Neo4j exports them, one a line. Where a memory names the messages it came from, those are taken; otherwise its own
text. Nothing is unpickled.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memos.moving import shape
from memos.moving.files import head, is_file, lines, opened, walked
from memos.moving.guard import guarded
from memos.moving.items import Bad, Item, Left, Said, Told
from memos.moving.json_stream import elements
from memos.moving.looks import first_lines

_MEMORY = "textual_memory.json"
_GONE = frozenset({"archived", "deleted"})
_KEPT = (
    "key",
    "memory_type",
    "type",
    "source",
    "confidence",
    "background",
    "preference_type",
    "reasoning",
    "user_name",
)
_TYPES = frozenset(
    {
        "WorkingMemory", "LongTermMemory", "UserMemory", "OuterMemory", "RawFileMemory", "PreferenceMemory", "SkillMemory",
        "ToolSchemaMemory", "ToolTrajectoryMemory", "AllSummaryMemory",
    }
)  # fmt: skip
_MOST_TEXT = 100_000
_PICKLES = (".pickle", ".pkl", ".pt", ".bin", ".safetensors", ".adapter")
_REFUSED = "activations and weights: a file of theirs can run code when it is opened"


def _fits(path: Path) -> bool:
    if path.is_dir():
        return is_file(path / _MEMORY) and not (path / _MEMORY).is_symlink()
    start = head(path).lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] == b"{" and any(_apoc(line) for line in first_lines(path)[:5]):
        return True
    if start[:1] not in (b"[", b"{"):
        return False
    return _looks_dumped(start[: 1 << 16].decode("utf-8", "replace"))


def _looks_dumped(start: str) -> bool:
    """Whether the first entry of a JSON file, as far as it is seen, is a memory of MemOS."""
    packed = "".join(start.split())[:20_000]
    if packed.startswith(('{"explicit_preference":[', '{"implicit_preference":[')):
        return '"payload":{' in packed
    if not packed.startswith(("[{", '{"nodes":[', '{"edges":[')) or '"memory":' not in packed:
        return False
    own = ('"payload":{', '"memory_type":"', '"metadata":{"embedding":', '"sources":[', '"usage":[', '"background":"')
    return any(mark in packed for mark in own)


def _apoc(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.get("type") == "node"
        and isinstance(value.get("properties"), dict)
        and isinstance(value["properties"].get("memory"), str)
    )


def _read(path: Path) -> Iterator[Item]:
    if not path.is_dir():
        yield from _file(path, path.name)
        return
    left: Counter[str] = Counter()
    for name, found in walked(path):
        if name.endswith(".json") and name != "config.json" and not name.endswith("/config.json"):
            if _fits(found):
                yield from _file(found, name)
            else:
                left["other files"] += 1
        elif name.endswith(_PICKLES):
            left[_REFUSED] += 1
    if left[_REFUSED]:
        yield Left("files of activation or parametric memory", left[_REFUSED], _REFUSED)
    if left["other files"]:
        yield Left("other JSON files", left["other files"], "they hold no memories of MemOS")


def _file(path: Path, name: str) -> Iterator[Item]:
    left: Counter[str] = Counter()
    first = first_lines(path)[:1]
    with opened(path) as file:
        if first and isinstance(first[0], dict) and first[0].get("type") in ("node", "relationship"):
            for number, line in lines(file, name):
                yield from _line(line, f"{name}, line {number}", left)
        else:
            for one in elements(file, name):
                where = f"{name}: {one.where}"
                if one.key == "edges":
                    left["ties between memories"] += 1
                elif one.index >= 0:
                    yield from _node(one.value, where, left, one.key)
    whys = {
        "ties between memories": "topics and ties are found in what is taken in",
        "archived memories": "given up or replaced there",
        "vectors": "vectors are made again here",
    }
    for what, count in left.items():
        yield Left(what, count, whys[what])


def _line(line: str | None, where: str, left: Counter[str]) -> Iterator[Item]:
    try:
        value = json.loads(line) if line is not None else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or value.get("type") not in ("node", "relationship"):
        yield Bad(where, "it is no node of an export, as JSON on one line")
    elif value["type"] == "relationship":
        left["ties between memories"] += 1
    else:
        yield from _node(value.get("properties"), where, left, "")


def _node(value: Any, where: str, left: Counter[str], collection: str) -> Iterator[Item]:
    """A memory, in whichever way it is wrapped: as a row of a vector store, as a node, or flat."""
    if isinstance(value, dict) and isinstance(value.get("payload"), dict):
        value = {"id": value.get("id"), **value["payload"]}
    if not isinstance(value, dict):
        yield Bad(where, "it is no object")
        return
    about: Mapping[str, Any] = value["metadata"] if isinstance(value.get("metadata"), dict) else value
    text = shape.text(value.get("memory")) or shape.text(about.get("preference")) or shape.text(value.get("dialog_str"))
    if str(about.get("status")) in _GONE:
        left["archived memories"] += 1
        return
    if about.get("embedding") or value.get("vector") or value.get("embedding"):
        left["vectors"] += 1
    session = shape.name(about.get("session_id")) or ""
    said = list(_messages(about, session))
    if said:
        yield from said
        return
    if text is None:
        yield Bad(where, "it has no text")
        return
    id = shape.name(value.get("id")) or shape.name(about.get("id"))
    yield _told(text[:_MOST_TEXT], about, id, session, collection)


def _told(text: str, about: Mapping[str, Any], id: str | None, session: str, collection: str) -> Told:
    info = {
        name: about[name] for name in _KEPT if isinstance(about.get(name), (str, int, float)) and about.get(name) != ""
    }
    if id:
        info["node"] = id
    preference = (
        "preference" in collection or about.get("memory_type") == "PreferenceMemory" or "preference_type" in about
    )
    if preference and (wish := shape.text(about.get("preference"))) and wish.strip() not in text:
        text = f"{wish.strip()}\n{text}"
    # The working memory holds copies of what is kept for long, under other ids: by its text, each is stored once.
    return Told(
        text,
        shape.time(about.get("created_at")) or shape.time(about.get("updated_at")),
        shape.mark(session, text),
        session,
        info,
        ("memos", *(("preference",) if preference else ()), *shape.tags(about.get("tags"))),
        shape.name(about.get("user_id")) or shape.name(about.get("user_name")),
    )


def _messages(about: Mapping[str, Any], session: str) -> Iterator[Said]:
    """The messages that a memory came from."""
    sources = about.get("sources")
    for one in sources[:1_000] if isinstance(sources, list) else ():
        if isinstance(one, str) and one[:1] == "{":
            try:
                one = json.loads(one)
            except (ValueError, RecursionError):
                continue
        if not isinstance(one, dict):
            continue
        role, text = shape.role(one.get("role")), shape.text(one.get("content"))
        if role in ("user", "assistant") and text is not None:
            id = shape.name(one.get("message_id")) or shape.name(one.get("memory_id"))
            yield Said(session, role, text[:_MOST_TEXT], shape.time(one.get("chat_time")), id and f"{session}/{id}")


SOURCE = guarded("memos", "MemOS: a dumped cube, its textual_memory.json, or an export of its nodes", _fits, _read)
