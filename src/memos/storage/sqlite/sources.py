"""Where a memory was read, in the rows of its versions.

What is said a thousand times has a thousand versions with a longer list each: the list is stored once. A former version whose
list the next one begins with stores only how many of it were its own ("3"); the list is in the first later version that has one
("[…]"). The current version always has its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw

from memos.memory.model import Source
from memos.memory.time import from_micros, to_micros

# The column of a row `m` as `from_text` reads it: a number stands before the list that it counts from.
COLUMN = (
    "CASE WHEN m.known_to IS NULL OR m.sources IS NULL OR m.sources LIKE '[%' THEN m.sources ELSE m.sources || coalesce("
    "(SELECT x.sources FROM memories x WHERE x.id=m.id AND x.version>m.version AND x.sources LIKE '[%' "
    "ORDER BY x.version LIMIT 1), '') END"
)


def to_text(sources: tuple[Source, ...]) -> str | None:
    """A list of sources as it is stored; None for none."""
    if not sources:
        return None
    return json.dumps(
        [
            {
                name: (to_micros(v) if name == "time" else v)
                for name in Source.__slots__
                if (v := getattr(s, name)) is not None
            }
            for s in sources
        ],
        ensure_ascii=False,
    )


def from_text(value: str | None) -> tuple[Source, ...]:
    """The sources of a stored list, or of a number and the list that it counts from. Raises ValueError."""
    if not value:
        return ()
    number, bracket, rest = value.partition("[")
    found: list[dict[str, Any]] = json.loads(bracket + rest)
    read = tuple(Source(**{**s, "time": from_micros(s["time"])} if "time" in s else s) for s in found)
    return first(read, int(number)) if number else read


def is_count(stored: str | None) -> bool:
    """Whether a version stores only how many sources of the next list are its own."""
    return bool(stored) and not str(stored).startswith("[")


def first(sources: tuple[Source, ...], count: int) -> tuple[Source, ...]:
    """The first of a list. Raises ValueError where it has fewer."""
    if not 0 < count <= len(sources):
        raise ValueError(f"a version has {count} sources, the later list has {len(sources)}")
    return sources[:count]


def begins(new: str | None, old: str | None, count: int) -> str | None:
    """What the former version stores when the list `new`, of `count` sources, begins with its list `old`; None when it does not.
    Both as `to_text` writes them.
    """
    if not new or not old or is_count(old) or not new.startswith(old[:-1]):
        return None
    rest = new[len(old) - 1 :]
    if rest != "]" and not rest.startswith(", {"):
        return None
    return str(count - len(json.loads(f"[{rest[2:]}")) if rest != "]" else count)


def to_texts(lists: Sequence[tuple[Source, ...]]) -> list[str | None]:
    """What the versions of a memory store, oldest first; the last is the current one."""
    out: list[str | None] = []
    for i, own in enumerate(lists):
        following = lists[i + 1] if i + 1 < len(lists) else ()
        out.append(str(len(own)) if own and following[: len(own)] == own else to_text(own))
    return out


def share(db: apsw.Connection) -> None:
    """Store the lists of former versions so, in a file in which each version has its own."""
    many = "SELECT id FROM memories WHERE sources IS NOT NULL GROUP BY id HAVING count(*)>1"
    sql = (
        "SELECT n, sources, CASE WHEN json_valid(sources) THEN json_array_length(sources) END FROM memories WHERE id=? "
        "ORDER BY version DESC"
    )
    for (ident,) in db.execute(many).fetchall():
        numbers: list[tuple[str, int]] = []
        later, count = None, 0
        rows: Any = db.execute(sql, (ident,))
        for n, stored, own in rows:
            if (shared := begins(later, stored, count)) is not None:
                numbers.append((shared, n))
            later, count = (stored, own) if own else (None, 0)
        db.executemany("UPDATE memories SET sources=? WHERE n=?", numbers)
