"""Reads of a cube file, as plain functions over one connection. Each runs in a single statement or a read
transaction.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import apsw

from memos.errors import InvalidInput, NotFound
from memos.memory.filter import And, Compare, Filter, Op
from memos.memory.ids import id_from_bytes, id_to_bytes, is_id
from memos.memory.model import EdgeType, Kind, Memory, Origin, Status, Version
from memos.memory.number import whole
from memos.memory.time import from_micros
from memos.storage.ports import ANY_STATUS, Direction, Link, Page, Pending, Scored, StoreStats, TextQuery, Todo, View
from memos.storage.sqlite import images, memo, rows, terms, views
from memos.storage.sqlite.where import compile_where
from memos.text.document import own_words

MAX_DEPTH = 100  # hops of one walk
_TEXT_BATCH = 1_000
NEWEST = "m.id=? AND m.known_to IS NULL ORDER BY m.version DESC LIMIT 1"  # of a thousand versions, without a look at the others
FTS_BUDGET = 20_000  # postings a text query may walk: the rarest terms are taken first until it is used up


def get(db: apsw.Connection, ids: Sequence[str], view: View) -> list[Memory]:
    """The memories that exist in this view, in the order asked."""
    condition, params = views.memory_view(view)
    out = []
    for id in ids:
        row = db.execute(
            f"SELECT {rows.SELECT} FROM memories m WHERE m.id=? AND {condition} ORDER BY m.version DESC LIMIT 1",
            (id_to_bytes(id), *params),
        ).fetchone()
        if row and (memory := rows.readable(row)) is not None:
            out.append(memory)
    return out


def current(db: apsw.Connection, ids: Sequence[str]) -> list[Memory]:
    """The current versions of these memories, whatever their status, in the order asked; see `memo`."""
    kept = memo.of(db)
    if kept is None:
        return get(db, ids, View(statuses=ANY_STATUS))
    found = (current_kept(db, id, kept) for id in ids)
    return [memory for memory in found if memory is not None]


def current_kept(db: apsw.Connection, id: str, kept: memo.Memo) -> Memory | None:
    """The current version of a memory, from what is kept or the file."""
    known = kept.memories.get(id)
    if known is None:
        sql = f"SELECT {rows.SELECT} FROM memories m WHERE {NEWEST}"
        row = db.execute(sql, (id_to_bytes(id),)).fetchone()
        if row is not None:
            kept.keep_memory(known := rows.memory_from_row(row))
    return known


def of_slot(db: apsw.Connection, slot: str, kept: memo.Memo | None) -> list[Memory]:
    """Current versions of all memories of a slot, oldest first, from what is kept or the file."""
    where = "FROM memories m WHERE m.slot=? AND m.known_to IS NULL ORDER BY m.id"
    if kept is None:
        return [rows.memory_from_row(row) for row in db.execute(f"SELECT {rows.SELECT} {where}", (slot,)).fetchall()]
    ids: Any = db.execute(f"SELECT m.id {where}", (slot,)).fetchall()
    found = (current_kept(db, id_from_bytes(id), kept) for (id,) in ids)
    return [memory for memory in found if memory is not None]


def of_subject(db: apsw.Connection, subject: str, kind: Kind) -> list[Memory]:
    """Current versions of all memories of a kind of the slots of a subject, oldest first."""
    where = "FROM memories m WHERE m.slot >= ? AND m.slot < ? AND m.known_to IS NULL AND m.kind=? ORDER BY m.id"
    ends = (f"{subject}|", f"{subject}}}", kind.value)  # "}" is what follows "|"
    return [rows.memory_from_row(row) for row in db.execute(f"SELECT {rows.SELECT} {where}", ends).fetchall()]


def find_ids(db: apsw.Connection, digits: str, limit: int) -> list[str]:
    """Ids that begin or end with these hexadecimal digits, whatever the status, oldest first."""
    if not 0 < len(digits) <= 32 or set(digits) - set("0123456789abcdef"):
        return []
    ends = tuple(bytes.fromhex(digits.ljust(32, fill)) for fill in "0f")
    sql = (
        "SELECT id FROM memories WHERE id BETWEEN ?1 AND ?2 UNION "
        "SELECT id FROM memories WHERE lower(hex(id)) LIKE ?3 ORDER BY 1 LIMIT ?4"
    )
    return [id_from_bytes(found) for (found,) in db.execute(sql, (*ends, f"%{digits}", limit))]


def by_rows(db: apsw.Connection, numbers: Sequence[int]) -> dict[int, Memory]:
    """Memories by the row number of a version."""
    marks = ", ".join("?" * len(numbers))
    sql = f"SELECT {rows.SELECT}, m.n FROM memories m WHERE m.n IN ({marks})"
    found = ((row[rows.WIDTH], rows.readable(row)) for row in db.execute(sql, list(numbers)))
    return {n: memory for n, memory in found if memory is not None}


def text_ids(db: apsw.Connection, ids: Sequence[str]) -> list[int]:
    """The text ids of the current versions of memories."""
    found = (db.execute("SELECT t FROM memories WHERE id=? AND known_to IS NULL", (id_to_bytes(i),)).get for i in ids)
    return [int(t) for t in found if t is not None]


def list_page(
    db: apsw.Connection, where: Filter | None, view: View, limit: int, cursor: str | None, newest_first: bool
) -> Page:
    """One page in order of creation (ids are time-ordered), after the cursor. No row is skipped or repeated by writes
    between pages.
    """
    whole(limit, "limit", hint="; go on with cursor for more")
    condition, params = _conditions(where, view)
    if cursor is not None:
        if not is_id(cursor):
            raise InvalidInput(f"cursor {cursor!r} is not one that list() returned")
        condition += f" AND m.id {'<' if newest_first else '>'} ?"
        params.append(id_to_bytes(cursor))
    id = "+m.id" if _of_sessions(where) else "m.id"  # the rows of a session are few: found by its index, then sorted
    sql = f"SELECT {rows.SELECT} FROM memories m WHERE {condition} ORDER BY {id} {'DESC' if newest_first else 'ASC'} LIMIT ?"
    found: list[Any] = db.execute(sql, [*params, limit + 1]).fetchall()
    items = tuple(memory for r in found[:limit] if (memory := rows.readable(r)) is not None)
    return Page(items, id_from_bytes(found[limit - 1][0]) if len(found) > limit else None)


def _of_sessions(where: Filter | None) -> bool:
    """Whether a filter leaves only memories of sessions that it names."""
    if isinstance(where, And):
        return any(_of_sessions(item) for item in where.items)
    return isinstance(where, Compare) and where.field.name == "session" and where.op in (Op.EQ, Op.IN)


def count(db: apsw.Connection, where: Filter | None, view: View) -> int:
    """How many memories the view and filter leave."""
    condition, params = _conditions(where, view)
    return int(db.execute(f"SELECT count(*) FROM memories m WHERE {condition}", params).get)


def text_bytes(db: apsw.Connection, where: Filter | None, view: View) -> int:
    """How many bytes (UTF-8) the texts of these memories have together."""
    condition, params = _conditions(where, view)
    return int(
        db.execute(f"SELECT coalesce(sum(octet_length(m.text)), 0) FROM memories m WHERE {condition}", params).get
    )


def matching_texts(db: apsw.Connection, where: Filter | None, view: View) -> list[tuple[int, int]]:
    """(text id, row number) of every memory the view and filter leave."""
    condition, params = _conditions(where, view)
    found: list[Any] = db.execute(f"SELECT m.t, m.n FROM memories m WHERE {condition}", params).fetchall()
    return found


def history(db: apsw.Connection, id: str) -> list[Version]:
    """Every version of a memory, oldest first. Raises NotFound."""
    sql = f"SELECT {rows.STORED}, m.op, m.actor, m.cause FROM memories m WHERE m.id=? ORDER BY m.version"
    found: list[Any] = db.execute(sql, (id_to_bytes(id),)).fetchall()
    if not found:
        raise NotFound(f"memory {id} does not exist in this cube (or was hard-deleted)")
    return rows.versions_of(found)


def neighbors(
    db: apsw.Connection,
    ids: Sequence[str],
    depth: int,
    types: Collection[EdgeType] | None,
    direction: Direction,
    view: View,
    limit: int | None,
) -> list[Link]:
    """Edges within `depth` hops, breadth first, each once, nearest first; two directed look-ups per node, never an
    OR. All of them, unless there is a limit.
    """
    whole(depth, "depth", most=MAX_DEPTH)
    limit = sys.maxsize - 1 if limit is None else whole(limit, "limit")
    if direction not in ("out", "in", "both"):
        raise InvalidInput(f"direction is out, in or both, got {direction!r}")
    condition, params = views.edge_view(view)
    if types is not None:
        condition += f" AND e.type IN ({', '.join('?' * len(types))})"
        params += [t.value for t in types]
    ways = {"out": ("src",), "in": ("dst",), "both": ("src", "dst")}[direction]
    frontier = [id_to_bytes(i) for i in ids]
    seen_nodes, seen_edges = set(frontier), set()
    out: list[Link] = []
    for hop in range(1, depth + 1):
        following: list[bytes] = []
        for node in frontier:
            for way in ways:
                sql = f"SELECT {rows.EDGE_COLUMNS}, e.e FROM edges e WHERE e.{way}=? AND {condition} LIMIT ?"
                for row in db.execute(sql, [node, *params, limit + 1]):  # of which at most `limit` are known already
                    if row[-1] in seen_edges:
                        continue
                    if len(out) == limit:
                        return out
                    seen_edges.add(row[-1])
                    out.append(Link(rows.edge_from_row(row), hop))
                    other = row[1] if way == "src" else row[0]
                    if other not in seen_nodes:
                        seen_nodes.add(other)
                        following.append(other)
        frontier = following
    return out


class TextRow(NamedTuple):
    """A row found by full text, with what the ranking needs of it."""

    id: bytes
    score: float
    n: int
    session: str | None
    happened: int
    layer: str
    features: int
    length: int


def search_text(db: apsw.Connection, query: TextQuery, limit: int, where: Filter | None, view: View) -> list[Scored]:
    """Full text by FTS5 over term numbers: BM25, rarest terms first until the work budget is used."""
    return [Scored(id_from_bytes(r.id), r.score) for r in text_rows(db, query, limit, where, view)]


def text_rows(db: apsw.Connection, query: TextQuery, limit: int, where: Filter | None, view: View) -> list[TextRow]:
    """The rows that `search_text` finds, best first: by the summed rarity of the terms they hold, shorter texts first
    among equals. (FTS5 has no scores of its own without positions, which would double the index.)
    """
    condition, params = _conditions(where, view)
    out: list[TextRow] = []
    scored = _scored_texts(db, query)
    for at in range(0, len(scored), _TEXT_BATCH):
        batch = dict(scored[at : at + _TEXT_BATCH])
        # rows that share a text with an older version are found through the index on t; the others have t = n
        sql = (
            "SELECT m.id, j.value, m.n, m.session, coalesce(m.valid_from, m.recorded_at), m.layer, m.features, "
            "(SELECT length(x.terms) / 4 FROM memories x WHERE x.n=j.value) FROM json_each(?) j "
            f"CROSS JOIN memories m ON (m.n=j.value AND m.t=m.n OR m.t=j.value AND m.t<>m.n) WHERE {condition}"
        )
        found: list[Any] = db.execute(sql, [json.dumps(list(batch)), *params]).fetchall()
        out += [TextRow(row[0], batch[row[1]], *row[2:]) for row in found]
        if len(out) >= limit:
            break
    out.sort(key=lambda r: (-r.score, r.length, r.n))
    return out[:limit]


def _scored_texts(db: apsw.Connection, query: TextQuery) -> list[tuple[int, float]]:
    """(text id, summed rarity) of the texts that hold any of the terms, best first; the rarest terms are walked first, until the
    work budget is used."""
    numbers = terms.lookup(db, dict.fromkeys(query.terms))
    weight = dict(zip(query.terms, query.weights, strict=True)) if query.weights else {}
    total = max(1, newest(db)[0])
    walked: dict[int, float] = {}
    used = 0
    for count, term in sorted((_frequency(db, number), term) for term, number in numbers.items()):
        if used and used + count > FTS_BUDGET:
            break
        used += count
        rarity = math.log(1 + (total - min(count, total) + 0.5) / (count + 0.5)) * weight.get(term, 1.0)
        for (text,) in db.execute("SELECT rowid FROM fts WHERE fts MATCH ?", (f'"{numbers[term]}"',)):
            walked[text] = walked.get(text, 0.0) + rarity
    return sorted(walked.items(), key=lambda item: -item[1])


def _frequency(db: apsw.Connection, number: int) -> int:
    """How many texts hold a term, counted up to the work budget."""
    sql = "SELECT count(*) FROM (SELECT 1 FROM fts WHERE fts MATCH ? LIMIT ?)"
    return int(db.execute(sql, (f'"{number}"', FTS_BUDGET)).get)


_WHEN = "coalesce({0}.valid_from, {0}.recorded_at)"
_TURN = "m.known_to IS NULL AND m.layer='trace'"
_BEFORE = (  # the order of a session: by time, then by id; one walk along the index `memories_session`
    f"m.session=x.session AND {_TURN} AND {_WHEN.format('m')} <= {_WHEN.format('x')} "
    f"AND ({_WHEN.format('m')} < {_WHEN.format('x')} OR m.id < x.id) ORDER BY {_WHEN.format('m')} DESC, m.id DESC LIMIT 1"
)


def preceding(db: apsw.Connection, ids: Sequence[str], count: int) -> dict[str, tuple[Memory, ...]]:
    """The raw records before each, in the same session, by when they happened."""
    out = {}
    for id in ids:
        found = _beside(db, rows.SELECT, id_to_bytes(id), count, later=False)
        out[id] = tuple(memory for r in reversed(found) if (memory := rows.readable(r)) is not None)
    return out


def following(db: apsw.Connection, ident: bytes, count: int) -> list[tuple[int, int, bytes]]:
    """(row number, text id, id) of the raw records after one, in the same session, nearest first."""
    return [(int(n), int(t), bytes(i)) for n, t, i in _beside(db, "m.n, m.t, m.id", ident, count, later=True)]


def _beside(db: apsw.Connection, columns: str, ident: bytes, count: int, *, later: bool) -> list[tuple[Any, ...]]:
    sql = f"SELECT x.session, {_WHEN.format('x')} FROM memories x WHERE x.id=? AND x.known_to IS NULL"
    session, at = db.execute(sql, (ident,)).fetchone() or (None, None)
    if session is None:
        return []
    sign, way = (">", "ASC") if later else ("<", "DESC")
    when = _WHEN.format("m")
    sql = (
        f"SELECT {columns} FROM memories m WHERE m.session=?1 AND {_TURN} AND {when} {sign}= ?2 "
        f"AND ({when} {sign} ?2 OR m.id {sign} ?3) ORDER BY {when} {way}, m.id {way} LIMIT ?4"
    )
    return db.execute(sql, (session, at, ident, count)).fetchall()


_STANDS = "NOT EXISTS(SELECT 1 FROM memories m WHERE m.id=todo.id AND m.known_to IS NULL AND m.status='retracted')"


def todo(
    db: apsw.Connection,
    task: str,
    limit: int,
    attempts_below: int | None = None,
    ids: Collection[str] | None = None,
) -> list[Todo]:
    """The oldest marks of a task (those of `ids` only) that did not fail too often; those of what was taken back wait."""
    sql = f"SELECT id, task, since, attempts, error FROM todo WHERE task=? AND attempts < ? AND {_STANDS}"
    values: list[Any] = [task, 1 << 62 if attempts_below is None else attempts_below]
    if ids is not None:
        sql += " AND id IN (SELECT unhex(value) FROM json_each(?))"
        values.append(json.dumps([id_to_bytes(i).hex() for i in ids]))
    found: list[Any] = db.execute(f"{sql} ORDER BY q LIMIT ?", (*values, limit)).fetchall()
    return [Todo(id_from_bytes(i), k, from_micros(s), a, e) for i, k, s, a, e in found]


_UNEMBEDDED = (
    "FROM memories x WHERE x.n > ? AND x.n = x.t AND x.kind NOT IN ('entity', 'summary') AND NOT EXISTS("
    "SELECT 1 FROM vectors v JOIN models k ON k.m=v.m WHERE v.t=x.t AND k.name=?) "
    "AND EXISTS(SELECT 1 FROM memories c WHERE c.id=x.id AND c.known_to IS NULL AND c.t=x.t)"
)


_CONTEXT_CHARS = 300  # of the message before, read with each message


def pending_vectors(db: apsw.Connection, model: str, after: int, limit: int) -> list[Pending]:
    """Current texts after row `after` without a vector of this model, oldest first. A raw record is embedded after
    the end of the message before it in its session, so that "Yes, in May" means something; speakers' names are left
    to exact matching.
    """
    sql = (
        "SELECT x.t, x.text, x.speaker, json_extract(x.body, '$.injected'), "
        f"CASE WHEN x.layer='trace' THEN (SELECT m.n FROM memories m WHERE {_BEFORE}) END "
        f"{_UNEMBEDDED} ORDER BY x.n LIMIT ?"
    )
    found: list[Any] = db.execute(sql, (after, model, limit)).fetchall()
    out = []
    for t, text, speaker, injected, before in found:
        context = ""
        if before is not None:
            sql = "SELECT text, speaker, json_extract(body, '$.injected') FROM memories WHERE n=?"
            row: Any = db.execute(sql, (before,)).fetchone()
            context = _said(*row)[-_CONTEXT_CHARS:] + "\n"
        out.append(Pending(t, context + _said(text, speaker, injected)))
    return out


def _said(text: str, speaker: str | None, injected: str | None) -> str:
    return own_words(text, speaker, json.loads(injected) if injected else ()).strip()


def count_pending_vectors(db: apsw.Connection, model: str, after: int) -> int:
    """How many current texts after row `after` have no vector of this model."""
    return int(db.execute(f"SELECT count(*) {_UNEMBEDDED}", (after, model)).get)


def vector_models(db: apsw.Connection) -> tuple[str, ...]:
    """The models of which there are vectors, oldest first."""
    sql = "SELECT k.name FROM models k WHERE EXISTS(SELECT 1 FROM vectors v WHERE v.m=k.m) ORDER BY k.m"
    return tuple(str(name) for (name,) in db.execute(sql))


def newest(db: apsw.Connection) -> tuple[int, int]:
    """The highest row number, and the number of the last deletion."""
    sql = "SELECT (SELECT coalesce(max(n), 0) FROM memories), (SELECT coalesce(max(p), 0) FROM purges)"
    n, p = db.execute(sql).get
    return int(n), int(p)


def stats(db: apsw.Connection, disk_bytes: int) -> StoreStats:
    """Counts of everything in the file."""

    def table(sql: str) -> dict[str, int]:
        found: list[Any] = db.execute(sql).fetchall()
        return dict(found)

    pictures, picture_bytes = images.sizes(db)
    by_kind = table("SELECT kind, count(*) FROM memories WHERE known_to IS NULL GROUP BY kind")
    return StoreStats(
        memories=sum(by_kind.values()),
        by_kind=by_kind,
        by_status=table("SELECT status, count(*) FROM memories WHERE known_to IS NULL GROUP BY status"),
        versions=int(db.execute("SELECT count(*) FROM memories").get),
        edges=int(db.execute("SELECT count(*) FROM edges WHERE known_to IS NULL").get),
        vectors=table("SELECT k.name, count(*) FROM vectors v JOIN models k ON k.m=v.m GROUP BY k.name"),
        pending=table(f"SELECT task, count(*) FROM todo WHERE {_STANDS} GROUP BY task"),
        disk_bytes=disk_bytes,
        schema_version=int(db.execute("PRAGMA user_version").get),
        images=pictures,
        image_bytes=picture_bytes,
    )


def _conditions(where: Filter | None, view: View) -> tuple[str, list[Any]]:
    condition, params = views.memory_view(view)
    if where is not None:
        sql, extra = compile_where(where)
        condition, params = f"{condition} AND ({sql})", params + list(extra)
    return condition, params


def check(db: apsw.Connection) -> list[str]:
    """Problems of the file: damaged pages, full-text rows without a memory or memories without one, edges to nowhere."""
    # FTS5 checks against the structure that this connection read last; a query has it read what others wrote since.
    db.execute("SELECT rowid FROM fts LIMIT 1").fetchall()
    problems = [str(row[0]) for row in db.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
    for what, sql in _ORPHANS:
        found = int(db.execute(sql).get)
        if found:
            problems.append(f"{found} {what}")
    return problems


_CLOSED = " OR ".join(
    f"{column} NOT IN ({', '.join(repr(str(member)) for member in members)})"
    for column, members in (("kind", Kind), ("status", Status), ("origin", Origin))
)
_JSON = " OR ".join(f"NOT json_valid({column})" for column in ("tags", "sources", "info", "body"))
_ORPHANS = (
    ("rows that cannot be read", f"SELECT count(*) FROM memories WHERE {_CLOSED} OR {_JSON}"),
    (
        "versions whose sources are gone",
        "SELECT count(*) FROM memories m WHERE m.sources NOT LIKE '[%' AND (SELECT x.sources FROM memories x "
        "WHERE x.id=m.id AND x.version>m.version ORDER BY x.version LIMIT 1) IS NULL",
    ),
    (
        "texts missing from the full-text index",
        "SELECT count(*) FROM memories WHERE t=n AND n NOT IN (SELECT rowid FROM fts)",
    ),
    ("full-text rows without a memory", "SELECT count(*) FROM fts WHERE rowid NOT IN (SELECT n FROM memories)"),
    ("memories whose text is gone", "SELECT count(*) FROM memories WHERE t NOT IN (SELECT n FROM memories WHERE t=n)"),
    ("keys of a memory that does not exist", "SELECT count(*) FROM keys WHERE id NOT IN (SELECT id FROM memories)"),
    ("uses of a memory that does not exist", "SELECT count(*) FROM uses WHERE id NOT IN (SELECT id FROM memories)"),
    (
        "images that no record refers to",
        "SELECT count(*) FROM images WHERE sha256 NOT IN (SELECT sha256 FROM image_records)",
    ),
    (
        "references to images of a memory that does not exist",
        "SELECT count(*) FROM image_records WHERE id NOT IN (SELECT id FROM memories)",
    ),
    ("vectors without a memory", "SELECT count(*) FROM vectors WHERE t NOT IN (SELECT n FROM memories)"),
    (
        "edges to or from a memory that does not exist",
        "SELECT count(*) FROM edges WHERE src NOT IN (SELECT id FROM memories) OR dst NOT IN (SELECT id FROM memories)",
    ),
    (
        "pieces of work for a memory that does not exist",
        "SELECT count(*) FROM todo WHERE id NOT IN (SELECT id FROM memories)",
    ),
    (
        "memories with more than one current version",
        "SELECT count(*) FROM (SELECT 1 FROM memories WHERE known_to IS NULL GROUP BY id HAVING count(*) > 1)",
    ),
    (
        "memories without a current version",
        "SELECT count(*) FROM (SELECT id FROM memories GROUP BY id HAVING sum(known_to IS NULL)=0)",
    ),
)
