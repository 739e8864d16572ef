"""What goes with a deletion, what stays of what is said elsewhere too, and what undo brings back, through the whole
system.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memos import MemOS
from memos.errors import Conflict
from memos.memory.model import Memory, Status
from memos.memory.time import parse_time, utcnow


@pytest.fixture
def memos(tmp_path: Path) -> Iterator[MemOS]:
    with MemOS(tmp_path, embedder="none", background=False) as m:
        yield m


def say(memos: MemOS, text: str, day: object = None, **options: Any) -> str:
    message = {"role": "user", "name": "Ada", "content": text} | ({} if day is None else {"chat_time": day})
    return memos.add(message, wait=True, **options).ids[0]


def facts(memos: MemOS, **clock: Any) -> list[str]:
    return [m.text for m in memos.list(filter={"layer": "derived"}, newest_first=False, **clock).items]


def fact(memos: MemOS) -> Memory:
    (only,) = memos.list(filter={"layer": "derived"}).items
    return only


def bytes_hold(home: Path, word: str) -> bool:
    return any(word.encode() in path.read_bytes() for path in home.rglob("*") if path.is_file())


# -- one current value, whatever is brought back ---------------------------------------------------------------


def test_what_comes_back_takes_its_place_before_what_was_said_meanwhile(memos: MemOS) -> None:
    oslo = say(memos, "I live in Oslo.", "2025-02-11")
    memos.delete(oslo, hard=False)
    say(memos, "I live in Rome.", "2025-05-23")
    memos.undo(oslo)
    assert facts(memos) == ["Ada lives in Rome."]
    assert facts(memos, as_of="2025-03-01") == ["Ada lives in Oslo."]
    assert facts(memos, as_of="2025-06-01") == ["Ada lives in Rome."]


def test_undo_by_a_fact_reverts_the_edit_and_what_was_read_of_it(memos: MemOS) -> None:
    said = say(memos, "I moved to Lima.", "2025-02-17")
    lima = fact(memos).id
    memos.update(said, text="I live in Kiel.")
    memos.flush()
    memos.undo(lima)
    memos.flush()
    assert memos.get(said).text == "I moved to Lima."
    assert facts(memos) == ["Ada lives in Lima."]


def test_undo_by_an_older_fact_leaves_the_newest_value_current(memos: MemOS) -> None:
    said = say(memos, "I am 30 years old.", "2025-02-11")
    thirty = fact(memos).id
    memos.update(said, text="I am 31 years old now.")
    memos.flush()
    say(memos, "I am 32 years old.", "2025-02-23")
    memos.undo(thirty)
    memos.flush()
    assert facts(memos) == ["Ada is 32."]
    assert facts(memos, as_of="2025-02-15") == ["Ada is 30."]


def test_a_run_that_comes_back_is_cut_by_what_was_said_within_it_meanwhile(memos: MemOS) -> None:
    first = say(memos, "I live in Oslo.", "2025-01-01")
    say(memos, "I live in Oslo.", "2025-09-01")
    memos.delete(first, hard=False)
    say(memos, "I live in Rome.", "2025-05-01")
    memos.undo(first)
    days = ("2025-02-01", "2025-06-01", "2025-10-01")
    assert [facts(memos, as_of=d) for d in days] == [
        ["Ada lives in Oslo."],
        ["Ada lives in Rome."],
        ["Ada lives in Oslo."],
    ]
    assert facts(memos) == ["Ada lives in Oslo."]


def test_what_an_edited_message_had_ended_holds_again_and_ends_again_when_the_edit_is_undone(memos: MemOS) -> None:
    say(memos, "I live in Oslo.", "2025-01-01")
    left = say(memos, "I don't live in Oslo any more.", "2025-03-01")
    assert facts(memos) == []
    memos.update(left, text="The weather is fine.")
    memos.flush()
    assert facts(memos) == ["Ada lives in Oslo."]
    memos.undo(left)
    memos.flush()
    assert (facts(memos), facts(memos, as_of="2025-02-01")) == ([], ["Ada lives in Oslo."])


def test_nothing_comes_back_without_what_it_was_read_from(memos: MemOS) -> None:
    said = say(memos, "I live in Oslo.", "2025-01-01")
    oslo = fact(memos).id
    memos.delete(oslo, hard=False)
    memos.delete(said, hard=False)
    with pytest.raises(Conflict, match="undo that"):
        memos.undo(oslo)
    assert facts(memos) == []
    memos.undo(said)
    memos.undo(oslo)
    assert facts(memos) == ["Ada lives in Oslo."]


def test_what_was_unread_does_not_come_back_to_another_text(memos: MemOS) -> None:
    said = say(memos, "I live in Oslo.", "2025-01-01")
    oslo = fact(memos).id
    memos.undo(oslo)
    memos.update(said, text="I live in Rome.")
    memos.flush()
    with pytest.raises(Conflict, match="changed or taken back since"):
        memos.undo(oslo)
    assert facts(memos) == ["Ada lives in Rome."]


# -- what is said elsewhere too stays ----------------------------------------------------------------------------

WALNUTS = "Ada is allergic to walnuts."
BY_RECORD: list[dict[str, Any]] = [
    {"session": "s1"},
    {"filter": {"session": "s1"}},
    {"filter": {"happened_at": {"lt": "2025-02-01"}}},
    {"filter": {"and": [{"not": {"session": "s2"}}, {"text": {"like": "walnuts"}}]}},
]


@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("selector", BY_RECORD)
def test_a_fact_that_other_messages_support_stays(memos: MemOS, selector: dict[str, Any], hard: bool) -> None:
    say(memos, "I'm allergic to walnuts.", "2025-01-01", session="s1")
    other = say(memos, "I'm allergic to walnuts.", "2025-03-01", session="s2")
    dry = memos.delete(**selector, dry_run=True, hard=hard)
    done = memos.delete(**selector, hard=hard)
    assert dry.asked == done.asked == 1
    left = fact(memos)
    assert (left.text, left.session, left.seen, [s.memory_id for s in left.sources]) == (WALNUTS, "s2", 1, [other])
    assert left.valid_from == datetime(2025, 3, 1, tzinfo=UTC)
    assert facts(memos, as_of="2025-02-01") == []
    memos.delete(session="s2", hard=hard)
    assert (facts(memos), memos.list().items) == ([], ())


@pytest.mark.parametrize(
    "where", [{"kind": "fact"}, {"layer": "derived"}, {"and": [{"session": "s1"}, {"kind": "fact"}]}]
)
def test_a_filter_that_names_derived_memories_deletes_them(memos: MemOS, where: dict[str, Any]) -> None:
    say(memos, "I'm allergic to walnuts.", "2025-01-01", session="s1")
    say(memos, "I'm allergic to walnuts.", "2025-03-01", session="s2")
    kind = fact(memos).kind.value
    named = (
        {"and": [{"session": "s1"}, {"kind": kind}]} if "and" in where else {"kind": kind} if "kind" in where else where
    )
    memos.delete(filter=named)
    assert facts(memos) == []
    assert len(memos.list(kinds=["trace"]).items) == 2


# -- a hard deletion takes what only the deleted message told ------------------------------------------------------


def test_nothing_of_a_deleted_message_is_left_in_a_fact_that_stays(memos: MemOS, tmp_path: Path) -> None:
    gone = say(memos, "I live in Oslo.", "2025-01-01", session="sess-QQQSECRET", user="ada")
    heard = utcnow()
    other = say(memos, "Still true: I live in Oslo.", "2025-03-01", session="other", user="ada")
    (kept,) = memos.list(filter={"layer": "derived"}, user="ada").items
    memos.update(kept.id, importance=0.9, user="ada")
    assert bytes_hold(tmp_path, "sess-QQQSECRET") and bytes_hold(tmp_path, gone)
    memos.delete(gone, user="ada")
    history = memos.history(kept.id, user="ada")
    for version in history:
        m = version.memory
        assert (m.session, m.seen, [s.memory_id for s in m.sources]) == ("other", 1, [other])
        assert m.valid_from == datetime(2025, 3, 1, tzinfo=UTC)
        assert m.recorded_at is not None and m.recorded_at > heard
    assert memos.get(kept.id, user="ada").importance == 0.9
    assert facts(memos, as_of="2025-02-01", user="ada") == facts(memos, known_at=heard, user="ada") == []
    assert [h.text for h in memos.search("Where does Ada live?", user="ada").facts] == ["Ada lives in Oslo."]
    memos.close()
    assert not bytes_hold(tmp_path, "sess-QQQSECRET")
    assert not bytes_hold(tmp_path, gone)


def test_a_beginning_that_only_the_deleted_message_told_goes_with_it(memos: MemOS) -> None:
    gone = say(memos, "I have lived in Oslo since 2019.", "2025-01-01")
    say(memos, "I live in Oslo.", "2025-03-01")
    assert fact(memos).valid_from == datetime(2019, 1, 1, tzinfo=UTC)
    memos.delete(gone)
    assert fact(memos).valid_from == datetime(2025, 3, 1, tzinfo=UTC)


def test_a_beginning_that_a_message_left_told_stays(memos: MemOS) -> None:
    gone = say(memos, "I live in Oslo.", "2025-01-01")
    say(memos, "I have lived in Oslo since 2019.", "2025-03-01")
    memos.delete(gone)
    assert fact(memos).valid_from == datetime(2019, 1, 1, tzinfo=UTC)


# -- messages from the future ---------------------------------------------------------------------------------


def test_a_message_from_the_far_future_does_not_hold_its_slot_for_ever(memos: MemOS) -> None:
    say(memos, "I live in Oslo.", "2025-01-01")
    future = {"role": "user", "name": "Ada", "content": "I live in Rome.", "chat_time": "9999-12-31T23:59:59"}
    added = memos.add(future, wait=True)
    assert any("future" in notice for notice in added.notices)
    assert facts(memos) == ["Ada lives in Rome."]
    assert memos.get(added.ids[0]).valid_from == parse_time("9999-12-31T23:59:59").instant  # the record is as it came
    say(memos, "I live in Lima.")
    assert facts(memos) == facts(memos, as_of=utcnow()) == ["Ada lives in Lima."]
    assert facts(memos, as_of="9999-12-31") == ["Ada lives in Lima."]
    states = memos.list(filter={"layer": "derived"}, include_inactive=True).items
    assert sorted(m.status for m in states) == [Status.ACTIVE, Status.SUPERSEDED, Status.SUPERSEDED]


def test_a_clock_that_is_an_hour_ahead_is_believed(memos: MemOS) -> None:
    soon = utcnow() + timedelta(hours=1)
    added = memos.add({"role": "user", "name": "Ada", "content": "I live in Rome.", "chat_time": soon}, wait=True)
    assert (added.notices, fact(memos).valid_from) == ((), soon)
