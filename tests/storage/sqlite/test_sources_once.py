"""A fact that is said again and again stores the list of its sources once, and every version still tells its own."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from memos.cubes import archive
from memos.cubes.pool import CubePool
from memos.memory.ids import id_from_bytes, new_id
from memos.memory.model import Edge, EdgeType, Kind, Memory, Source, Version
from memos.settings import Settings
from memos.storage.ports import ANY_STATUS, View
from memos.storage.sqlite import lived_said
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.registry import SqliteRegistry

FIXTURES = Path(__file__).parents[2] / "fixtures"
START = datetime(2020, 1, 1, tzinfo=UTC)
Lists = dict[tuple[str, int], list[str | None]]  # the records each version of a memory rests on


async def told(cube: SqliteCube, ids: Any) -> Lists:
    """By history, after a look that reads of the past tell the same."""
    out: Lists = {}
    for id in ids:
        for v in await cube.history(id):
            out[id, v.memory.version] = [s.memory_id for s in v.memory.sources]
            if v.memory.known_to != v.at:  # no moment sees a version that its own change replaced
                view = View(known_at=v.at, statuses=ANY_STATUS)
                (then,) = await cube.get([id], view)
                (listed,) = [m for m in (await cube.list(view=view, limit=1_000)).items if m.id == id]
                assert then == listed == v.memory
    return out


def stored(path: Path) -> dict[tuple[str, int], str]:
    db = apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)
    found: Any = db.execute("SELECT id, version, sources FROM memories WHERE sources IS NOT NULL").fetchall()
    db.close()
    return {(id_from_bytes(id), version): listed for id, version, listed in found}


def records_of(rows: dict[tuple[str, int], str]) -> Lists:
    return {key: [s.get("memory_id") for s in json.loads(listed)] for key, listed in rows.items()}


async def say(cube: SqliteCube, fact: str, times: int) -> list[str]:
    records = [new_id() for _ in range(times)]

    def once(tx: Any, i: int) -> None:
        at = START + timedelta(days=i)
        tx.put(Memory(records[i], Kind.TRACE, f"I live in Oslo {i}", session=f"s{i}", valid_from=at))
        known = tx.get(fact) or Memory(fact, Kind.FACT, "Ann lives in Oslo", seen=0, session="s0", valid_from=at)
        source = Source(records[i], f"m{i}", "user", time=at, start=0, end=14)
        tx.put(replace(known, sources=(*known.sources, source), seen=known.seen + 1), "evidence")
        tx.link(Edge(fact, records[i], EdgeType.DERIVED_FROM, weight=0.9, valid_from=at))

    for i in range(times):
        await cube.write(lambda tx, i=i: once(tx, i))
    return records


async def test_what_is_said_again_and_again_takes_room_as_often_as_it_is_said(tmp_path: Path) -> None:
    room = {}
    for times in (100, 200):
        path = tmp_path / f"{times}.cube"
        cube, fact = SqliteCube.open(path), new_id()
        records = await say(cube, fact, times)
        lists = await told(cube, [fact])
        assert lists == {(fact, n): records[:n] for n in range(1, times + 1)}
        await cube.close()
        room[times] = sum(map(len, stored(path).values()))
    assert room[200] < 2.2 * room[100]


async def test_what_is_asked_of_its_records_does_not_look_at_every_version_for_each(tmp_path: Path) -> None:
    steps = {}
    for times in (50, 200):
        cube, fact = SqliteCube.open(tmp_path / f"{times}.cube"), new_id()
        records = await say(cube, fact, times)
        counted = []

        def ask(db: apsw.Connection, records: list[str] = records, counted: list[int] = counted) -> None:
            db.set_progress_handler(lambda: counted.append(1) is not None, 10)
            try:
                assert lived_said.directives_from(db, records) == {}
            finally:
                db.set_progress_handler(None)

        cube.read_now(ask)
        await cube.close()
        steps[times] = len(counted)
    assert steps[200] < 6 * steps[50]


async def test_without_one_record_no_version_names_it_and_all_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.cube"
    cube, fact = SqliteCube.open(path), new_id()
    records = await say(cube, fact, 30)
    before = await cube.history(fact)
    await cube.purge([records[0], records[17]])
    after = await cube.history(fact)
    assert [v.memory.version for v in after] == [*range(2, 31), 31]  # the first rested on nothing else
    for was, now in zip(before[1:], after, strict=False):
        left = [s for s in was.memory.sources if s.memory_id not in {records[0], records[17]}]
        assert list(now.memory.sources) == left
        assert (now.memory.seen, now.memory.session) == (len(left), "s1")
        assert now.memory.valid_from == START + timedelta(days=1)
    assert sum(map(len, stored(path).values())) < 40 * 200
    assert await cube.check() == []
    await cube.close()


def change(rng: random.Random, known: Memory, pool: list[str]) -> Memory:
    """One more source, or several; the same; fewer; none; others."""
    own = known.sources
    more = tuple(Source(id, f'm"]{{ {i}', time=START, start=0, end=3) for i, id in enumerate(rng.sample(pool, 2)))
    ways = [(*own, more[0]), (*own, *more), own, own[:-1], own[1:], (), more, (*own[: len(own) // 2], *more)]
    return replace(known, sources=rng.choice([*ways[:3] * 3, *ways]), text=rng.choice([known.text, "Ann likes tea"]))


@pytest.mark.parametrize("seed", range(25))
async def test_every_version_tells_its_own_sources_whatever_came_after(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    registry = SqliteRegistry(tmp_path / "home")
    info, _ = registry.create("mine", "ana")
    pool = CubePool(registry, Settings(home=tmp_path / "home"))
    records, facts = [new_id() for _ in range(6)], [new_id() for _ in range(3)]
    expected: Lists = {}

    def note(memory: Memory) -> None:
        expected[memory.id, memory.version] = [s.memory_id for s in memory.sources]

    async with pool.use(info) as cube:
        await cube.write(lambda tx: [tx.put(Memory(id, Kind.TRACE, f"said {id}")) for id in records])
        for fact in facts:
            note(await cube.write(lambda tx, fact=fact: tx.put(Memory(fact, Kind.FACT, "Ann lives in Oslo"))))
        for _ in range(40):
            fact = rng.choice(facts)
            if rng.random() < 0.1:
                for reverted in await cube.write(lambda tx, fact=fact: tx.undo(fact)):
                    note(reverted)
                continue
            (known,) = await cube.get([fact], View(statuses=ANY_STATUS))
            put = change(rng, known, records)
            note(await cube.write(lambda tx, put=put: tx.put(put, "evidence")))
        assert await told(cube, facts) == expected
        assert await cube.check() == []
        path = tmp_path / "mine.zip"
        await archive.export(cube, info, path, home=tmp_path / "home")
    await archive.restore(path, "copy", "bo", registry, pool)
    copy = registry.find("copy")
    assert copy is not None
    async with pool.use(info) as cube, pool.use(copy) as other:
        assert [await other.history(fact) for fact in facts] == [await cube.history(fact) for fact in facts]
        assert await other.check() == []
    await pool.close()


async def histories(cube: SqliteCube) -> dict[str, list[Version]]:
    found = (await cube.list(view=View(statuses=ANY_STATUS), limit=1_000)).items
    return {m.id: await cube.history(m.id) for m in found}


async def test_a_file_in_which_every_version_has_its_list_is_read_as_it_was(tmp_path: Path) -> None:
    path = Path(shutil.copy(FIXTURES / "cube_v4.cube", tmp_path / "a.cube"))
    was = stored(path)
    assert len(was) == 19 and all(listed.startswith("[") for listed in was.values())
    cube = SqliteCube.open(path)
    found = {k: ids for k, ids in (await told(cube, {id for id, _ in was})).items() if ids}
    assert found == records_of(was)
    assert await cube.check() == []
    now = await histories(cube)
    await cube.close()
    kept = stored(path)
    whole = [listed for listed in kept.values() if listed.startswith("[")]
    assert len(whole) == 7  # those of the five memories now, and the two before some were taken away
    assert sum(map(len, kept.values())) < sum(map(len, was.values())) / 2

    registry = SqliteRegistry(tmp_path / "home")
    pool = CubePool(registry, Settings(home=tmp_path / "home"))
    await archive.restore(FIXTURES / "cube_v4.zip", "copy", "bo", registry, pool)
    copy = registry.find("copy")
    assert copy is not None
    async with pool.use(copy) as other:
        assert await histories(other) == now
        assert await other.check() == []
    await pool.close()


async def test_a_version_whose_list_is_gone_is_told_by_check_and_spoils_no_other_read(tmp_path: Path) -> None:
    path = tmp_path / "a.cube"
    cube, fact = SqliteCube.open(path), new_id()
    await say(cube, fact, 3)
    await cube.close()
    db = apsw.Connection(str(path))
    db.execute("UPDATE memories SET sources='2' WHERE known_to IS NULL AND sources IS NOT NULL")
    db.close()
    cube = SqliteCube.open(path)
    assert "1 versions whose sources are gone" in await cube.check()
    assert await cube.get([fact]) == []
    assert len((await cube.list()).items) == 3
    await cube.close()
