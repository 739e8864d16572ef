"""`delete`: by each selector, hard and soft, counted before it is done, and never more than was meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memos import MemOS
from memos.errors import InvalidFilter, InvalidInput, NotFound
from memos.memory.ids import new_id

Ids = dict[str, str]


@pytest.fixture
def ids(memos: MemOS) -> Ids:
    """Three records in two sessions; the first two say the same."""
    (rome,) = memos.add("I live in Rome near the river.", session="s1", tags=["home"]).ids
    (again,) = memos.add("Well, I live in Rome, as you know.", session="s2").ids
    (kayak,) = memos.add("The kayak is teal and lies in shed four.", session="s2", tags=["boats"]).ids
    memos.flush()
    return {"rome": rome, "again": again, "kayak": kayak}


def left(memos: MemOS) -> set[str]:
    return {m.id for m in memos.list(kinds=["trace"]).items}


SELECTORS: list[tuple[Callable[[Ids], dict[str, Any]], set[str]]] = [
    (lambda ids: {"ids": ids["kayak"]}, {"kayak"}),
    (lambda ids: {"ids": [ids["kayak"], ids["rome"], ids["kayak"]]}, {"kayak", "rome"}),
    (lambda ids: {"filter": {"tags": "boats"}}, {"kayak"}),
    (lambda ids: {"filter": {"and": [{"session": "s2"}, {"text": {"like": "ROME"}}]}}, {"again"}),
    (lambda ids: {"session": "s2"}, {"again", "kayak"}),
    (lambda ids: {"everything": True}, {"rome", "again", "kayak"}),
]


@pytest.mark.parametrize(("select", "gone"), SELECTORS)
@pytest.mark.parametrize("hard", [True, False])
def test_each_selector_deletes_what_it_names(
    memos: MemOS, ids: Ids, select: Callable[[Ids], dict[str, Any]], gone: set[str], hard: bool
) -> None:
    dry = memos.delete(**select(ids), hard=hard, dry_run=True)
    assert dry.dry_run and left(memos) == set(ids.values())
    done = memos.delete(**select(ids), hard=hard)
    assert done.asked == dry.asked >= len(gone)
    assert left(memos) == {id for name, id in ids.items() if name not in gone}
    for name, id in ids.items():
        found = {h.id for h in memos.search("Rome river kayak shed").hits}
        assert (id in found) == (name not in gone)
    for name in gone:
        if hard:
            with pytest.raises(NotFound):
                memos.get(ids[name])
        else:
            assert memos.get(ids[name]).retracted_at is not None


@pytest.mark.parametrize("selectors", [{}, {"ids": []}, {"everything": False}, {"session": ""}, {"everything": "no"}, {"everything": 1},
                                       {"session": "s1", "everything": True}, {"ids": "x"}, {"filter": []}])  # fmt: skip
def test_no_several_and_empty_selectors_delete_nothing(memos: MemOS, ids: Ids, selectors: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        memos.delete(**selectors)
    assert left(memos) == set(ids.values())


@pytest.mark.parametrize("where", [{}, {"nope": 1}, {"tags": {"regexish": "a"}}, {"tags": {}}, {"tags": {"nin": []}}])
def test_a_filter_that_says_nothing_deletes_nothing(memos: MemOS, ids: Ids, where: dict[str, Any]) -> None:
    with pytest.raises(InvalidFilter):
        memos.delete(filter=where)
    assert left(memos) == set(ids.values())


def test_one_unknown_id_among_good_ones_deletes_nothing(memos: MemOS, ids: Ids) -> None:
    with pytest.raises(NotFound):
        memos.delete([ids["kayak"], new_id()])
    assert left(memos) == set(ids.values())


def test_what_matches_nothing_is_an_answer_of_zero(memos: MemOS, ids: Ids) -> None:
    done = memos.delete(session="never")
    assert (done.asked, done.memories, done.retracted) == (0, 0, 0)
    assert left(memos) == set(ids.values())


def test_a_hard_delete_counts_what_it_took_along(memos: MemOS, ids: Ids) -> None:
    done = memos.delete([ids["rome"], ids["again"]])
    assert (done.hard, done.asked) == (True, 2)
    assert done.cascaded >= 1  # the fact that only they said
    assert done.memories == 2
    assert min(done.versions, done.edges, done.terms) > 0
    assert done.erased_from_disk
    assert memos.list(kinds=["profile"], include_inactive=True).items == ()
    assert memos.list(kinds=["entity"], filter={"text": "Rome"}).items == ()


def test_a_fact_with_other_evidence_stays(memos: MemOS, ids: Ids) -> None:
    memos.delete(ids["rome"])
    (fact,) = memos.list(kinds=["profile"]).items
    assert [s.memory_id for s in fact.sources] == [ids["again"]]
    memos.delete(ids["again"], hard=False)
    assert memos.list(kinds=["profile"]).items == ()


def test_a_soft_delete_counts_and_keeps_history(memos: MemOS, ids: Ids) -> None:
    done = memos.delete([ids["rome"], ids["again"]], hard=False)
    assert (done.hard, done.asked, done.retracted, done.memories, done.erased_from_disk) == (False, 2, 3, 0, False)
    assert [v.op for v in memos.history(ids["rome"])] == ["add", "retract"]


@pytest.mark.parametrize("hard", [True, False])
def test_deleting_the_newest_value_makes_the_former_current(memos: MemOS, hard: bool) -> None:
    memos.add({"role": "user", "content": "I live in Rome.", "chat_time": "2024-01-01"}, wait=True)
    (oslo,) = memos.add({"role": "user", "content": "I live in Oslo.", "chat_time": "2024-02-01"}, wait=True).ids
    done = memos.delete(oslo, hard=hard)
    (fact,) = memos.list(kinds=["profile"]).items
    assert (fact.text, fact.valid_to) == ("The user lives in Rome.", None)
    assert done.restored == ((fact.id,) if hard else ())


def test_everything_takes_the_superseded_and_retracted_too(memos: MemOS, ids: Ids) -> None:
    memos.delete(ids["kayak"], hard=False)
    memos.delete(everything=True)
    assert memos.list(include_inactive=True).items == ()
    assert (memos.stats().store.memories, memos.stats().store.versions, memos.stats().store.edges) == (0, 0, 0)


def test_other_cubes_are_left_alone(memos: MemOS, ids: Ids) -> None:
    memos.add("The kayak of Ann is red and long.", user="ann")
    memos.delete(everything=True)
    assert len(memos.list(user="ann", kinds=["trace"]).items) == 1
    with pytest.raises(NotFound):
        memos.delete(ids["kayak"], user="ann")
