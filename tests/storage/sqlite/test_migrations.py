"""Old files open, upgrades keep a copy beside the file, and an upgrade that fails changes nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from memos.errors import SchemaTooNew, StorageError, StorageFull
from memos.memory.model import Status
from memos.storage.ports import ANY_STATUS, TextQuery, View
from memos.storage.sqlite import connect as connecting
from memos.storage.sqlite import cube as cubes
from memos.storage.sqlite.connect import backups, connect, migrate
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.schema import CUBE_APPLICATION_ID, CUBE_MIGRATIONS

FIXTURE = Path(__file__).parents[2] / "fixtures" / "cube_v1.cube"
IDS = tuple(f"01890000-0000-7000-8000-{n:012d}" for n in range(6))


@pytest.fixture
def v1(tmp_path: Path) -> Path:
    """A copy of the file of schema 1."""
    return Path(shutil.copy(FIXTURE, tmp_path / "a.cube"))


def add_mood(db: apsw.Connection) -> None:
    db.execute("ALTER TABLE memories ADD COLUMN mood TEXT; CREATE INDEX memories_mood ON memories(mood)")
    db.execute("UPDATE memories SET mood='calm'")


def breaks(db: apsw.Connection) -> None:
    db.execute("DELETE FROM memories; CREATE TABLE half(a)")
    db.execute("SELECT no_such_column FROM memories")


def with_steps(monkeypatch: pytest.MonkeyPatch, *steps: Any) -> tuple[Any, ...]:
    migrations = (*CUBE_MIGRATIONS, *steps)
    monkeypatch.setattr(cubes, "CUBE_MIGRATIONS", migrations)
    monkeypatch.setattr(cubes, "SCHEMA", len(migrations))
    return migrations


async def assert_whole(path: Path) -> None:
    """Everything the fixture was made with is there, found and usable."""
    cube = SqliteCube.open(path)
    assert await cube.check() == []
    assert sorted(m.text for m in (await cube.list()).items) == [
        "Ann lives in Oslo",
        "I moved to Oslo with my cat Rex",
        "Oslo",
        "likes tea",
    ]
    (said, new, old, tea) = await cube.get([IDS[0], IDS[2], IDS[1], IDS[5]], View(statuses=ANY_STATUS))
    assert (said.tags, said.info, said.speaker, said.message_id) == (("home",), {"app": "test"}, "Ann", "m1")
    assert (old.status, old.valid_to) == (Status.SUPERSEDED, new.valid_from)
    assert [v.memory.text for v in await cube.history(tea.id)] == ["likes tee", "likes tea"]
    assert {h.id for h in await cube.search_text(TextQuery(("oslo",)))} == {said.id, new.id, IDS[3]}
    assert await cube.search_text(TextQuery(("purged",))) == []
    assert (await cube.search_vector(np.eye(8, dtype=np.float32)[0], "tiny-8"))[0].score == pytest.approx(1)
    assert len(await cube.neighbors([new.id])) == 2
    assert [t.id for t in await cube.todo("digest")] == [tea.id]
    assert await cube.meta("vector_model") == "tiny-8"
    assert await cube.write(lambda tx: tx.find_key(b"k1")) == said.id
    assert (await cube.purge([said.id])).restored == (old.id,)
    await cube.close()


async def test_a_file_of_schema_1_opens(v1: Path) -> None:
    await assert_whole(v1)


async def test_the_newest_schema_is_the_one_the_code_writes(v1: Path, tmp_path: Path) -> None:
    def shape(path: Path) -> set[tuple[str, str]]:
        SqliteCube.open(path).close_now()
        db = apsw.Connection(str(path))
        found = {
            (n, " ".join(s.split())) for n, s in db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
        }
        db.close()
        return found

    assert shape(v1) == shape(tmp_path / "new.cube")


async def test_an_upgrade_keeps_a_copy_beside_the_file(v1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_steps(monkeypatch, add_mood)
    await assert_whole(v1)
    db = apsw.Connection(str(v1))
    assert db.execute("PRAGMA user_version").get == len(CUBE_MIGRATIONS) + 1
    assert db.execute("SELECT DISTINCT mood FROM memories WHERE op<>'restore'").get == "calm"
    db.close()


async def test_the_copy_is_the_file_as_it_was_and_stays_until_something_is_deleted(
    v1: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_steps(monkeypatch, add_mood)
    cube = SqliteCube.open(v1)
    (copy,) = backups(v1)
    assert copy.name.startswith("a.cube.v1.")
    SqliteCube.open(v1).close_now()
    assert backups(v1) == [copy]
    kept = Path(shutil.copy(copy, copy.with_name("kept.cube")))
    await cube.purge([IDS[0]])
    assert backups(v1) == []
    await cube.close()
    monkeypatch.undo()
    await assert_whole(kept)
    with pytest.raises(SchemaTooNew):
        SqliteCube.open(v1)


async def test_steps_run_in_order_from_any_schema(v1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []
    steps = [lambda db, n=n: ran.append(n) for n in (2, 3, 4)]
    with_steps(monkeypatch, *steps[:1])
    SqliteCube.open(v1).close_now()
    with_steps(monkeypatch, *steps)
    SqliteCube.open(v1).close_now()
    SqliteCube.open(v1).close_now()
    assert ran == [2, 3, 4]
    ran.clear()
    SqliteCube.open(v1.with_name("new.cube")).close_now()
    assert ran == [2, 3, 4]
    assert len(backups(v1)) <= 2


async def test_an_upgrade_that_fails_leaves_the_file_as_it_was(v1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_steps(monkeypatch, add_mood, breaks)
    with pytest.raises(StorageError, match="unchanged"):
        SqliteCube.open(v1)
    db = apsw.Connection(str(v1))
    assert db.execute("PRAGMA user_version").get == 1
    assert db.execute("SELECT count(*) FROM sqlite_schema WHERE name IN ('half', 'memories_mood')").get == 0
    db.close()
    monkeypatch.undo()
    await assert_whole(v1)


def test_a_copy_that_cannot_be_made_stops_the_upgrade(v1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    migrations = with_steps(monkeypatch, add_mood)

    class Full(apsw.Connection):
        def backup(self, *_: Any) -> Any:
            raise apsw.FullError("database or disk is full")

    db = connect(v1)
    monkeypatch.setattr(connecting.apsw, "Connection", Full)
    with pytest.raises(StorageFull):
        migrate(db, v1, CUBE_APPLICATION_ID, migrations)
    monkeypatch.undo()
    assert db.execute("PRAGMA user_version").get == 1
    assert backups(v1) == []
    db.close()


def test_of_several_processes_one_upgrades(v1: Path) -> None:
    code = """
import sys, time
from pathlib import Path
from memos.storage.sqlite import cube
def step(db):
    time.sleep(0.1)
    db.execute("CREATE TABLE once(a)")
cube.CUBE_MIGRATIONS = (*cube.CUBE_MIGRATIONS, step)
cube.SCHEMA += 1
cube.SqliteCube.open(Path(sys.argv[1])).close_now()
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    children = [
        subprocess.Popen([sys.executable, "-c", code, str(v1)], stderr=subprocess.PIPE, text=True, env=env)
        for _ in range(3)
    ]
    for child in children:
        _, errors = child.communicate(timeout=60)
        assert child.returncode == 0, errors
    db = apsw.Connection(str(v1))
    assert db.execute("PRAGMA user_version").get == len(CUBE_MIGRATIONS) + 1
    db.close()
