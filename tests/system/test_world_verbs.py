"""What is known of the world is asked by one verb: statements that hold, and the ways in which things are connected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memos import MemOS
from memos.errors import InvalidInput, NotFound
from memos.memory.episode import StepReport


@pytest.fixture
def memos(tmp_path: Path) -> Iterator[MemOS]:
    with MemOS(tmp_path, embedder="none", background=False, reward_window=0) as made:
        yield made


def task(memos: MemOS, goal: str, calls: list[tuple[str, str | None]], **place: Any) -> str:
    place = {"session": "work", "environment": "web1", **place}
    where = {k: v for k, v in place.items() if k != "environment"}
    turn = memos.start_turn(goal, task="new", recall=False, **place)
    reports = [StepReport(tool="shell", input=c, output="" if e else "ok", error=e, ok=e is None) for c, e in calls]
    memos.end_turn("Done.", steps=reports, **where)
    memos.report_outcome(1.0, **where)
    return turn.message


def broken(service: str) -> list[tuple[str, str | None]]:
    return [
        (f"app start {service}", f"RuntimeError: schema of '{service}' is at revision 12, the code expects 15"),
        (f"db migrate {service}", None),
        (f"app start {service}", None),
    ]


@pytest.fixture
def lived_in(memos: MemOS) -> MemOS:
    for service in ("shop", "crm", "mail"):
        task(memos, f"Please start the app {service}", broken(service))
    memos.end_session(session="work")
    memos.evolve(now=True)
    return memos


def test_statements_of_an_environment_are_made_by_living_in_it(lived_in: MemOS) -> None:
    found = lived_in.world(environment="web1")
    texts = [s.memory.text for s in found.statements]
    assert any("unless `shell`: `db migrate {" in t and t.startswith("On web1, ") for t in texts)
    assert any("there is the tool `shell`" in t for t in texts)
    assert found.paths == () and found.reasons == ()
    one = next(s for s in found.statements if "unless" in s.memory.text)
    assert one.body.holds == 3 and one.body.section == "inference"
    assert lived_in.world_statement(one.id) == one


def test_another_environment_is_another_world(lived_in: MemOS) -> None:
    found = lived_in.world(environment="web2")
    assert found.statements == () and found.reasons == ("no statement holds of web2",)


def test_a_question_finds_its_statements(lived_in: MemOS) -> None:
    found = lived_in.world("why does app start fail with an old schema revision?", environment="web1")
    assert "unless" in found.statements[0].memory.text


def test_a_retired_statement_is_told_no_more(lived_in: MemOS) -> None:
    one = next(s for s in lived_in.world().statements if "unless" in s.memory.text)
    lived_in.set_state(one.id, "retired", reason="not so")
    assert one.id not in {s.id for s in lived_in.world().statements}
    assert one.id not in {s.id for s in lived_in.world("schema revision").statements}
    assert lived_in.world_statement(one.id).memory.status == "archived"


def test_who_asked_for_this_and_what_they_agreed_to_before(memos: MemOS) -> None:
    memos.add([{"role": "user", "content": "I agreed to keep the old parser until March.", "time": "2026-01-05"}])
    memos.flush()
    message = task(memos, "Please replace the parser by a faster one", broken("parser"))
    memos.flush()
    found = memos.world("Who asked for this, and what did they agree to before?", environment="web1")
    best = found.paths[0]
    assert best.memories[0].id == message
    assert "old parser until March" in best.memories[-1].text
    assert "asked: “Please replace the parser by a faster one”" in best.text
    assert "who before that said" in best.text and len(best.hops) == 1


def test_who_asked_is_answered_by_the_request_itself(lived_in: MemOS) -> None:
    best = lived_in.world("who asked for this?").paths[0]
    assert best.hops == () and best.text.startswith("default asked: “Please start the app mail”")


def test_what_cannot_be_is_said(memos: MemOS) -> None:
    with pytest.raises(InvalidInput, match="empty"):
        memos.world("  ")
    with pytest.raises(InvalidInput, match="hops"):
        memos.world("x", hops=0)
    with pytest.raises(NotFound):
        memos.world_statement("nothing")
    empty = memos.world("what is where?")
    assert empty.statements == () and empty.paths == () and len(empty.reasons) == 2
