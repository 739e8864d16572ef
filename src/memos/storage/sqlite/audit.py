"""The audit trail in the control file: who did what to which user, key or cube. A name that exists no more is taken out
of it, too: a stand-in keeps its entries together.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any

import apsw

from memos.errors import InvalidInput
from memos.logs import get_logger
from memos.memory.number import whole
from memos.memory.time import from_micros, to_micros, utcnow
from memos.storage.accounts import AuditEntry, AuditPage

log = get_logger(__name__)


def record(db: apsw.Connection, actor: str, action: str, object: str, user: str, detail: str = "") -> AuditEntry:
    """Write an entry, within the transaction of what it tells. `tell` it when that is committed."""
    now = to_micros(utcnow())
    db.execute(
        "INSERT INTO audit(at, actor, action, object, user, detail) VALUES(?, ?, ?, ?, ?, ?)",
        (now, actor, action, object, user, detail),
    )
    return AuditEntry(from_micros(now), actor, action, object, user, detail)


def tell(entry: AuditEntry) -> None:
    """Log an entry."""
    log.info(
        "account_changed",
        action=entry.action,
        actor=entry.actor,
        object=entry.object,
        user=entry.user,
        detail=entry.detail,
    )


def page(
    db: apsw.Connection, limit: int, cursor: str | None, *, action: str | None = None, object: str | None = None
) -> AuditPage:
    """Entries, newest first: all, or those of one action or object. Raises InvalidInput for a cursor that is none."""
    whole(limit, "limit", hint="; go on with cursor for more")
    before = 1 << 62
    if cursor is not None:
        if not isinstance(cursor, str) or not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
            raise InvalidInput(f"{cursor!r:.60} is not a cursor of the audit trail; start without one")
        before = int(cursor)
    rows: list[Any] = db.execute(
        "SELECT n, at, actor, action, object, user, detail FROM audit WHERE n < ?1 AND (?3 IS NULL OR action=?3) "
        "AND (?4 IS NULL OR object=?4) ORDER BY n DESC LIMIT ?2",
        (before, limit + 1, action, object),
    ).fetchall()
    items = tuple(AuditEntry(from_micros(at), *rest) for _, at, *rest in rows[:limit])
    return AuditPage(items, str(rows[limit - 1][0]) if len(rows) > limit else None)


def exists(db: apsw.Connection, name: str) -> bool:
    """Whether there is such a user, or somebody shares a cube with one."""
    return bool(
        db.execute(
            "SELECT EXISTS(SELECT 1 FROM users WHERE name=?1) OR EXISTS(SELECT 1 FROM grants WHERE user=?1) "
            "OR EXISTS(SELECT 1 FROM cubes WHERE owner=?1)",
            (name,),
        ).get
    )


def forget_user(db: apsw.Connection, name: str) -> None:
    """Put a stand-in for a user's name, unless she still `exists`."""
    if exists(db, name):
        return
    names = (_stand_in(), name)
    db.execute("UPDATE audit SET actor=? WHERE actor=?", names)
    db.execute("UPDATE audit SET user=? WHERE user=?", names)
    db.execute("UPDATE audit SET object=? WHERE object=? AND action GLOB 'user.*'", names)
    db.execute("UPDATE grants SET granted_by=? WHERE granted_by=?", names)
    db.execute("UPDATE api_keys SET created_by=? WHERE created_by=?", names)
    db.execute("UPDATE llm_usage SET user=? WHERE user=?", names)


def forget_cube(db: apsw.Connection, name: str) -> None:
    """Put a stand-in for the name of a cube that was deleted."""
    stand_in = _stand_in()
    for actions in ("grant.*", "cube.*", "retention.*"):
        db.execute("UPDATE audit SET object=? WHERE object=? AND action GLOB ?", (stand_in, name, actions))


def anonymous(entry: AuditEntry, name: str) -> AuditEntry:
    """The entry for the log, without the name of a user who is deleted."""
    actor, object, user = ("(deleted)" if n == name else n for n in (entry.actor, entry.object, entry.user))
    return replace(entry, actor=actor, object=object, user=user)


def _stand_in() -> str:
    return f"(deleted {secrets.token_hex(4)})"
