"""Retention rules: nothing goes without one, a preview lists exactly what a run takes, and every run is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memos import AsyncMemOS, MemOS
from memos.errors import AccessDenied, InvalidInput
from memos.memory.model import Kind, Status
from memos.memory.upkeep import RetentionRule
from memos.organize import retention
from memos.scheduler.kinds import FORGET
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.tasks import TaskQuery
from stubs import child_env

HOUSE = ["I live in Oslo.", "My sister is called Berta.", "I love kayaking."]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the clock of retention (not that of what is recorded) to so many days from now."""

    def set_to(days: float) -> None:
        monkeypatch.setattr("memos.upkeep.upkeep.utcnow", lambda: datetime.now(UTC) + timedelta(days=days))

    return set_to


def texts(memos: MemOS, *kinds: Kind) -> list[str]:
    page = memos.list(kinds=kinds or [k for k in Kind if k is not Kind.ENTITY], newest_first=False)
    return [m.text for m in page.items]


def went(memos: MemOS, **more: Any) -> set[str]:
    return {item.memory.id for item in memos.preview_retention(**more)}


# -- rules -----------------------------------------------------------------------------------------------------


def test_without_rules_nothing_goes(memos: MemOS) -> None:
    memos.add(HOUSE, wait=True)
    assert memos.retention() == [] and len(memos.preview_retention()) == 0
    with pytest.raises(InvalidInput, match="no retention rules"):
        memos.apply_retention()
    assert len(texts(memos, Kind.TRACE)) == 3


def test_rules_are_kept_and_taken_away(memos: MemOS, home: Path) -> None:
    rules = memos.set_retention(
        [{"kinds": ["fact"], "max_age_days": 90}, RetentionRule(tags=("tmp",), keep_newest=0, hard=True)]
    )
    assert rules == [
        RetentionRule(kinds=("fact",), max_age_days=90.0),
        RetentionRule(tags=("tmp",), keep_newest=0, hard=True),
    ]
    with MemOS(home, embedder="none", background=False) as other:
        assert other.retention() == rules
        assert other.set_retention([]) == []
    assert memos.retention() == []
    assert [str(r) for r in rules] == [
        "fact older than 90 days: take back",
        "derived memories tagged tmp beyond the newest 0: delete for good",
    ]


@pytest.mark.parametrize(
    "rules",
    [
        "fact", {"max_age_days": 1}, [1], [{}], [{"kinds": ["fact"]}], [{"max_age_days": 1, "keep_newest": 1}],
        [{"max_age_days": 0}], [{"max_age_days": -1}], [{"max_age_days": float("nan")}], [{"max_age_days": True}],
        [{"keep_newest": -1}], [{"keep_bytes": "10"}], [{"kinds": ["nothing"], "keep_newest": 1}],
        [{"tags": "work", "keep_newest": 1}], [{"hard": 1, "keep_newest": 1}], [{"days": 1}], [{"keep_newest": 1}] * 33,
    ],
)  # fmt: skip
def test_rules_that_cannot_be_used_change_nothing(memos: MemOS, rules: Any) -> None:
    memos.set_retention([{"keep_newest": 5}])
    with pytest.raises(InvalidInput):
        memos.set_retention(rules)
    assert memos.retention() == [RetentionRule(keep_newest=5)]


def test_what_is_no_rule_of_ours_deletes_nothing(memos: MemOS) -> None:
    memos.create_cube("odd", info={"retention": [{"keep_newest": 0, "colour": "red"}]})
    memos.add(HOUSE, cube="odd", wait=True)
    assert memos.retention(cube="odd") == []
    assert len(memos.preview_retention(cube="odd")) == 0


def test_only_an_admin_of_the_cube_sets_and_applies(memos: MemOS) -> None:
    memos.create_cube("team", user="ann")
    memos.share("team", "bob", "write", user="ann")
    for call in (
        lambda: memos.set_retention([], user="bob", cube="team"),
        lambda: memos.apply_retention(user="bob", cube="team"),
    ):
        with pytest.raises(AccessDenied):
            call()
    assert memos.preview_retention([{"keep_newest": 1}], user="bob", cube="team").total == 0


# -- what goes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize(
    "rule",
    [{"kinds": ["trace"], "keep_newest": 1}, {"kinds": ["trace"], "keep_bytes": 20}, {"kinds": ["trace"], "max_age_days": 10},
     {"keep_newest": 1}, {"kinds": ["preference"], "keep_newest": 0}, {"tags": ["home_city"], "keep_newest": 0}],
)  # fmt: skip
def test_a_preview_lists_exactly_what_a_run_takes(memos: MemOS, clock: Any, rule: dict[str, Any], hard: bool) -> None:
    memos.add(HOUSE, wait=True)
    before = {m.id for m in memos.list().items}
    memos.set_retention([rule | {"hard": hard}])
    clock(11)
    plan = memos.preview_retention()
    assert {m.id for m in memos.list().items} == before  # nothing is changed by looking
    listed = {item.memory.id for item in plan}
    assert plan.items and all(item.why for item in plan)
    run = memos.apply_retention()
    gone = before - {m.id for m in memos.list().items}
    if not hard:  # names of which nothing is said any more stay in the graph
        gone -= {m.id for m in memos.list(kinds=["entity"], include_inactive=True).items}
    assert gone == listed
    assert run.count == len(listed) and run.removed == {"0": plan.total} and run.refused is None
    kept_in_history = {m.id for m in memos.list(include_inactive=True).items} & listed
    assert kept_in_history == (set() if hard else listed)


def test_raw_records_go_only_where_their_kind_is_named(memos: MemOS, clock: Any) -> None:
    memos.add(HOUSE, tags=["tmp"], wait=True)
    memos.set_retention([{"max_age_days": 1}, {"tags": ["tmp"], "keep_newest": 0}])
    clock(2)
    memos.apply_retention()
    assert texts(memos) == HOUSE


def test_age_counts_from_the_last_change(memos: MemOS, clock: Any) -> None:
    memos.add(HOUSE, derive=False)
    ids = [m.id for m in memos.list(newest_first=False).items]
    clock(10)
    rule = [{"kinds": ["trace"], "max_age_days": 9.99}]
    assert went(memos, rules=rule) == set(ids)
    assert went(memos, rules=[{"kinds": ["trace"], "max_age_days": 10.01}]) == set()


def test_soft_runs_can_be_undone_and_hard_ones_leave_no_byte(memos: MemOS, home: Path) -> None:
    memos.add(HOUSE, wait=True)
    memos.set_retention([{"kinds": ["trace"], "keep_newest": 2}])
    memos.apply_retention()
    gone = next(m for m in memos.list(include_inactive=True).items if m.text == HOUSE[0])
    assert gone.status is Status.RETRACTED
    memos.undo(gone.id)
    assert "I live in Oslo." in texts(memos) and "The user lives in Oslo." in texts(memos)
    memos.set_retention([{"kinds": ["trace"], "keep_newest": 2, "hard": True}])
    memos.apply_retention()
    (file,) = (home / "cubes").glob("*.cube")
    assert b"oslo" not in file.read_bytes().lower()


@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("tag", ["keep", "pinned"])
def test_what_is_tagged_to_be_kept_stays_with_all_it_rests_on(memos: MemOS, tag: str, hard: bool) -> None:
    memos.add(HOUSE, wait=True)
    fact = next(m for m in memos.list().items if m.text == "The user lives in Oslo.")
    memos.update(fact.id, tags=[tag])
    memos.set_retention([{"kinds": ["trace"], "keep_newest": 0, "hard": hard}, {"keep_newest": 0, "hard": hard}])
    plan = memos.preview_retention()
    assert plan.kept == 1 and fact.id not in {i.memory.id for i in plan}
    run = memos.apply_retention()
    assert texts(memos) == ["I live in Oslo.", "The user lives in Oslo."] and not run.more
    assert memos.apply_retention().count == 0


def test_a_kept_document_keeps_its_pieces(memos: MemOS) -> None:
    data = "\n\n".join(f"Chapter {i}: " + "the harbour is calm. " * 60 for i in range(4)).encode()
    document = memos.add_file(data, name="harbour.txt", tags=["keep"])
    assert document.pieces > 1
    memos.set_retention([{"kinds": ["document", "chunk"], "keep_newest": 0, "hard": True}])
    assert memos.apply_retention().count == 0
    assert memos.count(kinds=["chunk"]) == document.pieces


def test_rules_are_applied_in_order_and_in_bounded_changes(memos: MemOS, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 7)
    memos.add([f"note {i}" for i in range(40)], derive=False, tags=["a"])
    memos.set_retention(
        [{"kinds": ["trace"], "tags": ["a"], "keep_newest": 30}, {"kinds": ["trace"], "keep_newest": 25}]
    )
    plan = memos.preview_retention()
    assert [i.rule for i in plan] == [0] * 10 + [1] * 5 and plan.total == 15
    assert memos.apply_retention().removed == {"0": 10, "1": 5}
    assert texts(memos) == [f"note {i}" for i in range(15, 40)]


def test_a_long_preview_lists_the_first_and_counts_all(memos: MemOS) -> None:
    memos.add([f"note {i}" for i in range(30)], derive=False)
    plan = memos.preview_retention([{"kinds": ["trace"], "keep_newest": 10}], limit=5)
    assert ([i.memory.text for i in plan], plan.total) == ([f"note {i}" for i in range(5)], 20)


# -- the clock -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("days", [-2, 40, 4000])
def test_a_clock_that_seems_wrong_is_a_reason_to_do_nothing(memos: MemOS, clock: Any, days: float) -> None:
    memos.add(HOUSE, wait=True)
    memos.set_retention([{"kinds": ["trace"], "max_age_days": 1, "hard": True}, {"kinds": ["trace"], "keep_newest": 0}])
    clock(days)
    assert memos.preview_retention().refused
    for _ in range(3):
        run = memos.apply_retention()
        assert run.refused is not None and "clock" in run.refused and run.count == 0
    assert texts(memos, Kind.TRACE) == HOUSE
    (told,) = memos.retention_log()  # once, though it was tried three times
    assert told.refused is not None and "clock" in told.refused
    assert memos.apply_retention(despite_clock=True).count > 0


def test_a_long_pause_with_something_recorded_since_is_no_wrong_clock(
    memos: MemOS, monkeypatch: pytest.MonkeyPatch
) -> None:
    memos.add(HOUSE, derive=False)
    memos.set_retention([{"kinds": ["trace"], "keep_newest": 1}])
    later = datetime.now(UTC) + timedelta(days=40)
    monkeypatch.setattr("memos.upkeep.upkeep.utcnow", lambda: later)
    monkeypatch.setattr("memos.storage.sqlite.tx.utcnow", lambda: later)
    memos.add("I am back.", derive=False)
    assert memos.apply_retention().count == 3


def test_rules_that_came_with_an_archive_wait_until_somebody_sets_them(memos: MemOS, tmp_path: Path) -> None:
    memos.add(HOUSE, derive=False)
    memos.set_retention([{"kinds": ["trace"], "keep_newest": 1, "hard": True}])
    memos.export_cube(tmp_path / "house.memos")
    memos.import_cube(tmp_path / "house.memos", "copy")
    (rule,) = memos.retention(cube="copy")
    assert "elsewhere" in (memos.preview_retention(cube="copy").refused or "")
    assert "elsewhere" in (memos.apply_retention(cube="copy").refused or "")
    assert memos.count(cube="copy") == 3
    memos.set_retention([rule], cube="copy")
    assert memos.apply_retention(cube="copy").count == 2


# -- what is told ----------------------------------------------------------------------------------------------


def test_every_run_that_took_something_is_told(memos: MemOS) -> None:
    memos.add(HOUSE, wait=True)
    memos.set_retention([{"kinds": ["trace"], "keep_newest": 2}])
    run = memos.apply_retention()
    memos.apply_retention()
    (told,) = memos.retention_log()
    assert (told.removed, told.along, told.actor, told.rules) == (run.removed, run.along, "default", run.rules)
    entries = {e.action: e for e in memos.accounts.audit().items}
    assert json.loads(entries["retention.run"].detail)["removed"] == {"0": 1}
    assert entries["cube.set"].detail == "retention"
    assert not any(word in repr(entries) for word in ("Oslo", "Berta", "kayaking"))


def test_a_deleted_cube_is_named_no_more(memos: MemOS) -> None:
    memos.create_cube("secret-team")
    memos.set_retention([{"kinds": ["trace"], "keep_newest": 0}], cube="secret-team")
    memos.add("note", cube="secret-team")
    memos.apply_retention(cube="secret-team")
    memos.delete_cube("secret-team")
    assert not any("secret-team" in e.object for e in memos.accounts.audit().items)


# -- in the background -----------------------------------------------------------------------------------------


async def test_each_hour_one_task_for_all_processes_applies_the_rules(home: Path) -> None:
    async with AsyncMemOS(home, embedder="none") as one, AsyncMemOS(home, embedder="none") as two:
        await one.add([f"note {i}" for i in range(5)], derive=False)
        await one.set_retention([{"kinds": ["trace"], "keep_newest": 2}])
        await one.add("nothing is due here", user="other")
        assert [await s._parts().upkeep.sweep() for s in (one, two)] == [1, 1]
        assert await one.tasks.wait(TaskQuery(kinds=[FORGET]), 20)
        (task,) = (await one.tasks.find(TaskQuery(kinds=[FORGET]))).items
        assert (task.state, task.result) == ("completed", {"removed": 3, "refused": False})
        assert await two.count() == 2
        assert [r.actor for r in await two.retention_log()] == ["system"]


KILLED = """
import sys
from memos import MemOS
from memos.organize import retention
retention.BATCH = 5
m = MemOS(sys.argv[1], embedder="none", background=False)
print("ready", flush=True)
m.apply_retention()
print("done", flush=True)
"""


def test_a_crash_in_the_middle_takes_whole_changes_or_none(memos: MemOS, home: Path) -> None:
    memos.add([f"note {i}" for i in range(800)], derive=False)
    memos.set_retention([{"kinds": ["trace"], "keep_newest": 100, "hard": True}])
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(home)], stdout=subprocess.PIPE, text=True, env=child_env()
    )
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    for _ in range(400):
        left = memos.count()
        if left < 800:
            break
        time.sleep(0.005)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    left = memos.count()
    assert left % 5 == 0 and memos.list(limit=1).items[0].text == "note 799"
    memos.apply_retention()
    assert memos.count() == 100
    (file,) = (home / "cubes").glob("*.cube")
    assert b"note 12" not in file.read_bytes()
    memos.close()
    cube = SqliteCube.open(file)
    assert cube.read_now(lambda db: db.execute("PRAGMA integrity_check").get) == "ok"
    cube.close_now()
