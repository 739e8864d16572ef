"""F. Full text, search quality, filters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from memos import MemOS
from memos.errors import InvalidFilter, ModelError, ModelTimeout
from memos.memory.hit import SearchStatus

CJK = {"a": "紫藤茶馆周五营业", "b": "用Rust写的调度器", "c": "東京の喫茶店", "d": "서울 찻집"}


def test_r085_two_characters_and_mixed_scripts_are_found(memos: MemOS) -> None:
    """Two-character words and mixed scripts never match."""
    ids = {name: memos.add(text, session=name).ids[0] for name, text in CJK.items()}
    for query, name in {
        "茶馆": "a",
        "周五": "a",
        "Rust写": "b",
        "rust": "b",
        "喫茶": "c",
        "찻집": "d",
        "調度": None,
        "茶楼": None,
    }.items():
        found = [h.id for h in memos.search(query)]
        assert found[:1] == ([ids[name]] if name else []), query
    assert {h.id for h in memos.search("茶")} >= {ids["a"], ids["c"]}


def test_r087_searching_changes_nothing(home: Path) -> None:
    """Each search harms the index a little: rows dropped, doubled, a file that grows."""
    with MemOS(home, embedder="none", background=False) as memos:
        (id,) = memos.add("the kayak is teal", wait=True).ids
        file = home / "cubes" / memos.open_cube("default").location
        first = memos.search("kayak")
        before = (memos.stats(), memos.get(id), memos.history(id))
        for _ in range(200):
            assert memos.search("kayak") == first
        assert (memos.stats(), memos.get(id), memos.history(id)) == before
    db = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    assert db.execute("SELECT count(*) FROM fts").get == 1
    assert db.execute("PRAGMA integrity_check").get == "ok"
    db.close()


class Judge:
    """A relevance filter that fails in one of the usual ways."""

    model_id = "judge"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def rerank(self, query: str, texts: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    "answer", [ModelTimeout("cut off while thinking"), ModelError("not JSON"), [], [0.0] * 7, [float("nan")]]
)
def test_r090_a_judge_that_fails_never_turns_candidates_into_none(home: Path, answer: Any) -> None:
    """The filter's reply is cut, and the outcome is "none relevant"."""
    with MemOS(home, embedder="none", reranker=Judge(answer), background=False) as memos:
        (id,) = memos.add("My ferry leaves at 6:10").ids
        result = memos.search("ferry time")
        assert (result.status, result.hits[0].id) == (SearchStatus.FOUND, id)
        assert any("reranker" in r for r in result.reasons)


VALUES: dict[str, dict[str, Any]] = {
    "int": {"v": 5},
    "float": {"v": 5.5},
    "text": {"v": "five"},
    "true": {"v": True},
    "null": {"v": None},
    "list": {"v": ["five", 5]},
    "date": {"v": "2031-03-01"},
    "none": {},
}
CASES: list[tuple[dict[str, Any], str]] = [
    ({"eq": 5}, "int list"),
    ({"eq": "five"}, "text list"),
    ({"eq": True}, "true"),
    ({"eq": None}, "null none"),
    ({"ne": 5}, "float text true null date none"),
    ({"gt": 5}, "float"),
    ({"gte": 5}, "int float"),
    ({"lt": 5.5}, "int"),
    ({"lte": 5.5}, "int float"),
    ({"gte": "2031-01-01", "lt": "2032-01-01"}, "date"),
    ({"in": [5, "five"]}, "int text list"),
    ({"in": []}, ""),
    ({"nin": [5, 5.5, "five"]}, "true null date none"),
    ({"contains": "iv"}, "text"),
    ({"contains": "five"}, "text list"),
    ({"contains": ["five", 5]}, "list"),
    ({"like": "FIV"}, "text list"),
    ({"exists": True}, "int float text true list date"),
    ({"exists": False}, "null none"),
]


@pytest.fixture
def kept(memos: MemOS) -> dict[str, str]:
    return {memos.add(f"the kayak called {name}", info=info).ids[0]: name for name, info in VALUES.items()}


@pytest.mark.parametrize(("condition", "expected"), CASES)
@pytest.mark.parametrize("spelt", ["{}", "${}"])
def test_r092_every_operator_gives_the_documented_set(
    memos: MemOS, kept: dict[str, str], condition: dict[str, Any], expected: str, spelt: str
) -> None:
    """Documented operators fail validation."""
    where = {"info.v": {spelt.format(op): value for op, value in condition.items()}}
    assert {kept[m.id] for m in memos.list(filter=where).items} == set(expected.split())
    assert {kept[h.id] for h in memos.search("kayak", filter=where, limit=50)} == set(expected.split())
    negated = {kept[m.id] for m in memos.list(filter={"not": where}).items}
    assert negated == set(VALUES) - set(expected.split())


@pytest.mark.parametrize("where", [{"info.v": {"gt": None}}, {"info.v": {"gt": True}}, {"info.v": {"in": 5}}, {"info.v": {"exists": "yes"}},
                                   {"info.v": {"like": 5}}, {"info.v": float("nan")}, {"recorded_at": {"gt": "soon"}}, {"trust": {"gt": "high"}},
                                   {"kind": {"like": "fa"}}, {"tags": {"gt": "a"}}, {"id": "x"}])  # fmt: skip
def test_r092_a_mismatch_of_types_is_an_input_error(memos: MemOS, kept: dict[str, str], where: dict[str, Any]) -> None:
    """A mismatch is a crash."""
    for call in (lambda: memos.list(filter=where), lambda: memos.search("kayak", filter=where)):
        with pytest.raises(InvalidFilter):
            call()
