"""What learning asks of a cube is answered from indexes: no question of it reads a whole table, however many episodes there are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest
from evolution_script import Did, Script, play

from memos.evolution.learn import CaseBuilder, learn_episode
from memos.evolution.value.gain import gain_of
from memos.evolution.value.reliability import reliability_of
from memos.memory.episode import Episode
from memos.memory.ids import new_id
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TABLES = ("episodes", "steps", "signals", "lessons", "trials", "hints", "learned", "memories", "edges", "keys")
SMALL = "episodes_"  # partial indexes over what is open or due alone: a scan of one reads no more than that
QUESTIONS: dict[str, Callable[[apsw.Connection], Any]] = {
    "due": lambda db: lived.due(db, NOW),
    "due, whenever": lambda db: lived.due(db, None),
    "idle": lambda db: lived.idle(db, NOW),
    "to judge": lambda db: lived.to_judge(db, NOW),
    "next judge": lived.next_judge,
    "next due": lived.next_due,
    "next work": lambda db: lived.next_work(db, 1, True),
    "waiting": lived.waiting,
    "case": lambda db: CaseBuilder(db).of(Episode(new_id(), "s", "a", "u", "", "", NOW, NOW)),
    "counted": lambda db: lived.counted(db, new_id()),
    "outcomes": lambda db: lived.outcomes(db, new_id()),
    "reliability": lambda db: reliability_of(db, new_id(), 2),
    "gain": lambda db: gain_of(db, new_id()),
    "lessons in": lambda db: lived.lessons_in(db, b"x", 9),
    "lessons free": lambda db: lived.lessons_free(db, b"x", "fix", 9),
    "lessons for": lambda db: lived.lessons_for(db, new_id(), 9),
    "lessons of": lambda db: lived.lessons_of(db, new_id()),
    "policies of buckets": lambda db: lived.policies_of_buckets(db, [b"x", b"y"]),
    "uncarried": lived.uncarried,
    "told since": lambda db: lived.told_since(db, 5),
}


@pytest.fixture
def plans(tmp_path: Path) -> Callable[[Callable[[apsw.Connection], Any]], list[str]]:
    store = SqliteCube.open(tmp_path / "plans.db")
    store.close_now()
    db = apsw.Connection(str(tmp_path / "plans.db"))

    def of(question: Callable[[apsw.Connection], Any]) -> list[str]:
        found: list[str] = []
        asked: list[tuple[str, Any]] = []

        def note(cursor: apsw.Cursor, sql: str, values: Any) -> bool:
            asked.append((sql, values))
            return True

        db.exec_trace = note
        question(db)
        db.exec_trace = None
        for sql, values in asked:
            found += [str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", values or ())]
        return found

    return of


def scans(plan: list[str]) -> list[str]:
    """The lines of a plan that read a whole table or its whole index."""
    return [line for line in plan if line.startswith("SCAN") and line.split()[1] not in ("json_each", "(subquery-1)")]


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_question_reads_a_whole_table(name: str, plans: Callable[..., list[str]]) -> None:
    plan = plans(QUESTIONS[name])
    assert plan
    bad = [
        line
        for line in scans(plan)
        if SMALL not in line and "trials_uncarried" not in line and "CONSTANT ROW" not in line
    ]
    assert [line for line in bad if not line.startswith(("SCAN (", "SCAN up"))] == []


async def test_learning_from_an_episode_reads_no_whole_table(tmp_path: Path) -> None:
    """Every statement of the change itself, with policies and skills there already."""
    store = SqliteCube.open(tmp_path / "learn.db")
    failed = "error: command 'gcc' failed: {0}.h: No such file"
    found: list[str] = []

    def fill(tx: Any) -> list[str]:
        out = []
        for n, name in enumerate(["psycopg2", "lxml", "pillow", "cffi"]):
            did = [
                Did(f"pip install {name}", False, failed.format(name)),
                Did(f"apt install lib{name}"),
                Did(f"pip install {name}"),
            ]
            out.append(play(tx, Script(f"install {name}", did, score=1.0), n))
        return out

    def explained(tx: Any, id: str) -> None:
        asked: list[tuple[str, Any]] = []

        def note(cursor: apsw.Cursor, sql: str, values: Any) -> bool:
            asked.append((sql, values))
            return True

        tx.db.exec_trace = note
        learn_episode(tx, id)
        tx.db.exec_trace = None
        for sql, values in asked:
            if sql.lstrip().upper().startswith(("SELECT", "UPDATE", "DELETE")):
                plan = [str(row[3]) for row in tx.db.execute(f"EXPLAIN QUERY PLAN {sql}", values or ())]
                found.extend(
                    f"{line}  <-  {sql[:400]}" for line in scans(plan) if not (line == "SCAN e" and ") e JOIN" in sql)
                )

    ids = await store.write(fill)  # type: ignore[arg-type]
    for id in ids:
        await store.write(partial(explained, id=id))
    await store.close()
    bad = [line for line in found if line.split()[1] in (*TABLES, "e", "m", "s", "l", "t", "h") and SMALL not in line]
    assert not bad, "\n".join(sorted(set(bad)))
