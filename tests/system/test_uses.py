"""How often memories are shown: counted without a write per search, a tie between equals, and never a reason to delete."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from memos import AsyncMemOS, MemOS
from memos.memory.time import utcnow
from memos.recall.recipe import DEFAULT
from memos.storage.ports import Change
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.upkept import Shown
from memos.upkeep import uses
from stubs import child_env


async def apart(memos: AsyncMemOS, *texts: str) -> tuple[str, ...]:
    """Texts that are nobody's neighbours, read and done with."""
    return tuple([(await memos.add(t, session=f"s{i}", wait=True)).ids[0] for i, t in enumerate(texts)])


async def counted(memos: AsyncMemOS, ids: tuple[str, ...]) -> list[int]:
    async with memos._cube("default", None, "read") as (_, store):
        found = await store.uses(ids)
    return [found[id].times if id in found else 0 for id in ids]


async def test_searches_are_counted_together_and_written_at_the_end(home: Path) -> None:
    async with AsyncMemOS(home, embedder="none", background=False) as memos:
        ids = await apart(memos, "The teal kayak", "An oak on the hill")
        async with memos._cube("default", None, "read") as (_, store):
            commits = store._writer.commits
            for _ in range(5):
                assert len(await memos.search("kayak")) == 1
            assert store._writer.commits == commits  # a search writes nothing
        assert await counted(memos, ids) == [0, 0]
    async with AsyncMemOS(home, embedder="none", background=False) as memos:
        assert await counted(memos, ids) == [5, 0]


async def test_they_are_written_now_and_then_in_one_change(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both, later = asyncio.Event(), uses.Uses._later

    async def once_both_were_asked(self: uses.Uses) -> None:
        await both.wait()
        await later(self)

    monkeypatch.setattr(uses, "FLUSH_SECONDS", 0.05)
    monkeypatch.setattr(uses.Uses, "_later", once_both_were_asked)
    async with AsyncMemOS(home, embedder="none", background=False) as memos:
        ids = await apart(memos, "The teal kayak", "A red kayak")
        async with memos._cube("default", None, "read") as (_, store):
            commits = store._writer.commits
            await memos.search("kayak")
            await memos.search("red kayak")
            both.set()
            for _ in range(500):
                await asyncio.sleep(0.02)
                if store._writer.commits > commits:
                    break
            assert store._writer.commits == commits + 1
        assert await counted(memos, ids) == [2, 2]


async def test_counting_makes_no_versions_and_moves_no_clock(home: Path) -> None:
    async with AsyncMemOS(home, embedder="none", background=False) as memos:
        (id,) = (await memos.add("The teal kayak")).ids
        before = await memos.get(id)
        await memos.search("kayak")
        await memos._parts().upkeep.uses.flush()
        assert await memos.get(id) == before and len(await memos.history(id)) == 1


async def test_between_equals_the_one_that_was_of_use_comes_first_and_no_clearly_better_one_is_passed(
    home: Path,
) -> None:
    async with AsyncMemOS(home, embedder="none", background=False) as memos:
        when = "2026-01-05T10:00:00Z"
        said = ["The kayak is teal", "The kayak is grey", "The teal kayak lies in shed four"]
        a, b, best = (await memos.add([{"role": "user", "content": t, "chat_time": when} for t in said])).ids
        assert (await memos.search("teal kayak shed")).hits[0].id == best
        first, second = [h.id for h in await memos.search("kayak", filter={"id": {"in": [a, b]}})]
        async with memos._cube("default", None, "write") as (_, store):
            await store.count_uses({second: Shown(20, utcnow())})
        assert [h.id for h in await memos.search("kayak", filter={"id": {"in": [a, b]}})] == [second, first]
        assert (await memos.search("teal kayak shed")).hits[0].id == best
        hit = (await memos.search("kayak", filter={"id": second})).hits[0]
        assert 0 < hit.why["worth"] <= DEFAULT.weights["worth"]
        none = replace(DEFAULT, weights={**DEFAULT.weights, "worth": 0.0})
        assert [h.id for h in await memos.search("kayak", filter={"id": {"in": [a, b]}}, recipe=none)] == [
            first,
            second,
        ]


def test_importance_breaks_a_tie(memos: MemOS) -> None:
    when = "2026-01-05T10:00:00Z"
    said = [{"role": "user", "content": f"The kayak is {c}", "chat_time": when} for c in ("teal", "grey")]
    memos.add(said)
    first, second = [h.id for h in memos.search("kayak")]
    memos.update(second, importance=1.0)
    assert [h.id for h in memos.search("kayak")] == [second, first]


def test_a_hard_delete_takes_the_count_along(memos: MemOS, home: Path) -> None:
    memos.add("The teal kayak", session="a", wait=True)
    memos.add("An oak", session="b", wait=True)
    gone = memos.search("kayak").hits[0].id
    memos.close()
    with MemOS(home, embedder="none", background=False) as again:
        again.search("kayak")
        again.delete(gone)
    (file,) = (home / "cubes").glob("*.cube")
    cube = SqliteCube.open(file)
    assert cube.read_now(lambda db: db.execute("SELECT count(*) FROM uses").get) == 0
    cube.close_now()


async def test_an_index_in_memory_follows_the_counts_of_others(home: Path) -> None:
    async with AsyncMemOS(home, embedder="none", background=False) as one:
        await one.add(["The kayak is teal", "The kayak is grey"])
        first, second = [h.id for h in await one.search("kayak")]
        async with (
            AsyncMemOS(home, embedder="none", background=False) as two,
            two._cube("default", None, "write") as (_, store),
        ):
            await store.count_uses({second: Shown(50, utcnow())})
        found = await one.search("kayak")
        assert [h.id for h in found] == [second, first]
        async with one._cube("default", None, "write") as (_, store):  # another text of it keeps what it was worth
            (memory,) = await store.get([second])
            await store.write(lambda tx: tx.put(replace(memory, text="The kayak is blue"), "update"), Change())
        assert [h.id for h in await one.search("kayak")] == [second, first]


KILLED = """
import os, sys
from memos import MemOS
m = MemOS(sys.argv[1], embedder="none", background=False)
assert m.search("kayak")
os.kill(os.getpid(), 9)
"""


def test_a_crash_loses_counts_and_no_record(memos: MemOS, home: Path) -> None:
    memos.add("The teal kayak", wait=True)
    done = subprocess.run([sys.executable, "-c", KILLED, str(home)], timeout=60, env=child_env())
    assert done.returncode == -signal.SIGKILL
    assert memos.count() == 1 and len(memos.search("kayak")) == 1
