"""What agents lived through (the tables of `lived`), out of a cube file and into a new one: rows as plain values, with episodes
by their ids. Step numbers, hints and the stream of events keep their numbers, because rows and readers name them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import apsw

from memos.errors import ArchiveError
from memos.memory.ids import id_from_bytes, id_to_bytes


class Sort(StrEnum):
    """What a column holds."""

    NUMBER = "number"  # its own, by which it is named elsewhere
    ID = "id"  # of a memory or an episode
    EPISODE = "episode"  # an episode, in the file by its row
    HEX = "hex"
    TIME = "time"  # when something happened, in µs
    DUE = "due"  # when something is to happen
    NAME = "name"  # that a caller gave
    WORD = "word"  # of a closed set
    WHOLE = "whole"
    FLAG = "flag"
    SHARE = "share"  # 0 to 1
    SCORE = "score"  # -1 to 1
    STEPS = "steps"  # step numbers by what they are
    NUMBERS = "numbers"  # of an event


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. `words`: the closed set, where it is small."""

    name: str
    sort: Sort
    optional: bool = False
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table, its columns, the column by which its rows are in order, and which rows travel: those that lead nowhere do not."""

    name: str
    columns: tuple[Column, ...]
    order: str
    where: str = "1"


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row of a table: one plain value for each of its columns (texts, numbers, True, False, None, or a mapping)."""

    table: Table
    values: tuple[Any, ...]

    def __getitem__(self, name: str) -> Any:
        return next(v for c, v in zip(self.table.columns, self.values, strict=True) if c.name == name)


_KNOWN = "SELECT id FROM memories"
_E = Sort.EPISODE
EPISODES = Table(
    "episodes",
    (
        Column("id", Sort.ID),
        *(Column(n, Sort.NAME) for n in ("session", "agent", "owner", "environment")),
        Column("parent", Sort.ID, True),
        *(Column(n, Sort.TIME) for n in ("opened_at", "last_at")),
        Column("closed_at", Sort.TIME, True),
        Column("reason", Sort.NAME, True),
        Column("due_at", Sort.DUE, True),
        Column("learned_at", Sort.TIME, True),
        Column("reward", Sort.SCORE, True),
        Column("confidence", Sort.SHARE),
        Column("judge_at", Sort.DUE, True),
    ),
    "e",
)
STEPS = Table(
    "steps",
    (
        Column("s", Sort.NUMBER),
        Column("id", Sort.ID),
        Column("episode", _E),
        Column("turn", Sort.WHOLE),
        Column("role", Sort.WORD, words=("user", "assistant", "tool", "subagent")),
        Column("at", Sort.TIME),
        Column("tool", Sort.NAME, True),
        Column("ok", Sort.FLAG, True),
        Column("signature", Sort.HEX, True),
        Column("context", Sort.HEX, True),
        Column("alpha", Sort.SHARE, True),
        Column("value", Sort.SCORE, True),
    ),
    "s",
    f"x.id IN ({_KNOWN})",
)
SIGNALS = Table(
    "signals",
    (
        Column("episode", _E),
        Column("source", Sort.WORD, words=("user", "verifier", "implicit", "tool", "model")),
        Column("what", Sort.NAME),
        Column("score", Sort.SCORE),
        Column("at", Sort.TIME),
        Column("id", Sort.ID, True),
        Column("key", Sort.HEX),
    ),
    "n",
    f"(x.id IS NULL OR x.id IN ({_KNOWN}))",
)
LESSONS = Table(
    "lessons",
    (
        Column("episode", _E),
        Column("form", Sort.WORD),
        Column("bucket", Sort.HEX),
        Column("steps", Sort.STEPS),
        Column("value", Sort.SCORE),
        Column("memory", Sort.ID, True),
    ),
    "l",
    f"(x.memory IS NULL OR x.memory IN ({_KNOWN}))",
)
_OUTCOMES = ("pending", "pass", "fail", "unknown")
TRIALS = Table(
    "trials",
    (
        Column("memory", Sort.ID),
        Column("cube", Sort.NAME),
        Column("episode", Sort.ID),
        Column("handed_at", Sort.TIME),
        Column("after", Sort.WHOLE),
        Column("outcome", Sort.WORD, words=_OUTCOMES),
        Column("reward", Sort.SCORE, True),
        Column("followed", Sort.FLAG, True),
        Column("resolved_at", Sort.TIME, True),
        Column("home", Sort.NAME),
        Column("carried", Sort.WORD, words=_OUTCOMES),
    ),
    "t",
    f"(x.home<>'' OR x.memory IN ({_KNOWN})) AND (x.cube<>'' OR x.episode IN (SELECT id FROM episodes))",
)
HINTS = Table(
    "hints",
    (
        Column("h", Sort.NUMBER),
        Column("session", Sort.NAME),
        Column("episode", _E),
        Column("tool", Sort.NAME),
        Column("context", Sort.HEX),
        *(Column(n, Sort.WHOLE) for n in ("failures", "after")),
        *(Column(n, Sort.ID, True) for n in ("memory", "prefer", "avoid")),
        Column("made_at", Sort.TIME),
        Column("delivered_at", Sort.TIME, True),
        Column("validated", Sort.FLAG, True),
        Column("resolved_at", Sort.TIME, True),
    ),
    "h",
    " AND ".join(f"(x.{n} IS NULL OR x.{n} IN ({_KNOWN}))" for n in ("memory", "prefer", "avoid")),
)
LEARNED = Table(
    "learned",
    (
        Column("n", Sort.NUMBER),
        Column("at", Sort.TIME),
        Column("what", Sort.WORD),
        *(Column(n, Sort.ID, True) for n in ("memory", "episode")),
        Column("numbers", Sort.NUMBERS, True),
    ),
    "n",
)
LIVED: Mapping[str, Table] = {t.name: t for t in (EPISODES, STEPS, SIGNALS, LESSONS, TRIALS, HINTS, LEARNED)}
"""In this order: a row may name an episode that came before it."""


def count(db: apsw.Connection, table: Table) -> int:
    """How many rows of a table travel."""
    return int(str(db.execute(f"SELECT count(*) FROM {_source(table)}").get))


def rows(db: apsw.Connection, table: Table) -> Iterator[StoredRow]:
    """The rows of a table, in order."""
    columns = ", ".join("p.id" if c.sort is _E else f"x.{c.name}" for c in table.columns)
    for values in db.execute(f"SELECT {columns} FROM {_source(table)} ORDER BY x.{table.order}"):
        yield StoredRow(table, tuple(_out(c, v) for c, v in zip(table.columns, values, strict=True)))


def _source(table: Table) -> str:
    within = " JOIN episodes p ON p.e=x.episode" if any(c.sort is _E for c in table.columns) else ""
    return f"{table.name} x{within} WHERE {table.where}"


class RowBuilder:
    """Puts rows into a new cube file; those of `episodes` first."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._episodes: dict[str, int] = {}

    def add(self, row: StoredRow) -> None:
        """One row. Raises ArchiveError when its episode did not come before it."""
        columns = ", ".join(c.name for c in row.table.columns)
        values = tuple(self._in(c, v) for c, v in zip(row.table.columns, row.values, strict=True))
        self._db.execute(f"INSERT INTO {row.table.name}({columns}) VALUES({', '.join('?' * len(values))})", values)
        if row.table is EPISODES:
            self._episodes[row["id"]] = self._db.last_insert_rowid()

    def _in(self, column: Column, value: Any) -> Any:
        if value is None:
            return None
        if column.sort is _E:
            if value not in self._episodes:
                raise ArchiveError(f"episode {value}, which something points to, is not in the archive")
            return self._episodes[value]
        if column.sort is Sort.ID:
            return id_to_bytes(value)
        if column.sort is Sort.HEX:
            return bytes.fromhex(value)
        if column.sort in (Sort.STEPS, Sort.NUMBERS):
            return json.dumps({k: list(v) if isinstance(v, tuple) else v for k, v in value.items()})
        return int(value) if column.sort is Sort.FLAG else value


def _out(column: Column, value: Any) -> Any:
    if value is None:
        return None
    if column.sort in (Sort.ID, _E):
        return id_from_bytes(value)
    if column.sort is Sort.HEX:
        return value.hex()
    if column.sort in (Sort.STEPS, Sort.NUMBERS):
        return json.loads(value)
    return bool(value) if column.sort is Sort.FLAG else value
