"""Merging what is told in other words: evidence is added to the one that stays, nothing is lost, and it can be undone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from arriving import day

from memos.memory.ids import new_id
from memos.memory.model import Edge, EdgeType, Kind, Memory, Status
from memos.memory.statement import Statement
from memos.organize.forget import undo
from memos.organize.known import SAID_AS
from memos.organize.reconcile import Outcome, reconcile
from memos.reading.traces import source_of
from memos.storage.ports import ANY_STATUS, View, WriteTx
from memos.storage.sqlite.cube import SqliteCube


class Told:
    """A cube into which statements come with their words."""

    def __init__(self, path: Path) -> None:
        self.cube = SqliteCube.open(path / "a.cube", durability="normal")

    def say(self, attribute: str, text: str, value: str, at: float, **changes: Any) -> Memory:
        def apply(tx: WriteTx) -> Memory:
            trace = tx.put(Memory(id=new_id(), kind=Kind.TRACE, text=text, valid_from=day(at), role="user"))
            slot = f"user|{attribute}"
            statement = Statement(
                kind=Kind.PROFILE,
                text=text,
                slot=slot,
                key=f"{slot}|{value.casefold()}",
                value=value,
                single=True,
                confidence=0.9,
                source=source_of(trace),
            )
            reconcile(tx, trace, [replace(statement, **changes)], Outcome())
            return trace

        return self.cube.write_soon(apply).result()

    def facts(self, *statuses: Status) -> list[Memory]:
        view = View(statuses=frozenset(statuses) or ANY_STATUS)
        page = asyncio.run(self.cube.list(view=view, limit=100, newest_first=False))
        return [m for m in page.items if m.kind is Kind.PROFILE]

    def evidence(self, id: str) -> Mapping[str, Edge]:
        edges = self.cube.write_soon(lambda tx: tx.edges(id, "out", (EdgeType.DERIVED_FROM,))).result()
        return {e.dst: e for e in edges}


@pytest.fixture
def told(tmp_path: Path) -> Any:
    made = Told(tmp_path)
    yield made
    made.cube.close_now()


def test_the_same_in_other_words_is_one_memory_with_both_as_evidence(told: Told) -> None:
    first = told.say("job", "The user works as a nurse.", "nurse", 5)
    second = told.say("occupation", "The user is a nurse.", "a nurse", 9, valid_from=day(2))
    (fact,) = told.facts()
    assert [s.memory_id for s in fact.sources] == [first.id, second.id]
    assert (fact.seen, fact.valid_from, fact.slot, fact.text) == (2, day(2), "user|job", "The user works as a nurse.")
    assert set(told.evidence(fact.id)) == {first.id, second.id}


def test_the_history_says_that_and_why_it_was_merged_and_the_edge_in_which_words(told: Told) -> None:
    told.say("job", "The user works as a nurse.", "nurse", 5)
    second = told.say("occupation", "The user is a nurse.", "a nurse", 9)
    (fact,) = told.facts()
    assert [v.op for v in asyncio.run(told.cube.history(fact.id))] == ["derive", "merge"]
    said = told.evidence(fact.id)[second.id].info[SAID_AS]
    assert said == {"text": "The user is a nurse.", "slot": "user|occupation", "key": "user|occupation|a nurse"}
    assert SAID_AS not in fact.body


def test_a_merge_can_be_undone(told: Told) -> None:
    first = told.say("job", "The user works as a nurse.", "nurse", 5)
    told.say("occupation", "The user is a nurse.", "a nurse", 9, valid_from=day(2))
    (fact,) = told.facts()
    told.cube.write_soon(lambda tx: undo(tx, fact.id)).result()
    (left,) = told.facts()
    assert ([s.memory_id for s in left.sources], left.valid_from, left.seen) == ([first.id], day(5), 1)
    assert set(told.evidence(left.id)) == {first.id}


def test_other_words_do_not_start_a_second_stay_in_a_timeline(told: Told) -> None:
    told.say("home_city", "The user lives in New York City.", "New York City", 1)
    told.say("home_city", "The user lives in NYC.", "NYC", 5)
    assert [(m.valid_from, m.valid_to, m.seen) for m in told.facts()] == [(day(1), None, 2)]
    told.say("residence", "The user lives in Oslo.", "Oslo", 7)
    told.say("home_city", "The user lives in Oslo.", "Oslo", 8)
    assert [str(m.body["value"]) for m in told.facts(Status.ACTIVE)] == ["New York City", "Oslo"]


def test_what_is_said_to_be_over_in_other_words_is_over(told: Told) -> None:
    told.say("home_city", "The user lives in New York City.", "New York City", 1)
    told.say("home_city", "The user no longer lives in NYC.", "NYC", 5, ended=True)
    assert [(m.valid_to, m.status) for m in told.facts()] == [(day(5), Status.SUPERSEDED)]


def test_what_was_retracted_is_no_ground_to_merge_with(told: Told) -> None:
    told.say("job", "The user works as a nurse.", "nurse", 5)
    (fact,) = told.facts()
    told.cube.write_soon(lambda tx: tx.put(replace(fact, status=Status.RETRACTED), "retract")).result()
    told.say("occupation", "The user is a nurse.", "a nurse", 9)
    (active,) = told.facts(Status.ACTIVE)
    assert (active.slot, active.id != fact.id) == ("user|occupation", True)


def test_a_memory_whose_text_was_changed_by_hand_is_compared_as_it_reads_now(told: Told) -> None:
    told.say("job", "The user works as a nurse.", "nurse", 5)
    (fact,) = told.facts()
    edited = replace(fact, text="The user works as a baker.", body={**fact.body, "value": "baker"})
    told.cube.write_soon(lambda tx: tx.put(edited, "update")).result()
    told.say("occupation", "The user is a nurse.", "a nurse", 9)
    assert [m.slot for m in told.facts(Status.ACTIVE)] == ["user|job", "user|occupation"]


def test_a_number_keeps_two_apart(told: Told) -> None:
    told.say("a", "The user has 2 kids.", "2 kids", 1, single=False)
    told.say("b", "The user has 3 kids.", "3 kids", 2, single=False)
    assert len(told.facts(Status.ACTIVE)) == 2
