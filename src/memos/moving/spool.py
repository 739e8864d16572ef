"""The items of a source in the order they are to be stored, on disk and not in memory, each once.

All of a source is read before anything is stored, so that what turns out to be hostile at its end has stored nothing, and
the oldest come first whatever the order of the file. The file behind this has no name: nothing of it is left when the
process ends, however it ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import apsw

from memos.errors import InvalidInput, StorageFull
from memos.memory.time import from_micros, parse_time, to_micros
from memos.moving import shape
from memos.moving.items import Bad, Call, Item, Left, Said, Skill, Told, Worked
from memos.moving.report import MOST_SHOWN, Report
from memos.reading.foreign import ROLES
from memos.reading.messages import checked_info
from memos.reading.parts import is_blank, well_formed
from memos.storage.names import MAX_NAME

Kept = Said | Told | Worked | Skill

LONGEST_TEXT = 5_000_000  # characters
MOST_MARKED = 200  # characters at the beginning of a text that tell it from others of its session
_LONGEST_ID = 200
_NEVER = 1 << 62  # the time of what has none, behind all others
_JSON = json.JSONEncoder(ensure_ascii=False).encode
_MOST_USERS = 100
_CACHE_KB = 16_384
_KINDS: dict[str, type[Kept]] = {"said": Said, "told": Told, "worked": Worked, "skill": Skill}
_SCHEMA = f"""
PRAGMA cache_size = -{_CACHE_KB}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE;
CREATE TABLE sessions (number INTEGER PRIMARY KEY, name TEXT UNIQUE, first INTEGER, last INTEGER);
CREATE TABLE items (number INTEGER PRIMARY KEY, session INTEGER, at INTEGER, kind TEXT, key TEXT UNIQUE, steps INTEGER,
  over INTEGER, mark TEXT, data TEXT, known INTEGER DEFAULT 0);
CREATE TABLE bad (number INTEGER PRIMARY KEY, place TEXT, why TEXT);
CREATE TABLE more (what TEXT, why TEXT, count INTEGER, PRIMARY KEY (what, why));
CREATE TABLE users (name TEXT PRIMARY KEY);
"""


@dataclass(slots=True)
class _Session:
    name: str
    number: int
    first: int
    last: int


class Spool:
    """Takes items in and gives them back. `source`: begins the ids of messages, unless they are to stay as they are ("").
    `loose_ids`: see `Source`.
    """

    def __init__(self, source: str, session: str | None = None, *, loose_ids: bool = False) -> None:
        self._source, self._session, self._loose = source, session, loose_ids
        self._db = apsw.Connection("")
        for statement in _SCHEMA.split(";"):
            self._db.execute(statement)
        self._db.execute("BEGIN")
        self._here: _Session | None = None  # the session of what came last
        self._repeated = 0
        self._undated = 0
        self._first: int | None = None
        self._last: int | None = None

    def close(self) -> None:
        """Let go of it, and of what it held."""
        self._db.close()

    def take(self, item: Item) -> None:
        """Keep an item in its place. What cannot be stored is a bad row. Raises StorageFull."""
        match item:
            case Bad():
                self.bad(item)
            case Left():
                self._db.execute(
                    "INSERT INTO more VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
                    (item.what, item.why, item.count),
                )
            case _:
                try:
                    self._keep(item)
                except InvalidInput as e:
                    self.refuse(item, str(e))
                except apsw.FullError:
                    raise StorageFull(
                        "there is no room to put the items in order; free some, or let TMPDIR name another folder"
                    ) from None

    def bad(self, row: Bad) -> None:
        """Note a row that cannot be taken over."""
        where, why = (_clean(text)[:500] for text in (row.where, row.why))
        self._db.execute("INSERT INTO bad (place, why) VALUES (?, ?)", (where, why))

    def _keep(self, item: Kept) -> None:
        kind = next(name for name, made in _KINDS.items() if isinstance(item, made))
        at = _micros(getattr(item, "at", None))
        fields = self._checked(item)
        if "at" in fields and at is None:
            fields["at"] = None
        name = "" if isinstance(item, Skill) else fields["session"]
        session, order = self._place(name, at)
        key = self._key(item, fields)
        steps = len(item.calls) if isinstance(item, Worked) else 0
        turn = (steps, item.over, _mark(fields["text"])) if isinstance(item, Worked) else (0, False, None)
        self._db.execute(
            "INSERT OR IGNORE INTO items (session, at, kind, key, steps, over, mark, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (session, order, kind, key, *turn, _JSON(fields)),
        )
        if not self._db.changes():
            self._repeated += 1
            return
        if at is None and not isinstance(item, Skill):
            self._undated += 1
        if at is not None:
            self._first = at if self._first is None else min(self._first, at)
            self._last = at if self._last is None else max(self._last, at)
        user = getattr(item, "user", None)
        if user:
            self._db.execute(
                f"INSERT OR IGNORE INTO users SELECT ? WHERE (SELECT count(*) FROM users) < {_MOST_USERS}",
                (_clean(user)[:80],),
            )

    def _checked(self, item: Kept) -> dict[str, Any]:
        """The fields of an item as they can be stored. Raises InvalidInput, without its content, for what cannot."""
        fields = _fields(item)
        for what in ("text", "reply", "markdown"):
            if len(fields.get(what) or "") > LONGEST_TEXT:
                raise InvalidInput(f"its {what} has more than {LONGEST_TEXT:,} characters")
        if isinstance(item, (Said, Told)):
            if is_blank(fields["text"]):
                raise InvalidInput("its text is blank")
            if fields["role"] not in ROLES:
                raise InvalidInput(f"its role is {fields['role']!r:.40}; roles are {', '.join(sorted(ROLES))}")
        if isinstance(item, Worked):
            if is_blank(fields["text"]) and is_blank(fields["reply"]) and not fields["calls"]:
                raise InvalidInput("the turn is empty")
            if fields["reward"] is not None and not -1 <= fields["reward"] <= 1:
                raise InvalidInput("its reward is not between -1 and 1")
        if not isinstance(item, Skill):
            fields["info"] = dict(checked_info(fields["info"], "info"))
            fields["session"] = self._session or _named(fields["session"] or self._source or "imported")
            fields["tags"] = [_named(tag) for tag in fields.get("tags", ()) if not is_blank(tag)]
        return fields

    def _key(self, item: Kept, fields: dict[str, Any]) -> str:
        """What it is stored once under: the id it has there, else its content."""
        if isinstance(item, Skill):
            return f"skill:{fields['name']}"
        content = fields.get("role"), fields["at"], fields["text"], fields.get("name")
        id = fields["id"] or shape.mark(fields["session"], *content)
        if fields["id"] and self._loose:
            id = f"{id}-{shape.mark(item.session if isinstance(item, Said) else None, *content)}"
        elif fields["id"] and self._source and isinstance(item, Told):  # a note is changed under its id
            id = f"{id}-{shape.mark(fields['text'])}"
        key = _clean(f"{self._source}:{id}" if self._source else id)
        fields["id"] = key if len(key) <= _LONGEST_ID else f"{key[:100]}-{shape.mark(key)}"
        return str(fields["id"])

    def _place(self, name: str, at: int | None) -> tuple[int, int]:
        """The number of a session, and where in it something stands: by its time, else behind what came before."""
        if self._here is None or self._here.name != name:
            self._leave()
            self._here = self._enter(name)
        here = self._here
        if at is not None:
            here.first, here.last = min(here.first, at), at
        return here.number, here.last

    def _enter(self, name: str) -> _Session:
        found = self._db.execute("SELECT number, first, last FROM sessions WHERE name = ?", (name,)).fetchone()
        if found is not None:
            return _Session(name, *found)
        self._db.execute("INSERT INTO sessions (name, first, last) VALUES (?, ?, 0)", (name, _NEVER))
        return _Session(name, self._db.last_insert_rowid(), _NEVER, 0)

    def _leave(self) -> None:
        if self._here is not None:
            where = (self._here.first, self._here.last, self._here.number)
            self._db.execute("UPDATE sessions SET first = ?, last = ? WHERE number = ?", where)

    # -- out ----------------------------------------------------------------------------------------------------------

    def know(self, ids: Sequence[str]) -> None:
        """Note that these are stored already."""
        self._db.executemany("UPDATE items SET known = 1 WHERE key = ?", ((id,) for id in ids))

    def know_turns(self, session: str, texts: Sequence[str]) -> None:
        """Note the turns of a session that begin with words that were said in it."""
        self._db.executemany(
            "UPDATE items SET known = 1 WHERE kind = 'worked' AND mark = ? "
            "AND session = (SELECT number FROM sessions WHERE name = ?)",
            ((_mark(text), session) for text in texts),
        )

    def worked_sessions(self) -> list[str]:
        """The sessions in which an agent worked."""
        sql = "SELECT DISTINCT s.name FROM items i JOIN sessions s ON s.number = i.session WHERE i.kind = 'worked'"
        return [name for (name,) in self._db.execute(sql)]

    def closed_sessions(self) -> frozenset[str]:
        """Those of them in which the source says where episodes end."""
        sql = "SELECT DISTINCT s.name FROM items i JOIN sessions s ON s.number = i.session WHERE i.over"
        return frozenset(name for (name,) in self._db.execute(sql))

    def skill_names(self) -> list[str]:
        """The names of the skills."""
        return [
            str(key).removeprefix("skill:") for (key,) in self._db.execute("SELECT key FROM items WHERE kind = 'skill'")
        ]

    def refuse(self, item: Kept, why: str) -> None:
        """Note an item that the memory does not take."""
        self.bad(Bad(_place(item), why))

    def count(self, *, known: bool | None = None) -> int:
        """How many items there are, of which some are known."""
        where = "" if known is None else f" WHERE known = {int(known)}"
        return int(self._db.execute(f"SELECT count(*) FROM items{where}").get)

    def items(self) -> Iterator[tuple[Kept, bool]]:
        """All items, session by session, the oldest first, and whether each is known. A session begins where its first does."""
        self._leave()
        sql = (
            "SELECT i.kind, i.data, i.known FROM items i JOIN sessions s ON s.number = i.session "
            "ORDER BY s.first, s.number, i.at, i.number"
        )
        for kind, data, known in self._db.execute(sql):
            fields = json.loads(data)
            if kind == "worked":
                fields["calls"] = tuple(Call(**call) for call in fields["calls"])
            if "tags" in fields:
                fields["tags"] = tuple(fields["tags"])
            if kind == "worked":
                fields.pop("tags", None)
            yield _KINDS[kind](**fields), bool(known)

    def bad_rows(self) -> Iterator[Bad]:
        """All rows that cannot be taken over."""
        return (Bad(*row) for row in self._db.execute("SELECT place, why FROM bad ORDER BY number"))

    def report(self, source: str, title: str, path: str, *, dry_run: bool) -> Report:
        """What there is."""
        counts = dict(self._db.execute("SELECT kind, count(*) FROM items GROUP BY kind"))
        bad = [row for _, row in zip(range(MOST_SHOWN), self.bad_rows(), strict=False)]
        one = self._one
        return Report(
            *(source, title, path, dry_run),
            messages=counts.get("said", 0),
            notes=counts.get("told", 0),
            turns=counts.get("worked", 0),
            steps=one("SELECT coalesce(sum(steps), 0) FROM items"),
            skills=counts.get("skill", 0),
            sessions=one("SELECT count(DISTINCT session) FROM items WHERE kind != 'skill'"),
            first=None if self._first is None else from_micros(self._first).isoformat(),
            last=None if self._last is None else from_micros(self._last).isoformat(),
            users=tuple(name for (name,) in self._db.execute("SELECT name FROM users ORDER BY name")),
            undated=self._undated,
            repeated=self._repeated,
            known=self.count(known=True),
            bad=one("SELECT count(*) FROM bad"),
            bad_rows=tuple(bad),
            left=tuple(Left(*row) for row in self._db.execute("SELECT what, count, why FROM more ORDER BY what")),
        )

    def _one(self, sql: str) -> int:
        return int(self._db.execute(sql).get)


def _fields(item: Kept | Call) -> dict[str, Any]:
    return {name: _whole(getattr(item, name)) for name in item.__slots__}


def _whole(value: Any) -> Any:
    """A value as JSON can say it, without half characters and NULs, all the way down."""
    if value is None:
        return None
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, Call):
        return _fields(value)
    if isinstance(value, dict):
        return {_clean(str(key)): _whole(one) for key, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, (list, tuple)) else value


def _clean(text: str) -> str:
    return well_formed(text).replace("\0", "\ufffd")


def _named(name: str) -> str:
    """A text as the name of a session or a tag."""
    plain = "".join(c if ord(c) >= 32 and ord(c) != 127 else " " for c in name).strip()
    return plain if 0 < len(plain) <= MAX_NAME else f"{plain[:200]}-{shape.mark(name)}"


def _mark(text: str) -> str:
    """What tells a long text from others by how it begins: it may be kept in parts."""
    return shape.mark(" ".join(text[:MOST_MARKED].split())[:80])


def _micros(at: str | None) -> int | None:
    if at is None:
        return None
    try:
        if (iso := _iso(at)) is not None:
            return _within(to_micros(iso))
        return _within(to_micros(parse_time(at).instant))
    except (InvalidInput, ValueError, OverflowError):
        return None


def _within(micros: int) -> int:
    """Raises InvalidInput for what lies outside the years 1 to 9999 in UTC."""
    from_micros(micros)
    return micros


def _iso(at: str) -> datetime | None:
    """A time in the form that most files have, which is read quicker than others."""
    try:
        found = datetime.fromisoformat(at) if len(at) > 18 else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None


def _place(item: Kept) -> str:
    """Where an item stands, as far as it says itself."""
    if isinstance(item, Skill):
        return f"skill {item.name}"
    return f"session {item.session or '(none)'}, " + (f"id {item.id}" if item.id else "without an id")
