"""`explain`: for a hit its ranks and shares, for a miss the stage that removed it and what would have helped."""

from __future__ import annotations

from typing import Any

import pytest

from memos import MemOS
from memos.errors import InvalidInput, NotFound
from memos.memory.hit import Explanation
from memos.memory.ids import new_id


def said(day: str, text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, "chat_time": f"{day}T10:00:00Z", **more}


@pytest.fixture
def ids(memos: MemOS) -> list[str]:
    return list(
        memos.add(
            [
                said("2024-01-01", "The teal kayak lies in shed four"),
                said("2024-01-02", "The kayak club meets in the town hall", message_id="m2"),
                said("2024-01-03", "An oak stands alone on the hill"),
            ],
            tags=["t"],
        ).ids
    )


def names(explanation: Explanation) -> list[str]:
    return [s.name for s in explanation.stages]


def test_a_hit_tells_its_rank_score_and_features(memos: MemOS, ids: list[str]) -> None:
    result = memos.search("teal kayak")
    why = memos.explain("teal kayak", ids[0])
    hit = result.hits[0]
    assert (why.found, why.rank, why.removed_by, why.would_help) == (True, 1, None, ())
    assert why.score == pytest.approx(hit.score) and why.features["score"] == pytest.approx(hit.score, abs=1e-3)
    assert why.features["lexical"] == pytest.approx(1.0)
    assert {"status", "filter", "lexical", "pool", "ranked", "packed"} <= set(names(why))
    assert all(s.passed for s in why.stages if s.name in ("status", "filter", "pool", "ranked", "packed", "lexical"))
    assert (why.query, why.memory_id) == ("teal kayak", ids[0])


def removed(memos: MemOS, id: str, query: str = "teal kayak", **options: Any) -> Explanation:
    why = memos.explain(query, id, **options)
    assert (why.found, why.rank) == (False, None)
    assert why.would_help
    return why


def test_a_retracted_memory_is_removed_by_its_status(memos: MemOS, ids: list[str]) -> None:
    memos.delete(ids[0], hard=False)
    why = removed(memos, ids[0])
    assert (why.removed_by, names(why)[0], why.stages[0].passed) == ("status", "status", False)
    assert "retracted" in why.stages[0].note


def test_a_superseded_fact_is_removed_by_its_status_and_helped_by_a_clock(memos: MemOS) -> None:
    memos.add([said("2024-01-01", "I live in Rome."), said("2024-02-01", "I live in Oslo.")], wait=True)
    rome = memos.list(kinds=["profile"], include_inactive=True, newest_first=False).items[0]
    assert removed(memos, rome.id, "Where do I live?").removed_by == "status"
    assert memos.explain("Where do I live?", rome.id, as_of="2024-01-15").removed_by != "status"


def test_a_memory_of_later_is_removed_by_as_of(memos: MemOS, ids: list[str]) -> None:
    why = removed(memos, ids[1], as_of="2024-01-01T23:00Z")
    assert why.removed_by == "as_of" and "2024-01-02" in why.would_help[0]


def test_a_memory_not_known_yet_is_removed_by_known_at(memos: MemOS, ids: list[str]) -> None:
    before = memos.get(ids[0]).recorded_at
    (late,) = memos.add(said("2023-01-01", "The teal kayak was bought")).ids
    why = removed(memos, late, known_at=before)
    assert why.removed_by == "known_at" and "known_at" in why.would_help[0]


def test_a_filter_that_is_false_removes(memos: MemOS, ids: list[str]) -> None:
    why = removed(memos, ids[0], filter={"message_id": "m2"})
    assert why.removed_by == "filter" and "m2" in next(s.note for s in why.stages if not s.passed)


def test_a_memory_outside_the_pool_is_told_its_place(memos: MemOS) -> None:
    (id,) = memos.add("An oak stands alone on the hill", session="elsewhere").ids
    memos.add([f"The teal kayak number {i} lies in its shed" for i in range(700)])
    why = removed(memos, id, limit=5)
    assert why.removed_by == "pool" and "300" in why.would_help[0]


def test_a_repetition_is_folded_into_the_hit_that_says_the_same(memos: MemOS, ids: list[str]) -> None:
    (again,) = memos.add(said("2024-01-09", "The teal kayak lies in shed four"), session="other").ids
    (hit,) = [h for h in memos.search("teal kayak shed") if again in (h.id, *h.also)]
    (folded,) = {again, ids[0]} - {hit.id}
    why = removed(memos, folded, "teal kayak shed")
    assert why.removed_by == "folded" and hit.id in why.would_help[0]


def test_a_weak_memory_is_removed_by_the_threshold(memos: MemOS, ids: list[str]) -> None:
    top, second, *_ = memos.search("teal kayak in shed four").hits
    threshold = (top.score + second.score) / 2
    why = removed(memos, second.id, "teal kayak in shed four", threshold=threshold)
    assert why.removed_by == "threshold" and f"{second.score:.2f}" in why.would_help[0]


def test_a_memory_behind_the_limit_is_removed_by_it(memos: MemOS, ids: list[str]) -> None:
    second = memos.search("teal kayak").hits[1]
    why = removed(memos, second.id, limit=1)
    assert why.removed_by == "limit" and "2" in why.would_help[0]


def test_a_memory_that_does_not_fit_is_found_but_not_packed(memos: MemOS, ids: list[str]) -> None:
    why = memos.explain("teal kayak", ids[0], max_tokens=3)
    packed = next(s for s in why.stages if s.name == "packed")
    assert why.found and not packed.passed and "max_tokens" in packed.note


def test_what_is_not_there_is_not_explained(memos: MemOS, ids: list[str]) -> None:
    with pytest.raises(NotFound):
        memos.explain("kayak", new_id())
    with pytest.raises(NotFound):
        memos.explain("kayak", ids[0], user="somebody else")
    for bad in ({"memory_id": "x"}, {"limit": 0}, {"query": ""}):
        with pytest.raises(InvalidInput):
            memos.explain(**{"query": "kayak", "memory_id": ids[0], **bad})
