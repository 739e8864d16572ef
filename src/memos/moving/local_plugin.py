"""The local plugin's database `memos.db`, second version: turns of agents, and what was learned from them. What can be
learned again from the turns is left out; what people said or wrote, world models and skills are taken over. The first version
is read by `plugin_first`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from memos.errors import InvalidInput
from memos.moving import plugin_bundle, plugin_first, plugin_rows, shape
from memos.moving.files import is_file
from memos.moving.foreign_sqlite import ForeignSqlite, Row, is_sqlite
from memos.moving.guard import guarded
from memos.moving.injected import said_only
from memos.moving.items import Bad, Item, Left, Told, Worked
from memos.moving.plugin_rows import owner, parsed
from memos.moving.plugin_turns import assembled
from memos.moving.transcript import MOST_TEXT, fit

_NEEDED = {
    "sessions": ("id",),
    "episodes": ("id", "session_id", "started_at", "r_task", "status"),
    "traces": ("id", "episode_id", "session_id", "ts", "user_text", "agent_text", "tool_calls_json", "turn_id"),
}
_TRACE = (
    "id", "episode_id", "session_id", "ts", "turn_id", "user_text", "agent_text", "tool_calls_json", "reflection",
    "agent_thinking", "value", "tags_json", "owner_agent_kind", "owner_profile_id",
)  # fmt: skip
_POLICY = (
    "id", "title", "trigger", "procedure", "verification", "boundary", "support", "gain", "status", "experience_type",
    "source_episodes_json", "source_feedback_ids_json", "decision_guidance_json", "created_at", "updated_at", "edited_at",
    "owner_agent_kind", "owner_profile_id",
)  # fmt: skip
_WORLD = (
    "id", "title", "body", "structure_json", "domain_tags_json", "confidence", "created_at", "updated_at", "status",
    "owner_agent_kind", "owner_profile_id",
)  # fmt: skip
_SKILL = ("id", "name", "status", "invocation_guide", "procedure_json", "owner_agent_kind", "owner_profile_id")
_REPAIR = ("id", "ts", "preference", "anti_pattern", "owner_agent_kind", "owner_profile_id")
_FEEDBACK = ("id", "ts", "episode_id", "trace_id", "channel", "polarity", "magnitude", "rationale", "owner_agent_kind")
_LEFT = {
    "api_logs": "logs of calls",
    "audit_events": "its own audit log",
    "embedding_retry_queue": "vectors are made again here",
    "l2_candidate_pool": "candidates are found again in the turns",
    "trace_policy_links": "found again in the turns",
    "skill_trials": "skills begin on probation here",
    "sub_episodes": "made again from the turns",
    "evolution_jobs": "work that was waiting there",
    "kv": "bookkeeping",
    "hub_users": "sharing is set up anew",
    "hub_shared_memories": "copies of what others shared",
    "hub_shared_skills": "copies of what others shared",
}
_SIGN = {"positive": 1.0, "negative": -1.0, "neutral": 0.0}


def fits(path: Path) -> bool:
    """Whether a path is the plugin's database, a folder that holds it, or its JSON bundle."""
    found = database(path)
    if found is None:
        return is_file(path) and plugin_bundle.fits(path)
    try:
        with ForeignSqlite(found) as db:
            return db.has(_NEEDED) or db.has(plugin_first.NEEDED)
    except InvalidInput:
        return False


def read(path: Path) -> Iterator[Item]:
    """What it holds."""
    found = database(path)
    if found is None:
        yield from plugin_bundle.read(path)
        return
    with ForeignSqlite(found) as db:
        if db.has(_NEEDED):
            yield from _second(db)
        elif db.has(plugin_first.NEEDED):
            yield from plugin_first.read(db)
        else:
            raise InvalidInput(f"{found} is no database of the local plugin: it has not the tables of one")


def database(path: Path) -> Path | None:
    """The database at a path, or in the folder that it is."""
    if path.is_dir():
        inside = (path / "memos.db", path / "data" / "memos.db")
        return next((p for p in inside if is_file(p) and not p.is_symlink() and is_sqlite(p)), None)
    return path if is_sqlite(path) else None


def _second(db: ForeignSqlite) -> Iterator[Item]:
    for part in (_turns, _comments, _policies, _worlds, _skills, _repairs):
        try:
            yield from part(db)
        except InvalidInput as e:  # damaged in the middle: what can be read elsewhere still is
            yield Bad(part.__name__.strip("_"), str(e))
    for table, why in _LEFT.items():
        if number := db.count(table):
            yield Left(table, number, why)
    if number := sum(
        db.count(t, "vec is not null") for t in ("policies", "world_model", "skills") if "vec" in db.tables.get(t, ())
    ):
        yield Left("vectors of policies, world models and skills", number, "vectors are made again here")
    if "vec_summary" in db.tables["traces"] and (number := db.count("traces", "vec_summary is not null")):
        yield Left("vectors of turns", number, "vectors are made again here")


# -- turns -----------------------------------------------------------------------------------------------------------


def _turns(db: ForeignSqlite) -> Iterator[Item]:
    """The turns, episode by episode, the oldest first; only their places are sorted, not their texts."""
    order = db.query(
        "select t.rowid from traces t left join episodes e on e.id = t.episode_id "
        "order by e.started_at is null, e.started_at, t.episode_id, t.turn_id, t.ts, t.rowid"
    )
    rows = ((f"traces, row {rowid}", db.row("traces", rowid, _TRACE)) for (rowid,) in order)
    found = ((where, row.bad, row) for where, row in rows if row is not None)
    yield from assembled(found, lambda turn, episode: _closed(db, turn, episode))


def _closed(db: ForeignSqlite, turn: Worked, episode: str) -> Worked:
    """The last turn of an episode, with how it went."""
    reward = None
    for row in db.rows("episodes", ("r_task", "status"), "id = ?", (episode,)):
        reward = _score(row.get("r_task"))
    if reward is None and db.has({"feedback": ("episode_id", "channel", "polarity", "magnitude")}):
        given = [
            _SIGN[row["polarity"]] * size
            for row in db.rows("feedback", _FEEDBACK, "episode_id = ? and channel = 'explicit'", (episode,))
            if row.get("polarity") in _SIGN and (size := _score(row.get("magnitude"))) is not None
        ]
        reward = sum(given) / len(given) if given else None
    return replace(turn, over=True, reward=reward)


def _score(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -1 <= value <= 1:
        return None
    return float(value)


# -- what was learned ------------------------------------------------------------------------------------------------


def _comments(db: ForeignSqlite) -> Iterator[Item]:
    """What people said about the work, in words; its score is the reward of the episode."""
    if not db.has({"feedback": ("id", "ts", "channel", "rationale")}):
        return
    implicit = 0
    for row in db.rows("feedback", _FEEDBACK):
        if row.bad:
            yield Bad(f"feedback {str(row.get('id'))!r:.80}", row.bad)
        elif row.get("channel") != "explicit":
            implicit += 1
        elif said := shape.text(row.get("rationale")):
            yield _comment(row, said)
    if implicit:
        yield Left("implicit feedback", implicit, "how a task went is read again from what the user said next")


def _comment(row: Row, said: str) -> Told:
    info = {name: row[name] for name in ("episode_id", "polarity") if row.get(name)}
    at, id = shape.time(row.get("ts")), shape.name(row.get("id"))
    return Told(
        fit(said_only(said) or said, MOST_TEXT), at, id, info=info, tags=("feedback",), user=owner(row), role="user"
    )


def _policies(db: ForeignSqlite) -> Iterator[Item]:
    again = archived = 0
    for row in db.rows("policies", _POLICY):
        where = f"policies, {str(row.get('id'))!r:.80}"
        if row.bad:
            yield Bad(where, row.bad)
        elif row.get("status") == "archived":
            archived += 1
        elif plugin_rows.learned_again(row, _evidence(db, row)):
            again += 1
        else:
            yield plugin_rows.policy_note(row) or Bad(where, "it says nothing")
    if again:
        yield Left(
            "policies",
            again,
            "learned again from the turns they came from; here it takes more than one task to make one",
        )
    if archived:
        yield Left("archived policies", archived, "given up there")


def _evidence(db: ForeignSqlite, policy: Row) -> bool:
    ids = [x for x in parsed(policy.get("source_episodes_json"), list) if isinstance(x, str)][:20]
    return any(True for id in ids for _ in db.query("select 1 from episodes where id = ? limit 1", (id,)))


def _worlds(db: ForeignSqlite) -> Iterator[Item]:
    archived = 0
    for row in db.rows("world_model", _WORLD):
        where = f"world_model, {str(row.get('id'))!r:.80}"
        if row.get("status") == "archived":
            archived += 1
        else:
            yield Bad(where, row.bad) if row.bad else plugin_rows.world_note(row) or Bad(where, "it says nothing")
    if archived:
        yield Left("archived world models", archived, "given up there")


def _skills(db: ForeignSqlite) -> Iterator[Item]:
    archived, taken = 0, set[str]()
    for row in db.rows("skills", _SKILL):
        where = f"skills, {str(row.get('id'))!r:.80}"
        if row.get("status") == "archived":
            archived += 1
        else:
            yield Bad(where, row.bad) if row.bad else plugin_rows.skill_item(row, where, taken)
    if archived:
        yield Left("archived skills", archived, "given up there")


def _repairs(db: ForeignSqlite) -> Iterator[Item]:
    for row in db.rows("decision_repairs", _REPAIR):
        where = f"decision_repairs, {str(row.get('id'))!r:.80}"
        yield Bad(where, row.bad) if row.bad else plugin_rows.repair_note(row) or Bad(where, "it says nothing")


SOURCE = guarded("local-plugin", "the local plugin's memos.db (version 1 or 2) or its JSON bundle", fits, read)
