"""`update`, `history`, `undo`: what changes, what is derived anew, and how it is taken back."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from memos import MemOS, Status
from memos.errors import Conflict, InvalidInput, NotFound
from memos.memory.ids import new_id

TEXT = "I live in Rome near the river."


def profiles(memos: MemOS, **options: Any) -> list[str]:
    memos.flush()
    return [m.text for m in memos.list(kinds=["profile"], **options).items]


def test_a_new_text_is_found_and_the_old_one_is_not(memos: MemOS) -> None:
    (id,) = memos.add(TEXT, wait=True).ids
    updated = memos.update(id, text="My kayak is teal.")
    assert (updated.id, updated.text, updated.version) == (id, "My kayak is teal.", 2)
    assert memos.search("kayak").hits[0].id == id
    assert id not in {h.id for h in memos.search("river").hits}
    assert memos.search("river", known_at=updated.recorded_at).hits[0].memory.text == TEXT


def test_a_new_text_of_a_record_derives_its_facts_anew(memos: MemOS) -> None:
    (id,) = memos.add(TEXT, wait=True).ids
    assert profiles(memos) == ["The user lives in Rome."]
    memos.update(id, text="I live in Oslo near the fjord.")
    assert profiles(memos) == ["The user lives in Oslo."]
    assert [m.status for m in memos.list(kinds=["profile"], include_inactive=True, newest_first=False).items] == [
        Status.RETRACTED,
        Status.ACTIVE,
    ]


def test_a_fact_with_other_evidence_survives_the_edit_of_one_record_and_finds_its_way_back(memos: MemOS) -> None:
    first, second = memos.add([TEXT, "Well, I live in Rome, as you know."], wait=True).ids
    memos.update(first, text="My kayak is teal.")
    memos.flush()
    (fact,) = memos.list(kinds=["profile"]).items
    assert {s.memory_id for s in fact.sources} == {second}
    memos.update(first, text=TEXT)
    memos.flush()
    (fact,) = memos.list(kinds=["profile"]).items
    assert {s.memory_id for s in fact.sources} == {first, second}
    assert {link.edge.dst for link in memos.neighbors(fact.id, types=["DERIVED_FROM"], direction="out")} == {
        first,
        second,
    }


def test_info_is_merged_and_none_removes(memos: MemOS) -> None:
    (id,) = memos.add(TEXT, info={"a": 1, "b": {"c": 2}}).ids
    assert dict(memos.update(id, info={"b": None, "d": [1]}).info) == {"a": 1, "d": [1]}
    assert dict(memos.get(id).info) == {"a": 1, "d": [1]}
    assert dict(memos.update(id, info={"a": None, "d": None}).info) == {}


def test_everything_else_can_be_set(memos: MemOS) -> None:
    (id,) = memos.add(TEXT).ids
    m = memos.update(
        id, tags=["x", "x"], importance=0.9, valid_from="2024-01-01", valid_to="2024-02-01", cause="tidying"
    )
    assert (m.tags, m.importance, m.valid_from.isoformat()[:10], m.valid_to.isoformat()[:10]) == (
        ("x",), 0.9, "2024-01-01", "2024-02-01")  # fmt: skip
    assert m.text == TEXT
    assert memos.history(id)[-1].cause == "tidying"


@pytest.mark.parametrize("changes", [{}, {"text": ""}, {"text": " \u200b"}, {"text": 5}, {"tags": "x"}, {"info": [1]}, {"info": {1: 2}},
                                     {"info": {"a": object()}}, {"importance": 2}, {"importance": "x"}, {"importance": float("nan")},
                                     {"valid_from": "soon"}, {"valid_from": "2024-02-01", "valid_to": "2024-01-01"}])  # fmt: skip
def test_what_cannot_be_set_changes_nothing(memos: MemOS, changes: dict[str, Any]) -> None:
    (id,) = memos.add(TEXT).ids
    before = memos.get(id)
    with pytest.raises(InvalidInput):
        memos.update(id, **changes)
    assert memos.get(id) == before


def test_half_characters_are_replaced(memos: MemOS) -> None:
    (id,) = memos.add(TEXT).ids
    assert memos.update(id, text="half \ud83d here").text == "half \ufffd here"


def test_a_memory_that_is_not_there_cannot_be_changed(memos: MemOS) -> None:
    memos.add(TEXT)
    for call in (memos.undo, memos.history, lambda i: memos.update(i, text="x"), memos.get, memos.delete):
        with pytest.raises(NotFound):
            call(new_id())
        with pytest.raises(InvalidInput):
            call("not an id")


def test_history_tells_every_version_with_who_how_why_and_when(memos: MemOS) -> None:
    (id,) = memos.add(TEXT, user="ann").ids
    memos.update(id, text="My kayak is teal.", user="ann", cause="a slip")
    memos.update(id, tags=["boats"], user="ann")
    memos.delete(id, hard=False, user="ann")
    memos.undo(id, user="ann")
    versions = memos.history(id, user="ann")
    assert [(v.op, v.actor, v.cause) for v in versions] == [
        ("add", "ann", "add"),
        ("update", "ann", "a slip"),
        ("update", "ann", "update"),
        ("retract", "ann", "delete by ids"),
        ("undo", "ann", f"undo {id}"),
    ]
    assert [v.memory.version for v in versions] == [1, 2, 3, 4, 5]
    assert [v.memory.text for v in versions[:3]] == [TEXT, "My kayak is teal.", "My kayak is teal."]
    assert [v.memory.tags for v in versions[1:3]] == [(), ("boats",)]
    assert sorted(v.at for v in versions) == [v.at for v in versions]
    for earlier, later in pairwise(versions):
        assert earlier.memory.known_to == later.memory.known_from == later.at
    assert versions[-1].memory == memos.get(id, user="ann")


def test_undo_of_an_update_and_undo_of_that(memos: MemOS) -> None:
    (id,) = memos.add(TEXT, tags=["a"], wait=True).ids
    memos.update(id, text="I live in Oslo.", tags=["b"])
    memos.flush()
    assert [m.text for m in memos.undo(id) if m.id == id] == [TEXT]
    assert (memos.get(id).tags, profiles(memos)) == (("a",), ["The user lives in Rome."])
    memos.undo(id)
    assert (memos.get(id).text, profiles(memos)) == ("I live in Oslo.", ["The user lives in Oslo."])


def test_undo_of_an_add_and_undo_of_that(memos: MemOS) -> None:
    (id,) = memos.add(TEXT, wait=True).ids
    assert memos.undo(id)[0].status is Status.RETRACTED
    assert (memos.search("Rome").hits, profiles(memos)) == ((), [])
    memos.undo(id)
    assert (memos.search("Rome").hits[0].id, profiles(memos)) == (id, ["The user lives in Rome."])


def test_undo_of_a_soft_delete_brings_back_all_of_it(memos: MemOS) -> None:
    (id,) = memos.add(TEXT, wait=True).ids
    assert memos.delete(id, hard=False).retracted == 2
    assert profiles(memos) == []
    assert {m.status for m in memos.undo(id)} == {Status.ACTIVE}
    assert profiles(memos) == ["The user lives in Rome."]


def test_undo_of_a_soft_delete_before_it_was_read_has_it_read(memos: MemOS) -> None:
    (id,) = memos.add(TEXT).ids
    memos.delete(id, hard=False)
    assert profiles(memos) == []
    assert memos.stats().waiting.get("digest", 0) == 0
    memos.undo(id)
    assert profiles(memos) == ["The user lives in Rome."]


def test_undo_of_what_a_digest_did_takes_the_fact_back_and_the_former_one_is_current_again(memos: MemOS) -> None:
    memos.add({"role": "user", "content": "I live in Rome.", "chat_time": "2024-01-01"}, wait=True)
    memos.add({"role": "user", "content": "I live in Oslo.", "chat_time": "2024-02-01"}, wait=True)
    (oslo,) = memos.list(kinds=["profile"]).items
    memos.undo(oslo.id)
    (rome,) = memos.list(kinds=["profile"]).items
    assert (rome.text, rome.valid_to) == ("The user lives in Rome.", None)
    memos.undo(oslo.id)
    assert profiles(memos) == ["The user lives in Oslo."]


def test_a_change_that_was_built_upon_is_a_conflict_to_undo(memos: MemOS) -> None:
    memos.add({"role": "user", "content": "I live in Rome.", "chat_time": "2024-01-01"}, wait=True)
    memos.add({"role": "user", "content": "I live in Oslo.", "chat_time": "2024-02-01"}, wait=True)
    memos.add({"role": "user", "content": "I live in Bergen.", "chat_time": "2024-03-01"}, wait=True)
    rome, _, _ = memos.list(kinds=["profile"], include_inactive=True, newest_first=False).items
    with pytest.raises(Conflict):
        memos.undo(rome.id)
    assert profiles(memos) == ["The user lives in Bergen."]


def test_a_change_for_another_version_is_a_conflict_and_changes_nothing(memos: MemOS) -> None:
    (id,) = memos.add("I like tea.").ids
    assert memos.update(id, text="I like coffee.", if_version=1).version == 2
    with pytest.raises(Conflict, match="at version 2, not 1"):
        memos.update(id, text="I like milk.", if_version=1)
    assert memos.get(id).text == "I like coffee."


@pytest.mark.parametrize("how", [{"hard": True}, {"hard": False}, {"dry_run": True}])
def test_a_deletion_of_another_version_is_a_conflict_and_deletes_nothing(memos: MemOS, how: dict[str, bool]) -> None:
    (id,) = memos.add("I like tea.").ids
    memos.update(id, text="I like coffee.")
    with pytest.raises(Conflict, match="at version 2, not 1"):
        memos.delete(id, if_version=1, **how)
    with pytest.raises(InvalidInput, match="one id"):
        memos.delete(everything=True, if_version=2)
    assert memos.get(id).text == "I like coffee."
    assert memos.delete(id, if_version=2).memories == 1
