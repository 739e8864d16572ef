"""K. Time, dates, expiry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memos import MemOS
from memos.errors import InvalidInput

INSTANT = 1930091400  # 2031-03-01T00:30:00Z


def said(at: str, text: str) -> dict[str, Any]:
    return {"role": "user", "content": text, "chat_time": at}


@pytest.mark.parametrize(
    ("bound", "later"),
    [
        ("2031-03-01T00:00:00+00:00", True),
        ("2031-03-01T00:00:00Z", True),
        ("2031-03-01", True),  # a day begins in UTC
        ("2031-03-01T00:00:00", True),
        ("2031-02-28T19:00:00-05:00", True),
        ("2031-03-01T00:30:00Z", True),
        (INSTANT, True),
        (INSTANT * 1_000, True),
        ("2031-03-01T00:30:01Z", False),
        ("2031-03-01T09:30:01+09:00", False),
        (INSTANT + 1, False),
    ],
)
def test_r138_times_compare_as_instants_however_they_are_written(memos: MemOS, bound: Any, later: bool) -> None:
    """A range filter compares times as text, so that Z and an offset differ."""
    first = memos.add(said("2031-03-01T00:30:00Z", "the kayak arrived here")).ids[0]
    second = memos.add(said("2031-02-28T23:30:00-05:00", "the kayak left from there")).ids[0]
    for where in ({"happened_at": {"gte": bound}}, {"valid_from": {"gte": bound}}):
        expected = {first, second} if later else {second}
        assert {m.id for m in memos.list(filter=where).items} == expected
        assert {h.id for h in memos.search("kayak", filter=where)} == expected
    assert {m.id for m in memos.list(filter={"created_at": {"gte": "2020-01-01"}}).items} == {first, second}


@pytest.mark.parametrize(
    "nonsense",
    ["soon", "2031-02-30", "01/02/2031", "2031-03-01T25:00:00Z", "", float("nan"), 1e300, True, [1], "2031-13-01"],
)
def test_r138_nonsense_is_an_input_error(memos: MemOS, nonsense: Any) -> None:
    """A time that is none compares to something all the same."""
    memos.add("the kayak is teal")
    for call in (
        lambda: memos.list(filter={"happened_at": {"gte": nonsense}}),
        lambda: memos.list(as_of=nonsense),
        lambda: memos.search("kayak", known_at=nonsense),
        lambda: memos.search("kayak", reference_time=nonsense),
    ):
        with pytest.raises(InvalidInput):
            call()


TURNS = {
    "2031-03-29T22:30:00Z": "2031-03-29",  # 23:30 in Berlin
    "2031-03-29T23:30:00Z": "2031-03-30",
    "2031-03-30T00:30:00Z": "2031-03-30",
    "2031-03-30T01:30:00Z": "2031-03-30",  # clocks have gone forward
    "2031-03-30T21:30:00Z": "2031-03-30",
    "2031-03-30T22:30:00Z": "2031-03-31",  # a day of 23 hours
    "2031-10-25T21:30:00Z": "2031-10-25",
    "2031-10-25T22:30:00Z": "2031-10-26",
    "2031-10-26T00:30:00Z": "2031-10-26",
    "2031-10-26T01:30:00Z": "2031-10-26",  # the hour that comes twice
    "2031-10-26T22:30:00Z": "2031-10-26",
    "2031-10-26T23:30:00Z": "2031-10-27",  # a day of 25 hours
}


@pytest.mark.parametrize("now", ["2031-12-15T12:00:00Z", "2032-01-15T12:00:00Z", "2032-07-15T12:00:00Z"])
def test_r142_a_past_day_has_the_clock_it_had_then(home: Path, now: str) -> None:
    """The bounds of a past day are worked out with today's offset."""
    with MemOS(home, embedder="none", background=False, timezone="Europe/Berlin") as memos:
        ids = {
            memos.add(said(at, f"the kayak log number {n} of the year")).ids[0]: day
            for n, (at, day) in enumerate(TURNS.items())
        }
        for day in sorted(set(TURNS.values())):
            hits = memos.search(f"What was in the kayak log on {day}?", reference_time=now, limit=50).hits
            within = max(h.why.get("date", 0.0) for h in hits)  # the days before and after count a little
            assert {h.id for h in hits if h.why.get("date") == within} == {id for id, d in ids.items() if d == day}, day
        context = memos.search("kayak log", limit=50).context
        shown = [line.split(" ")[0] for line in context.splitlines() if line.startswith("2031")]
        assert shown == sorted(TURNS.values())


@pytest.mark.parametrize(
    ("clock", "stored"),
    [("2031-03-30 02:30", "01:30:00"), ("2031-10-26 02:30", "00:30:00"), ("2031-07-01 02:30", "00:30:00")],
)
def test_r142_local_times_that_are_missing_or_double_have_one_meaning(home: Path, clock: str, stored: str) -> None:
    """A time at the change of the clock is an error, or one thing today and another tomorrow."""
    with MemOS(home, embedder="none", background=False, timezone="Europe/Berlin") as memos:
        (id,) = memos.add(said(clock, "the kayak was moved")).ids
        assert f"{memos.get(id).valid_from:%H:%M:%S}" == stored
