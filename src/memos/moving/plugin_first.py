"""The local plugin's database in its first version: messages, tasks with their summaries, and skills with their versions."""

from __future__ import annotations

from collections.abc import Iterator

from memos.errors import InvalidInput
from memos.moving import plugin_rows, shape
from memos.moving.foreign_sqlite import ForeignSqlite
from memos.moving.injected import said_only
from memos.moving.items import Bad, Item, Left, Said, Told
from memos.moving.transcript import MOST_TEXT, fit

NEEDED = {"chunks": ("id", "session_key", "turn_id", "role", "content", "created_at")}
_CHUNK = ("id", "session_key", "turn_id", "role", "content", "created_at", "dedup_status")
_TASK = ("id", "session_key", "title", "summary", "status", "started_at", "ended_at")
_SKILL = ("id", "name", "description", "status")
_GONE = frozenset({"archived", "retired", "deprecated"})
_LEFT = {
    "embeddings": "vectors are made again here",
    "api_logs": "logs of calls",
    "tool_calls": "how long calls took; what they were given is not kept there",
    "viewer_events": "logs of the viewer",
    "hub_memories": "copies of what others shared",
    "hub_chunks": "copies of what others shared",
    "hub_skills": "copies of what others shared",
}


def read(db: ForeignSqlite) -> Iterator[Item]:
    """What such a database holds."""
    for part in (_messages, _tasks, _skills):
        try:
            yield from part(db)
        except InvalidInput as e:
            yield Bad(part.__name__.strip("_"), str(e))
    for table, why in _LEFT.items():
        if number := db.count(table):
            yield Left(table, number, why)


def _messages(db: ForeignSqlite) -> Iterator[Item]:
    """The messages, session by session, the oldest first; only their places are sorted, not their texts."""
    seq = "c.seq, " if "seq" in db.tables["chunks"] else ""
    order = db.query(
        "select c.rowid from chunks c left join "
        "(select session_key, min(created_at) as began from chunks group by session_key) s "
        f"on s.session_key = c.session_key order by s.began, c.session_key, c.created_at, {seq}c.rowid"
    )
    merged = tools = 0
    for (rowid,) in order:
        row = db.row("chunks", rowid, _CHUNK)
        if row is None:
            continue
        where = f"chunks, row {rowid}"
        session, role, said = shape.text(row.get("session_key")), shape.role(row.get("role")), row.get("content")
        if row.bad or session is None or role is None or not isinstance(said, str):
            yield Bad(where, row.bad or "it has no session, role or text")
        elif row.get("dedup_status") not in (None, "active"):
            merged += 1
        elif role not in ("user", "assistant"):
            tools += 1
        elif words := said_only(said) if role == "user" else said.strip():
            at = shape.time(row.get("created_at"))
            yield Said(
                session, role, fit(words, MOST_TEXT), at, shape.name(row.get("id")), info={"source": "local-plugin"}
            )
    if merged:
        yield Left("merged messages", merged, "the plugin kept their words in another message")
    if tools:
        yield Left("outputs of tools and system messages", tools, "the calls they answer are not kept there")


def _tasks(db: ForeignSqlite) -> Iterator[Item]:
    empty = 0
    for row in db.rows("tasks", _TASK):
        where = f"tasks, {str(row.get('id'))!r:.80}"
        title, summary = shape.text(row.get("title")), shape.text(row.get("summary"))
        if row.bad:
            yield Bad(where, row.bad)
        elif summary is None:
            empty += 1
        else:
            text = f"{title.strip()}\n{summary.strip()}" if title and title.strip() not in summary else summary.strip()
            at = shape.time(row.get("ended_at")) or shape.time(row.get("started_at"))
            yield Told(
                text[: plugin_rows.MOST_NOTE],
                at,
                shape.name(row.get("id")),
                session=shape.text(row.get("session_key")) or "",
                tags=("task",),
            )
    if empty:
        yield Left("tasks without a summary", empty, "their messages are taken over")


def _skills(db: ForeignSqlite) -> Iterator[Item]:
    """The newest version of each skill that is in use."""
    gone, taken = 0, set[str]()
    versioned = db.has({"skill_versions": ("skill_id", "version", "content")})
    for row in db.rows("skills", _SKILL):
        where = f"skills, {str(row.get('id'))!r:.80}"
        if row.bad:
            yield Bad(where, row.bad)
            continue
        if str(row.get("status")).lower() in _GONE:
            gone += 1
            continue
        guide = ""
        if versioned:
            newest = db.rows("skill_versions", ("content",), "skill_id = ?", (row.get("id"),), "version desc limit 1")
            guide = next((v["content"] for v in newest if isinstance(v["content"], str)), "")
        yield plugin_rows.skill_item(
            {
                "name": row.get("name"),
                "invocation_guide": plugin_rows.without_front_matter(guide) or row.get("description"),
                "procedure_json": {"summary": row.get("description")},
            },
            where,
            taken,
        )
    if gone:
        yield Left("archived skills", gone, "given up there")
