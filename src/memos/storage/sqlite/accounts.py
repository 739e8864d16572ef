"""Users and API keys in the control file. Of a key's secret only the SHA-256 is kept: it is 256 random bits, which nobody
can guess, so a slow hash would protect nothing and cost every request.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import apsw

from memos.errors import InvalidInput, NotFound, Unauthorized
from memos.logs import get_logger
from memos.memory.ids import new_id
from memos.memory.number import whole
from memos.memory.time import from_micros, to_micros, utcnow
from memos.storage.accounts import ApiKey, AuditPage, Secret, User, checked_scopes
from memos.storage.names import check_name, check_user, encoded_info
from memos.storage.sqlite import audit
from memos.storage.sqlite.control import Control, Kept

log = get_logger(__name__)

MARK = "mk_"
PREFIX_CHARS = 11
USE_EVERY = 60_000_000  # microseconds between two notes that a key was used
REFUSED = "the API key is missing, unknown, expired or revoked, or its user is not active; ask for a new one"
_NOBODY = bytes(32)
_USER = "SELECT name, created_at, active, info FROM users"
_KEY = (
    "SELECT id, prefix, user, scopes, description, created_at, created_by, expires_at, last_used_at, revoked_at "
    "FROM api_keys"
)


@dataclass(frozen=True, slots=True)
class _Known:
    """A key as it was looked up, with what is compared, and when its use was noted last (microseconds)."""

    key: ApiKey
    hash: bytes
    active: bool
    noted: int


class SqliteAccounts:
    """Users and keys of one data folder. All methods are quick, blocking and safe from any thread or process."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._keys: Kept[bytes, _Known] = Kept()
        self._any: Kept[str, bool] = Kept()
        self._ever = False  # whether there was a key: what has become true stays true
        self._inactive: Kept[str, frozenset[Any]] = Kept()

    # -- users -------------------------------------------------------------------------------------------------

    def create_user(self, name: str, info: Mapping[str, Any] | None, by: str) -> User:
        """A new user. Raises InvalidInput when there is one, or when a cube of somebody else has the name."""
        check_user(name)
        check_name(by, "by")
        stored = encoded_info(info)
        with self._control.change() as db:
            if db.execute("SELECT 1 FROM users WHERE name=?", (name,)).get:
                raise InvalidInput(f"a user named {name!r} exists already; choose another name")
            _reserve(db, name)
            db.execute("UPDATE users SET info=? WHERE name=?", (stored, name))
            told = audit.record(db, by, "user.create", name, name)
            user = _user(db.execute(f"{_USER} WHERE name=?", (name,)).fetchone())
        audit.tell(told)
        return user

    def list_users(self, limit: int | None = None, after: str | None = None) -> list[User]:
        """Users by name, those whose names come after `after`."""
        if after is not None:
            check_name(after, "after")
        most = -1 if limit is None else whole(limit, "limit", most=1 << 31)
        with self._control.use() as db:
            rows: list[Any] = db.execute(
                f"{_USER} WHERE name > ? ORDER BY name LIMIT ?", (after or "", most)
            ).fetchall()
        return [_user(r) for r in rows]

    def find_user(self, name: str) -> User | None:
        """The user of this name."""
        check_name(name, "user")
        with self._control.use() as db:
            row = db.execute(f"{_USER} WHERE name=?", (name,)).fetchone()
        return None if row is None else _user(row)

    def is_active(self, name: str) -> bool:
        """Whether a user may act; one that is not known may. Cheap: asked at every call."""
        with self._control.use() as db:
            kept = self._inactive.fresh(db)
            if "all" not in kept:
                kept["all"] = frozenset(n for (n,) in db.execute("SELECT name FROM users WHERE NOT active").fetchall())
            return name not in kept["all"]

    def set_active(self, name: str, active: bool, by: str) -> User:
        """Let a user's keys work, or not. Raises NotFound."""
        check_name(name, "user")
        check_name(by, "by")
        told = None
        with self._control.change() as db:
            row = db.execute(f"{_USER} WHERE name=?", (name,)).fetchone()
            if row is None:
                raise _no_user(name)
            user = _user(row)
            if user.active != active:
                db.execute("UPDATE users SET active=?, explicit=1 WHERE name=?", (int(active), name))
                told = audit.record(db, by, "user.activate" if active else "user.deactivate", name, name)
        if told is not None:
            audit.tell(told)
        return replace(user, active=active)

    def delete_user(self, name: str, by: str) -> None:
        """Delete a user who owns no cube, with all keys and grants. Raises NotFound, and InvalidInput for one who owns some."""
        check_name(name, "user")
        check_name(by, "by")
        with self._control.change() as db:
            if not db.execute("SELECT 1 FROM users WHERE name=?", (name,)).get:
                raise _no_user(name)
            if owned := db.execute("SELECT count(*) FROM cubes WHERE owner=? AND deleted_at IS NULL", (name,)).get:
                cubes = "1 cube" if owned == 1 else f"{owned} cubes"
                raise InvalidInput(f"user {name!r} owns {cubes}; delete them first, or say everything=True")
            db.execute("DELETE FROM api_keys WHERE user=?", (name,))
            db.execute("DELETE FROM grants WHERE user=?", (name,))
            db.execute("DELETE FROM users WHERE name=?", (name,))
            told = audit.record(db, by, "user.delete", name, name)
            audit.forget_user(db, name)
        audit.tell(audit.anonymous(told, name))
        self._control.forget()

    # -- keys --------------------------------------------------------------------------------------------------

    def create_key(
        self, user: str, scopes: Iterable[str], description: str, expires_at: datetime | None, by: str
    ) -> tuple[ApiKey, Secret]:
        """A new key and its secret, which is kept nowhere. The user is made when there is none."""
        check_user(user)
        check_name(by, "by")
        found = checked_scopes(scopes)
        if description != "":
            check_name(description, "description")
        now = to_micros(utcnow())
        expires = None if expires_at is None else to_micros(expires_at)
        with self._control.change() as db:
            _reserve(db, user)
            secret = Secret(MARK + secrets.token_urlsafe(32))
            while db.execute("SELECT 1 FROM api_keys WHERE prefix=?", (secret[:PREFIX_CHARS],)).get:
                secret = Secret(MARK + secrets.token_urlsafe(32))
            prefix, id = secret[:PREFIX_CHARS], new_id()
            db.execute(
                "INSERT INTO api_keys(id, hash, prefix, user, scopes, description, created_at, created_by, expires_at) "
                "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (id, _digest(secret), prefix, user, ",".join(sorted(found)), description, now, by, expires),
            )
            told = audit.record(db, by, "key.create", prefix, user, ",".join(sorted(found)))
        audit.tell(told)
        until = None if expires is None else from_micros(expires)
        return ApiKey(id, prefix, user, found, description, from_micros(now), by, until), secret

    def list_keys(self, user: str | None = None, *, include_revoked: bool = False) -> list[ApiKey]:
        """Keys, of one user or all, oldest first."""
        if user is not None:
            check_name(user, "user")
        with self._control.use() as db:
            rows: list[Any] = db.execute(
                f"{_KEY} WHERE (?1 IS NULL OR user=?1) AND (?2 OR revoked_at IS NULL) ORDER BY id",
                (user, int(include_revoked)),
            ).fetchall()
        return [_key(r) for r in rows]

    def get_key(self, key: str) -> ApiKey:
        """The key of this id or prefix. Raises NotFound."""
        with self._control.use() as db:
            return _find(db, key)

    def revoke_key(self, key: str, by: str) -> ApiKey:
        """Have a key, named by its id or prefix, never work again. Raises NotFound."""
        check_name(by, "by")
        now = to_micros(utcnow())
        with self._control.change() as db:
            found = _find(db, key)
            if found.revoked_at is not None:
                return found
            db.execute("UPDATE api_keys SET revoked_at=? WHERE id=?", (now, found.id))
            told = audit.record(db, by, "key.revoke", found.prefix, found.user)
        audit.tell(told)
        return replace(found, revoked_at=from_micros(now))

    def check_key(self, secret: object) -> ApiKey:
        """The key of a secret, if it may be used now. Raises Unauthorized, with the same words whatever is wrong."""
        digest = _digest(secret if isinstance(secret, str) else "")
        with self._control.use() as db:
            known = self._keys.fresh(db).get(digest)
            if known is None and (known := _look_up(db, digest)) is not None:
                self._keys[digest] = known
        same = hmac.compare_digest(_NOBODY if known is None else known.hash, digest)
        if known is None or not same:
            raise Unauthorized(REFUSED)
        now = utcnow()
        if not known.active or not known.key.usable(now):
            log.info("key_refused", key=known.key.prefix, user_active=known.active, revoked=bool(known.key.revoked_at))
            raise Unauthorized(REFUSED)
        return self._used(known, to_micros(now))

    def has_keys(self) -> bool:
        """Whether a key was ever made, revoked ones included: doors that were locked stay so. Cheap: asked at every request."""
        if self._ever:
            return True
        with self._control.use() as db:
            kept = self._any.fresh(db)
            if "any" not in kept:
                kept["any"] = bool(db.execute("SELECT EXISTS(SELECT 1 FROM audit WHERE action='key.create')").get)
            self._ever = kept["any"]
            return self._ever

    def audit(self, limit: int = 100, cursor: str | None = None) -> AuditPage:
        """What was done to users, keys and grants, newest first."""
        with self._control.use() as db:
            return audit.page(db, limit, cursor)

    def _used(self, known: _Known, now: int) -> ApiKey:
        """Note the use of a key, at most once a minute, and not now when that would take a moment."""
        if now - known.noted < USE_EVERY:
            return known.key
        sql = "UPDATE api_keys SET last_used_at=?1 WHERE id=?2 AND coalesce(last_used_at, 0) <= ?1 - ?3"
        if not self._control.note(sql, (now, known.key.id, USE_EVERY)):
            return known.key
        known = replace(known, key=replace(known.key, last_used_at=from_micros(now)), noted=now)
        with self._control.use() as db:
            kept = self._keys.fresh(db)
            if known.hash in kept:  # not: revoked since
                kept[known.hash] = known
        return known.key


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _look_up(db: apsw.Connection, digest: bytes) -> _Known | None:
    row = db.execute(
        "SELECT k.id, k.prefix, k.user, k.scopes, k.description, k.created_at, k.created_by, k.expires_at, k.last_used_at, "
        "k.revoked_at, k.hash, coalesce(u.active, 0) FROM api_keys k LEFT JOIN users u ON u.name=k.user WHERE k.hash=?",
        (digest,),
    ).fetchone()
    if row is None:
        return None
    *key, hash, active = row
    return _Known(_key(tuple(key)), hash, bool(active), key[8] or 0)


def _find(db: apsw.Connection, key: object) -> ApiKey:
    """The key of an id, a prefix, or (somebody may paste it) a whole secret, which no message repeats."""
    named = str(key).encode("utf-8", "replace").decode()
    secret = named.startswith(MARK) and len(named) > PREFIX_CHARS
    row = db.execute(
        f"{_KEY} WHERE id=?1 OR prefix=?1 OR hash=?2", (named, _digest(named) if secret else None)
    ).fetchone()
    if row is None:
        raise NotFound(f"no API key has the id or prefix {named[: PREFIX_CHARS if secret else 36]!r}")
    return _key(row)


def _reserve(db: apsw.Connection, name: str) -> None:
    """Make a user who stays. Nobody becomes a user by the name of somebody else's cube: hers would be taken."""
    owner = db.execute("SELECT owner FROM cubes WHERE name=? AND deleted_at IS NULL", (name,)).get
    known = db.execute("SELECT 1 FROM users WHERE name=?", (name,)).get
    if owner is not None and owner != name and not known:
        raise InvalidInput(f"{name!r} is the name of a cube of another user; choose another name for the user")
    db.execute(
        "INSERT INTO users(name, created_at, explicit) VALUES(?, ?, 1) ON CONFLICT DO UPDATE SET explicit=1",
        (name, to_micros(utcnow())),
    )


def _no_user(name: str) -> NotFound:
    return NotFound(f"user {name!r} does not exist")


def _user(row: Any) -> User:
    name, created_at, active, info = row
    return User(name, from_micros(created_at), bool(active), json.loads(info) if info else {})


def _key(row: tuple[Any, ...]) -> ApiKey:
    id, prefix, user, scopes, description, created, by, expires, used, revoked = row
    times = (None if t is None else from_micros(t) for t in (expires, used, revoked))
    return ApiKey(id, prefix, user, frozenset(scopes.split(",")), description, from_micros(created), by, *times)
