"""The dictionary of a cube: each term's number. Documents and the full-text index hold numbers only, so that words of a
deleted memory live in one place, and user text never reaches the query syntax of FTS5."""

from __future__ import annotations

import json
from collections.abc import Iterable
from sys import intern
from typing import Any

import apsw
import numpy as np

_CACHE_LIMIT = (
    4_096  # terms of one cube; a thousand cubes may be open, and what is common comes back with the next message
)


class TermDictionary:
    """Numbers for terms, cached in memory. Used by the single writer thread, inside its transaction."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._ids: dict[str, int] = {}

    def forget(self) -> None:
        """Drop the cache: another process wrote, or a transaction that added terms was rolled back."""
        self._ids.clear()

    def ids(self, terms: Iterable[str]) -> list[int]:
        """Numbers of the terms, new ones added: one look-up and one insert for all that are not cached."""
        wanted = list(terms)
        cache = self._ids
        unknown = list(dict.fromkeys(t for t in wanted if t not in cache))
        if unknown:
            if len(cache) > _CACHE_LIMIT:
                cache.clear()
                unknown = list(dict.fromkeys(wanted))
            self._load(unknown)
            missing = [t for t in unknown if t not in cache]
            if missing:
                added = "INSERT INTO terms(term) SELECT value FROM json_each(?) RETURNING term, id"
                made: list[Any] = self._db.execute(added, (json.dumps(missing),)).fetchall()
                self._keep(made)
        return [cache[t] for t in wanted]

    def _load(self, terms: list[str]) -> None:
        known = "SELECT t.term, t.id FROM json_each(?) j CROSS JOIN terms t ON t.term=j.value"
        found: list[Any] = self._db.execute(known, (json.dumps(terms),)).fetchall()
        self._keep(found)

    def _keep(self, numbered: list[Any]) -> None:
        self._ids.update((intern(term), number) for term, number in numbered)  # cubes share their words


def lookup(db: apsw.Connection, terms: Iterable[str]) -> dict[str, int]:
    """Numbers of the terms that exist, for readers."""
    found = {}
    for term in terms:
        if not term.isascii() and _has_half_characters(term):
            continue
        number = db.execute("SELECT id FROM terms WHERE term=?", (term,)).get
        if number is not None:
            found[term] = int(number)
    return found


def pack(ids: list[int]) -> bytes:
    """Term numbers as little-endian uint32."""
    return np.asarray(ids, dtype="<u4").tobytes()


def fts_document(ids: Iterable[int]) -> str:
    """The text FTS5 indexes: term numbers, separated by spaces."""
    return " ".join(map(str, ids))


def _has_half_characters(term: str) -> bool:
    """Lone surrogates cannot be stored, so nothing holds them."""
    return any("\ud800" <= c <= "\udfff" for c in term)
