"""What becomes of a statement beside what is known: added, repeated, superseding, superseded, ended, past."""

from __future__ import annotations

from arriving import Arriving, day

from memos.memory.model import EdgeType, Kind, Status


def test_a_first_statement_is_added_with_its_evidence(ann: Arriving) -> None:
    trace, outcome = ann.say("Rome", 1)
    (fact,) = ann.facts()
    assert (outcome.added, outcome.repeated, outcome.superseded, outcome.late) == (1, 0, 0, 0)
    assert (fact.text, fact.status, fact.valid_from, fact.valid_to) == ("Ann: Rome", Status.ACTIVE, day(1), None)
    assert [s.memory_id for s in fact.sources] == [trace.id]
    (edge,) = ann.cube.write_soon(lambda tx: tx.edges(fact.id, "out")).result()
    assert (edge.type, edge.dst) == (EdgeType.DERIVED_FROM, trace.id)


def test_the_same_again_adds_evidence_and_no_fact(ann: Arriving) -> None:
    ann.say("Rome", 1, confidence=0.6)
    again, outcome = ann.say("Rome", 5, confidence=0.8)
    (fact,) = ann.facts()
    assert (outcome.added, outcome.repeated) == (0, 1)
    assert (len(fact.sources), fact.seen, fact.valid_from, fact.confidence) == (2, 2, day(1), 0.8)
    edges = ann.cube.write_soon(lambda tx: tx.edges(fact.id, "out", (EdgeType.DERIVED_FROM,))).result()
    assert again.id in {e.dst for e in edges} and len(edges) == 2


def test_the_same_again_with_an_earlier_start_begins_earlier_but_never_later(ann: Arriving) -> None:
    ann.say("Rome", 10)
    ann.say("Rome", 12, since=3)
    assert ann.spans() == {"Rome": (3, None)}
    ann.say("Rome", 14, since=8)
    assert ann.spans() == {"Rome": (3, None)}


def test_a_newer_value_supersedes(ann: Arriving) -> None:
    ann.say("Rome", 1)
    _, outcome = ann.say("Oslo", 5)
    assert (outcome.added, outcome.superseded, outcome.late) == (1, 1, 0)
    assert ann.spans() == {"Rome": (1, 5), "Oslo": (5, None)}
    assert ann.current() == ["Oslo"]
    assert ann.supersedes() == {("Oslo", "Rome")}
    assert (ann.then(3), ann.then(5), ann.then(0)) == (["Rome"], ["Oslo"], [])


def test_late_old_news_takes_its_place_in_the_past(ann: Arriving) -> None:
    ann.say("Rome", 1)
    ann.say("Bergen", 9)
    _, outcome = ann.say("Oslo", 5)
    assert (outcome.added, outcome.late) == (1, 1)
    assert ann.current() == ["Bergen"]
    assert ann.spans() == {"Rome": (1, 5), "Oslo": (5, 9), "Bergen": (9, None)}
    assert [ann.then(d) for d in (2, 6, 10)] == [["Rome"], ["Oslo"], ["Bergen"]]


def test_the_oldest_news_arriving_last_comes_before_everything(ann: Arriving) -> None:
    ann.say("Bergen", 9)
    ann.say("Rome", 1)
    assert ann.spans() == {"Bergen": (9, None), "Rome": (1, 9)}
    assert ann.current() == ["Bergen"]


def test_moving_back_is_a_second_stay_not_a_repetition(ann: Arriving) -> None:
    for value, at in (("Rome", 1), ("Oslo", 5), ("Rome", 9)):
        ann.say(value, at)
    assert ann.current() == ["Rome"]
    assert [ann.then(d) for d in (2, 6, 10)] == [["Rome"], ["Oslo"], ["Rome"]]
    assert len(ann.facts()) == 3


def test_what_ended_is_not_current_and_still_was_true(ann: Arriving) -> None:
    ann.say("chess", 1, single=False)
    _, outcome = ann.say("chess", 5, single=False, ended=True)
    assert (outcome.added, outcome.superseded) == (0, 1)
    assert (ann.current(), ann.then(3), ann.then(6)) == ([], ["chess"], [])
    assert ann.spans() == {"chess": (1, 5)}


def test_an_end_said_before_the_beginning_does_not_end_it(ann: Arriving) -> None:
    ann.say("chess", 5, single=False)
    ann.say("chess", 1, single=False, ended=True)
    assert ann.current() == ["chess"]


def test_the_end_of_the_current_value_leaves_none(ann: Arriving) -> None:
    ann.say("Rome", 1)
    _, outcome = ann.say("Rome", 5, ended=True, until=5)
    assert (outcome.added, outcome.superseded) == (0, 1)
    assert (ann.current(), ann.then(3), ann.then(6)) == ([], ["Rome"], [])
    ann.say("Oslo", 9)
    assert (ann.current(), ann.then(6), ann.spans()["Rome"]) == (["Oslo"], [], (1, 5))


def test_a_late_end_ends_earlier_than_the_next_value_did(ann: Arriving) -> None:
    ann.say("Rome", 1)
    ann.say("Oslo", 9)
    ann.say("Rome", 5, ended=True, until=5)
    assert (ann.then(3), ann.then(6), ann.then(10), ann.current()) == (["Rome"], [], ["Oslo"], ["Oslo"])


def test_a_beginning_that_arrives_after_its_end_has_ended(ann: Arriving) -> None:
    ann.say("Rome", 5, ended=True, until=5)
    assert (ann.current(), ann.then(3), ann.then(6)) == ([], [], [])
    ann.say("Rome", 1)
    assert (ann.current(), ann.then(3), ann.then(6)) == ([], ["Rome"], [])


def test_an_end_before_the_beginning_that_we_know_is_of_another_time(ann: Arriving) -> None:
    ann.say("Rome", 5)
    ann.say("Rome", 9, ended=True, until=-400)
    assert (ann.current(), ann.then(7)) == (["Rome"], ["Rome"])


def test_another_value_said_between_two_equal_ones_cuts_them_apart(ann: Arriving) -> None:
    first, _ = ann.say("Rome", 1)
    last, _ = ann.say("Rome", 9)
    ann.say("Oslo", 5)
    assert [ann.then(d) for d in (2, 6, 10)] == [["Rome"], ["Oslo"], ["Rome"]]
    early, late = [m for m in ann.facts() if m.body["value"] == "Rome"]
    assert ([s.memory_id for s in early.sources], [s.memory_id for s in late.sources]) == ([first.id], [last.id])
    assert (early.status, late.status) == (Status.SUPERSEDED, Status.ACTIVE)
    ann.cube.write_soon(lambda tx: tx.undo(late.id)).result()
    assert ann.spans()["Rome"] == (1, None) and ann.current() == ["Rome"]


def test_what_ended_may_begin_again(ann: Arriving) -> None:
    ann.say("chess", 1, single=False)
    ann.say("chess", 5, single=False, ended=True)
    ann.say("chess", 9, single=False)
    assert (ann.current(), ann.then(3), ann.then(7), ann.then(10)) == (["chess"], ["chess"], [], ["chess"])


def test_a_thing_of_the_past_never_becomes_current(ann: Arriving) -> None:
    ann.say("Paris", 10, since=-400, until=-100)
    (fact,) = ann.facts()
    assert (fact.status, fact.body["past"]) == (Status.SUPERSEDED, True)
    assert (ann.current(), ann.then(-200), ann.then(11)) == ([], ["Paris"], [])


def test_a_thing_of_the_past_does_not_end_what_is_current(ann: Arriving) -> None:
    ann.say("Lyon", 5)
    ann.say("Paris", 10, since=-400, until=-100)
    assert (ann.current(), ann.then(7), ann.then(-200)) == (["Lyon"], ["Lyon"], ["Paris"])
    ann.say("Nice", 12)
    assert ann.current() == ["Nice"]


def test_a_slot_of_many_values_keeps_them_all(ann: Arriving) -> None:
    for value, at in (("jazz", 1), ("chess", 2), ("tea", 3), ("chess", 4)):
        ann.say(value, at, single=False)
    assert sorted(ann.current()) == ["chess", "jazz", "tea"]
    ann.say("jazz", 6, single=False, ended=True)
    assert sorted(ann.current()) == ["chess", "tea"]
    assert sorted(ann.then(5)) == ["chess", "jazz", "tea"]


def test_events_happen_again_and_end_nothing(ann: Arriving) -> None:
    ann.say("ran a race", 3, kind=Kind.EVENT, single=False, since=2, until=3)
    ann.say("ran a race", 30, kind=Kind.EVENT, single=False, since=29, until=30)
    facts = ann.facts()
    assert [(f.status, f.valid_from) for f in facts] == [(Status.ACTIVE, day(2)), (Status.ACTIVE, day(29))]


def test_the_same_trace_read_twice_changes_nothing(ann: Arriving) -> None:
    from memos.memory.statement import Statement
    from memos.organize.reconcile import Outcome, reconcile
    from memos.reading.traces import source_of

    trace, _ = ann.say("Rome", 1)
    statement = Statement(Kind.PROFILE, "Ann: Rome", ann.slot, f"{ann.slot}|Rome", "Rome", True, 0.9, source_of(trace))
    before = ann.facts()
    ann.cube.write_soon(lambda tx: reconcile(tx, trace, [statement], Outcome())).result()
    assert ann.facts() == before


def test_other_slots_are_left_alone(ann: Arriving) -> None:
    ann.say("Rome", 1)
    ann.slot = "bo|home"
    ann.say("Oslo", 2)
    assert ann.current() == ["Oslo"]
    ann.slot = "ann|home"
    assert ann.current() == ["Rome"]
