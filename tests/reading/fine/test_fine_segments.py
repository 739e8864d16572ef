"""What is read together: conversations up to a size, cut where the talk turns, each owner and each document apart."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

from fine_cases import NOW, chunk, said, talk
from hypothesis import given
from hypothesis import strategies as st

from memos.memory.model import Kind, Memory
from memos.reading.fine import segments
from memos.reading.fine.segments import tokens

FISH = "The trout in the lake bite best at dawn when the water of the lake is cold and the trout are hungry."
LOAN = "The bank offers a mortgage at a fixed interest rate, and the mortgage of the other bank has a lower rate."


def texts(traces: tuple[Memory, ...] | list[Memory]) -> list[str]:
    return [t.text for t in traces]


def test_a_short_conversation_is_one_segment() -> None:
    traces = talk("Hello there.", ("assistant", "Hi!"), "I live in Oslo.")
    (one,) = segments(traces)
    assert (list(one.traces), one.context) == (traces, ())


def test_nothing_gives_nothing() -> None:
    assert segments([]) == []


def test_a_long_conversation_is_cut_where_the_talk_turns() -> None:
    traces = talk(*[FISH] * 8, *[LOAN] * 6)
    first, second = segments(traces, limit_tokens=10 * tokens(FISH))
    assert set(texts(first.traces)) == {FISH}
    assert LOAN in texts(second.traces)
    assert len(first.traces) == 8


def test_the_traces_before_a_cut_are_context() -> None:
    traces = talk(*[f"{FISH} {n}" for n in range(20)])
    found = segments(traces, limit_tokens=8 * tokens(FISH))
    assert len(found) > 1
    for before, after in pairwise(found):
        assert after.context == before.traces[-2:]


def test_silence_is_a_better_place_for_a_cut() -> None:
    early = [said(f"{FISH} {n}", at=NOW + timedelta(minutes=n)) for n in range(8)]
    late = [said(f"{FISH} {n}", at=NOW + timedelta(hours=5, minutes=n)) for n in range(8)]
    first, *_ = segments([*early, *late], limit_tokens=10 * tokens(FISH))
    assert list(first.traces) == early


def test_short_conversations_share_a_segment_and_long_ones_do_not() -> None:
    one = [said(f"{FISH} {n}", session="a", at=NOW + timedelta(minutes=n)) for n in range(3)]
    two = [said(f"{LOAN} {n}", session="b", at=NOW + timedelta(days=1, minutes=n)) for n in range(3)]
    assert len(segments([*one, *two])) == 1
    first, second = segments([*one, *two], limit_tokens=4 * tokens(FISH))
    assert (list(first.traces), list(second.traces)) == (one, two)
    assert second.context == ()


def test_sessions_that_came_in_turns_are_put_together() -> None:
    a = [said(f"about a {n}", session="a", at=NOW + timedelta(minutes=n)) for n in range(3)]
    b = [said(f"about b {n}", session="b", at=NOW + timedelta(minutes=n)) for n in range(3)]
    (one,) = segments([a[0], b[0], a[1], b[1], b[2], a[2]])
    assert list(one.traces) == [*a, *b]


def test_owners_are_never_mixed() -> None:
    found = segments([said("I live in Oslo.", owner="ana"), said("I live in Rome.", owner="ben")])
    assert [texts(s.traces) for s in found] == [["I live in Oslo."], ["I live in Rome."]]


def test_a_document_is_a_segment_of_its_own_and_its_node_is_in_none() -> None:
    node = Memory(
        id="d", kind=Kind.DOCUMENT, text="guide.md (document)", session="document:d", owner="user", valid_from=NOW
    )
    found = segments([said("I live in Oslo."), node, chunk("How to sail."), chunk("How to row.")])
    assert sorted(len(s.traces) for s in found) == [1, 2]
    assert node not in [t for s in found for t in s.traces]


def test_a_result_of_a_tool_stays_with_its_call() -> None:
    texts_ = [said(f"{FISH} {n}", at=NOW + timedelta(seconds=n)) for n in range(7)]
    call = said("Let me look.", "assistant", at=NOW + timedelta(seconds=8), calls=[("find_boat", "{}")])
    result = said(LOAN, "tool", at=NOW + timedelta(seconds=9))
    rest = [said(f"{LOAN} {n}", at=NOW + timedelta(seconds=10 + n)) for n in range(5)]
    for limit in range(6, 12):
        for one in segments([*texts_, call, result, *rest], limit_tokens=limit * tokens(FISH)):
            assert (call in one.traces) == (result in one.traces)


def test_a_trace_longer_than_the_limit_is_alone() -> None:
    long = Memory(
        id="0", kind=Kind.TRACE, text="word " * 20_000, role="user", session="s", owner="user", valid_from=NOW
    )
    found = segments([long, *talk("I live in Oslo.", "It rains.")])
    assert [len(s.traces) for s in found] == [1, 2]


def test_stored_traces_before_the_first_are_context() -> None:
    (trace,) = talk("Yes.")
    earlier = talk("Where do you live?", "In Oslo?", "Or not?")
    (one,) = segments([trace], before={trace.id: earlier})
    assert list(one.context) == earlier[-2:]


@given(
    sizes=st.lists(st.integers(1, 120), max_size=60),
    limit=st.integers(20, 300),
    sessions=st.integers(1, 4),
)
def test_every_trace_is_in_one_segment_in_order_and_none_is_too_long(
    sizes: list[int], limit: int, sessions: int
) -> None:
    traces = [
        said("word " * size, session=f"s{i * sessions // max(1, len(sizes))}", at=NOW + timedelta(minutes=i))
        for i, size in enumerate(sizes)
    ]
    found = segments(traces, limit_tokens=limit)
    assert [t.id for s in found for t in s.traces] == [t.id for t in traces]
    for one in found:
        assert sum(tokens(t.text) for t in one.traces) <= limit or len(one.traces) == 1
