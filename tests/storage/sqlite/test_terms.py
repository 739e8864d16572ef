"""The dictionary of a cube remembers what is common, not everything: a thousand cubes may be open."""

from __future__ import annotations

import apsw

from memos.storage.sqlite import terms
from memos.storage.sqlite.terms import TermDictionary


def _dictionary() -> TermDictionary:
    db = apsw.Connection(":memory:")
    db.execute("CREATE TABLE terms(id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE)")
    return TermDictionary(db)


def test_what_is_kept_in_memory_is_bounded_and_numbers_stay_the_same() -> None:
    dictionary = _dictionary()
    first = dictionary.ids(["harbour", "tram"])
    for start in range(0, 3 * terms._CACHE_LIMIT, 500):
        dictionary.ids([f"word{n}" for n in range(start, start + 500)])
        assert len(dictionary._ids) <= terms._CACHE_LIMIT + 500
    assert dictionary.ids(["harbour", "tram"]) == first
    assert len(set(dictionary.ids(["harbour", "tram", "word0", "word1"]))) == 4


def test_cubes_share_the_words_they_keep() -> None:
    one, other = _dictionary(), _dictionary()
    for dictionary in (one, other):
        dictionary.ids(["".join(["light", "house"])])
    assert next(iter(one._ids)) is next(iter(other._ids))
