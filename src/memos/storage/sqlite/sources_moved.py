"""The lists of sources on their way out of a cube file and into a new one: each version with what it adds to the one before."""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import apsw

from memos.storage.sqlite.sources import begins, is_count

MOST = 100_000  # sources of lists that are held while versions that count from them are read

_LATER = "SELECT sources FROM memories WHERE id=? AND version>? AND sources LIKE '[%' ORDER BY version LIMIT 1"


class ListReader:
    """Tells of the versions of a file, oldest first, what each adds to the one before it."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._counts: dict[bytes, int] = {}  # of memories whose last version stores only how many
        self._lists: OrderedDict[bytes, list[Any]] = OrderedDict()
        self._held = 0

    def added(self, ident: bytes, version: int, stored: str | None) -> tuple[int, str | None]:
        """How many sources the version keeps of the one before it, and the list of those it adds."""
        kept = self._counts.pop(ident, 0)
        if stored is not None and is_count(stored):
            self._counts[ident] = count = int(stored)
            return kept, _text(self._list(ident, version)[kept:count])
        listed = self._lists.pop(ident, None)
        self._held -= len(listed or ())
        if not kept or stored is None:
            return 0, stored
        return kept, _text((json.loads(stored) if listed is None else listed)[kept:])

    def _list(self, ident: bytes, version: int) -> list[Any]:
        found = self._lists.get(ident)
        if found is None:
            found = json.loads(self._db.execute(_LATER, (ident, version)).get or "[]")
            self._held += len(found)
            while self._lists and self._held > MOST:
                self._held -= len(self._lists.popitem(last=False)[1])
            self._lists[ident] = found
        return found


@dataclass(slots=True)
class _Former:
    n: int
    count: int
    parts: list[str]

    @property
    def text(self) -> str:
        return f"[{', '.join(self.parts)}]"


class ListWriter:
    """Makes what rows of a new file store of what each version adds. A list is written once, however long it grows."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._former: dict[bytes, _Former] = {}  # by memory, while another version follows

    def stored(self, ident: bytes, n: int, added: str | None, kept: int, *, final: bool) -> str | None:
        """What the version of row `n` stores: it keeps `kept` sources of the one before it and has `added`. `final`: it is the
        current one.
        """
        former = self._former.pop(ident, None)
        count = kept + (len(json.loads(added)) if added else 0)
        if kept:
            assert former is not None
            parts = former.parts
        else:
            parts = []
            if former is not None and begins(added, former.text, count) is None:
                self._db.execute("UPDATE memories SET sources=? WHERE n=?", (former.text, former.n))
        if added:
            parts.append(added[1:-1])
        if not count:
            return None
        whole = _Former(n, count, parts)
        if final:
            return whole.text
        self._former[ident] = whole
        return str(count)


def _text(found: list[Any]) -> str | None:
    return json.dumps(found, ensure_ascii=False) if found else None
