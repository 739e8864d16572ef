"""`add`: every shape of input, what the same message again means, and when the answer comes."""

from __future__ import annotations

from typing import Any

import pytest

from memos import Kind, MemOS
from memos.errors import InvalidInput
from memos.memory.message import Message
from memos.memory.time import utcnow

TEXT = "The teal kayak lies in shed number four"


def texts(memos: MemOS, **options: Any) -> list[str]:
    return [m.text for m in memos.list(kinds=["trace"], newest_first=False, **options).items]


@pytest.mark.parametrize(
    ("messages", "stored"),
    [
        (TEXT, [TEXT]),
        ({"role": "assistant", "content": TEXT}, [TEXT]),
        (["one thing", {"role": "user", "content": "another thing"}], ["one thing", "another thing"]),
        (({"content": t} for t in ("first of two", "second of two")), ["first of two", "second of two"]),
        (Message("user", TEXT, utcnow()), [TEXT]),
        ([{"type": "text", "text": TEXT}], [TEXT]),
        ({"role": "user", "content": [{"type": "text", "text": "I own"}, {"type": "text", "text": "a lute"}]}, ["I own\na lute"]),
        ({"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}, [""]),
    ],
)  # fmt: skip
def test_every_shape_is_stored_verbatim_and_in_order(memos: MemOS, messages: object, stored: list[str]) -> None:
    result = memos.add(messages)
    assert [r.text for r in result] == stored
    assert texts(memos) == stored
    assert len(result) == len(stored) == len(set(result.ids))
    assert all(r.new and r.seen == 1 for r in result)
    assert result.cube == "default" and result.pending


@pytest.mark.parametrize("bad", [5, b"bytes", [5], [["nested"]], {"mood": "no text"}, {"role": "king", "content": "x"},
                                 {"role": "user", "content": 5}, {"role": "user", "content": "x", "chat_time": "soon"},
                                 {"role": "user", "content": "x", "info": [1]}, "", [], [" "]])  # fmt: skip
def test_what_cannot_be_stored_is_refused_and_stores_nothing(memos: MemOS, bad: object) -> None:
    with pytest.raises(InvalidInput):
        memos.add(
            [{"role": "user", "content": "a good one before it"}, *bad]
            if isinstance(bad, list) and bad != [" "] and bad
            else bad
        )
    assert texts(memos) == []


@pytest.mark.parametrize("options", [{"info": [1]}, {"info": {"a": object()}}, {"info": {1: 2}}, {"info": {"a": float("nan")}},
                                     {"tags": "work"}, {"tags": [""]}, {"tags": ["\ud83d"]}, {"session": ""}, {"session": "a\nb"},
                                     {"user": ""}, {"user": None}, {"role": "king"}, {"idempotency_key": 5},
                                     {"idempotency_key": ""}])  # fmt: skip
def test_bad_options_are_refused_and_store_nothing(memos: MemOS, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        memos.add(TEXT, **options)
    assert texts(memos) == []


def test_the_record_carries_what_came_with_it(memos: MemOS) -> None:
    message = {"role": "user", "name": "Ann", "content": TEXT, "chat_time": "2024-05-01T10:00:00+02:00", "message_id": "m1",
               "info": {"channel": "mail", "nr": 1}}  # fmt: skip
    (id,) = memos.add([message], session="s1", tags=["boats", "boats", "sheds"], info={"nr": 2}).ids
    record = memos.get(id)
    assert (record.kind, record.speaker, record.role, record.session, record.owner) == (
        Kind.TRACE,
        "Ann",
        "user",
        "s1",
        "default",
    )
    assert (record.message_id, record.tags, dict(record.info)) == (
        "m1",
        ("boats", "sheds"),
        {"channel": "mail", "nr": 2},
    )
    assert record.valid_from is not None and record.valid_from.isoformat() == "2024-05-01T08:00:00+00:00"
    assert record.body["zone"] == "+02:00"


# -- the same again ----------------------------------------------------------------------------------------------------


def test_the_same_words_again_are_counted_not_stored(memos: MemOS) -> None:
    first = memos.add(TEXT)
    again = memos.add(TEXT)
    third = memos.add(TEXT)
    assert first.ids == again.ids == third.ids
    assert [(r.new, r.seen) for result in (first, again, third) for r in result] == [(True, 1), (False, 2), (False, 3)]
    assert texts(memos) == [TEXT]
    assert memos.get(first.ids[0]).seen == 3


def test_the_same_words_in_another_session_role_or_by_another_speaker_are_another_message(memos: MemOS) -> None:
    memos.add(TEXT)
    for message, session in (
        ({"role": "user", "content": TEXT}, "other"),
        ({"role": "assistant", "content": TEXT}, None),
        ({"role": "user", "name": "Bo", "content": TEXT}, None),
    ):
        (added,) = memos.add([message], session=session)
        assert added.new
    assert len(texts(memos)) == 4


def test_short_answers_are_stored_each_time(memos: MemOS) -> None:
    assert [r.new for _ in range(3) for r in memos.add("yes")] == [True] * 3
    assert texts(memos) == ["yes"] * 3


def test_a_message_id_makes_a_message_one(memos: MemOS) -> None:
    message = {"role": "user", "content": "yes", "message_id": "m7"}
    first, again = memos.add([message]), memos.add([message])
    assert first.ids == again.ids and not again.records[0].new
    other = memos.add([{**message, "message_id": "m8"}])
    assert other.records[0].new and other.ids != first.ids


def test_a_time_makes_a_message_one(memos: MemOS) -> None:
    message = {"role": "user", "content": "yes", "chat_time": "2024-05-01T10:00:00Z"}
    assert memos.add([message]).ids == memos.add([message]).ids
    assert memos.add([{**message, "chat_time": "2024-05-01T10:00:01Z"}]).records[0].new


def test_an_idempotency_key_makes_a_call_one(memos: MemOS) -> None:
    call = ["yes", "no", "yes"]
    first, again = memos.add(call, idempotency_key="k"), memos.add(call, idempotency_key="k")
    assert first.ids == again.ids and len(set(first.ids)) == 3
    assert [r.new for r in again] == [False] * 3
    assert memos.add(call, idempotency_key="k2").ids != first.ids
    assert texts(memos) == ["yes", "no", "yes"] * 2


def test_two_identical_messages_in_one_call_are_two_records_and_the_call_again_adds_none(memos: MemOS) -> None:
    first = memos.add([TEXT, TEXT])
    assert len(set(first.ids)) == 2
    again = memos.add([TEXT, TEXT])
    assert again.ids == first.ids
    assert [r.seen for r in again] == [2, 2]
    assert texts(memos) == [TEXT, TEXT]


def test_the_same_words_of_two_users_are_two_memories(memos: MemOS) -> None:
    assert memos.add(TEXT, user="ann").ids != memos.add(TEXT, user="bo").ids


# -- what happens afterwards -------------------------------------------------------------------------------------------


def test_wait_returns_when_facts_are_there(memos: MemOS) -> None:
    assert memos.add("I live in Rome.", wait=True).pending is False
    assert memos.stats().waiting.get("digest", 0) == 0
    assert [m.text for m in memos.list(kinds=["profile"]).items] == ["The user lives in Rome."]


def test_without_wait_the_record_is_there_and_the_facts_come_with_the_next_read(memos: MemOS) -> None:
    assert memos.add("I live in Rome.").pending is True
    assert memos.stats().waiting["digest"] == 1
    assert memos.search("Rome").hits[0].memory.text == "I live in Rome."
    assert memos.stats().waiting.get("digest", 0) == 0


def test_derive_false_keeps_the_record_and_never_reads_it(memos: MemOS) -> None:
    (id,) = memos.add("I live in Rome.", derive=False, wait=True).ids
    memos.flush()
    assert [m.id for m in memos.list(include_inactive=True).items] == [id]
    assert memos.search("Rome").hits[0].id == id


def test_facts_name_their_evidence_and_mentions_are_linked(memos: MemOS) -> None:
    (id,) = memos.add("I live in Rome.", wait=True).ids
    (fact,) = memos.list(kinds=["profile"]).items
    (source,) = fact.sources
    assert (source.memory_id, source.role) == (id, "user")
    assert "I live in Rome."[source.start : source.end].startswith("I live in Rome")
    links = {(link.edge.type.value, link.edge.src == id, link.edge.dst == id) for link in memos.neighbors(id)}
    assert links == {("DERIVED_FROM", False, True), ("MENTIONS", True, False)}


def test_blank_messages_beside_good_ones_are_named(memos: MemOS) -> None:
    result = memos.add(["\u200b", TEXT, ""])
    assert texts(memos) == [TEXT]
    assert len(result.notices) == 2 and "messages[0]" in result.notices[0] and "messages[2]" in result.notices[1]


def test_info_may_be_nested_so_deep_that_everything_can_read_it_back(memos: MemOS) -> None:
    deep: Any = 1
    for _ in range(64):
        deep = [deep]
    (id,) = memos.add("x", info={"a": deep}).ids
    assert memos.get(id).info == {"a": deep}
    with pytest.raises(InvalidInput, match="info is nested more than 64 deep"):
        memos.add("y", info={"a": [deep]})
    with pytest.raises(InvalidInput, match="nested more than 64 deep"):
        memos.add({"role": "user", "content": "z", "info": {"a": [deep]}})
